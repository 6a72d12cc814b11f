//===- Determinism.cpp - what --deterministic implies ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/options/Determinism.h"

#include "llvm/ADT/StringExtras.h"

using namespace sinter::compiler;

/// The largest number of logical shards of a batch.
static constexpr int64_t kMostShards = 16;

static std::string chooseNoLibraries(Options &options) {
  const bool isDefault =
      llvm::all_of(options.libraries, [](const std::string &name) {
        return name == "all" || name == "none";
      });
  if (!isDefault)
    return "--libraries=" + llvm::join(options.libraries, ",") +
           ": the sums of libraries depend on the machine; "
           "--deterministic=" +
           options.deterministic + " calls none";
  options.libraries = {"none"};
  return "";
}

/// NCCL's order of addition depends on the machine; a sum of two numbers has
/// only one order.
static std::string checkReplicas(const Options &options) {
  auto isUnordered = [&](const std::string &target) {
    return options.traitsOf(target).sumsReplicasInOwnOrder;
  };
  if (options.train.request.replicas > 2 &&
      llvm::any_of(options.targets, isUnordered))
    return "--deterministic=" + options.deterministic +
           ": NCCL adds the values of more than 2 replicas in an order of its "
           "own (all_reduce); --replicas=2 at most";
  return "";
}

static std::string splitIntoShards(Options &options) {
  TrainOptions &train = options.train;
  if (!options.batch)
    return "--deterministic=topology needs --batch=N, whose rows it splits";
  const int64_t rows =
      *options.batch * train.request.accumulate * train.request.replicas;
  // In a shard of one row, the compiler could not see what mixes rows.
  int64_t shards = kMostShards;
  while (shards > 1 && (rows % shards != 0 || rows / shards < 2))
    shards /= 2;
  if (shards % train.request.replicas != 0)
    return "--deterministic=topology splits a batch of " +
           std::to_string(rows) + " rows into " + std::to_string(shards) +
           (shards == 1 ? " shard, which " : " shards, which ") +
           std::to_string(train.request.replicas) +
           " replicas cannot share evenly";
  options.batch = rows / shards;
  train.request.accumulate = shards / train.request.replicas;
  train.shards = shards;
  return "";
}

std::string sinter::compiler::applyDeterminism(Options &options) {
  const bool isArch = options.deterministic == "arch";
  if (!isArch && !options.isTopology())
    return "";
  if (std::string wrong = chooseNoLibraries(options); !wrong.empty())
    return wrong;
  if (std::string wrong = checkReplicas(options); !wrong.empty())
    return wrong;
  if (!options.isTopology())
    return "";
  if (!options.train.enabled)
    return "--deterministic=topology is for training; use --deterministic=arch "
           "for an inference program";
  return splitIntoShards(options);
}
