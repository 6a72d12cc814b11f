//===- NarrowConvolution.cpp - convolve quantised values as integers ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called by NarrowProducts, which has the formula. The zero point and the scale
// of the input must be the same for all its elements; those of the filter may
// differ from filter to filter. The input is padded with its zero point, so
// that a window at the border has the correction of every other window. The sum
// of the filter's codes folds if it is constant. Only a filter with a zero
// point needs the sum of each window: a convolution with ones.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/QuantizedPostOps.h"
#include "passes/simplify/QuantizedValue.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

class ConvNarrowing {
public:
  explicit ConvNarrowing(ConvOp conv)
      : conv(conv), builder(conv), b(builder, conv.getLoc()), reader(b) {}

  Value run(StringRef &reason);

private:
  /// The dimensions of an operand along which its zero point and scale may not
  /// vary.
  SmallVector<int64_t> sharedDims(bool isInput) {
    Value operand = isInput ? conv.getInput() : conv.getFilter();
    return dimRange(isInput ? 0 : 1, tensorType(operand).getRank());
  }
  Value kept(Value part, bool isInput) {
    return part ? reader.withoutDims(part, sharedDims(isInput)) : Value();
  }
  bool hasPadding() {
    auto isPositive = [](int64_t pad) { return pad > 0; };
    return llvm::any_of(conv.getPadsLow(), isPositive) ||
           llvm::any_of(conv.getPadsHigh(), isPositive);
  }
  int64_t channelDim() {
    return conv.getChannelsLast() ? conv.getType().getRank() - 1 : 1;
  }
  /// A value for each filter, in the shape of the result.
  Value spread(Value perFilter) {
    return b.broadcast(perFilter, conv.getType().getShape(), {channelDim()});
  }
  Value codeOf(Value zero, Type code);
  Value padded(Value codes, Value zero);
  Value convOf(Value input, Value filter, bool isPadded);
  Value windowSums(Value input, bool isPadded);

  ConvOp conv;
  OpBuilder builder;
  ValueBuilder b;
  QuantizedReader reader;
};

} // namespace

/// The zero point `zero`, an int32 scalar, as one of the codes; null if it may
/// not be one.
Value ConvNarrowing::codeOf(Value zero, Type code) {
  if (Value narrow = widenedBytes(zero))
    return tensorType(narrow).getElementType() == code ? narrow : Value();
  DenseIntElementsAttr number;
  if (!matchPattern(zero, m_Constant(&number)))
    return {};
  const int64_t value = (*number.begin()).getSExtValue();
  const bool isUnsigned = code.isUnsignedInteger();
  if (value < (isUnsigned ? 0 : -128) || value > (isUnsigned ? 255 : 127))
    return {};
  return b.splat(withElement(tensorType(zero), code),
                 static_cast<double>(value));
}

/// `codes` with the padding of the convolution around them.
Value ConvNarrowing::padded(Value codes, Value zero) {
  const int64_t rank = tensorType(codes).getRank(),
                first = conv.getChannelsLast() ? 1 : 2;
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  llvm::copy(conv.getPadsLow(), low.begin() + first);
  llvm::copy(conv.getPadsHigh(), high.begin() + first);
  return b.make<PadOp>(codes, zero, low, high, SmallVector<int64_t>(rank, 0));
}

/// The convolution of int32 operands. `isPadded`: the input has its padding.
Value ConvNarrowing::convOf(Value input, Value filter, bool isPadded) {
  SmallVector<int64_t> none(conv.getPadsLow().size(), 0);
  return b.make<ConvOp>(input, filter, conv.getStrides(), conv.getDilations(),
                        isPadded ? ArrayRef<int64_t>(none) : conv.getPadsLow(),
                        isPadded ? ArrayRef<int64_t>(none) : conv.getPadsHigh(),
                        conv.getGroups(), conv.getChannelsLast(),
                        /*tf32=*/false);
}

/// The sum of the codes in each window, in the shape of the result.
Value ConvNarrowing::windowSums(Value input, bool isPadded) {
  const int64_t groups = conv.getGroups(),
                filters = conv.getFilter().getType().getDimSize(0),
                channel = channelDim();
  SmallVector<int64_t> shape(conv.getFilter().getType().getShape());
  shape[0] = groups;
  Type code = IntegerType::get(conv.getContext(), 8);
  Value ones = b.cast(b.splat(RankedTensorType::get(shape, code), 1),
                      builder.getI32Type());
  Value sums = convOf(input, ones, isPadded);
  // One for each group -> one for each filter.
  SmallVector<int64_t> whole(conv.getType().getShape()), apart(whole), dims;
  apart[channel] = groups;
  apart.insert(apart.begin() + channel + 1, filters / groups);
  for (int64_t dim = 0, rank = whole.size(); dim < rank; ++dim)
    dims.push_back(dim + (dim > channel));
  return b.reshape(b.broadcast(sums, apart, dims), whole);
}

Value ConvNarrowing::run(StringRef &reason) {
  const bool isFloat = conv.getType().getElementType().isF32();
  if (isFloat && !hasByteWindow(conv)) {
    reason = "8-bit convolutions have two dimensions, and no groups or one "
             "filter for each channel";
    return {};
  }
  std::optional<Quantized> input = reader.read(conv.getInput()),
                           filter = input ? reader.read(conv.getFilter())
                                          : std::nullopt;
  if (!filter) {
    reason = "an operand is not quantised to 8 bits";
    return {};
  }
  RankedTensorType filterType = conv.getFilter().getType();
  const double terms = filterType.getDimSize(0) == 0
                           ? 0
                           : static_cast<double>(filterType.getNumElements() /
                                                 filterType.getDimSize(0));
  if (isFloat && !sumsFit(*input, *filter, terms)) {
    reason = "the sums may exceed 32 bits";
    return {};
  }
  Value zeroA = kept(input->zero, true), zeroB = kept(filter->zero, false),
        scaleA = kept(input->scale, true), scaleB = kept(filter->scale, false);
  if (bool(zeroA) != bool(input->zero) || bool(zeroB) != bool(filter->zero) ||
      bool(scaleA) != isFloat || bool(scaleB) != isFloat) {
    reason = "a zero point or scale varies along the elements of a window";
    return {};
  }
  Value codes = input->codes;
  const bool isPadded = zeroA && hasPadding();
  if (isPadded) {
    Value zero = codeOf(zeroA, tensorType(codes).getElementType());
    if (!zero) {
      reason = "the padding is none of the 8-bit values";
      return {};
    }
    codes = padded(codes, zero);
  }
  Value x = b.cast(codes, builder.getI32Type()),
        w = b.cast(filter->codes, builder.getI32Type()),
        sum = convOf(x, w, isPadded);
  auto perFilter = [&](Value scalar) {
    return b.broadcast(scalar, {filterType.getDimSize(0)}, {});
  };
  if (zeroA) {
    Value sumB = b.sum(w, sharedDims(false));
    if (zeroB)
      sumB = b.sub(sumB, b.mul(zeroB, terms));
    sum = b.add(sum, spread(b.neg(b.mul(perFilter(zeroA), sumB))));
  }
  if (zeroB)
    sum = b.sub(sum, b.mul(spread(zeroB), windowSums(x, isPadded)));
  return isFloat ? b.mul(b.cast(sum, conv.getType().getElementType()),
                         spread(b.mul(perFilter(scaleA), scaleB)))
                 : sum;
}

Value narrowConvolution(ConvOp conv, StringRef &reason) {
  return ConvNarrowing(conv).run(reason);
}

} // namespace sinter::passes
