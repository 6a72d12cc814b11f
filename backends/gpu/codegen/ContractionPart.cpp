//===- ContractionPart.cpp - contractions as blocks of threads ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A block computes a tile of the result (TileShape.h). For each part of the sum
// its threads copy tiles of both operands to shared memory (OperandTile.h), and
// each thread then sums its elements in registers. Shared memory holds two
// parts: while the threads compute with one, they load the other, so that a
// part costs one barrier.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/ContractionEpilogue.h"
#include "backends/gpu/codegen/OperandTile.h"
#include "backends/gpu/codegen/TileShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::Contraction;
using codegen::ElementEmitter;
using codegen::ProductDim;

namespace {

/// Unrolled steps of a sum: more would only need more registers.
constexpr int64_t kMostUnrolled = 8;

/// Columns of a tile that a thread stores together.
struct StoredColumns {
  Value first;              // of all columns
  SmallVector<Value> loops; // the values of the loops of the columns
};

class ContractionPart : public BlockPart {
public:
  ContractionPart(std::shared_ptr<codegen::Nest> nest, Contraction &&product);

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
  /// The sums of a thread: a vector per group of columns for each of its rows.
  using Sums = SmallVector<Value>;

  int64_t rowVectors() const { return shape.threadRows / rowLanes; }
  int64_t columnVectors() const { return shape.threadColumns / columnLanes; }
  Type vectorType(int64_t lanes) const {
    return lanes == 1 ? sumType : VectorType::get({lanes}, sumType);
  }
  int64_t stageElements() const {
    return tileA->sharedElements() + tileB->sharedElements();
  }
  /// The elements of the block's shared memory: the buffers of the parts, then
  /// the groups' sums, which are written while some threads still read a part.
  int64_t sharedElements() const {
    int64_t stages = std::min<int64_t>(parts, 2) * stageElements();
    return shape.groups == 1
               ? stages
               : stages + shape.groups * shape.rows * shape.columns;
  }
  Sums zeros();
  Sums sumUp();
  Sums sumPart(Value stage, int64_t first, Sums sums);
  Sums sumLoop(Value atA, Value atB, Value first, int64_t end, int64_t unrolled,
               Sums sums);
  Sums sumSteps(Value atA, Value atB, int64_t count, Sums sums);
  SmallVector<Value> fragment(Value start, int64_t extent, int64_t vectors,
                              int64_t lanes);
  void storeSums(const Sums &sums);
  void storeGroups(const Sums &sums);
  void storeRow(Value row, ArrayRef<StoredColumns> columns,
                ArrayRef<Value> values);

  std::shared_ptr<codegen::Nest> nest;
  Contraction contraction;
  ContractionEpilogue epilogue;
  TileShape shape;
  int64_t rowTiles, columnTiles;
  int64_t parts, lastFirst; // of the sum; first step of the last part to add
  Type sumType;
  int64_t rowLanes, columnLanes; // elements that are read together
  int64_t storedLanes;           // columns that are stored together

  // While code is emitted.
  Threads *t = nullptr;
  std::optional<OperandTile> tileA, tileB;
  Value shared;                  // tiles of both operands, one after the other
  Value threadRow, threadColumn; // the first of this thread, in the tile
  Value group;                   // of this thread; null: there is one
  Value firstRow, firstColumn;   // of the tile
};

ContractionPart::ContractionPart(std::shared_ptr<codegen::Nest> nestIn,
                                 Contraction &&product)
    : nest(std::move(nestIn)), contraction(std::move(product)),
      epilogue(nest, contraction) {
  // Columns are the contiguous dimension of the result.
  if (epilogue.storedStride(ProductDim::columns) != 1 &&
      epilogue.storedStride(ProductDim::rows) == 1)
    contraction.transpose();
  OpBuilder builder(contraction.op->getContext());
  sumType =
      ElementEmitter(builder, contraction.op->getLoc(), nest->domain)
          .computeType(
              ir::tensorType(contraction.op->getResult(0)).getElementType());
  int64_t bytes = sumType.getIntOrFloatBitWidth() / 8;
  int64_t rows = contraction.size(ProductDim::rows),
          columns = contraction.size(ProductDim::columns),
          depth = contraction.size(ProductDim::depth);
  shape = TileShape::choose(contraction.size(ProductDim::batch), rows, columns,
                            depth, bytes);
  rowTiles = llvm::divideCeil(rows, shape.rows);
  columnTiles = llvm::divideCeil(columns, shape.columns);
  parts = llvm::divideCeil(depth, shape.depth);
  lastFirst = parts > 1 ? parts * shape.depth - depth : 0;
  rowLanes = std::min(shape.threadRows, kBufferAlignment / bytes);
  columnLanes = std::min(shape.threadColumns, kBufferAlignment / bytes);
  storedLanes = epilogue.lanes(columnLanes);
}

void ContractionPart::emit(Threads &threads, ArrayRef<Value> inputs,
                           ArrayRef<Value> outputs) {
  t = &threads;
  // Tiles of neighbouring columns read the same rows.
  Value tile = t->div(t->block, columnTiles);
  firstColumn = t->mul(t->rem(t->block, columnTiles), shape.columns);
  firstRow = t->mul(t->rem(tile, rowTiles), shape.rows);
  SmallVector<Value> batch = splitIndex(*t, t->div(tile, rowTiles),
                                        contraction.loopsOf(ProductDim::batch));
  int64_t across = shape.columns / shape.threadColumns,
          down = shape.rows / shape.threadRows;
  threadColumn = t->mul(t->rem(t->thread, across), columnLanes);
  Value row = t->div(t->thread, across);
  group = nullptr;
  if (shape.groups > 1) {
    group = t->div(row, down);
    row = t->rem(row, down);
  }
  threadRow = t->mul(row, rowLanes);

  ElementEmitter emitter(t->b, t->loc, nest->domain);
  auto begin = [&](std::optional<OperandTile> &operandTile,
                   const codegen::ProductOperand &operand, ProductDim outer,
                   int64_t extent, Value first) {
    operandTile.emplace(contraction, operand, outer, extent, shape.depth,
                        shape.threads());
    if (parts > 0)
      operandTile->begin(
          *t, emitter, inputs[cast<BlockArgument>(operand.base).getArgNumber()],
          first, batch);
  };
  begin(tileA, contraction.a, ProductDim::rows, shape.rows, firstRow);
  begin(tileB, contraction.b, ProductDim::columns, shape.columns, firstColumn);
  Sums sums = parts > 0 ? sumUp() : zeros();
  epilogue.begin(*t, inputs, outputs, batch);
  if (shape.groups > 1)
    storeGroups(sums);
  else
    storeSums(sums);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

ContractionPart::Sums ContractionPart::zeros() {
  Value zero = t->b.create<arith::ConstantOp>(
      t->loc, t->b.getZeroAttr(vectorType(columnLanes)));
  return Sums(shape.threadRows * columnVectors(), zero);
}

ContractionPart::Sums ContractionPart::sumUp() {
  OpBuilder &b = t->b;
  shared = t->beginExchange(sumType, sharedElements(), /*isRepeated=*/false);
  auto store = [&](Value stage, ArrayRef<Value> a, ArrayRef<Value> b) {
    Value start = t->mul(stage, stageElements());
    tileA->store(shared, start, a);
    tileB->store(shared, t->add(start, t->number(tileA->sharedElements())), b);
  };
  int64_t depth = contraction.size(ProductDim::depth);
  {
    int64_t steps = std::min(depth, shape.depth);
    SmallVector<Value> a = tileA->load(t->number(0), steps),
                       b = tileB->load(t->number(0), steps);
    store(t->number(0), a, b);
  }
  Sums sums = zeros();
  if (parts > 1) {
    auto loop = b.create<scf::ForOp>(t->loc, t->number(1), t->number(parts),
                                     t->number(1), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value part = loop.getInductionVar();
    Value next = t->rem(part, 2);
    // Behind the barrier, buffer `next` is free and the other one is filled.
    t->barrier();
    Value first = t->mul(part, shape.depth);
    if (lastFirst > 0)
      first = b.create<arith::MinUIOp>(t->loc, first,
                                       t->number(depth - shape.depth));
    SmallVector<Value> a = tileA->load(first, shape.depth),
                       bValues = tileB->load(first, shape.depth);
    Value before = b.create<arith::SubIOp>(t->loc, t->number(1), next);
    Sums after = sumPart(before, 0, Sums(loop.getRegionIterArgs()));
    store(next, a, bValues);
    b.create<scf::YieldOp>(t->loc, after);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  t->barrier();
  return sumPart(t->number((parts - 1) % 2), lastFirst, sums);
}

/// Adds this group's share of the part in buffer number `stage`, from step
/// `first` on.
ContractionPart::Sums ContractionPart::sumPart(Value stage, int64_t first,
                                               Sums sums) {
  int64_t share = shape.depth / shape.groups;
  int64_t end = std::min(share, contraction.size(ProductDim::depth));
  Value start = t->mul(stage, stageElements());
  Value atA = t->add(start, threadRow),
        atB = t->add(t->add(start, t->number(tileA->sharedElements())),
                     threadColumn);
  if (group) {
    Value own = t->mul(group, share);
    atA = t->add(atA, t->mul(own, tileA->pitch()));
    atB = t->add(atB, t->mul(own, tileB->pitch()));
    if (first > 0) {
      Value left = t->b.create<arith::MaxSIOp>(
          t->loc, t->b.create<arith::SubIOp>(t->loc, t->number(first), own),
          t->number(0));
      return sumLoop(atA, atB, left, end, 1, sums);
    }
  }
  int64_t alone = (end - first) % kMostUnrolled;
  auto from = [&](Value at, const OperandTile &tile, int64_t step) {
    return t->add(at, t->number(step * tile.pitch()));
  };
  sums =
      sumSteps(from(atA, *tileA, first), from(atB, *tileB, first), alone, sums);
  first += alone;
  if (end - first > kMostUnrolled)
    return sumLoop(atA, atB, t->number(first), end, kMostUnrolled, sums);
  return sumSteps(from(atA, *tileA, first), from(atB, *tileB, first),
                  end - first, sums);
}

/// Adds the steps [first, end), `unrolled` at a time.
ContractionPart::Sums ContractionPart::sumLoop(Value atA, Value atB,
                                               Value first, int64_t end,
                                               int64_t unrolled, Sums sums) {
  OpBuilder &b = t->b;
  auto loop = b.create<scf::ForOp>(t->loc, first, t->number(end),
                                   t->number(unrolled), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value step = loop.getInductionVar();
  Sums after = sumSteps(t->add(atA, t->mul(step, tileA->pitch())),
                        t->add(atB, t->mul(step, tileB->pitch())), unrolled,
                        Sums(loop.getRegionIterArgs()));
  b.create<scf::YieldOp>(t->loc, after);
  return Sums(loop.getResults());
}

/// Loads `vectors` vectors of `lanes` elements, spread evenly over `extent`
/// from `start` on.
SmallVector<Value> ContractionPart::fragment(Value start, int64_t extent,
                                             int64_t vectors, int64_t lanes) {
  int64_t bytes = lanes * sumType.getIntOrFloatBitWidth() / 8;
  SmallVector<Value> list;
  for (int64_t i = 0; i < vectors; ++i) {
    Value at = i == 0 ? start : t->add(start, t->number(i * extent / vectors));
    list.push_back(t->b.create<LLVM::LoadOp>(
        t->loc, vectorType(lanes), t->elementAddress(shared, sumType, at),
        bytes));
  }
  return list;
}

ContractionPart::Sums ContractionPart::sumSteps(Value atA, Value atB,
                                                int64_t count, Sums sums) {
  OpBuilder &b = t->b;
  for (int64_t step = 0; step < count; ++step) {
    Value a = t->add(atA, t->number(step * tileA->pitch())),
          bAt = t->add(atB, t->number(step * tileB->pitch()));
    SmallVector<Value> rows = fragment(a, shape.rows, rowVectors(), rowLanes);
    SmallVector<Value> columns =
        fragment(bAt, shape.columns, columnVectors(), columnLanes);
    for (int64_t row = 0; row < shape.threadRows; ++row) {
      Value x = rows[row / rowLanes];
      if (rowLanes > 1)
        x = b.create<vector::ExtractOp>(t->loc, x,
                                        ArrayRef<int64_t>{row % rowLanes});
      if (columnLanes > 1)
        x = b.create<vector::SplatOp>(t->loc, vectorType(columnLanes), x);
      for (auto [number, y] : llvm::enumerate(columns)) {
        Value &sum = sums[row * columnVectors() + number];
        sum = t->multiplyAdd(x, y, sum);
      }
    }
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The columns of a vector that begins at `column`, in groups of `together`
/// columns that are stored together.
static SmallVector<StoredColumns> columnsFrom(Threads &t,
                                              const Contraction &contraction,
                                              Value column, int64_t count,
                                              int64_t together) {
  SmallVector<StoredColumns> list;
  for (int64_t i = 0; i < count; i += together) {
    Value index = i == 0 ? column : t.add(column, t.number(i));
    list.push_back(
        {index,
         splitIndex(t, index, contraction.loopsOf(ProductDim::columns))});
  }
  return list;
}

/// Stores the results of one row; `values` are vectors of columns.
void ContractionPart::storeRow(Value row, ArrayRef<StoredColumns> columns,
                               ArrayRef<Value> values) {
  OpBuilder &b = t->b;
  int64_t rows = contraction.size(ProductDim::rows),
          columnsOfAll = contraction.size(ProductDim::columns);
  SmallVector<Value> loops =
      splitIndex(*t, row, contraction.loopsOf(ProductDim::rows));
  for (auto [number, column] : llvm::enumerate(columns)) {
    int64_t at = number * storedLanes;
    Value sum = values[at / columnLanes];
    if (storedLanes == 1 && columnLanes > 1)
      sum = b.create<vector::ExtractOp>(t->loc, sum,
                                        ArrayRef<int64_t>{at % columnLanes});
    else if (storedLanes < columnLanes)
      sum = b.create<vector::ExtractStridedSliceOp>(
          t->loc, sum, ArrayRef<int64_t>{at % columnLanes},
          ArrayRef<int64_t>{storedLanes}, ArrayRef<int64_t>{1});
    // One condition for each store: nested branches need more predicates than
    // the hardware has.
    Value inside;
    if (rows % shape.rows != 0)
      inside = t->isLess(row, rows);
    if (columnsOfAll % shape.columns != 0)
      inside = t->both(inside, t->isLess(column.first, columnsOfAll));
    t->when(inside,
            [&] { epilogue.emit(loops, column.loops, sum, storedLanes); });
  }
}

void ContractionPart::storeSums(const Sums &sums) {
  SmallVector<StoredColumns> columns;
  for (int64_t i = 0; i < columnVectors(); ++i) {
    Value column =
        t->add(threadColumn, t->number(i * shape.columns / columnVectors()));
    llvm::append_range(columns,
                       columnsFrom(*t, contraction, t->add(firstColumn, column),
                                   columnLanes, storedLanes));
  }
  for (int64_t i = 0; i < shape.threadRows; ++i) {
    int64_t offset = i / rowLanes * (shape.rows / rowVectors()) + i % rowLanes;
    Value row = t->add(firstRow, t->add(threadRow, t->number(offset)));
    storeRow(row, columns,
             ArrayRef(sums).slice(i * columnVectors(), columnVectors()));
  }
}

/// All threads add the groups' sums; each thread then has different elements
/// than before.
void ContractionPart::storeGroups(const Sums &sums) {
  OpBuilder &b = t->b;
  int64_t tileElements = shape.rows * shape.columns;
  int64_t bytes = columnLanes * sumType.getIntOrFloatBitWidth() / 8;
  int64_t start = sharedElements() - shape.groups * tileElements;
  Value own = t->add(t->add(t->mul(group, tileElements), t->number(start)),
                     t->add(t->mul(threadRow, shape.columns), threadColumn));
  for (int64_t i = 0; i < shape.threadRows; ++i) {
    int64_t row = i / rowLanes * (shape.rows / rowVectors()) + i % rowLanes;
    for (int64_t j = 0; j < columnVectors(); ++j) {
      int64_t offset =
          row * shape.columns + j * shape.columns / columnVectors();
      b.create<LLVM::StoreOp>(
          t->loc, sums[i * columnVectors() + j],
          t->elementAddress(shared, sumType, t->add(own, t->number(offset))),
          bytes);
    }
  }
  t->barrier();
  int64_t vectors = tileElements / columnLanes, threads = shape.threads();
  for (int64_t first = 0; first < vectors; first += threads) {
    Value number = t->add(t->thread, t->number(first));
    t->when(vectors < threads ? t->isLess(number, vectors) : Value(), [&] {
      Value position = t->mul(number, columnLanes);
      Value sum;
      for (int64_t i = 0; i < shape.groups; ++i) {
        Value at = t->add(position, t->number(start + i * tileElements));
        Value part = b.create<LLVM::LoadOp>(
            t->loc, vectorType(columnLanes),
            t->elementAddress(shared, sumType, at), bytes);
        sum = sum ? t->addElements(sum, part) : part;
      }
      Value column = t->add(firstColumn, t->rem(position, shape.columns));
      storeRow(t->add(firstRow, t->div(position, shape.columns)),
               columnsFrom(*t, contraction, column, columnLanes, storedLanes),
               sum);
    });
  }
}

} // namespace

std::unique_ptr<BlockPart>
createContractionPart(std::shared_ptr<codegen::Nest> nest,
                      const Intrinsics &intrinsics) {
  std::optional<Contraction> contraction = Contraction::read(nest->body);
  // The result must be read at only one index over the loops.
  if (!contraction || !nest->indices.contains(contraction->op->getResult(0)))
    return nullptr;
  if (isOfVector(*contraction))
    return createVectorPart(std::move(nest), std::move(*contraction));
  if (isDirect(*contraction))
    return createDirectPart(std::move(nest), std::move(*contraction));
  std::optional<MatrixElement> element = matrixElement(*contraction);
  if (element && intrinsics.hasMatrices(*element))
    return createTensorPart(std::move(nest), std::move(*contraction));
  return std::make_unique<ContractionPart>(std::move(nest),
                                           std::move(*contraction));
}

} // namespace sinter::gpu
