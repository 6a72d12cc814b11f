//===- Doctor.cpp - the trainer's "doctor"
//---------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuFeatures.h"
#include "runtime/device/Device.h"
#include "runtime/harness/Commands.h"

#include <cstdio>
#include <gnu/libc-version.h>
#include <nlohmann/json.hpp>

using namespace sinter::rt;

using Json = nlohmann::ordered_json;

/// What one device says of itself, and whether the program can run there.
static Json examine(const std::string &name, const sinter_artifact &artifact,
                    int threads) {
  Json json;
  json["device"] = name;
  Result<std::unique_ptr<Device>> device =
      linkedDevices().create(name, threads);
  Status status = device.ok() ? (*device)->checkFeatures(artifact.cpuFeatures)
                              : device.status();
  json["report"] = device.ok() ? Json((*device)->report()) : Json::array();
  json["usable"] = status.ok();
  if (!status.ok())
    json["problem"] = status.message();
  return json;
}

Status sinter::rt::runDoctor(const sinter_artifact &artifact,
                             const TrainerOptions &options) {
  Json json;
  json["cpu"] = cpuModelName();
  json["libc"] = gnu_get_libc_version();
  json["needs"] = artifact.cpuFeatures;
  json["devices"] = Json::array();
  bool usable = false;
  for (const std::string &name : linkedDevices().names()) {
    json["devices"].push_back(examine(name, artifact, options.threads));
    usable |= json["devices"].back()["usable"].get<bool>();
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
