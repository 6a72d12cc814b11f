//===- Worker.cpp - one CPU thread that runs blocks -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Worker.h"
#include "backends/sim/device/Poison.h"
#include "backends/sim/device/TableFunctions.h"

#include <cstring>
#include <sys/mman.h>
#include <xmmintrin.h>

namespace sinter::sim {
namespace {

// A margin after the arena. Writes of an unchecked kernel to it are detected
// afterwards.
constexpr uint32_t kMarginBytes = 256;
constexpr uint32_t kArenaBytes = Limits::sharedBytes + 4096;
constexpr uint32_t kDefaultModes = 0x1f80;

} // namespace

std::string lanesText(uint32_t mask) {
  std::string text;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    int last = lane;
    while (last < 31 && (mask >> (last + 1) & 1))
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(lane);
    if (last > lane)
      text += "-" + std::to_string(last);
    lane = last;
  }
  return text;
}

std::string tripleText(const uint32_t (&triple)[3]) {
  return "(" + std::to_string(triple[0]) + "," + std::to_string(triple[1]) +
         "," + std::to_string(triple[2]) + ")";
}

Worker::Worker() : fibers_(&fiberMain, this) {
  table_.functions = tableFunctions();
  table_.worker = this;
}

Worker::~Worker() = default;

void Worker::UnmapShared::operator()(uint8_t *memory) const {
  munmap(memory, kArenaBytes);
}

rt::Status Worker::prepare() { return allocateShared(block_); }

rt::Status Worker::allocateShared(Block &block) {
  if (block.shared)
    return {};
  void *memory = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return {SINTER_OUT_OF_MEMORY,
            "no memory for the simulated device's shared memory"};
  block.shared.reset(static_cast<uint8_t *>(memory));
  return {};
}

void Worker::beginLaunch(const LaunchContext &context) {
  context_ = context;
  error_.clear();
  counts_ = {};
  const Launch &launch = *context.launch;
  std::memcpy(table_.functions.blockDim, launch.block, sizeof launch.block);
  std::memcpy(table_.functions.gridDim, launch.grid, sizeof launch.grid);
  table_.functions.dynamicSharedBytes = launch.sharedBytes;
  numThreads_ = launch.block[0] * launch.block[1] * launch.block[2];
}

uint32_t Worker::sharedBytes() const {
  return context_.info->staticSharedBytes + context_.launch->sharedBytes;
}

bool Worker::beginBlock(uint64_t block) {
  const Launch &launch = *context_.launch;
  block_.number = block;
  block_.id[0] = uint32_t(block % launch.grid[0]);
  block_.id[1] = uint32_t(block / launch.grid[0] % launch.grid[1]);
  block_.id[2] = uint32_t(block / launch.grid[0] / launch.grid[1]);
  if (uint32_t bytes = sharedBytes())
    poison(block_.shared.get(), bytes + kMarginBytes);

  numPredicates_ = 0;
  block_.numIdleYields = block_.numExited = 0;
  block_.schedule.begin(context_.seed, block, numThreads_);
  if (context_.info->numMeetings) {
    block_.threads.assign(numThreads_, Thread());
    block_.warps.assign((numThreads_ + 31) / 32, Warp());
    if (uint32_t rest = numThreads_ % 32)
      block_.warps.back().exited = ~0u << rest;
    for (BlockBarrier &barrier : block_.barriers)
      barrier.waiting.clear();
    block_.current = uint32_t(block_.schedule.next());
  }
  ++block_.epoch;
  block_.copies.clear();
  block_.hasWaited.assign(launch.isEarly ? numThreads_ : 0, false);

  block_.fiber = fibers_.take();
  if (!block_.fiber)
    error_ = "kernel " + std::string(launch.name) + ": no memory for a stack";
  return block_.fiber;
}

void Worker::continueBlock() {
  std::memcpy(table_.functions.blockId, block_.id, sizeof block_.id);
  table_.functions.shared = block_.shared.get();
  useOwnStack(self_);
  unsigned modes = _mm_getcsr();
  _mm_setcsr(kDefaultModes);
  switchContext(self_, *block_.fiber);
  _mm_setcsr(modes);
  if (!error_.empty())
    fibers_.reset();
}

bool Worker::endBlock() {
  counts_.threads += numThreads_;
  const auto *words = reinterpret_cast<const uint32_t *>(block_.shared.get());
  uint32_t bytes = sharedBytes();
  uint32_t first = (bytes + 3) / 4, last = first + kMarginBytes / 4;
  for (uint32_t i = first; bytes && i < last; ++i)
    if (words[i] != poisonWord) {
      error_ = "kernel " + std::string(context_.launch->name) + ", block " +
               tripleText(block_.id) + ": wrote past its " +
               std::to_string(bytes) + " bytes of shared memory";
      return false;
    }
  return true;
}

bool Worker::runBlock(uint64_t block) {
  if (!beginBlock(block))
    return false;
  continueBlock();
  return error_.empty() && endBlock();
}

bool Worker::runTogether(uint64_t numBlocks) {
  if (others_.size() < numBlocks)
    others_.resize(numBlocks);
  std::vector<Block *> left;
  for (uint64_t i = 0; i < numBlocks; ++i) {
    Block &block = others_[i];
    rt::Status status = allocateShared(block);
    if (!status.ok()) {
      error_ = status.message();
      return false;
    }
    std::swap(block_, block);
    const bool hasBegun = beginBlock(blockAt(context_.seed, i, numBlocks));
    std::swap(block_, block);
    if (!hasBegun)
      return false;
    left.push_back(&block);
  }
  hasOthers_ = true;
  for (size_t next = 0; !left.empty() && error_.empty();) {
    next = next < left.size() ? next : 0;
    std::swap(block_, *left[next]);
    continueBlock();
    const bool hasEnded = block_.numExited == numThreads_;
    const bool isGood = error_.empty() && (!hasEnded || endBlock());
    std::swap(block_, *left[next]);
    if (isGood && hasEnded)
      left.erase(left.begin() + ptrdiff_t(next));
    else
      ++next;
  }
  hasOthers_ = false;
  return error_.empty();
}

// A fiber runs threads until one of them keeps it. After it is given back and
// taken again, it continues with other threads.
void Worker::fiberMain(void *argument) {
  enterFiber();
  Worker &worker = *static_cast<Worker *>(argument);
  while (true)
    worker.runThreads();
}

// Begins with thread block_.current, which was chosen before the switch to this
// fiber.
void Worker::runThreads() {
  const Launch &launch = *context_.launch;
  if (context_.info->numMeetings == 0) {
    for (uint32_t i = 0; i < numThreads_; ++i) {
      block_.current = block_.schedule.started(i);
      placeThread(block_.current);
      launch.kernel(launch.buffers, &table_.functions);
      if (!checkLaunchWait())
        break;
    }
    block_.numExited = numThreads_;
  }
  int next = block_.numExited == numThreads_ ? -1 : int(block_.current);
  while (next >= 0) {
    block_.current = uint32_t(next);
    Thread &thread = block_.threads[block_.current];
    if (thread.fiber) {
      // The thread waited and continues on its own fiber; this one becomes
      // free.
      fibers_.giveBack(block_.fiber);
      switchTo(thread.fiber);
      return;
    }
    thread.fiber = block_.fiber;
    thread.state = State::Running;
    placeThread(block_.current);
    launch.kernel(launch.buffers, &table_.functions);
    if (!endThread())
      break;
    next = block_.schedule.next();
  }
  if (error_.empty() && block_.numExited != numThreads_)
    describeDeadlock();
  fibers_.giveBack(block_.fiber);
  switchContext(*block_.fiber, self_);
}

void Worker::placeThread(uint32_t thread) {
  sinter_sim_functions &functions = table_.functions;
  uint32_t width = functions.blockDim[0], height = functions.blockDim[1];
  functions.threadId[0] = thread % width;
  functions.threadId[1] = thread / width % height;
  functions.threadId[2] = thread / width / height;
}

void Worker::switchTo(Context *target) {
  Context *from = block_.fiber;
  block_.fiber = target;
  switchContext(*from, *target);
}

void Worker::leave() {
  switchContext(*block_.fiber, self_);
  __builtin_unreachable(); // all fibers are reset
}

bool Worker::checkLaunchWait() {
  if (isAfterLaunches())
    return true;
  setError("ended without a wait for the launches before it", kNoSite);
  return false;
}

bool Worker::endThread() {
  if (!checkLaunchWait())
    return false;
  Thread &thread = block_.threads[block_.current];
  thread.state = State::Exited;
  thread.fiber = nullptr;
  ++block_.numExited;
  block_.numIdleYields = 0;
  uint32_t lane = 1u << (block_.current % 32);
  Warp &warp = block_.warps[block_.current / 32];
  warp.exited |= lane;
  for (const BlockBarrier &barrier : block_.barriers)
    if (!barrier.waiting.empty() && barrier.expected == numThreads_) {
      setError("ended while thread " + threadText(barrier.waiting.front()) +
                   " waits for the whole block",
               barrier.site);
      return false;
    }
  for (const Meeting &meeting : warp.meetings)
    if (meeting.isOpen && (meeting.mask & lane)) {
      setError("ended while lanes " + lanesText(meeting.arrived) +
                   " of its warp wait for it",
               meeting.site);
      return false;
    }
  return true;
}

void Worker::wait() {
  block_.threads[block_.current].state = State::Waiting;
  int next = block_.schedule.next();
  if (next < 0) {
    describeDeadlock();
    leave();
  }
  goOnWith(uint32_t(next));
}

// Switches to a thread that waited or has not run yet; returns when the current
// thread is chosen again.
void Worker::goOnWith(uint32_t next) {
  if (next == block_.current) {
    block_.threads[next].state = State::Running;
    return;
  }
  uint32_t self = block_.current;
  block_.current = next;
  Context *target = block_.threads[next].fiber;
  if (target) {
    block_.threads[next].state = State::Running;
  } else {
    target = fibers_.take();
    if (!target) {
      setError("no memory for a stack", kNoSite);
      leave();
    }
  }
  switchTo(target);
  block_.threads[self].state = State::Running;
}

void Worker::release(uint32_t thread) {
  block_.threads[thread].state = State::Ready;
  block_.schedule.add(thread);
}

void Worker::yield() {
  constexpr uint64_t kMostIdleYields = 4000000;
  if (++block_.numIdleYields > kMostIdleYields) {
    setError(std::string("waits for memory that no other thread of its ") +
                 (hasOthers_ ? "kernel" : "block") + " writes",
             kNoSite);
    leave();
  }
  int next = block_.schedule.next();
  if (next >= 0) {
    release(block_.current);
    goOnWith(uint32_t(next));
  } else if (hasOthers_) {
    switchContext(*block_.fiber, self_); // to another block, and back
  }
}

uint32_t Worker::meetAtBarrier(uint32_t site, uint32_t number, uint32_t count,
                               uint32_t value, sinter_sim_combine combine) {
  if (number >= block_.barriers.size() || count % 32 != 0 ||
      (count != 0 && count > numThreads_)) {
    setError("barrier " + std::to_string(number) + " of " +
                 std::to_string(count) +
                 " threads: there are barriers 0 to 15, and whole warps wait",
             site);
    leave();
  }
  BlockBarrier &barrier = block_.barriers[number];
  uint32_t expected = count ? count : numThreads_;
  bool isWhole = expected == numThreads_;
  if (isWhole && block_.numExited) {
    setError("waits for the whole block, of which " +
                 std::to_string(block_.numExited) + " threads have ended",
             site);
    leave();
  }
  if (barrier.waiting.empty()) {
    barrier.site = site;
    barrier.expected = expected;
    barrier.sum = 0;
  } else if (barrier.expected != expected ||
             (isWhole && barrier.site != site)) {
    setError("meets barrier " + std::to_string(number) + " while thread " +
                 threadText(barrier.waiting.front()) + " waits at '" +
                 siteText(barrier.site) + "'",
             site);
    leave();
  }
  barrier.sum += value ? 1 : 0;
  block_.threads[block_.current].site = site;
  barrier.waiting.push_back(block_.current);
  if (barrier.waiting.size() < expected) {
    wait();
    return block_.threads[block_.current].value;
  }
  block_.numIdleYields = 0;
  ++counts_.barriers;
  ++block_.epoch;
  uint32_t result = combine == SINTER_SIM_ALL   ? barrier.sum == expected
                    : combine == SINTER_SIM_ANY ? barrier.sum != 0
                                                : barrier.sum;
  uint32_t self = block_.current;
  for (uint32_t thread : barrier.waiting) {
    block_.threads[thread].value = result;
    if (thread != self)
      release(thread);
  }
  barrier.waiting.clear();
  if (block_.schedule.stepsAside()) {
    release(self);
    goOnWith(uint32_t(block_.schedule.next()));
  }
  return result;
}

void Worker::meetInWarp(WarpCall &call, uint32_t site, uint32_t mask) {
  uint32_t lane = block_.current % 32;
  Warp &warp = block_.warps[block_.current / 32];
  if (!(mask >> lane & 1)) {
    setError("lane " + std::to_string(lane) +
                 " is not in the mask that it gives: lanes " + lanesText(mask),
             site);
    leave();
  }
  if (mask & warp.exited) {
    setError("the mask names lanes " + lanesText(mask & warp.exited) +
                 ", which have ended or do not exist",
             site);
    leave();
  }
  Meeting *meeting = nullptr;
  uint32_t numSeen = 0;
  for (Meeting &open : warp.meetings) {
    if (!open.isOpen) {
      if (!meeting)
        meeting = &open;
      if (numSeen == warp.numOpen)
        break;
      continue;
    }
    ++numSeen;
    if (open.mask == mask && open.site == site) {
      meeting = &open;
      break;
    } else if (open.mask == mask) {
      setError("lanes " + lanesText(open.arrived) + " of its warp wait at '" +
                   siteText(open.site) + "'",
               site);
      leave();
    }
  }
  // There are as many meetings as lanes, so one is free.
  if (!meeting->isOpen) {
    ++warp.numOpen;
    meeting->isOpen = true;
    meeting->site = site;
    meeting->mask = mask;
    meeting->arrived = 0;
  }
  meeting->arrived |= 1u << lane;
  block_.threads[block_.current].site = site;
  block_.threads[block_.current].call = &call;
  if (meeting->arrived != mask) {
    wait();
    return;
  }
  meeting->isOpen = false;
  --warp.numOpen;
  block_.numIdleYields = 0;
  ++counts_.shuffles;
  WarpCall *lanes[32] = {};
  uint32_t first = block_.current / 32 * 32;
  for (uint32_t each = 0; each < 32; ++each)
    if (mask >> each & 1)
      lanes[each] = block_.threads[first + each].call;
  int bad = computeWarp(lanes, mask);
  if (bad >= 0) {
    setError("lane " + std::to_string(bad) +
                 " reads from a lane outside the mask",
             site);
    leave();
  }
  if (call.kind == WarpCall::Sync && mask == ~warp.exited)
    ++warp.epoch;
  uint32_t self = block_.current;
  for (uint32_t each = 0; each < 32; ++each)
    if ((mask >> each & 1) && first + each != self)
      release(first + each);
  if (block_.schedule.stepsAside()) {
    release(self);
    goOnWith(uint32_t(block_.schedule.next()));
  }
}

std::string Worker::threadText(uint32_t thread) const {
  const uint32_t(&dim)[3] = table_.functions.blockDim;
  uint32_t triple[3] = {thread % dim[0], thread / dim[0] % dim[1],
                        thread / dim[0] / dim[1]};
  return tripleText(triple);
}

std::string Worker::siteText(uint32_t site) const {
  return site < context_.info->numSites ? context_.info->sites[site].text : "?";
}

void Worker::setError(const std::string &what, uint32_t site) {
  error_ = "kernel " + std::string(context_.launch->name) + ", block " +
           tripleText(block_.id) + ", thread " + threadText(block_.current) +
           ": " + what;
  if (site != kNoSite)
    error_ += ", at '" + siteText(site) + "'";
}

// Lists the groups of threads that wait, by site.
void Worker::describeDeadlock() {
  std::string text;
  std::vector<bool> isTold(numThreads_);
  for (uint32_t first = 0; first < numThreads_; ++first) {
    if (isTold[first] || block_.threads[first].state != State::Waiting)
      continue;
    uint32_t site = block_.threads[first].site, count = 0;
    for (uint32_t thread = first; thread < numThreads_; ++thread)
      if (block_.threads[thread].state == State::Waiting &&
          block_.threads[thread].site == site) {
        isTold[thread] = true;
        ++count;
      }
    text += (text.empty() ? "" : "; ") + std::to_string(count) +
            " from thread " + threadText(first) + " on wait at '" +
            siteText(site) + "'";
  }
  error_ = "kernel " + std::string(context_.launch->name) + ", block " +
           tripleText(block_.id) +
           ": no thread can continue: " + std::to_string(block_.numExited) +
           " of " + std::to_string(numThreads_) + " have ended, " + text;
}

} // namespace sinter::sim
