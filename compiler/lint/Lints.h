//===- Lints.h - what -W warns about ----------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One table of warnings: it reads -W, is printed by --help and by the docs, and
// says after which phase each one looks at the program. A lint never changes
// anything, and points at ONNX nodes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_LINT_LINTS_H
#define SINTER_COMPILER_LINT_LINTS_H

#include "compiler/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// What a lint may look at.
struct LintContext {
  const Options &options;
  mlir::ModuleOp module; // after the lint's phase
  bool isForGpu = false; // the default device is one
};

/// Called for each thing found.
using LintReport =
    llvm::function_ref<void(mlir::Location, const llvm::Twine &)>;

struct Lint {
  const char *name;    // "dead-gradient"
  const char *meaning; // one line
  const char *phase;   // after which it looks
  bool isDefault;      // without any -W, too
  void (*find)(const LintContext &context, LintReport report);
};

llvm::ArrayRef<Lint> lintTable();

/// Reads NAME, "no-NAME" or "error=NAME" of -W, where a NAME is a lint's or
/// "all"; gives what is wrong, "" if nothing.
std::string readWarning(llvm::StringRef value, Options &options);

/// What lints found, until it is printed.
class LintLog {
public:
  void clear() { findings.clear(); }
  /// Runs the lints of `phase` that `context.options` ask for.
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
