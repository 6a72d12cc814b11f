//===- PrecisionReport.h - the precision of each op, and why ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The decisions of AssignPrecision and QuantizeContractions, as an attribute of
// the module. Read by the manifest, `--save-precision-plan` and `sinter-inspect
// precision`.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PRECISION_PRECISIONREPORT_H
#define SINTER_PASSES_PRECISION_PRECISIONREPORT_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::passes {

struct PrecisionEntry {
  std::string function, node, op; // "step", "conv1", "conv_filter_grad"
  int64_t number = 0; // among the ops with the same function, node and op name
  std::string precision; // of operands (contractions) or of the stored result
  std::string reason;
  double products = 0; // multiply-adds of a contraction
  /// Of int8: the least and the greatest number that the codes of its input
  /// stand for.
  std::optional<std::pair<double, double>> range;

  /// The name of the op in a plan: "step/conv1/conv_filter_grad/0".
  std::string key() const;
};

/// An entry for each op of `function` with a float32 result, as fp32 and
/// without a reason.
std::vector<std::pair<mlir::Operation *, PrecisionEntry>>
precisionOps(mlir::func::FuncOp function);

/// Multiply-adds of a contraction; 0 for any other op.
double countMultiplyAdds(mlir::Operation *op);

/// The share of the multiply-adds of `entries` whose operands have 16 bits,
/// from 0 to 1; 1 if there are no multiply-adds.
double sixteenBitShare(llvm::ArrayRef<PrecisionEntry> entries);
/// The same for operands of 8 bits.
double eightBitShare(llvm::ArrayRef<PrecisionEntry> entries);

inline constexpr llvm::StringLiteral kPrecisionAttr = "sinter.precision";
void setPrecisionReport(mlir::ModuleOp module,
                        llvm::ArrayRef<PrecisionEntry> entries);
std::vector<PrecisionEntry> precisionReport(mlir::ModuleOp module);

} // namespace sinter::passes

#endif // SINTER_PASSES_PRECISION_PRECISIONREPORT_H
