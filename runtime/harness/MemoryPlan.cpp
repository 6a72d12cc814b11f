//===- MemoryPlan.cpp - the trainer's "plan" ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/MemoryNeeds.h"
#include "runtime/harness/Commands.h"
#include "runtime/harness/MemoryChart.h"
#include "runtime/harness/OutputFile.h"
#include "runtime/harness/SumMemory.h"

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sinter::rt;

static nlohmann::ordered_json valuesJson(const sinter_entry &entry,
                                         uint32_t place) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ArenaValue &value : arenaValues(entry, place))
    json.push_back({{"offsetBytes", value.offsetBytes},
                    {"sizeBytes", value.sizeBytes},
                    {"firstCommand", value.firstCommand},
                    {"lastCommand", value.lastCommand},
                    {"label", value.label}});
  return json;
}

static nlohmann::ordered_json entryJson(const sinter_artifact &artifact,
                                        const sinter_entry &entry) {
  nlohmann::ordered_json json;
  json["entry"] = entry.name;
  json["arenaBytes"] = arenaBytesOfAll(artifact, entry);
  json["maxLiveBytes"] = entry.maxLiveBytes;
  json["unsharedBytes"] = entry.unsharedBytes;
  json["commands"] = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < entry.numCommands; ++i)
    json["commands"].push_back({{"kind", commandName(entry.commands[i])},
                                {"place", entry.commands[i].place},
                                {"stream", entry.commands[i].stream},
                                {"label", entry.commands[i].label}});
  json["values"] = valuesJson(entry, 0);
  for (uint32_t p = 0; p < artifact.numPlaces; ++p)
    json["places"].push_back({{"device", artifact.places[p].device},
                              {"arenaBytes", arenaBytes(artifact, entry, p)},
                              {"values", valuesJson(entry, p)}});
  return json;
}

static void printValues(const sinter_entry &entry, uint32_t place) {
  std::printf("  %12s %12s  %11s  %s\n", "offset", "bytes", "commands",
              "first written by");
  for (const ArenaValue &value : arenaValues(entry, place))
    std::printf(
        "  %12" PRIu64 " %12" PRIu64 "  %4u .. %4u  %s %s\n", value.offsetBytes,
        value.sizeBytes, value.firstCommand, value.lastCommand,
        commandName(entry.commands[value.firstCommand]), value.label.c_str());
}

/// Prints every value, and then the sum over time.
static void printPlace(const sinter_entry &entry, uint32_t place) {
  printValues(entry, place);
  std::printf("%s", memoryChart(entry, place).c_str());
}

/// Prints where each state is: of a slot "m/0.weight", that of the parameter
/// 0.weight which the optimizer calls m.
static void printStates(const sinter_artifact &artifact) {
  if (!artifact.numStates)
    return;
  std::printf("  %12s %12s  %s\n", "offset", "bytes", "state");
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_state_desc &state = artifact.states[i];
    const std::string part =
        state.partBytes
            ? ", a part of " + std::to_string(state.tensor.sizeBytes) + " bytes"
            : "";
    std::printf("  %12" PRIu64 " %12" PRIu64 "  %s%s%s%s\n", state.offsetBytes,
                sinter_held_bytes(&state), state.tensor.name, part.c_str(),
                artifact.numPlaces ? " on " : "",
                artifact.numPlaces ? artifact.places[state.place].device : "");
  }
}

static nlohmann::ordered_json statesJson(const sinter_artifact &artifact) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_state_desc &state = artifact.states[i];
    json.push_back({{"name", state.tensor.name},
                    {"offsetBytes", state.offsetBytes},
                    {"sizeBytes", sinter_held_bytes(&state)}});
    if (state.partBytes)
      json.back()["wholeBytes"] = state.tensor.sizeBytes;
    if (artifact.numPlaces)
      json.back()["device"] = artifact.places[state.place].device;
  }
  return json;
}

/// Prints what sums over processes hold beside states and arenas.
static void printSums(const sinter_artifact &artifact) {
  std::string text;
  for (auto [processes, bytes] : spanningBytesByProcesses(artifact))
    text += (text.empty() ? " " : ", ") + std::to_string(bytes) +
            " bytes in each of " + std::to_string(processes);
  if (!text.empty())
    std::printf("sums over processes:%s\n", text.c_str());
}

static nlohmann::ordered_json sumsJson(const sinter_artifact &artifact) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (auto [processes, bytes] : spanningBytesByProcesses(artifact))
    json.push_back({{"processes", processes}, {"sizeBytes", bytes}});
  return json;
}

static void printEntry(const sinter_artifact &artifact,
                       const sinter_entry &entry) {
  std::printf("entry %s: %u commands, arena %" PRIu64
              " bytes, largest live set "
              "%" PRIu64 " bytes, without reuse %" PRIu64 " bytes\n",
              entry.name, entry.numCommands, arenaBytesOfAll(artifact, entry),
              entry.maxLiveBytes, entry.unsharedBytes);
  if (!artifact.numPlaces)
    return printPlace(entry, 0);
  for (uint32_t p = 0; p < artifact.numPlaces; ++p) {
    std::printf(" on %s: arena %" PRIu64 " bytes\n", artifact.places[p].device,
                arenaBytes(artifact, entry, p));
    printPlace(entry, p);
  }
}

Status sinter::rt::runPlan(const sinter_artifact &artifact,
                           const TrainerOptions &options) {
  if (!options.output.empty()) {
    const OutputKind page = {"a page", {"<!DOCTYPE html>"}};
    SINTER_RETURN_IF_ERROR(
        checkOutput("-o", options.output, InputFiles(), &page));
    return writeFileAtomic(options.output, memoryPage(artifact));
  }
  if (!options.json) {
    std::printf("states: %u, %" PRIu64 " bytes%s; constants: %" PRIu64
                " bytes\n",
                artifact.numStates, stateBytesOfAll(artifact),
                dividedText(artifact).c_str(), artifact.constantsBytes);
    printStates(artifact);
    printSums(artifact);
    for (uint32_t i = 0; i < artifact.numEntries; ++i)
      printEntry(artifact, artifact.entries[i]);
    return {};
  }
  nlohmann::ordered_json json;
  json["stateBytes"] = stateBytesOfAll(artifact);
  json["constantsBytes"] = artifact.constantsBytes;
  json["states"] = statesJson(artifact);
  if (nlohmann::ordered_json sums = sumsJson(artifact); !sums.empty())
    json["sumsOverProcesses"] = std::move(sums);
  json["entries"] = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    json["entries"].push_back(entryJson(artifact, artifact.entries[i]));
  std::printf(
      "%s\n",
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
          .c_str());
  return {};
}
