//===- ModelFile.cpp - from a file to a module ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/ModelFile.h"

#include "compiler/base/Process.h"
#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/PhaseFile.h"
#include "ir/Dialect.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// Files with brackets nested deeper than this are refused: the parser recurses
// on them.
static constexpr unsigned kMaxNesting = 256;
// Memory that reading the smallest file may take.
static constexpr uint64_t kSlackBytes = uint64_t(1) << 30;

static bool isBytecode(StringRef bytes) { return bytes.starts_with("ML\xefR"); }

// Text has no control characters except white space; a protobuf has some at its
// beginning.
static bool isText(StringRef bytes) {
  return llvm::all_of(bytes.take_front(512), [](unsigned char c) {
    return c >= ' ' || c == '\n' || c == '\t' || c == '\r';
  });
}

namespace {
// Finds brackets that are nested too deeply, and long runs of minus signs,
// without recursion. It knows only as much of the syntax as it needs to skip
// strings and comments.
class NestingCheck {
public:
  explicit NestingCheck(StringRef text) : text_(text) {}

  /// The line of the first excess, 0 if there is none.
  size_t excessLine() {
    while (position_ < text_.size()) {
      char c = text_[position_];
      if (c == '"')
        skipString();
      else if (text_.substr(position_).starts_with("//"))
        position_ = std::min(text_.find('\n', position_), text_.size());
      else if (!step(c))
        return 1 + text_.take_front(position_).count('\n');
      else
        ++position_;
    }
    return 0;
  }

private:
  bool step(char c) {
    char before = position_ ? text_[position_ - 1] : ' ';
    char after = position_ + 1 < text_.size() ? text_[position_ + 1] : ' ';
    if (c == '(' || c == '[' || c == '{' || (c == '<' && after != '='))
      ++depth_;
    bool closes = c == ')' || c == ']' || c == '}' ||
                  (c == '>' && before != '-' && after != '=');
    if (closes && depth_)
      --depth_;
    minuses_ = c == '-' ? minuses_ + 1 : c == ' ' ? minuses_ : 0;
    return depth_ <= kMaxNesting && minuses_ <= kMaxNesting;
  }
  void skipString() {
    for (++position_; position_ < text_.size(); ++position_) {
      if (text_[position_] == '\\')
        ++position_;
      else if (text_[position_] == '"' || text_[position_] == '\n')
        break;
    }
    ++position_;
  }

  StringRef text_;
  size_t position_ = 0;
  unsigned depth_ = 0, minuses_ = 0;
};
} // namespace

std::string compiler::modelStem(const Options &options) {
  if (options.model == "-")
    return "model";
  return llvm::sys::path::stem(options.model).str();
}

ExitCode compiler::reportImport(const Options &options,
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

/// Stores `onnx` in `model`. For training, first restores the parameters that
/// the model had before it was exported.
static ExitCode takeOnnx(const Options &options,
                         std::shared_ptr<OnnxModel> onnx, ImportErrors &errors,
                         ModelFile &model) {
  if (onnx && options.train.enabled)
    restoreParameters(*onnx, importOptions(options), errors);
  model.onnx = std::move(onnx);
  return reportImport(options, errors);
}

ExitCode compiler::readModel(const Options &options, ModelFile &model) {
  bool isStdin = options.model == "-";
  bool isSinter = StringRef(options.model).ends_with(".mlir") ||
                  StringRef(options.model).ends_with(".mlirbc");
  if (!isStdin && !isSinter) {
    ImportErrors errors;
    return takeOnnx(options, loadOnnxFile(options.model, errors), errors,
                    model);
  }

  if (!isStdin) {
    llvm::sys::fs::file_status status;
    if (std::error_code error = llvm::sys::fs::status(options.model, status))
      return unreadable(options, error.message());
    if (!llvm::sys::fs::is_regular_file(status))
      return unreadable(options, "not a regular file");
  }
  auto buffer = isStdin ? llvm::MemoryBuffer::getSTDIN()
                        : llvm::MemoryBuffer::getFile(options.model);
  if (!buffer)
    return unreadable(options, buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.empty())
    return unreadable(options, "the file is empty");
  if (isStdin && !isBytecode(bytes) && !isText(bytes)) {
    ImportErrors errors;
    return takeOnnx(options,
                    loadOnnxBytes({bytes.data(), bytes.size()}, "-", errors),
                    errors, model);
  }
  if (!isBytecode(bytes)) {
    if (!isText(bytes))
      return unreadable(options, "neither MLIR text nor MLIR bytecode");
    if (size_t line = NestingCheck(bytes).excessLine())
      return unreadable(options, "line " + llvm::Twine(line) +
                                     ": brackets are nested deeper than " +
                                     llvm::Twine(kMaxNesting));
  }
  model.source = std::move(*buffer);
  return kExitDone;
}

ImportOptions compiler::importOptions(const Options &options) {
  ImportOptions result;
  result.train = options.train.enabled;
  result.isOnlyShown = options.tool == "sinter-inspect";
  result.trainable = options.train.trainable.joined();
  result.freeze = options.train.freeze.joined();
  result.parameters = options.train.parameters;
  result.freezeBatchNorm = options.train.freezeBatchNorm;
  result.allowRewritten = options.train.allowRewritten;
  result.uncheckedIndices = options.uncheckedIndices;
  result.batch = options.batch;
  for (auto &[name, size] : options.dims)
    result.dims[name] = size;
  for (auto &[name, shape] : options.shapes)
    result.shapes[name].assign(shape.begin(), shape.end());
  return result;
}

// Checks that every argument and result of a graph function has an attribute
// that says what it is.
static mlir::LogicalResult checkSignature(mlir::func::FuncOp function) {
  using ir::SinterDialect;
  if (function.isExternal())
    return function.emitError("has no body");
  llvm::StringSet<> inputs, outputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto input = function.getArgAttrOfType<mlir::StringAttr>(
        i, SinterDialect::kInputAttr);
    bool isNamed = input || function.getArgAttr(i, SinterDialect::kStateAttr) ||
                   function.getArgAttr(i, SinterDialect::kControlAttr);
    if (!isNamed)
      return function.emitError("argument ")
             << i << " needs sinter.input = \"NAME\" (or sinter.state)";
    if (input && !inputs.insert(input.getValue()).second)
      return function.emitError("two inputs are called ") << input;
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto output = function.getResultAttrOfType<mlir::StringAttr>(
        i, SinterDialect::kOutputAttr);
    if (!output && !function.getResultAttr(i, SinterDialect::kStateAttr))
      return function.emitError("result ")
             << i << " needs sinter.output = \"NAME\" (or sinter.state)";
    if (output && !outputs.insert(output.getValue()).second)
      return function.emitError("two outputs are called ") << output;
  }
  return mlir::success();
}

static ExitCode checkModule(const Options &options, mlir::ModuleOp module) {
  if (options.batch || !options.dims.empty() || !options.shapes.empty())
    return unreadable(options, "--batch, --dim and --shape bind sizes of ONNX "
                               "models; a sinter module has static shapes");
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  bool isTraining = module.lookupSymbol<mlir::func::FuncOp>("step") ||
                    module.lookupSymbol<mlir::func::FuncOp>("apply");
  if (!main && !isTraining && !isPlannedModule(module))
    return unreadable(options, "the module has no function @main");
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (failed(checkSignature(function)))
      return kExitUsage;
  return kExitDone;
}

ExitCode compiler::importModel(const Options &options, ModelFile &model,
                               mlir::MLIRContext *context,
                               mlir::OwningOpRef<mlir::ModuleOp> &module) {
  if (model.onnx) {
    ImportErrors errors;
    module = importOnnx(model.onnx, importOptions(options), context, errors);
    ExitCode code = reportImport(options, errors);
    return code == kExitDone && !module ? kExitFailed : code;
  }
  // The readers trust the counts in a file, however large; no valid module
  // takes more memory than this. (Text grows less than bytecode, which shares
  // names and types.)
  MemoryLimit limit(kSlackBytes + 64 * model.source->getBufferSize(),
                    shown(options.model) +
                        ": is damaged: reading it takes more memory than any "
                        "module of its size");
  // A module read from bytecode refers to weights in the file's bytes, so the
  // source must live as long as they do.
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(model.source), llvm::SMLoc());
  mlir::ParserConfig config(context);
  module = mlir::parseSourceFile<mlir::ModuleOp>(sources, config);
  if (!module)
    return kExitUsage;
  return checkModule(options, *module);
}
