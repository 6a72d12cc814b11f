//===- Diagnostics.h - one clear line per mistake ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Turns MLIR's diagnostics into the lines that users see: "sinterc: error:
// mnist.onnx: node 'conv1': ...". Prints no IR, and escapes names from model
// files.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_DIAGNOSTICS_H
#define SINTER_COMPILER_DRIVER_DIAGNOSTICS_H

#include "compiler/options/CompileState.h"

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <string>
#include <vector>

namespace sinter::compiler {

/// Prints the diagnostics of a context to stderr during its lifetime.
class DiagnosticPrinter {
public:
  /// Remarks are printed with -v, warnings always.
  DiagnosticPrinter(mlir::MLIRContext *context, const Options &options,
                    const CompileState &state);

  /// Holds back all lines from now on, and drops those held back before: the
  /// driver calls it before each try of runWithinLimit().
  void hold();
  /// Prints the lines held back; later lines are printed at once again.
  void release();
  /// The stream that lines go to.
  llvm::raw_ostream &out() {
    if (isHeld_)
      return held_;
    return llvm::errs();
  }

  /// Holds back errors until settle(): only the end of a phase shows whether
  /// the model or the compiler caused them.
  void collect() { isCollecting_ = true; }
  /// The first error that is held back; "" if there is none.
  std::string firstError();
  /// Prints the errors held back: as they are or, given a phase, as one line
  /// that reports a defect of Sinter in it.
  void settle(llvm::StringRef defectOf = "");

private:
  void print(mlir::Diagnostic &diagnostic);
  void printLine(llvm::StringRef kind, const std::string &line);

  const Options &options_;
  const CompileState &state_;
  std::mutex mutex_; // passes run on several threads
  unsigned numErrors_ = 0;
  bool isHeld_ = false, isCollecting_ = false;
  struct Error {
    std::string place, message;
  };
  std::vector<Error> errors_; // held back
  std::string heldLines_;
  llvm::raw_string_ostream held_{heldLines_};
  mlir::ScopedDiagnosticHandler handler_;
};

/// Prints "TOOL: error: MESSAGE".
void reportError(const Options &options, const llvm::Twine &message);
/// The same, unless the compilation is a trial.
void reportError(const Options &options, const CompileState &state,
                 const llvm::Twine &message);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_DIAGNOSTICS_H
