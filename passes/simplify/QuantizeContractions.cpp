//===- QuantizeContractions.cpp - contractions in 8 bits ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Post-training quantisation. The input of a contraction is rounded to unsigned
// codes of 8 bits with one scale and zero point for the whole tensor; zero has
// a code of its own, so padding and the results of relu stay exact. The
// weights, which must be constant, are rounded to codes from -127 to 127 with
// one scale for each output channel: the largest magnitude over 127. Values are
// written as (codes - zero point) * scale; NarrowProducts multiplies the codes.
// Contractions without a range stay float32. For inference only: codes have no
// gradient. The decisions, with one reason per op, become an attribute of the
// module.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/QuantizeContractions.h"
#include "ir/QuantizedForm.h"
#include "ir/Remarks.h"
#include "ir/Tensor.h"
#include "passes/Failure.h"
#include "passes/Passes.h"
#include "passes/precision/PrecisionReport.h"
#include "passes/simplify/QuantizableOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_QUANTIZECONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

constexpr StringLiteral kPass = "quantize-contractions";

/// Dimensions of the weights of `op` that each have scales of their own: those
/// that are not summed over.
SmallVector<int64_t> channelDims(Operation *op, unsigned weights) {
  auto dot = dyn_cast<DotGeneralOp>(op);
  if (!dot)
    return {0}; // filters are output channels first
  ArrayRef<int64_t> summed =
      weights == 0 ? dot.getLhsContract() : dot.getRhsContract();
  SmallVector<int64_t> kept;
  for (int64_t i = 0, rank = tensorType(op->getOperand(weights)).getRank();
       i < rank; ++i)
    if (!llvm::is_contained(summed, i))
      kept.push_back(i);
  return kept;
}

/// One of two equal values is merged later.
Value quantizedInput(OpBuilder &builder, Location loc, Value x, double low,
                     double high) {
  CodeScale code = unsignedScale(low, high);
  RankedTensorType type = tensorType(x);
  auto u8 = IntegerType::get(type.getContext(), 8, IntegerType::Unsigned);
  Value scale = splat(builder, loc, type, code.scale),
        zero = splat(builder, loc, withElement(type, u8),
                     static_cast<double>(code.zeroPoint));
  return ir::dequantize(builder, loc,
                        ir::quantize(builder, loc, x, scale, zero, u8), scale,
                        zero);
}

/// Calls `use` with the position of each element of `tensor` and that of its
/// scale. `strides` are those of the scales; 0 for other dimensions.
void forEachElement(const Tensor &tensor, ArrayRef<int64_t> strides,
                    llvm::function_ref<void(int64_t, int64_t)> use) {
  SmallVector<int64_t> index(tensor.rank(), 0);
  int64_t scale = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    use(i, scale);
    for (int64_t dim = tensor.rank() - 1; dim >= 0; --dim) {
      scale += strides[dim];
      if (++index[dim] < tensor.shape()[dim])
        break;
      scale -= strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
}

/// `channels` are the dimensions of `weights` that have scales of their own.
Value quantizedWeights(OpBuilder &builder, Location loc, Value weights,
                       ArrayRef<int64_t> channels) {
  if (auto transpose = weights.getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> before;
    for (int64_t dim : channels)
      before.push_back(transpose.getPerm()[dim]);
    llvm::sort(before);
    return transposeTo(builder, loc,
                       quantizedWeights(builder, loc, transpose.getX(), before),
                       transpose.getPerm());
  }
  auto constant = weights.getDefiningOp<ConstantOp>();
  Tensor numbers = *Tensor::fromAttr(cast<ElementsAttr>(constant.getValue()));
  SmallVector<int64_t> sizes, strides(numbers.rank(), 0);
  for (int64_t dim : channels)
    sizes.push_back(numbers.shape()[dim]);
  for (auto [dim, stride] : llvm::zip_equal(channels, rowMajorStrides(sizes)))
    strides[dim] = stride;
  Tensor scales(RankedTensorType::get(sizes, builder.getF32Type()));
  Tensor codes(withElement(numbers.type(), builder.getIntegerType(8)));
  forEachElement(numbers, strides, [&](int64_t i, int64_t at) {
    scales.floats[at] =
        std::max(scales.floats[at], std::abs(numbers.floats[i]));
  });
  for (double &scale : scales.floats)
    scale = signedScale(scale).scale;
  forEachElement(numbers, strides, [&](int64_t i, int64_t at) {
    codes.ints[i] = signedCode(static_cast<float>(numbers.floats[i]),
                               {static_cast<float>(scales.floats[at]), 0});
  });
  auto constantOf = [&](const Tensor &tensor, StringRef name) {
    return builder.create<ConstantOp>(loc, tensor.toAttr(name));
  };
  return ir::dequantize(builder, loc, constantOf(codes, "codes"),
                        broadcastInDim(builder, loc,
                                       constantOf(scales, "scales"),
                                       numbers.shape(), channels),
                        Value());
}

} // namespace

void quantizeContraction(const QuantizableOp &found, double low, double high) {
  Operation *op = found.op;
  OpBuilder builder(op);
  const unsigned weights = 1 - found.input;
  op->setOperand(found.input,
                 quantizedInput(builder, op->getLoc(),
                                op->getOperand(found.input), low, high));
  op->setOperand(weights, quantizedWeights(builder, op->getLoc(),
                                           op->getOperand(weights),
                                           channelDims(op, weights)));
}

namespace {

class QuantizeContractions
    : public impl::QuantizeContractionsBase<QuantizeContractions> {
public:
  QuantizeContractions() = default;
  explicit QuantizeContractions(const QuantizeSettings &settings)
      : settings(settings) {}

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  /// Fills `ranges` from the settings or the command line.
  LogicalResult readRanges(ModuleOp module) {
    ranges.clear();
    for (const QuantizeRange &range : settings.ranges)
      ranges[range.key] = {range.low, range.high};
    for (StringRef item : rangeList()) {
      auto [key, bounds] = item.rsplit('=');
      auto [low, high] = bounds.split(':');
      double least = 0, greatest = 0;
      if (low.getAsDouble(least) || high.getAsDouble(greatest) ||
          !(least <= greatest))
        return emitFailure(module, kUsageFailure)
               << "ranges: expected OP=LOW:HIGH, not " << item;
      ranges[key] = {least, greatest};
    }
    return success();
  }
  SmallVector<StringRef> rangeList() {
    SmallVector<StringRef> list;
    for (const std::string &item : Base::ranges)
      list.push_back(item);
    return list;
  }

  LogicalResult run(ModuleOp module) {
    if (failed(readRanges(module)))
      return failure();
    llvm::StringMap<StringRef> kept;
    for (const auto &[key, reason] : settings.kept)
      kept[key] = reason;
    std::string pattern = keepFp32.empty() ? settings.keepFp32 : keepFp32;
    std::vector<PrecisionEntry> entries;
    for (auto function : module.getOps<func::FuncOp>()) {
      llvm::DenseMap<Operation *, size_t> entryOf;
      for (auto &[op, entry] : precisionOps(function)) {
        entryOf[op] = entries.size();
        entry.reason = "only contractions are quantised";
        entries.push_back(std::move(entry));
      }
      for (const QuantizableOp &found : quantizableOps(function, pattern)) {
        auto at = entryOf.find(found.op);
        if (at == entryOf.end())
          continue;
        PrecisionEntry &entry = entries[at->second];
        auto range = ranges.find(entry.key());
        entry.reason = found.reason;
        if (found.reason.empty() && kept.contains(entry.key()))
          entry.reason = kept[entry.key()];
        else if (found.reason.empty() && range == ranges.end())
          entry.reason = "calibration has no range of its input";
        if (!entry.reason.empty() || range == ranges.end()) {
          remark(kPass, "kept", found.op->getLoc(), entry.reason);
          ranges.erase(entry.key());
          continue;
        }
        auto [low, high] = range->second;
        entry.precision = "int8";
        entry.range = {low, high};
        entry.reason =
            llvm::formatv("its input is rounded to 8 bits in [{0}, {1}], its "
                          "weights per output channel",
                          low, high);
        remark(kPass, "quantized", found.op->getLoc(), entry.reason);
        quantizeContraction(found, low, high);
        ranges.erase(range);
      }
    }
    if (!ranges.empty())
      return emitFailure(module, kUsageFailure)
             << "the ranges name '" << ranges.begin()->first()
             << "', which is not a contraction of this program";
    setPrecisionReport(module, entries);
    return success();
  }

  using Base = impl::QuantizeContractionsBase<QuantizeContractions>;
  QuantizeSettings settings;
  llvm::StringMap<std::pair<double, double>> ranges; // by key
};

} // namespace

std::unique_ptr<Pass> createQuantizeContractions() {
  return std::make_unique<QuantizeContractions>();
}

std::unique_ptr<Pass>
createQuantizeContractions(const QuantizeSettings &settings) {
  return std::make_unique<QuantizeContractions>(settings);
}

} // namespace sinter::passes
