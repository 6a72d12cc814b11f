//===- Import.h - ONNX file -> sinter module --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The importer's door, called by the driver. The result is
//
//   module @NAME attributes {sinter.model = "NAME"} {
//     sinter.state @"fc.weight" : tensor<..> {..}        (with `train`)
//     func.func @main(%x {sinter.input = "x"}.., %w {sinter.state =
//     @"fc.weight"}..)
//         -> (.. {sinter.output = "y"}..)
//   }
//
// of static shapes; every op's location names the ONNX node that it came from.
// Whatever the bytes of the model are, the importer ends in a module or in
// error lines: it never crashes, and its time and memory are bounded by the
// size of the model.
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

/// What went wrong, one line each, ready for the user (without a trailing
/// newline).
class ImportErrors {
public:
  void invalid(std::string line) {
    lines_.push_back(std::move(line));
    invalid_ = true;
  }
  void unsupported(std::string line) { lines_.push_back(std::move(line)); }
  /// Once for equal lines.
  void warn(std::string line) {
    if (!llvm::is_contained(warnings_, line))
      warnings_.push_back(std::move(line));
  }

  bool empty() const { return lines_.empty(); }
  /// 0 without errors, 2 for unreadable input or wrong options, 3 when
  /// everything that is wrong is an unsupported operator.
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
  /// Of a table: the row that stands for nothing and gets no gradient.
  std::optional<int64_t> paddingRow = std::nullopt;
};

struct ImportOptions {
  /// Initializers become state as their roles say, BatchNormalization is
  /// imported for training.
  bool train = false;
  /// Nothing will run: what is in training mode is imported as in inference,
  /// with a warning.
  bool isOnlyShown = false;
  /// Expressions over the names of states; empty: all, and none.
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
  /// Inputs that are known at compile time: they leave the signature of @main.
  /// The tensor's type is the input's.
  llvm::StringMap<ir::Tensor> constantInputs;
};

/// A parsed model. Once it is shared it is immutable: constants of imported
/// modules refer to its bytes and keep it alive.
class OnnxModel {
public:
  /// `proto` was parsed without error; `directoryFd` (owned; -1: none) is where
  /// external data lies.
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
  /// The attributes that have a value where a call of `function` gives none.
  std::vector<const ::onnx::AttributeProto *>
  defaultsOf(const ::onnx::FunctionProto &function) const;
  /// Reads what the generated classes do not know. False after an error line.
  bool readNewerFields(ImportErrors &errors);

  /// What training does with each float initializer; filled by
  /// restoreParameters.
  llvm::StringMap<InitializerRole> roles;
  /// Names other than those of states that --freeze may match: constants that
  /// the exporter computed, parameters of the module that the file lacks.
  std::vector<std::string> held;

private:
  std::unique_ptr<::onnx::ModelProto> proto_;
  std::string path_;
  int directoryFd_;
  /// By functionKey.
  llvm::StringMap<std::vector<std::unique_ptr<::onnx::AttributeProto>>>
      functionDefaults_;
};

/// Reads a regular file of at most 2 GiB. Null with an error line when it
/// cannot be read or is no ONNX model.
std::shared_ptr<OnnxModel> loadOnnxFile(llvm::StringRef path,
                                        ImportErrors &errors);
/// The same from memory; `bytes` are copied. External data is not available.
std::shared_ptr<OnnxModel> loadOnnxBytes(llvm::ArrayRef<char> bytes,
                                         llvm::StringRef name,
                                         ImportErrors &errors);

/// Before a model is imported for training: decides what each initializer is
/// and undoes what the exporter did to parameters, where the file tells. False
/// after error lines.
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
/// for a model without a graph. Inputs that are no tensors are left out.
std::vector<OnnxInput> onnxInputs(const OnnxModel &model);

/// Null when `errors` got a line.
mlir::OwningOpRef<mlir::ModuleOp>
importOnnx(std::shared_ptr<const OnnxModel> model, const ImportOptions &options,
           mlir::MLIRContext *context, ImportErrors &errors);
mlir::OwningOpRef<mlir::ModuleOp> importOnnxFile(llvm::StringRef path,
                                                 const ImportOptions &options,
                                                 mlir::MLIRContext *context,
                                                 ImportErrors &errors);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_IMPORT_H
