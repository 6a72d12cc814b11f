//===- ModuleFile.cpp - Sinter's own modules as a format ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/sinter/ModuleFile.h"

#include "compiler/base/Process.h"
#include "compiler/base/Text.h"
#include "ir/Dialect.h"
#include "ir/exec/Exec.h"
#include "sinter/program_names.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
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

namespace {

/// A view of bytes that owns a share of them.
class SharedBuffer : public llvm::MemoryBuffer {
public:
  explicit SharedBuffer(std::shared_ptr<const llvm::MemoryBuffer> owner)
      : owner_(std::move(owner)) {
    init(owner_->getBufferStart(), owner_->getBufferEnd(),
         /*RequiresNullTerminator=*/true);
  }
  StringRef getBufferIdentifier() const override {
    return owner_->getBufferIdentifier();
  }
  BufferKind getBufferKind() const override { return owner_->getBufferKind(); }

private:
  std::shared_ptr<const llvm::MemoryBuffer> owner_;
};

class ModuleSource : public SourceModel {
public:
  ModuleSource(std::string path, std::unique_ptr<llvm::MemoryBuffer> content)
      : path_(std::move(path)), content_(std::move(content)) {}

  bool bindsSizes() const override { return false; }
  bool isModule() const override { return true; }
  mlir::OwningOpRef<mlir::ModuleOp> import(const ImportOptions &options,
                                           mlir::MLIRContext *context,
                                           ImportErrors &errors) const override;

private:
  std::string path_;
  std::shared_ptr<const llvm::MemoryBuffer> content_;
};

} // namespace

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

/// What is wrong with a module as a whole, "" if nothing.
static std::string checkModule(mlir::ModuleOp module) {
  auto has = [&](StringRef name) {
    return module.lookupSymbol<mlir::func::FuncOp>(name) != nullptr;
  };
  bool isPlanned = !module.getOps<exec::ProgramOp>().empty();
  return has(SINTER_ENTRY_MAIN) || has(SINTER_ENTRY_STEP) ||
                 has(SINTER_ENTRY_APPLY) || isPlanned
             ? ""
             : "the module has no function @main";
}

mlir::OwningOpRef<mlir::ModuleOp>
ModuleSource::import(const ImportOptions &options, mlir::MLIRContext *context,
                     ImportErrors &errors) const {
  // The readers trust the counts in a file, however large; no valid module
  // takes more memory than this. (Text grows less than bytecode, which shares
  // names and types.)
  MemoryLimit limit(kSlackBytes + 64 * content_->getBufferSize(),
                    shown(path_) +
                        ": is damaged: reading it takes more memory than any "
                        "module of its size");
  // A module read from bytecode refers to weights in the file's bytes, so the
  // source must live as long as they do.
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::make_unique<SharedBuffer>(content_),
                              llvm::SMLoc());
  mlir::ParserConfig config(context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, config);
  if (!module) {
    errors.diagnosed();
    return {};
  }
  auto fail = [&](const std::string &why) -> mlir::OwningOpRef<mlir::ModuleOp> {
    errors.invalid(shown(path_) + ": " + why);
    return {};
  };
  if (options.batch || !options.dims.empty() || !options.shapes.empty())
    return fail(
        "--batch, --dim and --shape bind sizes that a model leaves open; "
        "a sinter module has static shapes");
  if (std::string wrong = checkModule(*module); !wrong.empty())
    return fail(wrong);
  for (auto function : module->getOps<mlir::func::FuncOp>())
    if (failed(checkSignature(function))) {
      errors.diagnosed();
      return {};
    }
  return module;
}

namespace {

class ModuleImporter : public Importer {
public:
  StringRef name() const override { return "sinter module"; }
  bool recognizes(const ModelFile &file) const override {
    StringRef path = file.path;
    return file.isStdin()
               ? isBytecode(file.head) || isText(file.head)
               : path.ends_with(".mlir") || path.ends_with(".mlirbc");
  }
  SharedModel read(ModelFile file, const ImportOptions &options,
                   ImportErrors &errors) const override;
};

} // namespace

SharedModel ModuleImporter::read(ModelFile file, const ImportOptions &,
                                 ImportErrors &errors) const {
  auto fail = [&](const std::string &why) {
    errors.invalid(shown(file.path) + ": " + why);
    return nullptr;
  };
  if (!file.content) {
    llvm::sys::fs::file_status status;
    if (std::error_code error = llvm::sys::fs::status(file.path, status))
      return fail(error.message());
    if (!llvm::sys::fs::is_regular_file(status))
      return fail("not a regular file");
    auto content = llvm::MemoryBuffer::getFile(file.path);
    if (!content)
      return fail(content.getError().message());
    file.content = std::move(*content);
  }
  StringRef bytes = file.content->getBuffer();
  if (bytes.empty())
    return fail("the file is empty");
  if (!isBytecode(bytes)) {
    if (!isText(bytes))
      return fail("neither MLIR text nor MLIR bytecode");
    if (size_t line = NestingCheck(bytes).excessLine())
      return fail("line " + std::to_string(line) +
                  ": brackets are nested deeper than " +
                  std::to_string(kMaxNesting));
  }
  return std::make_shared<ModuleSource>(std::move(file.path),
                                        std::move(file.content));
}

const Importer &sinter::compiler::moduleImporter() {
  static const ModuleImporter importer;
  return importer;
}
