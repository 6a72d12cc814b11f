//===- OnnxImporter.cpp - ONNX as an input format -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ExportTemplate.h"
#include "compiler/import/onnx/Import.h"
#include "compiler/import/onnx/ReducibleOnnx.h"

using namespace sinter::compiler;

namespace {

class OnnxSource : public SourceModel {
public:
  explicit OnnxSource(std::shared_ptr<const OnnxModel> model)
      : model_(std::move(model)) {}

  mlir::OwningOpRef<mlir::ModuleOp>
  import(const ImportOptions &options, mlir::MLIRContext *context,
         ImportErrors &errors) const override {
    return importOnnx(model_, options, context, errors);
  }
  std::vector<ModelInput> inputs() const override {
    std::vector<ModelInput> inputs;
    for (OnnxInput &input : onnxInputs(*model_))
      inputs.push_back(std::move(input));
    return inputs;
  }
  llvm::ArrayRef<std::string> heldNames() const override {
    return model_->held;
  }
  std::vector<ExportPiece> exportTemplate(mlir::ModuleOp program,
                                          ImportErrors &errors) const override {
    return makeExportTemplate(*model_, program, errors);
  }

private:
  std::shared_ptr<const OnnxModel> model_;
};

class OnnxImporter : public Importer {
public:
  llvm::StringRef name() const override { return "ONNX"; }

  // Anything may be a protobuf. Reading it says what is wrong.
  bool recognizes(const ModelFile &) const override { return true; }

  SharedModel read(ModelFile file, const ImportOptions &options,
                   ImportErrors &errors) const override {
    std::shared_ptr<OnnxModel> model;
    if (file.content) {
      llvm::StringRef bytes = file.content->getBuffer();
      model = loadOnnxBytes({bytes.data(), bytes.size()}, file.path, errors);
    } else {
      model = loadOnnxFile(file.path, errors);
    }
    if (!model ||
        (options.train && !restoreParameters(*model, options, errors)))
      return nullptr;
    return std::make_shared<OnnxSource>(std::move(model));
  }

  std::unique_ptr<ReducibleModel>
  readReducible(ModelFile file, ImportErrors &errors) const override {
    if (file.isStdin()) {
      errors.invalid(file.path + ": a model to be reduced must be a file");
      return nullptr;
    }
    std::shared_ptr<OnnxModel> model = loadOnnxFile(file.path, errors);
    return model ? makeReducible(*model, errors) : nullptr;
  }
};

} // namespace

const Importer &sinter::compiler::onnxImporter() {
  static const OnnxImporter importer;
  return importer;
}
