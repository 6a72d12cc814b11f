//===- WeightOnlyProduct.cpp - multiply weights as they are stored --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A product of a few rows reads each weight once, so that its time is that of
// reading the weights. Weights of the form (codes - zero point) * scale stay
// codes of 4 or 8 bits in the program, and a call of the library reads them
// (CodedWeights.h). The values are those that DequantizeLinear and MatMulNBits
// define.
//
//===----------------------------------------------------------------------===//
#include "ir/Tensor.h"
#include "passes/CodedWeights.h"
#include "passes/MatmulForm.h"
#include "passes/simplify/ConstantSources.h"
#include "passes/simplify/QuantizedValue.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// With more rows, a product of float32 weights takes less time (maxCodedRows
/// in RowProduct.cpp).
constexpr int64_t kMostRows = 16;
/// Fewer weights are in a cache, whatever their type.
constexpr int64_t kFewestWeights = int64_t(1) << 14;
constexpr int64_t kSmallestBlock = 8;
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

/// A factor of a matrix of weights. Only what it repeats is evaluated.
struct Factor {
  Tensor values;
  std::vector<int64_t> offsets[2]; // of the indices of each dimension

  double at(int64_t i, int64_t j) const {
    return values.floats[offsets[0][i] + offsets[1][j]];
  }
};

/// Nothing if an op has no value for its operands, or no floats.
std::optional<Factor> readFactor(Value value) {
  StridedView view = viewOf(value, ViewDepth::loops);
  auto values = evaluateFromConstants(view.base.getDefiningOp());
  if (failed(values) || !values->front().isFloat())
    return std::nullopt;
  Factor factor{std::move(values->front()), {{view.offset}, {0}}};
  for (unsigned dim = 0; dim < 2; ++dim)
    for (StridedLoop loop : view.dims[dim]) {
      std::vector<int64_t> inner;
      for (int64_t offset : factor.offsets[dim])
        for (int64_t i = 0; i < loop.size; ++i)
          inner.push_back(offset + i * loop.stride);
      factor.offsets[dim] = std::move(inner);
    }
  return factor;
}

/// Rows of weights: integers, and scales of blocks along a row.
struct Rows {
  Factor integers, scales;
  int64_t count, length; // N, K
  bool areColumns;       // [K, N]

  int64_t integer(int64_t row, int64_t k) const {
    return static_cast<int64_t>(at(integers, row, k));
  }
  double scale(int64_t row, int64_t k) const { return at(scales, row, k); }

  /// Calls `visit(row, k)` for all weights, in an order that caches like
  /// whichever way they are stored.
  template <class Visit> void forEach(Visit visit) const {
    constexpr int64_t tile = 64;
    for (int64_t first = 0; first < count; first += tile)
      for (int64_t k = 0; k < length; ++k)
        for (int64_t row = first; row < std::min(first + tile, count); ++row)
          visit(row, k);
  }
  /// The largest number of weights of a row that always share a scale.
  int64_t block() const {
    int64_t block = length;
    const std::vector<int64_t> &offsets = scales.offsets[areColumns ? 0 : 1];
    for (int64_t k = 1; k < length; ++k)
      if (offsets[k] != offsets[k - 1] &&
          llvm::any_of(llvm::seq<int64_t>(0, count), [&](int64_t row) {
            return scale(row, k) != scale(row, k - 1);
          }))
        block = std::gcd(block, k);
    return block;
  }

private:
  double at(const Factor &factor, int64_t row, int64_t k) const {
    return areColumns ? factor.at(k, row) : factor.at(row, k);
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
  rows.forEach([&](int64_t row, int64_t k) {
    const int64_t number = rows.integer(row, k);
    const int64_t at = row * blocks + k / block;
    least[at] = std::min(least[at], number);
    most[at] = std::max(most[at], number);
  });
  const int64_t lowest = *llvm::min_element(least),
                highest = *llvm::max_element(most);
  int64_t widest = 0;
  for (auto [low, high] : llvm::zip_equal(least, most))
    widest = std::max(widest, high - low);
  // A byte has two codes of one block.
  const bool fits4 = widest < 16 && block % 2 == 0;
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

/// The codes as a constant: CodedWeights::codes.
Value makeCodes(ValueBuilder &b, const Rows &rows, const Codes &codes,
                int64_t block) {
  const bool areHalves = codes.bits == 4;
  auto element = codes.isSigned ? IntegerType::get(b.b.getContext(), 8)
                                : IntegerType::get(b.b.getContext(), 8,
                                                   IntegerType::Unsigned);
  const int64_t blocks = rows.length / block;
  Tensor bytes(RankedTensorType::get(
      {areHalves ? rows.length / 2 : rows.length, rows.count}, element));
  rows.forEach([&](int64_t row, int64_t k) {
    const int64_t zero = codes.zeros.empty() ? 0
                         : codes.zeros.size() == 1
                             ? codes.zeros.front()
                             : codes.zeros[row * blocks + k / block];
    const int64_t code = rows.integer(row, k) + zero;
    if (areHalves)
      bytes.ints[k / 2 * rows.count + row] |= code << k % 2 * 4;
    else
      bytes.ints[k * rows.count + row] = code;
  });
  auto constant = b.b.create<ConstantOp>(b.loc, bytes.toAttr("codes"));
  constant->setAttr(kUnfoldedAttr, b.b.getUnitAttr());
  return constant;
}

/// `numberOf(row, block)` for all rows and blocks.
PerBlock
perBlock(ValueBuilder &b, const Rows &rows, int64_t block, StringRef name,
         llvm::function_ref<double(int64_t row, int64_t block)> numberOf) {
  const int64_t blocks = rows.length / block;
  Tensor numbers(RankedTensorType::get({blocks, rows.count}, b.b.getF32Type()));
  for (int64_t at = 0; at < blocks; ++at)
    for (int64_t row = 0; row < rows.count; ++row)
      numbers.floats[at * rows.count + row] = numberOf(row, at);
  const double first = numbers.floats.front();
  if (llvm::all_of(numbers.floats,
                   [&](double number) { return number == first; }))
    return {{}, first};
  return {b.make<ConstantOp>(numbers.toAttr(name)), 0};
}

/// `dot` with the weights `rows` as codes.
Value productOfCodes(DotGeneralOp dot, const Rows &rows, int64_t block) {
  OpBuilder builder(dot);
  ValueBuilder b(builder, dot.getLoc());
  const Codes codes = chooseCodes(rows, block);
  CodedWeights weights;
  weights.bits = codes.bits;
  weights.block = block;
  weights.codes = makeCodes(b, rows, codes, block);
  weights.scale =
      perBlock(b, rows, block, "scales", [&](int64_t row, int64_t at) {
        return rows.scale(row, at * block);
      });
  if (codes.zeros.size() == 1)
    weights.zero.number = static_cast<double>(codes.zeros.front());
  else if (!codes.zeros.empty())
    weights.zero =
        perBlock(b, rows, block, "zeros", [&](int64_t row, int64_t at) {
          return static_cast<double>(
              codes.zeros[row * (rows.length / block) + at]);
        });
  return b.make<DotGeneralOp>(dot.getLhs(), weights.build(b),
                              ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                              dot.getLhsContract(), ArrayRef<int64_t>({0}));
}

} // namespace

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
    reason = "it has more than 16 rows: its weights are folded to floats";
    return {};
  }
  std::optional<Factor> integers = readFactor(product.getLhs()),
                        scales = readFactor(product.getRhs());
  if (integers && scales && !isWhole(integers->values))
    std::swap(integers, scales);
  if (!integers || !scales || !isWhole(integers->values)) {
    reason = kNotCodes;
    return {};
  }
  const bool isTransposed = transpose && transpose.getPerm().front() == 1;
  Rows rows{std::move(*integers), std::move(*scales),
            w.getDimSize(1 - contracted), length,
            (contracted == 0) != isTransposed};
  const int64_t block = rows.block();
  if (block < kSmallestBlock) {
    reason = "its blocks are too small: its weights are folded to floats";
    return {};
  }
  return productOfCodes(dot, rows, block);
}

} // namespace sinter::passes
