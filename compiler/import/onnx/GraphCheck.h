//===- GraphCheck.h - is the model one graph in order? ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What must hold before anything is built: names unique and defined before use
// in every graph, subgraph and function; operator sets known; functions free of
// recursion and of bounded size once inlined. The importer relies on all of it.
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

/// What the check learns about a model.
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
