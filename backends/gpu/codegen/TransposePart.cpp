//===- TransposePart.cpp - elementwise results across their operands ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For operands that are contiguous along another loop than the results. A block
// has a square of both loops: its threads copy the operands to shared memory
// along the operands' loop, and compute and store along the results' loop.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/gpu/codegen/BlockPart.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using codegen::Nest;
using codegen::Root;
using ir::Index;

namespace {

/// Steps of both loops. A line of shared memory has one more element, so that
/// neither lines nor columns have bank conflicts.
constexpr int64_t kSquare = 32, kPitch = kSquare + 1;
constexpr int64_t kTransposeThreads = 256;
/// Lines of the square that the threads process at once.
constexpr int64_t kLines = kTransposeThreads / kSquare;
/// Shorter loops would leave too much of a square empty; fewer results would
/// leave too many multiprocessors idle.
constexpr int64_t kLeastSteps = 12, kLeastResults = 1 << 12;
/// The most operands with a square in shared memory; each takes at most 8448
/// bytes.
constexpr size_t kMostOperands = 4;

struct Transpose {
  unsigned across, along; // loops: operands', results'
  SmallVector<BlockArgument> operands;
};

int64_t stride(RankedTensorType type, ArrayRef<Index> index, unsigned loop) {
  return codegen::linearIndex(type, index).coefficient(loop);
}

/// The loop along which all results are contiguous.
std::optional<unsigned> resultLoop(const Nest &nest) {
  for (auto [loop, size] : llvm::enumerate(nest.domain.sizes))
    if (size > 1 &&
        llvm::all_of(nest.roots, [&, loop = loop](const Root &root) {
          return stride(root.type, root.write, loop) == 1;
        }))
      return loop;
  return std::nullopt;
}

std::optional<Transpose> findTranspose(const Nest &nest) {
  if (nest.hasReduction() || nest.contraction || nest.roots.empty())
    return std::nullopt;
  int64_t results = 1;
  for (int64_t size : nest.domain.sizes)
    results *= size;
  std::optional<unsigned> along = resultLoop(nest);
  if (!along || results < kLeastResults ||
      nest.domain.sizes[*along] < kLeastSteps)
    return std::nullopt;
  std::optional<Transpose> best;
  for (auto [loop, size] : llvm::enumerate(nest.domain.sizes)) {
    if (loop == *along || size < kLeastSteps)
      continue;
    Transpose transpose{static_cast<unsigned>(loop), *along, {}};
    for (BlockArgument argument : nest.body.getArguments()) {
      auto it = nest.indices.find(argument);
      if (it == nest.indices.end())
        continue;
      RankedTensorType type = ir::tensorType(argument);
      int64_t alongResults = stride(type, it->second, *along);
      if (stride(type, it->second, loop) == 1 && alongResults != 0 &&
          alongResults != 1)
        transpose.operands.push_back(argument);
    }
    size_t count = transpose.operands.size();
    if (count > 0 && count <= kMostOperands &&
        (!best || count > best->operands.size()))
      best = std::move(transpose);
  }
  return best;
}

class TransposePart : public BlockPart {
public:
  explicit TransposePart(std::shared_ptr<Nest> nestIn)
      : nest(std::move(nestIn)), transpose(*findTranspose(*nest)) {
    for (auto [loop, size] : llvm::enumerate(nest->domain.sizes))
      if (size > 1 && loop != transpose.across && loop != transpose.along) {
        unitLoops.push_back(loop);
        units *= size;
      }
  }

  int64_t threads() const override { return kTransposeThreads; }
  int64_t blocks(int64_t) const override {
    return units * squares(transpose.across) * squares(transpose.along);
  }
  int64_t reach() const override { return reachOf(*nest); }
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;

private:
  int64_t size(unsigned loop) const { return nest->domain.sizes[loop]; }
  int64_t squares(unsigned loop) const {
    return llvm::divideCeil(size(loop), kSquare);
  }
  /// Sets both loops; whether they have these steps (null: they do).
  Value enter(ElementEmitter &emitter, Value across, Value along);
  void readSquares(ElementEmitter &emitter);
  void storeResults(ElementEmitter &emitter);
  Value place(size_t operand, Value line, Value column);

  std::shared_ptr<Nest> nest;
  Transpose transpose;
  SmallVector<unsigned> unitLoops; // the other loops, outermost first
  int64_t units = 1;

  // While code is emitted.
  Threads *t = nullptr;
  Value shared;
  Value firstAcross, firstAlong; // of the square, counts
  Value line, column;            // of this thread in the square
};

void TransposePart::emit(Threads &threads, ArrayRef<Value> inputs,
                         ArrayRef<Value> outputs) {
  t = &threads;
  ElementEmitter emitter(t->b, t->loc, nest->domain);
  enterNest(emitter, *t, *nest, inputs, outputs);
  int64_t acrossSquares = squares(transpose.across);
  Value rest = t->div(t->block, acrossSquares);
  firstAcross = t->mul(t->rem(t->block, acrossSquares), kSquare);
  firstAlong = t->mul(t->rem(rest, squares(transpose.along)), kSquare);
  setLoopsToStep(emitter, *t, unitLoops,
                 t->div(rest, squares(transpose.along)));
  line = t->div(t->thread, kSquare);
  column = t->rem(t->thread, kSquare);
  shared = t->beginExchange(t->b.getI64Type(),
                            transpose.operands.size() * kSquare * kPitch,
                            /*isRepeated=*/false);
  // A block has more threads if another part of the kernel needs them.
  Value isWorker = t->blockThreads > kTransposeThreads
                       ? t->isLess(t->thread, kTransposeThreads)
                       : Value();
  t->when(isWorker, [&] { readSquares(emitter); });
  t->barrier();
  t->when(isWorker, [&] { storeResults(emitter); });
}

Value TransposePart::enter(ElementEmitter &emitter, Value across, Value along) {
  emitter.setLoop(transpose.across, t->wide(across));
  emitter.setLoop(transpose.along, t->wide(along));
  Value inside;
  if (size(transpose.across) % kSquare != 0)
    inside = t->isLess(across, size(transpose.across));
  if (size(transpose.along) % kSquare != 0)
    inside = t->both(inside, t->isLess(along, size(transpose.along)));
  return inside;
}

Value TransposePart::place(size_t operand, Value lineHere, Value columnHere) {
  return t->add(t->add(t->mul(lineHere, kPitch), columnHere),
                t->number(operand * kSquare * kPitch));
}

/// Emits all reads before the first store to shared memory.
void TransposePart::readSquares(ElementEmitter &emitter) {
  struct Read {
    Value memory, place;
  };
  SmallVector<Read> reads;
  for (int64_t first = 0; first < kSquare; first += kLines) {
    Value here = t->add(line, t->number(first));
    emitter.pushFrame();
    emitter.setGuard(
        enter(emitter, t->add(firstAcross, column), t->add(firstAlong, here)));
    for (auto [number, operand] : llvm::enumerate(transpose.operands)) {
      Value value =
          emitter.element(operand, nest->indices.find(operand)->second);
      reads.push_back(
          {emitter.toMemory(value, ir::tensorType(operand).getElementType()),
           place(number, here, column)});
    }
    emitter.popFrame();
  }
  emitter.setGuard(nullptr);
  for (const Read &read : reads)
    t->b.create<LLVM::StoreOp>(
        t->loc, read.memory,
        t->elementAddress(shared, read.memory.getType(), read.place));
}

void TransposePart::storeResults(ElementEmitter &emitter) {
  for (int64_t first = 0; first < kSquare; first += kLines) {
    Value here = t->add(line, t->number(first));
    emitter.pushFrame();
    Value inside =
        enter(emitter, t->add(firstAcross, here), t->add(firstAlong, column));
    t->when(inside, [&] {
      for (auto [number, operand] : llvm::enumerate(transpose.operands)) {
        Type element = ir::tensorType(operand).getElementType(),
             memory = emitter.storageType(element);
        Value read = t->b.create<LLVM::LoadOp>(
            t->loc, memory,
            t->elementAddress(shared, memory, place(number, column, here)));
        emitter.setElement(operand, emitter.fromMemory(read, element));
      }
      SmallVector<Value> values;
      for (const Root &root : nest->roots)
        values.push_back(emitter.element(root.value, root.read));
      for (auto [root, value] : llvm::zip_equal(nest->roots, values))
        emitter.store(value, root.type, root.pointer, root.write);
    });
    emitter.popFrame();
  }
}

} // namespace

bool isTransposed(const Nest &nest) { return findTranspose(nest).has_value(); }

std::unique_ptr<BlockPart> createTransposePart(std::shared_ptr<Nest> nest) {
  return std::make_unique<TransposePart>(std::move(nest));
}

} // namespace sinter::gpu
