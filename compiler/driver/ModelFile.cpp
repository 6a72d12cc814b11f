//===- ModelFile.cpp - from a file to a module ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/ModelFile.h"

#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// Bytes that an importer sees to recognize its format.
static constexpr uint64_t kHeadBytes = 512;

std::string compiler::modelStem(const Options &options) {
  if (options.model == "-")
    return "model";
  return llvm::sys::path::stem(options.model).str();
}

static ExitCode reportImport(const Options &options,
                             const ImportErrors &errors) {
  for (const std::string &line : errors.warnings())
    llvm::errs() << options.tool << ": warning: " << line << "\n";
  for (const std::string &line : errors.lines())
    llvm::errs() << options.tool << ": error: " << line << "\n";
  return static_cast<ExitCode>(errors.exitCode());
}

static ExitCode unreadable(const Options &options, const llvm::Twine &why) {
  reportError(options, shown(options.model) + ": " + why);
  return kExitUsage;
}

static ImportOptions importOptions(const Options &options,
                                   const CompileState &state) {
  ImportOptions result;
  result.train = options.train.enabled;
  result.isOnlyShown = options.tool == "sinter-inspect";
  result.trainable = options.train.request.trainable;
  result.freeze = options.train.request.freeze;
  result.parameters = options.train.parameters;
  result.freezeBatchNorm = options.train.request.freezeBatchNorm;
  result.allowRewritten = options.train.allowRewritten;
  result.uncheckedIndices = options.uncheckedIndices;
  result.batch = state.batch;
  for (auto &[name, size] : options.dims)
    result.dims[name] = size;
  for (auto &[name, shape] : state.shapes)
    result.shapes[name].assign(shape.begin(), shape.end());
  return result;
}

// The head of a file that can be read without waiting; importers report what is
// wrong with other files.
static std::string headOf(StringRef path) {
  uint64_t size = 0;
  if (!llvm::sys::fs::is_regular_file(path) ||
      llvm::sys::fs::file_size(path, size))
    return "";
  auto slice =
      llvm::MemoryBuffer::getFileSlice(path, std::min(size, kHeadBytes), 0);
  return slice ? (*slice)->getBuffer().str() : "";
}

ExitCode compiler::readModel(const Options &options, SharedModel &model,
                             llvm::ArrayRef<const Importer *> formats) {
  ModelFile file;
  file.path = options.model;
  if (options.model == "-") {
    auto content = llvm::MemoryBuffer::getSTDIN();
    if (!content)
      return unreadable(options, content.getError().message());
    file.content = std::move(*content);
    file.head = file.content->getBuffer().take_front(kHeadBytes).str();
    if (file.head.empty())
      return unreadable(options, "the file is empty");
  } else {
    file.head = headOf(options.model);
  }
  const Importer *importer = findImporter(formats, file);
  if (!importer)
    return unreadable(options, "no importer recognizes its format");
  ImportErrors errors;
  model = importer->read(std::move(file),
                         importOptions(options, CompileState(options)), errors);
  ExitCode code = reportImport(options, errors);
  return code == kExitDone && !model ? kExitFailed : code;
}

ExitCode compiler::importModel(const Options &options,
                               const CompileState &state,
                               const SourceModel &model,
                               mlir::MLIRContext *context,
                               mlir::OwningOpRef<mlir::ModuleOp> &module) {
  ImportErrors errors;
  module = model.import(importOptions(options, state), context, errors);
  ExitCode code = reportImport(options, errors);
  return code == kExitDone && !module ? kExitFailed : code;
}

ExitCode compiler::makeExport(const Options &options, const SourceModel &model,
                              mlir::ModuleOp program,
                              std::vector<ExportPiece> &pieces) {
  ImportErrors errors;
  pieces = model.exportTemplate(program, errors);
  return reportImport(options, errors);
}
