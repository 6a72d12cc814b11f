//===- ParameterFile.h - a module's own weights -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The file given with --parameters: the state_dict of the exported module in
// the safetensors format. The importer uses it to undo an exporter's folding.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_PARAMETERFILE_H
#define SINTER_COMPILER_IMPORT_ONNX_PARAMETERFILE_H

#include "compiler/import/SafetensorsFile.h"

#include <memory>
#include <string>

namespace sinter::compiler {

class ParameterFile {
public:
  struct Tensor {
    int32_t dataType; // ONNX TensorProto.DataType
    llvm::SmallVector<int64_t> shape;
    llvm::ArrayRef<char> bytes; // in the file
  };

  /// Null, with a reason in `why`, for a file that cannot be read or is not a
  /// safetensors file. Tensors of types that are not floats are left out.
  static std::unique_ptr<ParameterFile> open(llvm::StringRef path,
                                             std::string &why);

  llvm::StringRef path() const { return path_; }
  /// Null for a name that the file does not have.
  const Tensor *find(llvm::StringRef name) const;
  /// Whether the file's metadata says that the two are one tensor.
  /// safetensors.torch.save_model writes this and leaves out one of them.
  bool areShared(llvm::StringRef a, llvm::StringRef b) const;

private:
  bool addShared(std::string &why);

  std::string path_;
  SafetensorsFile file_;
  llvm::StringMap<Tensor> tensors_;
  llvm::StringMap<std::string> shared_; // name -> name of the same tensor
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_PARAMETERFILE_H
