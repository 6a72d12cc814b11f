//===- ColumnPart.cpp - threads that share columns ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Reductions whose results are contiguous along the rows: gradients of biases,
// statistics of a batch norm. A block has some neighbouring columns. A thread
// has a vector of them, and several threads have the same. These share the
// terms of the sum over the outermost reduced loop (ReductionTree.h: its
// chunks, or its steps if they are few). The terms are collected in shared
// memory, and one thread for each column adds them in order. Reductions that do
// not depend on each other read their operands together. Results with an
// element for each step that need no sum of the last such group are stored
// while its operands are read.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/ReductionTree.h"
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/TileShape.h"
#include "ir/IndexMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using codegen::Root;
using ir::Index;
using ir::IndexVector;

namespace {

/// The threads of a block, and the most if there are few blocks.
constexpr int64_t kColumnThreads = 256, kMostColumnThreads = 512;
/// The columns of a block: a line of memory for the most common type.
constexpr int64_t kMostColumns = 32;
/// Shared memory for the terms of sums; more terms need several rounds.
constexpr int64_t kTermBytes = 32 << 10;
/// The most reductions that are computed together.
constexpr int64_t kMostTogether = 4;
/// The bytes that a thread reads before it adds the first of them. With the
/// threads of a multiprocessor, that is several times what has to be under way
/// to use all of the memory's rate.
constexpr int64_t kBytesTogether = 128;
/// The terms that are read from shared memory before they are added.
constexpr int64_t kTermsTogether = 8;
/// With at least this many columns there are enough threads without sharing:
/// the first if a thread adds few steps, else the second, as many threads as a
/// GPU has.
constexpr int64_t kManyColumns = 1 << 16, kManyLongColumns = kManyBlocks * 2048;

/// The outermost reduced loop with more than one step.
std::optional<unsigned> outermostLoop(const codegen::Nest &nest) {
  for (unsigned loop : nest.domain.reduced)
    if (nest.domain.sizes[loop] > 1)
      return loop;
  return std::nullopt;
}

/// A reduction, and where it reads its operand.
struct Sum {
  ir::ReduceOp op;
  IndexVector input;
  ir::ReduceKind kind;
  Type element, compute, memory; // of the result, a term, one in shared memory
  int64_t bytes;                 // of a term in shared memory
};

class ColumnPart : public BlockPart, codegen::LaneReducer {
public:
  explicit ColumnPart(std::shared_ptr<codegen::Nest> nest);

  int64_t threads() const override {
    return llvm::alignTo(columnThreads * sharers, kWarpThreads);
  }
  int64_t workers(int64_t) const override { return threads(); }
  int64_t blocks(int64_t) const override { return columnBlocks * outerSteps; }
  int64_t reach() const override { return reachOf(*nest); }
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;
  Value reduce(ElementEmitter &emitter, ir::ReduceOp op, ArrayRef<Index> input,
               unsigned level) override;

private:
  std::vector<SmallVector<ir::ReduceOp>> independentSums() const;
  Sum sumOf(ElementEmitter &emitter, ir::ReduceOp op, IndexVector input) const;
  void forTerms(ElementEmitter &emitter, Value first, int64_t count,
                llvm::function_ref<void(Value term)> body);
  SmallVector<Value> values(ElementEmitter &emitter, ArrayRef<Sum> sums);
  bool areStoredEarly(ArrayRef<Root *> results,
                      ArrayRef<ir::ReduceOp> last) const;
  void storeEarly(ElementEmitter &emitter, ArrayRef<Value> values);
  int64_t stepsTogether() const;
  SmallVector<Value> chunk(ElementEmitter &emitter, ArrayRef<Sum> sums,
                           Value from, int64_t steps);
  SmallVector<Value> term(ElementEmitter &emitter, ArrayRef<Sum> sums,
                          Value number);
  SmallVector<Value> reduceTogether(ElementEmitter &emitter,
                                    ArrayRef<Sum> sums);
  SmallVector<Value> addRound(ElementEmitter &emitter, ArrayRef<Sum> sums,
                              Value first, int64_t count, int64_t perRound,
                              ValueRange before);
  int64_t sharedBytes(ArrayRef<Sum> sums, int64_t perRound) const;
  Value slot(ArrayRef<Sum> sums, size_t which, int64_t perRound, Value number,
             Value position);
  void emitSteps(ElementEmitter &emitter, ArrayRef<unsigned> loops,
                 ArrayRef<Root *> results);
  void storeAll(ElementEmitter &emitter, ArrayRef<Root *> results,
                Value condition);

  std::shared_ptr<codegen::Nest> nest;
  const ir::Domain &domain;
  unsigned sumLoop;          // threads share its terms
  unsigned sumLevel;         // its number among the reduced loops
  int64_t size;              // steps of it
  int64_t termSteps, terms;  // steps of a term
  unsigned columnLoop = ~0u; // ~0u: there is one column
  int64_t columns = 1;       // of a block
  int64_t columnBlocks = 1;
  int64_t vector = 1;               // columns of a thread
  int64_t columnThreads = 1;        // of a block, for all its columns
  int64_t sharers = 1;              // threads that have the same columns
  SmallVector<unsigned> outerLoops; // other kept loops, outermost first
  int64_t outerSteps = 1;

  // While code is emitted.
  Threads *t = nullptr;
  Value column, sharer; // the first column of this thread in its block; counts
  Value isActive;       // this thread has columns of its own; null: always
  Value exchange;       // the terms and whole sums in shared memory
  bool isShown;         // threads need sums that others have added
  /// What is stored while the operands of the sums are read.
  SmallVector<Root *> early;
};

ColumnPart::ColumnPart(std::shared_ptr<codegen::Nest> nestIn)
    : nest(std::move(nestIn)), domain(nest->domain),
      sumLoop(*outermostLoop(*nest)),
      sumLevel(llvm::find(domain.reduced, sumLoop) - domain.reduced.begin()),
      size(domain.sizes[sumLoop]) {
  bool isChunked = size > 2 * codegen::kChunkSteps;
  termSteps = isChunked ? codegen::kChunkSteps : 1;
  terms = llvm::divideCeil(size, termSteps);
  if (std::optional<unsigned> loop = nest->contiguousLoop(kMostColumns)) {
    columnLoop = *loop;
    int64_t count = domain.sizes[columnLoop];
    columns = std::min<int64_t>(kMostColumns,
                                llvm::bit_ceil(static_cast<uint64_t>(count)));
    columnBlocks = llvm::divideCeil(count, columns);
    vector = std::min(columns, vectorElements(*nest, columnLoop));
    while (count % vector != 0)
      vector /= 2;
  }
  columnThreads = columns / vector;
  for (auto [loop, loopSize] : llvm::enumerate(domain.sizes)) {
    if (loopSize == 1 || domain.isReduced(loop) || loop == columnLoop)
      continue;
    outerLoops.push_back(loop);
    outerSteps *= loopSize;
  }
  int64_t blockThreads =
      blocks(0) > 2 * kManyBlocks ? kColumnThreads : kMostColumnThreads;
  sharers = std::min<int64_t>(blockThreads / columnThreads,
                              llvm::bit_ceil(static_cast<uint64_t>(terms)));
}

void ColumnPart::emit(Threads &threads, ArrayRef<Value> inputs,
                      ArrayRef<Value> outputs) {
  t = &threads;
  ElementEmitter emitter(t->b, t->loc, domain);
  enterNest(emitter, threads, *nest, inputs, outputs);

  column = t->mul(t->rem(t->thread, columnThreads), vector);
  sharer = t->div(t->thread, columnThreads);
  isActive = nullptr;
  if (columnThreads * sharers < t->blockThreads)
    isActive = t->isLess(t->thread, columnThreads * sharers);
  Value left = t->block;
  if (columnLoop != ~0u) {
    int64_t count = domain.sizes[columnLoop];
    Value block = columnBlocks > 1 ? t->rem(left, columnBlocks) : t->number(0);
    left = t->div(left, columnBlocks);
    Value position = t->add(t->mul(block, columns), column);
    // Threads without a column take part in barriers. They read the last
    // columns, which are in this block, and store nothing.
    if (count % columns != 0) {
      Value isInside = t->isLess(position, count);
      isActive = t->both(isActive, isInside);
      position = t->select(isInside, position, t->number(count - vector));
    }
    emitter.setLoop(columnLoop, t->wide(position));
    emitter.setLanes(columnLoop, vector);
  }
  setLoopsToStep(emitter, threads, outerLoops, left);

  emitter.setLaneReducer(sumLoop, this);
  SmallVector<Root *> overAll, ofColumn;
  for (Root &root : nest->roots)
    (nest->isOverAllLoops(root) ? overAll : ofColumn).push_back(&root);
  std::vector<SmallVector<ir::ReduceOp>> groups = independentSums();
  bool isEarly = !groups.empty() && areStoredEarly(overAll, groups.back());
  isShown = vector > 1 || (!overAll.empty() && !isEarly) || groups.size() != 1;
  for (const SmallVector<ir::ReduceOp> &ops : groups) {
    if (isEarly && &ops == &groups.back())
      early = std::exchange(overAll, {});
    SmallVector<Sum> sums;
    for (ir::ReduceOp op : ops)
      sums.push_back(sumOf(emitter, op,
                           *ir::mapIndex(op->getOpOperand(0),
                                         nest->indices.at(op.getResult()),
                                         domain.reduced)));
    for (auto [op, value] :
         llvm::zip_equal(ops, reduceTogether(emitter, sums))) {
      Value result = op->getResult(0);
      emitter.setElementAt(result, nest->indices.at(result), value);
    }
  }
  if (!overAll.empty()) {
    SmallVector<unsigned> inner;
    for (unsigned loop : domain.reduced)
      if (loop != sumLoop && domain.sizes[loop] > 1)
        inner.push_back(loop);
    forTerms(emitter, t->number(0), terms, [&](Value number) {
      Type i64 = t->b.getI64Type();
      Value from = t->b.create<arith::MulIOp>(
          t->loc, t->wide(number), emitter.constantInt(i64, termSteps));
      Value to = t->b.create<arith::AddIOp>(
          t->loc, from, emitter.constantInt(i64, termSteps));
      if (size % termSteps != 0)
        to = t->b.create<arith::MinSIOp>(t->loc, to,
                                         emitter.constantInt(i64, size));
      auto steps = t->b.create<scf::ForOp>(t->loc, from, to,
                                           emitter.constantInt(i64, 1));
      OpBuilder::InsertionGuard guard(t->b);
      t->b.setInsertionPointToStart(steps.getBody());
      emitter.pushFrame();
      emitter.setLoop(sumLoop, steps.getInductionVar());
      emitSteps(emitter, inner, overAll);
      emitter.popFrame();
    });
  }
  if (!ofColumn.empty())
    storeAll(emitter, ofColumn,
             sharers > 1 ? t->both(isActive, t->isLess(sharer, 1)) : isActive);
}

/// Computes every value before the first store: a result may share the memory
/// of an operand.
void ColumnPart::storeAll(ElementEmitter &emitter, ArrayRef<Root *> results,
                          Value condition) {
  t->when(condition, [&] {
    emitter.pushFrame();
    SmallVector<Value> values;
    for (Root *root : results)
      values.push_back(emitter.element(root->value, root->read));
    for (auto [root, value] : llvm::zip_equal(results, values))
      emitter.store(value, root->type, root->pointer, root->write);
    emitter.popFrame();
  });
}

/// Emits, for one step of the shared loop, the results with an element per step
/// of the reduced loops.
void ColumnPart::emitSteps(ElementEmitter &emitter, ArrayRef<unsigned> loops,
                           ArrayRef<Root *> results) {
  if (loops.empty())
    return storeAll(emitter, results, isActive);
  Type i64 = t->b.getI64Type();
  auto steps = t->b.create<scf::ForOp>(
      t->loc, emitter.constantInt(i64, 0),
      emitter.constantInt(i64, domain.sizes[loops.front()]),
      emitter.constantInt(i64, 1));
  OpBuilder::InsertionGuard guard(t->b);
  t->b.setInsertionPointToStart(steps.getBody());
  emitter.pushFrame();
  emitter.setLoop(loops.front(), steps.getInductionVar());
  emitSteps(emitter, loops.drop_front(), results);
  emitter.popFrame();
}

/// Calls `body` for this thread's terms of [first, first + count).
void ColumnPart::forTerms(ElementEmitter &emitter, Value first, int64_t count,
                          llvm::function_ref<void(Value)> body) {
  auto one = [&](Value number) {
    emitter.pushFrame();
    body(t->add(first, number));
    emitter.popFrame();
  };
  if (count <= sharers)
    return t->when(count < sharers || columnThreads * sharers < t->blockThreads
                       ? t->isLess(sharer, count)
                       : Value(),
                   [&] { one(sharer); });
  auto loop = t->b.create<scf::ForOp>(t->loc, sharer, t->number(count),
                                      t->number(sharers));
  OpBuilder::InsertionGuard guard(t->b);
  t->b.setInsertionPointToStart(loop.getBody());
  one(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Whether `value` is computed from the result of one of `ops`.
static bool dependsOn(Value value, ArrayRef<ir::ReduceOp> ops,
                      llvm::DenseSet<Value> &visited) {
  Operation *op = value.getDefiningOp();
  if (!op || !visited.insert(value).second)
    return false;
  return llvm::is_contained(ops, op) ||
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, ops, visited);
         });
}

/// The reductions with one index, in order, in groups that do not depend on
/// each other.
std::vector<SmallVector<ir::ReduceOp>> ColumnPart::independentSums() const {
  std::vector<SmallVector<ir::ReduceOp>> groups;
  for (auto op : nest->body.getOps<ir::ReduceOp>()) {
    if (!nest->indices.count(op.getResult()))
      continue;
    llvm::DenseSet<Value> visited;
    if (groups.empty() || groups.back().size() == kMostTogether ||
        dependsOn(op.getX(), groups.back(), visited))
      groups.emplace_back();
    groups.back().push_back(op);
  }
  return groups;
}

Sum ColumnPart::sumOf(ElementEmitter &emitter, ir::ReduceOp op,
                      IndexVector input) const {
  Type element = op.getType().getElementType();
  Type compute = emitter.computeType(element);
  // Booleans are exchanged as bytes.
  Type memory = compute.isInteger(1) ? t->b.getI8Type() : compute;
  return {op,
          std::move(input),
          op.getKind(),
          element,
          compute,
          memory,
          memory.getIntOrFloatBitWidth() / 8};
}

/// What one step of the shared loop adds to each sum, and then the elements
/// that are stored early.
SmallVector<Value> ColumnPart::values(ElementEmitter &emitter,
                                      ArrayRef<Sum> sums) {
  SmallVector<Value> list;
  for (const Sum &sum : sums)
    list.push_back(emitter.reducedElement(sum.op, sum.input, sumLevel));
  for (Root *root : early)
    list.push_back(emitter.element(root->value, root->read));
  return list;
}

/// Whether `results`, those with an element for each step, can be stored when
/// the operands of the group `last` are read. No two threads may then read the
/// same elements: a result may share the memory of an operand.
bool ColumnPart::areStoredEarly(ArrayRef<Root *> results,
                                ArrayRef<ir::ReduceOp> last) const {
  if (columnThreads * sharers < t->blockThreads ||
      (columnLoop != ~0u && domain.sizes[columnLoop] % columns != 0) ||
      llvm::any_of(
          domain.reduced,
          [&](unsigned loop) {
            return loop != sumLoop && domain.sizes[loop] > 1;
          }))
    return false;
  llvm::DenseSet<Value> visited;
  return llvm::none_of(results, [&](Root *root) {
    Operation *op = root->value.getDefiningOp();
    return (op && llvm::is_contained(last, op)) ||
           dependsOn(root->value, last, visited);
  });
}

/// Stores `values` as the elements of the current step.
void ColumnPart::storeEarly(ElementEmitter &emitter, ArrayRef<Value> values) {
  for (auto [root, value] : llvm::zip_equal(early, values))
    emitter.store(value, root->type, root->pointer, root->write);
}

/// The steps whose operands a thread reads before it adds the first of them.
int64_t ColumnPart::stepsTogether() const {
  int64_t bytes = 0; // of one step; what all columns share is little
  for (BlockArgument argument : nest->arguments)
    if (auto it = nest->indices.find(argument); it != nest->indices.end()) {
      Index offset = codegen::linearIndex(ir::tensorType(argument), it->second);
      if (offset.coefficient(sumLoop) != 0 &&
          (columnLoop == ~0u || offset.coefficient(columnLoop) != 0))
        bytes += vector * ir::elementSizeBytes(
                              ir::tensorType(argument).getElementType());
    }
  int64_t most = kBytesTogether / std::max<int64_t>(bytes, 1);
  return std::min<int64_t>(
      codegen::kChunkSteps,
      llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(most, 1))));
}

/// The sums of `steps` steps of the shared loop from `from` (i64) on.
SmallVector<Value> ColumnPart::chunk(ElementEmitter &emitter,
                                     ArrayRef<Sum> sums, Value from,
                                     int64_t steps) {
  Type i64 = t->b.getI64Type();
  SmallVector<Value> none;
  for (const Sum &sum : sums)
    none.push_back(emitter.splat(emitter.identity(sum.kind, sum.element)));
  auto add = [&](Value start, int64_t offset) -> Value {
    return t->b.create<arith::AddIOp>(t->loc, start,
                                      emitter.constantInt(i64, offset));
  };
  /// Adds the values of `count` steps to `totals`.
  auto addSteps = [&](Value start, int64_t count, ValueRange totals) {
    std::vector<SmallVector<Value>> all;
    for (int64_t step = 0; step < count; ++step) {
      emitter.pushFrame();
      emitter.setLoop(sumLoop, add(start, step));
      all.push_back(values(emitter, sums));
      emitter.popFrame();
    }
    for (auto [step, list] : llvm::enumerate(all)) {
      emitter.pushFrame();
      emitter.setLoop(sumLoop, add(start, static_cast<int64_t>(step)));
      storeEarly(emitter, ArrayRef(list).drop_front(sums.size()));
      emitter.popFrame();
    }
    SmallVector<Value> next(totals);
    for (const SmallVector<Value> &step : all)
      for (auto [sum, total, value] :
           llvm::zip_equal(sums, next, ArrayRef(step).take_front(sums.size())))
        total = emitter.combine(sum.kind, sum.element, total, value);
    return next;
  };
  int64_t together = stepsTogether(), whole = steps - steps % together;
  SmallVector<Value> totals = none;
  if (whole > 0) {
    auto loop =
        t->b.create<scf::ForOp>(t->loc, from, add(from, whole),
                                emitter.constantInt(i64, together), none);
    OpBuilder::InsertionGuard guard(t->b);
    t->b.setInsertionPointToStart(loop.getBody());
    t->b.create<scf::YieldOp>(t->loc, addSteps(loop.getInductionVar(), together,
                                               loop.getRegionIterArgs()));
    totals.assign(loop.getResults().begin(), loop.getResults().end());
  }
  return addSteps(add(from, whole), steps - whole, totals);
}

/// Term `number` of each sum: the value of a step, or the sum of a chunk.
SmallVector<Value> ColumnPart::term(ElementEmitter &emitter, ArrayRef<Sum> sums,
                                    Value number) {
  if (termSteps == 1) {
    emitter.setLoop(sumLoop, t->wide(number));
    SmallVector<Value> list = values(emitter, sums);
    storeEarly(emitter, ArrayRef(list).drop_front(sums.size()));
    list.truncate(sums.size());
    return list;
  }
  Value from = t->b.create<arith::MulIOp>(
      t->loc, t->wide(number),
      emitter.constantInt(t->b.getI64Type(), termSteps));
  int64_t rest = size % termSteps;
  if (rest == 0)
    return chunk(emitter, sums, from, termSteps);
  // Both loops have a constant number of steps, so that loads of several steps
  // are in flight at once.
  SmallVector<Type> types;
  for (const Sum &sum : sums)
    types.push_back(vector > 1 ? VectorType::get({vector}, sum.compute)
                               : sum.compute);
  auto choice = t->b.create<scf::IfOp>(
      t->loc, types, t->isLess(number, terms - 1), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t->b);
  for (auto [block, steps] :
       {std::pair{choice.thenBlock(), termSteps}, {choice.elseBlock(), rest}}) {
    t->b.setInsertionPointToStart(block);
    emitter.pushFrame();
    t->b.create<scf::YieldOp>(t->loc, chunk(emitter, sums, from, steps));
    emitter.popFrame();
  }
  return {choice.getResults().begin(), choice.getResults().end()};
}

Value ColumnPart::reduce(ElementEmitter &emitter, ir::ReduceOp op,
                         ArrayRef<Index> input, unsigned level) {
  return reduceTogether(emitter, sumOf(emitter, op, IndexVector(input)))[0];
}

/// The bytes of shared memory for a round's terms, and then the whole sums.
int64_t ColumnPart::sharedBytes(ArrayRef<Sum> sums, int64_t perRound) const {
  int64_t bytes = 0;
  for (const Sum &sum : sums)
    bytes += llvm::alignTo((perRound + 1) * columns * sum.bytes, 16);
  return bytes;
}

/// The address of a term in shared memory: number `number` of the round, in the
/// block's column `position`. For number `perRound` it is the whole sum.
Value ColumnPart::slot(ArrayRef<Sum> sums, size_t which, int64_t perRound,
                       Value number, Value position) {
  int64_t bytes = sharedBytes(sums.take_front(which), perRound);
  Type memory = sums[which].memory;
  Value array = exchange;
  if (bytes > 0)
    array = t->b.create<LLVM::GEPOp>(
        t->loc, array.getType(), t->b.getI8Type(), array,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  return t->elementAddress(array, memory,
                           t->add(t->mul(number, columns), position));
}

/// The sums in this thread's columns; only for sharer 0 if they are not shown.
SmallVector<Value> ColumnPart::reduceTogether(ElementEmitter &emitter,
                                              ArrayRef<Sum> sums) {
  int64_t bytes = 0; // of a term of all sums
  SmallVector<Value> totals;
  for (const Sum &sum : sums) {
    bytes += columns * sum.bytes;
    totals.push_back(emitter.identity(sum.kind, sum.element));
  }
  int64_t perRound = std::max(sharers, kTermBytes / bytes / sharers * sharers);
  perRound = std::min(perRound, terms);
  int64_t whole = terms / perRound, rest = terms % perRound;
  if (terms == perRound) {
    totals = addRound(emitter, sums, t->number(0), terms, perRound, totals);
  } else {
    auto rounds = t->b.create<scf::ForOp>(
        t->loc, t->number(0), t->number(whole), t->number(1), totals);
    {
      OpBuilder::InsertionGuard guard(t->b);
      t->b.setInsertionPointToStart(rounds.getBody());
      emitter.pushFrame();
      SmallVector<Value> next =
          addRound(emitter, sums, t->mul(rounds.getInductionVar(), perRound),
                   perRound, perRound, rounds.getRegionIterArgs());
      t->b.create<scf::YieldOp>(t->loc, next);
      emitter.popFrame();
    }
    totals.assign(rounds.getResults().begin(), rounds.getResults().end());
    if (rest > 0)
      totals = addRound(emitter, sums, t->number(whole * perRound), rest,
                        perRound, totals);
  }
  if (!isShown)
    return totals;
  t->barrier();
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Type type =
        vector > 1 ? Type(VectorType::get({vector}, sum.compute)) : sum.compute;
    totals[i] =
        t->load(type, slot(sums, i, perRound, t->number(perRound), column));
  }
  return totals;
}

/// Adds the terms [first, first + count) to the sums `before`, in order: those
/// of the block's column i in thread i, which shows others the whole sums.
SmallVector<Value> ColumnPart::addRound(ElementEmitter &emitter,
                                        ArrayRef<Sum> sums, Value first,
                                        int64_t count, int64_t perRound,
                                        ValueRange before) {
  exchange = t->beginExchange(t->b.getI8Type(), sharedBytes(sums, perRound),
                              /*isRepeated=*/terms > perRound);
  forTerms(emitter, first, count, [&](Value number) {
    SmallVector<Value> list = term(emitter, sums, number);
    Value inRound = t->b.create<arith::SubIOp>(t->loc, number, first);
    for (size_t i = 0; i < sums.size(); ++i)
      t->store(list[i], slot(sums, i, perRound, inRound, column));
  });
  t->barrier();
  OpBuilder::InsertionGuard guard(t->b);
  auto choice = t->b.create<scf::IfOp>(t->loc, before.getTypes(),
                                       t->isLess(t->thread, columns),
                                       /*withElseRegion=*/true);
  t->b.setInsertionPointToStart(choice.elseBlock());
  t->b.create<scf::YieldOp>(t->loc, before);
  t->b.setInsertionPointToStart(choice.thenBlock());
  /// Adds `count` terms of the round from `start` on.
  auto addTerms = [&](Value start, int64_t count, ValueRange totals) {
    std::vector<SmallVector<Value>> terms(count);
    for (int64_t term = 0; term < count; ++term)
      for (size_t i = 0; i < sums.size(); ++i)
        terms[term].push_back(t->load(
            sums[i].compute, slot(sums, i, perRound,
                                  t->add(start, t->number(term)), t->thread)));
    SmallVector<Value> next(totals);
    for (const SmallVector<Value> &term : terms)
      for (auto [sum, total, value] : llvm::zip_equal(sums, next, term))
        total = emitter.combine(sum.kind, sum.element, total, value);
    return next;
  };
  int64_t together = count - count % kTermsTogether;
  SmallVector<Value> totals(before);
  if (together > 0) {
    auto loop =
        t->b.create<scf::ForOp>(t->loc, t->number(0), t->number(together),
                                t->number(kTermsTogether), before);
    OpBuilder::InsertionGuard loopGuard(t->b);
    t->b.setInsertionPointToStart(loop.getBody());
    t->b.create<scf::YieldOp>(t->loc,
                              addTerms(loop.getInductionVar(), kTermsTogether,
                                       loop.getRegionIterArgs()));
    totals.assign(loop.getResults().begin(), loop.getResults().end());
  }
  totals = addTerms(t->number(together), count - together, totals);
  for (size_t i = 0; isShown && i < sums.size(); ++i)
    t->store(totals[i],
             slot(sums, i, perRound, t->number(perRound), t->thread));
  t->b.create<scf::YieldOp>(t->loc, totals);
  return {choice.getResults().begin(), choice.getResults().end()};
}

} // namespace

bool hasSharedColumns(const codegen::Nest &nest) {
  if (!nest.hasReduction() || hasSharedRows(nest) || !outermostLoop(nest) ||
      !nest.body.getOps<ir::ArgReduceOp>().empty())
    return false;
  int64_t kept = 1;
  for (auto [loop, size] : llvm::enumerate(nest.domain.sizes))
    if (!nest.domain.isReduced(loop))
      kept *= size;
  if (kept < kManyColumns)
    return kept > 0;
  std::optional<unsigned> columns = nest.contiguousLoop(kMostColumns);
  return kept < kManyLongColumns && columns &&
         nest.domain.sizes[*columns] >= kMostColumns &&
         nest.domain.sizes[*outermostLoop(nest)] > 2 * codegen::kChunkSteps;
}

std::unique_ptr<BlockPart>
createColumnPart(std::shared_ptr<codegen::Nest> nest) {
  return std::make_unique<ColumnPart>(std::move(nest));
}

} // namespace sinter::gpu
