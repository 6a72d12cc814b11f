//===- LoopMapping.cpp - fusions as loops over tiles and lanes ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/LoopMapping.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace sinter::cpu {

using codegen::ElementEmitter;
using passes::Index;
using passes::IndexVector;

/// Element operations that are worth a tile of their own: some microseconds of
/// work.
static constexpr int64_t kTileOperations = 1 << 16;

LoopNest::LoopNest(Block &body, passes::FusionDomain domainIn,
                   std::vector<Root> rootsIn, int64_t lanes)
    : body(body), domain(std::move(domainIn)), roots(std::move(rootsIn)) {
  SmallVector<std::pair<Value, IndexVector>> starts;
  for (const Root &root : roots)
    starts.push_back({root.value, root.read});
  indices = passes::traceIndices(body, starts, domain.reduced);
  collapseLoops();
  chooseLanes(lanes);
  chooseTiles();
}

bool LoopNest::isOverAllLoops(const Root &root) const {
  return llvm::any_of(root.read, [&](const Index &index) {
    return llvm::any_of(
        index.terms, [&](auto term) { return domain.isReduced(term.first); });
  });
}

/// The row-major address, in elements, as an index over the loops.
static Index linear(RankedTensorType type, ArrayRef<Index> index) {
  Index sum = Index::fixed(0);
  for (auto [i, stride] :
       llvm::zip_equal(index, ir::rowMajorStrides(type.getShape())))
    sum = sum + i.scaled(stride);
  return sum;
}

/// Two neighbouring loops become one when every tensor walks through both as
/// through one: longer vectors, fewer remainders. The outer one is left with
/// one step.
void LoopNest::collapseLoops() {
  SmallVector<Index> accesses;
  for (BlockArgument argument : body.getArguments()) {
    if (argument.use_empty())
      continue;
    auto it = indices.find(argument);
    if (it == indices.end())
      return;
    accesses.push_back(linear(ir::tensorType(argument), it->second));
  }
  for (const Root &root : roots)
    accesses.push_back(linear(root.type, root.write));
  for (Operation &op : body)
    if (isa<ir::IotaOp, ir::PadOp, ir::GatherOp, ir::GatherElementsOp,
            ir::GatherNdOp, ir::ReduceWindowOp, ir::ArgReduceOp>(op))
      return; // these use the index itself

  SmallVector<unsigned> loops;
  for (auto [loop, size] : llvm::enumerate(domain.sizes))
    if (size != 1)
      loops.push_back(loop);
  for (unsigned i = loops.size(); i-- > 1;) {
    unsigned outer = loops[i - 1], inner = loops[i];
    if (domain.isReduced(outer) != domain.isReduced(inner))
      continue;
    bool walksAsOne = llvm::all_of(accesses, [&](const Index &access) {
      return access.coefficient(outer) ==
             access.coefficient(inner) * domain.sizes[inner];
    });
    if (!walksAsOne)
      continue;
    domain.sizes[inner] *= domain.sizes[outer];
    domain.sizes[outer] = 1;
    // `inner` now stands in for both when the next pair is looked at.
    loops[i - 1] = inner;
  }
}

void LoopNest::chooseLanes(int64_t lanes) {
  std::optional<unsigned> chosen;
  bool hasReduction = !domain.reduced.empty();
  bool hasArgReduce = !body.getOps<ir::ArgReduceOp>().empty();
  if (hasReduction) {
    // The innermost dimension of what is reduced: a choice that does not depend
    // on what else is in the fusion, so that the tree of the sum does not
    // either.
    for (Operation &op : body) {
      if (!isa<ir::ReduceOp, ir::ArgReduceOp>(op))
        continue;
      auto it = indices.find(op.getOperand(0));
      if (it == indices.end())
        continue;
      for (const Index &index : llvm::reverse(it->second))
        if (std::optional<unsigned> loop = index.asLoop();
            loop && domain.sizes[*loop] > 1) {
          chosen = loop;
          break;
        }
      break;
    }
    if (chosen && domain.isReduced(*chosen) && hasArgReduce)
      chosen.reset();
  } else {
    llvm::DenseMap<unsigned, int64_t> votes;
    auto vote = [&](RankedTensorType type, ArrayRef<Index> index) {
      for (auto [loop, coefficient] : linear(type, index).terms)
        if (coefficient == 1 && domain.sizes[loop] > 1)
          votes[loop] += type.getNumElements();
    };
    for (const Root &root : roots)
      vote(root.type, root.write);
    for (BlockArgument argument : body.getArguments())
      if (auto it = indices.find(argument); it != indices.end())
        vote(ir::tensorType(argument), it->second);
    // What windows read lies along the dimensions that they do not slide over.
    for (auto windows : body.getOps<ir::ReduceWindowOp>())
      if (auto it = indices.find(windows.getResult()); it != indices.end()) {
        IndexVector index = it->second;
        for (auto [i, size, stride] :
             llvm::zip_equal(index, windows.getWindow(), windows.getStrides()))
          if (size != 1 || stride != 1)
            i = Index::fixed(0);
        vote(ir::tensorType(windows.getX()), index);
      }
    // Of two along which as much lies, as in a transpose, the one that fills
    // the lanes.
    auto weight = [&](unsigned loop) {
      return votes.lookup(loop) * std::min(domain.sizes[loop], lanes);
    };
    for (auto [loop, size] : llvm::enumerate(domain.sizes))
      if (weight(loop) > 0 && (!chosen || weight(loop) >= weight(*chosen)))
        chosen = loop;
  }
  if (!chosen)
    return;
  int64_t size = domain.sizes[*chosen];
  // Four registers at a time hide the latency of additions in a reduction.
  int64_t most = hasReduction ? 4 * lanes : lanes;
  int64_t count =
      std::min<int64_t>(most, llvm::bit_floor(static_cast<uint64_t>(size)));
  if (count < 2)
    return;
  laneLoop = *chosen;
  laneCount = count;
}

void LoopNest::chooseTiles() {
  int64_t cost = 0; // operations per element
  for (Operation &op : body.without_terminator())
    if (auto windows = dyn_cast<ir::ReduceWindowOp>(op))
      cost += std::accumulate(windows.getWindow().begin(),
                              windows.getWindow().end(), int64_t(1),
                              std::multiplies<>());
    else if (!isa<ir::BroadcastOp, ir::ConstantOp, ir::ReshapeOp>(op))
      ++cost;
  cost = std::max<int64_t>(cost, 1) + body.getNumArguments();
  int64_t reducedSteps = 1;
  for (unsigned loop : domain.reduced)
    reducedSteps *= std::max<int64_t>(domain.sizes[loop], 1);

  for (auto [loop, size] : llvm::enumerate(domain.sizes)) {
    if (size == 1 || domain.isReduced(loop))
      continue;
    if (loop == laneLoop) {
      int64_t fitting = kTileOperations / (cost * reducedSteps);
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
      std::max<int64_t>(1, kTileOperations / std::max<int64_t>(unitCost, 1));
  numTiles = llvm::divideCeil(numUnits, unitsPerTile);
  // Tiles of one size, so that few of them are shared evenly.
  unitsPerTile = llvm::divideCeil(numUnits, std::max<int64_t>(numTiles, 1));
  numTiles = llvm::divideCeil(numUnits, std::max<int64_t>(unitsPerTile, 1));
}

void LoopNest::emit(OpBuilder &builder, Location loc, Value begin, Value end,
                    ValueRange arguments, ValueRange outputs) {
  ElementEmitter emitter(builder, loc, domain);
  for (auto [argument, pointer] :
       llvm::zip_equal(body.getArguments(), arguments))
    emitter.setBuffer(argument, pointer);
  for (Root &root : roots)
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
      emitter.setReducedLanes(laneLoop, laneCount);
    emitRow(emitter);
    return;
  }
  int64_t size = domain.sizes[laneLoop];
  Value lower = builder.create<arith::MulIOp>(loc, block, number(laneBlock));
  Value upper = builder.create<arith::MinSIOp>(
      loc, builder.create<arith::AddIOp>(loc, lower, number(laneBlock)),
      number(size));
  // Blocks are whole vectors but for the last.
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

/// The last `count` steps of the lane loop, which the last block has and the
/// others have not: shorter vectors, so that 24 channels are not 16 and eight
/// times one.
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
  SmallVector<Root *> overAll, ofRow;
  for (Root &root : roots)
    (isOverAllLoops(root) ? overAll : ofRow).push_back(&root);
  for (Operation &op : body)
    if (isa<ir::ReduceOp, ir::ArgReduceOp>(op))
      if (auto it = indices.find(op.getResult(0)); it != indices.end())
        emitter.element(op.getResult(0), it->second);
  if (!overAll.empty())
    emitColumns(emitter, 0, overAll);
  storeAll(emitter, ofRow);
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

/// Every value is computed before the first is stored: a result may lie where
/// an operand does.
void LoopNest::storeAll(ElementEmitter &emitter, ArrayRef<Root *> results) {
  SmallVector<Value> values;
  for (Root *root : results)
    values.push_back(emitter.element(root->value, root->read));
  for (auto [root, value] : llvm::zip_equal(results, values))
    emitter.store(value, root->type, root->pointer, root->write);
}

} // namespace sinter::cpu
