//===- TableFunctions.cpp - the functions that generated code calls -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each function gets its worker from the table's address, and runs on the stack
// of the calling thread.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/TableFunctions.h"
#include "backends/sim/device/Arithmetic.h"
#include "backends/sim/device/Worker.h"

#include <cstring>
#include <x86intrin.h>

namespace sinter::sim {

using Self = const sinter_sim_functions *;

struct TableFunctions {
  static uint64_t meet(Self self, uint32_t site, uint32_t mask,
                       WarpCall &call) {
    Worker::of(self).meetInWarp(call, site, mask);
    return call.result;
  }

  static void fault(Self self, uint32_t site, uint32_t kind) {
    Worker &worker = Worker::of(self);
    const char *what = "traps";
    switch (kind) {
    case SINTER_SIM_FAULT_ASSERT:
      what = "an assertion does not hold";
      break;
    case SINTER_SIM_FAULT_DIVISION:
      what = "divides by zero, or overflows in a division";
      break;
    case SINTER_SIM_FAULT_ALIGNMENT:
      what = "accesses memory at an address that is not aligned";
      break;
    default:
      break;
    }
    worker.setError(what, site);
    worker.leave();
  }

  static void access(Self self, uint32_t site, const void *address,
                     uint64_t sizeBytes, uint32_t alignment, uint32_t flags) {
    Worker::of(self).checkAccess(site, address, sizeBytes, alignment, flags);
  }

  static uint32_t predicate(Self self, uint32_t site, uint32_t value,
                            uint32_t forced) {
    Worker &worker = Worker::of(self);
    if (site != worker.context_.dropSite)
      return value;
    constexpr uint64_t kMostTimes = 20000000;
    if (++worker.numPredicates_ > kMostTimes) {
      worker.setError("does not terminate", site);
      worker.leave();
    }
    return forced;
  }

  static void yield(Self self) { Worker::of(self).yield(); }

  static void barrier(Self self, uint32_t site, uint32_t number,
                      uint32_t count) {
    Worker &worker = Worker::of(self);
    if (site != worker.context_.dropSite)
      worker.meetAtBarrier(site, number, count, 0, SINTER_SIM_COUNT);
  }

  static uint32_t barrierReduce(Self self, uint32_t site, uint32_t combine,
                                uint32_t value) {
    Worker &worker = Worker::of(self);
    if (site == worker.context_.dropSite)
      return value != 0;
    return worker.meetAtBarrier(site, 0, 0, value, sinter_sim_combine(combine));
  }

  static void warpSync(Self self, uint32_t site, uint32_t mask) {
    WarpCall call;
    meet(self, site, mask, call);
  }

  static uint64_t shuffle(Self self, uint32_t site, uint32_t mode,
                          uint32_t mask, uint32_t value, uint32_t lane,
                          uint32_t clamp) {
    WarpCall call;
    call.kind = WarpCall::Shuffle;
    call.mode = mode;
    call.value = value;
    call.lane = lane;
    call.clamp = clamp;
    return meet(self, site, mask, call);
  }

  static uint32_t vote(Self self, uint32_t site, uint32_t combine,
                       uint32_t mask, uint32_t value) {
    WarpCall call;
    call.kind = WarpCall::Vote;
    call.mode = combine;
    call.value = value;
    return uint32_t(meet(self, site, mask, call));
  }

  static uint32_t reduce(Self self, uint32_t site, uint32_t combine,
                         uint32_t mask, uint32_t value) {
    WarpCall call;
    call.kind = WarpCall::Reduce;
    call.mode = combine;
    call.value = value;
    return uint32_t(meet(self, site, mask, call));
  }

  static uint64_t match(Self self, uint32_t site, uint32_t combine,
                        uint32_t mask, uint64_t value) {
    WarpCall call;
    call.kind = WarpCall::Match;
    call.mode = combine;
    call.value = value;
    return meet(self, site, mask, call);
  }

  // Threads do not run in parallel here: all that have not ended are active.
  static uint32_t activeMask(Self self) {
    Worker &worker = Worker::of(self);
    return ~worker.block_.warps[worker.block_.current / 32].exited;
  }

  static void loadMatrix(Self self, uint32_t site, uint32_t count,
                         uint32_t isTransposed, const void *address,
                         uint32_t *result) {
    Worker &worker = Worker::of(self);
    if (worker.block_.current % 32 < 8 * count)
      worker.checkAccess(site, address, 16, 16, 0);
    WarpCall call;
    call.kind = WarpCall::LoadMatrix;
    call.mode = count;
    call.isTransposed = isTransposed;
    call.address = address;
    call.registers = result;
    meet(self, site, ~0u, call);
  }

  static void mma(Self self, uint32_t site, uint32_t kind,
                  const uint32_t *operands, uint32_t *result) {
    WarpCall call;
    call.kind = WarpCall::Mma;
    call.mode = kind;
    call.operands = operands;
    call.registers = result;
    meet(self, site, ~0u, call);
  }

  static void copyAsync(Self self, uint32_t site, void *to, const void *from,
                        uint32_t sizeBytes, uint32_t sourceBytes) {
    Worker::of(self).startCopy(
        {to, from, sizeBytes, sourceBytes, /*group=*/0, site});
  }

  static void copyCommit(Self self) {
    ++Worker::of(self).copiesOfThread().openGroup;
  }

  static void copyWait(Self self, uint32_t site, uint32_t pending) {
    Worker &worker = Worker::of(self);
    if (site != worker.context_.dropSite)
      worker.finishCopies(pending);
  }

  static void launchWait(Self self, uint32_t site) {
    Worker &worker = Worker::of(self);
    if (worker.context_.launch->isEarly && site != worker.context_.dropSite)
      worker.block_.hasWaited[worker.block_.current] = true;
  }

  static uint64_t clock(Self) { return __rdtsc(); }
};

Worker::ThreadCopies &Worker::copiesOfThread() {
  block_.copies.resize(numThreads_);
  return block_.copies[block_.current];
}

// The copy may happen at any time until the thread waits for it. The seed
// decides between immediately and as late as possible.
void Worker::startCopy(PendingCopy copy) {
  if (copy.sourceBytes > copy.sizeBytes) {
    setError("copies " + std::to_string(copy.sourceBytes) + " of " +
                 std::to_string(copy.sizeBytes) + " bytes",
             copy.site);
    leave();
  }
  checkAccess(copy.site, copy.from, copy.sourceBytes, copy.sizeBytes, 0);
  checkAccess(copy.site, copy.to, copy.sizeBytes, copy.sizeBytes,
              SINTER_SIM_WRITE);
  bool isEarly = context_.seed != 0 && block_.schedule.random().below(2);
  if (isEarly) {
    doCopy(copy);
    return;
  }
  ThreadCopies &copies = copiesOfThread();
  copy.group = copies.openGroup;
  copies.pending.push_back(copy);
}

void Worker::doCopy(const PendingCopy &copy) {
  std::memcpy(copy.to, copy.from, copy.sourceBytes);
  std::memset(static_cast<char *>(copy.to) + copy.sourceBytes, 0,
              copy.sizeBytes - copy.sourceBytes);
}

void Worker::finishCopies(uint32_t pendingGroups) {
  ThreadCopies &copies = copiesOfThread();
  size_t numLeft = 0;
  for (const PendingCopy &copy : copies.pending) {
    bool isDue = pendingGroups == SINTER_SIM_WAIT_ALL ||
                 copy.group + uint64_t(pendingGroups) < copies.openGroup;
    if (!isDue) {
      copies.pending[numLeft++] = copy;
      continue;
    }
    if (context_.races)
      checkAccess(copy.site, copy.to, copy.sizeBytes, copy.sizeBytes,
                  SINTER_SIM_WRITE);
    doCopy(copy);
  }
  copies.pending.resize(numLeft);
}

// The range of the buffer that an access's address is computed from; null if it
// is not known.
const MemoryRange *Worker::bufferOfSite(uint32_t site) const {
  const Launch &launch = *context_.launch;
  uint32_t buffer =
      site < context_.info->numSites ? context_.info->sites[site].buffer : 0;
  if (!context_.ranges || buffer == 0 || buffer > launch.ranges.size())
    return nullptr;
  const MemoryRange &range = launch.ranges[buffer - 1];
  return range.begin == launch.buffers[buffer - 1] ? &range : nullptr;
}

void Worker::checkAccess(uint32_t site, const void *address, uint64_t sizeBytes,
                         uint32_t alignment, uint32_t flags) {
  if (flags & SINTER_SIM_FENCE) {
    if (context_.races)
      context_.races->fence(block_.number);
    return;
  }
  if (sizeBytes == 0)
    return;
  auto at = reinterpret_cast<uint64_t>(address);
  if (flags & SINTER_SIM_PARAMETER) {
    auto offset =
        int64_t(at - reinterpret_cast<uint64_t>(context_.launch->buffers));
    if (offset >= 0 && offset < 8 * int64_t(context_.info->numBuffers))
      return;
    setError("reads parameter number " + std::to_string(offset / 8) +
                 ", counted from 0, of " +
                 std::to_string(context_.info->numBuffers),
             site);
    leave();
  }
  bool writes = flags & SINTER_SIM_WRITE;
  auto doing = [&] {
    return std::string(writes ? "writes " : "reads ") +
           std::to_string(sizeBytes) + " bytes ";
  };
  if (at & (alignment - 1)) {
    setError(doing() + "at an address that is not a multiple of " +
                 std::to_string(alignment),
             site);
    leave();
  }
  uint64_t offset = at - reinterpret_cast<uint64_t>(block_.shared.get());
  uint64_t used =
      context_.info->staticSharedBytes + context_.launch->sharedBytes;
  bool isShared = offset < Limits::sharedBytes;
  if (isShared) {
    if (offset + sizeBytes > used) {
      setError(doing() + "at " + std::to_string(offset) + " of " +
                   std::to_string(used) + " bytes of shared memory",
               site);
      leave();
    }
  } else {
    if (at - reinterpret_cast<uint64_t>(block_.fiber->stackBase) <
        block_.fiber->stackBytes)
      return; // the thread's own stack
    if (!isAfterLaunches()) {
      setError(doing() +
                   "of global memory before it waits for the launches before "
                   "it",
               site);
      leave();
    }
    auto verdict = context_.ranges
                       ? context_.ranges->look(address, sizeBytes, writes)
                       : AccessRanges::Verdict::Inside;
    if (verdict == AccessRanges::Verdict::ReadOnly) {
      setError(doing() + "of a buffer that the launch only reads", site);
      leave();
    }
    if (verdict == AccessRanges::Verdict::Outside) {
      setError(doing() + context_.ranges->whereIs(address), site);
      leave();
    }
    // The address may be in another buffer of the launch that happens to be
    // there.
    if (const MemoryRange *own = bufferOfSite(site)) {
      auto from = int64_t(at - reinterpret_cast<uint64_t>(own->begin));
      auto size = int64_t(own->sizeBytes);
      if (from < 0 || from + int64_t(sizeBytes) > size) {
        setError(doing() +
                     (from < 0 ? std::to_string(-from) + " bytes before"
                               : std::to_string(from - size) + " bytes after") +
                     " the buffer of " + std::to_string(size) +
                     " bytes that it computes addresses from",
                 site);
        leave();
      }
    }
  }
  if (!context_.races)
    return;
  uint32_t warpEpoch =
      context_.info->numMeetings ? block_.warps[block_.current / 32].epoch : 0;
  Race race;
  if (!context_.races->touch(
          at, sizeBytes, flags,
          {block_.number, block_.current, block_.epoch, warpEpoch}, isShared,
          race))
    return;
  ++counts_.races;
  if (!context_.failsOnRaces)
    return;
  const uint32_t(&grid)[3] = table_.functions.gridDim;
  uint32_t block[3] = {uint32_t(race.block % grid[0]),
                       uint32_t(race.block / grid[0] % grid[1]),
                       uint32_t(race.block / grid[0] / grid[1])};
  setError("race: " + doing() +
               (isShared ? "of shared memory at " + std::to_string(offset)
                         : "of global memory") +
               " that thread " + threadText(race.thread) + " of block " +
               tripleText(block) + (race.earlierWrites ? " wrote" : " read") +
               (race.isReadOnlyPath ? " as constant data in this launch"
                                    : " with nothing that orders the two"),
           site);
  leave();
}

sinter_sim_functions tableFunctions() {
  sinter_sim_functions table = {};
  table.sizeofFunctions = sizeof table;
  table.fault = TableFunctions::fault;
  table.access = TableFunctions::access;
  table.predicate = TableFunctions::predicate;
  table.yield = TableFunctions::yield;
  table.barrier = TableFunctions::barrier;
  table.barrierReduce = TableFunctions::barrierReduce;
  table.warpSync = TableFunctions::warpSync;
  table.shuffle = TableFunctions::shuffle;
  table.vote = TableFunctions::vote;
  table.reduce = TableFunctions::reduce;
  table.match = TableFunctions::match;
  table.activeMask = TableFunctions::activeMask;
  table.loadMatrix = TableFunctions::loadMatrix;
  table.mma = TableFunctions::mma;
  table.copyAsync = TableFunctions::copyAsync;
  table.copyCommit = TableFunctions::copyCommit;
  table.copyWait = TableFunctions::copyWait;
  table.launchWait = TableFunctions::launchWait;
  table.clock = TableFunctions::clock;
  table.mathF32 = mathF32;
  table.mathF64 = mathF64;
  table.widen = widen;
  table.narrow = narrow;
  table.fmaHalf = fmaHalf;
  return table;
}

} // namespace sinter::sim
