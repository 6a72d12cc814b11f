//===- NcclGroup.cpp - replicas that work together by NCCL ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/NcclGroup.h"
#include "runtime/base/BlockSignals.h"
#include "runtime/data/ElementType.h"
#include "runtime/device/Stream.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

static_assert(sizeof(nccl::UniqueId) == SINTER_GROUP_BYTES);

namespace {

/// The oldest version whose calls can be part of graphs.
constexpr int oldestVersion = 20900;

/// The types that NCCL can sum.
std::optional<int> dataType(uint32_t dtype) {
  switch (dtype) {
  case SINTER_I8:
    return nccl::i8;
  case SINTER_U8:
    return nccl::u8;
  case SINTER_I32:
    return nccl::i32;
  case SINTER_U32:
    return nccl::u32;
  case SINTER_I64:
    return nccl::i64;
  case SINTER_U64:
    return nccl::u64;
  case SINTER_F16:
    return nccl::f16;
  case SINTER_BF16:
    return nccl::bf16;
  case SINTER_F32:
    return nccl::f32;
  case SINTER_F64:
    return nccl::f64;
  default:
    return std::nullopt;
  }
}

/// "queueing an all-reduce".
const char *queueing(uint32_t op) {
  switch (op) {
  case SINTER_ALL_REDUCE:
    return "queueing an all-reduce";
  case SINTER_REDUCE_SCATTER:
    return "queueing a reduce-scatter";
  default:
    return "queueing an all-gather";
  }
}

Status check(const nccl::Api &api, int code, const char *what) {
  if (code == nccl::success)
    return {};
  const char *text = api.getErrorString(code);
  const Status failure(SINTER_DEVICE_FAILED,
                       std::string("NCCL: ") + what + ": " +
                           (text ? text : "unknown error") + " (" +
                           std::to_string(code) + ")");
  return code == nccl::remoteError
             ? Status::aboutOthers(failure.code(), failure.message())
             : failure;
}

/// ncclCommAbort frees the communicator, so the thread that aborts first waits
/// this long for a call that another thread is in. That call may itself wait
/// for a replica that is gone.
constexpr std::chrono::seconds longestCall(2);

class NcclGroup final : public Communicator {
public:
  NcclGroup(const nccl::Api &api, nccl::Comm comm, const sinter_rank &rank)
      : Communicator(rank.rank, rank.replicas), api_(api), comm_(comm) {
    BlockSignals blocked;
    aborter_ = std::thread([this] { abortWhenAsked(); });
  }

  ~NcclGroup() override {
    {
      std::lock_guard lock(mutex_);
      isLeaving_ = true;
      // A failed replica must not wait for the others.
      isAborted_ |= isBroken_;
    }
    changed_.notify_all();
    aborter_.join();
    if (!isAborted_)
      (void)api_.commDestroy(comm_);
  }

  void abort() override {
    {
      std::lock_guard lock(mutex_);
      isAborted_ = true;
    }
    changed_.notify_all();
  }

  Status run(Stream &stream, const Collective &what,
             void *const *buffers) override {
    std::optional<int> type = dataType(what.dtype);
    if (!type && what.op != SINTER_ALL_GATHER)
      return {SINTER_UNSUPPORTED, "NCCL does not sum elements of this dtype"};
    {
      std::lock_guard lock(mutex_);
      if (isAborted_)
        return leftGroup(rank());
      isInCall_ = true;
    }
    Status status = queue(stream, what, type, buffers);
    {
      std::lock_guard lock(mutex_);
      isInCall_ = false;
      isBroken_ |= !status.ok();
    }
    changed_.notify_all();
    return status;
  }

private:
  /// The thread that aborts: ncclCommAbort first ends the calls in flight and
  /// then returns only when no recorded graph refers to the communicator. The
  /// thread that asks may be the one that must destroy those graphs.
  void abortWhenAsked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return isAborted_ || isLeaving_; });
    if (!isAborted_)
      return;
    changed_.wait_for(lock, longestCall, [&] { return !isInCall_; });
    lock.unlock();
    (void)api_.commAbort(comm_);
  }

  Status queue(Stream &stream, const Collective &what, std::optional<int> type,
               void *const *buffers) {
    const size_t count = what.elements.size();
    int asynchronous = nccl::success;
    SINTER_RETURN_IF_ERROR(check(
        api_, api_.commGetAsyncError(comm_, &asynchronous), "querying errors"));
    if (asynchronous != nccl::inProgress)
      SINTER_RETURN_IF_ERROR(
          check(api_, asynchronous, "an earlier collective"));
    SINTER_RETURN_IF_ERROR(check(api_, api_.groupStart(), "beginning a group"));
    Status queued;
    for (size_t i = 0; i < count && queued.ok(); ++i)
      if (what.elements[i])
        queued = check(api_,
                       call(what, i, type, buffers[i], buffers[count + i],
                            stream.native()),
                       queueing(what.op));
    // A started group must be ended in any case.
    Status ended = check(api_, api_.groupEnd(), queueing(what.op));
    return queued.ok() ? ended : queued;
  }

  /// Queues array `i`.
  int call(const Collective &what, size_t i, std::optional<int> type,
           const void *from, void *to, void *stream) {
    const uint64_t read = what.readElements(i, replicas());
    switch (what.op) {
    case SINTER_ALL_REDUCE:
      return api_.allReduce(from, to, read, *type, nccl::sum, comm_, stream);
    case SINTER_REDUCE_SCATTER:
      return api_.reduceScatter(from, to, what.writtenElements(i, replicas()),
                                *type, nccl::sum, comm_, stream);
    default:
      // Elements of a type that NCCL does not have are gathered as bytes.
      return type ? api_.allGather(from, to, read, *type, comm_, stream)
                  : api_.allGather(from, to, read * elementBytes(what.dtype),
                                   nccl::u8, comm_, stream);
    }
  }

  const nccl::Api &api_;
  nccl::Comm comm_;

  std::mutex mutex_; // guards what follows
  std::condition_variable changed_;
  bool isBroken_ = false, isAborted_ = false, isLeaving_ = false;
  bool isInCall_ = false;
  std::thread aborter_;
};

} // namespace

Status sinter::cuda::nameNcclGroup(const nccl::Api &api, uint8_t *group) {
  int version = 0;
  SINTER_RETURN_IF_ERROR(
      check(api, api.getVersion(&version), "querying the version"));
  if (version < oldestVersion)
    return {SINTER_DEVICE_FAILED,
            "NCCL has version " + std::to_string(version / 10000) + "." +
                std::to_string(version / 100 % 100) +
                ": install NCCL 2.9 or newer (NVIDIA's package libnccl2)"};
  nccl::UniqueId id;
  SINTER_RETURN_IF_ERROR(check(api, api.getUniqueId(&id), "naming a group"));
  std::memcpy(group, id.bytes, sizeof(id));
  return {};
}

Result<std::unique_ptr<Communicator>>
sinter::cuda::joinNcclGroup(const nccl::Api &api, const sinter_rank &rank) {
  if (rank.replicas == 0 || rank.rank >= rank.replicas)
    return Status::invalid("replica " + std::to_string(rank.rank) + " of " +
                           std::to_string(rank.replicas));
  nccl::UniqueId id;
  std::memcpy(id.bytes, rank.group, sizeof(id));
  nccl::Comm comm = nullptr;
  SINTER_RETURN_IF_ERROR(
      check(api,
            api.commInitRank(&comm, static_cast<int>(rank.replicas), id,
                             static_cast<int>(rank.rank)),
            "joining a group"));
  try {
    return std::unique_ptr<Communicator>(
        std::make_unique<NcclGroup>(api, comm, rank));
  } catch (const std::system_error &error) {
    (void)api.commAbort(comm);
    return Status::failed(std::string("cannot start a thread for NCCL: ") +
                          error.what());
  }
}
