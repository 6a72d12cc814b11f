//===- NumericCheck.h - the numbers of every phase --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Evaluates the program after each phase with ir/eval and compares the results
// with those of the imported program; of a trainer, from the train phase on,
// with those of the program that BuildTraining made, whose gradients are
// compared with finite differences first. If a phase changes a result by more
// than its bound, the phase is run again on the module from before it, and the
// program is evaluated after each pass; then the pass is run with fewer and
// fewer applications of its patterns.
//
// Called by `sinterc --verify=numeric` and `sinter-inspect bisect`.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_NUMERICCHECK_H
#define SINTER_COMPILER_VERIFY_NUMERICCHECK_H

#include "compiler/Phases.h"
#include "compiler/verify/Culprit.h"
#include "compiler/verify/Finding.h"
#include "compiler/verify/Reference.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>

namespace sinter::compiler {

/// What makes a program wrong. Fields that are not known are empty.
struct NumericFinding {
  std::string phase;
  std::string pass = {};      // "simplify-algebra"
  std::string pattern = {};   // of the application that changes the result
  std::string patternAt = {}; // op and nodes that it was applied to
  Culprit culprit = {};
  std::string result =
      {}; // the result of the program that differs most, and how

  FindingFields fields() const;
  /// All fields that are known, in one line.
  std::string line() const;
};

class NumericCheck {
public:
  /// `given` must outlive the check.
  NumericCheck(const Options &options, const GivenArrays &given)
      : options_(options), given_(given) {}

  /// After a phase, before the next one changes the module. kExitMismatch: see
  /// finding(). Other failures are reported.
  ExitCode after(const Phase &phase, mlir::ModuleOp module,
                 const PhaseContext &context);

  const std::optional<NumericFinding> &finding() const { return finding_; }
  /// The largest error so far, in bounds, and the phase after which it was.
  double largestRatio() const { return largest_; }
  const std::string &largestAfter() const { return largestAfter_; }
  /// The number of phases whose results were compared.
  int numCompared() const { return numCompared_; }
  /// The number of gradient rules that were compared with finite differences.
  int numGradients() const { return numGradients_; }
  /// Parts of a training step that are taken as the train phase builds them.
  const std::vector<std::string> &notChecked() const { return notChecked_; }
  ProgramInputs &inputs() { return *inputs_; }
  /// Whether an input of the program was not given.
  bool hasMadeUpInputs() const {
    return inputs_->inputArrays().size() > given_.size();
  }
  /// The program after the precision phase; null if that did not change it.
  mlir::ModuleOp rounded() { return rounded_ ? *rounded_ : nullptr; }

private:
  ExitCode begin(mlir::ModuleOp module, int64_t accumulate);
  ExitCode checkTraining(const Phase &phase, mlir::ModuleOp module,
                         const PhaseContext &context);
  ExitCode compareWith(const Phase &phase, mlir::ModuleOp module,
                       const PhaseContext &context);
  ExitCode refuse(mlir::ModuleOp module, const llvm::Twine &text);
  /// The first pass of the phase after which a result differs.
  ExitCode locate(const Phase &phase, const PhaseContext &context);
  void note(double ratio, llvm::StringRef phase);

  const Options &options_;
  const GivenArrays &given_;
  std::optional<ProgramInputs> inputs_;
  std::optional<Reference> reference_;
  mlir::OwningOpRef<mlir::ModuleOp> last_; // after the phase before
  mlir::OwningOpRef<mlir::ModuleOp> rounded_;
  std::optional<NumericFinding> finding_;
  double largest_ = 0;
  std::string largestAfter_;
  std::vector<std::string> notChecked_;
  int numCompared_ = 0, numGradients_ = 0;
};

/// --verify=numeric as Compilation::afterPhase: reports the first difference in
/// one line.
std::function<ExitCode(const Phase &, mlir::ModuleOp, const PhaseContext &)>
verifyNumbers(const Options &options);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_NUMERICCHECK_H
