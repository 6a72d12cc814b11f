//===- Recipe.cpp - how a program was compiled to train -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Recipe.h"

#include "runtime/harness/Arguments.h"
#include "runtime/train/Schedule.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

using namespace sinter::rt;

using Json = nlohmann::ordered_json;

Manifest::Texts sinter::rt::recipeOf(const sinter_artifact &artifact) {
  std::map<std::string, std::string> values;
  auto add = [&](const std::string &name, const Json &value) {
    values[name] =
        value.is_string()
            ? value.get<std::string>()
            : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  Json manifest = Json::parse(artifact.manifest, nullptr, false);
  if (manifest.is_object()) {
    if (auto training = manifest.find(SINTER_MANIFEST_TRAINING);
        training != manifest.end() && training->is_object())
      for (const auto &[name, value] : training->items())
        add(name, value);
    if (auto precision = manifest.find("precision");
        precision != manifest.end())
      add("precision", *precision);
  }
  const sinter_training &training = *artifact.training;
  values["optimizer"] = training.optimizer;
  values["loss"] = training.loss;
  values["lr"] = realText(decimalValue(training.lr));
  values["weight_decay"] = realText(decimalValue(training.weightDecay));
  values["clip_norm"] = realText(decimalValue(training.clipNorm));
  return {values.begin(), values.end()};
}

std::string sinter::rt::rowsMixedBy(const sinter_artifact &artifact,
                                    const char *use) {
  Json manifest = Json::parse(artifact.manifest, nullptr, false);
  if (!manifest.is_object())
    return "";
  auto mixed = manifest.find(SINTER_MANIFEST_ROWS_MIXED_BY);
  if (mixed == manifest.end() || !mixed->is_object())
    return "";
  auto node = mixed->find(use);
  return node != mixed->end() && node->is_string() ? node->get<std::string>()
                                                   : "";
}

bool sinter::rt::padsLastBatch(const sinter_artifact &artifact) {
  for (const auto &[name, value] : recipeOf(artifact))
    if (name == SINTER_MANIFEST_PAD_LAST_BATCH)
      return value == "true";
  return false;
}

uint64_t sinter::rt::leftByLimit(const sinter_artifact &artifact) {
  Json manifest = Json::parse(artifact.manifest, nullptr, false);
  const Json::json_pointer first("/placement/memory/0");
  if (!manifest.is_object() || !manifest.contains(first))
    return UINT64_MAX;
  const Json &memory = manifest[first];
  if (!memory.is_object() || !memory.contains("limit"))
    return UINT64_MAX;
  const auto limit = memory.value<uint64_t>("limit", 0),
             planned = memory.value<uint64_t>("bytes", 0);
  return limit > planned ? limit - planned : 0;
}

/// Programs record these always, but older ones did not: then nothing is known.
static bool isNewlyRecorded(std::string_view name) {
  return name == "target" || name == "mcpu" || name == "libraries" ||
         name == "deterministic";
}

/// Slots hold averages with these factors, made by this rule.
static bool changesSlots(std::string_view name) {
  return name == "optimizer" || name == "momentum" || name == "beta1" ||
         name == "beta2";
}

std::vector<RecipeDifference>
sinter::rt::recipeDifferences(const Manifest::Texts &then,
                              const Manifest::Texts &now) {
  std::vector<RecipeDifference> differences;
  if (then.empty())
    return differences;
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto &[name, value] : then)
    both[name].first = value;
  for (const auto &[name, value] : now)
    both[name].second = value;
  auto shown = [](const std::string &text) {
    return text.empty() ? std::string("none") : text;
  };
  for (const auto &[name, values] : both) {
    const bool isUnknown = isNewlyRecorded(name) &&
                           (values.first.empty() || values.second.empty());
    if (values.first != values.second && !isUnknown)
      differences.push_back({name,
                             name + " " + shown(values.second) +
                                 " instead of " + shown(values.first),
                             changesSlots(name)});
  }
  return differences;
}
