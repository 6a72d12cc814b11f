//===- KernelView.cpp - one kernel of a program ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/KernelView.h"

#include "compiler/base/Text.h"
#include "ir/Provenance.h"
#include "runtime/base/NumberText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// The kernels of a program
//===----------------------------------------------------------------------===//

static std::string targetOf(const sinter_artifact &artifact,
                            const sinter_command &command) {
  return artifact.numPlaces ? artifact.places[command.place].target
                            : artifact.target;
}

static void addUse(const sinter_artifact &artifact,
                   const sinter_command &command, const CommandBytes &bytesOf,
                   const uint8_t *dtypes, KernelView &view) {
  view.target = targetOf(artifact, command);
  for (uint32_t i = 0; i < command.numSlices; ++i) {
    bool isRead = i < command.numReads;
    std::string &text = isRead ? view.reads : view.writes;
    uint64_t bytes = command.slices[i].sizeBytes;
    text += (text.empty() ? "" : ", ") +
            (dtypes ? std::string(dtypeName(dtypes[i])) + " " : "") +
            std::to_string(bytes) + " B";
  }
  const rt::AccessedBytes bytes = bytesOf.of(command);
  view.bytesRead = bytes.read;
  view.bytesWritten = bytes.written;
}

std::vector<KernelView> compiler::kernelViews(const sinter_artifact &artifact) {
  const json::Object manifest = manifestOf(artifact);
  const json::Object *kinds = manifest.getObject("kernels");
  std::map<std::string, KernelFlops> flops = kernelFlops(artifact);
  llvm::MapVector<StringRef, KernelView> views;
  std::map<std::string, std::set<StringRef>> known;
  const CommandBytes bytesOf(artifact);
  const uint8_t *dtypes = artifact.sliceDtypes;
  for (const sinter_entry &entry : entries(artifact))
    for (const ShownCommand &command : commands(entry)) {
      const uint8_t *own = dtypes;
      dtypes = dtypes ? dtypes + command.numSlices : nullptr;
      if (command.kind != SINTER_CMD_LAUNCH)
        continue;
      StringRef name = targetName(artifact, command);
      KernelView &view = views[name];
      if (!view.kernel) {
        view.name = name.str();
        view.kind = kernelText(kinds, artifact, name, "kernel");
        view.flops = flops[view.name];
        view.kernel = &artifact.kernels[command.launch.kernel];
        addUse(artifact, command, bytesOf, own, view);
      }
      view.commands.emplace_back(entry.name, command.index);
      llvm::SmallVector<StringRef> nodes;
      StringRef(command.label).split(nodes, ',', -1, false);
      for (StringRef node : nodes)
        if (known[view.name].insert(node).second)
          view.nodes.push_back(node.str());
    }
  std::vector<KernelView> list;
  for (auto &[name, view] : views)
    list.push_back(std::move(view));
  return list;
}

std::vector<KernelView> compiler::callViews(const sinter_artifact &artifact) {
  std::vector<KernelView> list;
  const CommandBytes bytesOf(artifact);
  const uint8_t *dtypes = artifact.sliceDtypes;
  for (const sinter_entry &entry : entries(artifact))
    for (const ShownCommand &command : commands(entry)) {
      const uint8_t *own = dtypes;
      dtypes = dtypes ? dtypes + command.numSlices : nullptr;
      if (command.kind == SINTER_CMD_LAUNCH ||
          command.kind == SINTER_CMD_SCAN || !command.numSlices)
        continue;
      KernelView view;
      view.kind = commandName(command);
      view.name = std::string(entry.name) + " command " + command.number();
      addUse(artifact, command, bytesOf, own, view);
      view.commands.emplace_back(entry.name, command.index);
      llvm::SmallVector<StringRef> nodes;
      StringRef(command.label).split(nodes, ',', -1, false);
      view.nodes.assign(nodes.begin(), nodes.end());
      view.flops = callFlops(command);
      list.push_back(std::move(view));
    }
  return list;
}

std::vector<KernelView> compiler::findKernels(llvm::ArrayRef<KernelView> views,
                                              StringRef name) {
  auto hasNode = [&](const KernelView &view) { return view.computes(name); };
  auto hasPartOfNode = [&](const KernelView &view) {
    return llvm::any_of(view.nodes,
                        [&](StringRef node) { return node.contains(name); });
  };
  auto isName = [&](const KernelView &view) { return view.name == name; };
  auto isPart = [&](const KernelView &view) {
    return StringRef(view.name).contains(name);
  };
  // A kind of library call, as the list of all names it: its calls, and kernels
  // with it in their name.
  auto isKind = [&](const KernelView &view) {
    return !view.kernel && view.kind == name;
  };
  auto isKindOrPart = [&](const KernelView &view) {
    return view.kernel ? isPart(view) : isKind(view);
  };
  bool namesKind = llvm::any_of(views, isKind);
  std::vector<KernelView> found;
  for (llvm::function_ref<bool(const KernelView &)> fits :
       {llvm::function_ref<bool(const KernelView &)>(isName),
        llvm::function_ref<bool(const KernelView &)>(hasNode),
        namesKind ? llvm::function_ref<bool(const KernelView &)>(isKindOrPart)
                  : llvm::function_ref<bool(const KernelView &)>(isPart),
        llvm::function_ref<bool(const KernelView &)>(hasPartOfNode)}) {
    for (const KernelView &view : views)
      if (fits(view))
        found.push_back(view);
    if (!found.empty())
      break;
  }
  return found;
}

bool KernelView::computes(StringRef node) const {
  std::string gradient = ir::gradientName(node);
  return llvm::is_contained(nodes, node) ||
         llvm::is_contained(nodes, gradient) ||
         // A name with commas; labels join names by commas.
         (node.contains(',') &&
          llvm::any_of(llvm::ArrayRef<StringRef>{node, gradient},
                       [&](StringRef name) {
                         return StringRef("," + llvm::join(nodes, ",") + ",")
                             .contains(("," + name + ",").str());
                       }));
}

BestTime KernelView::best(const MachinePeaks &peaks) const {
  return bestTime(peaks, bytesRead + bytesWritten, flops);
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

// "main 1, 4": the commands of each entry.
static std::string commandsText(const KernelView &view) {
  std::string text, entry;
  for (auto &[name, number] : view.commands) {
    if (name != entry)
      text += (text.empty() ? "" : "; ") + shown(name) + " ";
    else
      text += ", ";
    text += std::to_string(number);
    entry = name;
  }
  return text;
}

static double intensity(const KernelView &view) {
  double bytes = view.bytesRead + view.bytesWritten;
  return bytes > 0 ? view.flops.total() / bytes : 0;
}

static void printTimes(const KernelView &view, const MachinePeaks &peaks,
                       llvm::raw_ostream &os) {
  if (!peaks.isKnown()) {
    os << "best     unknown: " << shown(peaks.source) << "\n";
    return;
  }
  BestTime time = view.best(peaks);
  os << "best     "
     << llvm::format("%.3g us, bound by %s: memory %.3g us (%.4g GB/s), "
                     "arithmetic %.3g us (",
                     1e6 * time.best(peaks), time.bound(peaks),
                     1e6 * time.memory, peaks.bytesPerSecond / 1e9,
                     1e6 * time.arithmetic)
     << ratesText(ratesOf(peaks, view.flops)) << ")";
  if (peaks.secondsPerLaunch > 0)
    os << llvm::format(", launch %.3g us", 1e6 * peaks.secondsPerLaunch);
  os << "; " << peaks.source;
  if (view.bytesRead + view.bytesWritten <= peaks.cacheBytes)
    os << "; what it reads fits into a cache, and is faster if it is there";
  os << "\n";
}

static void printCode(const KernelView &view, llvm::raw_ostream &os) {
  if (view.resources)
    os << "uses     " << view.resources->registers << " registers and "
       << view.resources->stackBytes << " bytes of stack of a thread, "
       << view.resources->sharedBytes << " bytes of static shared memory, "
       << view.resources->codeBytes << " bytes of code\n";
  if (!view.counts)
    return;
  const InstructionCounts &counts = *view.counts;
  if (counts.vectorBits)
    os << "uses     " << counts.stackBytes << " bytes of stack, "
       << counts.vectorRegisters.size() << " vector registers, at most "
       << counts.vectorBits << " bits of one\n";
  os << "code    ";
  for (auto [i, row] : llvm::enumerate(counts.rows()))
    if (i == 0 || row.count)
      os << (i == 0   ? " "
             : i == 1 ? ": "
                      : ", ")
         << row.count << " " << row.text;
  os << " (" << view.countedIn << ")\n";
}

void compiler::printKernel(const KernelView &view, const MachinePeaks &peaks,
                           llvm::raw_ostream &os) {
  os << (view.kernel ? "kernel   " : "call     ") << shown(view.name) << ", "
     << shown(view.kind) << ", for " << shown(view.target) << "\n";
  for (auto [i, node] : llvm::enumerate(view.nodes))
    os << (i ? ", " : "nodes    ") << shown(node);
  os << (view.nodes.empty() ? "" : "\n") << "commands " << commandsText(view)
     << "\n";
  if (const sinter_kernel_desc *kernel = view.kernel; kernel && kernel->grid[0])
    os << "launch   grid " << kernel->grid[0] << "x" << kernel->grid[1] << "x"
       << kernel->grid[2] << ", block " << kernel->block[0] << "x"
       << kernel->block[1] << "x" << kernel->block[2] << ", "
       << kernel->sharedBytes << " bytes of dynamic shared memory\n";
  os << "reads    " << (view.reads.empty() ? "nothing" : view.reads)
     << "\nwrites   " << view.writes << "\nwork     "
     << llvm::format("%.4g FLOPs", view.flops.total());
  for (auto &[dtype, flops] : view.flops.contractions)
    os << llvm::format(", %.4g in contractions of ", flops) << shown(dtype);
  os << ", " << rt::bytesText(view.bytesRead + view.bytesWritten)
     << llvm::format(", %.3g FLOPs per byte\n", intensity(view));
  printTimes(view, peaks, os);
  printCode(view, os);
  if (!view.code.empty())
    os << "\n" << view.code;
}

static json::Array textsJson(llvm::ArrayRef<std::string> texts) {
  json::Array list;
  for (const std::string &text : texts)
    list.push_back(jsonText(text));
  return list;
}

static json::Object timesJson(const KernelView &view,
                              const MachinePeaks &peaks) {
  if (!peaks.isKnown())
    return json::Object{{"best_us", nullptr}, {"source", peaks.source}};
  BestTime time = view.best(peaks);
  const std::vector<std::pair<std::string, double>> rates =
      ratesOf(peaks, view.flops);
  return json::Object{{"best_us", 1e6 * time.best(peaks)},
                      {"memory_us", 1e6 * time.memory},
                      {"arithmetic_us", 1e6 * time.arithmetic},
                      {"launch_us", 1e6 * peaks.secondsPerLaunch},
                      {"bound", time.bound(peaks)},
                      {"bytes_per_second", peaks.bytesPerSecond},
                      {"flops_per_second", rates.front().second},
                      {"flops_type", rates.front().first},
                      {"source", peaks.source}};
}

json::Object compiler::kernelJson(const KernelView &view,
                                  const MachinePeaks &peaks) {
  json::Array commands;
  for (auto &[entry, number] : view.commands)
    commands.push_back(
        json::Object{{"entry", jsonText(entry)}, {"number", int64_t(number)}});
  json::Object contractions;
  for (auto &[dtype, flops] : view.flops.contractions)
    contractions[dtype] = flops;
  json::Object object{{"name", jsonText(view.name)},
                      {"kind", jsonText(view.kind)},
                      {"target", jsonText(view.target)},
                      {"nodes", textsJson(view.nodes)},
                      {"commands", std::move(commands)},
                      {"flops", view.flops.total()},
                      {"contraction_flops", std::move(contractions)},
                      {"bytes_read", view.bytesRead},
                      {"bytes_written", view.bytesWritten},
                      {"flops_per_byte", intensity(view)},
                      {"time", timesJson(view, peaks)}};
  if (view.counts) {
    json::Object counts;
    for (const InstructionCounts::Row &row : view.counts->rows())
      counts[row.key] = row.count;
    object["instructions"] = std::move(counts);
    object["instructions_of"] = view.countedIn;
    if (view.counts->vectorBits) {
      object["stack_bytes"] = view.counts->stackBytes;
      object["vector_registers"] = int64_t(view.counts->vectorRegisters.size());
      object["vector_bits"] = view.counts->vectorBits;
    }
  }
  if (view.resources) {
    object["registers"] = view.resources->registers;
    object["stack_bytes"] = view.resources->stackBytes;
    object["static_shared_bytes"] = view.resources->sharedBytes;
    object["code_bytes"] = view.resources->codeBytes;
  }
  if (!view.code.empty())
    object["code"] = jsonText(view.code);
  return object;
}
