//===- InspectTool.cpp - the logic of sinter-inspect ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/InspectTool.h"

#include "compiler/Phases.h"
#include "compiler/base/Process.h"
#include "compiler/base/Text.h"
#include "compiler/checks/Check.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/MicroBatches.h"
#include "compiler/emit/Jit.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/inspect/ArtifactImage.h"
#include "compiler/inspect/ArtifactReport.h"
#include "compiler/inspect/CheckpointReport.h"
#include "compiler/inspect/GraphReport.h"
#include "compiler/inspect/PlacementView.h"
#include "compiler/inspect/PrecisionView.h"
#include "compiler/inspect/TraceReport.h"
#include "compiler/inspect/Why.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {

// The options that sinter-inspect has besides those of a compilation.
struct InspectOptions {
  std::string command = "summary";
  TraceFilter filter;
  bool json = false, llvm = false;
  std::string pattern;             // of grep
  std::string from, to;            // of diff: steps of a trace
  std::vector<Question> questions; // of why
  PlanPage planPage = nullptr;
  std::vector<std::string> rest; // for parseOptions
};

struct Command {
  const char *name;
  const char *summary;
  bool done;
};

constexpr Command kCommands[] = {
    {"summary", "inputs, outputs, state, work, memory (the default)", true},
    {"log", "one line for each pass of a trace", true},
    {"show", "the IR after each pass of a trace", true},
    {"diff", "what each pass of a trace changed", true},
    {"rewrites", "each rewrite of the passes of a trace: before and after",
     true},
    {"graph", "the graph as .html, .dot or .json", true},
    {"plan", "commands and buffers in order; -o x.html: the arena over time",
     true},
    {"kernels", "generated kernels and library calls", true},
    {"blame", "each line of the last IR, and the pass that made it", true},
    {"grep",
     "lines that match REGEX, and the passes that added or removed them", true},
    {"precision", "the precision of each op, and why", true},
    {"placement", "the device of each node, why, and what is copied", true},
    {"why", "why something was done or not; see the options below", true},
    {"bisect", "the first phase that changes results", false},
};

const Command *findCommand(StringRef name) {
  for (const Command &command : kCommands)
    if (name == command.name)
      return &command;
  return nullptr;
}

} // namespace

static int fail(const llvm::Twine &message, int code = kExitUsage) {
  llvm::errs() << "sinter-inspect: error: " << message << "\n";
  return code;
}

// Takes "--OPTION=VALUE" of `why`.
static bool takeQuestion(StringRef text, std::vector<Question> &questions) {
  auto [option, about] = text.split('=');
  if (!text.contains('='))
    return false;
  for (const QuestionKind &kind : questionKinds())
    if (option == kind.option) {
      questions.push_back({option.str(), about.str()});
      return true;
    }
  return false;
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
    else
      options.rest.push_back(arg);
  }
  return options;
}

// Pipes and devices are not opened: reading them may block or never end.
static bool isBinary(StringRef path) {
  llvm::file_magic magic;
  return llvm::sys::fs::is_regular_file(path) &&
         !llvm::identify_magic(path, magic) && magic >= llvm::file_magic::elf &&
         magic <= llvm::file_magic::elf_core;
}

static bool isTrace(StringRef path) {
  if (!llvm::sys::fs::is_regular_file(path))
    return false;
  auto start = llvm::MemoryBuffer::getFileSlice(path, Trace::kMagic.size(), 0);
  return start && (*start)->getBuffer() == Trace::kMagic;
}

// Takes the words behind a trace: "show TRACE PASS", "blame TRACE OP" and
// "diff TRACE PASS PASS".
static void takeTraceWords(InspectOptions &inspect) {
  auto isWord = [](const std::string &text) { return text[0] != '-'; };
  std::vector<std::string> &rest = inspect.rest;
  auto file = llvm::find_if(rest, isWord);
  if (file == rest.end() || !isTrace(*file))
    return;
  std::vector<std::string> words;
  llvm::copy_if(llvm::make_range(file + 1, rest.end()),
                std::back_inserter(words), isWord);
  std::string *only = inspect.command == "show" || inspect.command == "log" ||
                              inspect.command == "rewrites" ||
                              inspect.command == "diff"
                          ? &inspect.filter.pass
                      : inspect.command == "blame" ? &inspect.filter.op
                                                   : nullptr;
  if (words.size() == 1 && only && only->empty())
    *only = words.front();
  else if (words.size() == 2 && inspect.command == "diff")
    std::tie(inspect.from, inspect.to) = std::tie(words[0], words[1]);
  else
    return;
  rest.erase(std::remove_if(file + 1, rest.end(), isWord), rest.end());
}

static void printInspectHelp(const Options &options) {
  std::string text = "\nCommands:\n";
  llvm::raw_string_ostream os(text);
  for (const Command &command : kCommands)
    if (command.done)
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
        "  --llvm                        kernels as LLVM IR\n"
        "\nOptions of why (may be repeated):\n";
  for (const QuestionKind &kind : questionKinds())
    os << "  "
       << llvm::left_justify("--" + std::string(kind.option) + "=" + kind.about,
                             28)
       << "  " << kind.summary << "\n";
  printHelp(llvm::outs(), options, kSinterInspect,
            "sinter-inspect [COMMAND] FILE [options]", text);
}

// Prints with `report` to -o FILE, or to stdout.
static int print(const Options &options,
                 llvm::function_ref<void(llvm::raw_ostream &)> report) {
  std::string path = options.output.empty() ? "-" : options.output;
  std::string wrong = whyNotWritable(path, options.model);
  if (wrong.empty())
    wrong = writeFile(path, [&](llvm::raw_ostream &os) { report(os); });
  return wrong.empty() ? int(kExitDone) : fail(wrong);
}

//===----------------------------------------------------------------------===//
// Kinds of files
//===----------------------------------------------------------------------===//

// Answers the questions of `why`.
static int explain(const Trace &trace, const InspectOptions &inspect,
                   const Options &options) {
  WhyIndex index(trace);
  std::vector<Answer> answers;
  for (const Question &question : inspect.questions) {
    answers.push_back(index.answer(question));
    if (!answers.back().problem.empty())
      return fail(answers.back().problem);
  }
  return print(options, [&](llvm::raw_ostream &os) {
    printAnswers(inspect.questions, answers, inspect.json, os);
  });
}

// A report that counts what it prints; finding nothing is a failure.
static int printFound(const Options &options, const llvm::Twine &nothing,
                      llvm::function_ref<size_t(llvm::raw_ostream &)> report) {
  size_t count = 0;
  int code = print(options, [&](llvm::raw_ostream &os) { count = report(os); });
  return code || count ? code : fail(nothing, kExitFailed);
}

static int grepTrace(const Trace &trace, const InspectOptions &inspect,
                     const Options &options) {
  llvm::Regex pattern(inspect.pattern);
  if (std::string problem; !pattern.isValid(problem))
    return fail(quoted(inspect.pattern) + ": " + problem);
  return printFound(options, "no line matches " + quoted(inspect.pattern),
                    [&](llvm::raw_ostream &os) {
                      return printTraceGrep(trace, inspect.filter, pattern, os);
                    });
}

static int inspectTrace(const InspectOptions &inspect, const Options &options) {
  if (llvm::sys::fs::exists(options.model) &&
      !llvm::sys::fs::is_regular_file(options.model))
    return fail(shown(options.model) + ": not a regular file");
  auto bytes = llvm::MemoryBuffer::getFile(options.model);
  if (!bytes)
    return fail(shown(options.model) + ": " + bytes.getError().message());
  Trace trace;
  std::string wrong = trace.read((*bytes)->getBuffer());
  if (!wrong.empty())
    return fail(shown(options.model) + ": " + wrong);
  if (!hasPass(trace, inspect.filter))
    return fail("--pass=" + shown(inspect.filter.pass) +
                ": the trace has no such pass, phase or number; "
                "'sinter-inspect log' lists them");
  if (inspect.command == "why")
    return explain(trace, inspect, options);
  if (inspect.json) {
    if (inspect.command == "blame" || inspect.command == "grep" ||
        !inspect.to.empty())
      return fail(inspect.command + ": has no JSON form; 'diff --json' has all "
                                    "lines that each pass changed");
    return print(options, [&](llvm::raw_ostream &os) {
      bool isLog = inspect.command == "log" || inspect.command == "summary";
      printTraceJson(trace, inspect.filter, /*text=*/!isLog, os);
    });
  }
  if (inspect.command == "grep")
    return grepTrace(trace, inspect, options);
  if (inspect.command == "blame")
    return printFound(options, "no such line", [&](llvm::raw_ostream &os) {
      return printTraceBlame(trace, inspect.filter, os);
    });
  if (inspect.command == "rewrites")
    return printFound(options, "no such rewrite", [&](llvm::raw_ostream &os) {
      return printTraceRewrites(trace, inspect.filter, os);
    });
  if (!inspect.to.empty()) {
    std::string wrong;
    int code = print(options, [&](llvm::raw_ostream &os) {
      wrong = printTraceBetween(trace, inspect.from, inspect.to, os);
    });
    return code || wrong.empty() ? code : fail(wrong);
  }
  auto report = inspect.command == "show"   ? printTraceShow
                : inspect.command == "diff" ? printTraceDiff
                                            : printTraceLog;
  return print(options, [&](llvm::raw_ostream &os) {
    report(trace, inspect.filter, os);
  });
}

static int inspectCheckpoint(const InspectOptions &inspect,
                             const Options &options) {
  if (inspect.command != "summary" || inspect.llvm)
    return fail(shown(options.model) +
                ": holds states only; give the model or the trainer");
  auto checkpoint = CheckpointSummary::read(options.model);
  if (!checkpoint)
    return fail(llvm::toString(checkpoint.takeError()));
  return print(options, [&](llvm::raw_ostream &os) {
    reportCheckpoint(*checkpoint, inspect.json, os);
  });
}

/// Prints one report after the other. In JSON, several reports become a list.
/// An HTML page holds only one.
static int reportArtifacts(const InspectOptions &inspect,
                           const Options &options,
                           llvm::ArrayRef<const sinter_artifact *> artifacts) {
  bool isPlan = inspect.command == "plan";
  StringRef output = options.output;
  if (isPlan && output.ends_with(".html")) {
    if (artifacts.size() > 1)
      return fail(shown(options.model) +
                  ": has plans for several targets: choose one "
                  "with --target");
    return print(options, [&](llvm::raw_ostream &os) {
      os << inspect.planPage(*artifacts.front());
    });
  }
  bool json = inspect.json || (isPlan && output.ends_with(".json"));
  auto report = inspect.command == "plan"        ? reportPlan
                : inspect.command == "kernels"   ? reportKernels
                : inspect.command == "precision" ? reportPrecision
                : inspect.command == "placement" ? reportPlacement
                                                 : reportSummary;
  const bool isList = json && artifacts.size() > 1;
  return print(options, [&](llvm::raw_ostream &os) {
    for (auto [i, artifact] : llvm::enumerate(artifacts)) {
      if (isList)
        os << (i ? "," : "[");
      else if (artifacts.size() > 1)
        os << (i ? "\n" : "") << "target " << artifact->target << ":\n";
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
    return fail(shown(options.model) +
                ": a compiled program does not have the reasons; give the "
                "model, or a trace of its compilation");
  if (inspect.command == "graph" || inspect.llvm)
    return fail(shown(options.model) +
                ": a compiled program has no graph; give the model");
  auto image = ArtifactImage::read(options.model);
  if (!image)
    return fail(shown(options.model) + ": " +
                llvm::toString(image.takeError()));
  auto chosen = chooseTargets(options, (*image)->artifacts());
  if (!chosen)
    return fail(shown(options.model) + ": " +
                llvm::toString(chosen.takeError()));
  return reportArtifacts(inspect, options, *chosen);
}

static int printModuleGraph(const InspectOptions &inspect,
                            const Options &options, Compilation &compilation) {
  GraphForm form = GraphForm::Dot;
  StringRef output = options.output;
  if (inspect.json || output.ends_with(".json"))
    form = GraphForm::Json;
  else if (output.ends_with(".html"))
    form = GraphForm::Html;
  return print(options, [&](llvm::raw_ostream &os) {
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
    return fail("--stop-after=" + options.stopAfter +
                ": no graph is left after this phase; 'plan' shows the plan");
  if (std::string wrong = checkMicroBatches(options); !wrong.empty())
    return fail(wrong);
  CompileState state(options);
  TargetSet set = createTargets(options, state, targets);
  if (!set.main)
    return kExitUsage;
  SharedModel model;
  if (ExitCode code = readModel(options, model))
    return code;
  if (makeUpSizes(*model, options, state))
    noteMadeUpSizes(options);
  if (ExitCode code = splitBatch(options, state, model, targets))
    return code;
  Compilation compilation(options, std::move(state), std::move(set));
  if (ExitCode code = compilation.checkOptions())
    return code;
  compilation.model = std::move(model);
  compilation.keepsTrace = inspect.command == "why";
  if (ExitCode code = compilation.run(*last))
    return code;
  if (inspect.command == "why")
    return explain(*compilation.trace(), inspect, options);
  if (isGraph)
    return printModuleGraph(inspect, options, compilation);
  if (inspect.llvm) {
    auto code = compilation.kernelText(passes::CodeForm::Llvm);
    if (failed(code))
      return kExitFailed;
    return print(options, [&](llvm::raw_ostream &os) { os << code->text; });
  }
  CompiledProgram program;
  if (ExitCode code = compilation.emit(program))
    return code;
  compilation.reportTimes();
  auto jit = Jit::create(program);
  if (!jit)
    return fail(StringRef(llvm::toString(jit.takeError())).split('\n').first,
                kExitFailed);
  return reportArtifacts(inspect, options, (*jit)->artifact());
}

int compiler::sinterInspect(int argc, char **argv,
                            llvm::ArrayRef<TargetFactory> targets,
                            PlanPage planPage) {
  prepareProcess("sinter-inspect");
  InspectOptions inspect = splitArguments(argumentsOf(argc, argv));
  inspect.planPage = planPage;
  takeTraceWords(inspect);
  bool isHelp = llvm::is_contained(inspect.rest, "--help");
  // Checked before the options are parsed, because parseOptions does not know
  // the options that such a command may have.
  if (!findCommand(inspect.command)->done && !isHelp)
    return fail(inspect.command + ": not yet");
  auto isWord = [](StringRef text) { return !text.starts_with("-"); };
  if (inspect.command == "diff" && llvm::count_if(inspect.rest, isWord) == 2)
    return fail("diff of two files: not yet");
  // The command is the first argument. A first word that is neither a command
  // nor a file, with another word after it, is a misspelled command.
  if (inspect.command == "summary" && inspect.rest.size() > 1 &&
      isWord(inspect.rest[0]) && isWord(inspect.rest[1]) &&
      !llvm::sys::fs::exists(inspect.rest[0]))
    return fail("unknown command '" + shown(inspect.rest[0]) +
                "'; --help lists the commands");
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
  if (inspect.command == "why" && inspect.questions.empty())
    return fail("why: expected a question, such as --not-fused=NODE,NODE; "
                "--help lists them");
  if (inspect.command == "grep" && inspect.pattern.empty())
    return fail("grep: expected REGEX and a trace");
  bool ofTrace = inspect.command == "log" || inspect.command == "show" ||
                 inspect.command == "diff" || inspect.command == "blame" ||
                 inspect.command == "grep" || inspect.command == "rewrites" ||
                 ((inspect.command == "summary" || inspect.command == "why") &&
                  isTrace(options->model));
  if (ofTrace)
    return inspectTrace(inspect, *options);
  if (llvm::sys::fs::is_directory(options->model) ||
      SafetensorsFile::isOne(options->model))
    return inspectCheckpoint(inspect, *options);
  return isBinary(options->model) ? inspectBinary(inspect, *options)
                                  : inspectModel(inspect, *options, targets);
}
