//===- ArtifactFacts.cpp - words and numbers of an artifact ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ArtifactFacts.h"

#include "compiler/base/Text.h"
#include "runtime/base/NumberText.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
using rt::bytesText;
namespace json = llvm::json;

// The bytes that library calls may use as workspace, for each place.
std::vector<uint64_t> compiler::workspaces(const sinter_artifact &artifact) {
  size_t count = std::max<uint32_t>(artifact.numPlaces, 1);
  const uint64_t *rows = artifact.workspaces;
  return rows ? std::vector<uint64_t>(rows, rows + count)
              : std::vector<uint64_t>(count);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

const char *compiler::dtypeName(uint32_t dtype) {
  static const char *names[] = {"?",       "bool",    "uint8",   "int8",
                                "uint16",  "int16",   "uint32",  "int32",
                                "uint64",  "int64",   "float16", "bfloat16",
                                "float32", "float64", "tf32"};
  return dtype < std::size(names) ? names[dtype] : "?";
}

std::vector<ShownCommand> compiler::commands(const sinter_entry &entry) {
  std::vector<ShownCommand> list;
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    list.push_back({command, i});
    if (command.kind != SINTER_CMD_SCAN)
      continue;
    const sinter_scan &scan = *command.scan.params;
    for (uint32_t j = 0; j < scan.numCommands; ++j)
      list.push_back({scan.commands[j], i, j, scan.trips});
  }
  return list;
}

std::string ShownCommand::number() const {
  return std::to_string(index) +
         (isInScan() ? "." + std::to_string(inBody) : "");
}

const char *compiler::commandName(const sinter_command &command) {
  static const char *names[] = {"?",     "launch", "matmul",    "conv",
                                "copy",  "fill",   "attention", "collective",
                                "await", "scan"};
  static const char *ops[] = {"all_reduce", "reduce_scatter", "all_gather"};
  const uint32_t kind = command.kind;
  if (kind == SINTER_CMD_COLLECTIVE && command.collective.op < std::size(ops))
    return ops[command.collective.op];
  return kind == SINTER_CMD_RECORD ? "record"
         : kind == SINTER_CMD_WAIT ? "wait"
         : kind < std::size(names) ? names[kind]
                                   : "?";
}

const char *compiler::spaceName(uint32_t space) {
  static const char *names[] = {"?",       "arena",  "state",
                                "input",   "output", "constant",
                                "control", "scan",   "chain"};
  return space < std::size(names) ? names[space] : "?";
}

const char *compiler::roleName(uint32_t role) {
  static const char *names[] = {"?",    "param", "buffer",
                                "slot", "accum", "rounded"};
  return role < std::size(names) ? names[role] : "?";
}

std::string compiler::typeText(const sinter_tensor_desc &tensor) {
  return std::string(dtypeName(tensor.dtype)) + " " +
         shownShape({tensor.dims, tensor.rank});
}

std::string compiler::deviceName(const sinter_artifact &artifact,
                                 int64_t place) {
  return place >= 0 && place < artifact.numPlaces
             ? shown(artifact.places[place].device)
             : "?";
}

// Arena bytes of each place; the entry's own field is that of the first place.
std::vector<uint64_t> compiler::arenas(const sinter_artifact &artifact,
                                       const sinter_entry &entry) {
  if (!artifact.numPlaces)
    return {entry.arenaBytes};
  const uint64_t *rows =
      artifact.arenas + (&entry - artifact.entries) * artifact.numPlaces;
  return {rows, rows + artifact.numPlaces};
}

uint64_t compiler::arenaBytes(const sinter_artifact &artifact,
                              const sinter_entry &entry) {
  std::vector<uint64_t> bytes = arenas(artifact, entry);
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t(0));
}

// "3.0 KiB", or for several devices "3.0 KiB (sim:0 1.0 KiB, cpu 2.0 KiB)".
std::string compiler::arenaText(const sinter_artifact &artifact,
                                const sinter_entry &entry) {
  std::string text = bytesText(arenaBytes(artifact, entry)), parts;
  if (artifact.numPlaces > 1)
    for (auto [place, bytes] : llvm::enumerate(arenas(artifact, entry)))
      parts += (place ? ", " : "") + deviceName(artifact, place) + " " +
               bytesText(bytes);
  return parts.empty() ? text : text + " (" + parts + ")";
}

static rt::AccessLimit accessLimit(const json::Object &entry) {
  auto number = [&](StringRef name) {
    return static_cast<uint64_t>(entry.getInteger(name).value_or(0));
  };
  rt::AccessLimit limit{static_cast<uint32_t>(number("read")),
                        number("bytes_read"), std::nullopt,
                        number("bytes_written")};
  if (entry.get("write"))
    limit.write = static_cast<uint32_t>(number("write"));
  return limit;
}

CommandBytes::CommandBytes(const sinter_artifact &artifact)
    : limits_(artifact.numKernels) {
  const json::Object manifest = manifestOf(artifact);
  const json::Object *table = manifest.getObject(rt::kKernelAccesses);
  for (auto [i, limits] : llvm::enumerate(limits_)) {
    const json::Value *value =
        kernelEntry(table, artifact, artifact.kernels[i].name);
    const json::Array *list = value ? value->getAsArray() : nullptr;
    for (const json::Value &each : list ? *list : json::Array())
      if (const json::Object *entry = each.getAsObject())
        limits.push_back(accessLimit(*entry));
  }
}

rt::AccessedBytes CommandBytes::of(const sinter_command &command) const {
  const bool isLaunch = command.kind == SINTER_CMD_LAUNCH &&
                        command.launch.kernel < limits_.size();
  return isLaunch ? rt::accessedBytes(command, limits_[command.launch.kernel])
                  : rt::accessedBytes(command);
}

uint32_t compiler::numDivided(const sinter_artifact &artifact) {
  return llvm::count_if(
      llvm::ArrayRef(artifact.states, artifact.numStates),
      [](const sinter_state_desc &state) { return state.partBytes != 0; });
}

uint64_t compiler::stateBytes(const sinter_artifact &artifact) {
  if (!artifact.numPlaces)
    return artifact.stateBytes;
  std::vector<uint64_t> blocks(artifact.numPlaces);
  for (const sinter_state_desc &state :
       llvm::ArrayRef(artifact.states, artifact.numStates))
    blocks[state.place] = std::max(
        blocks[state.place],
        llvm::alignTo(state.offsetBytes + sinter_held_bytes(&state), 64));
  return std::accumulate(blocks.begin(), blocks.end(), uint64_t(0));
}

static json::Array jsonDims(const sinter_tensor_desc &tensor) {
  json::Array dims;
  for (int64_t size : llvm::ArrayRef(tensor.dims, tensor.rank))
    dims.push_back(size);
  return dims;
}

json::Object compiler::jsonTensor(const sinter_tensor_desc &tensor) {
  return json::Object{{"name", jsonText(tensor.name)},
                      {"dtype", dtypeName(tensor.dtype)},
                      {"dims", jsonDims(tensor)}};
}

json::Array compiler::jsonTensors(llvm::ArrayRef<sinter_tensor_desc> tensors) {
  json::Array list;
  for (const sinter_tensor_desc &tensor : tensors)
    list.push_back(jsonTensor(tensor));
  return list;
}

json::Array compiler::jsonNodes(StringRef label) {
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

// The multiplications and additions of a contraction; 0 for other commands.
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

// Of one post-op for each element of the result, as passes::flopsOf counts the
// op that it stands for.
static double flopsOfElement(uint32_t kind) {
  switch (kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
  case SINTER_POST_RELU:
  case SINTER_POST_RELU_BITS:
  case SINTER_POST_SIGMOID:
  case SINTER_POST_TANH:
  case SINTER_POST_SCALE:
  case SINTER_POST_BIAS_GRAD:
  case SINTER_POST_CHANNEL_SUM:
    return 1;
  case SINTER_POST_DEQUANTIZE: // a cast and a product
    return 2;
  case SINTER_POST_QUANTIZE: // division, rounding, addition, bounds, cast
    return 6;
  case SINTER_POST_FAKE_QUANTIZE: // the same, two casts, difference, product
    return 10;
  case SINTER_POST_ADD_CODES: // two casts, difference, product, addition
    return 5;
  case SINTER_POST_CLIP:  // a minimum and a maximum
  case SINTER_POST_SWISH: // a sigmoid and a product
  case SINTER_POST_CHANNEL_SQUARES:
    return 2;
  case SINTER_POST_GELU_ERF:
  case SINTER_POST_HARD_SWISH:
    return 5;
  case SINTER_POST_GELU_TANH:
    return 9;
  case SINTER_POST_GELU_TANH_GRAD:
    return 18;
  default: // stores and selections
    return 0;
  }
}

static double postOpFlops(llvm::ArrayRef<sinter_post_op> postOps,
                          double elements, double elementsOfA,
                          double elementsOfB) {
  double flops = 0;
  for (const sinter_post_op &postOp : postOps)
    flops += postOp.kind == SINTER_POST_A_SUM ? elementsOfA
             : postOp.kind == SINTER_POST_B_SUM
                 ? elementsOfB
                 : elements * flopsOfElement(postOp.kind);
  return flops;
}

static double postOpFlops(const sinter_matmul &matmul) {
  double batches = 1, m = matmul.m, n = matmul.n, k = matmul.k;
  uint32_t rank = std::min<uint32_t>(matmul.batchRank, SINTER_MAX_BATCH_DIMS);
  for (uint32_t d = 0; d < rank; ++d)
    batches *= matmul.batch[d];
  uint32_t count = std::min<uint32_t>(matmul.numPostOps, SINTER_MAX_POST_OPS);
  return postOpFlops({matmul.postOps, count}, batches * m * n, batches * m * k,
                     batches * k * n);
}

static double postOpFlops(const sinter_conv &conv) {
  bool isForward = conv.direction == SINTER_CONV_FORWARD;
  double elements = conv.batch * (isForward ? conv.filters : conv.channels);
  uint32_t rank = std::min<uint32_t>(conv.spatialRank, SINTER_MAX_SPATIAL_DIMS);
  for (uint32_t d = 0; d < rank; ++d)
    elements *= isForward ? conv.outputDims[d] : conv.inputDims[d];
  uint32_t count = std::min<uint32_t>(conv.numPostOps, SINTER_MAX_POST_OPS);
  return postOpFlops({conv.postOps, count}, elements, 0, 0);
}

KernelFlops compiler::callFlops(const sinter_command &command) {
  KernelFlops flops;
  if (!isContraction(command.kind))
    return flops;
  flops.contractions[dtypeName(contractionDtype(command))] =
      contractionFlops(command);
  if (command.kind == SINTER_CMD_MATMUL)
    flops.other = postOpFlops(*command.matmul.params);
  else if (command.kind == SINTER_CMD_CONV)
    flops.other = postOpFlops(*command.conv.params);
  return flops;
}

bool compiler::isByLoops(const sinter_command &command) {
  return (command.kind == SINTER_CMD_MATMUL &&
          command.matmul.way == SINTER_BY_LOOPS) ||
         (command.kind == SINTER_CMD_CONV &&
          command.conv.way == SINTER_BY_LOOPS);
}

// Whether it counts as a contraction: products, convolutions and attention.
bool compiler::isContraction(uint32_t kind) {
  return kind == SINTER_CMD_MATMUL || kind == SINTER_CMD_CONV ||
         kind == SINTER_CMD_ATTENTION;
}

// The dtype in which a contraction multiplies.
uint32_t compiler::contractionDtype(const sinter_command &command) {
  switch (command.kind) {
  case SINTER_CMD_MATMUL:
    return command.matmul.params->dtype;
  case SINTER_CMD_CONV:
    return command.conv.params->dtype;
  default:
    return command.attention.params->dtype;
  }
}

json::Object compiler::manifestOf(const sinter_artifact &artifact) {
  auto manifest = json::parse(artifact.manifest);
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return {};
  }
  json::Object *object = manifest->getAsObject();
  return object ? std::move(*object) : json::Object();
}

std::string compiler::cpuOf(const sinter_artifact &artifact,
                            const std::string &machine) {
  const json::Object manifest = manifestOf(artifact);
  StringRef name = manifest.getString("mcpu").value_or("");
  return name.empty() || name == "native" ? machine : name.str();
}

const json::Value *compiler::kernelEntry(const json::Object *table,
                                         const sinter_artifact &artifact,
                                         StringRef kernel) {
  if (!table)
    return nullptr;
  if (const json::Value *value = table->get(kernel))
    return value;
  kernel.consume_back("_" + std::string(artifact.target));
  return table->get(kernel);
}

std::string compiler::kernelText(const json::Object *table,
                                 const sinter_artifact &artifact,
                                 StringRef kernel, StringRef otherwise) {
  const json::Value *value = kernelEntry(table, artifact, kernel);
  auto text = value ? value->getAsString() : std::nullopt;
  return text.value_or(otherwise).str();
}

double KernelFlops::total() const {
  double sum = other;
  for (auto &[dtype, flops] : contractions)
    sum += flops;
  return sum;
}

KernelFlops &KernelFlops::operator+=(const KernelFlops &more) {
  other += more.other;
  for (auto &[dtype, flops] : more.contractions)
    contractions[dtype] += flops;
  return *this;
}

KernelFlops &KernelFlops::operator*=(double times) {
  other *= times;
  for (auto &[dtype, flops] : contractions)
    flops *= times;
  return *this;
}

std::map<std::string, KernelFlops>
compiler::kernelFlops(const sinter_artifact &artifact) {
  std::map<std::string, KernelFlops> result;
  const json::Object manifest = manifestOf(artifact);
  const json::Object *kernels = manifest.getObject("kernel_flops");
  for (const sinter_kernel_desc &kernel :
       llvm::ArrayRef(artifact.kernels, artifact.numKernels)) {
    const json::Value *value = kernelEntry(kernels, artifact, kernel.name);
    const json::Object *row = value ? value->getAsObject() : nullptr;
    if (!row)
      continue;
    KernelFlops &flops = result[kernel.name];
    flops.other = row->getNumber("other").value_or(0);
    if (const json::Object *contractions = row->getObject("contractions"))
      for (auto &[dtype, count] : *contractions)
        flops.contractions[dtype.str()] = count.getAsNumber().value_or(0);
  }
  return result;
}

std::vector<KernelFlops> compiler::commandFlops(const sinter_artifact &artifact,
                                                const sinter_entry &entry) {
  std::map<std::string, KernelFlops> ofKernels = kernelFlops(artifact);
  std::vector<KernelFlops> all;
  for (const ShownCommand &command : commands(entry)) {
    all.push_back(command.kind == SINTER_CMD_LAUNCH
                      ? ofKernels[targetName(artifact, command).str()]
                      : callFlops(command));
    all.back() *= static_cast<double>(command.trips);
  }
  return all;
}

EntryTotals compiler::total(const sinter_artifact &artifact,
                            const sinter_entry &entry) {
  EntryTotals totals;
  for (const auto &[command, own] :
       llvm::zip(commands(entry), commandFlops(artifact, entry))) {
    if (command.kind != SINTER_CMD_SCAN)
      totals.commands += command.trips;
    if (command.kind == SINTER_CMD_LAUNCH) {
      totals.launches += command.trips;
      totals.kernels.insert(command.launch.kernel);
    }
    if (command.kind == SINTER_CMD_COLLECTIVE || isContraction(command.kind))
      totals.calls += command.trips;
    if (isByLoops(command))
      totals.loopCalls += command.trips;
    totals.otherFlops += own.other;
    for (auto &[dtype, flops] : own.contractions) {
      totals.flops += flops;
      totals.flopsByDtype[dtype] += flops;
    }
  }
  return totals;
}

const char *compiler::imageKind(const sinter_image &image) {
  return image.kind == SINTER_IMAGE_CUBIN ? "cubin"
         : image.kind == SINTER_IMAGE_PTX ? "PTX"
                                          : "?";
}

StringRef compiler::targetName(const sinter_artifact &artifact,
                               const sinter_command &command) {
  return command.kind == SINTER_CMD_LAUNCH
             ? artifact.kernels[command.launch.kernel].name
             : commandName(command);
}
