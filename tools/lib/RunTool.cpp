//===- RunTool.cpp - the logic of sinter-run ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/RunTool.h"

#include "compiler/Phases.h"
#include "compiler/base/Process.h"
#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/MicroBatches.h"
#include "compiler/emit/Jit.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/options/OptionValues.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/device/Registry.h"
#include "runtime/harness/CommandTimes.h"
#include "tools/lib/Bench.h"
#include "tools/lib/DeviceList.h"
#include "tools/lib/ElfSymbols.h"
#include "tools/lib/Npz.h"
#include "tools/lib/NpzBinding.h"
#include "tools/lib/Replay.h"
#include "tools/lib/Runner.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

using namespace sinter;
using namespace sinter::tools;
using namespace sinter::compiler;
using llvm::StringRef;

static ExitCode report(const Options &options, const rt::Status &status) {
  reportError(options, status.message());
  return static_cast<ExitCode>(status.code());
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {
// The parts of a model in memory, in the order in which they are created.
struct Loaded {
  std::unique_ptr<Compilation> compilation;
  std::unique_ptr<Jit> jit;
  std::unique_ptr<Runner> runner;
};
} // namespace

static rt::DeviceOptions deviceOptions(const Options &options) {
  rt::DeviceOptions device;
  device.threads = options.run.threads;
  if (std::string note = rt::threadsNote(device.threads); !note.empty())
    llvm::errs() << note << "\n";
  device.syncLaunches = options.run.syncLaunches;
  device.simSeed = options.run.simSeed;
  device.simReport = options.run.simReport;
  device.simDrop = options.run.simDrop;
  return device;
}

// Sets the sizes that the model leaves open to those of the arrays.
static void bindOpenDims(const SourceModel &model, const HostTensors &arrays,
                         const Options &options, CompileState &state) {
  for (const ModelInput &input : model.inputs()) {
    const HostTensor *array = find(arrays, input.name);
    if (!array || (input.dims && input.dims->size() != array->dims.size()))
      continue; // a mismatch is reported when the inputs are bound
    bool given = llvm::any_of(state.shapes, [&](const auto &shape) {
      return shape.first == input.name;
    });
    bool open = !input.dims;
    if (input.dims)
      for (auto [i, dim] : llvm::enumerate(*input.dims)) {
        bool bound = dim.size || (i == 0 && state.batch) ||
                     llvm::any_of(options.dims, [&](const auto &bound) {
                       return bound.first == dim.symbol;
                     });
        open |= !bound;
      }
    if (open && !given)
      state.shapes.emplace_back(input.name, array->dims);
  }
}

// A program that names its devices already includes the default device of
// --device. If --target named them, --device may name others.
static std::string devicesOfRun(const Options &options,
                                const sinter_artifact &artifact) {
  std::string device;
  bool isDefault = !options.devices.empty() &&
                   readDevice(options, options.run.device, device).empty() &&
                   device == options.devices.front();
  return artifact.numPlaces && isDefault ? "" : options.run.device;
}

static ExitCode compileModel(const Options &options, const HostTensors &arrays,
                             llvm::ArrayRef<TargetFactory> targets,
                             Loaded &loaded) {
  if (std::string wrong = checkMicroBatches(options); !wrong.empty()) {
    reportError(options, wrong);
    return kExitUsage;
  }
  TargetSet set = createTargets(options, CompileState(options), targets);
  if (!set.main)
    return kExitUsage;
  SharedModel model;
  if (ExitCode code = readModel(options, model))
    return code;
  CompileState state(options);
  bindOpenDims(*model, arrays, options, state);
  if (ExitCode code = splitBatch(options, state, model, targets))
    return code;
  loaded.compilation =
      std::make_unique<Compilation>(options, std::move(state), std::move(set));
  Compilation &compilation = *loaded.compilation;
  compilation.model = std::move(model);
  if (ExitCode code = compilation.checkOptions())
    return code;
  if (ExitCode code = compilation.run(*findPhase("plan")))
    return code;
  CompiledProgram program;
  if (ExitCode code = compilation.emit(program))
    return code;
  compilation.reportTimes();
  llvm::Expected<std::unique_ptr<Jit>> jit = Jit::create(program);
  if (!jit) {
    std::string why = llvm::toString(jit.takeError());
    reportError(options, StringRef(why).split('\n').first);
    return kExitFailed;
  }
  loaded.jit = std::move(*jit);
  const sinter_artifact &artifact = *loaded.jit->artifact();
  auto runner = runArtifact(artifact, devicesOfRun(options, artifact),
                            deviceOptions(options));
  if (!runner.ok())
    return report(options, runner.status());
  loaded.runner = std::move(*runner);
  return kExitDone;
}

static ExitCode load(const Options &options, const HostTensors &arrays,
                     llvm::ArrayRef<TargetFactory> targets, Loaded &loaded) {
  if (!isElfFile(options.model))
    return compileModel(options, arrays, targets, loaded);
  auto runner =
      runLibrary(options.model, options.run.device, deviceOptions(options));
  if (!runner.ok())
    return report(options, runner.status());
  loaded.runner = std::move(*runner);
  return kExitDone;
}

//===----------------------------------------------------------------------===//
// Inputs, outputs
//===----------------------------------------------------------------------===//

// The seed of "random:seed=0"; nothing for a file's name. Sets `wrong` for a
// bad seed.
static std::optional<uint64_t> randomSeed(StringRef inputs, bool &wrong) {
  if (inputs != "random" && !inputs.consume_front("random:seed="))
    return std::nullopt;
  uint64_t seed = 0;
  wrong = inputs != "random" && inputs.getAsInteger(10, seed);
  return seed;
}

// Initializes the program's states from the arrays of their names.
static rt::Status writeStates(Runner &runner, const HostTensors &arrays) {
  for (auto [i, state] : llvm::enumerate(runner.states())) {
    if (!find(arrays, state.tensor.name))
      continue;
    auto selected = selectInputs({&state.tensor, 1}, arrays, "state");
    if (!selected.ok())
      return selected.status();
    rt::Status written = runner.writeState(i, selected->front()->bytes.data());
    if (!written.ok())
      return written;
  }
  return {};
}

static void printSummary(const HostTensors &results) {
  for (const auto &output : results) {
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (int64_t i = 0; i < output->elements(); ++i) {
      double value = output->number(i);
      low = std::min(low, value);
      high = std::max(high, value);
      sum += value;
    }
    llvm::outs() << output->name << ": " << output->typeText();
    if (output->elements())
      llvm::outs() << llvm::format(", min %g, max %g, mean %g", low, high,
                                   sum / output->elements());
    llvm::outs() << "\n";
  }
}

// The first `numOutputs` tensors are outputs, which the reference must have.
// The others are states, which it may lack.
static ExitCode checkReference(const Options &options,
                               const HostTensors &tensors, size_t numOutputs) {
  auto references = readNpz(options.run.reference);
  if (!references.ok())
    return report(options, references.status());
  ExitCode code = kExitDone;
  for (auto [i, output] : llvm::enumerate(tensors)) {
    const HostTensor *reference = find(*references, output->name);
    if (!reference && i >= numOutputs)
      continue;
    if (!reference) {
      reportError(options, options.run.reference + ": has no array '" +
                               output->name + "'");
      return kExitUsage;
    }
    if (reference->dims != output->dims) {
      reportError(options, "'" + output->name + "' is " + output->typeText() +
                               ", its reference " + reference->typeText());
      code = kExitMismatch;
      continue;
    }
    Difference worst =
        compare(*output, *reference, options.run.rtol, options.run.atol);
    if (worst.excess <= 1) {
      llvm::outs() << output->name
                   << llvm::format(": agrees, largest error %.3g of what is "
                                   "allowed\n",
                                   worst.excess);
      continue;
    }
    std::vector<int64_t> index(output->dims.size());
    int64_t rest = worst.index;
    for (size_t d = index.size(); d-- > 0; rest /= output->dims[d])
      index[d] = rest % output->dims[d];
    std::string message;
    llvm::raw_string_ostream(message)
        << "'" << output->name << "' differs from its reference, worst at "
        << rt::shapeText(index)
        << llvm::format(": %.9g, expected %.9g (%.3g times what --rtol=%g and "
                        "--atol=%g allow)",
                        worst.value, worst.reference, worst.excess,
                        options.run.rtol, options.run.atol);
    reportError(options, message);
    code = kExitMismatch;
  }
  return code;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static void printBench(const Options &options, const BenchResult &result) {
  if (options.json) {
    llvm::outs() << llvm::json::Value(
                        llvm::json::Object{{"median_ms", result.medianMs},
                                           {"p10_ms", result.p10Ms},
                                           {"p90_ms", result.p90Ms},
                                           {"runs", result.runs}})
                 << "\n";
    return;
  }
  llvm::outs() << result.text() << "\n";
}

static bool wantsProfile(const Options &options) {
  return options.run.profile || !options.run.traceEvents.empty();
}

// --trace-events; returns what went wrong, "" if nothing.
static std::string writeTraceEvents(const Options &options,
                                    const rt::CommandTimes &profile) {
  if (options.run.traceEvents.empty())
    return "";
  return writeFile(options.run.traceEvents,
                   [&](llvm::raw_ostream &os) { os << profile.traceEvents(); });
}

static ExitCode runProgram(const Options &options, Runner &runner,
                           const HostTensors &arrays,
                           std::optional<uint64_t> seed) {
  auto inputs = seed ? randomInputs(runner.inputs(), *seed)
                     : selectInputs(runner.inputs(), arrays);
  if (!inputs.ok())
    return report(options, inputs.status());
  if (rt::Status written = writeStates(runner, arrays); !written.ok())
    return report(options, written);
  HostTensors outputs;
  std::vector<const void *> inputAddresses;
  std::vector<void *> outputAddresses;
  for (const auto &input : *inputs)
    inputAddresses.push_back(input->bytes.data());
  for (const sinter_tensor_desc &desc : runner.outputs()) {
    auto output = HostTensor::zeros(desc);
    if (!output.ok())
      return report(options, output.status());
    outputAddresses.push_back((*output)->bytes.data());
    outputs.push_back(std::move(*output));
  }

  rt::Status status;
  auto run = [&] {
    status = runner.run(inputAddresses.data(), outputAddresses.data());
    return status.ok();
  };
  if (!run())
    return report(options, status);
  ExitCode code = kExitDone;
  // If the program is only measured, its states are not copied.
  bool isPrinted = options.run.outputs.empty() &&
                   options.run.reference.empty() && !options.run.bench &&
                   !wantsProfile(options);
  HostTensors results = outputs;
  if (isPrinted || !options.run.outputs.empty() ||
      !options.run.reference.empty()) {
    rt::Result<HostTensors> states = readStates(runner);
    if (!states.ok())
      return report(options, states.status());
    results.insert(results.end(), states->begin(), states->end());
  }
  if (!options.run.outputs.empty()) {
    rt::Status written = writeNpz(options.run.outputs, results);
    if (!written.ok())
      return report(options, rt::Status::invalid(written.message()));
  }
  if (!options.run.reference.empty())
    code = checkReference(options, results, outputs.size());
  if (code == kExitDone && options.run.bench) {
    // A run is measured as a host makes it that reads its data into this.
    rt::Result<std::vector<void *>> memory = runner.inputMemory();
    if (!memory.ok())
      return report(options, memory.status());
    for (size_t i = 0; i < memory->size(); ++i) {
      const rt::AlignedBlock &bytes = (*inputs)[i]->bytes;
      if (bytes.sizeBytes())
        std::memcpy((*memory)[i], bytes.data(), bytes.sizeBytes());
      inputAddresses[i] = (*memory)[i];
    }
  }
  if (code == kExitDone && options.run.roundsFromStdin) {
    std::string wrongLine;
    if (!benchRounds(run, wrongLine))
      return report(options, status);
    if (wrongLine.empty())
      return kExitDone;
    reportError(options, "--rounds=stdin: expected a number of runs, got '" +
                             wrongLine + "'");
    return kExitUsage;
  }
  if (code == kExitDone && options.run.bench) {
    BenchResult result =
        bench(options.run.warmupMs, options.run.durationMs, run);
    if (!result.runs)
      return report(options, status);
    printBench(options, result);
  }
  if (code == kExitDone && wantsProfile(options)) {
    rt::CommandTimes profile(runner.artifact(),
                             [&](const sinter_entry &, uint32_t index) {
                               return runner.describeCall(index);
                             });
    rt::Status possible = runner.profile(&profile);
    if (!possible.ok())
      return report(options, possible);
    // The first run after a pause is slow on any device, and that of a program
    // also gets its memory from the system. Take the mean of those after it.
    if (!run())
      return report(options, status);
    profile.clear();
    for (int i = 0; i < 10; ++i)
      if (!run())
        return report(options, status);
    rt::Result<rt::Ceilings> ceilings =
        options.run.profile ? runner.ceilings() : rt::Ceilings();
    (void)runner.profile(nullptr);
    if (options.run.profile) {
      if (!ceilings.ok())
        return report(options, ceilings.status());
      auto flopsOf = [&](const sinter_entry &entry) {
        std::vector<double> flops;
        for (const compiler::KernelFlops &own :
             commandFlops(runner.artifact(), entry))
          flops.push_back(own.total());
        return flops;
      };
      llvm::outs() << (options.json ? profile.json(*ceilings, flopsOf)
                                    : profile.table(*ceilings, flopsOf));
    }
    if (std::string problem = writeTraceEvents(options, profile);
        !problem.empty()) {
      reportError(options, problem);
      return kExitUsage;
    }
  }
  if (isPrinted)
    printSummary(results);
  return code;
}

static ExitCode run(const Options &options,
                    llvm::ArrayRef<TargetFactory> targets) {
  bool badSeed = false;
  if (!options.run.replay.empty())
    return replay(options, targets);
  if (StringRef flag = compilingFlag(options);
      !flag.empty() && isElfFile(options.model)) {
    reportError(options, flag + " is an option of compilation; " +
                             shown(options.model) + " is compiled already");
    return kExitUsage;
  }
  if (options.train.enabled) {
    reportError(options,
                "--train is for --replay=FILE; sinterc makes trainers");
    return kExitUsage;
  }
  if (options.run.roundsFromStdin && !options.run.bench) {
    reportError(options, "--rounds=stdin: needs --bench");
    return kExitUsage;
  }
  if (options.run.inputs.empty()) {
    reportError(options, "no inputs given: --inputs=FILE.npz or "
                         "--inputs=random:seed=0");
    return kExitUsage;
  }
  std::optional<uint64_t> seed = randomSeed(options.run.inputs, badSeed);
  if (badSeed) {
    reportError(options, "--inputs: expected random:seed=NUMBER, got '" +
                             options.run.inputs + "'");
    return kExitUsage;
  }
  HostTensors arrays;
  if (!seed) {
    auto read = readNpz(options.run.inputs);
    if (!read.ok())
      return report(options, read.status());
    arrays = std::move(*read);
  }
  Loaded loaded;
  if (ExitCode code = load(options, arrays, targets, loaded))
    return code;
  return runProgram(options, *loaded.runner, arrays, seed);
}

int tools::sinterRun(int argc, char **argv,
                     llvm::ArrayRef<TargetFactory> targets) {
  prepareProcess("sinter-run");
  std::optional<const Options> options = parseOptions(
      "sinter-run", kSinterRun, kindsOf(targets), argumentsOf(argc, argv));
  if (!options)
    return kExitUsage;
  if (options->help) {
    printHelp(llvm::outs(), *options, kSinterRun,
              "sinter-run MODEL --inputs=in.npz|random:seed=0 [options]");
    return kExitDone;
  }
  if (options->version) {
    printVersion(llvm::outs(), "sinter-run");
    return kExitDone;
  }
  if (options->listDevices) {
    printDevices(llvm::outs(), *options, targets);
    return kExitDone;
  }
  return run(*options, targets);
}
