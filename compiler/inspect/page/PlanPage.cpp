//===- PlanPage.cpp - the memory of compiled programs as a page -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/PlanPage.h"

#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/page/Page.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

// A value in an arena: bytes from the command that first writes them to the
// last one that touches them; a collective does until its await.
struct Value {
  const sinter_slice *slice;
  uint32_t first, last; // commands
};

} // namespace

// Each write begins a value, as each buffer of a plan holds one: also where the
// command reads the value that was in these bytes before.
static std::vector<Value> arenaValues(const sinter_entry &entry) {
  std::vector<Value> values;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, size_t> current;
  std::map<uint32_t, std::vector<size_t>> sent; // values of a message, by event
  for (auto [c, command] : llvm::enumerate(commands(entry))) {
    if (command.kind == SINTER_CMD_AWAIT)
      for (size_t value : sent[command.event])
        values[value].last = std::max(values[value].last, uint32_t(c));
    for (uint32_t s = 0; s < command.numSlices; ++s) {
      const sinter_slice &slice = command.slices[s];
      if (slice.space != SINTER_SPACE_ARENA)
        continue;
      auto [found, isNew] = current.try_emplace(
          {slice.index, slice.offsetBytes, slice.sizeBytes}, values.size());
      if (isNew || s >= command.numReads) {
        found->second = values.size();
        values.push_back({&slice, uint32_t(c), uint32_t(c)});
      } else {
        values[found->second].last = c;
      }
      if (command.kind == SINTER_CMD_COLLECTIVE)
        sent[command.collective.event].push_back(found->second);
    }
  }
  return values;
}

static json::Object planJson(const sinter_artifact &artifact,
                             const sinter_entry &entry) {
  json::Array commandList, values;
  for (const ShownCommand &command : commands(entry)) {
    std::string target = targetName(artifact, command).str();
    if (command.isInScan())
      target = command.number() + " x" + std::to_string(command.trips) + " " +
               target;
    commandList.push_back(json::Object{{"kind", commandName(command)},
                                       {"target", jsonText(target)},
                                       {"nodes", jsonNodes(command.label)}});
  }
  for (const Value &value : arenaValues(entry))
    values.push_back(json::Object{{"place", value.slice->index},
                                  {"offset", value.slice->offsetBytes},
                                  {"size", value.slice->sizeBytes},
                                  {"first", value.first},
                                  {"last", value.last}});
  json::Array devices;
  for (uint32_t place = 0; place < artifact.numPlaces; ++place)
    devices.push_back(jsonText(deviceName(artifact, place)));
  return json::Object{{"target", jsonText(artifact.target)},
                      {"entry", jsonText(entry.name)},
                      {"devices", std::move(devices)},
                      {"commands", std::move(commandList)},
                      {"values", std::move(values)}};
}

void compiler::writePlanPage(llvm::ArrayRef<const sinter_artifact *> artifacts,
                             StringRef title, llvm::raw_ostream &os) {
  PageContent content;
  for (const sinter_artifact *artifact : artifacts)
    for (const sinter_entry &entry : entries(*artifact))
      content.plans.push_back(planJson(*artifact, entry));
  content.title = utf8(title);
  writePage(content, title, os);
}
