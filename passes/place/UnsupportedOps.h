//===- UnsupportedOps.h - ops that targets do not support -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_UNSUPPORTEDOPS_H
#define SINTER_PASSES_PLACE_UNSUPPORTEDOPS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::passes::place {

/// Collects unsupported ops, each with the reason and the nodes that need it,
/// for one error that lists them all.
class UnsupportedOps {
public:
  /// `what` names the op and, in parentheses, the reason if there is one.
  void add(llvm::StringRef target, const std::string &what,
           mlir::Operation *op);
  bool empty() const { return byTarget.empty(); }
  /// Emits the error. `mayAllowCpu`: it mentions that nodes could go to the
  /// CPU.
  void report(mlir::ModuleOp module, bool mayAllowCpu) const;

private:
  using Nodes = std::vector<std::string>; // in the order of the program
  using Ops =
      llvm::MapVector<std::string, Nodes, std::map<std::string, unsigned>>;
  llvm::MapVector<llvm::StringRef, Ops> byTarget;
};

/// "NAME (REASON)", or the name alone.
std::string unsupportedText(mlir::Operation *op, llvm::StringRef reason);

} // namespace sinter::passes::place

#endif // SINTER_PASSES_PLACE_UNSUPPORTEDOPS_H
