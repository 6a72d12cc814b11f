//===- NcclGroupTest.cpp - replicas over a table of checking functions ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The stand-in below checks what NCCL requires of its callers: paired begins
// and ends of groups, valid communicators, counts in elements, the given
// stream. It computes nothing.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/NcclGroup.h"
#include "runtime/device/Stream.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace sinter;
using namespace sinter::cuda;

namespace {

struct Call {
  uint32_t what; // sinter_collective_op
  const void *from;
  void *to;
  size_t count;
  int type, op;
  void *stream;
};

/// What the functions were called with, and what they return.
struct Checker {
  int version = 22809;
  int depth = 0, groups = 0;
  std::vector<Call> calls;
  std::set<nccl::Comm> live;
  int destroyed = 0, aborted = 0;
  int failCall = -1; // number of the call that fails
  int asyncError = nccl::success;
  int initRank = -1, initReplicas = 0;
  std::string misuse;
} checker;

/// Recorded graphs that use the communicator.
std::atomic<int> graphs = 0;

void misuse(const char *what) {
  if (checker.misuse.empty())
    checker.misuse = what;
}

nccl::Comm asComm(size_t number) {
  return reinterpret_cast<nccl::Comm>(number);
}

int queue(const Call &call, nccl::Comm comm) {
  if (checker.depth != 1)
    misuse("a call outside of a group");
  if (!checker.live.contains(comm))
    misuse("calls a communicator that is not alive");
  if (checker.failCall == static_cast<int>(checker.calls.size()))
    return nccl::unhandledCudaError;
  checker.calls.push_back(call);
  return nccl::success;
}

const nccl::Api api = {
    [](int status) {
      return status == nccl::unhandledCudaError ? "unhandled cuda error"
                                                : "some error";
    },
    [](int *version) {
      *version = checker.version;
      return int(nccl::success);
    },
    [](nccl::UniqueId *id) {
      std::memset(id->bytes, 'g', sizeof(id->bytes));
      return int(nccl::success);
    },
    [](nccl::Comm *comm, int replicas, nccl::UniqueId id, int rank) {
      if (id.bytes[0] != 'g' || id.bytes[127] != 'g')
        misuse("another group's name");
      checker.initRank = rank;
      checker.initReplicas = replicas;
      *comm = asComm(16);
      checker.live.insert(*comm);
      return int(nccl::success);
    },
    [](nccl::Comm comm) {
      if (!checker.live.erase(comm))
        misuse("destroys what is not alive");
      if (graphs)
        misuse("destroys what a graph uses");
      ++checker.destroyed;
      return int(nccl::success);
    },
    [](nccl::Comm comm) {
      if (!checker.live.erase(comm))
        misuse("aborts what is not alive");
      while (graphs) // as NCCL does
        std::this_thread::yield();
      ++checker.aborted;
      return int(nccl::success);
    },
    [](nccl::Comm comm, int *status) {
      if (!checker.live.contains(comm))
        misuse("asks a communicator that is not alive");
      *status = checker.asyncError;
      return int(nccl::success);
    },
    [] {
      ++checker.depth;
      return int(nccl::success);
    },
    [] {
      if (checker.depth-- == 0)
        misuse("ends a group that was not begun");
      ++checker.groups;
      return int(nccl::success);
    },
    [](const void *from, void *to, size_t count, int type, int op,
       nccl::Comm comm, void *stream) {
      return queue({SINTER_ALL_REDUCE, from, to, count, type, op, stream},
                   comm);
    },
    [](const void *from, void *to, size_t count, int type, int op,
       nccl::Comm comm, void *stream) {
      return queue({SINTER_REDUCE_SCATTER, from, to, count, type, op, stream},
                   comm);
    },
    [](const void *from, void *to, size_t count, int type, nccl::Comm comm,
       void *stream) {
      return queue(
          {SINTER_ALL_GATHER, from, to, count, type, nccl::sum, stream}, comm);
    }};

rt::Collective sumOf(std::span<const uint64_t> elements) {
  return {SINTER_ALL_REDUCE, SINTER_F32, elements};
}

class NamedStream final : public rt::Stream {
public:
  void *native() const override { return reinterpret_cast<void *>(0x50); }
};

std::unique_ptr<rt::Communicator> join(uint32_t rank = 1) {
  checker = Checker();
  sinter_rank mine;
  REQUIRE(nameNcclGroup(api, mine.group).ok());
  mine.rank = rank;
  mine.replicas = 4;
  auto group = joinNcclGroup(api, mine);
  REQUIRE(group.ok());
  return std::move(*group);
}

} // namespace

TEST_CASE("a message is one group of calls on the stream", "[nccl]") {
  auto group = join();
  CHECK(group->rank() == 1);
  CHECK(group->replicas() == 4);
  CHECK(checker.initRank == 1);
  CHECK(checker.initReplicas == 4);
  float a[8], b[3], c[8];
  void *buffers[] = {a, b, nullptr, c, b, nullptr};
  const uint64_t elements[] = {8, 3, 0}; // nothing is sent for the last
  NamedStream stream;
  for (auto [dtype, type] : {std::pair<uint32_t, int>{SINTER_F32, nccl::f32},
                             {SINTER_BF16, nccl::bf16},
                             {SINTER_F16, nccl::f16},
                             {SINTER_F64, nccl::f64},
                             {SINTER_I64, nccl::i64},
                             {SINTER_I32, nccl::i32},
                             {SINTER_U8, nccl::u8}}) {
    checker.calls.clear();
    checker.groups = 0;
    REQUIRE(
        group->run(stream, {SINTER_ALL_REDUCE, dtype, elements}, buffers).ok());
    CHECK(checker.groups == 1);
    REQUIRE(checker.calls.size() == 2);
    CHECK(checker.calls[0].from == a);
    CHECK(checker.calls[0].to == c);
    CHECK(checker.calls[0].count == 8);
    CHECK(checker.calls[1].from == b);
    CHECK(checker.calls[1].to == b);
    CHECK(checker.calls[1].count == 3);
    for (const Call &call : checker.calls) {
      CHECK(call.what == SINTER_ALL_REDUCE);
      CHECK(call.type == type);
      CHECK(call.op == nccl::sum);
      CHECK(call.stream == stream.native());
    }
  }
  for (uint32_t op : {SINTER_ALL_REDUCE, SINTER_REDUCE_SCATTER})
    CHECK(group->run(stream, {op, SINTER_BOOL, elements}, buffers).code() ==
          SINTER_UNSUPPORTED);
  group.reset();
  CHECK(checker.destroyed == 1);
  CHECK(checker.aborted == 0);
  CHECK(checker.live.empty());
  CHECK(checker.misuse == "");
}

TEST_CASE("NCCL counts the elements of one replica's part", "[nccl]") {
  auto group = join(); // of 4
  int64_t a[8], b[12], c[2], d[3];
  const uint64_t elements[] = {8, 12, 0};
  NamedStream stream;
  void *scattered[] = {a, b, nullptr, c, d, nullptr},
       *gathered[] = {c, d, nullptr, a, b, nullptr};
  for (uint32_t op : {SINTER_REDUCE_SCATTER, SINTER_ALL_GATHER}) {
    checker.calls.clear();
    checker.groups = 0;
    void **buffers = op == SINTER_ALL_GATHER ? gathered : scattered;
    REQUIRE(group->run(stream, {op, SINTER_I64, elements}, buffers).ok());
    CHECK(checker.groups == 1);
    REQUIRE(checker.calls.size() == 2);
    for (size_t i = 0; i < 2; ++i) {
      const Call &call = checker.calls[i];
      CHECK(call.what == op);
      CHECK(call.from == buffers[i]);
      CHECK(call.to == buffers[3 + i]);
      CHECK(call.count == elements[i] / 4);
      CHECK(call.type == nccl::i64);
      CHECK(call.op == nccl::sum);
      CHECK(call.stream == stream.native());
    }
  }
  CHECK(checker.misuse == "");
}

TEST_CASE("NCCL gathers bytes where it has no type", "[nccl]") {
  auto group = join(); // of 4
  uint8_t part[32], whole[128];
  void *buffers[] = {part, whole};
  const uint64_t elements[] = {16};
  NamedStream stream;
  for (auto [dtype, type, count] :
       {std::tuple<uint32_t, int, size_t>{SINTER_BOOL, nccl::u8, 4},
        {SINTER_U16, nccl::u8, 8},
        {SINTER_I16, nccl::u8, 8},
        {SINTER_BF16, nccl::bf16, 4}}) {
    CAPTURE(dtype);
    checker.calls.clear();
    REQUIRE(
        group->run(stream, {SINTER_ALL_GATHER, dtype, elements}, buffers).ok());
    REQUIRE(checker.calls.size() == 1);
    CHECK(checker.calls[0].type == type);
    CHECK(checker.calls[0].count == count);
  }
  CHECK(checker.misuse == "");
}

TEST_CASE("a failed call ends its group and aborts", "[nccl]") {
  auto group = join();
  float a[8];
  void *buffers[] = {a, a, a, a};
  const uint64_t elements[] = {8, 8};
  NamedStream stream;
  checker.failCall = 1;
  rt::Status status = group->run(stream, sumOf(elements), buffers);
  CHECK(status.code() == SINTER_DEVICE_FAILED);
  CHECK(status.message() ==
        "NCCL: queueing an all-reduce: unhandled cuda error (1)");
  CHECK_FALSE(status.isAboutOthers());
  CHECK(checker.depth == 0);
  checker.failCall = 1; // one call was queued
  for (auto [op, text] :
       {std::pair<uint32_t, const char *>{
            SINTER_REDUCE_SCATTER,
            "NCCL: queueing a reduce-scatter: unhandled cuda error (1)"},
        {SINTER_ALL_GATHER,
         "NCCL: queueing an all-gather: unhandled cuda error (1)"}})
    CHECK(group->run(stream, {op, SINTER_F32, elements}, buffers).message() ==
          text);
  CHECK(checker.depth == 0);
  group.reset();
  CHECK(checker.aborted == 1);
  CHECK(checker.destroyed == 0);
  CHECK(checker.misuse == "");
}

TEST_CASE("aborting does not wait for the graphs", "[nccl]") {
  auto group = join();
  graphs = 1;
  group->abort();
  group->abort(); // as for each replica that fails
  float a[8];
  void *buffers[] = {a, a};
  const uint64_t elements[] = {8};
  NamedStream stream;
  const rt::Status left = group->run(stream, sumOf(elements), buffers);
  CHECK(left.message() == "replica 1 has left its group");
  CHECK(left.isAboutOthers());
  graphs = 0; // the program destroys them before it leaves the group
  group.reset();
  CHECK(checker.aborted == 1);
  CHECK(checker.destroyed == 0);
  CHECK(checker.calls.empty());
  CHECK(checker.misuse == "");
}

TEST_CASE("errors of calls under way come with the next one", "[nccl]") {
  auto group = join();
  float a[8];
  void *buffers[] = {a, a};
  const uint64_t elements[] = {8};
  NamedStream stream;
  checker.asyncError = nccl::inProgress;
  CHECK(group->run(stream, sumOf(elements), buffers).ok());
  checker.asyncError = nccl::remoteError;
  rt::Status status = group->run(stream, sumOf(elements), buffers);
  CHECK(status.message() == "NCCL: an earlier collective: some error (6)");
  CHECK(status.isAboutOthers());
  CHECK(checker.calls.size() == 1);
  group.reset();
  CHECK(checker.misuse == "");
}

TEST_CASE("what cannot be joined is one line", "[nccl]") {
  checker = Checker();
  sinter_rank rank = {};
  checker.version = 20804;
  rt::Status old = nameNcclGroup(api, rank.group);
  CHECK(old.message() == "NCCL has version 2.8: install NCCL 2.9 or newer "
                         "(NVIDIA's package libnccl2)");
  rank.rank = 2;
  rank.replicas = 2;
  CHECK(joinNcclGroup(api, rank).status().code() == SINTER_INVALID);
  CHECK(checker.initRank == -1);
}
