//===- VectorPart.cpp - products of a vector and a matrix -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Such a product reads each element of the matrix once, so its speed is that of
// memory. Threads read the matrix directly, in pieces of 16 bytes if possible,
// along the dimension in which it is contiguous:
//
// - Along the depth: a group of at most 32 lanes computes one result. Lane i
//   takes the pieces i, i + lanes, ... of the sum. Each lane adds up its pieces
//   element by element, then the elements, and shuffles add up the lanes.
// - Along the columns: a thread has one piece of neighbouring columns and every
//   `stride`-th step of the sum. Shuffles, and then shared memory, add up the
//   threads with the same columns.
//
// The order of a sum depends only on the shape of the product and the layout of
// the matrix.
//
// As a part of a kernel of kind rows, each block computes its row of the
// results instead: a stretch of the columns of one product, or all of them. Its
// threads are those that the largest member of the kernel wants, so the order
// of a sum depends on the other members, too.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/ContractionEpilogue.h"
#include "backends/gpu/codegen/OperandPlace.h"
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
using codegen::ProductOperand;

namespace {

/// Pieces of the matrix that a thread loads before it adds any of them.
constexpr int64_t kUnrolled = 4;
/// The fewest steps of the sum that are worth a thread.
constexpr int64_t kLeastSteps = 4;
/// Neighbouring threads read as much of a row of the matrix: a line of the
/// cache, or at least what memory transfers at once.
constexpr int64_t kLineBytes = 128, kSectorBytes = 32;
constexpr int64_t kThreads = 256;

/// Any multiple of the largest piece: it does not limit pieces.
constexpr int64_t kExtent = 16;

PiecesOfTile piecesOf(const Contraction &contraction,
                      const ProductOperand &operand, ProductDim outer) {
  return {contraction, operand, outer, kExtent, kExtent};
}

/// The product with the matrix as its second operand; nothing for products of
/// two matrices.
std::optional<Contraction> withVectorFirst(Contraction contraction) {
  if (contraction.size(ProductDim::rows) != 1)
    contraction.transpose();
  if (contraction.size(ProductDim::rows) != 1)
    return std::nullopt;
  return contraction;
}

class VectorPart : public BlockPart {
public:
  VectorPart(std::shared_ptr<codegen::Nest> nest, Contraction &&product,
             std::optional<RowBlocks> rows = std::nullopt);

  int64_t threads() const override { return ownThreads; }
  int64_t workers(int64_t blockThreads) const override {
    return isAlongDepth ? blockThreads : ownThreads;
  }
  int64_t blocks(int64_t blockThreads) const override {
    if (rows)
      return rows->rows;
    return isAlongDepth ? llvm::divideCeil(results() * lanes, blockThreads)
                        : contraction.size(ProductDim::batch) * columnTiles();
  }
  int64_t reach() const override { return reachOf(*nest); }
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;

private:
  int64_t results() const {
    return contraction.size(ProductDim::batch) *
           contraction.size(ProductDim::columns);
  }
  int64_t depth() const { return contraction.size(ProductDim::depth); }
  /// The columns that blocks of one product share, or those of a block's row.
  int64_t blockColumns() const {
    return rows ? results() / rows->rows
                : contraction.size(ProductDim::columns);
  }
  /// The number of the product of a block's row, and its first column.
  std::pair<Value, Value> rowBegin() const {
    int64_t parts = contraction.size(ProductDim::columns) / blockColumns();
    return {t->div(t->block, parts),
            t->mul(t->rem(t->block, parts), blockColumns())};
  }

  // Along the columns: `lanes` threads have the columns of a tile.
  int64_t columnPieces() const { return blockColumns() / piece; }
  int64_t columnTiles() const {
    return llvm::divideCeil(columnPieces(), lanes);
  }
  int64_t stride() const { return ownThreads / lanes; }
  void chooseTile();

  void emitAlongDepth(ArrayRef<Value> inputs, ArrayRef<Value> outputs);
  void emitResult(ArrayRef<Value> inputs, ArrayRef<Value> outputs, Value lane,
                  Value product, Value column, Value isResult);
  void emitAlongColumns(ArrayRef<Value> inputs, ArrayRef<Value> outputs);
  void emitColumns(ArrayRef<Value> inputs, ArrayRef<Value> outputs,
                   Value product, Value begin, Value tile, bool isRepeated);
  void store(ArrayRef<Value> inputs, ArrayRef<Value> outputs,
             ArrayRef<Value> batch, Value column, Value sum);

  /// One piece of the vector and one of the matrix.
  struct Pair {
    Value x, y;
  };
  /// The thread's sum for the piece of the matrix at `column`: over `rounds`
  /// rounds, in each of which it takes the steps from `stepOf(round)` on. In
  /// the last round, only threads with `isInLast` take part; null: all do.
  Value sumUp(ArrayRef<Value> inputs, ArrayRef<Value> batch, Value column,
              int64_t rounds, Value isInLast,
              llvm::function_ref<Value(Value)> stepOf);
  Value load(const ProductOperand &operand, ArrayRef<Value> inputs,
             const OperandPlace &place, int64_t count, int64_t together);
  Value asVector(Value x);
  SmallVector<Value> rowLoops() {
    return SmallVector<Value>(contraction.loopsOf(ProductDim::rows).size(),
                              t->number(0));
  }

  std::shared_ptr<codegen::Nest> nest;
  Contraction contraction;
  ContractionEpilogue epilogue;
  std::optional<RowBlocks> rows; // nothing: blocks share all results
  bool isAlongDepth;
  int64_t piece;       // elements of the matrix that a thread loads at once
  int64_t vectorPiece; // the same for the vector, along the depth
  int64_t lanes;
  int64_t ownThreads;
  Type sumType;

  // While code is emitted.
  Threads *t = nullptr;
  std::optional<ElementEmitter> emitter;
};

VectorPart::VectorPart(std::shared_ptr<codegen::Nest> nestIn,
                       Contraction &&product, std::optional<RowBlocks> rows)
    : nest(std::move(nestIn)), contraction(std::move(product)),
      epilogue(nest, contraction), rows(rows) {
  PiecesOfTile matrix =
                   piecesOf(contraction, contraction.b, ProductDim::columns),
               vector = piecesOf(contraction, contraction.a, ProductDim::rows);
  isAlongDepth = matrix.isAlongDepth;
  piece = matrix.elements;
  while (!isAlongDepth && blockColumns() % piece != 0)
    piece /= 2;
  vectorPiece = isAlongDepth && vector.isAlongDepth
                    ? std::min(vector.elements, piece)
                    : 1;
  OpBuilder builder(contraction.op->getContext());
  sumType =
      ElementEmitter(builder, contraction.op->getLoc(), nest->domain)
          .computeType(
              ir::tensorType(contraction.op->getResult(0)).getElementType());
  chooseTile();
}

void VectorPart::chooseTile() {
  if (isAlongDepth) {
    lanes =
        std::min(kWarpThreads, static_cast<int64_t>(llvm::bit_floor(
                                   static_cast<uint64_t>(depth() / piece))));
    int64_t warps = llvm::divideCeil(results() * lanes, kWarpThreads);
    ownThreads = rows ? rows->threads : kWarpThreads;
    if (rows)
      return;
    while (ownThreads < kThreads &&
           warps * kWarpThreads >= 2 * ownThreads * kManyBlocks)
      ownThreads *= 2;
    return;
  }
  int64_t bytes =
      piece *
      ir::elementSizeBytes(ir::tensorType(contraction.b.base).getElementType());
  auto most = static_cast<int64_t>(llvm::PowerOf2Ceil(columnPieces()));
  if (rows) {
    ownThreads = rows->threads;
    lanes = std::min(most, ownThreads);
    return;
  }
  lanes = std::min({kLineBytes / bytes, kWarpThreads, most});
  ownThreads = kThreads;
  while (depth() < kLeastSteps * stride() && lanes < std::min(most, ownThreads))
    lanes *= 2;
  while (depth() < kLeastSteps * stride() &&
         ownThreads > std::max(lanes, kWarpThreads))
    ownThreads /= 2;
  auto blocks = [&] {
    return contraction.size(ProductDim::batch) * columnTiles();
  };
  while (blocks() < kManyBlocks && lanes * bytes > kSectorBytes && lanes > 1 &&
         depth() >= 2 * kLeastSteps * stride())
    lanes /= 2;
  while (blocks() < kManyBlocks && ownThreads < kMaxBlockThreads &&
         depth() >= 4 * kLeastSteps * stride())
    ownThreads *= 2;
}

/// `count` elements from `place` on, `together` of them at a time: those of the
/// vector along the depth, a piece of the matrix at once.
Value VectorPart::load(const ProductOperand &operand, ArrayRef<Value> inputs,
                       const OperandPlace &place, int64_t count,
                       int64_t together) {
  OpBuilder &b = t->b;
  Type element = ir::tensorType(operand.base).getElementType(),
       memory = emitter->storageType(element);
  int64_t bytes = ir::elementSizeBytes(element);
  Value pointer = inputs[cast<BlockArgument>(operand.base).getArgNumber()];
  Value offset = place.offset();
  int64_t stride =
      together == count
          ? 1
          : operand.stride(ProductDim::depth,
                           contraction.loopsOf(ProductDim::depth).size() - 1);
  auto loadAt = [&](int64_t first) {
    Value at = offset;
    if (first)
      at = b.create<arith::AddIOp>(
          t->loc, at,
          b.create<arith::ConstantIntOp>(t->loc, first * stride, 64)
              .getResult());
    Value address = b.create<LLVM::GEPOp>(t->loc, pointer.getType(), memory,
                                          pointer, ArrayRef<LLVM::GEPArg>{at});
    Type type = together == 1 ? memory : VectorType::get({together}, memory);
    return emitter->fromMemory(
        b.create<LLVM::LoadOp>(t->loc, type, address, together * bytes),
        element);
  };
  if (count == together)
    return loadAt(0);
  Value all = b.create<arith::ConstantOp>(
      t->loc,
      b.getZeroAttr(VectorType::get({count}, emitter->computeType(element))));
  for (int64_t first = 0; first < count; first += together) {
    Value part = loadAt(first);
    if (together == 1)
      all = b.create<vector::InsertOp>(t->loc, part, all,
                                       ArrayRef<int64_t>{first});
    else
      all = b.create<vector::InsertStridedSliceOp>(
          t->loc, part, all, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1});
  }
  return all;
}

Value VectorPart::asVector(Value x) {
  if (piece == 1 || isa<VectorType>(x.getType()))
    return x;
  return t->b.create<vector::SplatOp>(t->loc,
                                      VectorType::get({piece}, x.getType()), x);
}

Value VectorPart::sumUp(ArrayRef<Value> inputs, ArrayRef<Value> batch,
                        Value column, int64_t rounds, Value isInLast,
                        llvm::function_ref<Value(Value)> stepOf) {
  OpBuilder &b = t->b;
  Type type = piece == 1 ? sumType : VectorType::get({piece}, sumType);
  Value sum = b.create<arith::ConstantOp>(t->loc, b.getZeroAttr(type));
  OperandPlace vector = OperandPlace(*t, contraction.a)
                            .at(ProductDim::batch, batch)
                            .at(ProductDim::rows, rowLoops());
  OperandPlace matrix =
      OperandPlace(*t, contraction.b)
          .at(ProductDim::batch, batch)
          .at(ProductDim::columns,
              splitIndex(*t, column, contraction.loopsOf(ProductDim::columns)));
  auto loadRound = [&](Value round) -> Pair {
    SmallVector<Value> step =
        splitIndex(*t, stepOf(round), contraction.loopsOf(ProductDim::depth));
    Value y = load(contraction.b, inputs, matrix.at(ProductDim::depth, step),
                   piece, piece);
    Value x = load(contraction.a, inputs, vector.at(ProductDim::depth, step),
                   isAlongDepth ? piece : 1, vectorPiece);
    return {x, y};
  };
  int64_t whole = isInLast ? rounds - 1 : rounds;
  auto addRounds = [&](Value first, int64_t count, Value start) {
    SmallVector<Pair> pairs;
    for (int64_t i = 0; i < count; ++i)
      pairs.push_back(loadRound(i ? t->add(first, t->number(i)) : first));
    for (Pair pair : pairs)
      start = t->multiplyAdd(asVector(pair.x), pair.y, start);
    return start;
  };
  int64_t inLoop = whole / kUnrolled * kUnrolled;
  if (inLoop == kUnrolled) {
    sum = addRounds(t->number(0), kUnrolled, sum);
  } else if (inLoop) {
    auto loop = b.create<scf::ForOp>(t->loc, t->number(0), t->number(inLoop),
                                     t->number(kUnrolled), ValueRange{sum});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    b.create<scf::YieldOp>(t->loc, addRounds(loop.getInductionVar(), kUnrolled,
                                             loop.getRegionIterArg(0)));
    sum = loop.getResult(0);
  }
  sum = addRounds(t->number(inLoop), whole - inLoop, sum);
  if (!isInLast)
    return sum;
  auto last =
      b.create<scf::IfOp>(t->loc, type, isInLast, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(last.thenBlock());
  b.create<scf::YieldOp>(t->loc, addRounds(t->number(whole), 1, sum));
  b.setInsertionPointToStart(last.elseBlock());
  b.create<scf::YieldOp>(t->loc, sum);
  return last.getResult(0);
}

void VectorPart::store(ArrayRef<Value> inputs, ArrayRef<Value> outputs,
                       ArrayRef<Value> batch, Value column, Value sum) {
  epilogue.begin(*t, inputs, outputs, batch);
  epilogue.emit(
      rowLoops(),
      splitIndex(*t, column, contraction.loopsOf(ProductDim::columns)), sum, 1);
}

void VectorPart::emit(Threads &threads, ArrayRef<Value> inputs,
                      ArrayRef<Value> outputs) {
  t = &threads;
  emitter.emplace(t->b, t->loc, nest->domain);
  if (isAlongDepth)
    emitAlongDepth(inputs, outputs);
  else
    emitAlongColumns(inputs, outputs);
  emitter.reset();
}

void VectorPart::emitAlongDepth(ArrayRef<Value> inputs,
                                ArrayRef<Value> outputs) {
  int64_t together = t->blockThreads / lanes; // results of a block at a time
  Value lane = t->rem(t->thread, lanes);
  // Lanes without a result compute the last one, too: all take part in
  // shuffles.
  auto among = [&](Value own, int64_t count, Value &isResult) {
    if (count % together == 0)
      return own;
    isResult = t->isLess(own, count);
    return t->select(isResult, own, t->number(count - 1));
  };
  Value isResult;
  if (!rows) {
    Value own = t->add(t->mul(t->block, together), t->div(t->thread, lanes));
    Value result = among(own, results(), isResult);
    Value column = t->rem(result, blockColumns());
    return emitResult(inputs, outputs, lane, t->div(result, blockColumns()),
                      column, isResult);
  }
  Value group = t->div(t->thread, lanes);
  auto [product, begin] = rowBegin();
  auto emitRound = [&](Value own) {
    Value column = among(own, blockColumns(), isResult);
    emitResult(inputs, outputs, lane, product, t->add(begin, column), isResult);
  };
  if (blockColumns() <= together)
    return emitRound(group);
  auto loop = t->b.create<scf::ForOp>(
      t->loc, t->number(0), t->number(llvm::alignTo(blockColumns(), together)),
      t->number(together));
  OpBuilder::InsertionGuard guard(t->b);
  t->b.setInsertionPointToStart(loop.getBody());
  emitRound(t->add(loop.getInductionVar(), group));
}

/// Computes the result at `column` of product number `product`, and stores it
/// if `isResult` holds.
void VectorPart::emitResult(ArrayRef<Value> inputs, ArrayRef<Value> outputs,
                            Value lane, Value product, Value column,
                            Value isResult) {
  SmallVector<Value> batch =
      splitIndex(*t, product, contraction.loopsOf(ProductDim::batch));
  int64_t pieces = depth() / piece, rounds = llvm::divideCeil(pieces, lanes);
  Value isInLast = pieces % lanes == 0
                       ? Value()
                       : t->isLess(lane, pieces - (rounds - 1) * lanes);
  Value sum = sumUp(inputs, batch, column, rounds, isInLast, [&](Value round) {
    return t->mul(t->add(t->mul(round, lanes), lane), piece);
  });
  if (piece > 1)
    sum = emitter->combineLanes(
        ir::ReduceKind::sum,
        ir::tensorType(contraction.op->getResult(0)).getElementType(), sum);
  for (int64_t mask = lanes / 2; mask > 0; mask /= 2)
    sum = t->addElements(sum, t->shuffleXor(sum, mask));
  Value isFirst = lanes == 1 ? Value() : t->isLess(lane, 1);
  t->when(t->both(isFirst, isResult),
          [&] { store(inputs, outputs, batch, column, sum); });
}

void VectorPart::emitAlongColumns(ArrayRef<Value> inputs,
                                  ArrayRef<Value> outputs) {
  if (!rows)
    return emitColumns(inputs, outputs, t->div(t->block, columnTiles()),
                       nullptr, t->rem(t->block, columnTiles()),
                       /*isRepeated=*/false);
  auto [product, begin] = rowBegin();
  if (columnTiles() == 1)
    return emitColumns(inputs, outputs, product, begin, t->number(0),
                       /*isRepeated=*/false);
  auto loop = t->b.create<scf::ForOp>(t->loc, t->number(0),
                                      t->number(columnTiles()), t->number(1));
  OpBuilder::InsertionGuard guard(t->b);
  t->b.setInsertionPointToStart(loop.getBody());
  emitColumns(inputs, outputs, product, begin, loop.getInductionVar(),
              /*isRepeated=*/true);
}

/// Computes tile number `tile` of the block's columns of product number
/// `product`, of which column `begin` (null: 0) is the first.
void VectorPart::emitColumns(ArrayRef<Value> inputs, ArrayRef<Value> outputs,
                             Value product, Value begin, Value tile,
                             bool isRepeated) {
  OpBuilder &b = t->b;
  Value lane = t->rem(t->thread, lanes);
  Value first = t->div(t->thread, lanes); // step of the sum
  SmallVector<Value> batch =
      splitIndex(*t, product, contraction.loopsOf(ProductDim::batch));
  auto inProduct = [&](Value column) {
    return begin ? t->add(begin, column) : column;
  };
  Value firstPiece = t->mul(tile, lanes);
  Value ownPiece = t->add(firstPiece, lane);
  // Threads without columns compute the last ones, too: all take part in
  // shuffles.
  Value readPiece = ownPiece;
  if (columnPieces() % lanes != 0)
    readPiece = t->select(t->isLess(ownPiece, columnPieces()), ownPiece,
                          t->number(columnPieces() - 1));
  int64_t rounds = llvm::divideCeil(depth(), stride());
  Value isInLast = depth() % stride() == 0
                       ? Value()
                       : t->isLess(first, depth() - (rounds - 1) * stride());
  Value sum = sumUp(
      inputs, batch, inProduct(t->mul(readPiece, piece)), rounds, isInLast,
      [&](Value round) { return t->add(t->mul(round, stride()), first); });
  for (int64_t mask = kWarpThreads / 2; mask >= lanes; mask /= 2)
    sum = t->addElements(sum, t->shuffleXor(sum, mask));

  // The sums of `parts` groups of threads, each for the whole tile.
  int64_t width = lanes * piece,
          parts = ownThreads / std::max(lanes, kWarpThreads);
  int64_t bytes = sumType.getIntOrFloatBitWidth() / 8;
  Value array = t->beginExchange(sumType, parts * width, isRepeated);
  Value part = t->div(t->thread, std::max(lanes, kWarpThreads));
  Value at = t->add(t->mul(part, width), t->mul(lane, piece));
  Value isWriter;
  if (lanes < kWarpThreads)
    isWriter = t->isLess(t->rem(t->thread, kWarpThreads), lanes);
  t->when(isWriter, [&] {
    b.create<LLVM::StoreOp>(t->loc, sum, t->elementAddress(array, sumType, at),
                            std::min<int64_t>(16, piece * bytes));
  });
  t->barrier();
  for (int64_t from = 0; from < width; from += ownThreads) {
    Value own = from ? t->add(t->thread, t->number(from)) : t->thread;
    Value column = t->add(t->mul(firstPiece, piece), own);
    Value isColumn;
    if (width - from < ownThreads)
      isColumn = t->isLess(own, width);
    if (columnPieces() % lanes != 0)
      isColumn = t->both(isColumn, t->isLess(column, blockColumns()));
    t->when(isColumn, [&] {
      Value total;
      for (int64_t i = 0; i < parts; ++i) {
        Value one = b.create<LLVM::LoadOp>(
            t->loc, sumType,
            t->elementAddress(array, sumType,
                              i ? t->add(own, t->number(i * width)) : own),
            bytes);
        total = total ? t->addElements(total, one) : one;
      }
      store(inputs, outputs, batch, inProduct(column), total);
    });
  }
}

} // namespace

bool isOfVector(const Contraction &contraction) {
  constexpr int64_t kFewSteps = 4;
  std::optional<Contraction> product = withVectorFirst(contraction);
  if (!product || product->size(ProductDim::depth) <= kFewSteps ||
      !product->a.windows.empty() || !product->b.windows.empty())
    return false;
  auto isContiguous = [&](ProductDim dim) {
    ArrayRef<int64_t> loops = product->loopsOf(dim);
    return !loops.empty() && product->b.stride(dim, loops.size() - 1) == 1;
  };
  return isContiguous(ProductDim::depth) || isContiguous(ProductDim::columns);
}

std::unique_ptr<BlockPart> createVectorPart(std::shared_ptr<codegen::Nest> nest,
                                            Contraction &&contraction) {
  return std::make_unique<VectorPart>(
      std::move(nest), std::move(*withVectorFirst(std::move(contraction))));
}

std::unique_ptr<BlockPart>
createVectorRowPart(std::shared_ptr<codegen::Nest> nest, RowBlocks blocks) {
  std::optional<Contraction> read = Contraction::read(nest->body);
  if (!read || !nest->indices.contains(read->op->getResult(0)))
    return nullptr;
  std::optional<Contraction> product = withVectorFirst(std::move(*read));
  if (!product || !product->a.windows.empty() || !product->b.windows.empty())
    return nullptr;
  int64_t columns = product->size(ProductDim::columns),
          results = product->size(ProductDim::batch) * columns;
  if (results % blocks.rows != 0 || columns % (results / blocks.rows) != 0)
    return nullptr;
  return std::make_unique<VectorPart>(std::move(nest), std::move(*product),
                                      blocks);
}

} // namespace sinter::gpu
