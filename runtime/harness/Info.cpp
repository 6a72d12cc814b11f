//===- Info.cpp - the trainer's "info" ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/harness/Commands.h"
#include "runtime/train/Schedule.h"
#include "runtime/train/StateTable.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sinter::rt;

using Json = nlohmann::ordered_json;

static const char *roleName(uint32_t role) {
  switch (role) {
  case SINTER_STATE_PARAM:
    return "param";
  case SINTER_STATE_BUFFER:
    return "buffer";
  case SINTER_STATE_SLOT:
    return "slot";
  case SINTER_STATE_ACCUM:
    return "accum";
  case SINTER_STATE_ROUNDED:
    return "rounded";
  }
  return "unknown";
}

static Json overrides(const sinter_training &training) {
  Json json;
  json["lr"] = decimalValue(training.lr);
  json["lr-schedule"] = "constant";
  json["weight-decay"] = decimalValue(training.weightDecay);
  if (training.clipNorm != 0)
    json["clip-norm"] = decimalValue(training.clipNorm);
  json["seed"] = 0;
  return json;
}

static Json stateJson(const StateTable &states) {
  Json list = Json::array();
  for (size_t i = 0; i < states.size(); ++i) {
    const sinter_state_desc &state = states.desc(i);
    list.push_back({{"name", states.name(i)},
                    {"role", roleName(state.role)},
                    {"dtype", elementTypeName(state.tensor.dtype)},
                    {"shape", std::vector<int64_t>(states.dims(i).begin(),
                                                   states.dims(i).end())},
                    {"sizeBytes", state.tensor.sizeBytes},
                    {"trainable", state.trainable != 0}});
    if (state.partBytes)
      list.back()["partBytes"] = state.partBytes;
  }
  return list;
}

static Json describe(const sinter_artifact &artifact,
                     const StateTable &states) {
  Json json;
  json["model"] = artifact.name;
  json["buildId"] = artifact.buildId;
  json["target"] = artifact.target;
  for (uint32_t i = 0; i < artifact.numPlaces; ++i)
    json["devices"].push_back(artifact.places[i].device);
  json["cpuFeatures"] = artifact.cpuFeatures;
  Json manifest = Json::parse(artifact.manifest, nullptr, false);
  json["manifest"] =
      manifest.is_discarded() ? Json(artifact.manifest) : manifest;
  if (artifact.training) {
    json["batch"] = artifact.training->batch;
    if (replicasOf(artifact) > 1)
      json["replicas"] = replicasOf(artifact);
    json["loss"] = artifact.training->loss;
    json["optimizer"] = artifact.training->optimizer;
    json["overridable"] = overrides(*artifact.training);
  }
  json["states"] = stateJson(states);
  return json;
}

static std::string dump(const Json &json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// "key: value" for every leaf; a long list as its length.
static void printLeaves(const std::string &prefix, const Json &json) {
  constexpr size_t longest = 16;
  if (json.is_object()) {
    for (const auto &[key, value] : json.items())
      printLeaves(prefix.empty() ? key : prefix + "." + key, value);
  } else if (json.is_array() && json.size() > longest) {
    std::printf("  %s: %zu entries\n", prefix.c_str(), json.size());
  } else {
    std::string text =
        json.is_string() ? json.get<std::string>() : dump(json, -1);
    std::printf("  %s: %s\n", prefix.c_str(), text.c_str());
  }
}

/// "2 replicas, --shard=optimizer".
static void printReplicas(const Json &json) {
  std::string text;
  if (json["manifest"].is_object() && json["manifest"].contains("training"))
    text = json["manifest"]["training"].value("shard", "");
  std::printf("%s replicas%s%s\n", dump(json["replicas"], -1).c_str(),
              text.empty() ? "" : ", --shard=", text.c_str());
}

static void printText(const sinter_artifact &artifact, const Json &json) {
  std::string target = json["target"];
  if (json.contains("devices")) {
    target.clear();
    for (const Json &device : json["devices"])
      target += (target.empty() ? "" : ", ") + device.get<std::string>();
  }
  std::printf("model %s for %s, build %s\n",
              json["model"].get<std::string>().c_str(), target.c_str(),
              json["buildId"].get<std::string>().c_str());
  if (json.contains("replicas"))
    printReplicas(json);
  std::string features = json["cpuFeatures"].get<std::string>();
  std::printf("needs CPU features: %s\n",
              features.empty() ? "none beyond the baseline" : features.c_str());
  std::printf("compiled with:\n");
  printLeaves("", json["manifest"]);
  if (json.contains("overridable")) {
    std::printf("can be set at run time (current value):\n");
    for (const auto &[key, value] : json["overridable"].items())
      std::printf("  --%s (%s)\n", key.c_str(), dump(value, -1).c_str());
  }
  uint64_t total = 0;
  std::printf("states:\n");
  for (const Json &state : json["states"]) {
    total += state["sizeBytes"].get<uint64_t>();
    std::printf("  %-40s %-7s %s%s%s%s\n",
                state["name"].get<std::string>().c_str(),
                state["role"].get<std::string>().c_str(),
                state["dtype"].get<std::string>().c_str(),
                dump(state["shape"], -1).c_str(),
                state["trainable"].get<bool>() ? " trainable" : "",
                state.contains("partBytes") ? " divided" : "");
  }
  std::printf("%zu states, %llu bytes", json["states"].size(),
              static_cast<unsigned long long>(total));
  if (numDivided(artifact))
    std::printf("; %llu bytes%s",
                static_cast<unsigned long long>(stateBytesOfAll(artifact)),
                dividedText(artifact).c_str());
  std::printf("\n");
}

Status sinter::rt::runInfo(const sinter_artifact &artifact,
                           const TrainerOptions &options) {
  Result<StateTable> states = StateTable::create(artifact);
  if (!states.ok())
    return states.status();
  Json json = describe(artifact, *states);
  if (options.json)
    std::printf("%s\n", dump(json, 2).c_str());
  else
    printText(artifact, json);
  return {};
}
