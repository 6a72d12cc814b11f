//===- ArtifactReport.cpp - what a compiled program is and does -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ArtifactReport.h"

#include "compiler/base/Text.h"
#include "runtime/base/NumberText.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
using rt::bytesText;
namespace json = llvm::json;

static llvm::ArrayRef<sinter_entry> entries(const sinter_artifact &artifact) {
  return {artifact.entries, artifact.numEntries};
}

// The bytes that library calls may use as workspace, for each place.
static std::vector<uint64_t> workspaces(const sinter_artifact &artifact) {
  size_t count = std::max<uint32_t>(artifact.numPlaces, 1);
  const uint64_t *rows = artifact.workspaces;
  return rows ? std::vector<uint64_t>(rows, rows + count)
              : std::vector<uint64_t>(count);
}

static llvm::ArrayRef<sinter_command> commands(const sinter_entry &entry) {
  return {entry.commands, entry.numCommands};
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static const char *dtypeName(uint32_t dtype) {
  static const char *names[] = {"?",       "bool",    "uint8",   "int8",
                                "uint16",  "int16",   "uint32",  "int32",
                                "uint64",  "int64",   "float16", "bfloat16",
                                "float32", "float64", "tf32"};
  return dtype < std::size(names) ? names[dtype] : "?";
}

static const char *commandName(uint32_t kind) {
  static const char *names[] = {"?",         "launch",     "matmul",
                                "conv",      "copy",       "fill",
                                "attention", "all_reduce", "await"};
  return kind == SINTER_CMD_RECORD ? "record"
         : kind == SINTER_CMD_WAIT ? "wait"
         : kind < std::size(names) ? names[kind]
                                   : "?";
}

static const char *spaceName(uint32_t space) {
  static const char *names[] = {"?",      "arena",    "state",  "input",
                                "output", "constant", "control"};
  return space < std::size(names) ? names[space] : "?";
}

static const char *roleName(uint32_t role) {
  static const char *names[] = {"?",    "param", "buffer",
                                "slot", "accum", "rounded"};
  return role < std::size(names) ? names[role] : "?";
}

static std::string typeText(const sinter_tensor_desc &tensor) {
  return std::string(dtypeName(tensor.dtype)) + " " +
         shownShape({tensor.dims, tensor.rank});
}

static std::string deviceName(const sinter_artifact &artifact, int64_t place) {
  return place >= 0 && place < artifact.numPlaces
             ? shown(artifact.places[place].device)
             : "?";
}

// Arena bytes of each place; the entry's own field is that of the first place.
static std::vector<uint64_t> arenas(const sinter_artifact &artifact,
                                    const sinter_entry &entry) {
  if (!artifact.numPlaces)
    return {entry.arenaBytes};
  const uint64_t *rows =
      artifact.arenas + (&entry - artifact.entries) * artifact.numPlaces;
  return {rows, rows + artifact.numPlaces};
}

static uint64_t arenaBytes(const sinter_artifact &artifact,
                           const sinter_entry &entry) {
  std::vector<uint64_t> bytes = arenas(artifact, entry);
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t(0));
}

// "3.0 KiB", or for several devices "3.0 KiB (sim:0 1.0 KiB, cpu 2.0 KiB)".
static std::string arenaText(const sinter_artifact &artifact,
                             const sinter_entry &entry) {
  std::string text = bytesText(arenaBytes(artifact, entry)), parts;
  if (artifact.numPlaces > 1)
    for (auto [place, bytes] : llvm::enumerate(arenas(artifact, entry)))
      parts += (place ? ", " : "") + deviceName(artifact, place) + " " +
               bytesText(bytes);
  return parts.empty() ? text : text + " (" + parts + ")";
}

// The bytes of the blocks that hold the states, summed over all places.
static uint64_t stateBytes(const sinter_artifact &artifact) {
  if (!artifact.numPlaces)
    return artifact.stateBytes;
  std::vector<uint64_t> blocks(artifact.numPlaces);
  for (const sinter_state_desc &state :
       llvm::ArrayRef(artifact.states, artifact.numStates))
    blocks[state.place] =
        std::max(blocks[state.place],
                 llvm::alignTo(state.offsetBytes + state.tensor.sizeBytes, 64));
  return std::accumulate(blocks.begin(), blocks.end(), uint64_t(0));
}

static json::Value jsonText(StringRef text) {
  return json::isUTF8(text) ? json::Value(text.str()) : json::fixUTF8(text);
}

static json::Array jsonDims(const sinter_tensor_desc &tensor) {
  json::Array dims;
  for (int64_t size : llvm::ArrayRef(tensor.dims, tensor.rank))
    dims.push_back(size);
  return dims;
}

static json::Object jsonTensor(const sinter_tensor_desc &tensor) {
  return json::Object{{"name", jsonText(tensor.name)},
                      {"dtype", dtypeName(tensor.dtype)},
                      {"dims", jsonDims(tensor)}};
}

static json::Array jsonTensors(llvm::ArrayRef<sinter_tensor_desc> tensors) {
  json::Array list;
  for (const sinter_tensor_desc &tensor : tensors)
    list.push_back(jsonTensor(tensor));
  return list;
}

static json::Array jsonNodes(StringRef label) {
  llvm::SmallVector<StringRef> names;
  label.split(names, ',', -1, false);
  json::Array list;
  for (StringRef name : names)
    list.push_back(jsonText(name));
  return list;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

// The multiplications and additions of a contraction. Generated kernels count
// as 0.
static double contractionFlops(const sinter_command &command) {
  double flops = 0;
  if (command.kind == SINTER_CMD_MATMUL) {
    const auto &matmul = *command.matmul.params;
    flops = 2.0 * matmul.m * matmul.n * matmul.k;
    uint32_t rank = std::min<uint32_t>(matmul.batchRank, SINTER_MAX_BATCH_DIMS);
    for (uint32_t d = 0; d < rank; ++d)
      flops *= matmul.batch[d];
  } else if (command.kind == SINTER_CMD_CONV) {
    const auto &conv = *command.conv.params;
    flops = 2.0 * conv.batch * conv.filters * conv.channels /
            std::max<int64_t>(conv.groups, 1);
    uint32_t rank =
        std::min<uint32_t>(conv.spatialRank, SINTER_MAX_SPATIAL_DIMS);
    for (uint32_t d = 0; d < rank; ++d)
      flops *= static_cast<double>(conv.outputDims[d]) * conv.kernel[d];
  } else if (command.kind == SINTER_CMD_ATTENTION) {
    // Forward: the scores and the output. Backward: the scores again, and four
    // products of the same size.
    const auto &p = *command.attention.params;
    double products = p.direction == SINTER_ATTENTION_FORWARD ? 2 : 5;
    double pairs = double(p.queries) * p.keys;
    if (p.causal) { // query i sees keys 0 to i
      double square = std::min(p.queries, p.keys);
      pairs = square * (square + 1) / 2 + (p.queries - square) * p.keys;
    }
    flops = products * 2.0 * p.batch * p.heads * pairs * p.depth;
  }
  return flops;
}

// Whether it counts as a contraction: products, convolutions and attention.
static bool isContraction(uint32_t kind) {
  return kind == SINTER_CMD_MATMUL || kind == SINTER_CMD_CONV ||
         kind == SINTER_CMD_ATTENTION;
}

// The dtype in which a contraction multiplies.
static uint32_t contractionDtype(const sinter_command &command) {
  switch (command.kind) {
  case SINTER_CMD_MATMUL:
    return command.matmul.params->dtype;
  case SINTER_CMD_CONV:
    return command.conv.params->dtype;
  default:
    return command.attention.params->dtype;
  }
}

namespace {
struct EntryTotals {
  double flops = 0;
  unsigned launches = 0, calls = 0;
  llvm::SetVector<uint32_t> kernels;
  llvm::MapVector<uint32_t, double> flopsByDtype;
};
} // namespace

static EntryTotals total(const sinter_entry &entry) {
  EntryTotals totals;
  for (const sinter_command &command : commands(entry)) {
    if (command.kind == SINTER_CMD_LAUNCH) {
      ++totals.launches;
      totals.kernels.insert(command.launch.kernel);
    }
    totals.calls += command.kind == SINTER_CMD_ALL_REDUCE;
    if (!isContraction(command.kind))
      continue;
    ++totals.calls;
    double flops = contractionFlops(command);
    totals.flops += flops;
    totals.flopsByDtype[contractionDtype(command)] += flops;
  }
  return totals;
}

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

static void summarizeEntry(const sinter_artifact &artifact,
                           const sinter_entry &entry, llvm::raw_ostream &os) {
  EntryTotals totals = total(entry);
  os << "entry " << shown(entry.name) << "\n";
  for (const sinter_tensor_desc &input :
       llvm::ArrayRef(entry.inputs, entry.numInputs))
    os << "  input    " << shown(input.name) << ": " << typeText(input) << "\n";
  for (const sinter_tensor_desc &output :
       llvm::ArrayRef(entry.outputs, entry.numOutputs))
    os << "  output   " << shown(output.name) << ": " << typeText(output)
       << "\n";
  os << "  work     " << llvm::format("%.4g", totals.flops)
     << " FLOPs in contractions";
  for (auto &[dtype, flops] : totals.flopsByDtype)
    os << llvm::format(", %.0f %% ",
                       totals.flops ? 100 * flops / totals.flops : 0)
       << dtypeName(dtype);
  os << "\n  commands " << entry.numCommands << ": " << totals.launches
     << " launches of " << totals.kernels.size() << " kernels, " << totals.calls
     << " library calls\n  arena    " << arenaText(artifact, entry) << ", "
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

static llvm::ArrayRef<sinter_image> images(const sinter_artifact &artifact) {
  return {artifact.images, artifact.numImages};
}

static const char *imageKind(const sinter_image &image) {
  return image.kind == SINTER_IMAGE_CUBIN ? "cubin"
         : image.kind == SINTER_IMAGE_PTX ? "PTX"
                                          : "?";
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
    EntryTotals totals = total(entry);
    json::Object precision;
    for (auto &[dtype, flops] : totals.flopsByDtype)
      precision[dtypeName(dtype)] = flops;
    list.push_back(json::Object{
        {"name", jsonText(entry.name)},
        {"inputs", jsonTensors({entry.inputs, entry.numInputs})},
        {"outputs", jsonTensors({entry.outputs, entry.numOutputs})},
        {"flops", totals.flops},
        {"flops_by_dtype", std::move(precision)},
        {"commands", entry.numCommands},
        {"launches", totals.launches},
        {"kernels", static_cast<int64_t>(totals.kernels.size())},
        {"library_calls", totals.calls},
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
    states.push_back(std::move(object));
  }
  auto manifest = json::parse(artifact.manifest);
  if (!manifest)
    llvm::consumeError(manifest.takeError());
  return json::Object{
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
       << artifact.training->batch << "\n";
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
     << bytesText(stateBytes(artifact));
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

// "arena+256..512", "input 0", ...
static std::string sliceText(const sinter_slice &slice) {
  std::string text = spaceName(slice.space);
  if (slice.space == SINTER_SPACE_STATE || slice.space == SINTER_SPACE_INPUT ||
      slice.space == SINTER_SPACE_OUTPUT)
    text += "[" + std::to_string(slice.index) + "]";
  return text + "+" + std::to_string(slice.offsetBytes) + ".." +
         std::to_string(slice.offsetBytes + slice.sizeBytes);
}

static StringRef targetName(const sinter_artifact &artifact,
                            const sinter_command &command) {
  return command.kind == SINTER_CMD_LAUNCH
             ? artifact.kernels[command.launch.kernel].name
             : commandName(command.kind);
}

static json::Object commandJson(const sinter_artifact &artifact,
                                const sinter_command &command) {
  json::Array reads, writes;
  for (uint32_t i = 0; i < command.numSlices; ++i) {
    const sinter_slice &slice = command.slices[i];
    json::Object object{{"space", spaceName(slice.space)},
                        {"index", slice.index},
                        {"offset", slice.offsetBytes},
                        {"size", slice.sizeBytes}};
    (i < command.numReads ? reads : writes).push_back(std::move(object));
  }
  json::Object object{{"kind", commandName(command.kind)},
                      {"target", jsonText(targetName(artifact, command))},
                      {"nodes", jsonNodes(command.label)},
                      {"reads", std::move(reads)},
                      {"writes", std::move(writes)}};
  if (command.kind == SINTER_CMD_LAUNCH)
    object["tiles"] = command.launch.tiles;
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

// "sim:1 matmul(", "cpu wait 3", "sim:0 copy to cpu(".
static std::string commandText(const sinter_artifact &artifact,
                               const sinter_command &command) {
  std::string text = shown(targetName(artifact, command));
  if (artifact.numPlaces > 1)
    text = deviceName(artifact, command.place) + " " + text;
  if (command.kind == SINTER_CMD_RECORD || command.kind == SINTER_CMD_WAIT)
    return text + " " + std::to_string(command.event);
  if (command.kind == SINTER_CMD_COPY && command.copy.from != command.copy.to)
    text += " from " + deviceName(artifact, command.copy.from) + " to " +
            deviceName(artifact, command.copy.to);
  text += "(";
  for (uint32_t s = 0; s < command.numSlices; ++s)
    text += (s == command.numReads ? ") -> ("
             : s                   ? ", "
                                   : "") +
            sliceText(command.slices[s]);
  return text + (command.numReads == command.numSlices ? ") -> ()" : ")");
}

void compiler::reportPlan(const sinter_artifact &artifact, bool json,
                          llvm::raw_ostream &os) {
  json::Array list;
  for (const sinter_entry &entry : entries(artifact)) {
    json::Array entryCommands;
    if (!json)
      os << "entry " << shown(entry.name) << ": arena "
         << arenaText(artifact, entry) << ", " << bytesText(entry.unsharedBytes)
         << " without reuse, at most " << bytesText(entry.maxLiveBytes)
         << " live\n";
    for (auto [i, command] : llvm::enumerate(commands(entry))) {
      if (json) {
        entryCommands.push_back(commandJson(artifact, command));
        continue;
      }
      os << llvm::format("%5zu  ", i) << commandText(artifact, command) << "  "
         << shown(command.label, 200) << "\n";
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

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
struct KernelUse {
  std::string kind;
  unsigned calls = 0;
  llvm::MapVector<StringRef, unsigned> callsOfEntry;
  llvm::SetVector<StringRef> nodes;
  const sinter_kernel_desc *kernel = nullptr; // on a GPU; null: no launch
};
} // namespace

// "/fc1/Add, /fc1/Relu and 31 more"; --json lists them all.
static std::string firstNames(llvm::ArrayRef<StringRef> names) {
  constexpr size_t kMostShown = 8;
  std::string text;
  for (StringRef name : names.take_front(kMostShown))
    text += (text.empty() ? "" : ", ") + shown(name);
  if (names.size() > kMostShown)
    text += " and " + std::to_string(names.size() - kMostShown) + " more";
  return text;
}

// "grid 12x1x1, block 256x1x1, 2048 B shared, "
static std::string launchText(const sinter_kernel_desc &kernel) {
  auto size = [](const uint32_t(&of)[3]) {
    return std::to_string(of[0]) + "x" + std::to_string(of[1]) + "x" +
           std::to_string(of[2]);
  };
  std::string text =
      "grid " + size(kernel.grid) + ", block " + size(kernel.block) + ", ";
  if (kernel.sharedBytes)
    text += std::to_string(kernel.sharedBytes) + " B dynamic shared, ";
  return text;
}

// The manifest has the kinds of kernels: {"kernels": {"k0_relu": "loop"}}.
static std::string kernelKind(const json::Object *kinds, StringRef name) {
  if (kinds)
    if (auto kind = kinds->getString(name))
      return kind->str();
  return "kernel";
}

void compiler::reportKernels(const sinter_artifact &artifact, bool json,
                             llvm::raw_ostream &os) {
  auto manifest = json::parse(artifact.manifest);
  const json::Object *kinds = nullptr;
  if (!manifest)
    llvm::consumeError(manifest.takeError());
  else if (const json::Object *object = manifest->getAsObject())
    kinds = object->getObject("kernels");

  llvm::MapVector<StringRef, KernelUse> uses;
  for (const sinter_entry &entry : entries(artifact))
    for (const sinter_command &command : commands(entry)) {
      StringRef name = targetName(artifact, command);
      KernelUse &use = uses[name];
      use.kind = command.kind == SINTER_CMD_LAUNCH ? kernelKind(kinds, name)
                                                   : commandName(command.kind);
      if (command.kind == SINTER_CMD_LAUNCH &&
          artifact.kernels[command.launch.kernel].grid[0])
        use.kernel = &artifact.kernels[command.launch.kernel];
      ++use.calls;
      ++use.callsOfEntry[entry.name];
      llvm::SmallVector<StringRef> nodes;
      StringRef(command.label).split(nodes, ',', -1, false);
      use.nodes.insert(nodes.begin(), nodes.end());
    }
  json::Array list;
  for (auto &[name, use] : uses) {
    json::Array nodes;
    json::Object callsOfEntry;
    for (auto &[entry, calls] : use.callsOfEntry)
      callsOfEntry[jsonText(entry).getAsString()->str()] = calls;
    for (StringRef node : use.nodes)
      nodes.push_back(jsonText(node));
    std::string text = firstNames(use.nodes.getArrayRef());
    json::Object object{{"name", jsonText(name)},
                        {"kind", use.kind},
                        {"calls", use.calls},
                        {"entries", std::move(callsOfEntry)},
                        {"nodes", std::move(nodes)}};
    if (use.kernel) {
      object["grid"] = json::Array(use.kernel->grid);
      object["block"] = json::Array(use.kernel->block);
      object["shared_bytes"] = use.kernel->sharedBytes;
      text = launchText(*use.kernel) + text;
    }
    list.push_back(std::move(object));
    if (!json)
      os << llvm::left_justify(shown(name), 40) << " "
         << llvm::left_justify(use.kind, 8) << llvm::format(" %4u  ", use.calls)
         << text << "\n";
  }
  if (json)
    os << json::Value(std::move(list)) << "\n";
}
