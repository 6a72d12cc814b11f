//===- KernelReport.cpp - the kernels of a compiled program ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/ArtifactReport.h"
#include "compiler/inspect/MachinePeaks.h"
#include "runtime/base/NumberText.h"

#include "llvm/Support/Format.h"

#include <map>
#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
struct KernelUse {
  std::string kind;
  unsigned calls = 0;
  llvm::MapVector<StringRef, unsigned> callsOfEntry;
  llvm::SetVector<StringRef> nodes;
  const sinter_kernel_desc *kernel = nullptr; // on a GPU; null: no launch
  // Of all calls.
  KernelFlops flops;
  double bytesRead = 0, bytesWritten = 0, seconds = 0;
  bool isTimed = true; // false: its limits are unknown
};

using Uses =
    llvm::MapVector<std::string, KernelUse, std::map<std::string, unsigned>>;
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

// Adds the work of one command, and its least time if there are peaks.
static void addWork(const ShownCommand &command, rt::AccessedBytes bytes,
                    const KernelFlops &flops, const MachinePeaks *peaks,
                    KernelUse &use) {
  bytes.read *= command.trips;
  bytes.written *= command.trips;
  use.bytesRead += bytes.read;
  use.bytesWritten += bytes.written;
  use.flops += flops;
  if (peaks && (!peaks->isKnown() || isMessage(command)))
    use.isTimed = false;
  if (peaks && use.isTimed && command.numSlices)
    use.seconds +=
        bestTime(*peaks, bytes.read + bytes.written, flops).best(*peaks);
}

// The peaks of each place's target, the only one being that of place 0; empty
// without times.
using Peaks = std::vector<MachinePeaks>;

static Uses usesOf(const sinter_artifact &artifact, const Peaks &peaks) {
  const json::Object manifest = manifestOf(artifact);
  const json::Object *kinds = manifest.getObject("kernels");
  const CommandBytes bytesOf(artifact);
  Uses uses;
  for (const sinter_entry &entry : entries(artifact))
    for (const auto &[command, flops] :
         llvm::zip_equal(commands(entry), commandFlops(artifact, entry))) {
      if (command.kind == SINTER_CMD_SCAN)
        continue; // its commands do the work
      std::string name = targetName(artifact, command).str();
      bool isLaunch = command.kind == SINTER_CMD_LAUNCH;
      // By time, calls of a library are told apart: one may take most of it.
      if (!peaks.empty() && !isLaunch && command.numSlices)
        name = std::string(entry.name) + " command " + command.number();
      KernelUse &use = uses[name];
      use.kind = isLaunch ? kernelText(kinds, artifact, name, "kernel")
                          : commandName(command);
      if (isLaunch && artifact.kernels[command.launch.kernel].grid[0])
        use.kernel = &artifact.kernels[command.launch.kernel];
      use.calls += command.trips;
      use.callsOfEntry[entry.name] += command.trips;
      addWork(command, bytesOf.of(command), flops,
              peaks.empty() ? nullptr
                            : &peaks[artifact.numPlaces ? command.place : 0],
              use);
      llvm::SmallVector<StringRef> nodes;
      StringRef(command.label).split(nodes, ',', -1, false);
      use.nodes.insert(nodes.begin(), nodes.end());
    }
  return uses;
}

static json::Object useJson(StringRef name, const KernelUse &use,
                            bool hasTimes) {
  json::Array nodes;
  json::Object callsOfEntry;
  for (auto &[entry, calls] : use.callsOfEntry)
    callsOfEntry[jsonText(entry).getAsString()->str()] = calls;
  for (StringRef node : use.nodes)
    nodes.push_back(jsonText(node));
  json::Object object{
      {"name", jsonText(name)},      {"kind", use.kind},
      {"calls", use.calls},          {"entries", std::move(callsOfEntry)},
      {"nodes", std::move(nodes)},   {"flops", use.flops.total()},
      {"bytes_read", use.bytesRead}, {"bytes_written", use.bytesWritten}};
  if (hasTimes)
    object["best_us"] =
        use.isTimed ? json::Value(1e6 * use.seconds) : json::Value(nullptr);
  if (use.kernel) {
    object["grid"] = json::Array(use.kernel->grid);
    object["block"] = json::Array(use.kernel->block);
    object["shared_bytes"] = use.kernel->sharedBytes;
  }
  return object;
}

static void printUse(StringRef name, const KernelUse &use, bool hasTimes,
                     llvm::raw_ostream &os) {
  os << llvm::left_justify(shown(name), 40) << " "
     << llvm::left_justify(use.kind, 8) << llvm::format(" %4u  ", use.calls);
  if (hasTimes && use.isTimed)
    os << llvm::format("%9.3g us ", 1e6 * use.seconds);
  else if (hasTimes)
    os << "  unknown    ";
  os << llvm::format("%8.3g FLOPs ", use.flops.total())
     << llvm::right_justify(rt::bytesText(use.bytesRead + use.bytesWritten), 10)
     << "  " << (use.kernel ? launchText(*use.kernel) : "")
     << firstNames(use.nodes.getArrayRef()) << "\n";
}

static void report(const sinter_artifact &artifact, const Peaks &peaks,
                   bool json, llvm::raw_ostream &os) {
  auto uses = usesOf(artifact, peaks).takeVector();
  if (!peaks.empty())
    llvm::stable_sort(uses, [](const auto &a, const auto &b) {
      return a.second.seconds > b.second.seconds;
    });
  json::Array list;
  for (auto &[name, use] : uses)
    if (json)
      list.push_back(useJson(name, use, !peaks.empty()));
    else
      printUse(name, use, !peaks.empty(), os);
  if (json) {
    os << json::Value(std::move(list)) << "\n";
    return;
  }
  KernelFlops all;
  for (auto &[name, use] : uses)
    all += use.flops;
  std::set<std::string> shownSources;
  for (const MachinePeaks &own : peaks)
    if (!shownSources.insert(own.source).second)
      continue;
    else if (!own.isKnown())
      os << "times at best: " << shown(own.source) << "\n";
    else
      os << llvm::format("times at best, at %.4g GB/s and ",
                         own.bytesPerSecond / 1e9)
         << ratesText(ratesOf(own, all)) << ", " << own.source << "\n";
}

void compiler::reportKernels(const sinter_artifact &artifact, bool json,
                             llvm::raw_ostream &os) {
  report(artifact, {}, json, os);
}

void compiler::reportKernelsByTime(
    const sinter_artifact &artifact,
    llvm::function_ref<bool(StringRef target)> isHost, const std::string &mcpu,
    bool json, llvm::raw_ostream &os) {
  Peaks peaks;
  std::map<bool, MachinePeaks> known;
  for (uint32_t i = 0; i < std::max(artifact.numPlaces, 1u); ++i) {
    bool isCpu = isHost(artifact.numPlaces ? artifact.places[i].target
                                           : artifact.target);
    if (!known.count(isCpu))
      known[isCpu] = machinePeaks(isCpu, mcpu);
    peaks.push_back(known[isCpu]);
  }
  report(artifact, peaks, json, os);
}
