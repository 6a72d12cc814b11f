//===- Restoration.h - the parts of restoreParameters -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What RestoreParameters.cpp puts together: recurrent layers
// (RestoreRecurrent.cpp), and what needs the module's own weights
// (RestoreFolded.cpp).
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

/// A restoration while it goes on.
struct Restoration {
  Restoration(OnnxModel &model, const Signature &signature,
              const ImportOptions &options, ImportErrors &errors);

  /// False, after an error line.
  bool invalid(const std::string &text);
  /// What a user can do about a file that cannot be restored, as the end of a
  /// message. `weightsHelp`: the module's weights tell what is missing.
  std::string advice(bool weightsHelp = true) const;
  /// "node 'name' (Op)".
  std::string where(int node) const;
  /// The bytes of an initializer; nothing after an error line.
  std::optional<TensorData> read(const ::onnx::TensorProto &tensor);
  /// The initializer of the file that has the entry's name; null if there is
  /// none.
  const ::onnx::TensorProto *ownTensor(const SignatureEntry &entry) const;
  /// The placeholders of all entries that the graph has, or will have.
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
  std::string file; // as messages begin
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  GraphEdit edit;
  std::vector<bool> live;
  ParameterUses found;
  /// Float initializers.
  llvm::StringMap<const ::onnx::TensorProto *> tensors;
  /// Placeholder -> the initializer under the name of the module.
  llvm::StringMap<const ::onnx::TensorProto *> initializers;
  /// Nodes whose BatchNormalization is one again.
  std::set<int> unfolded;
  /// Parameters of the module are in no initializer.
  bool hasLost = false;
  /// The module's weights; null if they were not given.
  std::unique_ptr<ParameterFile> parameters;
};

// RestoreChecks.cpp. Each gives false after an error line.

/// Whether the names of inputs are free.
bool checkInputs(Restoration &restoration);
/// Whether the parameter file has the values that were exported.
bool checkParameterFile(Restoration &restoration);
/// Whether each parameter that may train is there, and no constant is left that
/// may depend on one. With --allow-rewritten-parameters this is always so.
bool checkLost(Restoration &restoration);
/// Warns of what PyTorch does in training and the file does not say.
void warnOfDifferences(Restoration &restoration);

/// Makes packed weights of recurrent layers from the module's.
bool restoreLayers(Restoration &restoration);

/// `bytes`, a row-major tensor of `shape`, with its last two dimensions
/// swapped.
std::string transposed(llvm::ArrayRef<char> bytes,
                       llvm::ArrayRef<int64_t> shape, int64_t width);

/// With the parameter file: takes BatchNormalizations out of the nodes that
/// they were folded into. Nodes that do not fit are left as they are.
bool unfoldBatchNorms(Restoration &restoration);
/// Makes constants that the exporter computed of a parameter from it again,
/// where one of the model or of the parameter file fits. Others stay.
bool unfoldConstants(Restoration &restoration);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_RESTORATION_H
