//===- HostExchange.cpp - processes that share memory ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/HostExchange.h"

#include "runtime/base/File.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/Meeting.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sinter::rt;

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// --- SharedMemory -----------------------------------------------------------

SharedMemory::SharedMemory(SharedMemory &&other) noexcept {
  *this = std::move(other);
}

SharedMemory &SharedMemory::operator=(SharedMemory &&other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(sizeBytes_, other.sizeBytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  close();
  if (data_)
    munmap(data_, sizeBytes_);
}

void SharedMemory::close() {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

Status SharedMemory::map(int fd, size_t bytes) {
  fd_ = fd;
  void *mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED)
    return fileError("shared memory", errno);
  data_ = static_cast<uint8_t *>(mapped);
  sizeBytes_ = bytes;
  return {};
}

Result<SharedMemory> SharedMemory::make(size_t bytes) {
  const int fd = memfd_create("sinter", MFD_CLOEXEC);
  if (fd < 0)
    return fileError("shared memory", errno);
  SharedMemory memory;
  SINTER_RETURN_IF_ERROR(memory.map(fd, bytes));
  // Now, since a later write to memory that is not there would be a SIGBUS.
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes)))
    return fileError("shared memory", error);
  return memory;
}

std::string SharedMemory::address() const {
  struct stat found = {};
  if (fstat(fd_, &found) != 0)
    return "";
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_) +
         " " + std::to_string(found.st_dev) + " " +
         std::to_string(found.st_ino);
}

Result<SharedMemory> SharedMemory::open(const std::string &address,
                                        size_t bytes) {
  const size_t end = address.find(' ');
  const std::string path = address.substr(0, end);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return fileError(path, errno);
  SharedMemory memory;
  SINTER_RETURN_IF_ERROR(memory.map(fd, bytes));
  // The number may be that of another process by now.
  struct stat found = {};
  if (fstat(fd, &found) != 0 || static_cast<size_t>(found.st_size) != bytes ||
      address.substr(end) != " " + std::to_string(found.st_dev) + " " +
                                 std::to_string(found.st_ino))
    return Status::failed(path + " is something else");
  return memory;
}

// --- HostExchange -----------------------------------------------------------

/// A ring buffer of bytes with one writer and one reader.
struct HostExchange::ByteRing {
  alignas(64) std::atomic<uint64_t> written; // bytes, of all calls
  alignas(64) std::atomic<uint64_t> read;
  // The bytes follow.
};

/// Wakes a process that waits for the others.
struct HostExchange::Doorbell {
  alignas(64) std::atomic<uint32_t> count; // how often others rang
  std::atomic<uint32_t> isAsleep;
  std::atomic<uint32_t> hasLeft; // the process exchanges nothing any more
};

/// What is still to be copied of some pieces.
class HostExchange::PiecesLeft {
public:
  PiecesLeft() = default;
  explicit PiecesLeft(const Pieces &pieces) : rest_(pieces) { skipEmpty(); }

  bool isEmpty() const { return rest_.empty(); }
  /// The next bytes, `most` of them at most; at least one unless isEmpty().
  std::span<uint8_t> take(size_t most) {
    const auto bytes = rest_[0].subspan(done_);
    const size_t count = std::min(most, bytes.size());
    done_ += count;
    skipEmpty();
    return bytes.first(count);
  }

private:
  void skipEmpty() {
    while (!rest_.empty() && rest_[0].size() == done_) {
      rest_ = rest_.subspan(1);
      done_ = 0;
    }
  }

  std::span<const std::span<uint8_t>> rest_;
  size_t done_ = 0; // of the first
};

/// What processes that can share memory have in common; "" if this one cannot.
static std::string hostOfThisProcess() {
  constexpr uint64_t mostBytes = 256;
  auto boot = readFile("/proc/sys/kernel/random/boot_id", mostBytes);
  if (!boot.ok())
    return "";
  std::string host(boot->begin(), boot->end());
  // Processes of another network are on another host, as containers are.
  for (const char *space : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
    struct stat found = {};
    if (stat(space, &found) != 0)
      return "";
    host += " " + std::to_string(found.st_ino);
  }
  return host + " " + std::to_string(geteuid());
}

/// Bytes of each ring among `processes`: little enough to stay in a cache, and
/// all of them together take a few megabytes unless there are many.
static size_t ringBytesFor(size_t processes) {
  constexpr size_t most = 256 << 10, least = 16 << 10, ofAll = 8 << 20;
  return std::clamp(std::bit_floor(ofAll / (processes * processes)), least,
                    most);
}

Result<std::unique_ptr<HostExchange>> HostExchange::join(Meeting &meeting) {
  auto hosts = meeting.gather(
      "host", meeting.sharesMemory() ? hostOfThisProcess() : std::string());
  if (!hosts.ok())
    return hosts.status();
  std::unique_ptr<HostExchange> exchange(new HostExchange);
  const std::string &host = (*hosts)[meeting.rank()];
  for (uint32_t rank = 0; rank < meeting.world(); ++rank)
    if (!host.empty() && (*hosts)[rank] == host)
      exchange->ranks_.push_back(rank);
  if (exchange->ranks_.size() < 2)
    exchange->ranks_.clear();
  SINTER_RETURN_IF_ERROR(exchange->share(meeting));
  return exchange;
}

Status HostExchange::share(Meeting &meeting) {
  if (!ranks_.empty())
    SINTER_RETURN_IF_ERROR(map(meeting));
  // All of a host share it, or none does.
  auto answers = meeting.gather("shares memory", memory_.data() ? "1" : "0");
  if (!answers.ok())
    return answers.status();
  memory_.close();
  if (!std::ranges::all_of(
          ranks_, [&](uint32_t rank) { return (*answers)[rank] == "1"; }))
    ranks_.clear();
  return {};
}

Status HostExchange::map(Meeting &meeting) {
  ringBytes_ = ringBytesFor(ranks_.size());
  own_ = static_cast<size_t>(std::ranges::find(ranks_, meeting.rank()) -
                             ranks_.begin());
  const std::string name = "memory of rank " + std::to_string(ranks_[0]);
  if (own_ == 0) {
    if (auto made = SharedMemory::make(memoryBytes()); made.ok())
      memory_ = std::move(*made);
    return meeting.put(name, memory_.data() ? memory_.address() : "",
                       static_cast<uint32_t>(ranks_.size() - 1));
  }
  Result<std::string> address = meeting.get(name);
  if (!address.ok())
    return address.status();
  if (auto mapped = SharedMemory::open(*address, memoryBytes()); mapped.ok())
    memory_ = std::move(*mapped);
  return {};
}

HostExchange::~HostExchange() { leave(); }

bool HostExchange::reaches(uint32_t rank) const {
  return !ranks_.empty() && rank != ranks_[own_] &&
         std::ranges::binary_search(ranks_, rank);
}

// One doorbell for each process; then the rings, by sender and receiver. The
// ring of a process with itself is not used.
size_t HostExchange::memoryBytes() const {
  const size_t all = ranks_.size();
  return all * sizeof(Doorbell) + all * all * (sizeof(ByteRing) + ringBytes_);
}
HostExchange::Doorbell &HostExchange::doorbell(size_t index) const {
  return *std::launder(reinterpret_cast<Doorbell *>(memory_.data()) + index);
}
HostExchange::ByteRing &HostExchange::ring(size_t sender,
                                           size_t receiver) const {
  const size_t all = ranks_.size();
  return *std::launder(reinterpret_cast<ByteRing *>(
      memory_.data() + all * sizeof(Doorbell) +
      (sender * all + receiver) * (sizeof(ByteRing) + ringBytes_)));
}

/// Copies in pieces of at most this, so that the other side begins early.
constexpr size_t mostAtOnce = 64 << 10;

template <typename Copy>
uint64_t HostExchange::walk(ByteRing &ring, uint64_t begin, uint64_t end,
                            PiecesLeft &left, Copy copy) const {
  auto *data = reinterpret_cast<uint8_t *>(&ring + 1);
  uint64_t at = begin;
  while (at < end && !left.isEmpty()) {
    const size_t place = at & (ringBytes_ - 1);
    const auto bytes = left.take(std::min(end - at, ringBytes_ - place));
    copy(data + place, bytes);
    at += bytes.size();
  }
  return at;
}

bool HostExchange::push(size_t receiver, PiecesLeft &left) const {
  ByteRing &to = ring(own_, receiver);
  const uint64_t written = to.written.load(std::memory_order_relaxed);
  const uint64_t room =
      ringBytes_ - (written - to.read.load(std::memory_order_acquire));
  const uint64_t end =
      walk(to, written, written + std::min<uint64_t>(room, mostAtOnce), left,
           [](uint8_t *place, std::span<uint8_t> bytes) {
             std::memcpy(place, bytes.data(), bytes.size());
           });
  if (end == written)
    return false;
  to.written.store(end, std::memory_order_release);
  wake(receiver);
  return true;
}

bool HostExchange::pull(size_t sender, PiecesLeft &left) const {
  ByteRing &from = ring(sender, own_);
  const uint64_t read = from.read.load(std::memory_order_relaxed);
  const uint64_t there = from.written.load(std::memory_order_acquire) - read;
  const uint64_t end =
      walk(from, read, read + std::min<uint64_t>(there, mostAtOnce), left,
           [](uint8_t *place, std::span<uint8_t> bytes) {
             std::memcpy(bytes.data(), place, bytes.size());
           });
  if (end == read)
    return false;
  from.read.store(end, std::memory_order_release);
  wake(sender);
  return true;
}

// A futex whose waiters may be other processes. Either sleep() sees that the
// count has changed, or wake() sees that someone sleeps.
void HostExchange::wake(size_t index) const {
  Doorbell &bell = doorbell(index);
  bell.count.fetch_add(1);
  if (bell.isAsleep.load())
    syscall(SYS_futex, &bell.count, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void HostExchange::sleep(uint32_t count) const {
  Doorbell &bell = doorbell(own_);
  // Another process often answers sooner than this one could fall asleep.
  constexpr int spins = 200;
  for (int i = 0; i < spins; ++i) {
    if (bell.count.load(std::memory_order_acquire) != count)
      return;
    __builtin_ia32_pause();
  }
  bell.isAsleep.store(1);
  syscall(SYS_futex, &bell.count, FUTEX_WAIT, count, nullptr, nullptr, 0);
  bell.isAsleep.store(0);
}

Status HostExchange::exchange(std::span<const Pieces> from,
                              std::span<const Pieces> to) {
  const size_t all = ranks_.size();
  if (all == 0)
    return {};
  std::vector<PiecesLeft> unsent(all), missing(all);
  for (size_t p = 0; p < all; ++p)
    if (p != own_) {
      unsent[p] = PiecesLeft(from[ranks_[p]]);
      missing[p] = PiecesLeft(to[ranks_[p]]);
    }
  while (true) {
    // Before looking what is there: what changes later rings again.
    const uint32_t count = doorbell(own_).count.load();
    bool isDone = true, hasMoved = false, isAlone = false;
    // Each begins with its successor, so that not all send to one.
    for (size_t i = 1; i < all; ++i) {
      const size_t p = (own_ + i) % all;
      const bool hasLeft = doorbell(p).hasLeft.load();
      const bool hasPushed = push(p, unsent[p]),
                 hasPulled = pull(p, missing[p]);
      const bool isPart = !unsent[p].isEmpty() || !missing[p].isEmpty();
      isDone &= !isPart;
      isAlone |= isPart && hasLeft && !hasPulled;
      hasMoved |= hasPushed || hasPulled;
    }
    if (isAborted_ || isAlone)
      return leftGroup("a process");
    if (isDone)
      return {};
    if (!hasMoved)
      sleep(count);
  }
}

void HostExchange::abort() {
  isAborted_ = true;
  leave();
}

void HostExchange::leave() {
  if (ranks_.empty())
    return;
  doorbell(own_).hasLeft = 1;
  for (size_t p = 0; p < ranks_.size(); ++p)
    wake(p);
}
