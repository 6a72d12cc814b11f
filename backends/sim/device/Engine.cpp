//===- Engine.cpp - runs CUDA kernels on the CPU --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Engine.h"
#include "backends/sim/device/AccessCheck.h"
#include "backends/sim/device/Worker.h"

#include "runtime/base/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace sinter::sim {

Engine::Engine(const EngineOptions &options) : options_(options) {}
Engine::~Engine() = default;

// A table in which only `describe` is set.
namespace {
struct Asker {
  sinter_sim_functions functions = {};
  const sinter_sim_kernel_info *info = nullptr;
};
} // namespace

const sinter_sim_kernel_info *Engine::describe(sinter_sim_kernel kernel) {
  auto [slot, isNew] = infos_.try_emplace(kernel, nullptr);
  if (isNew) {
    Asker asker;
    asker.functions.sizeofFunctions = sizeof asker.functions;
    asker.functions.describe = [](const sinter_sim_functions *self,
                                  const sinter_sim_kernel_info *info) {
      const_cast<Asker *>(reinterpret_cast<const Asker *>(self))->info = info;
    };
    kernel(nullptr, &asker.functions);
    slot->second = asker.info;
  }
  return slot->second;
}

rt::Status Engine::check(const Launch &launch,
                         const sinter_sim_kernel_info &info) {
  auto refuse = [&](const std::string &why) {
    return rt::Status(SINTER_DEVICE_FAILED,
                      "kernel " + std::string(launch.name) + ": " + why);
  };
  if (info.sizeofInfo != sizeof info)
    return refuse("it was compiled for another version of the simulated "
                  "device");
  constexpr const char axes[] = "xyz";
  uint64_t numThreads = 1;
  for (int i = 0; i < 3; ++i) {
    auto outside = [&](const char *what, uint32_t value, uint32_t limit) {
      return refuse(std::string(what) + " " + axes[i] + " is " +
                    std::to_string(value) + ", not 1 to " +
                    std::to_string(limit));
    };
    if (launch.grid[i] == 0 || launch.grid[i] > Limits::gridDim[i])
      return outside("grid", launch.grid[i], Limits::gridDim[i]);
    if (launch.block[i] == 0 || launch.block[i] > Limits::blockDim[i])
      return outside("block", launch.block[i], Limits::blockDim[i]);
    numThreads *= launch.block[i];
  }
  if (numThreads > Limits::threadsOfBlock)
    return refuse("a block of " + std::to_string(numThreads) +
                  " threads; at most " +
                  std::to_string(Limits::threadsOfBlock));
  if (info.staticSharedBytes > Limits::staticSharedBytes)
    return refuse(std::to_string(info.staticSharedBytes) +
                  " bytes of static shared memory; at most " +
                  std::to_string(Limits::staticSharedBytes));
  uint64_t shared = uint64_t(info.staticSharedBytes) + launch.sharedBytes;
  if (shared > Limits::sharedBytes)
    return refuse(std::to_string(shared) + " bytes of shared memory; at most " +
                  std::to_string(Limits::sharedBytes));
  return {};
}

rt::Status Engine::reserveWorkers(int count) {
  while (int(workers_.size()) < count) {
    auto worker = std::make_unique<Worker>();
    SINTER_RETURN_IF_ERROR(worker->prepare());
    workers_.push_back(std::move(worker));
  }
  return {};
}

// The site to leave out; ~0 if it is not in this kernel.
static uint32_t findDropped(const Drop &drop, const Launch &launch,
                            const sinter_sim_kernel_info &info) {
  if (drop.kind == Drop::Nothing ||
      (!drop.kernel.empty() && drop.kernel != launch.name))
    return ~0u;
  uint32_t kind =
      drop.kind == Drop::Barrier ? SINTER_SIM_BARRIER : SINTER_SIM_PREDICATE;
  for (uint32_t site = 0; site < info.numSites; ++site)
    if (info.sites[site].kind == kind && info.sites[site].number == drop.number)
      return site;
  return ~0u;
}

/// How many blocks of a persistent kernel run: as few as to take little time,
/// and other numbers with other seeds.
static uint32_t residentBlocks(uint64_t seed) {
  constexpr uint32_t fewest = 2, choices = 5;
  return fewest + uint32_t((seed + 2) % choices);
}

rt::Status Engine::runApart(uint64_t first, uint64_t numBlocks, int threads) {
  std::atomic<bool> hasFailed{false};
  auto run = [&](int worker, int64_t begin, int64_t end) {
    for (int64_t position = begin; position < end; ++position) {
      if (hasFailed.load(std::memory_order_relaxed))
        return;
      uint64_t block =
          first + blockAt(options_.seed, uint64_t(position), numBlocks);
      if (!workers_[size_t(worker)]->runBlock(block))
        hasFailed = true;
    }
  };
  rt::ThreadPool &pool = rt::ThreadPool::shared();
  if (threads > 1)
    SINTER_RETURN_IF_ERROR(pool.reserve(threads));
  pool.parallelFor(threads, int64_t(numBlocks), /*grain=*/1, run);
  return {};
}

rt::Status Engine::launch(const Launch &given, LaunchReport *report) {
  Launch launch = given;
  if (launch.isPersistent)
    launch.grid[0] = std::min(launch.grid[0], residentBlocks(options_.seed));
  const sinter_sim_kernel_info *info = describe(launch.kernel);
  if (!info)
    return {SINTER_DEVICE_FAILED,
            "kernel " + std::string(launch.name) + " does not describe itself"};
  SINTER_RETURN_IF_ERROR(check(launch, *info));
  uint64_t numBlocks =
      uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (launch.numBlocks)
    numBlocks = launch.numBlocks;
  bool isChecked = info->flags & SINTER_SIM_CHECKED;
  int threads = isChecked || launch.isPersistent ? 1 : options_.threads;
  threads = int(std::min<uint64_t>(std::max(threads, 1), numBlocks));
  SINTER_RETURN_IF_ERROR(reserveWorkers(threads));

  LaunchContext context;
  context.launch = &launch;
  context.info = info;
  context.seed = options_.seed;
  context.failsOnRaces = options_.failsOnRaces;
  context.dropSite = findDropped(options_.drop, launch, *info);
  AccessRanges ranges(launch.ranges);
  if (isChecked) {
    if (!races_)
      races_ = std::make_unique<RaceShadow>();
    races_->beginLaunch(launch.firstBlock + numBlocks,
                        info->flags & SINTER_SIM_ATOMICS);
    context.races = races_.get();
    if (!launch.ranges.empty())
      context.ranges = &ranges;
  }
  for (int i = 0; i < threads; ++i)
    workers_[size_t(i)]->beginLaunch(context);

  if (launch.isPersistent)
    workers_.front()->runTogether(numBlocks);
  else
    SINTER_RETURN_IF_ERROR(runApart(launch.firstBlock, numBlocks, threads));
  if (isChecked)
    races_->endLaunch();

  if (report) {
    *report = {};
    report->kernel = launch.name;
    std::memcpy(report->grid, given.grid, sizeof given.grid);
    std::memcpy(report->block, launch.block, sizeof launch.block);
  }
  rt::Status status;
  for (int i = 0; i < threads; ++i) {
    const Worker &worker = *workers_[size_t(i)];
    if (report) {
      report->threads += worker.counts().threads;
      report->barriers += worker.counts().barriers;
      report->shuffles += worker.counts().shuffles;
      report->races += worker.counts().races;
    }
    if (status.ok() && !worker.error().empty())
      status = {SINTER_DEVICE_FAILED, worker.error()};
  }
  return status;
}

} // namespace sinter::sim
