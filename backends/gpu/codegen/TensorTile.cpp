//===- TensorTile.cpp - an operand's tile for matrix instructions ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/TensorTile.h"
#include "backends/gpu/codegen/TensorShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ProductDim;
using codegen::ProductOperand;

namespace {

/// The unit of matrix loads, of copies and of bank conflicts in shared memory.
constexpr int64_t kChunkBytes = 16;
/// The number of neighbouring chunks in different banks.
constexpr int64_t kBankChunks = 8;

Value exclusiveOr(Threads &t, Value x, Value y) {
  return t.b.create<arith::XOrIOp>(t.loc, x, y);
}

} // namespace

TensorTile::TensorTile(const codegen::Contraction &contraction,
                       const ProductOperand &operand, ProductDim outerDim,
                       int64_t outer, int64_t depth, int64_t threads)
    : contraction(contraction), operand(operand), outerDim(outerDim),
      outer(outer), depth(depth), threads(threads),
      elementBytes(
          ir::elementSizeBytes(ir::tensorType(operand.base).getElementType())) {
  PiecesOfTile together(contraction, operand, outerDim, outer, depth);
  isAlongDepth = together.isAlongDepth;
  vector = together.elements;
  int64_t all = outer * depth / vector;
  count = std::max<int64_t>(all / threads, 1);
  isForAll = all >= threads;
}

//===----------------------------------------------------------------------===//
// Layout of shared memory
//===----------------------------------------------------------------------===//

/// The key that permutes the chunks of a line: chunk numbers are xored with it.
/// It has a period of at most eight lines.
Value TensorTile::key(Value line) {
  int64_t chunks = lineBytes() / kChunkBytes;
  // Single reads access four lines at once, two chunks of each.
  if (isReadSingly())
    return chunks >= kBankChunks ? t->mul(t->rem(line, 4), 2)
                                 : t->mul(t->rem(t->div(line, 2), 2), 2);
  return chunks >= kBankChunks
             ? t->rem(line, kBankChunks)
             : t->rem(t->div(line, kBankChunks / chunks), chunks);
}

Value TensorTile::chunkOffset(Value chunk, Value key) {
  return t->mul(exclusiveOr(*t, chunk, key), kChunkBytes);
}

Value TensorTile::sharedAddress(Value place, Value offset) {
  return t->elementAddress(shared, t->b.getI8Type(), t->add(place, offset));
}

void TensorTile::begin(Threads &threadsIn, Value sharedIn, int64_t startIn,
                       Value pointerIn, Value first, ArrayRef<Value> batch) {
  t = &threadsIn;
  shared = sharedIn;
  start = startIn;
  auto global = LLVM::LLVMPointerType::get(t->b.getContext(),
                                           t->intrinsics.globalSpace());
  pointer = t->b.create<LLVM::AddrSpaceCastOp>(t->loc, global, pointerIn);
  hasPiece = isForAll ? Value() : t->isLess(t->thread, outer * depth / vector);
  pieces.clear();
  for (int64_t number = 0; number < count; ++number)
    pieces.push_back(piece(number, first, batch));
}

TensorTile::Piece TensorTile::piece(int64_t number, Value first,
                                    ArrayRef<Value> batch) {
  // Pieces are numbered along the lines of the tile, then across them.
  int64_t perLine = (isAlongDepth ? depth : outer) / vector;
  Value along, across;
  if (threads % perLine == 0) {
    along = t->rem(t->thread, perLine);
    across = t->add(t->div(t->thread, perLine),
                    t->number(number * threads / perLine));
  } else {
    int64_t rounds = perLine / threads; // both are powers of two
    along = t->add(t->thread, t->number(number % rounds * threads));
    across = t->number(number / rounds);
  }
  along = t->mul(along, vector);
  int64_t perChunk = kChunkBytes / elementBytes;
  Value offset = t->add(t->mul(across, lineBytes()),
                        chunkOffset(t->div(along, perChunk), key(across)));
  if (vector < perChunk)
    offset = t->add(offset, t->mul(t->rem(along, perChunk), elementBytes));
  Value index = t->add(first, isAlongDepth ? across : along);
  // Rows after the last are not stored: they may have any value.
  int64_t last = contraction.size(outerDim) - (isAlongDepth ? 1 : vector);
  if (contraction.size(outerDim) % outer != 0)
    index = t->b.create<arith::MinUIOp>(t->loc, index, t->number(last));
  return {
      isAlongDepth ? along : across, t->add(offset, t->number(start)),
      OperandPlace(*t, operand)
          .at(ProductDim::batch, batch)
          .at(outerDim, splitIndex(*t, index, contraction.loopsOf(outerDim)))};
}

//===----------------------------------------------------------------------===//
// From global to shared memory
//===----------------------------------------------------------------------===//

SmallVector<Value> TensorTile::load(Value firstDepth, Value place,
                                    Value condition) {
  SmallVector<Value> values;
  int64_t steps = contraction.size(ProductDim::depth);
  auto emitPieces = [&] {
    for (const Piece &piece : pieces) {
      Value step = t->add(firstDepth, piece.depth);
      OperandPlace from = piece.place.at(
          ProductDim::depth,
          splitIndex(*t, step, contraction.loopsOf(ProductDim::depth)));
      Value inside = from.isInside();
      if (steps % depth != 0)
        inside = t->both(inside, t->isLess(step, steps));
      if (isAsync())
        copy(from, inside, sharedAddress(place, piece.offset));
      else
        values.push_back(
            loadSingly(from, t->both(t->both(hasPiece, condition), inside)));
    }
  };
  if (isAsync())
    t->when(t->both(hasPiece, condition), emitPieces);
  else
    emitPieces();
  return values;
}

void TensorTile::copy(const OperandPlace &from, Value inside, Value to) {
  OpBuilder &b = t->b;
  int64_t bytes = vector * elementBytes;
  Value offset = from.offset(), available;
  if (inside) {
    // Outside, zero bytes are read, from a valid address.
    Value zero = b.create<arith::ConstantIntOp>(t->loc, 0, 64);
    offset = t->select(inside, offset, zero);
    auto word = [&](int64_t value) -> Value {
      return b.create<arith::ConstantIntOp>(t->loc, value, 32);
    };
    available = t->select(inside, word(bytes), word(0));
  }
  Type element = b.getIntegerType(8 * elementBytes);
  Value source = b.create<LLVM::GEPOp>(t->loc, pointer.getType(), element,
                                       pointer, ArrayRef<LLVM::GEPArg>{offset});
  t->intrinsics.copyAsync(b, t->loc, to, source, bytes, available);
}

Value TensorTile::loadSingly(const OperandPlace &from, Value inside) {
  OpBuilder &b = t->b;
  Type element = b.getIntegerType(8 * elementBytes);
  Value offset = from.offset();
  auto loadHere = [&]() -> Value {
    Value address =
        b.create<LLVM::GEPOp>(t->loc, pointer.getType(), element, pointer,
                              ArrayRef<LLVM::GEPArg>{offset});
    return b.create<LLVM::LoadOp>(t->loc, element, address, elementBytes);
  };
  if (!inside)
    return loadHere();
  auto choice =
      b.create<scf::IfOp>(t->loc, element, inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  b.create<scf::YieldOp>(t->loc, loadHere());
  b.setInsertionPointToStart(choice.elseBlock());
  Value none = b.create<arith::ConstantOp>(t->loc, b.getZeroAttr(element));
  b.create<scf::YieldOp>(t->loc, none);
  return choice.getResult(0);
}

void TensorTile::store(Value place, Value condition, ArrayRef<Value> values) {
  if (values.empty())
    return;
  t->when(t->both(hasPiece, condition), [&] {
    for (auto [piece, value] : llvm::zip_equal(pieces, values))
      t->b.create<LLVM::StoreOp>(
          t->loc, value, sharedAddress(place, piece.offset), elementBytes);
  });
}

//===----------------------------------------------------------------------===//
// From shared memory to registers
//===----------------------------------------------------------------------===//

// The four parts of a fragment are 8 rows (or columns) x 16 bytes of the sum.
// In a first operand they follow each other along the rows first, in a second
// operand along the sum, so that two of them belong to one instruction.
void TensorTile::beginFragments(Value warpStart) {
  Value lane = t->rem(t->thread, kWarpThreads);
  if (isReadSingly()) {
    laneLine = t->rem(lane, 4);
    laneChunk = t->add(warpStart, t->div(lane, 4));
    laneKey = key(laneLine);
    return;
  }
  // Lane 8 i + r provides the address of line r of part i.
  Value within = t->rem(lane, 8);
  Value second = t->rem(t->div(lane, 8), 2), third = t->div(lane, 16);
  Value outerPart = isFirstOperand() ? second : third,
        depthPart = isFirstOperand() ? third : second;
  laneKey = key(within);
  if (isAlongDepth) {
    laneLine = t->add(warpStart, t->add(within, t->mul(outerPart, 8)));
    laneChunk = depthPart;
  } else {
    laneLine = t->add(within, t->mul(depthPart, 8));
    laneChunk = t->add(t->div(warpStart, 8), outerPart);
  }
}

SmallVector<Value> TensorTile::fragment(Value place, int64_t block,
                                        int64_t step) {
  if (isReadSingly())
    return readSingly(place, block, step);
  int64_t lines = isAlongDepth ? block * kMatrixOuter : step * kMatrixOuter;
  int64_t chunks = isAlongDepth ? 2 * step : 2 * block;
  Value offset =
      t->add(t->mul(laneLine, lineBytes()),
             chunkOffset(t->add(laneChunk, t->number(chunks)), laneKey));
  offset = t->add(offset, t->number(start + lines * lineBytes()));
  return t->intrinsics.loadMatrices(t->b, t->loc, sharedAddress(place, offset),
                                    /*isTransposed=*/!isAlongDepth);
}

/// Lane 4 g + t has row g, step t of each part.
SmallVector<Value> TensorTile::readSingly(Value place, int64_t block,
                                          int64_t step) {
  OpBuilder &b = t->b;
  int64_t perChunk = kChunkBytes / elementBytes;
  SmallVector<Value> values;
  for (int64_t part = 0; part < 4; ++part) {
    int64_t outerPart = isFirstOperand() ? part % 2 : part / 2,
            depthPart = isFirstOperand() ? part / 2 : part % 2;
    Value at =
        t->add(laneChunk, t->number(block * kMatrixOuter + outerPart * 8));
    Value offset = t->add(chunkOffset(t->div(at, perChunk), laneKey),
                          t->mul(t->rem(at, perChunk), elementBytes));
    int64_t line = step * 8 + depthPart * 4;
    offset = t->add(offset, t->mul(laneLine, lineBytes()));
    offset = t->add(offset, t->number(start + line * lineBytes()));
    values.push_back(b.create<LLVM::LoadOp>(
        t->loc, b.getI32Type(), sharedAddress(place, offset), elementBytes));
  }
  return values;
}

} // namespace sinter::gpu
