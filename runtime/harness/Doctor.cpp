//===- Doctor.cpp - the trainer's "doctor" --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuFeatures.h"
#include "runtime/device/Registry.h"
#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/harness/Commands.h"

#include <cstdio>
#include <gnu/libc-version.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace sinter::rt;

using Json = nlohmann::ordered_json;

/// The artifact for the kind of `device`: the program itself if it has a place
/// of that kind, else one of the chain.
static Result<const sinter_artifact *> partFor(const sinter_artifact &artifact,
                                               const std::string &device) {
  const std::string kind = deviceKindOf(device);
  for (uint32_t i = 0; i < artifact.numPlaces; ++i)
    if (kind == artifact.places[i].target)
      return &artifact;
  return artifactFor(artifact, kind, device);
}

/// The kinds of commands that the program has for devices of a kind.
static std::set<uint32_t> commandsFor(const sinter_artifact &program,
                                      const std::string &kind) {
  std::set<uint32_t> commands;
  for (const sinter_artifact *part = &program; part; part = part->next)
    for (uint32_t e = 0; e < part->numEntries; ++e)
      for (uint32_t c = 0; c < part->entries[e].numCommands; ++c) {
        const sinter_command &command = part->entries[e].commands[c];
        if (kind != placeKind(*part, command.place))
          continue;
        commands.insert(command.kind);
        if (command.kind == SINTER_CMD_SCAN)
          for (uint32_t i = 0; i < command.scan.params->numCommands; ++i)
            commands.insert(command.scan.params->commands[i].kind);
      }
  return commands;
}

/// The libraries that the program calls on devices of a kind.
struct Libraries {
  Json lines = Json::array();
  Status status; // of the first that is missing
};

static Libraries findLibraries(const DeviceKind &kind,
                               const sinter_artifact &artifact) {
  Libraries libraries;
  if (!kind.libraryFor)
    return libraries;
  std::set<std::string> lines;
  for (uint32_t command : commandsFor(artifact, kind.name)) {
    Result<std::string> library = kind.libraryFor(command);
    std::string line = library.ok() ? *library : library.status().message();
    if (!library.ok() && libraries.status.ok())
      libraries.status = library.status();
    if (!line.empty() && lines.insert(line).second)
      libraries.lines.push_back("library: " + line);
  }
  return libraries;
}

/// What one device reports, and whether the program can run there.
static Json examine(const std::string &name, const sinter_artifact &artifact,
                    const DeviceOptions &options, const Libraries &libraries) {
  Json json;
  json["device"] = name;
  Result<std::unique_ptr<Device>> device =
      linkedDevices().create(name, options);
  Status status = device.status();
  Result<const sinter_artifact *> own = partFor(artifact, name);
  if (device.ok())
    status = own.ok() ? (*device)->checkCode(**own) : own.status();
  if (status.ok())
    status = libraries.status;
  json["report"] = device.ok() ? Json((*device)->report()) : Json::array();
  json["report"].insert(json["report"].end(), libraries.lines.begin(),
                        libraries.lines.end());
  json["usable"] = status.ok();
  if (!status.ok())
    json["problem"] = status.message();
  return json;
}

/// The devices of `kind`, or why there are none.
static Json examineKind(const DeviceKind &kind, const sinter_artifact &artifact,
                        const DeviceOptions &options) {
  Json list = Json::array();
  Libraries libraries = findLibraries(kind, artifact);
  Result<int> count = kind.count();
  if (!count.ok())
    list.push_back({{"device", kind.name},
                    {"report", libraries.lines},
                    {"usable", false},
                    {"problem", count.status().message()}});
  for (int i = 0; count.ok() && i < *count; ++i)
    list.push_back(examine(kind.isNumbered ? kind.name + ":" + std::to_string(i)
                                           : kind.name,
                           artifact, options, libraries));
  return list;
}

Status sinter::rt::runDoctor(const sinter_artifact &artifact,
                             const TrainerOptions &options) {
  Json json;
  json["cpu"] = cpuModelName();
  json["libc"] = gnu_get_libc_version();
  json["needs"] = artifact.cpuFeatures;
  json["targets"] = Json::array();
  for (const sinter_artifact *one = &artifact; one; one = one->next)
    json["targets"].push_back(one->target);
  json["devices"] = Json::array();
  bool usable = false;
  DeviceOptions deviceOptions = options.deviceOptions;
  deviceOptions.threads = options.threads;
  for (const DeviceKind &kind : linkedDevices().kinds())
    for (const Json &device : examineKind(kind, artifact, deviceOptions)) {
      json["devices"].push_back(device);
      usable |= device["usable"].get<bool>();
    }
  if (options.json) {
    std::printf(
        "%s\n",
        json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    std::printf("CPU: %s\nlibc: %s\n", json["cpu"].get<std::string>().c_str(),
                json["libc"].get<std::string>().c_str());
    for (const Json &device : json["devices"]) {
      std::printf("device %s: %s\n",
                  device["device"].get<std::string>().c_str(),
                  device["usable"].get<bool>()
                      ? "usable"
                      : device["problem"].get<std::string>().c_str());
      for (const Json &line : device["report"])
        std::printf("  %s\n", line.get<std::string>().c_str());
    }
  }
  if (!usable)
    return Status(SINTER_DEVICE_FAILED, "no device can run this program");
  return {};
}
