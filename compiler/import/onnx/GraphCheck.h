//===- GraphCheck.h - is the model well-formed? -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The checks before anything is built: names are unique and defined before use
// in every graph, subgraph and function; operator sets are known; functions do
// not recurse and are of bounded size when inlined. The importer relies on all
// of it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_GRAPHCHECK_H
#define SINTER_COMPILER_IMPORT_ONNX_GRAPHCHECK_H

#include "compiler/import/onnx/Import.h"

namespace onnx {
class FunctionProto;
class GraphProto;
class NodeProto;
} // namespace onnx

namespace sinter::compiler {

using Opsets = llvm::StringMap<int64_t>;

/// The facts about a model that the check collects.
struct ModelIndex {
  /// Domain ("" for ONNX's own) -> version.
  Opsets opsets;
  /// functionKey -> function.
  llvm::StringMap<const ::onnx::FunctionProto *> functions;
};

/// "" for ONNX's own domain under either of its names.
llvm::StringRef canonicalDomain(llvm::StringRef domain);
std::string functionKey(llvm::StringRef domain, llvm::StringRef name);
/// The node's name, or "<OpType>_<index>".
std::string nodeLabel(const ::onnx::NodeProto &node, size_t index);

/// False after an error line. `path` begins every line.
bool checkModel(const OnnxModel &model, ModelIndex &index,
                ImportErrors &errors);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_GRAPHCHECK_H
