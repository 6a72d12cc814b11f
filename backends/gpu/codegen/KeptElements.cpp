//===- KeptElements.cpp - long rows in shared memory ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/KeptElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using ir::Index;
using ir::IndexVector;

IndexVector replacedLoop(ArrayRef<Index> index, unsigned from, unsigned to) {
  IndexVector result;
  for (const Index &i : index) {
    int64_t coefficient = i.coefficient(from);
    Index rest{i.constant, {}};
    for (auto term : i.terms)
      if (term.first != from)
        rest.terms.push_back(term);
    result.push_back(
        coefficient == 0 ? i : rest + Index::loop(to).scaled(coefficient));
  }
  return result;
}

KeptElements::KeptElements(const codegen::Nest &nest, unsigned rowLoop,
                           int64_t rounds, int64_t pieces, int64_t vector)
    : rowLoop(rowLoop), rounds(rounds), pieces(pieces),
      numLoops(nest.domain.sizes.size()) {
  for (unsigned loop : nest.domain.reduced)
    if (loop != rowLoop && nest.domain.sizes[loop] > 1)
      return; // a pass reads several rows
  llvm::DenseMap<Value, int64_t> passesOf;
  auto countPass = [&](SmallVector<Value> open) {
    llvm::DenseSet<Value> seen;
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      Operation *op = value.getDefiningOp();
      if (!op)
        ++passesOf[value];
      else if (!isa<ir::ReduceOp>(op)) // its operand is read in its own pass
        llvm::append_range(open, op->getOperands());
    }
  };
  for (auto op : nest.body.getOps<ir::ReduceOp>())
    countPass({op.getX()});
  SmallVector<Value> stored;
  for (const codegen::Root &root : nest.roots)
    if (nest.isOverAllLoops(root))
      stored.push_back(root.value);
  countPass(stored);
  for (BlockArgument argument : nest.arguments)
    if (passesOf.lookup(argument) > 1) {
      Type element = ir::tensorType(argument).getElementType();
      operands.push_back(
          {argument,
           vector * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8u)});
    }
}

int64_t KeptElements::roundBytes(int64_t blockThreads) const {
  int64_t bytes = 0;
  for (const Operand &operand : operands)
    bytes += operand.bytes;
  return bytes * pieces * blockThreads;
}

int64_t KeptElements::bytes(int64_t most, int64_t blockThreads) const {
  int64_t ofRound = roundBytes(blockThreads);
  return ofRound ? std::min(rounds, most / ofRound) * ofRound : 0;
}

void KeptElements::begin(ElementEmitter &newEmitter, Threads &threads) {
  emitter = &newEmitter;
  t = &threads;
  if (operands.empty())
    return;
  pass = 0;
  for (Operand &operand : operands)
    operand.pass = 0;
  memory = t->beginDynamic();
  Value bytes = t->intrinsics.dynamicSharedBytes(t->b, t->loc);
  keptRounds = t->b.create<arith::MinUIOp>(
      t->loc,
      t->div(t->isWide ? t->wide(bytes) : bytes, roundBytes(t->blockThreads)),
      t->number(rounds));
  emitter->setRowKeeper(this);
}

SmallVector<Value> KeptElements::forRounds(
    ValueRange start,
    llvm::function_ref<SmallVector<Value>(Value round, ValueRange carried)>
        body) {
  ++pass;
  SmallVector<Value> values(start);
  auto loop = [&](Value first, Value end) {
    auto op = t->b.create<scf::ForOp>(t->loc, first, end, t->number(1), values);
    OpBuilder::InsertionGuard guard(t->b);
    t->b.setInsertionPointToStart(op.getBody());
    emitter->pushFrame();
    round = op.getInductionVar();
    SmallVector<Value> next = body(round, op.getRegionIterArgs());
    if (!values.empty())
      t->b.create<scf::YieldOp>(t->loc, next);
    emitter->popFrame();
    values.assign(op.getResults().begin(), op.getResults().end());
  };
  Value first = t->number(0);
  // Two loops: a choice in the loop would keep all pieces in registers.
  if (!operands.empty()) {
    isKept = true;
    loop(first, keptRounds);
    isKept = false;
    first = keptRounds;
  }
  loop(first, t->number(rounds));
  return values;
}

/// The first pass that reads an element stores it, and later ones load it.
Value KeptElements::keep(Value tensor, ArrayRef<Index> index,
                         llvm::function_ref<Value()> read) {
  Operand *operand = llvm::find_if(
      operands, [&](const Operand &other) { return other.tensor == tensor; });
  if (!isKept || !pieceLoop || operand == operands.end())
    return read();
  bool isOfPiece = false; // and not at an index that is computed at run time
  for (const Index &i : index)
    for (auto [loop, coefficient] : i.terms)
      if (loop == *pieceLoop && coefficient == 1)
        isOfPiece = true;
      else if (loop >= numLoops)
        return read();
  IndexVector ofRow = replacedLoop(index, *pieceLoop, rowLoop);
  if (!isOfPiece || (operand->pass > 0 && !(ofRow == operand->index)))
    return read();
  if (operand->pass == 0) {
    operand->pass = pass;
    operand->index = ofRow;
  }
  int64_t offset = piece * operand->bytes;
  for (const Operand &other : ArrayRef(operands.begin(), operand))
    offset += pieces * other.bytes;
  Value at = t->add(t->add(t->mul(round, roundBytes(t->blockThreads)),
                           t->mul(t->thread, operand->bytes)),
                    t->number(offset * t->blockThreads));
  Value address = t->elementAddress(memory, t->b.getI8Type(), at);
  if (operand->pass < pass)
    return t->load(operand->type, address);
  Value element = read();
  operand->type = element.getType();
  t->store(element, address);
  return element;
}

} // namespace sinter::gpu
