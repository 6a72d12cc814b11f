//===- FormatsTest.cpp - a second input format ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A format is one Importer: the driver reads, imports, checks and exports
// models of a small text format that only this file knows.
//
//===----------------------------------------------------------------------===//
#include "compiler/Dialects.h"
#include "compiler/checks/Check.h"
#include "compiler/driver/ModelFile.h"
#include "ir/Dialect.h"
#include "test/compiled/CompiledModule.h"
#include "tools/lib/Targets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {

/// Lines `input NAME SIZE..`, `relu NAME OPERAND` and `output NAME` after a
/// line `toy`. A size is a number or the name of an open one.
class ToyModel : public SourceModel {
public:
  explicit ToyModel(std::string text) : text_(std::move(text)) {
    llvm::SmallVector<StringRef> lines;
    StringRef(text_).split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : llvm::ArrayRef(lines).drop_front())
      line.split(lines_.emplace_back(), ' ');
  }

  mlir::OwningOpRef<mlir::ModuleOp> import(const ImportOptions &options,
                                           mlir::MLIRContext *context,
                                           ImportErrors &errors) const override;

  std::vector<ModelInput> inputs() const override {
    std::vector<ModelInput> inputs;
    for (const auto &line : lines_) {
      if (line[0] != "input")
        continue;
      ModelInput &input = inputs.emplace_back();
      input.name = line[1].str();
      input.dims.emplace();
      for (StringRef word : llvm::ArrayRef(line).drop_front(2)) {
        ModelInput::Dim &dim = input.dims->emplace_back();
        int64_t size;
        if (word.getAsInteger(10, size))
          dim.symbol = word.str();
        else
          dim.size = size;
      }
    }
    return inputs;
  }
  llvm::ArrayRef<std::string> heldNames() const override { return held_; }
  std::vector<ExportPiece> exportTemplate(mlir::ModuleOp,
                                          ImportErrors &) const override {
    return {{text_, ""}};
  }

private:
  std::string text_;
  std::vector<llvm::SmallVector<StringRef>> lines_;
  std::vector<std::string> held_ = {"a.held.name"};
};

mlir::OwningOpRef<mlir::ModuleOp> ToyModel::import(const ImportOptions &options,
                                                   mlir::MLIRContext *context,
                                                   ImportErrors &errors) const {
  mlir::OpBuilder builder(context);
  auto loc = [&](StringRef name) -> mlir::Location {
    return mlir::NameLoc::get(builder.getStringAttr(name));
  };
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto main = builder.create<mlir::func::FuncOp>(
      module->getLoc(), "main", builder.getFunctionType({}, {}));
  mlir::Block *block = main.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  llvm::StringMap<mlir::Value> values;
  for (const ModelInput &input : inputs()) {
    llvm::SmallVector<int64_t> shape;
    for (const ModelInput::Dim &dim : *input.dims)
      shape.push_back(dim.size ? *dim.size : options.dims.lookup(dim.symbol));
    if (auto given = options.shapes.find(input.name);
        given != options.shapes.end())
      shape = given->second;
    if (llvm::is_contained(shape, 0)) {
      errors.invalid("input " + input.name + " has an open size");
      return {};
    }
    values[input.name] = block->addArgument(
        mlir::RankedTensorType::get(shape, builder.getF32Type()),
        loc(input.name));
  }
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<StringRef> names;
  for (const auto &line : lines_) {
    if (line[0] == "relu") {
      mlir::Value x = values.lookup(line[2]);
      values[line[1]] =
          builder.create<ir::ReluOp>(loc(line[1]), x.getType(), x);
    } else if (line[0] == "output") {
      results.push_back(values.lookup(line[1]));
      names.push_back(line[1]);
    } else if (line[0] != "input") {
      errors.unsupported("operator " + line[0].str() + " is not supported");
    }
  }
  if (!errors.empty())
    return {};
  builder.create<mlir::func::ReturnOp>(main.getLoc(), results);
  main.setType(builder.getFunctionType(block->getArgumentTypes(),
                                       mlir::ValueRange(results).getTypes()));
  for (auto [i, input] : llvm::enumerate(inputs()))
    main.setArgAttr(i, ir::SinterDialect::kInputAttr,
                    builder.getStringAttr(input.name));
  for (auto [i, name] : llvm::enumerate(names))
    main.setResultAttr(i, ir::SinterDialect::kOutputAttr,
                       builder.getStringAttr(name));
  return module;
}

class ToyImporter : public Importer {
public:
  StringRef name() const override { return "toy"; }
  bool recognizes(const ModelFile &file) const override {
    return StringRef(file.path).ends_with(".toy") ||
           StringRef(file.head).starts_with("toy\n");
  }
  SharedModel read(ModelFile file, const ImportOptions &,
                   ImportErrors &errors) const override {
    auto content = llvm::MemoryBuffer::getFile(file.path);
    if (content && (*content)->getBuffer().starts_with("toy\n"))
      return std::make_shared<ToyModel>((*content)->getBuffer().str());
    errors.invalid(file.path + ": is not a toy model");
    return nullptr;
  }
};

/// The built-in formats and the toy: one more entry in the list.
std::vector<const Importer *> formats() {
  static const ToyImporter toy;
  std::vector<const Importer *> list = {&toy};
  list.insert(list.end(), importers().begin(), importers().end());
  return list;
}

/// A file with `text`, and the options of a command line that names it.
class ToyFile {
public:
  ToyFile(const std::string &name, const std::string &text) {
    llvm::SmallString<128> folder;
    REQUIRE(!llvm::sys::fs::createUniqueDirectory("sinter-formats", folder));
    folder_ = std::string(folder);
    path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
  }
  ~ToyFile() { std::filesystem::remove_all(folder_); }
  ToyFile(const ToyFile &) = delete;

  Options options(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), path);
    auto parsed =
        parseOptions("test", kSinterc, kindsOf(tools::targets()), flags);
    REQUIRE(parsed);
    return *parsed;
  }

  std::string path;

private:
  std::filesystem::path folder_;
};

} // namespace

static const std::string kRelu = "toy\ninput x n 3\nrelu y x\noutput y\n";

TEST_CASE("the first importer that recognizes a file reads it") {
  auto nameOf = [](const std::string &path, const std::string &head) {
    ModelFile file;
    file.path = path;
    file.head = head;
    const Importer *importer = findImporter(formats(), file);
    return importer ? importer->name().str() : "";
  };
  CHECK(nameOf("a.toy", "") == "toy");
  CHECK(nameOf("a.model", "toy\ninput") == "toy");
  CHECK(nameOf("a.mlir", "module {}") == "sinter module");
  CHECK(nameOf("a.mlirbc", "ML\xefR") == "sinter module");
  CHECK(nameOf("a.onnx", "\x08\x07") == "ONNX");
  CHECK(nameOf("no suffix", "") == "ONNX");
  ModelFile file;
  file.path = "a.onnx";
  CHECK(findImporter({}, file) == nullptr);
}

TEST_CASE("stdin is recognized by its bytes") {
  auto nameOf = [](StringRef bytes) {
    ModelFile file;
    file.path = "-";
    file.content = llvm::MemoryBuffer::getMemBufferCopy(bytes);
    file.head = bytes.str();
    return findImporter(formats(), file)->name().str();
  };
  CHECK(nameOf("toy\n") == "toy");
  CHECK(nameOf("func.func @main() {}") == "sinter module");
  CHECK(nameOf("ML\xefR\x01") == "sinter module");
  CHECK(nameOf("\x08\x07\x12\x01") == "ONNX");
}

TEST_CASE("the driver reads and imports another format, and its program runs") {
  ToyFile file("a.model", kRelu); // only its first bytes name the format
  Options options = file.options({"--dim=n=2"});
  SharedModel model;
  REQUIRE(readModel(options, model, formats()) == kExitDone);
  CHECK_FALSE(model->isModule());
  CHECK(model->heldNames().front() == "a.held.name");

  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  REQUIRE(importModel(options, CompileState(options), *model, &context,
                      module) == kExitDone);

  std::vector<ExportPiece> pieces;
  CHECK(makeExport(options, *model, *module, pieces) == kExitDone);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].bytes == kRelu);

  std::string why;
  auto compiled = test::CompiledModule::create(*module, {}, why);
  INFO(why);
  REQUIRE(compiled);
  ir::Tensor x(
      mlir::RankedTensorType::get({2, 3}, mlir::Float32Type::get(&context)));
  x.floats = {-1, 2, -3, 4, -5, 6};
  auto results = compiled->run({x}, why);
  REQUIRE(results);
  CHECK(results->front().floats == std::vector<double>{0, 2, 0, 4, 0, 6});
}

TEST_CASE("readModel refuses a file that no importer recognizes") {
  ToyFile file("a.model", kRelu);
  SharedModel model;
  CHECK(readModel(file.options(), model, {}) == kExitUsage);
  CHECK(model == nullptr);
}

TEST_CASE("an importer's errors end reading and importing") {
  ToyFile wrong("wrong.toy", "not toy\n");
  SharedModel model;
  CHECK(readModel(wrong.options(), model, formats()) == kExitUsage);

  ToyFile open("open.toy", kRelu);
  REQUIRE(readModel(open.options(), model, formats()) == kExitDone);
  mlir::MLIRContext context;
  context.loadDialect<ir::SinterDialect, mlir::func::FuncDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CHECK(importModel(open.options(), CompileState(open.options()), *model,
                    &context, module) == kExitUsage);
  CHECK_FALSE(module);
}

TEST_CASE("--check covers another format, with sizes made up") {
  auto check = [](const ToyFile &file) {
    Options options = file.options({"--check"});
    CompileState state(options);
    return checkCoverage(options, state,
                         createTargets(options, state, tools::targets()),
                         formats());
  };
  CHECK(check(ToyFile("a.toy", kRelu)) == kExitDone);
  CHECK(check(ToyFile("b.toy", "toy\ninput x n 3\nfrob y x\noutput x\n")) ==
        kExitUnsupported);
}

TEST_CASE("a file of a sinter module is imported more than once") {
  ToyFile file("a.mlir", R"(
func.func @main(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  %y = sinter.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
})");
  SharedModel model;
  REQUIRE(readModel(file.options(), model) == kExitDone);
  CHECK(model->isModule());
  CHECK_FALSE(model->bindsSizes());
  mlir::MLIRContext context;
  context.loadDialect<ir::SinterDialect, mlir::func::FuncDialect>();
  for (int i = 0; i < 2; ++i) {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    CHECK(importModel(file.options(), CompileState(file.options()), *model,
                      &context, module) == kExitDone);
    CHECK(module);
  }
}
