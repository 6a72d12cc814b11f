//===- InspectTool.cpp - the logic of sinter-inspect ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/InspectTool.h"

#include "compiler/Phases.h"
#include "compiler/base/Process.h"
#include "compiler/base/Text.h"
#include "compiler/emit/Jit.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/ArtifactImage.h"
#include "compiler/inspect/ArtifactReport.h"
#include "compiler/inspect/CheckpointReport.h"
#include "compiler/inspect/DiffTool.h"
#include "compiler/inspect/FileKind.h"
#include "compiler/inspect/GraphReport.h"
#include "compiler/inspect/InspectedModel.h"
#include "compiler/inspect/KernelTool.h"
#include "compiler/inspect/LockReport.h"
#include "compiler/inspect/PlacementView.h"
#include "compiler/inspect/PrecisionView.h"
#include "compiler/inspect/Scale.h"
#include "compiler/inspect/TraceTool.h"
#include "compiler/inspect/page/PlanPage.h"
#include "compiler/inspect/page/ViewCommand.h"
#include "compiler/inspect/run/RunTool.h"
#include "compiler/verify/Reduce.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {

struct Command {
  const char *name;
  const char *summary;
};

constexpr Command kCommands[] = {
    {"summary", "inputs, outputs, state, work, memory (the default)"},
    {"graph", "the graph as .html, .dot or .json"},
    {"plan", "commands and buffers in order; -o x.html: the arena over time"},
    {"kernels",
     "generated kernels and library calls; with NAME: one kernel, its code and "
     "figures"},
    {"precision", "the precision of each op, and why"},
    {"placement", "the device of each node, why, and what is copied"},
    {"why", "why something was done or not; see the options below"},
    {"view", "one page about all passes, a trace, or training runs: -o x.html"},
    {"serve", "the page of 'view' on 127.0.0.1, made again when FILE changes"},
    {"log", "one line for each pass of a trace; of runs: their numbers"},
    {"show",
     "the IR after each pass of a trace; of runs: a line for each epoch"},
    {"diff",
     "what each pass of a trace changed, or what changed between two passes; "
     "of two files or runs: what differs"},
    {"rewrites", "each rewrite of the passes of a trace: before and after"},
    {"blame", "each line of the last IR, and the pass that made it"},
    {"grep",
     "lines that match REGEX, and the passes that added or removed them"},
    {"bisect", "the phase, pass, op and node that make results wrong"},
    {"reduce", "the smallest model for which --check=COMMAND still fails"},
    {"scale",
     "the step of a trainer on many processes: --world=N,N,.. --fabric=FILE "
     "--profile=FILE"},
};

const Command *findCommand(StringRef name) {
  for (const Command &command : kCommands)
    if (name == command.name)
      return &command;
  return nullptr;
}

} // namespace

int compiler::inspectError(const llvm::Twine &message, int code) {
  llvm::errs() << "sinter-inspect: error: " << message << "\n";
  return code;
}

int compiler::printReport(
    const Options &options,
    llvm::function_ref<void(llvm::raw_ostream &)> report) {
  std::string path = options.output.empty() ? "-" : options.output;
  std::string wrong = whyNotWritable(path, options.model);
  if (wrong.empty())
    wrong = writeFile(path, [&](llvm::raw_ostream &os) { report(os); });
  return wrong.empty() ? int(kExitDone) : inspectError(wrong);
}

static InspectOptions splitArguments(const std::vector<std::string> &args) {
  InspectOptions options;
  for (auto [i, arg] : llvm::enumerate(args)) {
    StringRef text = arg;
    if (options.command == "why" && takeQuestion(text, options.questions))
      continue;
    if (i == 0 && findCommand(text))
      options.command = text.str();
    else if (i == 1 && options.command == "grep" && args.size() > 2)
      options.pattern = text.str();
    else if (text.consume_front("--pass="))
      options.filter.pass = text.str();
    else if (text.consume_front("--op="))
      options.filter.op = text.str();
    else if (text == "--only-changed")
      options.filter.onlyChanged = true;
    else if (text == "--json")
      options.json = true;
    else if (text == "--llvm")
      options.llvm = true;
    else if (text == "--all" && options.command == "summary")
      options.all = true;
    else if (options.command == "kernels" && text.consume_front("--sort="))
      options.sort = text.str();
    else
      options.rest.push_back(arg);
  }
  return options;
}

static void printInspectHelp(const Options &options) {
  std::string text = "\nCommands:\n";
  llvm::raw_string_ostream os(text);
  for (const Command &command : kCommands)
    os << "  " << llvm::left_justify(command.name, 28) << "  "
       << command.summary << "\n";
  os << "\nOptions of commands:\n"
        "  --pass=PASS                   only this pass, phase or number of "
        "the "
        "log\n"
        "  --op=TEXT                     only functions that contain it; of "
        "blame: lines\n"
        "  --only-changed                leaves out passes that changed "
        "nothing\n"
        "  --json                        one JSON value\n"
        "  --ir, --llvm, --asm, --ptx, --sass  kernels, and kernels FILE NAME: "
        "the code\n"
        "  --sort=time                   kernels: the least time, the most "
        "expensive first\n"
        "  --flags-a=FLAGS, --flags-b=FLAGS  diff: compile A or B with these "
        "too\n"
        "  --compiled                    diff: compare the compiled programs "
        "of models\n"
        "  --numeric [--inputs=in.npz]   diff: compare the results of models, "
        "and name the\n"
        "                                nodes at which they begin to differ\n"
        "  --all                         diff, lock files: all entries of long "
        "lists\n"
     << kViewHelp
     << "diff of two files ends with 0 if nothing differs, with 1 if something "
        "does.\n"
        "\nOptions of why (may be repeated; NODE may be grad(NODE), the "
        "gradient of a node):\n";
  for (const QuestionKind &kind : questionKinds())
    os << "  "
       << llvm::left_justify(std::string(kind.option) +
                                 (kind.mayBeBare ? "[=" : "=") + kind.about +
                                 (kind.mayBeBare ? "]" : ""),
                             28)
       << "  " << kind.summary << "\n";
  printHelp(llvm::outs(), options, kSinterInspect,
            "sinter-inspect [COMMAND] FILE... [options]", text);
}

//===----------------------------------------------------------------------===//
// Kinds of files
//===----------------------------------------------------------------------===//

static int inspectCheckpoint(const InspectOptions &inspect,
                             const Options &options) {
  if (inspect.command != "summary" || inspect.llvm)
    return inspectError(shown(options.model) +
                        ": holds states only; give the model or the trainer");
  auto checkpoint = CheckpointSummary::read(options.model);
  if (!checkpoint)
    return inspectError(llvm::toString(checkpoint.takeError()));
  return printReport(options, [&](llvm::raw_ostream &os) {
    reportCheckpoint(*checkpoint, inspect.json, os);
  });
}

static int inspectLock(const InspectOptions &inspect, const Options &options) {
  std::shared_ptr<const LockFile> lock;
  if (std::string wrong = readLockFile(options.model, lock); !wrong.empty())
    return inspectError(wrong);
  return printReport(options, [&](llvm::raw_ostream &os) {
    reportLock(*lock, inspect.json, inspect.all, os);
  });
}

// The error of a command on a lock file, which only the summary and diff take;
// "" if there is none.
static std::string checkLocks(llvm::ArrayRef<std::string> args) {
  if (args.empty() || llvm::is_contained(args, "--help"))
    return "";
  const Command *command = findCommand(args.front());
  llvm::ArrayRef<std::string> rest = args.drop_front(command ? 1 : 0);
  bool takesLocks = !command || args.front() == "summary";
  if (args.front() == "diff" && namesTwoFiles(rest))
    return "";
  if (takesLocks && !llvm::is_contained(args, "--llvm"))
    return "";
  for (const std::string &arg : rest)
    if (!StringRef(arg).starts_with("-") && fileKindOf(arg) == FileKind::Lock) {
      std::string file = shown(arg);
      return (takesLocks ? "" : args.front() + ": ") + file +
             " is a lock file; 'sinter-inspect " + file +
             "' lists its decisions, 'sinter-inspect diff' compares two";
    }
  return "";
}

/// Prints one report after the other. In JSON, several reports become a list.
static int reportArtifacts(const InspectOptions &inspect,
                           const Options &options,
                           llvm::ArrayRef<const sinter_artifact *> artifacts) {
  bool isPlan = inspect.command == "plan";
  StringRef output = options.output;
  if (isPlan && output.ends_with(".html"))
    return printReport(options, [&](llvm::raw_ostream &os) {
      writePlanPage(artifacts, llvm::sys::path::filename(options.model), os);
    });
  bool json = inspect.json || (isPlan && output.ends_with(".json"));
  auto report = inspect.command == "plan"        ? reportPlan
                : inspect.command == "kernels"   ? reportKernels
                : inspect.command == "precision" ? reportPrecision
                : inspect.command == "placement" ? reportPlacement
                                                 : reportSummary;
  const bool isList = json && artifacts.size() > 1;
  return printReport(options, [&](llvm::raw_ostream &os) {
    for (auto [i, artifact] : llvm::enumerate(artifacts)) {
      if (isList)
        os << (i ? "," : "[");
      else if (artifacts.size() > 1)
        os << (i ? "\n" : "") << "target " << artifact->target << ":\n";
      if (!inspect.sort.empty())
        reportKernelsByTime(
            *artifact, [&](StringRef target) { return options.isHost(target); },
            cpuOf(*artifact, options.machine()), json, os);
      else
        report(*artifact, json, os);
    }
    if (isList)
      os << "]\n";
  });
}

/// The artifacts that --target names, in the order of the file; all of them
/// without --target.
static llvm::Expected<llvm::SmallVector<const sinter_artifact *>>
chooseTargets(const Options &options,
              llvm::ArrayRef<const sinter_artifact *> artifacts) {
  llvm::SmallVector<const sinter_artifact *> chosen;
  std::string known;
  for (const sinter_artifact *artifact : artifacts) {
    known += (known.empty() ? "" : ", ") + std::string(artifact->target);
    if (!options.targetGiven ||
        llvm::is_contained(options.targets, artifact->target))
      chosen.push_back(artifact);
  }
  for (const std::string &target : options.targets)
    if (options.targetGiven &&
        llvm::none_of(artifacts, [&](const sinter_artifact *artifact) {
          return target == artifact->target;
        }))
      return llvm::createStringError("was compiled for " + known +
                                     ", not for " + target);
  return chosen;
}

static int inspectBinary(const InspectOptions &inspect,
                         const Options &options) {
  if (inspect.command == "why")
    return inspectError(
        shown(options.model) +
        ": a compiled program does not have the reasons; give the "
        "model, or a trace of its compilation");
  if (inspect.command == "graph" || inspect.llvm)
    return inspectError(shown(options.model) +
                        ": a compiled program has no graph; give the model");
  auto image = ArtifactImage::read(options.model);
  if (!image)
    return inspectError(shown(options.model) + ": " +
                        llvm::toString(image.takeError()));
  auto chosen = chooseTargets(options, (*image)->artifacts());
  if (!chosen)
    return inspectError(shown(options.model) + ": " +
                        llvm::toString(chosen.takeError()));
  return reportArtifacts(inspect, options, *chosen);
}

static int printModuleGraph(const InspectOptions &inspect,
                            const Options &options, Compilation &compilation) {
  GraphForm form = GraphForm::Dot;
  StringRef output = options.output;
  if (inspect.json || output.ends_with(".json"))
    form = GraphForm::Json;
  return printReport(options, [&](llvm::raw_ostream &os) {
    printGraph(compilation.module(), form, os);
  });
}

static int inspectModel(const InspectOptions &inspect, const Options &options,
                        llvm::ArrayRef<TargetFactory> targets) {
  bool isGraph = inspect.command == "graph";
  const Phase *plan = findPhase("plan"), *last = plan;
  if (isGraph)
    last =
        findPhase(options.stopAfter.empty() ? "simplify" : options.stopAfter);
  if (isGraph && phaseIndex(*last) >= phaseIndex(*plan))
    return inspectError(
        "--stop-after=" + options.stopAfter +
        ": no graph is left after this phase; 'plan' shows the plan");
  if (isGraph && !inspect.json && StringRef(options.output).ends_with(".html"))
    return viewGraph(options, targets);
  bool isWhy = inspect.command == "why";
  ExitCode code = kExitDone;
  std::unique_ptr<Compilation> compiled =
      compileToInspect(options, *last, targets, code, /*notesSizes=*/true,
                       /*keepsTrace=*/isWhy);
  if (!compiled)
    return code;
  Compilation &compilation = *compiled;
  if (isWhy)
    return explain(*compilation.trace(), inspect, options);
  if (isGraph)
    return printModuleGraph(inspect, options, compilation);
  if (inspect.llvm) {
    auto code = compilation.kernelText(passes::CodeForm::Llvm);
    if (failed(code))
      return kExitFailed;
    return printReport(options,
                       [&](llvm::raw_ostream &os) { os << code->text; });
  }
  CompiledProgram program;
  if (ExitCode code = compilation.emit(program))
    return code;
  compilation.reportTimes();
  auto jit = Jit::create(program);
  if (!jit)
    return inspectError(
        StringRef(llvm::toString(jit.takeError())).split('\n').first,
        kExitFailed);
  return reportArtifacts(inspect, options, (*jit)->artifact());
}

// Runs a command with options of its own; nothing if `args` has none.
static std::optional<int> runOwnCommand(llvm::ArrayRef<std::string> args,
                                        llvm::ArrayRef<TargetFactory> targets,
                                        const RunFunctions &run) {
  if (args.empty())
    return std::nullopt;
  StringRef command = args.front();
  llvm::ArrayRef<std::string> rest = args.drop_front();
  if (command == "bisect")
    return bisect(rest, targets, run);
  if (command == "reduce")
    return reduce(rest, targets);
  if (llvm::is_contained(args, "--help"))
    return std::nullopt;
  if (command == "scale")
    return scaleTrainer(rest);
  if ((!findCommand(command) || isRunCommand(command)) && asksForRuns(args))
    return inspectRuns(args);
  if (command == "diff" && namesTwoFiles(rest) && !namesPassOfTrace(rest))
    return diffFiles(rest, targets, run);
  if (command == "kernels" && asksForKernels(rest))
    return inspectKernels(rest, targets);
  if (command == "view")
    return viewProgram(rest, targets);
  if (command == "serve")
    return serveProgram(rest, targets);
  return std::nullopt;
}

// Returns an error message if the first word is neither a command nor a file;
// empty otherwise.
static std::string checkCommand(const InspectOptions &inspect) {
  auto isWord = [](StringRef text) { return !text.starts_with("-"); };
  // The command is the first argument. A first word that is neither a command
  // nor a file, with another word after it, is a misspelled command.
  if (inspect.command == "summary" && inspect.rest.size() > 1 &&
      isWord(inspect.rest[0]) && isWord(inspect.rest[1]) &&
      !llvm::sys::fs::exists(inspect.rest[0]))
    return "unknown command '" + shown(inspect.rest[0]) +
           "'; --help lists the commands";
  return "";
}

// What a command lacks, or cannot write; "" if nothing.
static std::string checkRequest(const InspectOptions &inspect,
                                const Options &options) {
  if (inspect.command == "why" && inspect.questions.empty())
    return "why: expected a question, such as --not-fused=NODE,NODE; --help "
           "lists them";
  if (std::string wrong = checkKernelSort(inspect.sort); !wrong.empty())
    return wrong;
  if (inspect.command == "grep" && inspect.pattern.empty())
    return "grep: expected REGEX and a trace";
  StringRef extension = llvm::sys::path::extension(options.output);
  bool isGraph = inspect.command == "graph", isPlan = inspect.command == "plan";
  if ((extension == ".html" && !isGraph && !isPlan) ||
      llvm::is_contained({".svg", ".png", ".pdf"}, extension))
    return "-o " + shown(options.output) + ": " + inspect.command +
           (isGraph  ? " writes .html, .dot or .json"
            : isPlan ? " writes text, .html or .json"
                     : " writes text, or JSON with --json");
  return "";
}

int compiler::sinterInspect(int argc, char **argv,
                            llvm::ArrayRef<TargetFactory> targets,
                            const RunFunctions &run) {
  prepareProcess("sinter-inspect");
  const std::vector<std::string> args = argumentsOf(argc, argv);
  if (std::string wrong = checkLocks(args); !wrong.empty())
    return inspectError(wrong);
  if (std::optional<int> code = runOwnCommand(args, targets, run))
    return *code;
  InspectOptions inspect = splitArguments(args);
  takeTraceWords(inspect);
  bool isHelp = llvm::is_contained(inspect.rest, "--help");
  if (std::string wrong = checkCommand(inspect); !wrong.empty() && !isHelp)
    return inspectError(wrong);
  std::optional<const Options> options = parseOptions(
      "sinter-inspect", kSinterInspect, kindsOf(targets), inspect.rest);
  if (!options)
    return kExitUsage;
  if (options->help) {
    printInspectHelp(*options);
    return kExitDone;
  }
  if (options->version) {
    printVersion(llvm::outs(), "sinter-inspect");
    return kExitDone;
  }
  if (std::string wrong = checkRequest(inspect, *options); !wrong.empty())
    return inspectError(wrong);
  FileKind kind = fileKindOf(options->model);
  if (inspect.all && kind != FileKind::Lock)
    return inspectError("--all belongs to diff and to lock files");
  if (llvm::is_contained({"log", "show", "diff", "blame", "grep", "rewrites"},
                         inspect.command) ||
      (kind == FileKind::Trace &&
       llvm::is_contained({"summary", "why"}, inspect.command)))
    return inspectTrace(inspect, *options);
  if (kind == FileKind::Run)
    return inspectError(inspect.command + ": " + shown(options->model) +
                        " is a training run; summary, log, show, diff, view "
                        "and serve take runs");
  if (kind == FileKind::Lock)
    return inspectLock(inspect, *options);
  if (kind == FileKind::Weights)
    return inspectCheckpoint(inspect, *options);
  return kind == FileKind::Program ? inspectBinary(inspect, *options)
                                   : inspectModel(inspect, *options, targets);
}
