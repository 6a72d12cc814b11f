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
#include "ir/exec/Exec.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace sinter;
using namespace sinter::compiler;
namespace json = llvm::json;

// JSON strings are UTF-8; names in models may be any bytes.
static json::Value text(llvm::StringRef name) {
  return json::isUTF8(name) ? json::Value(name.str())
                            : json::Value(json::fixUTF8(name));
}

/// Trainers compare these options with those of a checkpoint. A default is
/// either always written or always absent.
static json::Object trainingOptions(const Options &options,
                                    const CompileState &state,
                                    mlir::ModuleOp module) {
  const TrainOptions &train = options.train;
  json::Object object;
  object["loss"] = train.loss.kind.empty() ? "cross-entropy" : train.loss.kind;
  object["optimizer"] = train.optimizer.empty() ? "sgd" : train.optimizer;
  if (!train.loss.logits.empty())
    object["logits"] = text(train.loss.logits);
  if (train.loss.axis)
    object["loss_axis"] = *train.loss.axis;
  if (train.loss.ignoreIndex)
    object["ignore_index"] = *train.loss.ignoreIndex;
  if (train.loss.labelSmoothing)
    object["label_smoothing"] = train.loss.labelSmoothing;
  object["loss_scale"] = options.lossScale();
  auto chosen = module->getAttrOfType<mlir::DictionaryAttr>(
      exec::ExecDialect::kTrainingAttr);
  for (const char *key : {"momentum", "beta1", "beta2", "eps"})
    if (auto value =
            chosen ? chosen.getAs<mlir::FloatAttr>(key) : mlir::FloatAttr())
      object[key] = value.getValueAsDouble();
  if (train.clipValue > 0)
    object["clip_value"] = train.clipValue;
  if (train.replicas > 1)
    object["replicas"] = train.replicas;
  if (state.accumulate > 1)
    object["accumulate"] = state.accumulate;
  if (state.splitBatch > 0)
    object["split_batch"] = state.splitBatch;
  if (train.shards > 0)
    object["shards"] = train.shards;
  if (train.ema > 0)
    object["ema"] = train.ema;
  if (train.nesterov)
    object["nesterov"] = true;
  if (!train.noDecay.empty())
    object["no_decay"] = text(train.noDecay.joined());
  if (!train.trainable.empty())
    object["trainable"] = text(train.trainable.joined());
  if (!train.freeze.empty())
    object["freeze"] = text(train.freeze.joined());
  if (train.padLastBatch)
    object["pad_last_batch"] = true;
  if (train.freezeBatchNorm)
    object["freeze_bn"] = true;
  object["bn_running_var"] = train.unbiasedRunningVar ? "unbiased" : "onnx";
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
  if (auto training = module->getAttrOfType<mlir::DictionaryAttr>(
          exec::ExecDialect::kTrainingAttr))
    for (const char *key : {"evaluation", "step"})
      if (auto location = training.getAs<mlir::LocationAttr>(std::string(key) +
                                                             "_mixed_by"))
        object[key] = text(nodeText(location));
  return object;
}

std::string compiler::makeManifest(const Options &options,
                                   const CompileState &state,
                                   const passes::Target &target,
                                   mlir::ModuleOp module) {
  json::Object manifest;
  manifest["sinter"] = versionText();
  if (!options.name.empty())
    manifest["name"] = options.name;
  manifest["target"] = target.name();
  manifest["mcpu"] = options.mcpu;
  manifest["precision"] = options.precisionPolicy();
  if (auto entries = passes::precisionReport(module); !entries.empty())
    manifest["precision_plan"] =
        precisionPlanJson(options.precisionPolicy(), entries);
  manifest["opt_level"] = options.optLevel;
  manifest["deterministic"] =
      options.deterministic.empty() ? "run" : options.deterministic;
  json::Array libraries;
  for (const std::string &library : options.libraries)
    libraries.push_back(library);
  manifest["libraries"] = std::move(libraries);
  json::Object dims;
  for (auto &[name, size] : options.dims)
    dims[text(name).getAsString()->str()] = size;
  if (!dims.empty())
    manifest["dims"] = std::move(dims);
  if (state.batch)
    manifest["batch"] = *state.batch;
  if (options.train.enabled)
    manifest["training"] = trainingOptions(options, state, module);
  if (json::Object mixed = mixedRows(module); !mixed.empty())
    manifest["rows_mixed_by"] = std::move(mixed);
  json::Object kernels;
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>())
    kernels[kernel.getSymName()] = ir::stringifyKernelKind(kernel.getKind());
  manifest["kernels"] = std::move(kernels);
  manifest["placement"] = placementJson(module, options, target.firstDevice());
  manifest["contracts"] = realisedContracts(module);
  std::string result;
  llvm::raw_string_ostream(result) << json::Value(std::move(manifest));
  return result;
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
