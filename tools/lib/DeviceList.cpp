//===- DeviceList.cpp - what --list-devices prints ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "tools/lib/DeviceList.h"

#include "runtime/device/Registry.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::compiler;

namespace {

/// A device of this machine, or a kind that has none.
struct ListedDevice {
  std::string name;
  std::string missing; // why there is none
  std::vector<rt::DeviceFact> facts;
};

} // namespace

// `withFacts`: measures them.
static std::vector<ListedDevice> listDevices(bool withFacts) {
  std::vector<ListedDevice> devices;
  for (const rt::DeviceKind &kind : rt::linkedDevices().kinds()) {
    rt::Result<int> count = kind.count();
    if (!count.ok())
      devices.push_back({kind.name, count.status().message(), {}});
    for (int i = 0; count.ok() && i < *count; ++i)
      devices.push_back(
          {kind.name + (kind.isNumbered ? ":" + std::to_string(i) : ""), "",
           withFacts && kind.describe ? kind.describe(i)
                                      : std::vector<rt::DeviceFact>()});
  }
  return devices;
}

// Prints one line per available device. For a kind without devices, the line
// gives the reason.
static void printAsText(llvm::raw_ostream &os,
                        llvm::ArrayRef<ListedDevice> devices) {
  for (const ListedDevice &device : devices) {
    os << "device " << device.name << (device.missing.empty() ? "" : ": none: ")
       << device.missing << "\n";
    for (const rt::DeviceFact &fact : device.facts) {
      os << "  " << fact.name << ": " << fact.text << "\n";
      for (const rt::DeviceFact &part : fact.parts)
        if (!part.text.empty())
          os << "    " << part.name << ": " << part.text << "\n";
    }
  }
}

static llvm::json::Object factsAsJson(llvm::ArrayRef<rt::DeviceFact> facts) {
  llvm::json::Object json;
  for (const rt::DeviceFact &fact : facts) {
    std::string key = llvm::StringRef(fact.name).lower();
    std::replace(key.begin(), key.end(), ' ', '_');
    if (!fact.parts.empty()) {
      llvm::json::Object parts = factsAsJson(fact.parts);
      if (!fact.parts.front().text.empty()) // else `text` repeats the parts
        parts["source"] = fact.text;
      json[key] = std::move(parts);
    } else if (fact.number) {
      json[key] = *fact.number;
    } else {
      json[key] = fact.text;
    }
  }
  return json;
}

static void printAsJson(llvm::raw_ostream &os,
                        llvm::ArrayRef<TargetFactory> targets,
                        llvm::ArrayRef<ListedDevice> devices) {
  llvm::json::Array targetList, deviceList;
  for (const TargetFactory &target : targets)
    targetList.push_back(llvm::json::Object{
        {"name", target.kind.name}, {"description", target.description}});
  for (const ListedDevice &device : devices) {
    llvm::json::Object json = factsAsJson(device.facts);
    if (auto name = json.find("name"); name != json.end()) {
      llvm::json::Value model = std::move(name->second);
      json["model"] = std::move(model);
    }
    json["name"] = device.name;
    if (!device.missing.empty())
      json["missing"] = device.missing;
    deviceList.push_back(std::move(json));
  }
  os << llvm::json::Value(
            llvm::json::Object{{"targets", std::move(targetList)},
                               {"devices", std::move(deviceList)}})
     << "\n";
}

void tools::printDevices(llvm::raw_ostream &os, const Options &options,
                         llvm::ArrayRef<TargetFactory> targets) {
  const std::vector<ListedDevice> devices = listDevices(options.verbose);
  if (options.json)
    return printAsJson(os, targets, devices);
  printTargets(os, targets);
  printAsText(os, devices);
}
