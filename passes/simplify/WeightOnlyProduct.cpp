//===- WeightOnlyProduct.cpp - multiply weights as they are stored --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A product of a few rows reads each weight once, so that its time is that of
// reading the weights. Weights of the form (codes - zero point) * scale are
// read as codes of 4 or 8 bits and become float32 in registers:
//   p[n, l] = sum over g of x[g, l] * ((codes[n, g, l] - zero[n]) * scale[n])
//   y[n] = sum over l of p[n, l]
// with L lanes l and a scale and a zero point for each block of groups g. The
// values are those that DequantizeLinear and MatMulNBits define; only the order
// of the sum is another one than that of a matrix product.
//
//===----------------------------------------------------------------------===//
#include "ir/Tensor.h"
#include "passes/simplify/ConstantSources.h"
#include "passes/simplify/QuantizedValue.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// With more rows, a product of float32 weights takes less time.
constexpr int64_t kMostRows = 2;
/// Fewer weights are in a cache, whatever their type.
constexpr int64_t kFewestWeights = int64_t(1) << 14;
constexpr int64_t kMostLanes = 64, kFewestLanes = 8;
constexpr llvm::StringLiteral kNotCodes =
    "its weights are not a matrix of codes times scales";

/// Whether `value` is computed from constants alone, and from integers among
/// them. Nothing is evaluated.
bool comesFromIntegers(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work{value};
  bool hasIntegers = false;
  while (!work.empty()) {
    Operation *def = work.pop_back_val().getDefiningOp();
    if (!def || !isa<EvaluateOpInterface, ConstantOp>(def))
      return false;
    if (!seen.insert(def).second)
      continue;
    if (auto constant = dyn_cast<ConstantOp>(def))
      hasIntegers |= isa<IntegerType>(constant.getType().getElementType());
    llvm::append_range(work, def->getOperands());
  }
  return hasIntegers;
}

bool isWhole(const Tensor &tensor) {
  return llvm::all_of(tensor.floats, [](double number) {
    return std::fabs(number) <= 255 && number == std::nearbyint(number);
  });
}

/// Rows of weights: integers, and scales of blocks along a row.
struct Rows {
  Tensor integers, scales; // of the shape of the weights
  int64_t count, length;   // N, K
  bool areColumns;         // [K, N]

  int64_t at(int64_t row, int64_t k) const {
    return areColumns ? k * count + row : row * length + k;
  }
  /// The largest number of weights of a row that always share a scale.
  int64_t block() const {
    int64_t block = length;
    for (int64_t row = 0; row < count; ++row)
      for (int64_t k = 1; k < length; ++k)
        if (scales.floats[at(row, k)] != scales.floats[at(row, k - 1)])
          block = std::gcd(block, k);
    return block;
  }
};

/// The codes of all weights: `bits` each, with zero points of blocks, or one
/// for all.
struct Codes {
  int64_t bits;
  bool isSigned = false;
  std::vector<int64_t> zeros; // [rows, blocks], [1] or empty: 0
};

Codes chooseCodes(const Rows &rows, int64_t block) {
  const int64_t blocks = rows.length / block;
  std::vector<int64_t> least(rows.count * blocks, 255),
      most(least.size(), -255);
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t k = 0; k < rows.length; ++k) {
      const auto number =
          static_cast<int64_t>(rows.integers.floats[rows.at(row, k)]);
      const int64_t at = row * blocks + k / block;
      least[at] = std::min(least[at], number);
      most[at] = std::max(most[at], number);
    }
  const int64_t lowest = *llvm::min_element(least),
                highest = *llvm::max_element(most);
  int64_t widest = 0;
  for (auto [low, high] : llvm::zip_equal(least, most))
    widest = std::max(widest, high - low);
  const bool fits4 = widest < 16;
  if (fits4 && highest - lowest < 16)
    return {4, false, {lowest ? -lowest : 0}};
  if (!fits4 && lowest >= -128 && highest <= 127)
    return {8, true, {}};
  if (highest - lowest < 256 && !fits4)
    return {8, false, {-lowest}};
  std::vector<int64_t> zeros;
  for (int64_t low : least)
    zeros.push_back(-low);
  return {fits4 ? 4 : 8, false, std::move(zeros)};
}

/// Builds the product in front of a dot.
class WeightOnlyProduct {
public:
  WeightOnlyProduct(DotGeneralOp dot, Rows rows, int64_t block)
      : dot(dot), builder(dot), b(builder, dot.getLoc()), rows(std::move(rows)),
        block(block), codes(chooseCodes(this->rows, block)) {}

  Value build();

private:
  Value makeCodes();
  Value perBlock(const Tensor &numbers);
  Value weights(int64_t part);
  Value product(Value x, ArrayRef<Value> parts);

  Type f32() { return builder.getF32Type(); }
  /// `perByte` codes of a byte are `lanes` apart.
  int64_t perByte() const { return 8 / codes.bits; }
  int64_t group() const { return perByte() * lanes; }

  DotGeneralOp dot;
  OpBuilder builder;
  ValueBuilder b;
  Rows rows;
  int64_t block;
  Codes codes;
  int64_t lanes = 0;
  SmallVector<int64_t> inner; // of a row of codes: blocks, groups, lanes
  Value packed;               // [rows] + inner, 8 / bits codes in a byte
  Value scale, zero;          // of this shape; zero: or null
};

} // namespace

/// [rows, blocks, groups of a block, lanes], without sizes of 1.
Value WeightOnlyProduct::makeCodes() {
  auto element = codes.isSigned ? IntegerType::get(dot.getContext(), 8)
                                : IntegerType::get(dot.getContext(), 8,
                                                   IntegerType::Unsigned);
  SmallVector<int64_t> shape{rows.count};
  llvm::append_range(shape, inner);
  Tensor bytes(RankedTensorType::get(shape, element));
  const int64_t blocks = rows.length / block;
  for (int64_t row = 0, at = 0; row < rows.count; ++row)
    for (int64_t first = 0; first < rows.length; first += group())
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t zero = codes.zeros.empty() ? 0
                             : codes.zeros.size() == 1
                                 ? codes.zeros.front()
                                 : codes.zeros[row * blocks + first / block];
        int64_t byte = 0;
        for (int64_t part = 0; part < perByte(); ++part) {
          const double number =
              rows.integers.floats[rows.at(row, first + part * lanes + lane)];
          byte |= (static_cast<int64_t>(number) + zero) << (part * codes.bits);
        }
        bytes.ints[at++] = byte;
      }
  auto constant =
      builder.create<ConstantOp>(dot.getLoc(), bytes.toAttr("codes"));
  constant->setAttr(kUnfoldedAttr, builder.getUnitAttr());
  return constant;
}

/// [rows, blocks] in the shape of the codes.
Value WeightOnlyProduct::perBlock(const Tensor &numbers) {
  SmallVector<int64_t> shape{rows.count}, kept{0};
  llvm::append_range(shape, inner);
  if (rows.length > block)
    kept.push_back(1);
  Value each = b.make<ConstantOp>(numbers.toAttr("scales"));
  if (kept.size() == 1)
    each = b.reshape(each, {rows.count});
  return b.broadcast(each, shape, kept);
}

/// The weights whose codes are part `part` of each byte.
Value WeightOnlyProduct::weights(int64_t part) {
  Value own = packed;
  if (codes.bits == 4)
    own = part ? b.make<ShiftRightOp>(packed, b.like(packed, 4))
               : b.make<AndOp>(packed, b.like(packed, 15));
  Value number = b.cast(own, f32());
  return b.mul(zero ? b.sub(number, zero) : number, scale);
}

/// The products of a row of x with all rows of weights: [rows].
Value WeightOnlyProduct::product(Value x, ArrayRef<Value> parts) {
  SmallVector<int64_t> apart(inner.begin(), inner.end() - 1);
  const auto partDim = static_cast<int64_t>(apart.size());
  apart.append({perByte(), lanes});
  x = b.reshape(x, apart);
  SmallVector<int64_t> shape{rows.count}, ofX, reduced;
  llvm::append_range(shape, inner);
  for (int64_t dim = 1; dim < static_cast<int64_t>(shape.size()); ++dim)
    ofX.push_back(dim);
  Value sum;
  for (auto [part, weights] : llvm::enumerate(parts)) {
    const auto at = static_cast<int64_t>(part);
    Value own = b.reshape(
        sliceAlong(builder, dot.getLoc(), x, partDim, at, at + 1), inner);
    Value product = b.mul(b.broadcast(own, shape, ofX), weights);
    sum = sum ? b.add(sum, product) : product;
  }
  for (int64_t dim = 1; dim + 1 < static_cast<int64_t>(shape.size()); ++dim)
    reduced.push_back(dim);
  return b.sum(reduced.empty() ? sum : b.sum(sum, reduced), {1});
}

Value WeightOnlyProduct::build() {
  // Each group is part of one block.
  lanes = kMostLanes;
  while (lanes >= kFewestLanes && block % group())
    lanes /= 2;
  if (lanes < kFewestLanes)
    return {};
  const int64_t blocks = rows.length / block, groups = block / group();
  for (int64_t size : {blocks, groups})
    if (size > 1)
      inner.push_back(size);
  inner.push_back(lanes);
  packed = makeCodes();
  auto blockType = RankedTensorType::get({rows.count, blocks}, f32());
  Tensor numbers(blockType);
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t i = 0; i < blocks; ++i)
      numbers.floats[row * blocks + i] =
          rows.scales.floats[rows.at(row, i * block)];
  scale = perBlock(numbers);
  if (codes.zeros.size() == 1 && codes.zeros.front()) {
    zero = b.splat(withElement(tensorType(packed), f32()),
                   static_cast<double>(codes.zeros.front()));
  } else if (codes.zeros.size() > 1) {
    numbers.floats.assign(codes.zeros.begin(), codes.zeros.end());
    zero = perBlock(numbers);
  }

  SmallVector<Value> parts;
  for (int64_t part = 0; part < perByte(); ++part)
    parts.push_back(weights(part));
  const int64_t m = tensorType(dot.getLhs()).getNumElements() / rows.length;
  Value x = b.reshape(dot.getLhs(), {m, rows.length});
  SmallVector<Value> results;
  for (int64_t row = 0; row < m; ++row)
    results.push_back(b.reshape(
        product(sliceAlong(builder, dot.getLoc(), x, 0, row, row + 1), parts),
        {1, rows.count}));
  Value y = m == 1 ? results.front()
                   : b.make<ConcatOp>(results, static_cast<uint64_t>(0));
  return b.reshape(y, dot.getType().getShape());
}

Value weightOnlyProduct(DotGeneralOp dot, StringRef &reason) {
  RankedTensorType x = tensorType(dot.getLhs()), w = tensorType(dot.getRhs());
  if (!x.getElementType().isF32() || !comesFromIntegers(dot.getRhs()))
    return {}; // with the reason why it is no 8-bit product
  auto product = dot.getRhs().getDefiningOp<MulOp>();
  auto transpose = dot.getRhs().getDefiningOp<TransposeOp>();
  if (transpose)
    product = transpose.getX().getDefiningOp<MulOp>();
  if (!product || w.getRank() != 2 || !dot.getLhsBatch().empty() ||
      dot.getLhsContract().size() != 1 ||
      dot.getLhsContract().front() != x.getRank() - 1) {
    reason = kNotCodes;
    return {};
  }
  const int64_t contracted = dot.getRhsContract().front();
  const int64_t length = w.getDimSize(contracted);
  if (w.getNumElements() < kFewestWeights) {
    reason = "its weights are few: they are folded to floats";
    return {};
  }
  if (x.getNumElements() / length > kMostRows) {
    reason = "it has more than 2 rows: its weights are folded to floats";
    return {};
  }
  auto integers = evaluateFromConstants(product.getLhs().getDefiningOp()),
       scales = evaluateFromConstants(product.getRhs().getDefiningOp());
  if (succeeded(integers) && succeeded(scales) && !isWhole(integers->front()))
    std::swap(integers, scales);
  if (failed(integers) || failed(scales) || !isWhole(integers->front())) {
    reason = kNotCodes;
    return {};
  }
  const bool isTransposed = transpose && transpose.getPerm().front() == 1;
  Rows rows{std::move(integers->front()), std::move(scales->front()),
            w.getDimSize(1 - contracted), length,
            (contracted == 0) != isTransposed};
  const int64_t block = rows.block();
  Value y = WeightOnlyProduct(dot, std::move(rows), block).build();
  if (!y)
    reason = "its blocks are too small: its weights are folded to floats";
  return y;
}

} // namespace sinter::passes
