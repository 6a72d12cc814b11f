//===- Checks.h - helpers of verifiers and inference ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to ir/ops. Each check succeeds silently, or reports one line through
// a Report and fails. Arithmetic on sizes never overflows.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_CHECKS_H
#define SINTER_IR_OPS_CHECKS_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// Where errors go: to an op, or to the location for which an inference was
/// requested.
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

/// Checks that 0 <= value < rank; `field` names the attribute in the message.
mlir::LogicalResult checkAxis(const Report &report, llvm::StringRef field,
                              int64_t value, int64_t rank);
/// Checks that `dims` are distinct and in range of `rank`.
mlir::LogicalResult checkDims(const Report &report, llvm::StringRef field,
                              llvm::ArrayRef<int64_t> dims, int64_t rank);
/// Checks that there are `rank` entries, each at least `least`.
mlir::LogicalResult checkList(const Report &report, llvm::StringRef field,
                              llvm::ArrayRef<int64_t> values, int64_t rank,
                              int64_t least);
/// Checks that `value` has the shape `shape`.
mlir::LogicalResult checkShape(const Report &report, llvm::StringRef field,
                               mlir::Value value,
                               llvm::ArrayRef<int64_t> shape);

/// A sliding window along one dimension.
struct Window {
  int64_t size, stride, dilation, low, high;
};
/// The number of positions of `window` along a dimension of `size`. Fails if
/// the window is empty or, dilated, is larger than the padded dimension; `dim`
/// is for the message.
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
