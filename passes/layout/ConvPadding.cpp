//===- ConvPadding.cpp - aligned channels for tensor cores ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The engines of a library that use tensor cores read 16 bytes of channels at a
// time. The first convolution of a network for images has three channels, so
// such an engine cannot compute it, nor the gradient of its filter: on an H100,
// cuDNN took 4.5 ms for the gradient of ResNet-50's first filter with 64
// images. With zeros for further channels, both are computed by these engines.
// The padded input is made once, by the kernel that rounds it and moves the
// channels last, and both calls read it.
//
// The estimates assume the GPU of ContractionPadding.cpp, whose other cores
// compute at a sixteenth of the rate of tensor cores in 16 bits.
//
//===----------------------------------------------------------------------===//
#include "passes/layout/ConvPadding.h"
#include "ir/Build.h"
#include "passes/OpClasses.h"
#include "passes/layout/ContractionPadding.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::passes {
namespace {

constexpr double kOtherCoresSlowdown = 16;
/// The bytes that a GPU moves in the time of one more launch.
constexpr double kLaunchBytes = 4e6;

double elementsOf(Value value) {
  return static_cast<double>(ir::tensorType(value).getNumElements());
}
double elementBytes(Value value) {
  return static_cast<double>(
      ir::elementSizeBytes(ir::tensorType(value).getElementType()));
}

/// What `conv` and `conv_filter_grad` have in common.
struct ConvForm {
  explicit ConvForm(Operation *op) {
    if (auto conv = dyn_cast<ir::ConvOp>(op)) {
      input = conv.getInput();
      filter = conv.getFilter();
      output = conv.getResult();
      read(conv);
    } else if (auto grad = dyn_cast<ir::ConvFilterGradOp>(op)) {
      input = grad.getInput();
      filter = grad.getResult();
      output = grad.getOutputGrad();
      read(grad);
    }
  }
  bool isConv() const { return input != nullptr; }
  int64_t channelDim() const {
    return isLast ? ir::tensorType(input).getRank() - 1 : 1;
  }
  int64_t channels() const {
    return ir::tensorType(input).getDimSize(channelDim());
  }
  int64_t filters() const { return ir::tensorType(filter).getDimSize(0); }

  Value input, filter, output;
  bool isLast = false, isTf32 = false;
  int64_t groups = 1;

private:
  template <class Op> void read(Op op) {
    isLast = op.getChannelsLast();
    isTf32 = op.getTf32();
    groups = op.getGroups();
  }
};

/// The channels in 16 bytes if the call may use tensor cores, else 1.
int64_t channelAlignment(Operation *op, bool isTf32) {
  Type element = getElementTypeOrSelf(multiplied(op).first.getType());
  if (element.isF16() || element.isBF16())
    return 8;
  return element.isF32() && isTf32 ? 4 : 1;
}

/// The bytes that are moved to append channels to `value`, of which `grown`
/// times as many bytes are then written: only the new ones if a kernel would
/// otherwise write `value` for its only reader, or if it is constant.
double copyBytes(Value value, double grown) {
  Operation *made = value.getDefiningOp();
  double bytes = elementsOf(value) * elementBytes(value);
  bool isWritten = made && value.hasOneUse() &&
                   isa<ir::CastOp, ir::TransposeOp, ir::ConstantOp>(made);
  auto users =
      static_cast<double>(std::distance(value.user_begin(), value.user_end()));
  return bytes * (isWritten ? grown - 1 : (grown + 1) / users);
}

/// Appends `count` channels of zeros to `stored`, and casts it as `operand`.
Value appendChannels(OpBuilder &builder, Location loc, Value operand,
                     Value stored, int64_t dim, int64_t count) {
  SmallVector<int64_t> high(ir::tensorType(stored).getRank(), 0);
  high[dim] = count;
  return padWithZeros(builder, loc, operand, stored, high);
}

} // namespace

ConvPadding worthwhileConvPadding(Operation *op) {
  ConvForm form(op);
  if (!form.isConv() || form.groups != 1 || elementsOf(form.input) == 0 ||
      elementsOf(form.filter) == 0 || elementsOf(form.output) == 0)
    return {};
  int64_t alignment = channelAlignment(op, form.isTf32),
          channels = form.channels(),
          padded = static_cast<int64_t>(llvm::alignTo(channels, alignment));
  if (padded == channels)
    return {};
  std::string what = std::to_string(channels) + " input channels";
  if (form.filters() % alignment != 0)
    return {0, what + " are not padded for tensor cores, since " +
                   std::to_string(form.filters()) +
                   " output channels do not fit these either"};

  Value input = asStored(form.input);
  double grown = static_cast<double>(padded) / static_cast<double>(channels);
  double products = elementsOf(form.output) * elementsOf(form.filter) /
                    static_cast<double>(form.filters());
  double rate = kMultiplyAddsPerByte * (alignment == 8 ? 1 : 0.5);
  double moved =
      elementBytes(input) * (elementsOf(form.input) + elementsOf(form.filter) +
                             elementsOf(form.output));
  double more = elementBytes(input) * elementsOf(form.input) * (grown - 1);
  // Time is that of the slower one, arithmetic or memory.
  double before =
      std::max(products * kOtherCoresSlowdown / kMultiplyAddsPerByte, moved);
  double after = std::max(products * grown / rate, moved + more) +
                 copyBytes(input, grown) + kLaunchBytes;
  auto text = [](double bytes) {
    return std::to_string(static_cast<int64_t>(bytes));
  };
  std::string compared = "without tensor cores it takes the time of moving " +
                         text(before) + " bytes, padded to " +
                         std::to_string(padded) + " with its copies that of " +
                         text(after);
  if (before <= after)
    return {0, what + " are not padded for tensor cores: " + compared};
  return {padded - channels,
          what + " are padded with zeros for tensor cores: " + compared};
}

void padConv(Operation *op, int64_t channels) {
  ConvForm form(op);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto [a, b] = multiplied(op);
  IRMapping padded;
  padded.map(form.input, appendChannels(builder, loc, form.input, a,
                                        form.channelDim(), channels));
  if (isa<ir::ConvOp>(op)) {
    padded.map(form.filter,
               appendChannels(builder, loc, form.filter, b, 1, channels));
    op->replaceAllUsesWith(builder.clone(*op, padded));
    op->erase();
    return;
  }
  Operation *grad = builder.clone(*op, padded);
  RankedTensorType type = ir::tensorType(form.filter);
  SmallVector<int64_t> shape(type.getShape());
  shape[1] += channels;
  grad->getResult(0).setType(type.clone(shape));
  replaceByPart(builder, op, grad->getResult(0));
}

} // namespace sinter::passes
