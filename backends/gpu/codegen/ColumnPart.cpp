//===- ColumnPart.cpp - how blocks and threads share columns --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/ColumnPart.h"
#include "backends/common/codegen/ReductionTree.h"
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

} // namespace

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
  constexpr size_t mostTogether = 4;
  std::vector<SmallVector<ir::ReduceOp>> groups =
      nest->independentSums(mostTogether);
  bool isEarly = !groups.empty() && areStoredEarly(overAll, groups.back());
  isShown = vector > 1 || (!overAll.empty() && !isEarly) || groups.size() != 1;
  for (const SmallVector<ir::ReduceOp> &ops : groups) {
    if (isEarly && &ops == &groups.back())
      early = std::exchange(overAll, {});
    SmallVector<ColumnSum> sums;
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
