//===- PageWork.cpp - what the kernels on the page do ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/PageWork.h"

#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/MachinePeaks.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

// The page names library calls and copies after their nodes.
static std::string nameOnPage(const sinter_artifact &artifact,
                              const sinter_command &command) {
  std::string name = targetName(artifact, command).str();
  if (command.kind == SINTER_CMD_LAUNCH)
    return name;
  llvm::SmallVector<StringRef> nodes;
  StringRef(command.label).split(nodes, ',', -1, false);
  return name + " " + llvm::join(nodes, ", ");
}

void compiler::addLeastTimes(const sinter_artifact &artifact,
                             const Options &options, PageProgram &program) {
  const std::string cpu = cpuOf(artifact, options.machine());
  const CommandBytes bytesOf(artifact);
  std::map<std::string, MachinePeaks> peaks; // by target
  std::map<std::string, double> least;
  for (const sinter_entry &entry : entries(artifact))
    for (const auto &[command, flops] :
         llvm::zip_equal(commands(entry), commandFlops(artifact, entry))) {
      if (!command.numSlices || command.kind == SINTER_CMD_SCAN ||
          isMessage(command))
        continue;
      const std::string target = artifact.numPlaces
                                     ? artifact.places[command.place].target
                                     : artifact.target;
      if (!peaks.count(target))
        peaks[target] = machinePeaks(options.isHost(target), cpu);
      const MachinePeaks &own = peaks[target];
      const rt::AccessedBytes bytes = bytesOf.of(command);
      least[nameOnPage(artifact, command)] +=
          bestTime(own, (bytes.read + bytes.written) * command.trips, flops)
              .best(own);
    }
  for (const auto &[name, seconds] : least)
    if (json::Object *facts = program.kernels.getObject(utf8(name)))
      (*facts)["at best, us"] = 1e6 * seconds;
}

void compiler::addWork(const sinter_artifact &artifact, PageProgram &program) {
  struct Work {
    std::string kind; // of a kernel
    double flops = 0, read = 0, written = 0;
  };
  const json::Object manifest = manifestOf(artifact);
  const json::Object *kinds = manifest.getObject("kernels");
  const CommandBytes bytesOf(artifact);
  std::map<std::string, Work> all;
  for (const sinter_entry &entry : entries(artifact))
    for (const auto &[command, flops] :
         llvm::zip_equal(commands(entry), commandFlops(artifact, entry))) {
      std::string name = nameOnPage(artifact, command);
      Work &work = all[name];
      if (command.kind == SINTER_CMD_LAUNCH)
        work.kind = kernelText(kinds, artifact, name, "kernel");
      const rt::AccessedBytes bytes = bytesOf.of(command);
      work.flops += flops.total();
      work.read += static_cast<double>(bytes.read * command.trips);
      work.written += static_cast<double>(bytes.written * command.trips);
    }
  for (const auto &[name, work] : all) {
    json::Object facts{{"bytes read", work.read},
                       {"bytes written", work.written},
                       {"FLOPs", work.flops}};
    if (!work.kind.empty())
      facts["kind"] = work.kind;
    program.kernels[utf8(name)] = std::move(facts);
  }
}
