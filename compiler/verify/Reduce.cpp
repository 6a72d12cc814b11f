//===- Reduce.cpp - sinter-inspect reduce ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Delta debugging (A. Zeller, R. Hildebrandt, "Simplifying and isolating
// failure-inducing input", IEEE TSE 28(2), 2002): tries smaller models and
// keeps those on which the command still fails, large pieces first.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/Reduce.h"

#include "compiler/base/Text.h"
#include "compiler/checks/Check.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/ModelFile.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/import/ReducibleModel.h"
#include "compiler/verify/FailingCommand.h"
#include "ir/Dialect.h"

#include "compiler/Dialects.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {

struct ReduceOptions {
  std::string check, match, output = "reduced.onnx";
  bool help = false, json = false;
  std::vector<std::string> rest; // for parseOptions
};

int fail(const llvm::Twine &message, int code = kExitUsage) {
  llvm::errs() << "sinter-inspect: error: " << message << "\n";
  return code;
}

void printReduceHelp() {
  llvm::outs()
      << "usage: sinter-inspect reduce MODEL.onnx --check=COMMAND [-o "
         "small.onnx]\n\n"
         "Finds a smaller model on which COMMAND still fails in the same "
         "way.\n\n"
         "  --check=COMMAND               for /bin/sh; {} is replaced by the "
         "model's name\n"
         "  --match=REGEX                 a line of its output must match, "
         "too\n"
         "  -o small.onnx                 the result; default: reduced.onnx\n"
         "  --batch, --dim, --shape       sizes that the model leaves open\n"
         "  --json                        what was found, as one object\n";
}

/// Returns what is wrong, "" if nothing.
std::string splitArguments(llvm::ArrayRef<std::string> arguments,
                           ReduceOptions &options) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef text = arguments[i];
    if (text.consume_front("--check="))
      options.check = text.str();
    else if (text.consume_front("--match="))
      options.match = text.str();
    else if (text == "-o" && i + 1 < arguments.size())
      options.output = arguments[++i];
    else if (text == "--json")
      options.json = true;
    else
      options.rest.push_back(arguments[i]);
    options.help |= arguments[i] == "--help";
  }
  if (options.check.empty() && !options.help)
    return "reduce: expected --check=COMMAND";
  if (!options.help && !StringRef(options.check).contains("{}"))
    return "--check: {} must stand where the command takes the model";
  return "";
}

/// The types of nodes, from the imported model; nothing if it cannot be
/// imported, perhaps because of what is being reduced. They belong to the
/// context.
NodeTypes typesOf(const Options &options, mlir::MLIRContext &context) {
  NodeTypes types;
  SharedModel model;
  mlir::ScopedDiagnosticHandler silence(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  Options quiet = options;
  CompileState state = CompileState(quiet).asTrial();
  if (readModel(quiet, model))
    return types;
  (void)makeUpSizes(*model, quiet, state);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (importModel(quiet, state, *model, &context, module))
    return types;
  // The last op of a node makes its result.
  module->walk([&](mlir::Operation *op) {
    auto name = mlir::dyn_cast<mlir::NameLoc>(op->getLoc());
    if (name && op->getNumResults() == 1)
      types[name.getName().getValue()] =
          mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  });
  return types;
}

class Reduction {
public:
  Reduction(std::unique_ptr<ReducibleModel> model, NodeTypes types,
            FailingCommand &command, std::string path)
      : model(std::move(model)), types(std::move(types)), command(command),
        path(std::move(path)) {}

  /// Returns what went wrong, "" if nothing.
  std::string run() {
    size_t before;
    do {
      before = model->bytes().size();
      for (size_t i = 0; i < model->numOutputs(); ++i)
        if (tryEdit([&](ReducibleModel &m) { return m.keepOutput(i); }))
          break;
      cutEnd();
      cutPieces([&](ReducibleModel &m, llvm::ArrayRef<size_t> nodes) {
        return m.replaceByInputs(nodes, types);
      });
      for (size_t i = model->numNodes(); i-- > 0;)
        if (i < model->numNodes())
          tryEdit([&](ReducibleModel &m) { return m.bypass(i); });
      shrinkSizes();
      for (size_t i = model->numConstants(); i-- > 0;)
        tryEdit([&](ReducibleModel &m) { return m.makeInput(i); });
      tryEdit([&](ReducibleModel &m) { return m.dropMetadata(); });
    } while (problem.empty() && model->bytes().size() < before);
    return problem;
  }
  const ReducibleModel &result() const { return *model; }

private:
  template <class Edit> bool tryEdit(Edit edit) {
    if (!problem.empty())
      return false;
    std::unique_ptr<ReducibleModel> candidate = model->clone();
    if (!edit(*candidate))
      return false;
    problem = writeFile(
        path, [&](llvm::raw_ostream &os) { os << candidate->bytes(); });
    if (!problem.empty() || !command.failsOn(path))
      return false;
    model = std::move(candidate);
    return true;
  }

  /// The earliest node at which the model can end: halving first, then one by
  /// one.
  void cutEnd() {
    for (size_t low = 0; low + 1 < model->numNodes();) {
      const size_t middle = low + (model->numNodes() - low) / 2;
      if (middle + 1 >= model->numNodes() ||
          !tryEdit([&](ReducibleModel &m) { return m.endAt(middle, types); }))
        low = middle + 1;
    }
    constexpr size_t few = 64;
    for (size_t i = 0; i + 1 < model->numNodes() && i < few; ++i)
      if (tryEdit([&](ReducibleModel &m) { return m.endAt(i, types); }))
        break;
  }

  /// Removes nodes in pieces of half of them, a quarter, down to one.
  template <class Edit> void cutPieces(Edit edit) {
    for (size_t size = (model->numNodes() + 1) / 2; size > 0; size /= 2)
      for (size_t first = 0; first < model->numNodes();) {
        std::vector<size_t> nodes;
        for (size_t i = first; i < first + size && i < model->numNodes(); ++i)
          nodes.push_back(i);
        if (!tryEdit([&](ReducibleModel &m) { return edit(m, nodes); }))
          first += size;
      }
  }

  void shrinkSizes() {
    for (int64_t size : model->sizes())
      for (int64_t to : {int64_t(1), int64_t(2), size / 4, size / 2, size - 1})
        if (to > 0 && to < size &&
            tryEdit([&](ReducibleModel &m) { return m.shrink(size, to); })) {
          // Other nodes have other types now.
          for (auto &[name, type] : types)
            type = shrunk(type, size, to);
          break;
        }
  }
  static mlir::RankedTensorType shrunk(mlir::RankedTensorType type,
                                       int64_t from, int64_t to) {
    if (!type)
      return type;
    llvm::SmallVector<int64_t> shape(type.getShape());
    for (int64_t &size : shape)
      size = size == from ? to : size;
    return type.clone(shape);
  }

  std::unique_ptr<ReducibleModel> model;
  NodeTypes types;
  FailingCommand &command;
  std::string path; // of the candidate
  std::string problem;
};

std::string sizeText(const ReducibleModel &model) {
  return std::to_string(model.numNodes()) + " nodes, " +
         std::to_string(model.numConstants()) + " initializers, " +
         std::to_string(model.bytes().size()) + " bytes";
}

/// "nodes", "initializers" and "bytes" of a model.
llvm::json::Object sizeJson(const ReducibleModel &model) {
  return llvm::json::Object{{"nodes", model.numNodes()},
                            {"initializers", model.numConstants()},
                            {"bytes", model.bytes().size()}};
}

} // namespace

int compiler::reduce(llvm::ArrayRef<std::string> arguments,
                     llvm::ArrayRef<TargetFactory> targets) {
  ReduceOptions own;
  if (std::string wrong = splitArguments(arguments, own); !wrong.empty())
    return fail(wrong);
  if (own.help) {
    printReduceHelp();
    return kExitDone;
  }
  std::optional<const Options> options = parseOptions(
      "sinter-inspect", kSinterInspect, kindsOf(targets), own.rest);
  if (!options)
    return kExitUsage;
  const std::string path = options->model;
  if (std::string wrong = whyNotWritable(own.output, path); !wrong.empty())
    return fail(wrong);
  if (!llvm::sys::fs::is_regular_file(path))
    return fail(shown(path) + ": not a regular file");
  ImportErrors errors;
  ModelFile file{path, "", nullptr};
  auto model = findImporter(importers(), file)
                   ->readReducible(ModelFile{path, "", nullptr}, errors);
  if (!model)
    return fail(errors.lines().empty()
                    ? shown(path) + ": only ONNX models can be reduced"
                    : errors.lines().front());
  const std::string before = sizeText(*model);
  llvm::json::Object beforeJson = sizeJson(*model);
  FailingCommand command(own.check, own.match);
  if (std::string wrong = command.begin(path); !wrong.empty())
    return fail(wrong);
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  llvm::SmallString<128> candidate;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "sinter-reduce", "onnx", candidate))
    return fail("temporary file: " + error.message(), kExitFailed);
  Reduction reduction(std::move(model), typesOf(*options, context), command,
                      candidate.str().str());
  std::string problem = reduction.run();
  (void)llvm::sys::fs::remove(candidate);
  if (problem.empty())
    problem = writeFile(own.output, [&](llvm::raw_ostream &os) {
      os << reduction.result().bytes();
    });
  if (!problem.empty())
    return fail(problem);
  if (own.json) {
    llvm::json::Object object{
        {"before", std::move(beforeJson)},
        {"after", sizeJson(reduction.result())},
        {"runs", command.numRuns()},
        {"reproduce", llvm::json::fixUTF8(command.line(own.output))},
        {"fails", llvm::json::fixUTF8(command.howItFails())}};
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(object)))
                 << "\n";
    return kExitDone;
  }
  llvm::outs() << shown(path) << ": " << before << "\n"
               << shown(own.output) << ": " << sizeText(reduction.result())
               << ", after " << command.numRuns() << " runs\n"
               << "reproduce: " << command.line(own.output) << "   # "
               << command.howItFails() << "\n";
  return kExitDone;
}
