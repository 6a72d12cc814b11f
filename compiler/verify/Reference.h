//===- Reference.h - results with their bounds ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_REFERENCE_H
#define SINTER_COMPILER_VERIFY_REFERENCE_H

#include "compiler/verify/ProgramValues.h"

namespace sinter::compiler {

/// A tensor in float64 and how far each element may be off.
struct Bounded {
  ir::Tensor value;
  /// Absolute, one for each element; infinite where rounding alone decides the
  /// result.
  std::vector<double> allowed;

  /// The bounds that follow from the results of evaluations with noise: eight
  /// times what the element changed by, plus the largest change of any element,
  /// plus eight roundings of the element.
  static Bounded of(ir::Tensor value, llvm::ArrayRef<ir::Tensor> noisy);
};

/// The element that exceeds its bound by most.
struct Difference {
  double ratio = 0; // error / bound; above 1: too much
  int64_t index = 0;
  double value = 0, reference = 0, bound = 0;

  /// "element [0, 3] is 0.5 instead of 0.25, bound 1e-07".
  std::string text(llvm::ArrayRef<int64_t> shape) const;
};

/// Compares with the numbers in row-major order; of other shapes only the
/// number of elements must agree. NaN equals NaN, an infinity itself. A value
/// that is not finite where the reference is exceeds every bound.
Difference compare(const ir::Tensor &value, const Bounded &reference);

/// What a program is compared with.
class Reference {
public:
  /// Evaluates the program several times. Fails with an error.
  static mlir::FailureOr<Reference> measure(mlir::ModuleOp module,
                                            ProgramInputs &inputs);
  /// Takes the larger bounds of the two.
  void widen(const Reference &other);

  struct Mismatch {
    std::string name; // of the result
    Difference difference;
    bool isMissing = false;
    std::vector<int64_t> shape;
  };
  /// The result that exceeds its bound by most, of those that the reference
  /// has; its ratio is 0 if all are equal.
  Mismatch worst(const ProgramResults &results) const;

  const std::map<std::string, Bounded> &results() const { return results_; }

private:
  std::map<std::string, Bounded> results_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_REFERENCE_H
