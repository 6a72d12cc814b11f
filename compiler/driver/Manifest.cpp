//===- Manifest.cpp - the manifest of an artifact -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Manifest.h"

#include "compiler/checks/Contracts.h"
#include "compiler/checks/FormVerifiers.h"
#include "compiler/driver/PlacementSummary.h"
#include "compiler/options/PrecisionPlan.h"

#include "compiler/base/Text.h"
#include "ir/Dialect.h"
#include "ir/Provenance.h"
#include "ir/exec/Exec.h"
#include "passes/AccessedBytes.h"
#include "passes/Flops.h"
#include "runtime/base/ByteRanges.h"

#include "sinter/program_names.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
namespace json = llvm::json;

// JSON strings are UTF-8; names in models may be any bytes.
static json::Value text(llvm::StringRef name) {
  return json::isUTF8(name) ? json::Value(name.str())
                            : json::Value(json::fixUTF8(name));
}

/// How many ops compute in another precision than the policy says, and a hash
/// of which: "3 of 27 (5f1c0a9b)". Empty if all have that of the policy.
static std::string otherPrecisions(const Options &options,
                                   mlir::ModuleOp module) {
  std::vector<passes::PrecisionEntry> entries = passes::precisionReport(module);
  std::string others;
  size_t count = 0;
  for (const passes::PrecisionEntry &entry : entries)
    if (entry.precision != options.precisionPolicy()) {
      others += entry.key() + "=" + entry.precision + "\n";
      ++count;
    }
  if (!count)
    return "";
  return llvm::formatv(
      "{0} of {1} ({2})", count, entries.size(),
      llvm::utohexstr(llvm::xxh3_64bits(others), true).substr(0, 8));
}

/// "2x3x4", as in --shape.
static std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

/// The scans that are not unrolled. Their gradients add up in another order.
static int64_t countScans(mlir::ModuleOp module) {
  int64_t count = 0;
  module.walk([&](exec::ScanOp) { ++count; });
  return count;
}

static json::Value valueOf(mlir::Attribute value) {
  if (auto string = mlir::dyn_cast<mlir::StringAttr>(value))
    return text(string.getValue());
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(value))
    return number.getValueAsDouble();
  auto integer = mlir::cast<mlir::IntegerAttr>(value);
  return integer.getType().isInteger(1)
             ? json::Value(!integer.getValue().isZero())
             : json::Value(integer.getInt());
}

/// What was compiled in that changes the numbers of a training run. Trainers
/// record all of it in checkpoints and report differences at --resume. Options
/// of the train phase come from the recipe of the module; each other option
/// that changes numbers belongs here. test/e2e/trainer/recipe-options.test
/// tries all options that sinterc has. A default is either always written or
/// always absent.
static json::Object trainingOptions(const Options &options,
                                    const CompileState &state,
                                    const passes::Target &target,
                                    mlir::ModuleOp module,
                                    llvm::StringRef otherDecisions) {
  const TrainOptions &train = options.train;
  json::Object object;
  auto training = exec::TrainingAttr::of(module);
  if (training && training.getRecipe())
    for (mlir::NamedAttribute entry : training.getRecipe())
      object[entry.getName().getValue()] = valueOf(entry.getValue());
  if (state.splitBatch > 0)
    object["split_batch"] = state.splitBatch;
  if (train.shards > 0)
    object["shards"] = train.shards;
  if (!train.parameters.empty())
    object["parameters"] = true; // what they are is in the states
  if (train.allowRewritten)
    object["allow_rewritten_parameters"] = true;

  object["target"] = target.name();
  object["mcpu"] = options.mcpu;
  object["libraries"] = llvm::join(options.libraries, ",");
  if (options.persistentKernel != "off") // it calls no libraries
    object["persistent_kernel"] = options.persistentKernel;
  if (options.gradientStream != "off")
    object["gradient_stream"] = options.gradientStream;
  if (int64_t scans = countScans(module))
    object["scans"] = scans;
  object["deterministic"] =
      options.deterministic.empty() ? "run" : options.deterministic;
  if (!options.keepFp32.empty())
    object["keep_fp32"] = text(options.keepFp32.joined());
  if (std::string others = otherPrecisions(options, module); !others.empty())
    object["ops_of_other_precision"] = others;
  if (!otherDecisions.empty())
    object["decisions"] = otherDecisions;
  if (!options.placeRules.empty())
    object["place"] = text(llvm::join(options.placeRules, ","));
  if (!options.allowCpu.empty())
    object["allow_cpu"] = text(options.allowCpu.joined());
  if (options.hasWorkspace) // libraries choose algorithms by it
    object["workspace"] = options.workspaceBytes;
  for (const auto &[name, size] : options.dims)
    object[text("dim " + name).getAsString()->str()] = size;
  for (const auto &[name, shape] : options.shapes)
    object[text("shape " + name).getAsString()->str()] = shapeText(shape);
  return object;
}

/// The node at `location`, or the line in a text file.
static std::string nodeText(mlir::Location location) {
  if (auto names = nodeNames(location); !names.empty())
    return "node " + quoted(names.front());
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return "the op in line " + std::to_string(file.getLine());
  return "an op of the model";
}

/// The nodes because of which the padding rows of a batch cannot be masked.
static json::Object mixedRows(mlir::ModuleOp module) {
  json::Object object;
  if (auto training = exec::TrainingAttr::of(module))
    for (auto [key, location] :
         {std::pair<const char *, mlir::LocationAttr>{
              SINTER_ROWS_OF_EVALUATION, training.getEvaluationMixedBy()},
          {SINTER_ROWS_OF_STEP, training.getStepMixedBy()}})
      if (location)
        object[key] = text(nodeText(location));
  return object;
}

/// "float32", as sinter-inspect calls element types.
static std::string dtypeName(mlir::Type type) {
  if (type.isBF16())
    return "bfloat16";
  return (mlir::isa<mlir::FloatType>(type) ? "float" : "int") +
         std::to_string(type.getIntOrFloatBitWidth());
}

/// A hash of what a kernel computes, the same for kernels that differ only in
/// the names of their nodes.
static std::string kernelHash(exec::KernelOp kernel) {
  std::string body;
  llvm::raw_string_ostream os(body);
  os << kernel.getDomainAttr() << "\n";
  mlir::AsmState state(kernel, mlir::OpPrintingFlags().useLocalScope());
  for (mlir::Operation &op : kernel.getBody().front())
    op.print(os, state);
  return llvm::utohexstr(llvm::xxh3_64bits(body), true);
}

/// "mul_add" of "k12_mul_add".
static llvm::StringRef opsOf(llvm::StringRef kernel) {
  auto [number, ops] = kernel.split('_');
  return number.consume_front("k") && llvm::all_of(number, llvm::isDigit) &&
                 !ops.empty()
             ? ops
             : kernel;
}

std::map<std::string, std::string>
compiler::kernelHashesByNodes(mlir::ModuleOp module) {
  std::map<std::string, std::set<std::string>> all;
  std::map<llvm::StringRef, std::string> hashes;
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>())
    hashes[kernel.getSymName()] = kernelHash(kernel);
  module.walk([&](exec::LaunchOp launch) {
    std::vector<std::string> nodes;
    ir::collectProvenance(launch.getLoc(), nodes);
    llvm::sort(nodes);
    all[opsOf(launch.getKernel()).str() + " of " + llvm::join(nodes, ", ")]
        .insert(hashes[launch.getKernel()]);
  });
  std::map<std::string, std::string> result;
  for (auto &[key, own] : all)
    result[json::isUTF8(key) ? key : json::fixUTF8(key)] = llvm::join(own, ",");
  return result;
}

/// The work of a launch: {"contractions": {"float32": 4096}, "other": 64}.
static json::Object kernelFlops(exec::KernelOp kernel) {
  passes::Flops flops = passes::flopsOf(kernel.getBody().front());
  json::Object contractions;
  for (auto &[type, count] : flops.contractions)
    contractions[dtypeName(type)] = count;
  json::Object object{{"other", flops.other}};
  if (!contractions.empty())
    object["contractions"] = std::move(contractions);
  return object;
}

/// Of which buffers a launch reads only a part: [{"read": 0, "bytes_read":
/// 64}].
static json::Array kernelAccesses(exec::KernelOp kernel) {
  json::Array list;
  for (const passes::AccessLimit &limit :
       passes::accessLimits(kernel.getBody().front())) {
    json::Object entry{{"read", limit.argument},
                       {"bytes_read", limit.bytesRead}};
    if (limit.result) {
      entry["write"] = *limit.result;
      entry["bytes_written"] = limit.bytesWritten;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

std::string
compiler::makeManifest(const Options &options, const CompileState &state,
                       const passes::Target &target,
                       llvm::ArrayRef<passes::ProgramDevice> devices,
                       mlir::ModuleOp module, llvm::StringRef otherDecisions) {
  json::Object manifest;
  manifest["sinter"] = versionText();
  if (!state.runtimeHash.empty())
    manifest["runtime"] = state.runtimeHash;
  if (!options.name.empty())
    manifest["name"] = options.name;
  manifest["target"] = target.name();
  manifest["mcpu"] = options.mcpu;
  manifest["precision"] = options.precisionPolicy();
  if (options.isQuantized())
    manifest["quantize"] = options.planPolicy();
  if (auto entries = passes::precisionReport(module); !entries.empty())
    manifest["precision_plan"] =
        precisionPlanJson(options.planPolicy(), entries);
  if (!options.keepFp32.empty())
    manifest["keep_fp32"] = text(options.keepFp32.joined());
  manifest["opt_level"] = options.optLevel;
  manifest["deterministic"] =
      options.deterministic.empty() ? "run" : options.deterministic;
  json::Array libraries;
  for (const std::string &library : options.libraries)
    libraries.push_back(library);
  manifest["libraries"] = std::move(libraries);
  if (options.fastConvolutions)
    manifest["fast_convolutions"] = true;
  json::Object dims;
  for (auto &[name, size] : options.dims)
    dims[text(name).getAsString()->str()] = size;
  if (!dims.empty())
    manifest["dims"] = std::move(dims);
  if (state.batch)
    manifest["batch"] = *state.batch;
  if (options.train.enabled)
    manifest[SINTER_MANIFEST_TRAINING] =
        trainingOptions(options, state, target, module, otherDecisions);
  if (json::Object mixed = mixedRows(module); !mixed.empty())
    manifest[SINTER_MANIFEST_ROWS_MIXED_BY] = std::move(mixed);
  for (const passes::ProgramDevice &device : devices)
    if (std::string name = device.target->assembler().name; !name.empty())
      manifest["assembler"] = name;
  json::Object kernels, hashes, flops, accesses;
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>()) {
    kernels[kernel.getSymName()] = ir::stringifyKernelKind(kernel.getKind());
    hashes[kernel.getSymName()] = kernelHash(kernel);
    flops[kernel.getSymName()] = kernelFlops(kernel);
    if (json::Array own = kernelAccesses(kernel); !own.empty())
      accesses[kernel.getSymName()] = std::move(own);
  }
  manifest["kernels"] = std::move(kernels);
  manifest["kernel_hashes"] = std::move(hashes);
  manifest["kernel_flops"] = std::move(flops);
  if (!accesses.empty())
    manifest[rt::kKernelAccesses] = std::move(accesses);
  manifest["placement"] = placementJson(module, options, target.firstDevice());
  manifest["contracts"] = realisedContracts(module);
  std::string result;
  llvm::raw_string_ostream(result) << json::Value(std::move(manifest));
  return result;
}

LinkKind compiler::linkKind(const Options &options) {
  return options.emitKind() == "trainer" ? LinkKind::Trainer
         : options.emitKind() == "lib"   ? LinkKind::Library
                                         : LinkKind::Object;
}

std::string compiler::hashOfRuntime(const Options &options) {
  auto isSimulated = [&](llvm::StringRef device) {
    return options.traitsOf(device).isSimulated;
  };
  RuntimeNeeds needs;
  needs.isSimulated = llvm::any_of(options.targets, isSimulated) ||
                      llvm::any_of(options.devices, isSimulated);
  needs.hasGloo = options.train.enabled && options.train.request.replicas > 1 &&
                  llvm::any_of(options.targets, [&](llvm::StringRef device) {
                    return options.isHost(device) || isSimulated(device);
                  });
  return runtimeHash(linkKind(options), needs);
}

void compiler::printStateTable(llvm::raw_ostream &os, mlir::ModuleOp module) {
  auto states = module.getOps<ir::StateOp>();
  if (states.empty())
    return;
  os << llvm::left_justify("state", 60) << llvm::left_justify("type", 26)
     << llvm::left_justify("role", 10) << "trained  why\n";
  for (ir::StateOp state : states) {
    std::string type;
    llvm::raw_string_ostream(type) << state.getType();
    std::string role = ir::stringifyStateRole(state.getRole()).str();
    if (auto slot = state.getSlot())
      role = slot->str();
    os << llvm::left_justify(shown(state.getSymName(), 240), 59) << " "
       << llvm::left_justify(type, 25) << " " << llvm::left_justify(role, 9)
       << " " << (state.getTrainable() ? "yes" : "no");
    if (auto reason = state.getReason())
      os << (state.getTrainable() ? "    " : "     ") << shown(*reason);
    if (auto aliases = state.getAliases())
      for (auto alias : aliases->getAsValueRange<mlir::StringAttr>())
        os << ", also " << quoted(alias);
    os << "\n";
  }
}
