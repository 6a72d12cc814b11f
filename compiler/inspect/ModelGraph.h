//===- ModelGraph.h - a module as a graph to match --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_MODELGRAPH_H
#define SINTER_COMPILER_INSPECT_MODELGRAPH_H

#include "compiler/inspect/GraphMatch.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinOps.h"

#include <utility>

namespace sinter::compiler {

/// What `MatchGraph` does not have of each node, by its number.
struct ModelNode {
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string dtype;        // of the first result: "f32"
  mlir::ElementsAttr value; // of a constant or state, or null
  bool isWeight = false;    // a constant or state
};

struct ModelGraph {
  MatchGraph graph;
  std::vector<ModelNode> details;
};

/// The ops of all functions before the phase `plan`, their arguments ("input",
/// "state", "control") and their results ("output"). Refers to `module`.
ModelGraph modelGraph(mlir::ModuleOp module);

/// The bytes of `value` in memory; one element of a value whose elements are
/// all equal.
llvm::ArrayRef<char> bytesOf(mlir::ElementsAttr value);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_MODELGRAPH_H
