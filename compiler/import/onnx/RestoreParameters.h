//===- RestoreParameters.h - what of a model is trained ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What training does with an initializer is decided here, before the import:
// what the author of the model calls a parameter is trained, under the author's
// name and in the author's layout. Where an exporter says what it changed, the
// graph is rewritten so that its initializers are the parameters and buffers
// of the module again, and what was folded into others is computed by nodes.
// What cannot be restored is an error that says which parameter is missing.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_RESTOREPARAMETERS_H
#define SINTER_COMPILER_IMPORT_ONNX_RESTOREPARAMETERS_H

#include "compiler/import/onnx/TensorReader.h"

#include <map>

namespace onnx {
class GraphProto;
} // namespace onnx

namespace sinter::compiler {

/// Whether the options ask to train a state of this name, as far as a name
/// tells.
bool mayTrain(const ImportOptions &options, llvm::StringRef name);
/// Whether `--freeze` names it.
bool isFrozen(const ImportOptions &options, llvm::StringRef name);
/// Whether `--trainable` names it.
bool isAskedFor(const ImportOptions &options, llvm::StringRef name);

/// "'a', 'b' and 3 more".
std::string listedNames(const std::vector<std::string> &names);
/// Whether an ONNX data type is one of floats that states have.
bool isFloatData(int32_t dataType);
/// Initializer -> outputs of live Identity nodes of it. Exporters merge
/// initializers of equal values and keep the others' names so.
std::map<std::string, std::vector<std::string>>
initializerCopies(const ::onnx::GraphProto &graph, llvm::ArrayRef<bool> live);

/// What the values say against a parameter; empty if they say nothing.
struct ValueCheck {
  std::string mask;     // surely none
  std::string computed; // probably none
  bool areEqual = true;
  bool isMask = false; // `mask`, and all its other values are equal
};

ValueCheck checkValues(const TensorData &data);

/// The roles of the initializers of a model whose exporter wrote no signature,
/// by what they are used for. The graph stays as it is.
void assignRolesByUse(OnnxModel &model, const ImportOptions &options,
                      ImportErrors &errors);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_RESTOREPARAMETERS_H
