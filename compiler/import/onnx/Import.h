//===- Import.h - ONNX file -> sinter module --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The importer's interface, called by the driver. The result is
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

#include "ir/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

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

/// Errors as lines ready for the user, without a trailing newline.
class ImportErrors {
public:
  void invalid(std::string line) {
    lines_.push_back(std::move(line));
    invalid_ = true;
  }
  void unsupported(std::string line) { lines_.push_back(std::move(line)); }
  /// Reports equal lines only once.
  void warn(std::string line) {
    if (!llvm::is_contained(warnings_, line))
      warnings_.push_back(std::move(line));
  }

  bool empty() const { return lines_.empty(); }
  /// 0 without errors, 2 for unreadable input or wrong options, 3 if all errors
  /// are unsupported operators.
  int exitCode() const { return empty() ? 0 : invalid_ ? 2 : 3; }
  llvm::ArrayRef<std::string> lines() const { return lines_; }
  llvm::ArrayRef<std::string> warnings() const { return warnings_; }

private:
  std::vector<std::string> lines_, warnings_;
  bool invalid_ = false;
};

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

struct ImportOptions {
  /// Initializers become states according to their roles, and
  /// BatchNormalization is imported for training.
  bool train = false;
  /// The module will only be shown: nodes in training mode are imported as for
  /// inference, with a warning.
  bool isOnlyShown = false;
  /// Regular expressions for names of states. If empty, `trainable` means all
  /// and `freeze` means none.
  std::string trainable, freeze;
  /// A safetensors file with the weights of the module that was exported;
  /// empty: none.
  std::string parameters;
  /// BatchNormalization keeps its running statistics.
  bool freezeBatchNorm = false;
  /// Constants that stand for parameters of the module are trained.
  bool allowRewritten = false;
  /// Indices are not checked when the program runs.
  bool uncheckedIndices = false;
  /// The leading dimension of every input of rank >= 1.
  std::optional<int64_t> batch;
  /// Symbolic dimension -> size.
  llvm::StringMap<int64_t> dims;
  /// Input -> its whole shape.
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  /// Of the module; empty: the file's stem.
  std::string name;
  /// Inputs that are known at compile time. They are removed from the signature
  /// of @main. The tensor has the input's type.
  llvm::StringMap<ir::Tensor> constantInputs;
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

/// A graph input as the model declares it.
struct OnnxInput {
  struct Dim {
    std::optional<int64_t> size;
    std::string symbol; // empty: anonymous when `size` is absent, too
  };
  std::string name;
  int32_t dataType;                     // ONNX TensorProto.DataType
  std::optional<std::vector<Dim>> dims; // absent: not even the rank is declared
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

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_IMPORT_H
