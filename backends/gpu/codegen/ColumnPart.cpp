//===- ColumnPart.cpp - threads that share columns ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Reductions whose results are contiguous along the rows: gradients of biases,
// statistics of a batch norm. A block has some neighbouring columns and several
// threads for each column. These threads share the terms of the sum over the
// outermost reduced loop (ReductionTree.h: its chunks, or its steps if they are
// few). The terms are collected in shared memory and added in order.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/ReductionTree.h"
#include "backends/gpu/codegen/BlockPart.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using codegen::Root;
using ir::Index;

namespace {

constexpr int64_t kColumnThreads = 256;
/// Shared memory for the terms of a sum; more terms need several rounds.
constexpr int64_t kTermBytes = 16 << 10;
/// With at least this many columns there are enough threads without sharing.
constexpr int64_t kManyColumns = 1 << 16;

/// The outermost reduced loop with more than one step.
std::optional<unsigned> outermostLoop(const codegen::Nest &nest) {
  for (unsigned loop : nest.domain.reduced)
    if (nest.domain.sizes[loop] > 1)
      return loop;
  return std::nullopt;
}

class ColumnPart : public BlockPart, codegen::LaneReducer {
public:
  explicit ColumnPart(std::shared_ptr<codegen::Nest> nest);

  int64_t threads() const override {
    return llvm::alignTo(columns * sharers, kWarpThreads);
  }
  int64_t blocks(int64_t) const override { return columnBlocks * outerSteps; }
  int64_t reach() const override { return reachOf(*nest); }
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;
  Value reduce(ElementEmitter &emitter, ir::ReduceOp op, ArrayRef<Index> input,
               unsigned level) override;

private:
  void forTerms(ElementEmitter &emitter, Value first, int64_t count,
                llvm::function_ref<void(Value term)> body);
  Value term(ElementEmitter &emitter, ir::ReduceOp op, ArrayRef<Index> input,
             unsigned level, Value number);
  Value addRound(ElementEmitter &emitter, ir::ReduceOp op,
                 ArrayRef<Index> input, unsigned level, Value first,
                 int64_t count, Value sum);
  void emitSteps(ElementEmitter &emitter, ArrayRef<unsigned> loops,
                 ArrayRef<Root *> results);
  void storeAll(ElementEmitter &emitter, ArrayRef<Root *> results,
                Value condition);

  std::shared_ptr<codegen::Nest> nest;
  const ir::Domain &domain;
  unsigned sumLoop;          // threads share its terms
  int64_t size;              // steps of it
  int64_t termSteps, terms;  // steps of a term
  unsigned columnLoop = ~0u; // ~0u: there is one column
  int64_t columns = 1;       // of a block
  int64_t columnBlocks = 1;
  int64_t sharers = 1;              // threads of a column
  SmallVector<unsigned> outerLoops; // other kept loops, outermost first
  int64_t outerSteps = 1;

  // While code is emitted.
  Threads *t = nullptr;
  Value column, sharer; // of this thread, counts
  Value isActive;       // this thread has a column of its own; null: always
};

ColumnPart::ColumnPart(std::shared_ptr<codegen::Nest> nestIn)
    : nest(std::move(nestIn)), domain(nest->domain),
      sumLoop(*outermostLoop(*nest)), size(domain.sizes[sumLoop]) {
  bool isChunked = size > 2 * codegen::kChunkSteps;
  termSteps = isChunked ? codegen::kChunkSteps : 1;
  terms = llvm::divideCeil(size, termSteps);
  if (std::optional<unsigned> loop = nest->contiguousLoop(kWarpThreads)) {
    columnLoop = *loop;
    columns = std::min<int64_t>(
        kWarpThreads,
        llvm::bit_ceil(static_cast<uint64_t>(domain.sizes[columnLoop])));
    columnBlocks = llvm::divideCeil(domain.sizes[columnLoop], columns);
  }
  sharers = std::min<int64_t>(kColumnThreads / columns,
                              llvm::bit_ceil(static_cast<uint64_t>(terms)));
  for (auto [loop, loopSize] : llvm::enumerate(domain.sizes)) {
    if (loopSize == 1 || domain.isReduced(loop) || loop == columnLoop)
      continue;
    outerLoops.push_back(loop);
    outerSteps *= loopSize;
  }
}

void ColumnPart::emit(Threads &threads, ArrayRef<Value> inputs,
                      ArrayRef<Value> outputs) {
  t = &threads;
  ElementEmitter emitter(t->b, t->loc, domain);
  enterNest(emitter, threads, *nest, inputs, outputs);

  column = t->rem(t->thread, columns);
  sharer = t->div(t->thread, columns);
  isActive = nullptr;
  if (columns * sharers < t->blockThreads)
    isActive = t->isLess(t->thread, columns * sharers);
  Value left = t->block;
  if (columnLoop != ~0u) {
    int64_t count = domain.sizes[columnLoop];
    Value block = columnBlocks > 1 ? t->rem(left, columnBlocks) : t->number(0);
    left = t->div(left, columnBlocks);
    Value position = t->add(t->mul(block, columns), column);
    // Threads without a column read nothing, but take part in barriers.
    if (count % columns != 0)
      isActive = t->both(isActive, t->isLess(position, count));
    emitter.setLoop(columnLoop, t->wide(position));
  }
  setLoopsToStep(emitter, threads, outerLoops, left);

  emitter.setGuard(isActive);
  emitter.setLaneReducer(sumLoop, this);
  SmallVector<Root *> overAll, ofColumn;
  for (Root &root : nest->roots)
    (nest->isOverAllLoops(root) ? overAll : ofColumn).push_back(&root);
  for (Operation &op : nest->body)
    if (isa<ir::ReduceOp>(op))
      if (auto it = nest->indices.find(op.getResult(0));
          it != nest->indices.end())
        emitter.element(op.getResult(0), it->second);
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
    return t->when(count < sharers || columns * sharers < t->blockThreads
                       ? t->isLess(sharer, count)
                       : Value(),
                   [&] { one(sharer); });
  auto loop = t->b.create<scf::ForOp>(t->loc, sharer, t->number(count),
                                      t->number(sharers));
  OpBuilder::InsertionGuard guard(t->b);
  t->b.setInsertionPointToStart(loop.getBody());
  one(loop.getInductionVar());
}

/// The value of a term: that of a step, or the sum of a chunk.
Value ColumnPart::term(ElementEmitter &emitter, ir::ReduceOp op,
                       ArrayRef<Index> input, unsigned level, Value number) {
  Type i64 = t->b.getI64Type();
  if (termSteps == 1) {
    emitter.setLoop(sumLoop, t->wide(number));
    return emitter.reducedElement(op, input, level);
  }
  Value from = t->b.create<arith::MulIOp>(t->loc, t->wide(number),
                                          emitter.constantInt(i64, termSteps));
  Value to = t->b.create<arith::AddIOp>(t->loc, from,
                                        emitter.constantInt(i64, termSteps));
  if (size % termSteps != 0)
    to =
        t->b.create<arith::MinSIOp>(t->loc, to, emitter.constantInt(i64, size));
  return emitter.reduceSteps(op, input, level, from, to);
}

Value ColumnPart::reduce(ElementEmitter &emitter, ir::ReduceOp op,
                         ArrayRef<Index> input, unsigned level) {
  Value sum = emitter.identity(op.getKind(), op.getType().getElementType());
  int64_t bytes =
      columns * std::max<int64_t>(1, sum.getType().getIntOrFloatBitWidth() / 8);
  int64_t perRound = std::max(sharers, kTermBytes / bytes / sharers * sharers);
  int64_t whole = terms / perRound;
  if (terms <= perRound)
    return addRound(emitter, op, input, level, t->number(0), terms, sum);
  auto rounds = t->b.create<scf::ForOp>(t->loc, t->number(0), t->number(whole),
                                        t->number(1), ValueRange{sum});
  {
    OpBuilder::InsertionGuard guard(t->b);
    t->b.setInsertionPointToStart(rounds.getBody());
    Value next = addRound(emitter, op, input, level,
                          t->mul(rounds.getInductionVar(), perRound), perRound,
                          rounds.getRegionIterArg(0));
    t->b.create<scf::YieldOp>(t->loc, next);
  }
  sum = rounds.getResult(0);
  int64_t rest = terms - whole * perRound;
  if (rest == 0)
    return sum;
  return addRound(emitter, op, input, level, t->number(whole * perRound), rest,
                  sum);
}

/// Adds the terms [first, first + count) to `sum`, in order.
Value ColumnPart::addRound(ElementEmitter &emitter, ir::ReduceOp op,
                           ArrayRef<Index> input, unsigned level, Value first,
                           int64_t count, Value sum) {
  ir::ReduceKind kind = op.getKind();
  Type element = op.getType().getElementType(), compute = sum.getType();
  Type memory = compute.isInteger(1) ? t->b.getI8Type() : compute;
  bool isRepeated = terms > count;
  Value array = t->beginExchange(memory, count * columns, isRepeated);
  auto address = [&](Value number) {
    return t->elementAddress(array, memory,
                             t->add(t->mul(number, columns), column));
  };
  forTerms(emitter, first, count, [&](Value number) {
    Value value = term(emitter, op, input, level, number);
    if (memory != compute)
      value = t->b.create<arith::ExtUIOp>(t->loc, memory, value);
    Value slot = t->b.create<arith::SubIOp>(t->loc, number, first);
    t->b.create<LLVM::StoreOp>(t->loc, value, address(slot));
  });
  t->barrier();
  auto terms = t->b.create<scf::ForOp>(t->loc, t->number(0), t->number(count),
                                       t->number(1), ValueRange{sum});
  OpBuilder::InsertionGuard guard(t->b);
  t->b.setInsertionPointToStart(terms.getBody());
  Value value = t->b.create<LLVM::LoadOp>(t->loc, memory,
                                          address(terms.getInductionVar()));
  if (memory != compute)
    value = t->b.create<arith::TruncIOp>(t->loc, compute, value);
  t->b.create<scf::YieldOp>(
      t->loc, emitter.combine(kind, element, terms.getRegionIterArg(0), value));
  return terms.getResult(0);
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
  return kept > 0 && kept < kManyColumns;
}

std::unique_ptr<BlockPart>
createColumnPart(std::shared_ptr<codegen::Nest> nest) {
  return std::make_unique<ColumnPart>(std::move(nest));
}

} // namespace sinter::gpu
