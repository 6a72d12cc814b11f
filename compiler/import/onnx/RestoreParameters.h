//===- RestoreParameters.h - which parameters are trained -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Decides, before the import, what training does with each initializer. What
// the author of the model calls a parameter is trained, under the author's name
// and in the author's layout. If the exporter recorded its changes, the graph
// is rewritten: its initializers become the parameters and buffers of the
// module again, and nodes compute the constants that were folded from them. If
// that is impossible, an error names the missing parameter.
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

/// Whether the options allow a state of this name to train. Looks only at the
/// name.
bool mayTrain(const ImportOptions &options, llvm::StringRef name);
/// Whether `--freeze` names it.
bool isFrozen(const ImportOptions &options, llvm::StringRef name);
/// Whether `--trainable` names it.
bool isAskedFor(const ImportOptions &options, llvm::StringRef name);

/// "'a', 'b' and 3 more".
std::string listedNames(const std::vector<std::string> &names);
/// Whether an ONNX data type is a float type that states can have.
bool isFloatData(int32_t dataType);
/// Maps an initializer to the outputs of live Identity nodes that read it.
/// Exporters that merge equal initializers keep the other names this way.
std::map<std::string, std::vector<std::string>>
initializerCopies(const ::onnx::GraphProto &graph, llvm::ArrayRef<bool> live);

/// Evidence in the values that a tensor is not a parameter; empty if none.
struct ValueCheck {
  std::string mask;     // certainly not a parameter
  std::string computed; // probably not a parameter
  bool areEqual = true;
  bool isMask = false; // `mask`, and all its other values are equal
};

ValueCheck checkValues(const TensorData &data);

/// Assigns roles to the initializers of a model without an exporter's signature
/// according to their uses. Does not change the graph.
void assignRolesByUse(OnnxModel &model, const ImportOptions &options,
                      ImportErrors &errors);

/// Makes Dropouts of random masks that the exporter wrote out as comparisons of
/// random numbers.
void restoreDropout(OnnxModel &model);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_RESTOREPARAMETERS_H
