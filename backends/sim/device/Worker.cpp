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

Worker::~Worker() {
  if (shared_)
    munmap(shared_, kArenaBytes);
}

rt::Status Worker::prepare() {
  if (shared_)
    return {};
  void *memory = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return {SINTER_OUT_OF_MEMORY,
            "no memory for the simulated device's shared memory"};
  shared_ = static_cast<uint8_t *>(memory);
  table_.functions.shared = shared_;
  return {};
}

void Worker::beginLaunch(const LaunchContext &context) {
  context_ = context;
  error_.clear();
  counts_ = {};
  const Launch &launch = *context.launch;
  std::memcpy(table_.functions.blockDim, launch.block, sizeof launch.block);
  std::memcpy(table_.functions.gridDim, launch.grid, sizeof launch.grid);
  numThreads_ = launch.block[0] * launch.block[1] * launch.block[2];
}

bool Worker::runBlock(uint64_t block) {
  const Launch &launch = *context_.launch;
  blockNumber_ = block;
  block_[0] = uint32_t(block % launch.grid[0]);
  block_[1] = uint32_t(block / launch.grid[0] % launch.grid[1]);
  block_[2] = uint32_t(block / launch.grid[0] / launch.grid[1]);
  std::memcpy(table_.functions.blockId, block_, sizeof block_);
  uint32_t sharedBytes = context_.info->staticSharedBytes + launch.sharedBytes;
  if (sharedBytes)
    poison(shared_, sharedBytes + kMarginBytes);

  numIdleYields_ = numPredicates_ = numExited_ = 0;
  schedule_.begin(context_.seed, block, numThreads_);
  if (context_.info->numMeetings) {
    threads_.assign(numThreads_, Thread());
    warps_.assign((numThreads_ + 31) / 32, Warp());
    if (uint32_t rest = numThreads_ % 32)
      warps_.back().exited = ~0u << rest;
    for (BlockBarrier &barrier : barriers_)
      barrier.waiting.clear();
    current_ = uint32_t(schedule_.next());
  }
  ++epoch_;
  copies_.clear();
  hasWaited_.assign(launch.isEarly ? numThreads_ : 0, false);

  fiber_ = fibers_.take();
  if (!fiber_) {
    error_ = "kernel " + std::string(launch.name) + ": no memory for a stack";
    return false;
  }
  useOwnStack(self_);
  unsigned modes = _mm_getcsr();
  _mm_setcsr(kDefaultModes);
  switchContext(self_, *fiber_);
  _mm_setcsr(modes);
  if (!error_.empty()) {
    fibers_.reset();
    return false;
  }
  counts_.threads += numThreads_;
  const auto *words = reinterpret_cast<const uint32_t *>(shared_);
  uint32_t first = (sharedBytes + 3) / 4, last = first + kMarginBytes / 4;
  for (uint32_t i = first; sharedBytes && i < last; ++i)
    if (words[i] != poisonWord) {
      error_ = "kernel " + std::string(launch.name) + ", block " +
               tripleText(block_) + ": wrote past its " +
               std::to_string(sharedBytes) + " bytes of shared memory";
      return false;
    }
  return true;
}

// A fiber runs threads until one of them keeps it. After it is given back and
// taken again, it continues with other threads.
void Worker::fiberMain(void *argument) {
  enterFiber();
  Worker &worker = *static_cast<Worker *>(argument);
  while (true)
    worker.runThreads();
}

// Begins with thread current_, which was chosen before the switch to this
// fiber.
void Worker::runThreads() {
  const Launch &launch = *context_.launch;
  if (context_.info->numMeetings == 0) {
    for (uint32_t i = 0; i < numThreads_; ++i) {
      current_ = schedule_.started(i);
      placeThread(current_);
      launch.kernel(launch.buffers, &table_.functions);
      if (!checkLaunchWait())
        break;
    }
    numExited_ = numThreads_;
  }
  int next = numExited_ == numThreads_ ? -1 : int(current_);
  while (next >= 0) {
    current_ = uint32_t(next);
    Thread &thread = threads_[current_];
    if (thread.fiber) {
      // The thread waited and continues on its own fiber; this one becomes
      // free.
      fibers_.giveBack(fiber_);
      switchTo(thread.fiber);
      return;
    }
    thread.fiber = fiber_;
    thread.state = State::Running;
    placeThread(current_);
    launch.kernel(launch.buffers, &table_.functions);
    if (!endThread())
      break;
    next = schedule_.next();
  }
  if (error_.empty() && numExited_ != numThreads_)
    describeDeadlock();
  fibers_.giveBack(fiber_);
  switchContext(*fiber_, self_);
}

void Worker::placeThread(uint32_t thread) {
  sinter_sim_functions &functions = table_.functions;
  uint32_t width = functions.blockDim[0], height = functions.blockDim[1];
  functions.threadId[0] = thread % width;
  functions.threadId[1] = thread / width % height;
  functions.threadId[2] = thread / width / height;
}

void Worker::switchTo(Context *target) {
  Context *from = fiber_;
  fiber_ = target;
  switchContext(*from, *target);
}

void Worker::leave() {
  switchContext(*fiber_, self_);
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
  Thread &thread = threads_[current_];
  thread.state = State::Exited;
  thread.fiber = nullptr;
  ++numExited_;
  numIdleYields_ = 0;
  uint32_t lane = 1u << (current_ % 32);
  Warp &warp = warps_[current_ / 32];
  warp.exited |= lane;
  for (const BlockBarrier &barrier : barriers_)
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
  threads_[current_].state = State::Waiting;
  int next = schedule_.next();
  if (next < 0) {
    describeDeadlock();
    leave();
  }
  goOnWith(uint32_t(next));
}

// Switches to a thread that waited or has not run yet; returns when the current
// thread is chosen again.
void Worker::goOnWith(uint32_t next) {
  if (next == current_) {
    threads_[next].state = State::Running;
    return;
  }
  uint32_t self = current_;
  current_ = next;
  Context *target = threads_[next].fiber;
  if (target) {
    threads_[next].state = State::Running;
  } else {
    target = fibers_.take();
    if (!target) {
      setError("no memory for a stack", kNoSite);
      leave();
    }
  }
  switchTo(target);
  threads_[self].state = State::Running;
}

void Worker::release(uint32_t thread) {
  threads_[thread].state = State::Ready;
  schedule_.add(thread);
}

void Worker::yield() {
  constexpr uint64_t kMostIdleYields = 4000000;
  if (++numIdleYields_ > kMostIdleYields) {
    setError("waits for memory that no other thread of its block writes",
             kNoSite);
    leave();
  }
  int next = schedule_.next();
  if (next < 0)
    return;
  release(current_);
  goOnWith(uint32_t(next));
}

uint32_t Worker::meetAtBarrier(uint32_t site, uint32_t number, uint32_t count,
                               uint32_t value, sinter_sim_combine combine) {
  if (number >= barriers_.size() || count % 32 != 0 ||
      (count != 0 && count > numThreads_)) {
    setError("barrier " + std::to_string(number) + " of " +
                 std::to_string(count) +
                 " threads: there are barriers 0 to 15, and whole warps wait",
             site);
    leave();
  }
  BlockBarrier &barrier = barriers_[number];
  uint32_t expected = count ? count : numThreads_;
  bool isWhole = expected == numThreads_;
  if (isWhole && numExited_) {
    setError("waits for the whole block, of which " +
                 std::to_string(numExited_) + " threads have ended",
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
  threads_[current_].site = site;
  barrier.waiting.push_back(current_);
  if (barrier.waiting.size() < expected) {
    wait();
    return threads_[current_].value;
  }
  numIdleYields_ = 0;
  ++counts_.barriers;
  ++epoch_;
  uint32_t result = combine == SINTER_SIM_ALL   ? barrier.sum == expected
                    : combine == SINTER_SIM_ANY ? barrier.sum != 0
                                                : barrier.sum;
  uint32_t self = current_;
  for (uint32_t thread : barrier.waiting) {
    threads_[thread].value = result;
    if (thread != self)
      release(thread);
  }
  barrier.waiting.clear();
  if (schedule_.stepsAside()) {
    release(self);
    goOnWith(uint32_t(schedule_.next()));
  }
  return result;
}

void Worker::meetInWarp(WarpCall &call, uint32_t site, uint32_t mask) {
  uint32_t lane = current_ % 32;
  Warp &warp = warps_[current_ / 32];
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
  threads_[current_].site = site;
  threads_[current_].call = &call;
  if (meeting->arrived != mask) {
    wait();
    return;
  }
  meeting->isOpen = false;
  --warp.numOpen;
  numIdleYields_ = 0;
  ++counts_.shuffles;
  WarpCall *lanes[32] = {};
  uint32_t first = current_ / 32 * 32;
  for (uint32_t each = 0; each < 32; ++each)
    if (mask >> each & 1)
      lanes[each] = threads_[first + each].call;
  int bad = computeWarp(lanes, mask);
  if (bad >= 0) {
    setError("lane " + std::to_string(bad) +
                 " reads from a lane outside the mask",
             site);
    leave();
  }
  if (call.kind == WarpCall::Sync && mask == ~warp.exited)
    ++warp.epoch;
  uint32_t self = current_;
  for (uint32_t each = 0; each < 32; ++each)
    if ((mask >> each & 1) && first + each != self)
      release(first + each);
  if (schedule_.stepsAside()) {
    release(self);
    goOnWith(uint32_t(schedule_.next()));
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
           tripleText(block_) + ", thread " + threadText(current_) + ": " +
           what;
  if (site != kNoSite)
    error_ += ", at '" + siteText(site) + "'";
}

// Lists the groups of threads that wait, by site.
void Worker::describeDeadlock() {
  std::string text;
  std::vector<bool> isTold(numThreads_);
  for (uint32_t first = 0; first < numThreads_; ++first) {
    if (isTold[first] || threads_[first].state != State::Waiting)
      continue;
    uint32_t site = threads_[first].site, count = 0;
    for (uint32_t thread = first; thread < numThreads_; ++thread)
      if (threads_[thread].state == State::Waiting &&
          threads_[thread].site == site) {
        isTold[thread] = true;
        ++count;
      }
    text += (text.empty() ? "" : "; ") + std::to_string(count) +
            " from thread " + threadText(first) + " on wait at '" +
            siteText(site) + "'";
  }
  error_ = "kernel " + std::string(context_.launch->name) + ", block " +
           tripleText(block_) +
           ": no thread can continue: " + std::to_string(numExited_) + " of " +
           std::to_string(numThreads_) + " have ended, " + text;
}

} // namespace sinter::sim
