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
#include "ir/ElementBytes.h"
#include "ir/Tensor.h"
#include "passes/CodedWeights.h"
#include "passes/MatmulForm.h"
#include "passes/simplify/ConstantSources.h"
#include "passes/simplify/QuantizedValue.h"
#include "passes/simplify/WeightCodes.h"

#include "llvm/ADT/SmallPtrSet.h"

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

/// A factor of a matrix of weights. Only what it repeats is evaluated.
struct Factor {
  Value base;
  std::vector<int64_t> offsets[2]; // of the indices of each dimension

  explicit Factor(Value value) {
    StridedView view = viewOf(value, ViewDepth::loops);
    base = view.base;
    offsets[0] = {view.offset};
    offsets[1] = {0};
    for (unsigned dim = 0; dim < 2; ++dim)
      for (StridedLoop loop : view.dims[dim]) {
        std::vector<int64_t> inner;
        for (int64_t offset : offsets[dim])
          for (int64_t i = 0; i < loop.size; ++i)
            inner.push_back(offset + i * loop.stride);
        offsets[dim] = std::move(inner);
      }
  }

  /// The numbers of the base; nothing if an op has no value for its operands,
  /// or no floats.
  std::optional<Tensor> floats() const {
    auto values = evaluateFromConstants(base.getDefiningOp());
    if (failed(values) || !values->front().isFloat())
      return std::nullopt;
    return std::move(values->front());
  }
  /// The same if they are whole numbers of at most 255.
  std::optional<SmallIntegers> integers() const {
    if (!isa<FloatType>(tensorType(base).getElementType()))
      return std::nullopt;
    std::optional<SmallIntegers> result =
        evaluateSmallFromConstants(base.getDefiningOp());
    if (std::optional<Tensor> tensor = result ? std::nullopt : floats())
      result = SmallIntegers::fromTensor(*tensor);
    if (!result)
      return std::nullopt;
    result->tightenBounds();
    if (!IntegerRange{-255, 255}.contains(result->bounds))
      return std::nullopt;
    result->expandSplat();
    return result;
  }
};

/// Scales of a matrix of weights, of blocks along K.
struct Scales {
  Tensor values;
  std::vector<int64_t> alongK, alongN;

  int64_t length() const { return static_cast<int64_t>(alongK.size()); }
  int64_t count() const { return static_cast<int64_t>(alongN.size()); }
  double at(int64_t k, int64_t n) const {
    return values.floats[alongK[k] + alongN[n]];
  }
  /// The largest number of weights along K that always share a scale.
  int64_t block() const {
    int64_t block = length();
    for (int64_t k = 1; k < length(); ++k)
      if (alongK[k] != alongK[k - 1] &&
          llvm::any_of(llvm::seq<int64_t>(0, count()),
                       [&](int64_t n) { return at(k, n) != at(k - 1, n); }))
        block = std::gcd(block, k);
    return block;
  }
};

/// The codes as a constant: CodedWeights::codes.
Value makeCodes(ValueBuilder &b, const WeightIntegers &integers,
                const WeightCodes &codes) {
  auto element = codes.isSigned ? IntegerType::get(b.b.getContext(), 8)
                                : IntegerType::get(b.b.getContext(), 8,
                                                   IntegerType::Unsigned);
  const std::vector<char> bytes = codes.bytesOf(integers);
  const auto size = static_cast<int64_t>(bytes.size());
  auto type =
      RankedTensorType::get({size / integers.count, integers.count}, element);
  auto constant =
      b.b.create<ConstantOp>(b.loc, attrOfBytes(type, bytes, "codes"));
  constant->setAttr(kUnfoldedAttr, b.b.getUnitAttr());
  return constant;
}

/// `numberOf(block, n)` for `blocks` blocks along K and `count` columns.
PerBlock
perBlock(ValueBuilder &b, int64_t blocks, int64_t count, StringRef name,
         llvm::function_ref<double(int64_t block, int64_t n)> numberOf) {
  Tensor numbers(RankedTensorType::get({blocks, count}, b.b.getF32Type()));
  for (int64_t at = 0; at < blocks; ++at)
    for (int64_t n = 0; n < count; ++n)
      numbers.floats[at * count + n] = numberOf(at, n);
  if (llvm::all_equal(numbers.floats))
    return {{}, numbers.floats.front()};
  return {b.make<ConstantOp>(numbers.toAttr(name)), 0};
}

/// `dot` with weights as codes.
Value productOfCodes(DotGeneralOp dot, const WeightIntegers &integers,
                     const Scales &scales, int64_t block) {
  OpBuilder builder(dot);
  ValueBuilder b(builder, dot.getLoc());
  const WeightCodes codes = WeightCodes::choose(integers, block);
  const int64_t blocks = integers.length / block, count = integers.count;
  CodedWeights weights;
  weights.bits = codes.bits;
  weights.block = block;
  weights.codes = makeCodes(b, integers, codes);
  weights.scale =
      perBlock(b, blocks, count, "scales",
               [&](int64_t at, int64_t n) { return scales.at(at * block, n); });
  if (codes.zeros.size() == 1)
    weights.zero.number = codes.zeros.front();
  else if (!codes.zeros.empty())
    weights.zero =
        perBlock(b, blocks, count, "zeros", [&](int64_t at, int64_t n) {
          return codes.zeros[at * count + n];
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
  Factor first(product.getLhs()), second(product.getRhs());
  std::optional<SmallIntegers> integers = first.integers();
  if (!integers) {
    std::swap(first, second);
    integers = first.integers();
  }
  std::optional<Tensor> values = integers ? second.floats() : std::nullopt;
  if (!values) {
    reason = kNotCodes;
    return {};
  }
  // The dimensions of the factors that are K and N.
  const bool isTransposed = transpose && transpose.getPerm().front() == 1;
  const int64_t k = isTransposed ? 1 - contracted : contracted;
  const Scales scales{std::move(*values), second.offsets[k],
                      second.offsets[1 - k]};
  const int64_t block = scales.block();
  if (block < kSmallestBlock) {
    reason = "its blocks are too small: its weights are folded to floats";
    return {};
  }
  return productOfCodes(
      dot,
      WeightIntegers(integers->numbers, first.offsets[k], first.offsets[1 - k]),
      scales, block);
}

} // namespace sinter::passes
