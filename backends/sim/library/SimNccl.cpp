//===- SimNccl.cpp - NCCL's stand-in on simulated devices -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimNccl.h"
#include "backends/common/device/SpanningSum.h"
#include "backends/sim/library/SimMemory.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/Rendezvous.h"
#include "runtime/collective/SpanningGroup.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::cuda;
using rt::Status;

namespace {

MeetingStreams *theStreams = nullptr;

/// One array of a call.
struct Part {
  uint32_t op; // sinter_collective_op; the same in a group of calls
  const void *from;
  void *to;
  uint64_t fromCount, toCount;
  int type;

  uint64_t count() const { return std::max(fromCount, toCount); }
  bool agreesWith(const Part &other) const {
    return count() == other.count() && type == other.type;
  }
};
using Parts = std::vector<Part>;

struct TypeInfo {
  uint32_t dtype; // of sinter
  uint64_t bytes;
  const char *name;
};

const TypeInfo *typeInfo(int type) {
  static const TypeInfo infos[] = {
      {SINTER_I8, 1, "i8"},    {SINTER_U8, 1, "u8"},   {SINTER_I32, 4, "i32"},
      {SINTER_U32, 4, "u32"},  {SINTER_I64, 8, "i64"}, {SINTER_U64, 8, "u64"},
      {SINTER_F16, 2, "f16"},  {SINTER_F32, 4, "f32"}, {SINTER_F64, 8, "f64"},
      {SINTER_BF16, 2, "bf16"}};
  return type >= 0 && type < static_cast<int>(std::size(infos)) ? &infos[type]
                                                                : nullptr;
}

const char *opName(uint32_t op) {
  static const char *const names[] = {"all-reduce", "reduce-scatter",
                                      "all-gather"};
  return names[op];
}

/// What the communicators of this process share if there are other processes.
using Spanning = std::shared_ptr<plain::SpanningSum>;

/// One grouped call of all replicas of this process.
class NcclCall final : public SimMeeting {
public:
  NcclCall(uint32_t replicas, uint64_t number, Spanning spanning)
      : SimMeeting(replicas), parts(replicas), number_(number),
        spanning_(std::move(spanning)) {}

  std::vector<Parts> parts; // by local rank
  uint32_t numOpened = 0;

private:
  static std::string describe(const Parts &parts) {
    std::string text;
    for (const Part &part : parts)
      text += (text.empty() ? "" : ", ") + std::to_string(part.count()) + " " +
              typeInfo(part.type)->name;
    return text;
  }

  Status happen() override {
    const uint32_t op = parts[0][0].op;
    for (uint32_t r = 1; r < parts.size(); ++r) {
      if (parts[r][0].op != op)
        return {SINTER_DEVICE_FAILED,
                "NCCL: call " + std::to_string(number_) + " of replica 0 is " +
                    opName(op) + ", that of replica " + std::to_string(r) +
                    " is " + opName(parts[r][0].op)};
      if (!std::equal(parts[0].begin(), parts[0].end(), parts[r].begin(),
                      parts[r].end(), [](const Part &a, const Part &b) {
                        return a.agreesWith(b);
                      }))
        return {SINTER_DEVICE_FAILED,
                std::string("NCCL: ") + opName(op) + " " +
                    std::to_string(number_) + " of replica 0 has " +
                    describe(parts[0]) + ", that of replica " +
                    std::to_string(r) + " has " + describe(parts[r])};
    }
    if (spanning_)
      return runOverProcesses();
    for (size_t i = 0; i < parts[0].size(); ++i)
      run(i);
    return {};
  }

  /// Array `i`, if all replicas are in this process.
  void run(size_t i) {
    const Part &first = parts[0][i];
    const TypeInfo &type = *typeInfo(first.type);
    std::vector<const void *> from;
    std::vector<void *> to;
    for (const Parts &each : parts) {
      from.push_back(each[i].from);
      to.push_back(each[i].to);
    }
    switch (first.op) {
    case SINTER_ALL_REDUCE:
      plain::sumReplicas(type.dtype, from, to, 0, first.count());
      break;
    case SINTER_REDUCE_SCATTER:
      for (void *each : to) {
        plain::sumReplicas(type.dtype, from, {each}, 0, first.toCount);
        for (const void *&part : from) // that of the next replica
          part =
              static_cast<const uint8_t *>(part) + first.toCount * type.bytes;
      }
      break;
    default: {
      const uint64_t bytes = first.fromCount * type.bytes;
      for (void *each : to)
        for (size_t r = 0; r < from.size(); ++r)
          std::memcpy(static_cast<uint8_t *>(each) + r * bytes, from[r], bytes);
    }
    }
  }

  Status runOverProcesses() {
    const TypeInfo &type = *typeInfo(parts[0][0].type);
    std::vector<uint64_t> elements;
    for (const Part &part : parts[0]) {
      if (part.type != parts[0][0].type)
        return {SINTER_UNSUPPORTED,
                "NCCL's stand-in has one type at a time over processes"};
      elements.push_back(part.count());
    }
    std::vector<std::vector<void *>> addresses(parts.size());
    std::vector<void *const *> buffers;
    for (size_t r = 0; r < parts.size(); ++r) {
      for (const Part &part : parts[r])
        addresses[r].push_back(const_cast<void *>(part.from));
      for (const Part &part : parts[r])
        addresses[r].push_back(part.to);
      buffers.push_back(addresses[r].data());
    }
    spanning_->begin({parts[0][0].op, type.dtype, elements},
                     std::move(buffers));
    spanning_->stage(0, 1);
    SINTER_RETURN_IF_ERROR(spanning_->exchangeParts());
    spanning_->sum(0, 1);
    SINTER_RETURN_IF_ERROR(spanning_->exchangeResults());
    for (uint32_t r = 0; r < parts.size(); ++r)
      spanning_->deliver(r);
    return {};
  }

  const uint64_t number_;
  const Spanning spanning_; // null: all replicas are in this process
};

/// The state that the communicators of a group share, guarded by the streams'
/// lock.
struct Group {
  Spanning spanning;
  std::map<uint64_t, std::shared_ptr<NcclCall>> open; // by number
  Status left;                                        // why no call can succeed
};

} // namespace

struct cuda::nccl::CommState {
  std::shared_ptr<rt::Rendezvous> meeting;
  std::shared_ptr<Group> group;
  uint32_t rank = 0, replicas = 0; // of all processes
  uint32_t local = 0, locals = 0;  // of this process
  uint64_t numCalls = 0;           // opened so far
  /// Shared by the calls in recorded graphs; as many graphs use the
  /// communicator as there are other owners.
  std::shared_ptr<const char> graphs = std::make_shared<const char>();
};

namespace {

using Comm = nccl::Comm;

/// The next call of this replica, with its arrays.
std::shared_ptr<SimMeeting> openNext(Comm comm, const Parts &parts) {
  const uint64_t number = comm->numCalls++;
  std::shared_ptr<NcclCall> &known = comm->group->open[number];
  if (!known)
    known =
        std::make_shared<NcclCall>(comm->locals, number, comm->group->spanning);
  std::shared_ptr<NcclCall> call = known;
  call->parts[comm->local] = parts;
  if (!comm->group->left.ok())
    call->end(comm->group->left);
  if (++call->numOpened == comm->locals)
    comm->group->open.erase(number);
  return call;
}

void leave(Comm comm) {
  // Before the lock, which a call over processes holds.
  if (comm->group->spanning)
    comm->group->spanning->group().exchange->abort();
  theStreams->locked([&] {
    Group &group = *comm->group;
    if (group.left.ok())
      group.left = rt::leftGroup(comm->rank);
    for (auto &[number, call] : group.open)
      if (!call->streams[comm->local])
        call->end(group.left);
  });
  comm->meeting->leave(comm->local);
}

/// The calls between this thread's groupStart and groupEnd.
struct PendingGroup {
  int depth = 0;
  int error = nccl::success;
  Comm comm = nullptr;
  void *stream = nullptr;
  Parts parts;
};
thread_local PendingGroup pending;

const char *getErrorString(int status) {
  switch (status) {
  case nccl::success:
    return "no error";
  case nccl::invalidArgument:
    return "invalid argument";
  case nccl::invalidUsage:
    return "invalid usage";
  case nccl::remoteError:
    return "remote process exited or there was a network error";
  default:
    return "internal error";
  }
}

int getVersion(int *version) {
  *version = 22809;
  return nccl::success;
}

int getUniqueId(nccl::UniqueId *id) {
  rt::nameLocalGroup(reinterpret_cast<uint8_t *>(id->bytes));
  return nccl::success;
}

int commInitRank(Comm *comm, int replicas, nccl::UniqueId id, int rank) {
  if (!comm || replicas < 1 || rank < 0 || rank >= replicas || !theStreams)
    return nccl::invalidArgument;
  sinter_rank whole, local;
  std::memcpy(whole.group, id.bytes, sizeof(whole.group));
  whole.rank = static_cast<uint32_t>(rank);
  whole.replicas = static_cast<uint32_t>(replicas);
  const std::optional<rt::SpanningGroup> spanning =
      rt::spanningGroup(whole.group);
  local = spanning ? spanning->localRank(whole) : whole;
  auto meeting = rt::Rendezvous::join(local);
  if (!meeting.ok())
    return nccl::invalidUsage;
  auto *state = new nccl::CommState;
  state->meeting = std::move(*meeting);
  state->rank = whole.rank;
  state->replicas = whole.replicas;
  state->local = local.rank;
  state->locals = local.replicas;
  // All replicas of a process use the first one's group.
  auto group = std::make_shared<Group>();
  if (spanning && local.rank == 0)
    group->spanning = std::make_shared<plain::SpanningSum>(*spanning);
  auto failed = [&](const Status &met) {
    delete state;
    return met.isAboutOthers() ? nccl::remoteError : nccl::systemError;
  };
  if (Status met = state->meeting->meet(local.rank, &group); !met.ok())
    return failed(met);
  state->group =
      *static_cast<const std::shared_ptr<Group> *>(state->meeting->shownBy(0));
  if (Status met = state->meeting->meet(local.rank, &group); !met.ok())
    return failed(met);
  if (local.rank == 0)
    rt::forgetSpanningGroup(whole.group);
  *comm = state;
  return nccl::success;
}

/// Whether a recorded graph refers to the communicator.
bool isInGraph(Comm comm) {
  bool isUsed = false;
  theStreams->locked([&] { isUsed = comm->graphs.use_count() > 1; });
  return isUsed;
}

int commDestroy(Comm comm) {
  if (!comm)
    return nccl::invalidArgument;
  // NCCL waits until the graphs are destroyed, which the caller would do. A
  // test that hangs does not tell why.
  if (isInGraph(comm)) {
    std::fprintf(stderr, "NCCL would wait forever: a recorded graph uses the "
                         "communicator that is destroyed\n");
    std::abort();
  }
  leave(comm);
  delete comm;
  return nccl::success;
}

/// The communicator stays in memory, because another thread may be using it.
int commAbort(Comm comm) {
  if (!comm)
    return nccl::invalidArgument;
  leave(comm);
  while (isInGraph(comm)) // as NCCL does
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return nccl::success;
}

int commGetAsyncError(Comm comm, int *status) {
  if (!comm || !status)
    return nccl::invalidArgument;
  *status = nccl::success;
  return nccl::success;
}

int groupStart() {
  if (pending.depth == 0)
    pending = {};
  ++pending.depth;
  return nccl::success;
}

int groupEnd() {
  if (pending.depth == 0)
    return nccl::invalidUsage;
  if (--pending.depth > 0)
    return nccl::success;
  PendingGroup group = std::move(pending);
  pending = {};
  if (group.error != nccl::success || group.parts.empty())
    return group.error;
  Comm comm = group.comm;
  Status queued =
      theStreams->queue(group.stream, comm->local,
                        [comm, parts = std::move(group.parts),
                         use = comm->graphs] { return openNext(comm, parts); });
  return queued.ok() ? nccl::success : nccl::unhandledCudaError;
}

/// Only an all-reduce may be in place here.
bool overlap(const Part &part, uint64_t fromBytes, uint64_t toBytes) {
  auto from = reinterpret_cast<uint64_t>(part.from),
       to = reinterpret_cast<uint64_t>(part.to);
  return (from != to || part.op != SINTER_ALL_REDUCE) && from < to + toBytes &&
         to < from + fromBytes;
}

int checkPart(const Part &part, int op, Comm comm, void *stream) {
  const TypeInfo *type = typeInfo(part.type);
  if (!comm || !stream || !type || op != nccl::sum || !part.from || !part.to)
    return nccl::invalidArgument;
  const uint64_t fromBytes = part.fromCount * type->bytes,
                 toBytes = part.toCount * type->bytes;
  if (reinterpret_cast<uint64_t>(part.from) % type->bytes ||
      reinterpret_cast<uint64_t>(part.to) % type->bytes ||
      !isLibraryMemory(part.from, fromBytes) ||
      !isLibraryMemory(part.to, toBytes) || overlap(part, fromBytes, toBytes))
    return nccl::invalidArgument;
  // NCCL allows more, but we do not need it.
  if (pending.comm && (pending.comm != comm || pending.stream != stream ||
                       pending.parts[0].op != part.op))
    return nccl::invalidUsage;
  return nccl::success;
}

int add(const Part &part, int op, Comm comm, void *stream) {
  groupStart();
  if (int error = checkPart(part, op, comm, stream)) {
    pending.error = error;
  } else {
    pending.comm = comm;
    pending.stream = stream;
    pending.parts.push_back(part);
  }
  int error = pending.error;
  int ended = groupEnd();
  return error ? error : ended;
}

int allReduce(const void *from, void *to, size_t count, int type, int op,
              Comm comm, void *stream) {
  return add({SINTER_ALL_REDUCE, from, to, count, count, type}, op, comm,
             stream);
}

int reduceScatter(const void *from, void *to, size_t toCount, int type, int op,
                  Comm comm, void *stream) {
  const size_t fromCount = comm ? toCount * comm->replicas : 0;
  return add({SINTER_REDUCE_SCATTER, from, to, fromCount, toCount, type}, op,
             comm, stream);
}

int allGather(const void *from, void *to, size_t fromCount, int type, Comm comm,
              void *stream) {
  const size_t toCount = comm ? fromCount * comm->replicas : 0;
  return add({SINTER_ALL_GATHER, from, to, fromCount, toCount, type}, nccl::sum,
             comm, stream);
}

} // namespace

const nccl::Api &sinter::sim::ncclApi() {
  static const nccl::Api api = {getErrorString,    getVersion,    getUniqueId,
                                commInitRank,      commDestroy,   commAbort,
                                commGetAsyncError, groupStart,    groupEnd,
                                allReduce,         reduceScatter, allGather};
  return api;
}

void sinter::sim::setMeetingStreams(MeetingStreams *streams) {
  theStreams = streams;
}
