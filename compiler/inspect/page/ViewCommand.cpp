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
#include "compiler/inspect/FileKind.h"
#include "compiler/inspect/InspectOptions.h"
#include "compiler/inspect/InspectedModel.h"
#include "compiler/inspect/KernelCode.h"
#include "compiler/inspect/KernelView.h"
#include "compiler/inspect/page/GraphFormats.h"
#include "compiler/inspect/page/Page.h"
#include "compiler/inspect/page/Serve.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr uint16_t kDefaultPort = 8700;

const char *const compiler::kViewHelp =
    "  --with=FILE                   of view: a second model or trace, side by "
    "side\n"
    "  --profile=FILE                of view: times of 'sinter-run "
    "--trace-events'\n"
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
  std::vector<std::string> rest; // for parseOptions
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

// The contents of a regular file; an error names it.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegular(const std::string &path) {
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return llvm::createStringError(shown(path) + ": not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(shown(path) + ": " +
                                   buffer.getError().message());
  return std::move(*buffer);
}

static int readTrace(const std::string &path, PageProgram &program) {
  auto bytes = readRegular(path);
  if (!bytes)
    return inspectError(llvm::toString(bytes.takeError()));
  std::string wrong = program.trace.read((*bytes)->getBuffer());
  if (wrong.empty() && program.trace.steps.empty())
    wrong = "has no pass";
  return wrong.empty() ? int(kExitDone)
                       : inspectError(shown(path) + ": " + wrong);
}

// The x86 code of the kernels, and what is known of each.
static int addMachineCode(Compilation &compilation, PageProgram &program) {
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
  for (const KernelView &view : kernelViews(artifact)) {
    program.kernels[view.name] =
        json::Object{{"kind", view.kind},
                     {"bytes read", view.bytesRead},
                     {"bytes written", view.bytesWritten},
                     {"FLOPs", view.flops.total()}};
    if (std::string text = code.x86(*view.kernel); !text.empty())
      program.code["asm"][view.name] = std::move(text);
  }
  return kExitDone;
}

static int addCode(Compilation &compilation, PageProgram &program) {
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
  return addMachineCode(compilation, program);
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
  return isPlanned ? addCode(*compilation, program) : int(kExitDone);
}

int compiler::viewGraph(const Options &options,
                        llvm::ArrayRef<TargetFactory> targets) {
  std::string path = options.output;
  if (std::string wrong = whyNotWritable(path, options.model); !wrong.empty())
    return inspectError(wrong);
  std::vector<PageProgram> programs(1);
  Options shown = options;
  if (shown.stopAfter.empty())
    shown.stopAfter = "simplify";
  programs.front().title = llvm::sys::path::filename(options.model).str();
  if (int code = compileModel(shown, targets, programs.front()))
    return code;
  std::string wrong = writeFile(path, [&](llvm::raw_ostream &os) {
    writePage(programs, programs.front().title, os);
  });
  return wrong.empty() ? int(kExitDone) : inspectError(wrong);
}

static int readProgram(const Options &options,
                       llvm::ArrayRef<TargetFactory> targets,
                       PageProgram &program) {
  program.title = llvm::sys::path::filename(options.model).str();
  FileKind kind = fileKindOf(options.model);
  if (kind == FileKind::Trace)
    return readTrace(options.model, program);
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

static int write(const std::vector<PageProgram> &programs, ViewFormat format,
                 const Options &options) {
  std::string path = options.output.empty() ? "-" : options.output;
  std::string wrong = writeFile(path, [&](llvm::raw_ostream &os) {
    switch (format) {
    case ViewFormat::Html:
      return writePage(programs, programs.front().title, os);
    case ViewFormat::ModelExplorer:
      return writeModelExplorer(programs, os);
    case ViewFormat::TraceEvents:
      return writeTraceEvents(programs.front(), os);
    case ViewFormat::Data:
      return writePageData(programs, os);
    }
  });
  return wrong.empty() ? int(kExitDone) : inspectError(wrong);
}

// A profile is of one program. One of other compile options would give times to
// the wrong commands.
static int readTimes(const ViewOptions &view, PageProgram &program) {
  auto bytes = readRegular(view.profile);
  if (!bytes)
    return inspectError(llvm::toString(bytes.takeError()));
  std::string wrong = readProfile((*bytes)->getBuffer(), program.commandMicros);
  if (!wrong.empty())
    return inspectError(shown(view.profile) + ": " + wrong);
  std::vector<size_t> counts = commandCounts(program.trace);
  if (!llvm::is_contained(counts, program.commandMicros.size()))
    return inspectError(
        shown(view.profile) + ": is of a program with " +
        llvm::Twine(program.commandMicros.size()) + " commands, which " +
        shown(program.title) +
        " does not have; use the compile options of the profiled run");
  return kExitDone;
}

static int readOverlayFile(const std::string &path, PageProgram &program) {
  auto bytes = readRegular(path);
  if (!bytes)
    return inspectError(llvm::toString(bytes.takeError()));
  std::string wrong = readOverlays((*bytes)->getBuffer(), program.overlays);
  return wrong.empty() ? int(kExitDone)
                       : inspectError(shown(path) + ": " + wrong);
}

static int readPrograms(const ViewOptions &view, const Options &options,
                        llvm::ArrayRef<TargetFactory> targets,
                        std::vector<PageProgram> &programs) {
  programs.emplace_back();
  if (!view.overlay.empty())
    if (int code = readOverlayFile(view.overlay, programs.front()))
      return code;
  if (int code = readProgram(options, targets, programs.front()))
    return code;
  if (!view.profile.empty())
    if (int code = readTimes(view, programs.front()))
      return code;
  return view.with.empty() ? int(kExitDone)
                           : readSecond(view, options, targets, programs);
}

int compiler::viewProgram(llvm::ArrayRef<std::string> args,
                          llvm::ArrayRef<TargetFactory> targets) {
  ViewOptions view = splitArguments(args);
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
  std::vector<std::string> inputs{options->model};
  for (const std::string &path : {view.with, view.profile, view.overlay})
    if (!path.empty())
      inputs.push_back(path);
  std::string path = options->output.empty() ? "-" : options->output;
  if (std::string wrong = whyNotWritable(path, inputs); !wrong.empty())
    return inspectError(wrong);
  std::vector<PageProgram> programs;
  if (int code = readPrograms(view, *options, targets, programs))
    return code;
  return write(programs, *format, *options);
}

int compiler::serveProgram(llvm::ArrayRef<std::string> args,
                           llvm::ArrayRef<TargetFactory> targets) {
  ViewOptions view = splitArguments(args);
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
  std::vector<std::string> files{options->model};
  for (const std::string &path : {view.with, view.profile, view.overlay})
    if (!path.empty())
      files.push_back(path);
  return servePage(port, files, [&](std::string &page) {
    std::vector<PageProgram> programs;
    if (int code = readPrograms(view, *options, targets, programs))
      return code;
    llvm::raw_string_ostream os(page);
    writePage(programs, programs.front().title, os);
    return int(kExitDone);
  });
}
