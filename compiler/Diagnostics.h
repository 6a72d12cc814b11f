//===- Diagnostics.h - one clear line per mistake ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Turns MLIR's diagnostics into the lines that users see: "sinterc: error:
// mnist.onnx: node 'conv1': ...". No IR is printed, names from model files are
// made harmless.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DIAGNOSTICS_H
#define SINTER_COMPILER_DIAGNOSTICS_H

#include "compiler/Options.h"

#include "mlir/IR/Diagnostics.h"

#include <mutex>

namespace sinter::compiler {

/// While it lives, prints the diagnostics of a context to stderr.
class DiagnosticPrinter {
public:
  /// Remarks are printed with -v, warnings always.
  DiagnosticPrinter(mlir::MLIRContext *context, const Options &options);

  /// Number of errors printed or held back because there were too many.
  unsigned numErrors() const { return numErrors_; }

private:
  void print(mlir::Diagnostic &diagnostic);

  const Options &options_;
  std::mutex mutex_; // passes run on several threads
  unsigned numErrors_ = 0;
  mlir::ScopedDiagnosticHandler handler_;
};

/// Prints "TOOL: error: MESSAGE".
void reportError(const Options &options, const llvm::Twine &message);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DIAGNOSTICS_H
