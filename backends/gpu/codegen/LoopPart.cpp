//===- LoopPart.cpp - a thread per element, or per vector -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/UnitKernel.h"
#include "backends/gpu/codegen/BlockPart.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using codegen::Root;
using ir::Index;

BlockPart::~BlockPart() = default;

int64_t vectorElements(const codegen::Nest &nest, unsigned loop) {
  int64_t widest = 0;
  uint64_t divisor = 16; // of all addresses, in elements
  auto access = [&](RankedTensorType type, ArrayRef<Index> index) {
    Index linear = codegen::linearIndex(type, index);
    if (linear.coefficient(loop) != 1)
      return;
    widest = std::max(widest, ir::elementSizeBytes(type.getElementType()));
    divisor =
        std::gcd(divisor, static_cast<uint64_t>(std::abs(linear.constant)));
    for (auto [other, coefficient] : linear.terms)
      if (other != loop)
        divisor =
            std::gcd(divisor, static_cast<uint64_t>(std::abs(coefficient)));
  };
  for (const Root &root : nest.roots)
    access(root.type, root.write);
  for (BlockArgument argument : nest.body.getArguments())
    if (auto it = nest.indices.find(argument); it != nest.indices.end())
      access(ir::tensorType(argument), it->second);
  if (widest == 0)
    return 1;
  return std::min<int64_t>(std::max<int64_t>(16 / widest, 1), divisor);
}

int64_t reachOf(const codegen::Nest &nest) {
  int64_t reach = 1;
  for (auto [loop, size] : llvm::enumerate(nest.domain.sizes))
    if (!nest.domain.isReduced(loop))
      reach *= size;
  for (const Root &root : nest.roots)
    reach = std::max(reach, root.type.getNumElements());
  for (BlockArgument argument : nest.body.getArguments())
    reach = std::max(reach, ir::tensorType(argument).getNumElements());
  return reach;
}

/// Whether only row i of a tensor of `type` is accessed at `index` in step i of
/// `loops`.
static bool isInOwnRow(const codegen::Nest &nest, ArrayRef<unsigned> loops,
                       RankedTensorType type, ArrayRef<Index> index) {
  const ir::Domain &domain = nest.domain;
  Index linear = codegen::linearIndex(type, index);
  int64_t rows = 1, last = linear.constant;
  for (unsigned loop : loops)
    rows *= domain.sizes[loop];
  if (type.getNumElements() % rows != 0 || linear.constant < 0)
    return false;
  int64_t stride = type.getNumElements() / rows;
  for (unsigned loop : domain.reduced) {
    int64_t coefficient = linear.coefficient(loop);
    if (coefficient < 0)
      return false;
    last += coefficient * (domain.sizes[loop] - 1);
  }
  if (last >= stride)
    return false;
  for (unsigned loop : llvm::reverse(loops)) {
    if (linear.coefficient(loop) != stride)
      return false;
    stride *= domain.sizes[loop];
  }
  return true;
}

bool readsRowsOf(const codegen::Nest &nest, ArrayRef<unsigned> loops,
                 unsigned input) {
  auto index = nest.indices.find(nest.arguments[input]);
  return index != nest.indices.end() &&
         isInOwnRow(nest, loops, ir::tensorType(index->first), index->second);
}

bool writesRowsOf(const codegen::Nest &nest, ArrayRef<unsigned> loops,
                  unsigned output) {
  return llvm::all_of(nest.roots, [&](const Root &root) {
    return root.output != output ||
           isInOwnRow(nest, loops, root.type, root.write);
  });
}

void enterNest(ElementEmitter &emitter, Threads &t, codegen::Nest &nest,
               ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
  emitter.setBufferAlignment(kBufferAlignment);
  for (auto [argument, pointer] : llvm::zip_equal(nest.arguments, inputs))
    emitter.setBuffer(argument, pointer);
  for (Root &root : nest.roots)
    root.pointer = outputs[root.output];
  for (auto [loop, size] : llvm::enumerate(nest.domain.sizes))
    if (size == 1)
      emitter.setLoop(loop, emitter.constantInt(t.b.getI64Type(), 0));
}

void setLoopsToStep(ElementEmitter &emitter, Threads &t,
                    ArrayRef<unsigned> loops, Value step) {
  for (auto [i, loop] : llvm::enumerate(llvm::reverse(loops))) {
    bool isLast = i + 1 == loops.size();
    int64_t size = emitter.domain.sizes[loop];
    emitter.setLoop(loop, t.wide(isLast ? step : t.rem(step, size)));
    if (!isLast)
      step = t.div(step, size);
  }
}

namespace {

/// Units per thread, so that several loads are in flight at once.
constexpr int64_t kManyUnits = 1 << 18, kMostUnitsPerThread = 4;
constexpr int64_t kLoopThreads = 256;

class LoopPart : public BlockPart {
public:
  explicit LoopPart(std::shared_ptr<codegen::Nest> nestIn)
      : nest(std::move(nestIn)), domain(nest->domain) {
    chooseLanes();
    for (auto [loop, size] : llvm::enumerate(domain.sizes)) {
      if (size == 1 || domain.isReduced(loop) || loop == laneLoop)
        continue;
      unitLoops.push_back(loop);
      units *= size;
    }
    if (laneLoop != ~0u) {
      int64_t size = domain.sizes[laneLoop];
      lanePieces = size / lanes;
      units *= lanePieces;
      rest = size % lanes;
    }
    bool isCheap = !nest->hasReduction() &&
                   nest->body.getOps<ir::ReduceWindowOp>().empty();
    if (isCheap && units >= kManyUnits)
      unitsPerThread =
          std::min<int64_t>(kMostUnitsPerThread, units / (kManyUnits / 2));
  }

  int64_t threads() const override {
    // Steps of a reduction take long: small blocks spread even a few of them.
    return nest->hasReduction() ? 2 * kWarpThreads : kLoopThreads;
  }
  int64_t blocks(int64_t blockThreads) const override {
    return llvm::divideCeil(units + rest, blockThreads * unitsPerThread);
  }
  int64_t reach() const override { return reachOf(*nest); }
  std::optional<BlockRows> blockRows(int64_t blockThreads) const override {
    if (lanes > 1)
      return std::nullopt;
    return BlockRows{units, blockThreads * unitsPerThread};
  }
  bool readsOwnRows(unsigned input) const override {
    return readsRowsOf(*nest, stepLoops(), input);
  }
  bool writesOwnRows(unsigned output) const override {
    return writesRowsOf(*nest, stepLoops(), output);
  }

  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;

private:
  /// The kept loops, if a unit is one step of them.
  SmallVector<unsigned> stepLoops() const {
    SmallVector<unsigned> loops(unitLoops);
    if (laneLoop != ~0u)
      loops.push_back(laneLoop);
    return loops;
  }
  void chooseLanes();
  void setLoops(Threads &t, ElementEmitter &emitter, Value unit);
  void emitUnit(Threads &t, ElementEmitter &emitter, Value unit);
  void emitUnitsTogether(Threads &t, ElementEmitter &emitter,
                         ArrayRef<Value> numbers);
  void emitStep(ElementEmitter &emitter);
  void emitReducedSteps(ElementEmitter &emitter, unsigned level,
                        ArrayRef<Root *> results);
  static SmallVector<Value> values(ElementEmitter &emitter,
                                   ArrayRef<Root *> results);
  static void store(ElementEmitter &emitter, ArrayRef<Root *> results,
                    ArrayRef<Value> values);

  std::shared_ptr<codegen::Nest> nest;
  const ir::Domain &domain;
  unsigned laneLoop = ~0u; // a thread has `lanes` steps of it
  int64_t lanes = 1, lanePieces = 1;
  int64_t rest = 0;                // steps of the lane loop after its vectors
  SmallVector<unsigned> unitLoops; // other kept loops, outermost first
  int64_t units = 1, unitsPerThread = 1;
};

void LoopPart::chooseLanes() {
  constexpr int64_t kWidest = 4;
  std::optional<unsigned> chosen = nest->hasReduction()
                                       ? nest->reductionLoop()
                                       : nest->contiguousLoop(kWidest);
  if (!chosen || domain.isReduced(*chosen))
    chosen = nest->contiguousLoop(kWidest);
  if (!chosen)
    return;
  int64_t size = domain.sizes[*chosen];
  int64_t most = vectorElements(*nest, *chosen);
  bool isFlat = llvm::all_of(llvm::enumerate(domain.sizes), [&](auto loop) {
    return loop.index() == *chosen || loop.value() == 1 ||
           domain.isReduced(loop.index());
  });
  // With only one loop, the last blocks handle the remainder; otherwise rows
  // must be whole vectors.
  while (most > 1 && (isFlat ? size < most : size % most != 0))
    most /= 2;
  // With a reduction per thread, more threads are worth more than vectors.
  if (nest->hasReduction() && size / most < 4096)
    most = 1;
  laneLoop = *chosen;
  lanes = most;
}

void LoopPart::emit(Threads &t, ArrayRef<Value> inputs,
                    ArrayRef<Value> outputs) {
  ElementEmitter emitter(t.b, t.loc, domain);
  enterNest(emitter, t, *nest, inputs, outputs);

  SmallVector<Value> numbers;
  Value first =
      t.add(t.mul(t.block, t.blockThreads * unitsPerThread), t.thread);
  for (int64_t k = 0; k < unitsPerThread; ++k)
    numbers.push_back(k ? t.add(first, t.number(k * t.blockThreads)) : first);
  if (unitsPerThread > 1 && rest == 0)
    return emitUnitsTogether(t, emitter, numbers);
  for (Value number : numbers)
    emitUnit(t, emitter, number);
}

void LoopPart::setLoops(Threads &t, ElementEmitter &emitter, Value unit) {
  Value left = unit;
  auto split = [&](int64_t size, bool isLast) {
    if (isLast)
      return left;
    Value part = t.rem(left, size);
    left = t.div(left, size);
    return part;
  };
  if (laneLoop != ~0u) {
    Value piece = split(lanePieces, unitLoops.empty());
    emitter.setLoop(laneLoop, t.wide(t.mul(piece, lanes)));
    emitter.setLanes(laneLoop, lanes);
  }
  for (auto [i, loop] : llvm::enumerate(llvm::reverse(unitLoops)))
    emitter.setLoop(
        loop, t.wide(split(domain.sizes[loop], i + 1 == unitLoops.size())));
}

/// Emits one vector; a number after the last vector means one of the remaining
/// elements.
void LoopPart::emitUnit(Threads &t, ElementEmitter &emitter, Value unit) {
  bool isExact = (units + rest) % (t.blockThreads * unitsPerThread) == 0;
  if (units > 0) {
    t.when(isExact && rest == 0 ? Value() : t.isLess(unit, units), [&] {
      emitter.pushFrame();
      setLoops(t, emitter, unit);
      emitStep(emitter);
      emitter.clearLanes();
      emitter.popFrame();
    });
  }
  if (rest == 0)
    return;
  Value isRest = isExact ? Value() : t.isLess(unit, units + rest);
  if (units > 0)
    isRest = t.both(t.isAtLeast(unit, units), isRest);
  t.when(isRest, [&] {
    emitter.pushFrame();
    emitter.setLoop(laneLoop,
                    t.wide(t.add(unit, t.number(units * lanes - units))));
    emitStep(emitter);
    emitter.popFrame();
  });
}

/// Emits all loads before the first store.
void LoopPart::emitUnitsTogether(Threads &t, ElementEmitter &emitter,
                                 ArrayRef<Value> numbers) {
  bool isExact = units % (t.blockThreads * unitsPerThread) == 0;
  SmallVector<Root *> all;
  for (Root &root : nest->roots)
    all.push_back(&root);
  SmallVector<SmallVector<Value>> results;
  for (Value number : numbers) {
    emitter.pushFrame();
    setLoops(t, emitter, number);
    emitter.setGuard(isExact ? Value() : t.isLess(number, units));
    results.push_back(values(emitter, all));
    emitter.popFrame();
  }
  emitter.setGuard(nullptr);
  for (auto [number, unitResults] : llvm::zip_equal(numbers, results))
    t.when(isExact ? Value() : t.isLess(number, units), [&] {
      setLoops(t, emitter, number);
      store(emitter, all, unitResults);
    });
  emitter.clearLanes();
}

/// One step of the kept loops: reductions first, then results over the reduced
/// loops, which may use them, then results of the step itself.
void LoopPart::emitStep(ElementEmitter &emitter) {
  SmallVector<Root *> overAll, ofStep;
  for (Root &root : nest->roots)
    (nest->isOverAllLoops(root) ? overAll : ofStep).push_back(&root);
  for (Operation &op : nest->body)
    if (isa<ir::ReduceOp, ir::ArgReduceOp>(op))
      if (auto it = nest->indices.find(op.getResult(0));
          it != nest->indices.end())
        emitter.element(op.getResult(0), it->second);
  if (!overAll.empty())
    emitReducedSteps(emitter, 0, overAll);
  store(emitter, ofStep, values(emitter, ofStep));
}

void LoopPart::emitReducedSteps(ElementEmitter &emitter, unsigned level,
                                ArrayRef<Root *> results) {
  if (level == domain.reduced.size())
    return store(emitter, results, values(emitter, results));
  unsigned loop = domain.reduced[level];
  if (domain.sizes[loop] == 1)
    return emitReducedSteps(emitter, level + 1, results);
  OpBuilder &builder = emitter.builder;
  auto number = [&](int64_t value) {
    return emitter.constantInt(builder.getI64Type(), value);
  };
  auto steps = builder.create<scf::ForOp>(
      emitter.loc, number(0), number(domain.sizes[loop]), number(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(steps.getBody());
  emitter.pushFrame();
  emitter.setLoop(loop, steps.getInductionVar());
  emitReducedSteps(emitter, level + 1, results);
  emitter.popFrame();
}

/// Computes every value before the first store: a result may share the memory
/// of an operand.
SmallVector<Value> LoopPart::values(ElementEmitter &emitter,
                                    ArrayRef<Root *> results) {
  SmallVector<Value> list;
  for (Root *root : results)
    list.push_back(emitter.element(root->value, root->read));
  return list;
}

void LoopPart::store(ElementEmitter &emitter, ArrayRef<Root *> results,
                     ArrayRef<Value> values) {
  for (auto [root, value] : llvm::zip_equal(results, values))
    emitter.store(value, root->type, root->pointer, root->write);
}

/// A unit kernel with a thread per unit.
class UnitPart : public BlockPart {
public:
  explicit UnitPart(std::unique_ptr<codegen::UnitKernel> kernel)
      : kernel(std::move(kernel)) {}
  // Units take long: small blocks spread them.
  int64_t threads() const override { return 2 * kWarpThreads; }
  int64_t blocks(int64_t blockThreads) const override {
    return llvm::divideCeil(kernel->units, blockThreads);
  }
  int64_t reach() const override { return kernel->units; }
  void emit(Threads &t, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override {
    Value unit = t.add(t.mul(t.block, t.blockThreads), t.thread);
    bool isExact = kernel->units % t.blockThreads == 0;
    t.when(isExact ? Value() : t.isLess(unit, kernel->units), [&] {
      codegen::Scalar s(t.b, t.loc);
      kernel->emitUnit(s, t.wide(unit), inputs, outputs);
    });
  }

private:
  std::unique_ptr<codegen::UnitKernel> kernel;
};

} // namespace

std::unique_ptr<BlockPart> createLoopPart(std::shared_ptr<codegen::Nest> nest) {
  return std::make_unique<LoopPart>(std::move(nest));
}

std::unique_ptr<BlockPart> createUnitPart(Operation *op) {
  auto kernel = codegen::UnitKernel::create(op, /*run=*/1);
  return kernel ? std::make_unique<UnitPart>(std::move(kernel)) : nullptr;
}

} // namespace sinter::gpu
