//===- ArtifactReport.cpp - what a compiled program is and does -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ArtifactReport.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/ArtifactFacts.h"
#include "runtime/base/NumberText.h"

#include "llvm/Support/Format.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
using rt::bytesText;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

static void summarizeEntry(const sinter_artifact &artifact,
                           const sinter_entry &entry, llvm::raw_ostream &os) {
  EntryTotals totals = total(artifact, entry);
  os << "entry " << shown(entry.name) << "\n";
  for (const sinter_tensor_desc &input :
       llvm::ArrayRef(entry.inputs, entry.numInputs))
    os << "  input    " << shown(input.name) << ": " << typeText(input) << "\n";
  for (const sinter_tensor_desc &output :
       llvm::ArrayRef(entry.outputs, entry.numOutputs))
    os << "  output   " << shown(output.name) << ": " << typeText(output)
       << "\n";
  bool isByLoops = totals.loopCalls && totals.loopCalls == totals.calls;
  os << "  work     " << llvm::format("%.4g", totals.flops)
     << " FLOPs in contractions";
  for (auto &[dtype, flops] : totals.flopsByDtype)
    os << llvm::format(", %.0f %% ",
                       totals.flops ? 100 * flops / totals.flops : 0)
       << shown(dtype);
  os << llvm::format(", %.4g in other ops", totals.otherFlops)
     << "\n  commands " << entry.numCommands << ": " << totals.launches
     << " launches of " << totals.kernels.size() << " kernels, " << totals.calls
     << (isByLoops ? " calls of loops of the runtime" : " library calls")
     << "\n  arena    " << arenaText(artifact, entry) << ", "
     << bytesText(entry.unsharedBytes) << " without reuse, at most "
     << bytesText(entry.maxLiveBytes) << " live\n";
}

static json::Array workspacesJson(const sinter_artifact &artifact) {
  json::Array list;
  for (uint64_t bytes : workspaces(artifact))
    list.push_back(bytes == UINT64_MAX ? json::Value(nullptr)
                                       : json::Value(bytes));
  return list;
}

static json::Array imagesJson(const sinter_artifact &artifact) {
  json::Array list;
  for (const sinter_image &image : images(artifact))
    list.push_back(json::Object{{"kind", imageKind(image)},
                                {"arch", "sm_" + std::to_string(image.arch)},
                                {"bytes", image.sizeBytes}});
  return list;
}

static json::Object summaryJson(const sinter_artifact &artifact) {
  json::Array list;
  for (const sinter_entry &entry : entries(artifact)) {
    EntryTotals totals = total(artifact, entry);
    json::Object precision;
    for (auto &[dtype, flops] : totals.flopsByDtype)
      precision[dtype] = flops;
    list.push_back(json::Object{
        {"name", jsonText(entry.name)},
        {"inputs", jsonTensors({entry.inputs, entry.numInputs})},
        {"outputs", jsonTensors({entry.outputs, entry.numOutputs})},
        {"flops", totals.flops},
        {"flops_by_dtype", std::move(precision)},
        {"other_flops", totals.otherFlops},
        {"commands", entry.numCommands},
        {"launches", totals.launches},
        {"kernels", static_cast<int64_t>(totals.kernels.size())},
        {"library_calls", totals.calls},
        {"loop_calls", totals.loopCalls},
        {"arena_bytes", arenaBytes(artifact, entry)},
        {"unshared_bytes", entry.unsharedBytes},
        {"max_live_bytes", entry.maxLiveBytes}});
  }
  json::Array states;
  for (const sinter_state_desc &state :
       llvm::ArrayRef(artifact.states, artifact.numStates)) {
    json::Object object = jsonTensor(state.tensor);
    object["role"] = roleName(state.role);
    object["trainable"] = state.trainable != 0;
    if (state.partBytes)
      object["part_bytes"] = state.partBytes;
    states.push_back(std::move(object));
  }
  auto manifest = json::parse(artifact.manifest);
  if (!manifest)
    llvm::consumeError(manifest.takeError());
  json::Object summary{
      {"name", jsonText(artifact.name)},
      {"build_id", jsonText(artifact.buildId)},
      {"cpu_features", jsonText(artifact.cpuFeatures)},
      {"entries", std::move(list)},
      {"states", std::move(states)},
      {"state_bytes", stateBytes(artifact)},
      {"constants_bytes", artifact.constantsBytes},
      {"workspace_bytes", workspacesJson(artifact)},
      {"kernels", artifact.numKernels},
      {"images", imagesJson(artifact)},
      {"manifest", manifest ? std::move(*manifest) : json::Value(nullptr)}};
  if (artifact.training && artifact.training->replicas > 1)
    summary["replicas"] = artifact.training->replicas;
  return summary;
}

// " of each of 2 replicas, --shard=optimizer"; "" of one.
static std::string replicasText(const sinter_artifact &artifact) {
  if (artifact.training->replicas < 2)
    return "";
  const json::Object manifest = manifestOf(artifact);
  const json::Object *training = manifest.getObject("training");
  std::optional<StringRef> shard =
      training ? training->getString("shard") : std::nullopt;
  return " of each of " + std::to_string(artifact.training->replicas) +
         " replicas" + (shard ? ", --shard=" + shown(*shard) : "");
}

// " in each replica, 12 tensors divided"; "" if none is.
static std::string dividedText(const sinter_artifact &artifact) {
  const uint32_t divided = numDivided(artifact);
  return divided ? " in each replica, " + std::to_string(divided) +
                       " tensors divided"
                 : "";
}

void compiler::reportSummary(const sinter_artifact &artifact, bool json,
                             llvm::raw_ostream &os) {
  if (json) {
    os << json::Value(summaryJson(artifact)) << "\n";
    return;
  }
  os << "model    " << shown(artifact.name) << "\nbuild    "
     << shown(artifact.buildId) << "\nneeds    "
     << (*artifact.cpuFeatures ? shown(artifact.cpuFeatures, 300)
                               : "any x86-64 CPU")
     << "\n";
  if (artifact.training)
    os << "training " << shown(artifact.training->loss) << " by "
       << shown(artifact.training->optimizer) << ", batch "
       << artifact.training->batch << replicasText(artifact) << "\n";
  for (const sinter_entry &entry : entries(artifact))
    summarizeEntry(artifact, entry, os);
  uint64_t elements = 0, trained = 0;
  for (const sinter_state_desc &state :
       llvm::ArrayRef(artifact.states, artifact.numStates)) {
    uint64_t count = 1;
    for (int64_t size : llvm::ArrayRef(state.tensor.dims, state.tensor.rank))
      count *= size;
    elements += state.role == SINTER_STATE_PARAM ? count : 0;
    trained += state.trainable ? count : 0;
  }
  os << "state    " << artifact.numStates << " tensors, "
     << bytesText(stateBytes(artifact)) << dividedText(artifact);
  if (elements)
    os << "; " << elements << " parameters, " << trained << " trained";
  os << "\nconstants " << bytesText(artifact.constantsBytes) << "\nworkspace ";
  for (auto [place, bytes] : llvm::enumerate(workspaces(artifact)))
    os << (place ? ", " : "")
       << (bytes == UINT64_MAX ? "any"
           : bytes             ? "at most " + bytesText(bytes)
                               : "none")
       << (artifact.numPlaces ? " on " + deviceName(artifact, place) : "");
  os << " for library calls\n";
  for (const sinter_image &image : images(artifact))
    os << "image    " << imageKind(image) << " for sm_" << image.arch
       << (image.kind == SINTER_IMAGE_PTX ? " and newer, " : ", ")
       << bytesText(image.sizeBytes) << "\n";
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

namespace {

// How slices of an entry are shown.
struct Slices {
  const sinter_artifact &artifact;
  const sinter_entry &entry;

  // Of a state "0.weight", or "m/0.weight" of the slot m of a parameter, an
  // input or an output; "" of other slices.
  StringRef nameOf(const sinter_slice &slice) const {
    const uint32_t i = slice.index;
    switch (slice.space) {
    case SINTER_SPACE_STATE:
      return i < artifact.numStates ? artifact.states[i].tensor.name : "";
    case SINTER_SPACE_INPUT:
      return i < entry.numInputs ? entry.inputs[i].name : "";
    case SINTER_SPACE_OUTPUT:
      return i < entry.numOutputs ? entry.outputs[i].name : "";
    default:
      return "";
    }
  }

  // "arena+256..512", "state[0.weight]+0..64", ...
  std::string text(const sinter_slice &slice) const {
    std::string text = spaceName(slice.space);
    if (StringRef name = nameOf(slice); !name.empty())
      text += "[" + shown(name) + "]";
    else if (slice.space == SINTER_SPACE_SCAN ||
             slice.space == SINTER_SPACE_CHAIN)
      text += "[" + std::to_string(slice.index) + "]";
    return text + "+" + std::to_string(slice.offsetBytes) + ".." +
           std::to_string(slice.offsetBytes + slice.sizeBytes);
  }

  json::Object json(const sinter_slice &slice) const {
    json::Object object{{"space", spaceName(slice.space)},
                        {"index", slice.index},
                        {"offset", slice.offsetBytes},
                        {"size", slice.sizeBytes}};
    if (StringRef name = nameOf(slice); !name.empty())
      object["name"] = jsonText(name);
    return object;
  }
};

} // namespace

static json::Array valuesJson(const Slices &slices, const sinter_scan &scan) {
  json::Array list;
  for (const sinter_scan_value &value :
       llvm::ArrayRef(scan.values, scan.numValues))
    list.push_back(json::Object{{"first", slices.json(value.first)},
                                {"middle", slices.json(value.middle)},
                                {"last", slices.json(value.last)},
                                {"stride", value.strideBytes},
                                {"period", value.period}});
  return list;
}

static json::Object commandJson(const Slices &slices,
                                const ShownCommand &command) {
  const sinter_artifact &artifact = slices.artifact;
  json::Array reads, writes;
  for (uint32_t i = 0; i < command.numSlices; ++i)
    (i < command.numReads ? reads : writes)
        .push_back(slices.json(command.slices[i]));
  json::Object object{{"kind", commandName(command)},
                      {"target", jsonText(targetName(artifact, command))},
                      {"nodes", jsonNodes(command.label)},
                      {"reads", std::move(reads)},
                      {"writes", std::move(writes)}};
  if (command.kind == SINTER_CMD_LAUNCH)
    object["tiles"] = command.launch.tiles;
  if (command.kind == SINTER_CMD_COLLECTIVE)
    object["event"] = command.collective.event;
  if (command.kind == SINTER_CMD_AWAIT)
    object["event"] = command.event;
  if (artifact.numPlaces > 1) {
    object["device"] = deviceName(artifact, command.place);
    if (command.kind == SINTER_CMD_RECORD || command.kind == SINTER_CMD_WAIT)
      object["event"] = command.event;
    if (command.kind == SINTER_CMD_COPY) {
      object["from"] = deviceName(artifact, command.copy.from);
      object["to"] = deviceName(artifact, command.copy.to);
    }
  }
  return object;
}

// Adds a command to the list, or to the "body" of the scan that ends it.
static void addCommand(const Slices &slices, const ShownCommand &command,
                       json::Array &list) {
  json::Object object = commandJson(slices, command);
  if (command.kind == SINTER_CMD_SCAN) {
    object["trips"] = command.scan.params->trips;
    object["values"] = valuesJson(slices, *command.scan.params);
    object["body"] = json::Array();
  }
  if (command.isInScan())
    list.back().getAsObject()->getArray("body")->push_back(std::move(object));
  else
    list.push_back(std::move(object));
}

// "sim:1 matmul(", "cpu wait 3", "sim:0 copy to cpu(", "x64 matmul(",
// "all_reduce 0(", "await 0".
static std::string commandText(const Slices &slices,
                               const ShownCommand &command) {
  const sinter_artifact &artifact = slices.artifact;
  std::string text = shown(targetName(artifact, command));
  if (command.isInScan())
    text = "x" + std::to_string(command.trips) + " " + text;
  if (artifact.numPlaces > 1)
    text = deviceName(artifact, command.place) + " " + text;
  if (command.kind == SINTER_CMD_RECORD || command.kind == SINTER_CMD_WAIT ||
      command.kind == SINTER_CMD_AWAIT)
    return text + " " + std::to_string(command.event);
  if (command.kind == SINTER_CMD_COLLECTIVE)
    text += " " + std::to_string(command.collective.event);
  if (command.kind == SINTER_CMD_COPY && command.copy.from != command.copy.to)
    text += " from " + deviceName(artifact, command.copy.from) + " to " +
            deviceName(artifact, command.copy.to);
  text += "(";
  for (uint32_t s = 0; s < command.numSlices; ++s)
    text += (s == command.numReads ? ") -> ("
             : s                   ? ", "
                                   : "") +
            slices.text(command.slices[s]);
  return text + (command.numReads == command.numSlices ? ") -> ()" : ")");
}

void compiler::reportPlan(const sinter_artifact &artifact, bool json,
                          llvm::raw_ostream &os) {
  json::Array list;
  for (const sinter_entry &entry : entries(artifact)) {
    json::Array entryCommands;
    const Slices slices{artifact, entry};
    if (!json)
      os << "entry " << shown(entry.name) << ": arena "
         << arenaText(artifact, entry) << ", " << bytesText(entry.unsharedBytes)
         << " without reuse, at most " << bytesText(entry.maxLiveBytes)
         << " live\n";
    for (const ShownCommand &command : commands(entry)) {
      if (json) {
        addCommand(slices, command, entryCommands);
        continue;
      }
      os << llvm::right_justify(command.number(), 5) << "  "
         << commandText(slices, command) << "  " << shown(command.label, 200)
         << "\n";
    }
    json::Object object{{"name", jsonText(entry.name)},
                        {"arena_bytes", arenaBytes(artifact, entry)},
                        {"unshared_bytes", entry.unsharedBytes},
                        {"max_live_bytes", entry.maxLiveBytes},
                        {"commands", std::move(entryCommands)}};
    if (artifact.numPlaces > 1) {
      json::Object parts;
      for (auto [place, bytes] : llvm::enumerate(arenas(artifact, entry)))
        parts[deviceName(artifact, place)] = bytes;
      object["arenas"] = std::move(parts);
    }
    list.push_back(std::move(object));
  }
  if (json)
    os << json::Value(std::move(list)) << "\n";
}
