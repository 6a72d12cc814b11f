//===- RunRecord.cpp - what a log says about its run ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/RunRecord.h"

#include "runtime/base/Hash.h"
#include "runtime/exec/MemoryNeeds.h"
#include "runtime/train/SafetensorsHeader.h"

#include <algorithm>

using namespace sinter::rt;

static std::string textsObject(const Manifest::Texts &texts) {
  std::string object;
  for (const auto &[name, value] : texts)
    object +=
        (object.empty() ? "" : ",") + jsonText(name) + ":" + jsonText(value);
  return "{" + object + "}";
}

std::string sinter::rt::startFields(const sinter_artifact &artifact,
                                    const Manifest &manifest,
                                    int64_t batchesPerEpoch,
                                    const std::string &device,
                                    const std::string &out) {
  uint64_t arenaBytes = 0, stateBytes = 0;
  for (uint32_t place = 0; place < std::max(artifact.numPlaces, 1u); ++place) {
    const MemoryNeeds needs =
        memoryNeeds(artifact, /*sharesHostMemory=*/true, place);
    arenaBytes += needs.arenaBytes;
    stateBytes += needs.stateBytes;
  }
  std::string text;
  auto add = [&](const char *key, const std::string &value) {
    text += (text.empty() ? "\"" : ",\"") + std::string(key) + "\":" + value;
  };
  auto number = [&](const char *key, auto value) {
    add(key, std::to_string(value));
  };
  add("model", jsonText(manifest.model));
  add("build_id", jsonText(manifest.buildId));
  add("device", jsonText(device));
  number("total_steps", manifest.totalSteps);
  number("batches_per_epoch", batchesPerEpoch);
  number("batch", manifest.batch);
  number("rows", manifest.rows);
  number("seed", manifest.seed);
  number("arena_bytes", arenaBytes);
  number("state_bytes", stateBytes);
  if (!out.empty())
    add("out", jsonText(out));
  add("data", "{\"sizeBytes\":" + std::to_string(manifest.data.sizeBytes) +
                  ",\"contentHash\":" +
                  jsonText(toHex(manifest.data.contentHash)) + "}");
  add("options", textsObject(manifest.options));
  add("recipe", textsObject(manifest.recipe));
  return text;
}
