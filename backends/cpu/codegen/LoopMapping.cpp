//===- LoopMapping.cpp - kernels as loops over tiles and lanes ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/LoopMapping.h"
#include "backends/common/codegen/ReductionTree.h"
#include "backends/cpu/codegen/SoloKernels.h"
#include "ir/Decisions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::cpu {

using codegen::ElementEmitter;
using codegen::Root;

LoopNest::LoopNest(codegen::Nest &nest, int64_t lanes)
    : nest(nest), domain(nest.domain) {
  chooseLanes(lanes);
  chooseInterleaved();
  chooseTiles();
}

void LoopNest::chooseLanes(int64_t lanes) {
  bool hasReduction = nest.hasReduction();
  std::optional<unsigned> chosen =
      hasReduction ? nest.reductionLoop() : nest.contiguousLoop(lanes);
  bool hasArgReduce = !nest.body.getOps<ir::ArgReduceOp>().empty();
  if (chosen && domain.isReduced(*chosen) && hasArgReduce)
    chosen.reset();
  if (!chosen)
    return;
  int64_t size = domain.sizes[*chosen];
  // In a reduction, four registers at a time hide the latency of additions.
  int64_t most = hasReduction ? 4 * lanes : lanes;
  int64_t count =
      std::min<int64_t>(most, llvm::bit_floor(static_cast<uint64_t>(size)));
  if (count < 2)
    return;
  laneLoop = *chosen;
  laneCount = count;
}

/// A result whose innermost dimension is short, such as the channels of an
/// image, is contiguous only together with all steps of that dimension.
void LoopNest::chooseInterleaved() {
  constexpr int64_t mostSteps = 4;
  if (laneLoop == ~0u || nest.hasReduction() || nest.contraction ||
      nest.roots.size() != 1)
    return;
  const Root &root = nest.roots.front();
  const ir::Index place = codegen::linearIndex(root.type, root.write);
  for (auto [loop, size] : llvm::enumerate(domain.sizes))
    if (size > 1 && size <= mostSteps && place.coefficient(loop) == 1 &&
        place.coefficient(laneLoop) == size)
      interleavedLoop = loop;
}

int64_t LoopNest::chooseTileOperations() const {
  const int64_t sizes[] = {kTileOperations, kTileOperations / 4,
                           kTileOperations * 4};
  auto answers = llvm::map_to_vector(
      sizes, [](int64_t size) { return std::to_string(size); });
  Operation *ops[] = {nest.body.getParentOp()};
  return sizes[ir::decide({.pass = "cpu",
                           .what = "tile-operations",
                           .ops = ops,
                           .answers = answers})];
}

void LoopNest::chooseTiles() {
  const int64_t tileOperations = chooseTileOperations();
  int64_t cost = nest.stepCost(), reducedSteps = nest.reducedSteps();
  if (interleavedLoop != ~0u)
    cost *= domain.sizes[interleavedLoop];
  for (auto [loop, size] : llvm::enumerate(domain.sizes)) {
    if (size == 1 || domain.isReduced(loop) || loop == interleavedLoop)
      continue;
    if (loop == laneLoop) {
      int64_t fitting = tileOperations / (cost * reducedSteps);
      laneBlock = std::clamp<int64_t>(
          llvm::alignDown(std::max<int64_t>(fitting, 1), laneCount), laneCount,
          llvm::alignTo(size, laneCount));
      laneBlocks = llvm::divideCeil(size, laneBlock);
      numUnits *= laneBlocks;
    } else {
      unitLoops.push_back(loop);
      numUnits *= size;
    }
  }
  bool laneIsKept = laneLoop != ~0u && !domain.isReduced(laneLoop);
  int64_t unitCost =
      cost * reducedSteps *
      (laneIsKept ? std::min(laneBlock, domain.sizes[laneLoop]) : 1);
  unitsPerTile =
      std::max<int64_t>(1, tileOperations / std::max<int64_t>(unitCost, 1));
  numTiles = llvm::divideCeil(numUnits, unitsPerTile);
  // Make tiles equally large, so that workers share even a few of them evenly.
  unitsPerTile = llvm::divideCeil(numUnits, std::max<int64_t>(numTiles, 1));
  numTiles = llvm::divideCeil(numUnits, std::max<int64_t>(unitsPerTile, 1));
}

void LoopNest::emit(OpBuilder &builder, Location loc, Value begin, Value end,
                    ValueRange arguments, ValueRange outputs) {
  ElementEmitter emitter(builder, loc, domain);
  for (auto [argument, pointer] : llvm::zip_equal(nest.arguments, arguments))
    emitter.setBuffer(argument, pointer);
  for (Root &root : nest.roots)
    root.pointer = outputs[root.output];
  Type i64 = builder.getI64Type();
  Value perTile = emitter.constantInt(i64, unitsPerTile);
  Value first = builder.create<arith::MulIOp>(loc, begin, perTile);
  Value last = builder.create<arith::MinSIOp>(
      loc, builder.create<arith::MulIOp>(loc, end, perTile),
      emitter.constantInt(i64, numUnits));
  auto units =
      builder.create<scf::ForOp>(loc, first, last, emitter.constantInt(i64, 1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(units.getBody());
  emitter.pushFrame();
  emitUnit(emitter, units.getInductionVar());
  emitter.popFrame();
}

/// Calls `body` for loop values lower, lower + step, ... below upper.
static void forLoop(ElementEmitter &emitter, Value lower, Value upper,
                    int64_t step, unsigned loop,
                    llvm::function_ref<void()> body) {
  OpBuilder &builder = emitter.builder;
  auto op = builder.create<scf::ForOp>(
      emitter.loc, lower, upper,
      emitter.constantInt(builder.getI64Type(), step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  emitter.pushFrame();
  emitter.setLoop(loop, op.getInductionVar());
  body();
  emitter.popFrame();
}

void LoopNest::emitUnit(ElementEmitter &emitter, Value unit) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Type i64 = builder.getI64Type();
  auto number = [&](int64_t value) { return emitter.constantInt(i64, value); };
  for (auto [loop, size] : llvm::enumerate(domain.sizes))
    if (size == 1)
      emitter.setLoop(loop, number(0));

  bool laneIsKept = laneLoop != ~0u && !domain.isReduced(laneLoop);
  Value rest = unit, block;
  auto split = [&](int64_t size) {
    Value part = builder.create<arith::RemUIOp>(loc, rest, number(size));
    rest = builder.create<arith::DivUIOp>(loc, rest, number(size));
    return part;
  };
  if (laneIsKept)
    block = laneBlocks == 1 ? number(0) : split(laneBlocks);
  for (auto [i, loop] : llvm::enumerate(llvm::reverse(unitLoops)))
    emitter.setLoop(
        loop, i + 1 == unitLoops.size() ? rest : split(domain.sizes[loop]));

  if (!laneIsKept) {
    if (laneLoop != ~0u)
      emitter.setReducedLanes(laneLoop,
                              codegen::reductionLanes(domain.sizes[laneLoop]));
    emitRow(emitter);
    return;
  }
  int64_t size = domain.sizes[laneLoop];
  Value lower = builder.create<arith::MulIOp>(loc, block, number(laneBlock));
  Value upper = builder.create<arith::MinSIOp>(
      loc, builder.create<arith::AddIOp>(loc, lower, number(laneBlock)),
      number(size));
  // All blocks except the last consist of whole vectors.
  Value whole = upper;
  if (size % laneCount != 0) {
    Value length = builder.create<arith::SubIOp>(loc, upper, lower);
    Value over = builder.create<arith::RemUIOp>(loc, length, number(laneCount));
    whole = builder.create<arith::SubIOp>(loc, upper, over);
  }
  forLoop(emitter, lower, whole, laneCount, laneLoop, [&] {
    emitter.setLanes(laneLoop, laneCount);
    emitRow(emitter);
    emitter.clearLanes();
  });
  if (size % laneCount != 0)
    emitRemainder(emitter, whole, upper, size % laneCount);
}

/// Emits the last `count` steps of the lane loop, which only the last block
/// has, with shorter vectors: 24 channels are 16 and 8 lanes, not 16 and eight
/// scalar steps.
void LoopNest::emitRemainder(ElementEmitter &emitter, Value begin, Value end,
                             int64_t count) {
  constexpr int64_t leastLanes = 4;
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Type i64 = builder.getI64Type();
  auto isLast = builder.create<scf::IfOp>(
      loc, builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, begin,
                                         end));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(isLast.thenBlock());
  Value at = begin;
  while (count >= leastLanes) {
    auto vector =
        static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(count)));
    emitter.pushFrame();
    emitter.setLoop(laneLoop, at);
    emitter.setLanes(laneLoop, vector);
    emitRow(emitter);
    emitter.clearLanes();
    emitter.popFrame();
    at = builder.create<arith::AddIOp>(loc, at,
                                       emitter.constantInt(i64, vector));
    count -= vector;
  }
  if (count > 0)
    forLoop(emitter, at, end, 1, laneLoop, [&] { emitRow(emitter); });
}

/// One step of the kept loops: reductions first, then results over the reduced
/// loops, which may use them, then results of the row itself.
void LoopNest::emitRow(ElementEmitter &emitter) {
  if (interleavedLoop != ~0u)
    return emitInterleaved(emitter);
  SmallVector<Root *> overAll, ofRow;
  for (Root &root : nest.roots)
    (nest.isOverAllLoops(root) ? overAll : ofRow).push_back(&root);
  if (!emitReductions(emitter, overAll) && !overAll.empty())
    emitColumns(emitter, 0, overAll);
  storeAll(emitter, ofRow);
}

/// Computes all steps before the store, as storeAll() does.
void LoopNest::emitInterleaved(ElementEmitter &emitter) {
  const Root &root = nest.roots.front();
  Type i64 = emitter.builder.getI64Type();
  SmallVector<Value> values;
  for (int64_t step = 0; step < domain.sizes[interleavedLoop]; ++step) {
    emitter.pushFrame();
    emitter.setLoop(interleavedLoop, emitter.constantInt(i64, step));
    values.push_back(emitter.element(root.value, root.read));
    emitter.popFrame();
  }
  emitter.setLoop(interleavedLoop, emitter.constantInt(i64, 0));
  emitter.storeInterleaved(values, root.type, root.pointer, root.write);
}

/// Returns whether `results`, those over all loops, are stored, too: if they
/// need no reduction, they are computed and stored in the loops of the last
/// one.
bool LoopNest::emitReductions(ElementEmitter &emitter,
                              ArrayRef<Root *> results) {
  auto element = [&](Value value) {
    emitter.element(value, nest.indices.find(value)->second);
  };
  for (auto op : nest.body.getOps<ir::ArgReduceOp>())
    if (nest.indices.contains(op->getResult(0)))
      element(op->getResult(0));
  // Lanes along a reduced loop are added at the end of each sum.
  bool isLaneKept = laneLoop == ~0u || !domain.isReduced(laneLoop);
  std::vector<SmallVector<ir::ReduceOp>> groups =
      nest.independentSums(isLaneKept ? ~size_t(0) : 1, [](ir::ReduceOp op) {
        return !ElementEmitter::needsLoop(op);
      });
  SmallVector<Value> reduced;
  for (Operation &op : nest.body)
    if (ir::isReduction(&op))
      llvm::append_range(reduced, op.getResults());
  bool isTogether =
      isLaneKept && !groups.empty() && llvm::none_of(results, [&](Root *root) {
        return codegen::dependsOn(root->value, reduced);
      });
  bool isStored = false;
  if (isLaneKept)
    emitter.setStepVisitor([&](ArrayRef<codegen::Reduction> all) {
      bool stores = isTogether && all.back().op == groups.back().back();
      fetchAhead(emitter, all, stores ? results : ArrayRef<Root *>());
      if (stores)
        storeAll(emitter, results);
      isStored |= stores;
    });
  for (ArrayRef<ir::ReduceOp> group : groups) {
    if (group.size() == 1) {
      element(ir::ReduceOp(group.front()).getResult());
      continue;
    }
    SmallVector<std::pair<ir::ReduceOp, ir::IndexVector>> together;
    for (ir::ReduceOp op : group)
      together.emplace_back(op, nest.indices.find(op.getResult())->second);
    emitter.reduceTogether(together);
  }
  emitter.setStepVisitor(nullptr);
  return isStored;
}

/// Rows that are far apart are fetched ahead: the hardware sees no pattern in
/// them.
void LoopNest::fetchAhead(ElementEmitter &emitter,
                          ArrayRef<codegen::Reduction> all,
                          ArrayRef<Root *> results) {
  constexpr int64_t steps = 16;
  unsigned loop = domain.reduced.back();
  if (laneCount == 1 || domain.sizes[loop] < 2 * steps)
    return;
  SmallVector<Value> values;
  for (auto [op, input] : all)
    values.push_back(op.getX());
  for (Root *root : results) {
    values.push_back(root->value);
    emitter.fetchAhead(root->type, root->pointer, root->write, loop, steps);
  }
  for (Value argument : nest.arguments)
    if (auto it = nest.indices.find(argument);
        it != nest.indices.end() && llvm::any_of(values, [&](Value value) {
          return codegen::dependsOn(value, argument);
        }))
      emitter.fetchAhead(argument, it->second, loop, steps);
}

void LoopNest::emitColumns(ElementEmitter &emitter, unsigned level,
                           ArrayRef<Root *> results) {
  if (level == domain.reduced.size()) {
    storeAll(emitter, results);
    return;
  }
  unsigned loop = domain.reduced[level];
  int64_t size = domain.sizes[loop];
  if (size == 1)
    return emitColumns(emitter, level + 1, results);
  Type i64 = emitter.builder.getI64Type();
  auto number = [&](int64_t value) { return emitter.constantInt(i64, value); };
  auto inner = [&] { emitColumns(emitter, level + 1, results); };
  int64_t whole = 0;
  if (loop == laneLoop) {
    whole = size - size % laneCount;
    forLoop(emitter, number(0), number(whole), laneCount, loop, [&] {
      emitter.setLanes(loop, laneCount);
      inner();
      emitter.clearLanes();
    });
  }
  if (whole < size)
    forLoop(emitter, number(whole), number(size), 1, loop, inner);
}

/// Computes every value before the first store: a result may share the memory
/// of an operand.
void LoopNest::storeAll(ElementEmitter &emitter, ArrayRef<Root *> results) {
  SmallVector<Value> values;
  for (Root *root : results)
    values.push_back(emitter.element(root->value, root->read));
  for (auto [root, value] : llvm::zip_equal(results, values))
    emitter.store(value, root->type, root->pointer, root->write);
}

} // namespace sinter::cpu
