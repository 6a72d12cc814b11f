//===- Random.cpp - decompositions of counter-based randomness ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"

using namespace mlir;
using namespace sinter::ir;

namespace {
/// Arithmetic on 32-bit words held in tensors of ui64, whose products hold both
/// halves.
class Words {
public:
  Words(Compute &c) : c_(c) {}

  Value low(Value x) { return c_.make<AndOp>(x, c_.constant(x, 0xFFFFFFFF)); }
  Value high(Value x) { return c_.make<ShiftRightOp>(x, c_.constant(x, 32)); }
  Value mixed(Value a, Value b, Value c) {
    return c_.make<XorOp>(c_.make<XorOp>(a, b), c);
  }
  Value times(Value x, uint32_t factor) { return c_.mul(x, factor); }
  Value plus(Value x, uint32_t term) { return low(c_.add(x, term)); }

private:
  Compute &c_;
};
} // namespace

/// The row-major index of each element of a tensor of `type`.
static Value elementNumbers(Compute &c, RankedTensorType type) {
  Value numbers;
  int64_t stride = 1;
  for (int64_t axis = type.getRank(); axis-- > 0;) {
    int64_t size = type.getDimSize(axis);
    if (size == 1)
      continue;
    Value along = c.b.create<IotaOp>(c.loc, type, axis);
    Value offset = stride == 1 ? along : c.mul(along, stride);
    numbers = numbers ? c.add(numbers, offset) : offset;
    stride *= size;
  }
  return numbers ? numbers : splat(c.b, c.loc, type, 0);
}

/// The first word of Philox4x32-10, as `evaluate` defines it, for the counter
/// (index, step, opId) and the key `seed`. `index` is ui64; `isWord` says that
/// it is below 2^32. The others are scalars of ui64.
static Value philox(Compute &c, Value index, bool isWord, Value seed,
                    Value step, uint32_t opId) {
  Words words(c);
  Value counter[4] = {isWord ? index : words.low(index),
                      isWord ? c.constant(index, 0) : words.high(index),
                      c.fill(words.low(step), index), c.constant(index, opId)};
  Value key[2] = {words.low(seed), words.high(seed)};
  for (int round = 0; round < 10; ++round) {
    Value left = words.times(counter[0], 0xD2511F53),
          right = words.times(counter[2], 0xCD9E8D57);
    counter[0] =
        words.mixed(words.high(right), counter[1], c.fill(key[0], index));
    counter[2] =
        words.mixed(words.high(left), counter[3], c.fill(key[1], index));
    counter[1] = words.low(right);
    counter[3] = words.low(left);
    key[0] = words.plus(key[0], 0x9E3779B9);
    key[1] = words.plus(key[1], 0xBB67AE85);
  }
  return counter[0];
}

SmallVector<Value> DropoutOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  Value x = c.load(getX());
  RankedTensorType type = tensorType(x);
  Type word = c.b.getIntegerType(64, /*isSigned=*/false);
  Value index = elementNumbers(c, type.clone(word));
  if (getFirst())
    index = c.add(index, c.fill(castTo(c.b, c.loc, getFirst(), word), index));
  bool isWord = !getFirst() && type.getNumElements() <= int64_t(1) << 32;
  Value drawn = philox(c, index, isWord, castTo(c.b, c.loc, getSeed(), word),
                       castTo(c.b, c.loc, getStep(), word),
                       static_cast<uint32_t>(getOpId()));
  Value threshold = c.constant(drawn, static_cast<double>(getThreshold()));
  Value isKept = c.compare(CompareKind::ge, drawn, threshold);
  double kept = 1 - getRatio().convertToDouble();
  Value scaled = c.div(x, c.constant(x, kept));
  return {c.store(c.where(isKept, scaled, c.constant(x, 0)))};
}
