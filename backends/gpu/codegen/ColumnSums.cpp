//===- ColumnSums.cpp - sums of columns that threads share ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ReductionTree.h"
#include "backends/gpu/codegen/ColumnPart.h"
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

/// Shared memory for the terms of sums; more terms need several rounds.
constexpr int64_t kTermBytes = 32 << 10;
/// The bytes that a thread reads before it adds the first of them. With the
/// threads of a multiprocessor, that is several times what has to be under way
/// to use all of the memory's rate.
constexpr int64_t kBytesTogether = 128;
/// The terms that are read from shared memory before they are added.
constexpr int64_t kTermsTogether = 8;

} // namespace

ColumnSum ColumnPart::sumOf(ElementEmitter &emitter, ir::ReduceOp op,
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
                                      ArrayRef<ColumnSum> sums) {
  SmallVector<Value> list;
  for (const ColumnSum &sum : sums)
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
  auto sums = llvm::map_to_vector(
      last, [](ir::ReduceOp op) -> Value { return op.getResult(); });
  return llvm::none_of(results, [&](Root *root) {
    return codegen::dependsOn(root->value, sums);
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
                                     ArrayRef<ColumnSum> sums, Value from,
                                     int64_t steps) {
  Type i64 = t->b.getI64Type();
  SmallVector<Value> none;
  for (const ColumnSum &sum : sums)
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
  if (whole == together) {
    totals = addSteps(from, whole, none);
  } else if (whole > 0) {
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
SmallVector<Value> ColumnPart::term(ElementEmitter &emitter,
                                    ArrayRef<ColumnSum> sums, Value number) {
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
  for (const ColumnSum &sum : sums)
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
int64_t ColumnPart::sharedBytes(ArrayRef<ColumnSum> sums,
                                int64_t perRound) const {
  int64_t bytes = 0;
  for (const ColumnSum &sum : sums)
    bytes += llvm::alignTo((perRound + 1) * columns * sum.bytes, 16);
  return bytes;
}

/// The address of a term in shared memory: number `number` of the round, in the
/// block's column `position`. For number `perRound` it is the whole sum.
Value ColumnPart::slot(ArrayRef<ColumnSum> sums, size_t which, int64_t perRound,
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
                                              ArrayRef<ColumnSum> sums) {
  int64_t bytes = 0; // of a term of all sums
  SmallVector<Value> totals;
  for (const ColumnSum &sum : sums) {
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
                                        ArrayRef<ColumnSum> sums, Value first,
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

} // namespace sinter::gpu
