//===- Mutation.cpp - removals in kernels that no run detects -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// sinter-sim-mutation MODEL [flags of sinterc]: compiles a program for the
// simulated device once. Then it removes, one at a time, every barrier of a
// block and every comparison of indices that guards an operation in the
// launched kernels, under up to 5 schedules. A removal is detected if the
// program fails, or an output or state differs in a bit. Inference runs "main";
// training runs two steps and an evaluation. Called by mutation.py, which adds
// up the results.
//
//===----------------------------------------------------------------------===//
#include "compiler/Phases.h"
#include "compiler/base/Process.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/emit/Jit.h"
#include "runtime/exec/Program.h"
#include "tools/lib/Npz.h"
#include "tools/lib/NpzBinding.h"
#include "tools/lib/Targets.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstdio>
#include <cstring>
#include <map>

using namespace sinter;
using namespace sinter::tools;

namespace {

constexpr uint64_t kSeeds = 5;

/// All results of a run, concatenated.
using Trace = std::vector<uint8_t>;

class Subject {
public:
  explicit Subject(const sinter_artifact &artifact) : artifact_(artifact) {}

  /// The inputs of every entry: `arrays`, or random inputs if there are none.
  rt::Status bindInputs(const HostTensors &arrays);

  /// Runs from the initial states. Nothing if it fails; `why` says how.
  std::optional<Trace> run(const rt::DeviceOptions &options, std::string &why);

private:
  rt::Status run(rt::Program &program, const char *entry, int64_t step,
                 Trace &trace);

  const sinter_artifact &artifact_;
  std::map<std::string, HostTensors> inputs_; // by entry
};

} // namespace

rt::Status Subject::bindInputs(const HostTensors &arrays) {
  for (uint32_t i = 0; i < artifact_.numEntries; ++i) {
    const sinter_entry &entry = artifact_.entries[i];
    std::span<const sinter_tensor_desc> inputs(entry.inputs, entry.numInputs);
    auto bound =
        arrays.empty() ? randomInputs(inputs, 1) : selectInputs(inputs, arrays);
    if (!bound.ok())
      return bound.status();
    inputs_[entry.name] = std::move(*bound);
  }
  return {};
}

rt::Status Subject::run(rt::Program &program, const char *name, int64_t step,
                        Trace &trace) {
  rt::Executor *executor = program.find(name);
  if (!executor)
    return {};
  const sinter_entry &entry = executor->entry();
  sinter_control control{};
  if (const sinter_training *training = artifact_.training) {
    control.lr = training->lr;
    control.weightDecay = training->weightDecay;
    control.clipNorm = training->clipNorm;
    control.validRows = training->batch;
  }
  control.step = step;
  control.seed = 1;
  std::vector<const void *> inputs;
  for (const auto &input : inputs_[name])
    inputs.push_back(input->bytes.data());
  HostTensors outputs;
  std::vector<void *> addresses;
  for (uint32_t i = 0; i < entry.numOutputs; ++i) {
    auto output = HostTensor::zeros(entry.outputs[i]);
    if (!output.ok())
      return output.status();
    addresses.push_back((*output)->bytes.data());
    outputs.push_back(std::move(*output));
  }
  rt::Status status =
      program.run(name, &control, inputs.data(), addresses.data());
  for (const auto &output : outputs)
    trace.insert(trace.end(), output->bytes.data(),
                 output->bytes.data() + output->bytes.sizeBytes());
  return status;
}

std::optional<Trace> Subject::run(const rt::DeviceOptions &options,
                                  std::string &why) {
  Trace trace;
  auto program = rt::Program::create(artifact_, "sim:0", options);
  rt::Status status = program.status();
  if (status.ok())
    status = run(**program, "main", 0, trace);
  for (int64_t step : {0, 1})
    if (status.ok())
      status = run(**program, "step", step, trace);
  if (status.ok())
    status = run(**program, "eval", 2, trace);
  for (uint32_t i = 0; status.ok() && i < artifact_.numStates; ++i) {
    size_t begin = trace.size();
    trace.resize(begin + artifact_.states[i].tensor.sizeBytes);
    status = (*program)->readState(i, trace.data() + begin);
  }
  why = status.message();
  return status.ok() ? std::optional(std::move(trace)) : std::nullopt;
}

/// "barrier:3" -> kernel and what it is, of the kernels in a device's report.
static std::map<std::string, std::string> sitesOf(const std::string &path) {
  std::map<std::string, std::string> sites;
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return sites;
  auto json = llvm::json::parse((*file)->getBuffer());
  if (!json) {
    llvm::consumeError(json.takeError());
    return sites;
  }
  const llvm::json::Array *launches = json->getAsArray();
  for (const llvm::json::Value &launch : *launches)
    for (std::string kind : {"barrier", "predicate"}) {
      const auto &range = *launch.getAsObject()->getArray(kind + "Sites");
      int64_t first = *range[0].getAsInteger(),
              count = *range[1].getAsInteger();
      const llvm::json::Array *texts =
          kind == "predicate" ? launch.getAsObject()->getArray("predicates")
                              : nullptr;
      for (int64_t i = first; i < first + count; ++i) {
        std::string &text = sites[kind + ":" + std::to_string(i)];
        text = launch.getAsObject()->getString("kernel")->str();
        if (texts)
          text += ", '" + (*texts)[i - first].getAsString()->str() + "'";
      }
    }
  return sites;
}

static int check(Subject &subject, const std::string &name) {
  std::string why;
  llvm::SmallString<128> report;
  if (llvm::sys::fs::createTemporaryFile("sinter-mutation", "json", report))
    return compiler::kExitFailed;
  llvm::FileRemover remover(report);
  rt::DeviceOptions options;
  options.simSeed = 0;
  options.simReport = std::string(report);
  std::optional<Trace> expected = subject.run(options, why);
  std::map<std::string, std::string> sites = sitesOf(std::string(report));
  options.simReport.clear();
  for (uint64_t seed = 1; expected && seed < kSeeds; ++seed) {
    options.simSeed = seed;
    std::optional<Trace> again = subject.run(options, why);
    if (again && *again != *expected)
      why = "differs under seed " + std::to_string(seed);
    if (!again || *again != *expected)
      expected.reset();
  }
  if (!expected) {
    std::printf("%s: %s\n", name.c_str(), why.c_str());
    return compiler::kExitFailed;
  }
  std::vector<std::string> survivors;
  for (const auto &[site, kernel] : sites) {
    options.simDrop = site;
    bool isFound = false;
    for (uint64_t seed = 0; seed < kSeeds && !isFound; ++seed) {
      options.simSeed = seed;
      std::optional<Trace> trace = subject.run(options, why);
      isFound = !trace || *trace != *expected;
    }
    if (!isFound)
      survivors.push_back(site + " of " + kernel);
  }
  std::printf("%s: %zu of %zu found\n", name.c_str(),
              sites.size() - survivors.size(), sites.size());
  for (const std::string &survivor : survivors)
    std::printf("  survivor: %s\n", survivor.c_str());
  return compiler::kExitDone;
}

int main(int argc, char **argv) {
  using namespace sinter::compiler;
  prepareProcess("sinter-sim-mutation");
  std::optional<const Options> parsed =
      parseOptions("sinter-sim-mutation", kSinterc, kindsOf(tools::targets()),
                   argumentsOf(argc, argv));
  if (!parsed)
    return kExitUsage;
  Options options = *parsed;
  if (options.help) {
    printHelp(llvm::outs(), options, kSinterc,
              "sinter-sim-mutation MODEL [options]");
    return kExitDone;
  }
  // Checked and mutable code, as sinter-run makes it for --sim-drop.
  options.targets = {"sim"};
  options.run.device = "sim:0";
  options.run.simDrop = "predicate:0";
  std::unique_ptr<passes::Target> target =
      createTarget(options, CompileState(options), targets());
  SharedModel model;
  if (!target || readModel(options, model))
    return kExitUsage;
  llvm::SmallString<128> arraysPath(options.model);
  llvm::sys::path::replace_extension(arraysPath, "");
  arraysPath += "-in.npz";
  HostTensors arrays;
  if (llvm::sys::fs::exists(arraysPath)) {
    auto read = readNpz(std::string(arraysPath));
    if (!read.ok()) {
      reportError(options, read.status().message());
      return kExitUsage;
    }
    arrays = std::move(*read);
  }
  CompileState state(options);
  for (const ModelInput &input : model->inputs())
    if (const HostTensor *array = find(arrays, input.name))
      state.shapes.emplace_back(input.name, array->dims);
  Compilation compilation(options, std::move(state), std::move(target));
  compilation.model = std::move(model);
  CompiledProgram program;
  if (ExitCode code = compilation.checkOptions())
    return code;
  if (ExitCode code = compilation.run(*findPhase("plan")))
    return code;
  if (ExitCode code = compilation.emit(program))
    return code;
  auto jit = Jit::create(program);
  if (!jit) {
    reportError(options, llvm::toString(jit.takeError()));
    return kExitFailed;
  }
  Subject subject(*(*jit)->artifact());
  rt::Status bound = subject.bindInputs(arrays);
  if (!bound.ok()) {
    reportError(options, bound.message());
    return kExitUsage;
  }
  return check(subject, llvm::sys::path::filename(options.model).str());
}
