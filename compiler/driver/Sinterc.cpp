//===- Sinterc.cpp - the logic of sinterc ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Sinterc.h"
#include "compiler/Phases.h"
#include "compiler/base/Process.h"
#include "compiler/base/Text.h"
#include "compiler/checks/Check.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Lock.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/MicroBatches.h"
#include "compiler/emit/LibraryHeader.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/OutputFile.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/ADT/StringExtras.h"

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

// Refuses several targets for outputs in text form.
static std::string checkOneTarget(const Options &options) {
  const char *flag = !options.stopAfter.empty()    ? "--stop-after"
                     : !options.dumpPhases.empty() ? "--dump-phases"
                     : !options.trace.empty()      ? "--trace"
                     : !options.remarks.empty()    ? "--remarks"
                                                   : nullptr;
  StringRef kind = options.emitKind();
  bool isBinary =
      kind == "trainer" || kind == "lib" || kind == "obj" || kind == "exe";
  if (options.targets.size() == 1 || (isBinary && !flag))
    return "";
  return (flag ? std::string(flag) : "--emit=" + kind.str()) +
         ": takes only one target; --target names " +
         std::to_string(options.targets.size());
}

// Writes the module as text, or as bytecode to a file *.mlirbc; both include
// the weights.
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
  auto code = compilation.kernelText(options.emitKind() == "ptx"
                                         ? passes::CodeForm::Ptx
                                         : passes::CodeForm::Llvm);
  if (failed(code))
    return kExitFailed;
  std::string path = options.output.empty() ? "-" : options.output;
  return report(
      options,
      writeFile(path, [&](llvm::raw_ostream &os) { os << code->text; }),
      kExitUsage);
}

// The names of the given options that may change the program.
static std::string programFlags(const Options &options) {
  std::vector<std::string> names;
  for (const OptionRow *row : options.given) {
    StringRef name = flagName(*row);
    if (!llvm::is_contained({"--output", "--lockfile", "--tune", "--tune-time",
                             "--verbose", "-j", "--trace", "--remarks",
                             "--dump-phases", "--time-report"},
                            name))
      names.push_back(name.str());
  }
  return llvm::join(names, " ");
}

// Links `program`; `compilation` is that of its first target, `targets` are
// all targets.
static ExitCode linkBinary(const Options &options, Compilation &compilation,
                           const CompiledProgram &program,
                           llvm::ArrayRef<TargetProgram> targets) {
  auto begin = std::chrono::steady_clock::now();
  LinkKind kind = linkKind(options);
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
  compilation.times.addPhaseSince("binary", begin);
  if (options.lockfile.empty())
    return kExitDone;
  return report(
      options,
      keepProgram(options, *compilation.decisions,
                  describeProgram(program, targets, compilation.machine(),
                                  programFlags(options))),
      kExitUsage);
}

static ExitCode writeBinary(const Options &options, Compilation &compilation) {
  CompiledProgram program;
  if (ExitCode code = compilation.emit(program))
    return code;
  return linkBinary(
      options, compilation, program,
      TargetProgram{compilation.manifest(), compilation.kernelHashes()});
}

// The last phase that runs before the output is written.
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

// --place and --allow-cpu apply to one program on several devices, not to one
// binary for several targets.
static std::string checkPlacement(const Options &options) {
  bool isPlaced = !options.placeRules.empty() || !options.allowCpu.empty();
  if (!isPlaced || options.targets.size() == 1)
    return "";
  return std::string(options.placeRules.empty() ? "--allow-cpu" : "--place") +
         " applies to one program; --target=" +
         llvm::join(options.targets, ",") + " makes one for each target";
}

// --cubin=on needs a device that has cubins, and a program that holds them.
static std::string checkCubin(const Options &options, bool wantsText) {
  if (options.cubin != "on")
    return "";
  if (wantsText)
    return "--cubin=on applies to programs, which --emit=trainer, --emit=lib "
           "and --emit=obj write";
  auto hasCubins = [&](StringRef device) {
    return options.traitsOf(device).hasCubins;
  };
  if (llvm::any_of(options.targets, hasCubins) ||
      llvm::any_of(options.devices, hasCubins) ||
      llvm::any_of(options.placeRules, [&](StringRef rule) {
        return hasCubins(rule.rsplit('=').second);
      }))
    return "";
  return "--cubin=on needs --target=" +
         options.kindsText(" or --target=", hasCubins);
}

// --lockfile keeps programs, and --tune times them on this machine.
static std::string checkLock(const Options &options, bool wantsText) {
  if (!options.tune && !options.lockfile.empty() && !options.locked &&
      (wantsText || options.check))
    return shown(options.lockfile) +
           ": there is no such file; it is written with a program";
  if (!options.tune)
    return "";
  if (options.lockfile.empty())
    return "--tune needs --lockfile=FILE, to which it writes the decisions";
  if (wantsText || options.check)
    return "--tune applies to programs, which --emit=trainer, --emit=lib and "
           "--emit=obj write";
  if (options.targets.size() > 1)
    return "--tune takes only one target; --target names " +
           std::to_string(options.targets.size());
  if (options.devices.size() > 1 || !options.placeRules.empty() ||
      !options.allowCpu.empty())
    return "--tune needs a program on one device";
  if (options.traitsOf(options.targets.front()).isSimulated)
    return "--tune: a simulated device has no times";
  if (options.train.request.replicas > 1)
    return "--tune needs a program of one replica";
  return "";
}

// Checks that the flags for the output do not contradict each other.
static std::string checkOutput(const Options &options) {
  bool wantsText = !options.stopAfter.empty() || options.emitKind() == "mlir" ||
                   isKernelText(options.emitKind());
  if (std::string wrong = checkOneTarget(options); !wrong.empty())
    return wrong;
  if (std::string wrong = checkPlacement(options); !wrong.empty())
    return wrong;
  if (!options.stopAfter.empty() && !options.emit.empty() &&
      options.emit != "mlir")
    return "--stop-after writes IR; it contradicts --emit=" + options.emit;
  auto hasPtx = [&](StringRef device) {
    return options.traitsOf(device).hasPtx;
  };
  if (options.emitKind() == "ptx" && !hasPtx(options.targets.front()) &&
      llvm::none_of(options.devices, hasPtx))
    return "--emit=ptx needs --target=" +
           options.kindsText(" or --target=", hasPtx);
  if (std::string wrong = checkCubin(options, wantsText); !wrong.empty())
    return wrong;
  if (std::string wrong = checkLock(options, wantsText); !wrong.empty())
    return wrong;
  if (options.emitKind() == "trainer" && !options.train.enabled)
    return "--emit=trainer needs --train";
  if (options.emitKind() == "lib" && options.train.enabled)
    return "--emit=lib contradicts --train: a library is for inference";
  if (std::string wrong = checkMicroBatches(options); !wrong.empty())
    return wrong;
  bool isNamed = options.emitKind() == "lib" || options.emitKind() == "obj";
  if (!options.name.empty() && (wantsText || !isNamed))
    return "--name applies to libraries and objects, which --emit=lib and "
           "--emit=obj write";
  if (!options.contracts.empty() && !options.stopAfter.empty() &&
      phaseIndex(*findPhase(options.stopAfter)) <
          phaseIndex(*findPhase("plan")))
    return "--require applies to planned programs; --stop-after=" +
           options.stopAfter + " ends before the plan";
  if (!options.contracts.empty() && options.check)
    return "--require applies to planned programs; --check ends before the "
           "plan";
  if (options.check) // nothing is written
    return "";
  if (options.output.empty())
    return wantsText ? "" : "no output file given: -o OUT";
  if (options.output == "-" && !wantsText)
    return "-o -: a binary is not written to stdout";
  const std::string inputs[] = {options.model, options.train.parameters,
                                options.calibrate};
  std::string wrong = whyNotWritable(options.output, inputs);
  if (wrong.empty() && options.emitKind() == "lib")
    wrong = whyNotWritable(headerPath(options.output), inputs);
  return wrong;
}

// Makes one binary for several targets; each is compiled by itself.
static ExitCode compileTargets(const Options &options,
                               const CompileState &state,
                               const SharedModel &model,
                               llvm::ArrayRef<TargetFactory> factories,
                               DecisionTable *decisions) {
  // The compilations own what the program refers to.
  std::vector<std::unique_ptr<Compilation>> compilations;
  CompiledProgram program;
  std::vector<TargetProgram> programs;
  for (size_t i = 0; i < options.targets.size(); ++i) {
    CompileState own = state.forTarget(options.targets[i]);
    std::unique_ptr<passes::Target> target =
        createTarget(options, own, factories);
    if (!target)
      return kExitUsage;
    Compilation &compilation =
        *compilations.emplace_back(std::make_unique<Compilation>(
            options, std::move(own), std::move(target)));
    compilation.model = model;
    compilation.decisions = decisions;
    if (ExitCode code = compilation.checkOptions())
      return code;
    if (ExitCode code = compilation.run(*findPhase("plan")))
      return code;
    if (ExitCode code = compilation.emit(
            program, llvm::ArrayRef(options.targets).drop_front(i + 1)))
      return code;
    programs.push_back({compilation.manifest(), compilation.kernelHashes()});
  }
  if (ExitCode code =
          linkBinary(options, *compilations.front(), program, programs))
    return code;
  for (const auto &compilation : compilations)
    compilation->reportTimes();
  return kExitDone;
}

static ExitCode compile(const Options &options, const CompileState &state,
                        TargetSet targets, SharedModel model,
                        llvm::ArrayRef<TargetFactory> factories,
                        DecisionTable *decisions) {
  Compilation compilation(options, state, std::move(targets));
  compilation.model = std::move(model);
  compilation.decisions = decisions;
  compilation.batchesThatFit = [&](int64_t batch) {
    return batchesThatFit(options, state, compilation.model, factories, batch);
  };
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

// Makes the table of --lockfile, and fills it by --tune.
static ExitCode makeDecisions(const Options &options, const CompileState &state,
                              SharedModel &model,
                              llvm::ArrayRef<TargetFactory> factories,
                              const LoadTimed &load,
                              std::unique_ptr<DecisionTable> &decisions) {
  if (options.lockfile.empty())
    return kExitDone;
  if (std::string wrong = makeTable(options, decisions); !wrong.empty())
    return report(options, wrong, kExitUsage);
  if (!options.tune)
    return kExitDone;
  if (!model)
    if (ExitCode code = readModel(options, model))
      return code;
  return tune(options, state, model, factories, load, *decisions);
}

// --check: checks every target; returns the first exit code that is not zero,
// as compiling does.
static ExitCode checkTargets(const Options &options,
                             llvm::ArrayRef<TargetFactory> factories) {
  ExitCode first = kExitDone;
  for (const std::string &name : options.targets) {
    CompileState state = CompileState(options).forTarget(name);
    TargetSet set = createTargets(options, state, factories);
    if (!set.main)
      return kExitUsage;
    ExitCode code = checkCoverage(options, std::move(state), std::move(set));
    if (first == kExitDone)
      first = code;
  }
  return first;
}

int compiler::sinterc(int argc, char **argv,
                      llvm::ArrayRef<TargetFactory> targets,
                      const Measures &measures) {
  prepareProcess("sinterc");
  std::optional<const Options> options = parseOptions(
      "sinterc", kSinterc, kindsOf(targets), argumentsOf(argc, argv));
  if (!options)
    return kExitUsage;
  if (options->help) {
    printHelp(llvm::outs(), *options, kSinterc,
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
  if (options->check)
    return checkTargets(*options, targets);
  CompileState state(*options);
  state.runtimeHash = hashOfRuntime(*options);
  if (!options->calibrate.empty())
    if (ExitCode code = measures.calibrate(*options, state, targets))
      return code;
  SharedModel model;
  if (ExitCode code = splitBatch(*options, state, model, targets))
    return code;
  std::unique_ptr<DecisionTable> decisions;
  if (ExitCode code = makeDecisions(*options, state, model, targets,
                                    measures.load, decisions))
    return code;
  if (options->targets.size() > 1)
    return compileTargets(*options, state, model, targets, decisions.get());
  TargetSet set = createTargets(*options, state, targets);
  if (!set.main)
    return kExitUsage;
  return compile(*options, state, std::move(set), std::move(model), targets,
                 decisions.get());
}
