//===- Restoration.h - the parts of restoreParameters -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The steps that RestoreParameters.cpp combines: recurrent layers
// (RestoreRecurrent.cpp), checks (RestoreChecks.cpp), and the steps that need
// the module's own weights (RestoreBatchNorm.cpp, RestoreConstants.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_RESTORATION_H
#define SINTER_COMPILER_IMPORT_ONNX_RESTORATION_H

#include "compiler/import/onnx/GraphEdit.h"
#include "compiler/import/onnx/ParameterFile.h"
#include "compiler/import/onnx/ParameterUses.h"
#include "compiler/import/onnx/TensorReader.h"

#include <set>

namespace sinter::compiler {

/// The state of a restoration in progress.
struct Restoration {
  Restoration(OnnxModel &model, const Signature &signature,
              const ImportOptions &options, ImportErrors &errors);

  /// False, after an error line.
  bool invalid(const std::string &text);
  /// The end of a message: what a user can do about a file that cannot be
  /// restored. `weightsHelp`: giving the module's weights would help.
  std::string advice(bool weightsHelp = true) const;
  /// "node 'name' (Op)".
  std::string where(int node) const;
  /// The bytes of an initializer; nothing after an error line.
  std::optional<TensorData> read(const ::onnx::TensorProto &tensor);
  /// The initializer of the file that has the entry's name; null if there is
  /// none.
  const ::onnx::TensorProto *ownTensor(const SignatureEntry &entry) const;
  /// The placeholders of all entries that the graph has or will have.
  llvm::StringSet<> present() const;
  /// False after an error line, if another value has the entry's name.
  bool checkFree(const SignatureEntry &entry);
  /// Makes the entry an initializer with its value in the parameter file.
  bool addFromFile(const SignatureEntry &entry);

  OnnxModel &model;
  const ::onnx::GraphProto &graph;
  const Signature &signature;
  const ImportOptions &options;
  ImportErrors &errors;
  std::string file; // messages begin with it
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  GraphEdit edit;
  std::vector<bool> live;
  ParameterUses found;
  /// Float initializers.
  llvm::StringMap<const ::onnx::TensorProto *> tensors;
  /// Placeholder -> the initializer under the name of the module.
  llvm::StringMap<const ::onnx::TensorProto *> initializers;
  /// Nodes whose folded BatchNormalization has been restored.
  std::set<int> unfolded;
  /// Some parameters of the module are in no initializer.
  bool hasLost = false;
  /// The module's weights; null if they were not given.
  std::unique_ptr<ParameterFile> parameters;
};

// RestoreChecks.cpp. Each returns false after an error line.

/// Whether the names of inputs are free.
bool checkInputs(Restoration &restoration);
/// Whether the parameter file has the values that were exported.
bool checkParameterFile(Restoration &restoration);
/// Whether each parameter that may train is present, and no remaining constant
/// may depend on one. With --allow-rewritten-parameters this always passes.
bool checkLost(Restoration &restoration);
/// Warns about what PyTorch does in training but the file does not tell.
void warnOfDifferences(Restoration &restoration);

/// Makes packed weights of recurrent layers from the module's.
bool restoreLayers(Restoration &restoration);

/// `bytes`, a row-major tensor of `shape`, with its last two dimensions
/// swapped.
std::string transposed(llvm::ArrayRef<char> bytes,
                       llvm::ArrayRef<int64_t> shape, int64_t width);

/// Uses the parameter file to split BatchNormalizations off the nodes that they
/// were folded into. Nodes that do not fit are left as they are.
bool unfoldBatchNorms(Restoration &restoration);
/// Replaces constants that the exporter computed from a parameter with nodes
/// that compute them, if a parameter of the model or of the parameter file
/// fits. Other constants stay.
bool unfoldConstants(Restoration &restoration);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_RESTORATION_H
