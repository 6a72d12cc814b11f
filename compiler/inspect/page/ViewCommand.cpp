//===- ViewCommand.cpp - sinter-inspect view ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/ViewCommand.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/emit/Jit.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/inspect/ArtifactImage.h"
#include "compiler/inspect/ArtifactReport.h"
#include "compiler/inspect/FileKind.h"
#include "compiler/inspect/InspectOptions.h"
#include "compiler/inspect/InspectedModel.h"
#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/KernelCode.h"
#include "compiler/inspect/KernelView.h"
#include "compiler/inspect/page/GraphFormats.h"
#include "compiler/inspect/page/Page.h"
#include "compiler/inspect/page/PageWork.h"
#include "compiler/inspect/page/Serve.h"
#include "compiler/inspect/page/ViewFiles.h"
#include "compiler/inspect/run/RunPage.h"
#include "compiler/inspect/run/RunTool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr uint16_t kDefaultPort = 8700;

const char *const compiler::kViewHelp =
    "  --with=FILE                   of view: a second model or trace, side by "
    "side\n"
    "  --profile=FILE                of view: times that --trace-events of "
    "sinter-run or a trainer wrote\n"
    "  --overlay=FILE                of view: numbers of nodes as colors: "
    "{TITLE: {NODE: N}}\n"
    "  --format=FORMAT               of view: html, model-explorer, "
    "trace-events or\n"
    "                                data (--json); by default from the name "
    "of the output\n"
    "  --port=N                      of serve: 0 takes a free one; default "
    "8700\n";

namespace {

enum class ViewFormat { Html, ModelExplorer, TraceEvents, Data };

struct ViewOptions {
  std::string with, profile, overlay, format, port;
  std::vector<std::string> runs;     // training runs
  std::vector<std::string> compiled; // trainers beside runs
  bool hasProgram = true;            // a model or a trace
  std::vector<std::string> rest;     // for parseOptions

  /// The files of the programs that the options name besides the first.
  std::vector<std::string> otherFiles() const {
    std::vector<std::string> files;
    for (const std::string &path : {with, profile, overlay})
      if (!path.empty())
        files.push_back(path);
    return files;
  }
};

} // namespace

static ViewOptions splitArguments(llvm::ArrayRef<std::string> args) {
  ViewOptions options;
  for (const std::string &arg : args) {
    StringRef text = arg;
    if (text.consume_front("--with="))
      options.with = text.str();
    else if (text.consume_front("--profile="))
      options.profile = text.str();
    else if (text.consume_front("--overlay="))
      options.overlay = text.str();
    else if (text.consume_front("--format="))
      options.format = text.str();
    else if (text.consume_front("--port="))
      options.port = text.str();
    else if (text == "--json")
      options.format = "data";
    else
      options.rest.push_back(arg);
  }
  return options;
}

// Takes the training runs out of the words, and beside runs also compiled
// programs. Options are parsed with a model: without one, the first run stands
// for it.
static void takeRunsAndPrograms(ViewOptions &view) {
  view.runs = takeRuns(view.rest, /*takesCheckpoints=*/true);
  if (view.runs.empty())
    return;
  bool isValue = false;
  view.hasProgram = false;
  llvm::erase_if(view.rest, [&](const std::string &arg) {
    const bool isFile = !isValue && !StringRef(arg).starts_with("-");
    isValue = llvm::is_contained({"-o", "--output", "-j"}, StringRef(arg));
    const bool isCompiled = isFile && fileKindOf(arg) == FileKind::Program;
    if (isCompiled)
      view.compiled.push_back(arg);
    view.hasProgram |= isFile && !isCompiled;
    return isCompiled;
  });
  if (!view.hasProgram)
    view.rest.push_back(view.runs.front());
}

// The first option that has no effect without a model; "" if there is none.
static std::string idleOption(const ViewOptions &view, const Options &options) {
  if (view.hasProgram)
    return "";
  for (auto [name, value] :
       {std::pair{"--with", &view.with}, std::pair{"--profile", &view.profile},
        std::pair{"--overlay", &view.overlay}})
    if (!value->empty())
      return name;
  for (const OptionRow *row : options.given)
    if (StringRef name = flagName(*row);
        !llvm::is_contained({"--output", "--verbose"}, name))
      return name.str();
  return "";
}

// The x86 code of the kernels, and what is known of each.
static int addMachineCode(Compilation &compilation, const Options &options,
                          PageProgram &program) {
  CompiledProgram compiled;
  if (ExitCode code = compilation.emit(compiled))
    return code;
  auto jit = Jit::create(compiled);
  if (!jit)
    return inspectError(
        StringRef(llvm::toString(jit.takeError())).split('\n').first,
        kExitFailed);
  const sinter_artifact &artifact = *(*jit)->artifact();
  KernelCode code(artifact, compiled.objects);
  for (const KernelView &view : kernelViews(artifact))
    if (std::string text = code.x86(*view.kernel); !text.empty())
      program.code["asm"][view.name] = std::move(text);
  addWork(artifact, program);
  if (program.isProfiled)
    addLeastTimes(artifact, options, program);
  return kExitDone;
}

static int addCode(Compilation &compilation, const Options &options,
                   PageProgram &program) {
  auto llvmText = compilation.kernelText(passes::CodeForm::Llvm);
  if (failed(llvmText))
    return kExitFailed;
  program.code["llvm"] = splitLlvm(llvmText->text);
  if (llvm::any_of(compilation.devices, [](const auto &device) {
        return device.target->traits().hasPtx;
      })) {
    auto ptx = compilation.kernelText(passes::CodeForm::Ptx);
    if (failed(ptx))
      return kExitFailed;
    program.code["ptx"] = splitPtx(ptx->text);
  }
  return addMachineCode(compilation, options, program);
}

static int compileModel(const Options &options,
                        llvm::ArrayRef<TargetFactory> targets,
                        PageProgram &program) {
  const Phase *plan = findPhase("plan"), *last = plan;
  if (!options.stopAfter.empty())
    last = findPhase(options.stopAfter);
  bool isPlanned = phaseIndex(*last) >= phaseIndex(*plan);
  ExitCode code = kExitDone;
  std::unique_ptr<Compilation> compilation =
      compileToInspect(options, isPlanned ? *plan : *last, targets, code,
                       /*notesSizes=*/true, /*keepsTrace=*/true);
  if (!compilation)
    return code;
  program.trace = *compilation->trace();
  return isPlanned ? addCode(*compilation, options, program) : int(kExitDone);
}

int compiler::viewGraph(const Options &options,
                        llvm::ArrayRef<TargetFactory> targets) {
  std::string path = options.output;
  if (std::string wrong = whyNotWritable(path, options.model); !wrong.empty())
    return inspectError(wrong);
  PageContent content;
  PageProgram &program = content.programs.emplace_back();
  Options shown = options;
  if (shown.stopAfter.empty())
    shown.stopAfter = "simplify";
  program.title = llvm::sys::path::filename(options.model).str();
  if (int code = compileModel(shown, targets, program))
    return code;
  std::string wrong = writeFile(path, [&](llvm::raw_ostream &os) {
    writePage(content, program.title, os);
  });
  return wrong.empty() ? int(kExitDone) : inspectError(wrong);
}

static int readProgram(const Options &options,
                       llvm::ArrayRef<TargetFactory> targets,
                       PageProgram &program) {
  program.title = llvm::sys::path::filename(options.model).str();
  FileKind kind = fileKindOf(options.model);
  if (kind == FileKind::Trace)
    return readTraceFile(options.model, program);
  if (kind == FileKind::Program)
    return inspectError(
        shown(options.model) +
        ": a compiled program has no passes; give the model, or the "
        "trace of 'sinterc --trace'");
  return compileModel(options, targets, program);
}

// The second file is compiled with the options of the first.
static int readSecond(const ViewOptions &view, const Options &options,
                      llvm::ArrayRef<TargetFactory> targets,
                      std::vector<PageProgram> &programs) {
  std::vector<std::string> args;
  for (const std::string &arg : view.rest)
    args.push_back(arg == options.model ? view.with : arg);
  std::optional<const Options> second =
      parseOptions("sinter-inspect", kSinterInspect, kindsOf(targets), args);
  if (!second)
    return kExitUsage;
  return readProgram(*second, targets, programs.emplace_back());
}

static std::optional<ViewFormat> formatOf(const ViewOptions &view,
                                          StringRef output) {
  StringRef name = view.format;
  if (name.empty())
    name = output.ends_with(".trace.json") ? "trace-events"
           : output.ends_with(".json")     ? "model-explorer"
                                           : "html";
  if (view.format.empty() &&
      llvm::is_contained({".svg", ".png", ".pdf", ".dot"},
                         llvm::sys::path::extension(output)))
    return std::nullopt;
  return llvm::StringSwitch<std::optional<ViewFormat>>(name)
      .Case("html", ViewFormat::Html)
      .Case("model-explorer", ViewFormat::ModelExplorer)
      .Case("trace-events", ViewFormat::TraceEvents)
      .Case("data", ViewFormat::Data)
      .Default(std::nullopt);
}

static std::string titleOf(const PageContent &content) {
  if (!content.programs.empty())
    return content.programs.front().title;
  std::string title;
  for (const json::Value &run : content.runs)
    title += (title.empty() ? "" : ", ") +
             run.getAsObject()->getString("title").value_or("").str();
  return title;
}

static int write(const PageContent &content, ViewFormat format,
                 const Options &options) {
  std::string path = options.output.empty() ? "-" : options.output;
  std::string wrong = writeFile(path, [&](llvm::raw_ostream &os) {
    switch (format) {
    case ViewFormat::Html:
      return writePage(content, titleOf(content), os);
    case ViewFormat::ModelExplorer:
      return writeModelExplorer(content.programs, os);
    case ViewFormat::TraceEvents:
      return writeTraceEvents(content.programs.front(), os);
    case ViewFormat::Data:
      return writePageData(content, os);
    }
  });
  return wrong.empty() ? int(kExitDone) : inspectError(wrong);
}

static int readPrograms(const ViewOptions &view, const Options &options,
                        llvm::ArrayRef<TargetFactory> targets,
                        std::vector<PageProgram> &programs) {
  programs.emplace_back();
  if (!view.overlay.empty())
    if (int code = readOverlayFile(view.overlay, programs.front()))
      return code;
  programs.front().isProfiled = !view.profile.empty();
  if (int code = readProgram(options, targets, programs.front()))
    return code;
  if (!view.profile.empty())
    if (int code = readProfileFile(view.profile, programs.front()))
      return code;
  return view.with.empty() ? int(kExitDone)
                           : readSecond(view, options, targets, programs);
}

static int addRuns(const ViewOptions &view, PageContent &content) {
  std::vector<Run> runs;
  if (int code = readRuns(view.runs, runs))
    return code;
  for (const Run &run : runs)
    content.runs.push_back(runPageJson(run));
  return kExitDone;
}

// What a compiled program is, as the summary tells it.
static int addReports(const ViewOptions &view, PageContent &content) {
  for (const std::string &path : view.compiled) {
    auto image = ArtifactImage::read(path);
    if (!image)
      return inspectError(shown(path) + ": " +
                          llvm::toString(image.takeError()));
    for (const sinter_artifact *artifact : (*image)->artifacts()) {
      std::string text;
      llvm::raw_string_ostream os(text);
      reportSummary(*artifact, /*json=*/false, os);
      content.reports.push_back(
          json::Object{{"title", utf8(llvm::sys::path::filename(path))},
                       {"build_id", utf8(artifact->buildId)},
                       {"text", utf8(os.str())}});
    }
  }
  return kExitDone;
}

static int readContent(const ViewOptions &view, const Options &options,
                       llvm::ArrayRef<TargetFactory> targets,
                       PageContent &content) {
  if (view.hasProgram)
    if (int code = readPrograms(view, options, targets, content.programs))
      return code;
  if (int code = addReports(view, content))
    return code;
  return addRuns(view, content);
}

int compiler::viewProgram(llvm::ArrayRef<std::string> args,
                          llvm::ArrayRef<TargetFactory> targets) {
  ViewOptions view = splitArguments(args);
  takeRunsAndPrograms(view);
  std::optional<const Options> options = parseOptions(
      "sinter-inspect", kSinterInspect, kindsOf(targets), view.rest);
  if (!options)
    return kExitUsage;
  if (!view.port.empty())
    return inspectError("--port: only 'serve' has a port");
  std::optional<ViewFormat> format = formatOf(view, options->output);
  if (!format)
    return inspectError(
        (view.format.empty() ? "-o " + shown(options->output)
                             : "--format=" + shown(view.format)) +
        ": expected html, model-explorer, trace-events or data");
  if (*format == ViewFormat::TraceEvents && !view.with.empty())
    return inspectError("--with: trace events are of one program");
  if (!view.runs.empty() && *format != ViewFormat::Html &&
      *format != ViewFormat::Data)
    return inspectError(shown(view.runs.front()) +
                        ": training runs are in the page and in --json only");
  if (std::string idle = idleOption(view, *options); !idle.empty())
    return inspectError(idle + ": has no effect without a model");
  std::vector<std::string> inputs = view.otherFiles();
  inputs.push_back(options->model);
  llvm::append_range(inputs, view.runs);
  llvm::append_range(inputs, view.compiled);
  std::string path = options->output.empty() ? "-" : options->output;
  if (std::string wrong = whyNotWritable(path, inputs); !wrong.empty())
    return inspectError(wrong);
  PageContent content;
  if (int code = readContent(view, *options, targets, content))
    return code;
  return write(content, *format, *options);
}

int compiler::serveProgram(llvm::ArrayRef<std::string> args,
                           llvm::ArrayRef<TargetFactory> targets) {
  ViewOptions view = splitArguments(args);
  takeRunsAndPrograms(view);
  std::optional<const Options> options = parseOptions(
      "sinter-inspect", kSinterInspect, kindsOf(targets), view.rest);
  if (!options)
    return kExitUsage;
  if (!options->output.empty() || !view.format.empty())
    return inspectError("serve writes no file; 'view' does");
  uint16_t port = kDefaultPort;
  if (!view.port.empty() && StringRef(view.port).getAsInteger(10, port))
    return inspectError("--port=" + shown(view.port) +
                        ": expected a number from 0 (any free port) to 65535");
  if (std::string idle = idleOption(view, *options); !idle.empty())
    return inspectError(idle + ": has no effect without a model");
  std::vector<std::string> files = view.otherFiles();
  if (view.hasProgram)
    files.push_back(options->model);
  llvm::append_range(files, view.compiled);
  // A run grows, its program does not: the program is not compiled again for
  // each new record.
  const std::vector<std::string> programFiles = files;
  std::vector<Run> runs;
  if (int code = readRuns(view.runs, runs))
    return code;
  for (const Run &run : runs)
    for (const std::string &path : {run.logPath, run.checkpoints})
      if (!path.empty())
        files.push_back(path);
  runs.clear();
  PageContent content;
  std::string made;
  return servePage(port, files, [&](std::string &page) {
    PageContent next;
    if (std::string stamp = stampOfFiles(programFiles); stamp != made) {
      if (int code = readContent(view, *options, targets, next))
        return code;
      content = std::move(next);
      made = std::move(stamp);
    } else {
      if (int code = addRuns(view, next))
        return code;
      content.runs = std::move(next.runs);
    }
    llvm::raw_string_ostream os(page);
    writePage(content, titleOf(content), os);
    return int(kExitDone);
  });
}
