//===- Lints.h - what -W warns about ----------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The table of warnings. -W is checked against it, --help and the docs print
// it, and it names the phase after which each lint runs. A lint never changes
// the program, and its findings point at nodes of the model.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_LINT_LINTS_H
#define SINTER_COMPILER_LINT_LINTS_H

#include "compiler/options/CompileState.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// What a lint may look at.
struct LintContext {
  const Options &options;
  const CompileState &state;
  mlir::ModuleOp module; // after the lint's phase
  bool isForGpu = false; // the default device is a GPU
};

/// Called for each thing found.
using LintReport =
    llvm::function_ref<void(mlir::Location, const llvm::Twine &)>;

struct Lint {
  const char *name;    // "dead-gradient"
  const char *meaning; // one line
  const char *phase;   // runs after this phase
  bool isDefault;      // on without any -W
  void (*find)(const LintContext &context, LintReport report);
};

llvm::ArrayRef<Lint> lintTable();

/// Reads a -W value: NAME, "no-NAME" or "error=NAME", where NAME is a lint's
/// name or "all". Returns "" on success, else what is wrong.
std::string readWarning(llvm::StringRef value, Options &options);

/// Collects the findings of lints until they are printed.
class LintLog {
public:
  void clear() { findings.clear(); }
  /// Runs the lints of `phase` that `context.options` enable.
  void look(llvm::StringRef phase, const LintContext &context);
  /// Prints each finding once, as a warning or an error; false if there is an
  /// error.
  bool print(const Options &options) const;

private:
  struct Finding {
    const Lint *lint;
    mlir::Location location;
    std::string text;
  };
  std::vector<Finding> findings;
};

// GraphLints.cpp
void findInferenceNodes(const LintContext &context, LintReport report);
void findFrozenBatchNorm(const LintContext &context, LintReport report);
void findNoFastConvolution(const LintContext &context, LintReport report);
void findMissingBatchNorm(const LintContext &context, LintReport report);
void findTiedParameters(const LintContext &context, LintReport report);
void findSummedLoss(const LintContext &context, LintReport report);
void findDeadParameters(const LintContext &context, LintReport report);
void findLikelyBuffers(const LintContext &context, LintReport report);
void findBatchStatistics(const LintContext &context, LintReport report);
// DeviceLints.cpp
void findHostSyncs(const LintContext &context, LintReport report);
void findUnalignedProducts(const LintContext &context, LintReport report);
// RangeLint.cpp
void findNarrowRanges(const LintContext &context, LintReport report);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_LINT_LINTS_H
