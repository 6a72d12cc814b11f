//===- MemoryLimit.cpp - memory of a planned program ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/MemoryLimit.h"

#include "compiler/base/Text.h"
#include "compiler/options/OptionValues.h"
#include "ir/Provenance.h"
#include "passes/plan/Arena.h"
#include "runtime/base/NumberText.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using rt::bytesText;

static std::vector<std::string> devicesOf(ModuleOp module,
                                          llvm::StringRef otherwise) {
  std::vector<std::string> devices;
  for (llvm::StringRef name : ir::deviceNames(module))
    devices.push_back(name.str());
  if (devices.empty())
    devices.push_back(otherwise.str());
  return devices;
}

static bool isForCpuAlone(llvm::ArrayRef<std::string> devices) {
  return devices.size() == 1 && ir::isHostDevice(devices.front());
}

bool compiler::promisesCpuWorkspace(ModuleOp module, const Options &options,
                                    llvm::StringRef otherwise) {
  return options.hasWorkspace || (options.memoryLimitBytes > 0 &&
                                  isForCpuAlone(devicesOf(module, otherwise)));
}

std::vector<DeviceMemory> compiler::memoryOf(ModuleOp module,
                                             const Options &options,
                                             llvm::StringRef otherwise) {
  std::vector<std::string> devices = devicesOf(module, otherwise);
  bool isCpuPromised = promisesCpuWorkspace(module, options, otherwise);
  std::vector<DeviceMemory> result;
  for (const std::string &device : devices) {
    bool isCpu = ir::isHostDevice(device);
    // Without a promise nothing is known of a CPU's scratch.
    int64_t workspace = isCpu && !isCpuPromised ? 0 : options.workspaceBytes;
    result.push_back(
        {device,
         passes::plan::footprintOf(module, result.size(), workspace,
                                   /*hasOwnMemory=*/!isCpu),
         /*isLimited=*/!isCpu || isForCpuAlone(devices)});
  }
  return result;
}

std::string compiler::memoryText(const DeviceMemory &memory) {
  const passes::plan::Footprint &bytes = memory.bytes;
  std::string text = memory.device + ": " + bytesText(bytes.total()) +
                     ": arena " + bytesText(bytes.arena);
  for (auto [name, part] : {std::pair("states", bytes.states),
                            {"constants", bytes.constants},
                            {"inputs and outputs", bytes.inputs},
                            {"library workspace", bytes.allWorkspaces()}})
    if (part)
      text += std::string(", ") + name + " " + bytesText(part);
  return text;
}

namespace {
// A value in the arena, with the first and the last command that use it.
struct LiveValue {
  exec::BufferOp buffer;
  unsigned first, last;
};
} // namespace

static std::vector<LiveValue> arenaValues(exec::ProgramOp program,
                                          int64_t place) {
  std::vector<LiveValue> values;
  llvm::DenseMap<Operation *, size_t> numbers;
  llvm::DenseMap<int64_t, Operation *> sent; // collectives by event
  unsigned position = 0;
  for (Operation &op : program.getBody().front()) {
    if (!isa<exec::CommandOpInterface>(op))
      continue;
    // What a collective uses lives until its await.
    auto await = dyn_cast<exec::AwaitOp>(op);
    if (auto collective = dyn_cast<exec::CollectiveOp>(op))
      sent[static_cast<int64_t>(collective.getEvent())] = collective;
    Operation *uses =
        await ? sent.lookup(static_cast<int64_t>(await.getEvent())) : &op;
    for (Value operand : uses->getOperands()) {
      exec::BufferOp buffer = exec::bufferOp(operand);
      exec::SliceAttr slice = buffer.getSlice();
      if (slice.getSpace() != exec::Space::arena || slice.getIndex() != place)
        continue;
      auto [it, isNew] = numbers.try_emplace(buffer, values.size());
      if (isNew)
        values.push_back({buffer, position, position});
      values[it->second].last = position;
    }
    ++position;
  }
  return values;
}

// The largest values that are live at the peak: "96.0 MiB of conv1, ...".
static std::string largestAtPeak(exec::ProgramOp program, int64_t place) {
  std::vector<LiveValue> values = arenaValues(program, place);
  std::vector<passes::plan::Lifetime> lifetimes;
  for (const LiveValue &value : values)
    lifetimes.push_back(
        {const_cast<LiveValue &>(value).buffer.getSlice().getSize(),
         value.first, value.last});
  if (lifetimes.empty())
    return "";
  std::vector<int64_t> live = passes::plan::liveBytes(lifetimes);
  unsigned peak = std::max_element(live.begin(), live.end()) - live.begin();
  std::vector<size_t> there;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].first <= peak && peak <= values[i].last)
      there.push_back(i);
  llvm::stable_sort(there, [&](size_t x, size_t y) {
    return lifetimes[x].bytes > lifetimes[y].bytes;
  });
  constexpr size_t kMaxNamed = 5;
  std::string text;
  for (size_t i : llvm::ArrayRef(there).take_front(kMaxNamed)) {
    std::vector<std::string> names;
    ir::collectProvenance(values[i].buffer.getLoc(), names);
    text += (text.empty() ? "" : ", ") + bytesText(lifetimes[i].bytes) +
            " of " + (names.empty() ? "an unnamed node" : shown(names[0]));
  }
  if (there.size() > kMaxNamed)
    text += " and " + std::to_string(there.size() - kMaxNamed) + " more";
  return text;
}

static exec::ProgramOp largestProgram(ModuleOp module, int64_t place) {
  exec::ProgramOp largest;
  for (auto program : module.getOps<exec::ProgramOp>())
    if (!program.isPrivate() &&
        (!largest ||
         exec::arenaBytes(program)[place] > exec::arenaBytes(largest)[place]))
      largest = program;
  return largest;
}

int64_t compiler::batchOf(ModuleOp module) {
  exec::ProgramOp program = largestProgram(module, 0);
  if (!program || program.getInputTypes().empty())
    return 0;
  auto type = dyn_cast<RankedTensorType>(
      cast<TypeAttr>(program.getInputTypes()[0]).getValue());
  return type && type.getRank() > 0 ? type.getDimSize(0) : 0;
}

std::string compiler::whyTooLarge(
    ModuleOp module, const Options &options,
    llvm::ArrayRef<DeviceMemory> devices,
    const std::function<std::string(int64_t)> &batchesThatFit) {
  int64_t smallest = 0;
  for (const DeviceMemory &memory : devices)
    if (memory.isLimited)
      smallest = std::max(smallest, memory.bytes.total());
  for (auto [place, memory] : llvm::enumerate(devices)) {
    if (memory.excess(options) <= 0)
      continue;
    std::string text = shown(options.model) + ": does not fit into " +
                       bytesText(options.memoryLimitBytes) + "; " +
                       memoryText(memory);
    std::string values = largestAtPeak(largestProgram(module, place), place);
    if (!values.empty())
      text += "; the largest values at the peak: " + values;
    // An exact number of bytes, which can be given as a limit. With another
    // limit nodes may be placed differently, and the batch may be split.
    bool hasChoice = devices.size() > 1 || options.devices.size() > 1;
    text += (hasChoice                 ? "; with this placement it fits into "
             : options.allowMicroBatch ? "; without a split it fits into "
                                       : "; the smallest limit that fits is ") +
            std::to_string(smallest) + " bytes";
    if (options.remat == "none")
      text += " without recomputation (--remat=none)";
    if (batchesThatFit)
      text += batchesThatFit(batchOf(module));
    return text;
  }
  return "";
}
