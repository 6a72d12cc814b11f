//===- Checks.h - what verifiers and shape inference share ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to ir/ops. Each check reports one line through a Report and fails,
// or succeeds silently. Arithmetic on sizes never overflows.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_CHECKS_H
#define SINTER_IR_OPS_CHECKS_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// Where errors go: at an op, or at the location an inference was asked for.
class Report {
public:
  explicit Report(mlir::Operation *op)
      : loc_(op->getLoc()), name_(op->getName().getStringRef()) {}
  Report(std::optional<mlir::Location> loc, llvm::StringRef opName)
      : loc_(loc), name_(opName) {}

  /// Emits "'name' op " and the arguments; always fails.
  template <class... Args>
  mlir::LogicalResult operator()(Args &&...args) const {
    return mlir::emitOptionalError(loc_, "'", name_, "' op ",
                                   std::forward<Args>(args)...);
  }

private:
  std::optional<mlir::Location> loc_;
  llvm::StringRef name_;
};

/// 0 <= value < rank; `field` names the attribute in the message.
mlir::LogicalResult checkAxis(const Report &report, llvm::StringRef field,
                              int64_t value, int64_t rank);
/// Distinct and in range of `rank`.
mlir::LogicalResult checkDims(const Report &report, llvm::StringRef field,
                              llvm::ArrayRef<int64_t> dims, int64_t rank);
/// `rank` entries, each at least `least`.
mlir::LogicalResult checkList(const Report &report, llvm::StringRef field,
                              llvm::ArrayRef<int64_t> values, int64_t rank,
                              int64_t least);
/// `value` has the shape `shape`.
mlir::LogicalResult checkShape(const Report &report, llvm::StringRef field,
                               mlir::Value value,
                               llvm::ArrayRef<int64_t> shape);

/// A sliding window along one dimension.
struct Window {
  int64_t size, stride, dilation, low, high;
};
/// Number of positions of `window` along a dimension of `size`. Fails where the
/// window is empty or, dilated, is larger than the padded dimension; `dim` is
/// for the message.
mlir::FailureOr<int64_t> countWindows(const Report &report, int64_t dim,
                                      int64_t size, Window window);

/// "2x3x8", or "scalar".
std::string shapeString(llvm::ArrayRef<int64_t> shape);

/// `type` with another shape.
inline mlir::RankedTensorType withShapeOf(mlir::Type type,
                                          llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(
      shape, mlir::cast<mlir::RankedTensorType>(type).getElementType());
}

} // namespace sinter::ir

#endif // SINTER_IR_OPS_CHECKS_H
