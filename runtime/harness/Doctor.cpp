//===- Doctor.cpp - the trainer's "doctor" --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuFeatures.h"
#include "runtime/device/Registry.h"
#include "runtime/exec/ArtifactChecks.h"
#include "runtime/harness/Commands.h"

#include <cstdio>
#include <gnu/libc-version.h>
#include <nlohmann/json.hpp>

using namespace sinter::rt;

using Json = nlohmann::ordered_json;

/// The one of the targets, or the program itself when it has a place of that
/// kind.
static Result<const sinter_artifact *> partFor(const sinter_artifact &artifact,
                                               const std::string &device) {
  const std::string kind = deviceKindOf(device);
  for (uint32_t i = 0; i < artifact.numPlaces; ++i)
    if (kind == artifact.places[i].target)
      return &artifact;
  return artifactFor(artifact, kind, device);
}

/// What one device says of itself, and whether the program can run there.
static Json examine(const std::string &name, const sinter_artifact &artifact,
                    const DeviceOptions &options) {
  Json json;
  json["device"] = name;
  Result<std::unique_ptr<Device>> device =
      linkedDevices().create(name, options);
  Status status = device.status();
  Result<const sinter_artifact *> own = partFor(artifact, name);
  if (device.ok())
    status = own.ok() ? (*device)->checkCode(**own) : own.status();
  json["report"] = device.ok() ? Json((*device)->report()) : Json::array();
  json["usable"] = status.ok();
  if (!status.ok())
    json["problem"] = status.message();
  return json;
}

/// The devices of `kind`, or why there is none.
static Json examineKind(const DeviceKind &kind, const sinter_artifact &artifact,
                        const DeviceOptions &options) {
  Json list = Json::array();
  Result<int> count = kind.count();
  if (!count.ok())
    list.push_back({{"device", kind.name},
                    {"report", Json::array()},
                    {"usable", false},
                    {"problem", count.status().message()}});
  for (int i = 0; count.ok() && i < *count; ++i)
    list.push_back(examine(kind.isNumbered ? kind.name + ":" + std::to_string(i)
                                           : kind.name,
                           artifact, options));
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
