//===- Layouts.cpp - values that may be channels-last ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Those of ops that are not elementwise.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Kernel.h"

using namespace mlir;
using namespace sinter::ir;

/// The first operand and the result, if the result has channels.
static CarriedLayout carryFirst(Value result) {
  return hasChannels(result) ? CarriedLayout{{0}, true} : CarriedLayout();
}

CarriedLayout ConvOp::getCarriedLayout() {
  return getChannelsLast() ? CarriedLayout() : CarriedLayout{{0}, true};
}
CarriedLayout ConvInputGradOp::getCarriedLayout() {
  return getChannelsLast() ? CarriedLayout() : CarriedLayout{{0}, true};
}
CarriedLayout ConvFilterGradOp::getCarriedLayout() {
  return getChannelsLast() ? CarriedLayout() : CarriedLayout{{0, 1}, false};
}

CarriedLayout ConstantOp::getCarriedLayout() {
  return {{}, hasChannels(getResult()) && isSplatConstant(*this)};
}
CarriedLayout BroadcastOp::getCarriedLayout() {
  return {{}, hasChannels(getResult())};
}
CarriedLayout PadOp::getCarriedLayout() { return carryFirst(getResult()); }
CarriedLayout SliceOp::getCarriedLayout() { return carryFirst(getResult()); }
CarriedLayout ReverseOp::getCarriedLayout() { return carryFirst(getResult()); }
CarriedLayout GatherOp::getCarriedLayout() {
  return tensorType(getIndices()).getRank() == 1 ? carryFirst(getResult())
                                                 : CarriedLayout();
}

CarriedLayout ReduceOp::getCarriedLayout() {
  return hasChannels(getX()) ? CarriedLayout{{0}, false} : CarriedLayout();
}

/// The order of the elements of a window decides which of equal ones is the
/// first maximum, so windows over channels keep their layout.
static bool slidesOverChannels(ArrayRef<int64_t> window) {
  return window.size() > 1 && window[1] != 1;
}
CarriedLayout ReduceWindowOp::getCarriedLayout() {
  return slidesOverChannels(getWindow()) ? CarriedLayout() : carryAll(*this);
}
CarriedLayout ReduceWindowGradOp::getCarriedLayout() {
  return slidesOverChannels(getWindow()) ? CarriedLayout() : carryAll(*this);
}
