//===- Diagnostics.h - one clear line per mistake ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Turns MLIR's diagnostics into the lines that users see: "sinterc: error:
// mnist.onnx: node 'conv1': ...". No IR is printed, names from model files are
// made harmless.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_DIAGNOSTICS_H
#define SINTER_COMPILER_DRIVER_DIAGNOSTICS_H

#include "compiler/options/Options.h"

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <string>
#include <vector>

namespace sinter::compiler {

/// While it lives, prints the diagnostics of a context to stderr.
class DiagnosticPrinter {
public:
  /// Remarks are printed with -v, warnings always.
  DiagnosticPrinter(mlir::MLIRContext *context, const Options &options);

  /// Keeps lines back from now on, and forgets those kept back before: another
  /// program is tried in place of theirs.
  void hold();
  /// Prints what is kept back; what comes next is printed at once again.
  void release();
  /// Where lines go meanwhile.
  llvm::raw_ostream &out() {
    if (isHeld_)
      return held_;
    return llvm::errs();
  }

  /// Keeps errors back until settle(): only when a phase has ended it is known
  /// whose fault they are.
  void collect() { isCollecting_ = true; }
  /// The first message that is kept back; "" when there is none.
  std::string firstError();
  /// Prints what is kept back: as it is or, given a phase, as one line about a
  /// defect of Sinter in it.
  void settle(llvm::StringRef defectOf = "");

private:
  void print(mlir::Diagnostic &diagnostic);
  void printLine(llvm::StringRef kind, const std::string &line);

  const Options &options_;
  std::mutex mutex_; // passes run on several threads
  unsigned numErrors_ = 0;
  bool isHeld_ = false, isCollecting_ = false;
  struct Error {
    std::string place, message;
  };
  std::vector<Error> errors_; // kept back
  std::string heldLines_;
  llvm::raw_string_ostream held_{heldLines_};
  mlir::ScopedDiagnosticHandler handler_;
};

/// Prints "TOOL: error: MESSAGE".
void reportError(const Options &options, const llvm::Twine &message);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_DIAGNOSTICS_H
