//===- RemarkFile.h - the decisions of the passes, in a file ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_REMARKFILE_H
#define SINTER_COMPILER_DRIVER_REMARKFILE_H

#include "compiler/options/CompileState.h"
#include "ir/Remarks.h"
#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sinter::compiler {

/// Collects remarks for --remarks and -v. Only the file has the details.
class RemarkFile {
public:
  RemarkFile(const Options &options, const CompileState &state);

  /// Whether the options ask for remarks, and for details.
  bool isWanted() const { return wantsDetails() || isPrinted_; }
  bool wantsDetails() const { return !path_.empty(); }
  void take(const ir::Remark &remark);

  /// Writes the remarks to the file of --remarks, as one JSON object a line
  /// (pass, kind, nodes, text, count; of a pair, also the other's nodes), and
  /// with -v to `os` as text. Returns what went wrong, "" if nothing.
  std::string write(llvm::raw_ostream &os);

private:
  std::string tool_, path_; // of the file; "": none
  bool isPrinted_;
  std::string lines_, text_;
};

/// Remarks for each target of `devices` what makes machine code of its text, or
/// why nothing does.
void remarkAssemblers(mlir::ModuleOp module,
                      llvm::ArrayRef<passes::ProgramDevice> devices);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_REMARKFILE_H
