//===- Import.h - ONNX file -> sinter module --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The importer of ONNX, which the rest of the compiler sees as an Importer
// (compiler/import/Importer.h). The result is
//
//   module @NAME attributes {sinter.model = "NAME"} {
//     sinter.state @"fc.weight" : tensor<..> {..}        (with `train`)
//     func.func @main(%x {sinter.input = "x"}.., %w {sinter.state =
//     @"fc.weight"}..)
//         -> (.. {sinter.output = "y"}..)
//   }
//
// of static shapes; every op's location names the ONNX node that it came from.
// For any bytes, the importer returns a module or error lines. It never
// crashes, and its time and memory are bounded by the size of the model.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_IMPORT_H
#define SINTER_COMPILER_IMPORT_ONNX_IMPORT_H

#include "compiler/import/Importer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class AttributeProto;
class FunctionProto;
class ModelProto;
} // namespace onnx

namespace sinter::compiler {

/// What training does with an initializer, and why.
struct InitializerRole {
  enum class Kind {
    Parameter, // trained, unless the options say otherwise
    Buffer,    // state that no gradient changes
    Constant,
  };
  Kind kind = Kind::Constant;
  std::string reason;
  /// Other names of the same tensor.
  std::vector<std::string> aliases;
  /// For a table: the padding row, which gets no gradient.
  std::optional<int64_t> paddingRow = std::nullopt;
};

/// A parsed model. Once it is shared it is immutable: constants of imported
/// modules refer to its bytes and keep it alive.
class OnnxModel {
public:
  /// `proto` was parsed without error; `directoryFd` (owned; -1: none) is the
  /// folder of external data.
  OnnxModel(std::unique_ptr<::onnx::ModelProto> proto, std::string path,
            int directoryFd);
  ~OnnxModel();
  OnnxModel(const OnnxModel &) = delete;
  OnnxModel &operator=(const OnnxModel &) = delete;

  const ::onnx::ModelProto &proto() const { return *proto_; }
  ::onnx::ModelProto &mutableProto() { return *proto_; }
  /// As the user gave it; messages begin with it.
  llvm::StringRef path() const { return path_; }
  int directoryFd() const { return directoryFd_; }
  /// The attributes of `function` that have a default for calls that omit them.
  std::vector<const ::onnx::AttributeProto *>
  defaultsOf(const ::onnx::FunctionProto &function) const;
  /// Reads fields that the generated classes lack. False after an error line.
  bool readNewerFields(ImportErrors &errors);

  /// What training does with each float initializer; filled by
  /// restoreParameters.
  llvm::StringMap<InitializerRole> roles;
  /// Names that --freeze may match besides those of states: constants that the
  /// exporter computed, and parameters of the module that the file lacks.
  std::vector<std::string> held;

private:
  std::unique_ptr<::onnx::ModelProto> proto_;
  std::string path_;
  int directoryFd_;
  /// By functionKey.
  llvm::StringMap<std::vector<std::unique_ptr<::onnx::AttributeProto>>>
      functionDefaults_;
};

/// Reads a regular file of at most 2 GiB. Null with an error line if it cannot
/// be read or is not an ONNX model.
std::shared_ptr<OnnxModel> loadOnnxFile(llvm::StringRef path,
                                        ImportErrors &errors);
/// The same from memory; `bytes` are copied. External data is not available.
std::shared_ptr<OnnxModel> loadOnnxBytes(llvm::ArrayRef<char> bytes,
                                         llvm::StringRef name,
                                         ImportErrors &errors);

/// Prepares a model for import with `train`: decides the role of each
/// initializer and, as far as the file tells, undoes the exporter's changes to
/// parameters. False after error lines.
bool restoreParameters(OnnxModel &model, const ImportOptions &options,
                       ImportErrors &errors);

/// A graph input, with its type.
struct OnnxInput : ModelInput {
  int32_t dataType = 0; // ONNX TensorProto.DataType
};
/// The inputs that a caller must feed (initializers are not among them); empty
/// for a model without a graph. Inputs that are not tensors are left out.
std::vector<OnnxInput> onnxInputs(const OnnxModel &model);

/// Null after error lines in `errors`.
mlir::OwningOpRef<mlir::ModuleOp>
importOnnx(std::shared_ptr<const OnnxModel> model, const ImportOptions &options,
           mlir::MLIRContext *context, ImportErrors &errors);
mlir::OwningOpRef<mlir::ModuleOp> importOnnxFile(llvm::StringRef path,
                                                 const ImportOptions &options,
                                                 mlir::MLIRContext *context,
                                                 ImportErrors &errors);

/// The format's entry in compiler/import/Importers.cpp.
const Importer &onnxImporter();

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_IMPORT_H
