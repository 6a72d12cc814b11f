//===- GraphReport.h - a module as a drawing --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_GRAPHREPORT_H
#define SINTER_COMPILER_INSPECT_GRAPHREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

enum class GraphForm {
  Dot,  // for Graphviz
  Json, // {"functions": [{"name", "nodes": [{"id", "op", "type", "names",
        // "operands"}]}]}
};

/// The ops of every function of `module`, with the edges between them.
void printGraph(mlir::ModuleOp module, GraphForm form, llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_GRAPHREPORT_H
