//===- PlacementSummary.cpp - placement in the manifest -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/PlacementSummary.h"

#include "compiler/driver/MemoryLimit.h"
#include "ir/Provenance.h"
#include "ir/exec/Exec.h"
#include "passes/place/PlacementReport.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
namespace json = llvm::json;

// JSON strings are UTF-8; names in models may be any bytes.
static json::Value text(StringRef name) {
  return json::isUTF8(name) ? json::Value(name.str())
                            : json::Value(json::fixUTF8(name));
}

static json::Array devicesJson(ModuleOp module, StringRef otherwise) {
  json::Array devices;
  for (StringRef name : ir::deviceNames(module))
    devices.push_back(name);
  if (devices.empty())
    devices.push_back(otherwise.str());
  return devices;
}

static json::Array copiesJson(ModuleOp module, const json::Array &devices) {
  json::Array copies;
  for (auto program : module.getOps<exec::ProgramOp>())
    for (auto copy : program.getBody().getOps<exec::CopyOp>()) {
      exec::CommandPlace place = exec::placeOf(copy);
      if (place.from == place.to)
        continue;
      std::vector<std::string> computed;
      ir::collectProvenance(copy.getLoc(), computed);
      json::Array nodes;
      for (const std::string &node : computed)
        nodes.push_back(text(node));
      copies.push_back(json::Object{
          {"entry", text(program.getSymName())},
          {"from", devices[place.from]},
          {"to", devices[place.to]},
          {"bytes", static_cast<int64_t>(
                        exec::bufferOp(copy.getTo()).getSlice().getSize())},
          {"nodes", std::move(nodes)}});
    }
  return copies;
}

json::Object compiler::placementJson(ModuleOp module, const Options &options,
                                     StringRef otherwise) {
  json::Array devices = devicesJson(module, otherwise), regions;
  for (const passes::PlacementRegion &region :
       passes::placementReport(module)) {
    json::Array nodes;
    for (const std::string &node : region.nodes)
      nodes.push_back(text(node));
    regions.push_back(json::Object{{"device", region.device},
                                   {"nodes", std::move(nodes)},
                                   {"weight_bytes", region.weightBytes},
                                   {"reason", passes::nameOf(region.reason)},
                                   {"why", text(region.why)}});
  }
  json::Array copies = copiesJson(module, devices);
  json::Array memory;
  for (const DeviceMemory &device : memoryOf(module, options, otherwise)) {
    json::Object parts{{"device", device.device},
                       {"bytes", device.bytes.total()},
                       {"arena", device.bytes.arena},
                       {"states", device.bytes.states},
                       {"constants", device.bytes.constants},
                       {"inputs", device.bytes.inputs},
                       {"workspace", device.bytes.allWorkspaces()}};
    if (options.memoryLimitBytes && device.isLimited)
      parts["limit"] = static_cast<int64_t>(options.memoryLimitBytes);
    memory.push_back(std::move(parts));
  }
  return json::Object{{"devices", std::move(devices)},
                      {"memory", std::move(memory)},
                      {"regions", std::move(regions)},
                      {"copies", std::move(copies)}};
}
