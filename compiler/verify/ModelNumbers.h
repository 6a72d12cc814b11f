//===- ModelNumbers.h - the numbers of two models ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_MODELNUMBERS_H
#define SINTER_COMPILER_VERIFY_MODELNUMBERS_H

#include "compiler/verify/Culprit.h"
#include "compiler/verify/Reference.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// How two models differ on the same inputs.
struct NumericDifference {
  struct Result {
    std::string name;    // "output 'y' of main", as in A
    std::string problem; // why it cannot be compared: "is only in A"; or ""
    Difference difference = {};
    std::vector<int64_t> shape = {};
    /// The largest error, relative to the largest magnitude in A.
    double error = 0;

    bool isSame() const { return problem.empty() && difference.ratio <= 1; }
  };
  std::vector<Result> results;
  /// The ops of B with which the differences begin. Empty if nothing differs,
  /// or only by a few roundings.
  std::vector<Culprit> begins;

  bool empty() const;
};

/// Evaluates both models in float64 on the same inputs and compares the
/// results. The bounds are what rounding every op of A to its type may change
/// (Reference). Inputs and results have the same name in both; if some have
/// not, and these are as many in both, they follow their order. Inputs that
/// `given` does not have are made up. `namesInA`: of nodes of B that have
/// another one in A. The modules may be of two contexts.
/// Fails with `problem`, or with an error on one of the modules.
mlir::FailureOr<NumericDifference>
compareNumbers(mlir::ModuleOp a, mlir::ModuleOp b, const GivenArrays &given,
               std::map<std::string, std::string> namesInA,
               std::string &problem);

/// `all`: also the ends of long lists.
void printDifference(const NumericDifference &difference, bool all,
                     llvm::raw_ostream &os);
llvm::json::Object differenceJson(const NumericDifference &difference);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_MODELNUMBERS_H
