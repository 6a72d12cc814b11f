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
  /// The module's weights; null if they were not given.
  std::unique_ptr<ParameterFile> parameters;
};

/// What a user can do about a file that cannot be restored.
extern const char *const kRestoreAdvice;

/// Makes packed weights of recurrent layers from the module's.
bool restoreLayers(Restoration &restoration);

/// With the parameter file: takes BatchNormalizations out of the nodes that
/// they were folded into. Nodes that do not fit are left as they are.
bool unfoldBatchNorms(Restoration &restoration);
/// Makes constants that only move elements of a parameter from it, where one
/// parameter fits, of the model or of the parameter file. Others stay.
bool unfoldConstants(Restoration &restoration);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_RESTORATION_H
