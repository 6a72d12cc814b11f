//===- Sinterc.cpp - what sinterc writes ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/Check.h"
#include "compiler/Diagnostics.h"
#include "compiler/Driver.h"
#include "compiler/Phases.h"
#include "compiler/Process.h"
#include "compiler/emit/LibraryHeader.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/import/onnx/Text.h"

#include "mlir/Bytecode/BytecodeWriter.h"

#include <chrono>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static ExitCode report(const Options &options, const std::string &problem,
                       ExitCode code) {
  if (problem.empty())
    return kExitDone;
  reportError(options, problem);
  return code;
}

// Text, or bytecode when the file's name asks for it; weights included in both.
static ExitCode writeModule(const Options &options, Compilation &compilation) {
  bool bytecode = StringRef(options.output).ends_with(".mlirbc");
  std::string path = options.output.empty() ? "-" : options.output;
  bool failedToWrite = false;
  std::string problem = writeFile(path, [&](llvm::raw_ostream &os) {
    if (bytecode) {
      failedToWrite =
          failed(mlir::writeBytecodeToFile(compilation.module(), os));
    } else {
      compilation.module().print(os, mlir::OpPrintingFlags().enableDebugInfo());
      os << "\n";
    }
  });
  if (problem.empty() && failedToWrite)
    problem = shown(path) + ": the module cannot be written as bytecode";
  return report(options, problem, kExitUsage);
}

static ExitCode writeKernelText(const Options &options,
                                Compilation &compilation) {
  passes::CodeGenOptions codeGen;
  codeGen.optLevel = options.optLevel;
  codeGen.form = options.emitKind() == "ptx" ? passes::CodeForm::Ptx
                                             : passes::CodeForm::Llvm;
  auto code =
      compilation.target->generateKernels(compilation.module(), codeGen);
  if (failed(code))
    return kExitFailed;
  std::string path = options.output.empty() ? "-" : options.output;
  return report(
      options,
      writeFile(path, [&](llvm::raw_ostream &os) { os << code->text; }),
      kExitUsage);
}

static ExitCode writeBinary(const Options &options, Compilation &compilation) {
  CompiledProgram program;
  if (ExitCode code = compilation.emit(program))
    return code;
  auto begin = std::chrono::steady_clock::now();
  LinkKind kind = options.emitKind() == "trainer" ? LinkKind::Trainer
                  : options.emitKind() == "lib"   ? LinkKind::Library
                                                  : LinkKind::Object;
  std::string problem = makeFile(options.output, [&](StringRef path) {
    return linkProgram(program, kind, path);
  });
  if (ExitCode code = report(options, problem, kExitFailed))
    return code;
  if (kind == LinkKind::Library) {
    std::string header = libraryHeader(compilation.module(),
                                       compilation.symbol(), options.output);
    problem = writeFile(headerPath(options.output),
                        [&](llvm::raw_ostream &os) { os << header; });
    if (ExitCode code = report(options, problem, kExitUsage))
      return code;
  }
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - begin;
  compilation.times.emplace_back("binary", time.count());
  return kExitDone;
}

// The last phase that runs before something is written.
static const Phase &lastPhase(const Options &options) {
  const Phase *plan = findPhase("plan");
  if (options.stopAfter.empty())
    return *plan;
  const Phase *last = findPhase(options.stopAfter);
  return phaseIndex(*last) < phaseIndex(*plan) ? *last : *plan;
}

static bool isKernelText(StringRef kind) {
  return kind == "llvm" || kind == "ptx";
}

// What the flags say about the output must fit together.
static std::string checkOutput(const Options &options) {
  bool wantsText = !options.stopAfter.empty() || options.emitKind() == "mlir" ||
                   isKernelText(options.emitKind());
  if (options.check)
    return "";
  if (!options.stopAfter.empty() && !options.emit.empty() &&
      options.emit != "mlir")
    return "--stop-after writes IR; it contradicts --emit=" + options.emit;
  if (options.emitKind() == "ptx" && options.targets.front() == "cpu")
    return "--emit=ptx needs --target=cuda or --target=sim";
  if (options.emitKind() == "trainer" && !options.train.enabled)
    return "--emit=trainer needs --train";
  if (options.emitKind() == "lib" && options.train.enabled)
    return "--emit=lib contradicts --train: a library is for inference";
  if (!options.train.enabled && !options.train.loss.kind.empty())
    return "--loss needs --train";
  if (!options.train.enabled && !options.train.optimizer.empty())
    return "--optimizer needs --train";
  if (options.output.empty())
    return wantsText ? "" : "no output file given: -o OUT";
  if (options.output == "-" && !wantsText)
    return "-o -: a binary is not written to stdout";
  return whyNotWritable(options.output);
}

static ExitCode compile(const Options &options,
                        std::unique_ptr<passes::Target> target) {
  if (options.check)
    return checkCoverage(options, std::move(target));
  Compilation compilation(options, std::move(target));
  if (ExitCode code = compilation.checkOptions())
    return code;
  const Phase &last = lastPhase(options);
  if (ExitCode code = compilation.run(last))
    return code;
  StringRef kind = options.emitKind();
  ExitCode code = !options.stopAfter.empty() || kind == "mlir"
                      ? writeModule(options, compilation)
                  : isKernelText(kind) ? writeKernelText(options, compilation)
                                       : writeBinary(options, compilation);
  if (code == kExitDone)
    compilation.reportTimes();
  return code;
}

int compiler::sinterc(int argc, char **argv,
                      llvm::ArrayRef<TargetFactory> targets) {
  // A reader that goes away is an error of the write, not the end of the
  // process.
  prepareProcess("sinterc");
  std::optional<Options> options =
      parseOptions("sinterc", kSinterc, argumentsOf(argc, argv));
  if (!options)
    return kExitUsage;
  if (options->help) {
    printHelp(llvm::outs(), "sinterc", kSinterc,
              "sinterc MODEL -o OUT [options]");
    return kExitDone;
  }
  if (options->version) {
    printVersion(llvm::outs(), "sinterc");
    return kExitDone;
  }
  if (options->listDevices) {
    printTargets(llvm::outs(), targets);
    return kExitDone;
  }
  if (ExitCode code = report(*options, checkOutput(*options), kExitUsage))
    return code;
  std::unique_ptr<passes::Target> target = createTarget(*options, targets);
  if (!target)
    return kExitUsage;
  return compile(*options, std::move(target));
}
