//===- OperandTile.cpp - an operand's tile in shared memory ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/OperandTile.h"
#include "backends/gpu/codegen/BlockPart.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ProductDim;
using codegen::ProductOperand;

OperandTile::OperandTile(const codegen::Contraction &contraction,
                         const ProductOperand &operand, ProductDim outerDim,
                         int64_t outer, int64_t depth, int64_t threads)
    : contraction(contraction), operand(operand), outerDim(outerDim),
      outer(outer), depth(depth), threads(threads),
      element(ir::tensorType(operand.base).getElementType()) {
  PiecesOfTile together(contraction, operand, outerDim, outer, depth);
  isAlongDepth = together.isAlongDepth;
  vector = together.elements;
  int64_t all = outer * depth / vector;
  count = std::max<int64_t>(all / threads, 1);
  isForAll = all >= threads;
}

int64_t OperandTile::pitch() const {
  // Padding puts stores of neighbours along the depth into different banks.
  return isAlongDepth ? outer + 4 : outer;
}

void OperandTile::begin(Threads &threadsIn, codegen::ElementEmitter &emitterIn,
                        Value pointerIn, Value first, ArrayRef<Value> batch) {
  t = &threadsIn;
  emitter = &emitterIn;
  pointer = pointerIn;
  hasPiece = isForAll ? Value() : t->isLess(t->thread, outer * depth / vector);
  pieces.clear();
  for (int64_t number = 0; number < count; ++number)
    pieces.push_back(piece(number, first, batch));
}

OperandTile::Piece OperandTile::piece(int64_t number, Value first,
                                      ArrayRef<Value> batch) {
  // Pieces are numbered along one dimension of the tile, then along the other.
  int64_t line = (isAlongDepth ? depth : outer) / vector;
  Value along, across;
  if (threads % line == 0) {
    along = t->rem(t->thread, line);
    across =
        t->add(t->div(t->thread, line), t->number(number * threads / line));
  } else {
    int64_t perLine = line / threads; // both are powers of two
    along = t->add(t->thread, t->number(number % perLine * threads));
    across = t->number(number / perLine);
  }
  along = t->mul(along, vector);
  Value outerStart = isAlongDepth ? across : along,
        depthStart = isAlongDepth ? along : across;
  int64_t size = contraction.size(outerDim);
  Value index = t->add(first, outerStart);
  return {
      outerStart, depthStart,
      size % outer == 0 ? Value() : t->isLess(index, size),
      OperandPlace(*t, operand)
          .at(ProductDim::batch, batch)
          .at(outerDim, splitIndex(*t, index, contraction.loopsOf(outerDim)))};
}

SmallVector<Value> OperandTile::load(Value firstDepth, int64_t steps) {
  OpBuilder &b = t->b;
  Type memory = emitter->storageType(element),
       compute = emitter->computeType(element);
  if (vector > 1) {
    memory = VectorType::get({vector}, memory);
    compute = VectorType::get({vector}, compute);
  }
  Type pointerType = pointer.getType();
  SmallVector<Value> values;
  for (const Piece &piece : pieces) {
    OperandPlace place = piece.place.at(
        ProductDim::depth, splitIndex(*t, t->add(firstDepth, piece.depth),
                                      contraction.loopsOf(ProductDim::depth)));
    Value inside = t->both(hasPiece, piece.inside);
    if (steps < depth)
      inside = t->both(inside, t->isLess(piece.depth, steps));
    inside = t->both(inside, place.isInside());
    Value offset = place.offset();
    auto loadHere = [&]() -> Value {
      Value address = b.create<LLVM::GEPOp>(
          t->loc, pointerType, emitter->storageType(element), pointer,
          ArrayRef<LLVM::GEPArg>{offset});
      Value loaded = b.create<LLVM::LoadOp>(
          t->loc, memory, address, vector * ir::elementSizeBytes(element));
      return emitter->fromMemory(loaded, element);
    };
    if (!inside) {
      values.push_back(loadHere());
      continue;
    }
    auto choice =
        b.create<scf::IfOp>(t->loc, compute, inside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    b.create<scf::YieldOp>(t->loc, loadHere());
    b.setInsertionPointToStart(choice.elseBlock());
    Value none = b.create<arith::ConstantOp>(t->loc, b.getZeroAttr(compute));
    b.create<scf::YieldOp>(t->loc, none);
    values.push_back(choice.getResult(0));
  }
  return values;
}

void OperandTile::store(Value array, Value start, ArrayRef<Value> values) {
  OpBuilder &b = t->b;
  Type compute = emitter->computeType(element);
  int64_t bytes = compute.getIntOrFloatBitWidth() / 8;
  t->when(hasPiece, [&] {
    for (auto [piece, value] : llvm::zip_equal(pieces, values)) {
      Value at =
          t->add(t->add(start, t->mul(piece.depth, pitch())), piece.outer);
      if (vector == 1 || !isAlongDepth) {
        b.create<LLVM::StoreOp>(t->loc, value,
                                t->elementAddress(array, compute, at),
                                std::min<int64_t>(16, vector * bytes));
        continue;
      }
      for (int64_t i = 0; i < vector; ++i) {
        Value one =
            b.create<vector::ExtractOp>(t->loc, value, ArrayRef<int64_t>{i});
        Value step = i == 0 ? at : t->add(at, t->number(i * pitch()));
        b.create<LLVM::StoreOp>(t->loc, one,
                                t->elementAddress(array, compute, step), bytes);
      }
    }
  });
}

} // namespace sinter::gpu
