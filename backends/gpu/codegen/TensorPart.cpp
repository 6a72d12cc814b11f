//===- TensorPart.cpp - contractions on tensor cores ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A block computes a tile of the result (TensorShape.h). Its threads copy both
// operands of the next parts of the sum to shared memory (TensorTile.h) while
// its warps multiply the parts that are there already: a part costs one wait
// for copies and one barrier. The sums are float32 in registers. Before the
// stores, the four lanes that share a row exchange sums, so that each lane has
// the neighbouring columns that it stores together.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/ContractionEpilogue.h"
#include "backends/gpu/codegen/TensorShape.h"
#include "backends/gpu/codegen/TensorTile.h"
#include "ir/Decisions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::Contraction;
using codegen::ProductDim;

namespace {

class TensorPart : public BlockPart {
public:
  TensorPart(std::shared_ptr<codegen::Nest> nest, Contraction &&product);

  int64_t threads() const override { return shape.threads(); }
  int64_t workers(int64_t) const override { return threads(); }
  int64_t blocks(int64_t) const override {
    return contraction.size(ProductDim::batch) * rowTiles * columnTiles;
  }
  int64_t reach() const override { return reachOf(*nest); }
  std::optional<BlockRows> blockRows(int64_t blockThreads) const override {
    if (blockThreads < threads())
      return std::nullopt;
    return epilogue.rowsOfTile(shape.rows, shape.columns);
  }
  bool writesOwnRows(unsigned output) const override {
    return epilogue.storesRows(output);
  }
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;

private:
  /// Two or more neighbouring columns of a row, held by a lane.
  using Neighbours = SmallVector<Value>;

  /// Steps that one instruction adds.
  int64_t stepsTogether() const { return kMatrixBytes / elementBytes; }

  size_t chosen(ArrayRef<TensorShape> shapes) const;
  int64_t rowBlocks() const { return shape.warpRows / kMatrixOuter; }
  int64_t columnBlocks() const { return shape.warpColumns / kMatrixColumns; }
  int64_t stageBytes() const { return shape.stageBytes(elementBytes); }
  void beginTiles(ArrayRef<Value> inputs, ArrayRef<Value> batch);
  SmallVector<Value> sumUp();
  Value placeOf(Value part);
  void sumPart(Value place, SmallVector<Value> &sums);
  Neighbours exchange(Neighbours first, Neighbours second, int64_t mask);
  void storeSums(ArrayRef<Value> sums);
  void storeRow(Value row, Value column, const Neighbours &values);

  std::shared_ptr<codegen::Nest> nest;
  Contraction contraction;
  ContractionEpilogue epilogue;
  TensorShape shape;
  int64_t rowTiles, columnTiles;
  int64_t parts; // of the sum
  MatrixElement element;
  int64_t elementBytes;
  int64_t storedLanes; // columns that are stored together

  // While code is emitted.
  Threads *t = nullptr;
  std::optional<TensorTile> tileA, tileB;
  Value firstRow, firstColumn; // of the tile
  Value warpRow, warpColumn;   // of the warp in the tile
};

/// The position of the shape to use.
size_t TensorPart::chosen(ArrayRef<TensorShape> shapes) const {
  if (shapes.size() < 2)
    return 0;
  auto texts = llvm::map_to_vector(
      shapes, [](const TensorShape &shape) { return shape.text(); });
  Operation *ops[] = {contraction.op};
  return ir::decide(
      {.pass = "gpu", .what = "tile", .ops = ops, .answers = texts});
}

TensorPart::TensorPart(std::shared_ptr<codegen::Nest> nestIn,
                       Contraction &&product)
    : nest(std::move(nestIn)), contraction(std::move(product)),
      epilogue(nest, contraction), element(*matrixElement(contraction)),
      elementBytes(ir::elementSizeBytes(
          ir::tensorType(contraction.a.base).getElementType())) {
  // Columns are the contiguous dimension of the result.
  if (epilogue.storedStride(ProductDim::columns) != 1 &&
      epilogue.storedStride(ProductDim::rows) == 1)
    contraction.transpose();
  int64_t rows = contraction.size(ProductDim::rows),
          columns = contraction.size(ProductDim::columns),
          depth = contraction.size(ProductDim::depth);
  auto shapes = TensorShape::candidates(contraction.size(ProductDim::batch),
                                        rows, columns, depth, elementBytes);
  shape = shapes[chosen(shapes)];
  rowTiles = llvm::divideCeil(rows, shape.rows);
  columnTiles = llvm::divideCeil(columns, shape.columns);
  parts = llvm::divideCeil(depth, shape.depth);
  storedLanes = epilogue.lanes(shape.warpColumns / 4);
}

void TensorPart::emit(Threads &threads, ArrayRef<Value> inputs,
                      ArrayRef<Value> outputs) {
  t = &threads;
  // Tiles of neighbouring columns read the same rows.
  Value tile = t->div(t->block, columnTiles);
  firstColumn = t->mul(t->rem(t->block, columnTiles), shape.columns);
  firstRow = t->mul(t->rem(tile, rowTiles), shape.rows);
  SmallVector<Value> batch = splitIndex(*t, t->div(tile, rowTiles),
                                        contraction.loopsOf(ProductDim::batch));
  Value warp = t->div(t->thread, kWarpThreads);
  int64_t across = shape.columns / shape.warpColumns;
  warpRow = t->mul(t->div(warp, across), shape.warpRows);
  warpColumn = t->mul(t->rem(warp, across), shape.warpColumns);
  beginTiles(inputs, batch);
  SmallVector<Value> sums = sumUp();
  epilogue.begin(*t, inputs, outputs, batch);
  storeSums(sums);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void TensorPart::beginTiles(ArrayRef<Value> inputs, ArrayRef<Value> batch) {
  Value shared = t->beginExchange(t->b.getI8Type(), shape.stages * stageBytes(),
                                  /*isRepeated=*/false);
  auto pointerOf = [&](const codegen::ProductOperand &operand) {
    return inputs[cast<BlockArgument>(operand.base).getArgNumber()];
  };
  tileA.emplace(contraction, contraction.a, ProductDim::rows, shape.rows,
                shape.depth, shape.threads());
  tileA->begin(*t, shared, 0, pointerOf(contraction.a), firstRow, batch);
  tileA->beginFragments(warpRow);
  tileB.emplace(contraction, contraction.b, ProductDim::columns, shape.columns,
                shape.depth, shape.threads());
  tileB->begin(*t, shared, tileA->sharedBytes(), pointerOf(contraction.b),
               firstColumn, batch);
  tileB->beginFragments(warpColumn);
}

/// The byte offset in shared memory of part number `part` of the sum.
Value TensorPart::placeOf(Value part) {
  return t->mul(t->rem(part, shape.stages), stageBytes());
}

SmallVector<Value> TensorPart::sumUp() {
  OpBuilder &b = t->b;
  Value zero =
      b.create<arith::ConstantOp>(t->loc, b.getZeroAttr(Type(b.getF32Type())));
  SmallVector<Value> sums(kMatrixSums * rowBlocks() * columnBlocks(), zero);
  bool isAsync = tileA->isAsync() || tileB->isAsync();
  auto commit = [&] {
    if (isAsync)
      t->intrinsics.endCopyGroup(b, t->loc);
  };
  // Waits until all copies except those of the `pending` latest parts are
  // complete, and all threads are done with the part before this one.
  auto meet = [&](int64_t pending) {
    if (isAsync)
      t->intrinsics.waitForCopies(b, t->loc, pending);
    t->barrier();
  };
  int64_t ahead = parts > 1 ? shape.stages - 1 : 1;
  for (int64_t part = 0; part < ahead; ++part) {
    Value place = t->number(part * stageBytes()),
          first = t->number(part * shape.depth);
    SmallVector<Value> a = tileA->load(first, place, Value()),
                       b = tileB->load(first, place, Value());
    tileA->store(place, Value(), a);
    tileB->store(place, Value(), b);
    commit();
  }
  if (parts == 1) {
    meet(0);
    sumPart(t->number(0), sums);
    return sums;
  }
  auto loop = b.create<scf::ForOp>(t->loc, t->number(0), t->number(parts),
                                   t->number(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  Value part = loop.getInductionVar();
  meet(ahead - 1);
  Value next = t->add(part, t->number(ahead));
  Value place = placeOf(next), first = t->mul(next, shape.depth);
  // No copy may begin that no thread waits for: in a persistent kernel, what
  // follows uses the same memory.
  Value isPart = t->isLess(next, parts);
  SmallVector<Value> nextA = tileA->load(first, place, isPart),
                     nextB = tileB->load(first, place, isPart);
  commit();
  sumPart(placeOf(part), sums);
  tileA->store(place, isPart, nextA);
  tileB->store(place, isPart, nextB);
  b.create<scf::YieldOp>(t->loc, sums);
  return SmallVector<Value>(loop.getResults());
}

void TensorPart::sumPart(Value place, SmallVector<Value> &sums) {
  int64_t columns = columnBlocks();
  const Intrinsics &gpu = t->intrinsics;
  auto operand = [&](Value word) {
    return gpu.matrixOperand(t->b, t->loc, element, word);
  };
  for (int64_t step = 0; step < shape.depth / stepsTogether(); ++step) {
    SmallVector<Value> b; // two registers for every eight columns
    for (int64_t block = 0; block < shape.warpColumns / kMatrixOuter; ++block)
      for (Value word : tileB->fragment(place, block, step))
        b.push_back(operand(word));
    for (int64_t row = 0; row < rowBlocks(); ++row) {
      SmallVector<Value> a;
      for (Value word : tileA->fragment(place, row, step))
        a.push_back(operand(word));
      for (int64_t column = 0; column < columns; ++column)
        gpu.multiplyAdd(
            t->b, t->loc, element, a, ArrayRef(b).slice(2 * column, 2),
            MutableArrayRef(sums).slice(kMatrixSums * (row * columns + column),
                                        kMatrixSums));
    }
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Exchanges with lane (lane xor mask): the lower lane gets `first` of both
/// lanes, one after the other, the upper lane gets `second` of both.
TensorPart::Neighbours TensorPart::exchange(Neighbours first, Neighbours second,
                                            int64_t mask) {
  OpBuilder &b = t->b;
  Value isUpper = b.create<arith::CmpIOp>(
      t->loc, arith::CmpIPredicate::ne,
      b.create<arith::AndIOp>(t->loc, t->thread, t->number(mask)),
      t->number(0));
  Neighbours lower, upper;
  for (auto [x, y] : llvm::zip_equal(first, second)) {
    Value kept = t->select(isUpper, y, x);
    Value got = t->shuffleXor(t->select(isUpper, x, y), mask);
    lower.push_back(t->select(isUpper, got, kept));
    upper.push_back(t->select(isUpper, kept, got));
  }
  llvm::append_range(lower, upper);
  return lower;
}

// After an instruction, lane 4 g + q has columns 2 q and 2 q + 1 of rows g and
// g + 8. Exchanges among the lanes of a row give a lane four columns of one of
// two blocks of columns, or all eight columns of one of four blocks.
void TensorPart::storeSums(ArrayRef<Value> sums) {
  Value lane = t->rem(t->thread, kWarpThreads);
  Value quarter = t->rem(lane, 4);
  int64_t together = std::max<int64_t>(storedLanes / 2, 1); // blocks
  Value block, within;                                      // of columns
  if (together == 1)
    within = t->mul(quarter, 2);
  else if (together == 2)
    block = t->rem(quarter, 2), within = t->mul(t->div(quarter, 2), 4);
  else
    block = quarter;
  Value column = t->add(firstColumn, warpColumn);
  if (block)
    column = t->add(column, t->mul(block, kMatrixColumns));
  if (within)
    column = t->add(column, within);
  Value row = t->add(t->add(firstRow, warpRow), t->div(lane, 4));
  for (int64_t rowBlock = 0; rowBlock < rowBlocks(); ++rowBlock)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t first = 0; first < columnBlocks(); first += together) {
        SmallVector<Neighbours, 4> list;
        for (int64_t i = 0; i < together; ++i)
          list.push_back(Neighbours(sums.slice(
              kMatrixSums * (rowBlock * columnBlocks() + first + i) + 2 * half,
              2)));
        for (int64_t mask = 1; list.size() > 1; mask *= 2) {
          SmallVector<Neighbours, 4> next;
          for (size_t i = 0; i < list.size(); i += 2)
            next.push_back(exchange(list[i], list[i + 1], mask));
          list = std::move(next);
        }
        storeRow(t->add(row, t->number(rowBlock * kMatrixOuter + half * 8)),
                 t->add(column, t->number(first * kMatrixColumns)),
                 list.front());
      }
}

/// Stores neighbouring columns of a row, from `column` on.
void TensorPart::storeRow(Value row, Value column, const Neighbours &values) {
  OpBuilder &b = t->b;
  int64_t rows = contraction.size(ProductDim::rows),
          columns = contraction.size(ProductDim::columns);
  SmallVector<Value> rowLoops =
      splitIndex(*t, row, contraction.loopsOf(ProductDim::rows));
  for (size_t i = 0; i < values.size(); i += storedLanes) {
    Value index = t->add(column, t->number(i));
    Value sum = values[i];
    if (storedLanes > 1) {
      auto type = VectorType::get({storedLanes}, b.getF32Type());
      sum = b.create<arith::ConstantOp>(t->loc, b.getZeroAttr(type));
      for (int64_t lane = 0; lane < storedLanes; ++lane)
        sum = b.create<vector::InsertOp>(t->loc, values[i + lane], sum,
                                         ArrayRef<int64_t>{lane});
    }
    Value inside;
    if (rows % shape.rows != 0)
      inside = t->isLess(row, rows);
    if (columns % shape.columns != 0)
      inside = t->both(inside, t->isLess(index, columns));
    t->when(inside, [&] {
      epilogue.emit(
          rowLoops,
          splitIndex(*t, index, contraction.loopsOf(ProductDim::columns)), sum,
          storedLanes);
    });
  }
}

} // namespace

std::optional<MatrixElement> matrixElement(const Contraction &contraction) {
  auto elementOf = [](Value value) {
    return ir::tensorType(value).getElementType();
  };
  Type a = elementOf(contraction.a.base), b = elementOf(contraction.b.base);
  if (a != b || contraction.size(ProductDim::depth) == 0 ||
      !isa<FloatType>(elementOf(contraction.op->getResult(0))))
    return std::nullopt;
  if (a.isF16())
    return MatrixElement::Float16;
  if (a.isBF16())
    return MatrixElement::Bfloat16;
  if (a.isF32() && contraction.op->hasAttr(kTf32Attr))
    return MatrixElement::Tf32;
  return std::nullopt;
}

std::unique_ptr<BlockPart> createTensorPart(std::shared_ptr<codegen::Nest> nest,
                                            Contraction &&contraction) {
  return std::make_unique<TensorPart>(std::move(nest), std::move(contraction));
}

} // namespace sinter::gpu
