//===- Bisect.cpp - sinter-inspect bisect ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/Bisect.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/checks/Check.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/MicroBatches.h"
#include "compiler/emit/Jit.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/options/PrecisionPlan.h"
#include "compiler/verify/DeviceCheck.h"
#include "compiler/verify/NarrowCosts.h"
#include "compiler/verify/NumericCheck.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {

struct BisectOptions {
  std::string inputs, device;
  bool help = false, json = false;
  std::vector<std::string> rest; // for parseOptions
};

} // namespace

static int fail(const llvm::Twine &message, int code = kExitUsage) {
  llvm::errs() << "sinter-inspect: error: " << message << "\n";
  return code;
}

static void printBisectHelp() {
  llvm::outs()
      << "usage: sinter-inspect bisect MODEL [--inputs=in.npz] "
         "[--device=DEVICE] [options of sinterc]\n\n"
         "Evaluates the program after every phase, and names the phase, the "
         "pass, the\napplication of a pattern, the op and the nodes that "
         "change a result.\n\n"
         "  --inputs=in.npz               values of inputs and states; what it "
         "lacks is made up\n"
         "  --device=DEVICE               the target: cpu, sim, cuda\n"
         "  -o plan.json                  with --precision=bf16 or fp16: a "
         "precision plan that\n"
         "                                halves the error\n"
         "  --json                        one object\n\n"
         "Exit code 0: no result differs beyond its bound; 5: one does.\n";
}

/// Splits off the options that bisect has besides those of a compilation;
/// returns what is wrong, "" if nothing.
static std::string splitArguments(llvm::ArrayRef<std::string> arguments,
                                  BisectOptions &options) {
  auto take = [](StringRef name, StringRef value, std::string &into) {
    if (value.empty())
      return ("--" + name + ": expected a value").str();
    if (!into.empty())
      return ("--" + name + " is given twice").str();
    into = value.str();
    return std::string();
  };
  for (const std::string &argument : arguments) {
    StringRef text = argument;
    std::string wrong;
    if (text.consume_front("--inputs="))
      wrong = take("inputs", text, options.inputs);
    else if (text.consume_front("--device="))
      wrong = take("device", text, options.device);
    else if (text == "--json")
      options.json = true;
    else
      options.rest.push_back(argument);
    options.help |= argument == "--help";
    if (!wrong.empty())
      return wrong;
  }
  if (!options.device.empty())
    options.rest.push_back("--target=" +
                           StringRef(options.device).split(':').first.str());
  return "";
}

/// The given arrays bind the sizes that the model and the options leave open.
static void bindSizes(const SourceModel &model, const GivenArrays &given,
                      const Options &options, CompileState &state) {
  for (const ModelInput &input : model.inputs()) {
    auto found = given.find(input.name);
    bool isBound = llvm::any_of(state.shapes, [&](const auto &shape) {
      return shape.first == input.name;
    });
    if (found == given.end() || isBound)
      continue;
    bool isOpen = !input.dims;
    for (size_t i = 0; input.dims && i < input.dims->size(); ++i) {
      const ModelInput::Dim &dim = (*input.dims)[i];
      isOpen |= !dim.size && !(i == 0 && state.batch) &&
                llvm::none_of(options.dims, [&](const auto &bound) {
                  return bound.first == dim.symbol;
                });
    }
    if (isOpen)
      state.shapes.emplace_back(input.name, found->second.dims);
  }
}

/// Names that are joined by commas, as a list.
static llvm::json::Array nodeList(StringRef joined) {
  llvm::SmallVector<StringRef> names;
  joined.split(names, ',', -1, /*KeepEmpty=*/false);
  llvm::json::Array list;
  for (StringRef name : names)
    list.push_back(llvm::json::fixUTF8(name));
  return list;
}

/// What bisect says, as text at once or as one object of JSON at the end.
class Report {
public:
  explicit Report(bool isJson) : isJson(isJson) {}
  ~Report() {
    if (isJson && !object.empty())
      llvm::outs() << llvm::formatv("{0:2}",
                                    llvm::json::Value(std::move(object)))
                   << "\n";
  }

  void phases(const NumericCheck &check) {
    object["phases"] = check.numCompared();
    object["gradient_rules"] = check.numGradients();
    object["largest_error"] = check.largestRatio();
    object["largest_error_after"] = check.largestAfter();
    if (!check.notChecked().empty())
      object["not_checked"] = llvm::json::Array(check.notChecked());
    if (isJson)
      return;
    llvm::outs() << "no difference beyond the bound: " << check.numCompared()
                 << " phases that change the program";
    if (check.numGradients())
      llvm::outs() << ", " << check.numGradients() << " gradient rules";
    llvm::outs() << "; the largest error is "
                 << shortNumber(check.largestRatio()) << " of its bound";
    if (check.largestRatio() > 0)
      llvm::outs() << ", after " << check.largestAfter();
    llvm::outs() << "\n";
    if (!check.notChecked().empty())
      llvm::outs() << "not compared with a formula: "
                   << llvm::join(check.notChecked(), ", ") << "\n";
  }
  void notRun(const std::string &why) {
    object["not_run"] = why;
    if (!isJson)
      llvm::outs() << "not run on the device: " << why << "\n";
  }
  void device(const DeviceCheck &device) {
    object["commands"] = device.numCommands();
    object["largest_error_on_device"] = device.largestRatio();
    object["largest_error_of"] = nodeList(device.largestAt());
    if (isJson)
      return;
    llvm::outs() << device.numCommands()
                 << " commands on the device; the largest error is "
                 << shortNumber(device.largestRatio()) << " of its bound";
    if (device.largestRatio() > 0)
      llvm::outs() << ", of " << shown(device.largestAt());
    llvm::outs() << "\n";
  }
  void finding(const FindingFields &fields) {
    object["finding"] = jsonOf(fields);
    if (!isJson)
      llvm::outs() << linesOf(fields);
  }
  void costs(const NarrowCosts &costs, StringRef policy, bool isMadeUp) {
    object["costs"] = costs.json(policy);
    object["made_up_inputs"] = isMadeUp;
    if (isJson)
      return;
    costs.print(llvm::outs(), policy);
    if (isMadeUp)
      llvm::outs()
          << "measured on made-up inputs; --inputs=in.npz measures on others, "
             "which may change the order\n";
  }
  void noCosts() {
    object["costs"] = nullptr;
    if (!isJson)
      llvm::outs() << "nothing of the program is in 16 bits\n";
  }
  void plan(StringRef path, const NarrowCosts::PlanResult &plan) {
    object["plan"] = llvm::json::Object{{"kept", plan.numKept},
                                        {"error", plan.error},
                                        {"nothing_in_16_bits", plan.isWhole}};
    if (isJson)
      return;
    llvm::outs() << shown(path) << ": keeps " << plan.numKept
                 << " ops in float32; with it results are off by up to "
                 << shortNumber(plan.error)
                 << (plan.isWhole ? "; nothing is left in 16 bits\n" : "\n");
  }

private:
  const bool isJson;
  llvm::json::Object object;
};

/// Why the program cannot run here, "" if it can.
static std::string whyNotRun(const Options &options) {
  const int64_t replicas = options.train.request.replicas;
  return options.train.enabled && replicas > 1
             ? "it is one of " + std::to_string(replicas) + " replicas"
             : "";
}

/// Compiles the planned program, runs it and compares each command.
static int checkDevice(const NumericCheck &check, Compilation &compilation,
                       DeviceCheck &device, ProgramInputs &inputs,
                       const RunFunctions &run, Report &report) {
  if (std::string why = whyNotRun(compilation.options); !why.empty()) {
    report.phases(check);
    report.notRun(why);
    return kExitDone;
  }
  CompiledProgram program;
  if (ExitCode code = compilation.emit(program))
    return code;
  auto jit = Jit::create(program);
  if (!jit)
    return fail(StringRef(llvm::toString(jit.takeError())).split('\n').first,
                kExitFailed);
  std::string problem;
  if (failed(device.run(compilation.module(), *(*jit)->artifact(), inputs,
                        run.load, compilation.options.run.device, problem)))
    return fail(problem, kExitDevice);
  if (device.finding()) {
    report.finding(device.finding()->fields());
    return kExitMismatch;
  }
  report.phases(check);
  report.device(device);
  return kExitDone;
}

/// Calls `use` with the program that is compiled with a precision plan.
static mlir::LogicalResult compileWithPlan(
    StringRef plan, const Compilation &compilation, const GivenArrays &given,
    llvm::ArrayRef<TargetFactory> targets,
    llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp, ProgramInputs &)>
        use) {
  Options options = compilation.options;
  options.precisionPlan = plan.str();
  options.output.clear();
  if (!readPrecisionPlan(plan, options).empty())
    return mlir::failure();
  CompileState state = compilation.state.asTrial();
  TargetSet set = createTargets(options, state, targets);
  if (!set.main)
    return mlir::failure();
  Compilation trial(options, state, std::move(set));
  trial.model = compilation.model;
  if (trial.run(*findPhase("place")) != kExitDone)
    return mlir::failure();
  PhaseContext context{options, *trial.target, trial.devices, {}, trial.state};
  mlir::PassManager pm(&trial.context());
  addRoundings(pm, context);
  if (failed(pm.run(trial.module())))
    return mlir::failure();
  ProgramInputs inputs(
      given, options.train.enabled ? options.train.request.accumulate : 1);
  return use(trial.module(), inputs);
}

static bool isSixteenBit(StringRef policy) {
  return policy == "bf16" || policy == "fp16";
}

/// Of a program in 16 bits: which nodes cost most accuracy; -o: a plan.
static int reportCosts(NumericCheck &check, const Compilation &compilation,
                       llvm::ArrayRef<TargetFactory> targets, Report &report) {
  const Options &options = compilation.options;
  StringRef policy = options.precisionPolicy();
  if (!isSixteenBit(policy))
    return kExitDone;
  if (!check.rounded()) {
    report.noCosts();
    return options.output.empty()
               ? int(kExitDone)
               : fail("-o: a precision plan needs ops in 16 bits");
  }
  NarrowCosts costs(check.rounded(), check.inputs());
  auto last = std::chrono::steady_clock::now();
  costs.progress = [&](size_t done, size_t all) {
    auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::seconds(5))
      return;
    last = now;
    llvm::errs() << "sinter-inspect: note: measured what rounding costs of "
                 << done << " of " << all << " nodes\n";
  };
  if (failed(costs.measure()))
    return kExitFailed;
  report.costs(costs, policy, check.hasMadeUpInputs());
  if (options.output.empty())
    return kExitDone;
  const GivenArrays given = check.inputs().inputArrays();
  NarrowCosts::PlanResult plan;
  std::string wrong = costs.writePlan(
      options.output, policy,
      [&](StringRef path, auto use) {
        return compileWithPlan(path, compilation, given, targets, use);
      },
      plan);
  if (!wrong.empty())
    return fail(wrong);
  report.plan(options.output, plan);
  return kExitDone;
}

int compiler::bisect(llvm::ArrayRef<std::string> arguments,
                     llvm::ArrayRef<TargetFactory> targets,
                     const RunFunctions &run) {
  BisectOptions own;
  if (std::string wrong = splitArguments(arguments, own); !wrong.empty())
    return fail(wrong);
  if (own.help) {
    printBisectHelp();
    return kExitDone;
  }
  std::optional<const Options> parsed = parseOptions(
      "sinter-inspect", kSinterInspect, kindsOf(targets), own.rest);
  if (!parsed)
    return kExitUsage;
  // The program will run here: a simulated device checks what it does.
  std::optional<Options> options(*parsed);
  if (options->run.device.empty())
    options->run.device = own.device.empty() && !options->targets.empty()
                              ? options->targets.front()
                              : own.device;
  if (options->targets.size() > 1)
    return fail("bisect takes only one target");
  if (!options->output.empty() && !isSixteenBit(options->precisionPolicy()))
    return fail("-o: a precision plan needs --precision=bf16 or fp16");
  if (!options->output.empty())
    if (std::string wrong = whyNotWritable(options->output, options->model);
        !wrong.empty())
      return fail(wrong);
  GivenArrays given;
  if (!own.inputs.empty())
    if (std::string wrong = run.readArrays(own.inputs, given); !wrong.empty())
      return fail(wrong);
  if (std::string wrong = checkMicroBatches(*options); !wrong.empty())
    return fail(wrong);
  CompileState state(*options);
  TargetSet set = createTargets(*options, state, targets);
  if (!set.main)
    return kExitUsage;
  SharedModel model;
  if (ExitCode code = readModel(*options, model))
    return code;
  bindSizes(*model, given, *options, state);
  noteMadeUpSizes(*options, makeUpSizes(*model, *options, state));
  if (ExitCode code = splitBatch(*options, state, model, targets))
    return code;
  Compilation compilation(*options, std::move(state), std::move(set));
  if (ExitCode code = compilation.checkOptions())
    return code;
  compilation.model = std::move(model);
  Report report(own.json);
  NumericCheck check(*options, given);
  std::optional<DeviceCheck> device;
  compilation.afterPhase = [&](const Phase &phase, mlir::ModuleOp module,
                               const PhaseContext &context) {
    ExitCode code = check.after(phase, module, context);
    if (code == kExitDone && StringRef(phase.name) == "remat")
      device.emplace(module);
    return code;
  };
  ExitCode code = compilation.run(*findPhase("plan"));
  if (code == kExitMismatch && check.finding()) {
    report.finding(check.finding()->fields());
    return code;
  }
  if (code == kExitDone)
    if (int failure = checkDevice(check, compilation, *device, check.inputs(),
                                  run, report))
      return failure;
  return code ? int(code) : reportCosts(check, compilation, targets, report);
}
