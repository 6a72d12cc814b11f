//===- DiffTool.cpp - sinter-inspect diff A B -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/DiffTool.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/emit/Jit.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/import/SafetensorsFile.h"
#include "compiler/inspect/ArtifactDiff.h"
#include "compiler/inspect/ArtifactImage.h"
#include "compiler/inspect/FileKind.h"
#include "compiler/inspect/InspectOptions.h"
#include "compiler/inspect/InspectedModel.h"
#include "compiler/inspect/KernelCode.h"
#include "compiler/inspect/LockReport.h"
#include "compiler/inspect/ModelDiff.h"
#include "compiler/inspect/TraceDiff.h"
#include "compiler/verify/ModelNumbers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

// One of the two files. What is compiled of it stays alive here.
struct Side {
  std::optional<const Options> options;
  FileKind kind = FileKind::Model;
  std::unique_ptr<Compilation> graph;   // up to the phase that is compared
  std::unique_ptr<Compilation> planned; // up to "plan"
  CompiledProgram program;
  std::unique_ptr<Jit> jit;
  std::unique_ptr<ArtifactImage> image;
  llvm::SmallVector<const sinter_artifact *> artifacts;

  std::string fileName() const { return shown(options->model); }
};

struct Request {
  std::vector<std::string> files, common; // arguments of both
  std::string flags[2];                   // of one
  std::string inputs;                     // .npz
  bool compiled = false, numeric = false, all = false, json = false;
};

} // namespace

// The option with a value as a word of its own: "-o x".
static bool takesNextWord(StringRef arg) {
  return arg == "-o" || arg == "--output" || arg == "-j";
}

// Splits the arguments of the command; they need not be right.
static Request splitRequest(llvm::ArrayRef<std::string> args) {
  Request request;
  for (size_t i = 0; i < args.size(); ++i) {
    StringRef arg = args[i];
    if (arg.consume_front("--flags-a="))
      request.flags[0] = arg.str();
    else if (arg.consume_front("--flags-b="))
      request.flags[1] = arg.str();
    else if (arg.consume_front("--inputs="))
      request.inputs = arg.str();
    else if (arg == "--compiled")
      request.compiled = true;
    else if (arg == "--numeric")
      request.numeric = true;
    else if (arg == "--all")
      request.all = true;
    else if (arg == "--json")
      request.json = true;
    else if (!arg.starts_with("-") || arg == "-")
      request.files.push_back(args[i]);
    else {
      request.common.push_back(args[i]);
      if (takesNextWord(arg) && i + 1 < args.size())
        request.common.push_back(args[++i]);
    }
  }
  if (!request.flags[0].empty() || !request.flags[1].empty())
    request.compiled |= !request.numeric;
  return request;
}

bool compiler::namesTwoFiles(llvm::ArrayRef<std::string> args) {
  return splitRequest(args).files.size() == 2;
}

// The options of one side: its own flags after those of both.
static bool parseSide(const Request &request, unsigned index, Side &side,
                      llvm::ArrayRef<TargetFactory> targets) {
  std::vector<std::string> args = {request.files[index]};
  llvm::append_range(args, request.common);
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  llvm::SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(request.flags[index], saver, words);
  args.insert(args.end(), words.begin(), words.end());
  std::optional<const Options> options =
      parseOptions("sinter-inspect", kSinterInspect, kindsOf(targets), args);
  if (options)
    side.options.emplace(*options);
  return options.has_value();
}

// The flag that has no effect on files that are not compiled: those of one
// side, and those of both if no side is. "" if there is none.
static std::string idleFlag(const Request &request, const Side &a,
                            const Side &b) {
  bool isModel[] = {a.kind == FileKind::Model, b.kind == FileKind::Model};
  for (unsigned i : {0u, 1u})
    if (!isModel[i] && !request.flags[i].empty())
      return i ? "--flags-b" : "--flags-a";
  if (isModel[0] || isModel[1])
    return "";
  for (const OptionRow *row : a.options->given)
    if (StringRef name = flagName(*row);
        !llvm::is_contained({"--output", "--target", "--verbose"}, name))
      return name.str();
  return request.compiled ? "--compiled" : "";
}

//===----------------------------------------------------------------------===//
// Models and programs
//===----------------------------------------------------------------------===//

// Fills `side.artifacts` with the programs of a file, or of a model that is
// compiled.
static ExitCode loadPrograms(Side &side,
                             llvm::ArrayRef<TargetFactory> targets) {
  if (side.kind == FileKind::Program) {
    auto image = ArtifactImage::read(side.options->model);
    if (!image) {
      inspectError(side.fileName() + ": " + llvm::toString(image.takeError()));
      return kExitUsage;
    }
    side.image = std::move(*image);
    const Options &options = *side.options;
    for (const sinter_artifact *artifact : side.image->artifacts())
      if (!options.targetGiven ||
          llvm::is_contained(options.targets, artifact->target))
        side.artifacts.push_back(artifact);
    if (!side.artifacts.empty())
      return kExitDone;
    inspectError(side.fileName() + ": was not compiled for " +
                 llvm::join(options.targets, ","));
    return kExitUsage;
  }
  ExitCode code = kExitDone;
  side.planned =
      compileToInspect(*side.options, *findPhase("plan"), targets, code,
                       /*notesSizes=*/!side.graph);
  if (!side.planned)
    return code;
  if ((code = side.planned->emit(side.program)))
    return code;
  auto jit = Jit::create(side.program);
  if (!jit) {
    inspectError(StringRef(llvm::toString(jit.takeError())).split('\n').first);
    return kExitFailed;
  }
  side.jit = std::move(*jit);
  side.artifacts = {side.jit->artifact()};
  return kExitDone;
}

static const Phase *comparedPhase(const Side &side) {
  StringRef name = side.options->stopAfter;
  return findPhase(name.empty() ? "import" : name);
}

static ExitCode loadGraph(Side &side, llvm::ArrayRef<TargetFactory> targets,
                          bool notesSizes) {
  const Phase *phase = comparedPhase(side);
  if (phaseIndex(*phase) >= phaseIndex(*findPhase("plan"))) {
    inspectError(
        "--stop-after=" + side.options->stopAfter +
        ": no graph is left after this phase; --compiled compares programs");
    return kExitUsage;
  }
  ExitCode code = kExitDone;
  side.graph =
      compileToInspect(*side.options, *phase, targets, code, notesSizes);
  return code;
}

namespace {

// What was found, and where to print it.
class Report {
public:
  explicit Report(const Request &request) : request_(request), os_(text_) {}

  void add(const NumericDifference &difference) {
    isSame_ &= difference.empty();
    if (request_.json)
      json_["numbers"] = differenceJson(difference);
    else
      printDifference(difference, request_.all, os_);
  }

  void add(const ModelDifference &difference) {
    isSame_ &= difference.empty();
    if (request_.json)
      json_["graph"] = differenceJson(difference);
    else
      printDifference(difference, request_.all, os_);
  }

  void add(const ArtifactDifference &difference, StringRef target,
           bool isOnly) {
    isSame_ &= difference.empty();
    if (request_.json) {
      json::Object object = differenceJson(difference);
      object["target"] = json::fixUTF8(target);
      programs_.push_back(std::move(object));
      return;
    }
    if (!isOnly)
      os_ << "target " << shown(target) << ":\n";
    printDifference(difference, request_.all, os_);
  }

  void add(const TraceDifference &difference) {
    isSame_ &= difference.empty();
    if (request_.json)
      json_["passes"] = differenceJson(difference);
    else
      printDifference(difference, request_.all, os_);
  }

  void add(const LockDifference &difference) {
    isSame_ &= difference.empty();
    if (request_.json)
      json_["lock"] = differenceJson(difference);
    else
      printDifference(difference, os_);
  }

  void noteTarget(const llvm::Twine &line) {
    isSame_ = false;
    if (request_.json)
      notes_.push_back(line.str());
    else
      os_ << line << "\n";
  }

  int print(const Options &options) {
    if (request_.json) {
      if (!programs_.empty())
        json_["programs"] = std::move(programs_);
      if (!notes_.empty())
        json_["notes"] = std::move(notes_);
      json_["same"] = isSame_;
      os_ << json::Value(std::move(json_)) << "\n";
    }
    std::string path = options.output.empty() ? "-" : options.output;
    std::string wrong = whyNotWritable(path, request_.files);
    if (wrong.empty())
      wrong = writeFile(path, [&](llvm::raw_ostream &out) { out << text_; });
    if (!wrong.empty())
      return inspectError(wrong);
    return isSame_ ? kExitDone : kExitFailed;
  }

private:
  const Request &request_;
  std::string text_;
  llvm::raw_string_ostream os_;
  json::Object json_;
  json::Array programs_, notes_;
  bool isSame_ = true;
};

} // namespace

static ProgramToDiff toDiff(const Side &side, const sinter_artifact &artifact) {
  KernelCode code = side.image
                        ? KernelCode(artifact, *side.image, side.options->model)
                        : KernelCode(artifact, side.program.objects);
  return {artifact, code.hashes()};
}

// Programs for the same target are compared; of two files with one program
// each, these.
static void diffPrograms(const Side &a, const Side &b,
                         const std::map<std::string, std::string> &newNames,
                         Report &report) {
  if (a.artifacts.size() == 1 && b.artifacts.size() == 1)
    return report.add(diffArtifacts(toDiff(a, *a.artifacts[0]),
                                    toDiff(b, *b.artifacts[0]), newNames),
                      b.artifacts[0]->target, /*isOnly=*/true);
  auto find = [](const Side &side, StringRef target) {
    auto found = llvm::find_if(side.artifacts, [&](const sinter_artifact *of) {
      return target == of->target;
    });
    return found == side.artifacts.end() ? nullptr : *found;
  };
  for (const sinter_artifact *own : a.artifacts)
    if (const sinter_artifact *other = find(b, own->target))
      report.add(diffArtifacts(toDiff(a, *own), toDiff(b, *other), newNames),
                 own->target, false);
    else
      report.noteTarget("target " + shown(own->target) + ": gone");
  for (const sinter_artifact *own : b.artifacts)
    if (!find(a, own->target))
      report.noteTarget("target " + shown(own->target) + ": added");
}

static int diffTraceFiles(Side &a, Side &b, Report &report) {
  Trace traces[2];
  Side *sides[] = {&a, &b};
  for (auto [side, trace] : llvm::zip(sides, traces)) {
    auto bytes = llvm::MemoryBuffer::getFile(side->options->model);
    if (!bytes)
      return inspectError(side->fileName() + ": " + bytes.getError().message());
    if (std::string wrong = trace.read((*bytes)->getBuffer()); !wrong.empty())
      return inspectError(side->fileName() + ": " + wrong);
  }
  ModelGraph graphs[2] = {lastGraph(traces[0]), lastGraph(traces[1])};
  report.add(diffTraces(traces[0], traces[1]));
  report.add(diffModels(graphs[0], graphs[1]));
  return report.print(*a.options);
}

static int diffLockFiles(Side &a, Side &b, Report &report) {
  std::shared_ptr<const LockFile> locks[2];
  Side *sides[] = {&a, &b};
  for (auto [side, lock] : llvm::zip(sides, locks))
    if (std::string wrong = readLockFile(side->options->model, lock);
        !wrong.empty())
      return inspectError(wrong);
  report.add(diffLocks(*locks[0], *locks[1]));
  return report.print(*a.options);
}

// Compares what two models compute. Their graphs are matched only to know which
// node is which.
static int diffNumbers(const Side &a, const Side &b, const Request &request,
                       const RunFunctions &run, Report &report) {
  GivenArrays given;
  if (!request.inputs.empty())
    if (std::string wrong = run.readArrays(request.inputs, given);
        !wrong.empty())
      return inspectError(wrong);
  mlir::ModuleOp first = a.graph->module(), second = b.graph->module();
  std::map<std::string, std::string> namesInA;
  for (auto &[own, other] :
       diffModels(modelGraph(first), modelGraph(second)).renamed)
    namesInA.emplace(other, own);
  std::string problem;
  auto difference =
      compareNumbers(first, second, given, std::move(namesInA), problem);
  if (failed(difference))
    return problem.empty() ? int(kExitUsage) : inspectError(problem);
  report.add(*difference);
  return report.print(*a.options);
}

// What is wrong with --numeric and --inputs; "" if nothing.
static std::string whyNoNumbers(const Request &request, const Side &a,
                                const Side &b) {
  if (!request.numeric)
    return request.inputs.empty() ? "" : "--inputs: belongs to --numeric";
  if (request.compiled)
    return "--compiled: --numeric evaluates models, not what they are compiled "
           "to; 'bisect' compares the two";
  for (const Side *side : {&a, &b}) {
    if (side->kind != FileKind::Model)
      return "--numeric: " + side->fileName() + " is not a model";
    // Without a phase, models are evaluated as they were imported.
    if (!side->options->stopAfter.empty())
      continue;
    for (const OptionRow *row : side->options->given)
      if (StringRef name = flagName(*row);
          !llvm::is_contained({"--batch", "--dim", "--shape", "--state",
                               "--output", "--verbose", "-j"},
                              name))
        return name.str() +
               ": --numeric evaluates models before the passes; --stop-after=" +
               "PHASE evaluates what is left after a phase";
  }
  return "";
}

int compiler::diffFiles(llvm::ArrayRef<std::string> args,
                        llvm::ArrayRef<TargetFactory> targets,
                        const RunFunctions &run) {
  Request request = splitRequest(args);
  Side a, b, *sides[] = {&a, &b};
  for (auto [i, side] : llvm::enumerate(sides)) {
    if (!parseSide(request, i, *side, targets))
      return kExitUsage;
    side->kind = fileKindOf(request.files[i]);
    if (side->kind == FileKind::Weights)
      return inspectError(side->fileName() +
                          ": holds states only; give the model or the trainer");
  }
  if (std::string wrong = whyNoNumbers(request, a, b); !wrong.empty())
    return inspectError(wrong);
  Report report(request);
  bool isTrace = a.kind == FileKind::Trace;
  if (isTrace != (b.kind == FileKind::Trace))
    return inspectError((isTrace ? a : b).fileName() +
                        " is a trace, the other file is not");
  bool isLock = a.kind == FileKind::Lock;
  if (isLock != (b.kind == FileKind::Lock))
    return inspectError((isLock ? a : b).fileName() +
                        " is a lock file, the other file is not");
  if (std::string flag = idleFlag(request, a, b); !flag.empty())
    return inspectError(flag + ": has no effect on what is not compiled now");
  if (isTrace)
    return diffTraceFiles(a, b, report);
  if (isLock)
    return diffLockFiles(a, b, report);
  bool areModels = a.kind == FileKind::Model && b.kind == FileKind::Model;
  std::map<std::string, std::string> newNames;
  if (areModels) {
    for (Side *side : {&a, &b})
      if (ExitCode code = loadGraph(*side, targets, side == &a))
        return code;
    if (request.numeric)
      return diffNumbers(a, b, request, run, report);
    ModelDifference difference = diffModels(modelGraph(a.graph->module()),
                                            modelGraph(b.graph->module()));
    newNames = difference.newNames();
    report.add(difference);
  }
  if (!areModels || request.compiled) {
    for (Side *side : {&a, &b})
      if (ExitCode code = loadPrograms(*side, targets))
        return code;
    diffPrograms(a, b, newNames, report);
  }
  return report.print(*a.options);
}
