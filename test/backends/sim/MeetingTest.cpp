//===- MeetingTest.cpp - all-reduces of simulated devices -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/NcclGroup.h"
#include "backends/sim/device/SimDevice.h"
#include "backends/sim/library/SimNccl.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <functional>
#include <numeric>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::sim;
using rt::Result;
using rt::Status;

namespace {

/// One replica on a device of its own.
struct Replica {
  std::unique_ptr<rt::Device> device;
  std::unique_ptr<rt::Stream> stream, side;
  std::unique_ptr<rt::Event> ready, done;
  std::unique_ptr<rt::Communicator> group;
  float *from = nullptr, *to = nullptr;
  void *buffers[2] = {};

  Status send(std::span<const uint64_t> elements, uint32_t dtype = SINTER_F32) {
    return group->allReduce(*side, {dtype, elements}, buffers);
  }
};

constexpr uint64_t count = 100;

/// Runs `body` for each of `replicas`, on threads of their own.
std::vector<Status>
onReplicas(uint32_t replicas, uint64_t seed,
           const std::function<Status(Replica &, uint32_t)> &body) {
  sinter_rank group = {};
  group.replicas = replicas;
  REQUIRE(cuda::nameNcclGroup(ncclApi(), group.group).ok());
  std::vector<Status> results(replicas);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < replicas; ++rank)
    threads.emplace_back([&, rank] {
      SimSettings settings;
      settings.seed = seed;
      settings.threads = 1;
      Replica replica;
      auto run = [&]() -> Status {
        Result<std::unique_ptr<rt::Device>> device =
            createSimDevice(static_cast<int>(rank), settings);
        if (!device.ok())
          return device.status();
        replica.device = std::move(*device);
        replica.stream = std::move(*replica.device->createStream());
        replica.side = std::move(*replica.device->createStream());
        replica.ready =
            std::move(*replica.device->createEvent(rt::EventUse::Order));
        replica.done =
            std::move(*replica.device->createEvent(rt::EventUse::Order));
        for (float **array : {&replica.from, &replica.to}) {
          Result<void *> memory =
              replica.device->allocate(count * sizeof(float), "a test");
          if (!memory.ok())
            return memory.status();
          *array = static_cast<float *>(*memory);
        }
        replica.buffers[0] = replica.from;
        replica.buffers[1] = replica.to;
        sinter_rank mine = group;
        mine.rank = rank;
        auto joined = replica.device->joinGroup(mine);
        if (!joined.ok())
          return joined.status();
        replica.group = std::move(*joined);
        return body(replica, rank);
      };
      results[rank] = run();
      if (!results[rank].ok() && replica.group)
        replica.group->abort();
      replica.group.reset();
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

/// Uploads, sums on another stream, waits, downloads.
Status sumOnce(Replica &replica, uint32_t rank, std::vector<float> &result,
               bool waits) {
  rt::Device &device = *replica.device;
  std::vector<float> mine(count);
  for (uint64_t i = 0; i < count; ++i)
    mine[i] = 1.0f / static_cast<float>(i + 1 + 7 * rank);
  result.assign(count, 0);
  const uint64_t elements[] = {count};
  SINTER_RETURN_IF_ERROR(device.upload(*replica.stream, replica.from,
                                       mine.data(), count * sizeof(float)));
  SINTER_RETURN_IF_ERROR(device.record(*replica.ready, *replica.stream));
  SINTER_RETURN_IF_ERROR(device.wait(*replica.side, *replica.ready));
  SINTER_RETURN_IF_ERROR(replica.send(elements));
  SINTER_RETURN_IF_ERROR(device.record(*replica.done, *replica.side));
  if (waits)
    SINTER_RETURN_IF_ERROR(device.wait(*replica.stream, *replica.done));
  SINTER_RETURN_IF_ERROR(device.download(*replica.stream, result.data(),
                                         replica.to, count * sizeof(float)));
  SINTER_RETURN_IF_ERROR(device.synchronize(*replica.stream));
  return device.synchronize();
}

std::vector<float> expected(uint32_t replicas) {
  std::vector<float> sums(count);
  for (uint64_t i = 0; i < count; ++i) {
    auto value = [&](uint32_t rank) {
      return 1.0f / static_cast<float>(i + 1 + 7 * rank);
    };
    sums[i] =
        replicas == 2 ? value(0) + value(1) : (value(0) + value(1)) + value(2);
  }
  return sums;
}

} // namespace

TEST_CASE("replicas get one sum, whatever the schedule", "[meeting]") {
  for (uint32_t replicas : {2u, 3u})
    for (uint64_t seed = 0; seed < 8; ++seed) {
      std::vector<std::vector<float>> sums(replicas);
      auto results =
          onReplicas(replicas, seed, [&](Replica &replica, uint32_t rank) {
            Status status;
            for (int i = 0; i < 3 && status.ok(); ++i)
              status = sumOnce(replica, rank, sums[rank], /*waits=*/true);
            return status;
          });
      CAPTURE(replicas, seed);
      for (uint32_t rank = 0; rank < replicas; ++rank) {
        CHECK(results[rank].message() == "");
        CHECK(sums[rank] == expected(replicas));
      }
    }
}

TEST_CASE("a wait that is missing shows for some schedule", "[meeting]") {
  bool shows = false;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<std::vector<float>> sums(2);
    onReplicas(2, seed, [&](Replica &replica, uint32_t rank) {
      return sumOnce(replica, rank, sums[rank], /*waits=*/false);
    });
    shows |= sums[0] != expected(2) || sums[1] != expected(2);
  }
  CHECK(shows);
}

TEST_CASE("recorded sums are summed at each start", "[meeting]") {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<std::vector<float>> sums(2, std::vector<float>(count));
    auto results =
        onReplicas(2, seed, [&](Replica &replica, uint32_t rank) -> Status {
          rt::Device &device = *replica.device;
          const uint64_t elements[] = {count};
          std::vector<float> mine(count, float(rank + 1));
          SINTER_RETURN_IF_ERROR(device.upload(*replica.stream, replica.from,
                                               mine.data(),
                                               count * sizeof(float)));
          SINTER_RETURN_IF_ERROR(device.synchronize());
          SINTER_RETURN_IF_ERROR(device.beginCapture(*replica.stream));
          SINTER_RETURN_IF_ERROR(
              device.record(*replica.ready, *replica.stream));
          SINTER_RETURN_IF_ERROR(device.wait(*replica.side, *replica.ready));
          SINTER_RETURN_IF_ERROR(replica.send(elements));
          SINTER_RETURN_IF_ERROR(device.record(*replica.done, *replica.side));
          SINTER_RETURN_IF_ERROR(device.wait(*replica.stream, *replica.done));
          SINTER_RETURN_IF_ERROR(device.copy(*replica.stream, replica.from,
                                             replica.to,
                                             count * sizeof(float)));
          auto graph = device.endCapture(*replica.stream);
          if (!graph.ok())
            return graph.status();
          for (int i = 0; i < 3; ++i) // 3, 6, 12
            SINTER_RETURN_IF_ERROR(device.start(*replica.stream, **graph));
          SINTER_RETURN_IF_ERROR(device.download(*replica.stream,
                                                 sums[rank].data(), replica.to,
                                                 count * sizeof(float)));
          return device.synchronize(*replica.stream);
        });
    CAPTURE(seed);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      CHECK(results[rank].message() == "");
      CHECK(sums[rank] == std::vector<float>(count, 12));
    }
  }
}

TEST_CASE("a recorded sum that nobody waits for is an error", "[meeting]") {
  auto results = onReplicas(1, 0, [&](Replica &replica, uint32_t) -> Status {
    rt::Device &device = *replica.device;
    const uint64_t elements[] = {count};
    SINTER_RETURN_IF_ERROR(device.beginCapture(*replica.stream));
    SINTER_RETURN_IF_ERROR(device.record(*replica.ready, *replica.stream));
    SINTER_RETURN_IF_ERROR(device.wait(*replica.side, *replica.ready));
    SINTER_RETURN_IF_ERROR(replica.send(elements));
    return device.endCapture(*replica.stream).status();
  });
  CHECK(results[0].message() == "a graph has work on another stream that the "
                                "stream of the capture never waits for");
}

/// What a process says that leaves its group with or without a graph that uses
/// it, and whether it ended by SIGABRT.
std::pair<std::string, bool> leaveGroup(bool dropsGraph) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);                // in case a lock was held
    signal(SIGABRT, SIG_DFL); // not Catch's report
    dup2(ends[1], STDERR_FILENO);
    std::unique_ptr<rt::Graph> graph;
    auto results = onReplicas(1, 0, [&](Replica &replica, uint32_t) -> Status {
      rt::Device &device = *replica.device;
      const uint64_t elements[] = {count};
      SINTER_RETURN_IF_ERROR(device.beginCapture(*replica.side));
      SINTER_RETURN_IF_ERROR(replica.send(elements));
      auto recorded = device.endCapture(*replica.side);
      if (!recorded.ok())
        return recorded.status();
      graph = std::move(*recorded);
      if (dropsGraph)
        graph.reset();
      return {};
    });
    std::_Exit(results[0].ok() ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char part[256];
  for (ssize_t n; (n = read(ends[0], part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
  return {text, WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT};
}

TEST_CASE("a group is left after its graphs are destroyed", "[meeting]") {
  auto [silence, isAborted] = leaveGroup(true);
  CHECK(silence == "");
  CHECK(!isAborted);
  auto [text, wrongIsAborted] = leaveGroup(false);
  CHECK(text == "NCCL would wait forever: a recorded graph uses the "
                "communicator that is destroyed\n");
  CHECK(wrongIsAborted);
}

TEST_CASE("replicas whose sums differ are told", "[meeting]") {
  auto different = [&](auto elementsOf, auto dtypeOf) {
    return onReplicas(2, 1, [&](Replica &replica, uint32_t rank) -> Status {
      const uint64_t elements[] = {elementsOf(rank)};
      SINTER_RETURN_IF_ERROR(replica.send(elements, dtypeOf(rank)));
      return replica.device->synchronize();
    });
  };
  auto f32 = [](uint32_t) { return uint32_t(SINTER_F32); };
  auto counts =
      different([](uint32_t rank) { return uint64_t(10 + rank); }, f32);
  for (const Status &status : counts)
    CHECK(status.message() == "NCCL: all-reduce 0 of replica 0 has 10 f32, "
                              "that of replica 1 has 11 f32");
  auto types = different(
      [](uint32_t) { return uint64_t(10); },
      [](uint32_t rank) { return uint32_t(rank ? SINTER_I32 : SINTER_F32); });
  for (const Status &status : types)
    CHECK(status.message() == "NCCL: all-reduce 0 of replica 0 has 10 f32, "
                              "that of replica 1 has 10 i32");
}

TEST_CASE("a replica that leaves frees the others", "[meeting]") {
  auto results =
      onReplicas(2, 3, [&](Replica &replica, uint32_t rank) -> Status {
        if (rank == 1)
          return {};
        const uint64_t elements[] = {count};
        SINTER_RETURN_IF_ERROR(replica.send(elements));
        return replica.device->synchronize();
      });
  CHECK(results[0].message() == "replica 1 has left its group");
}

TEST_CASE("operands beyond the device's memory are refused", "[meeting]") {
  auto results = onReplicas(1, 0, [&](Replica &replica, uint32_t) -> Status {
    float onTheStack[4];
    void *outside[] = {onTheStack, replica.to};
    const uint64_t elements[] = {4};
    return replica.group->allReduce(*replica.side, {SINTER_F32, elements},
                                    outside);
  });
  CHECK(results[0].message() ==
        "NCCL: queueing an all-reduce: invalid argument (4)");
  results = onReplicas(1, 0, [&](Replica &replica, uint32_t) -> Status {
    void *overlapping[] = {replica.from, replica.from + 1};
    const uint64_t elements[] = {4};
    return replica.group->allReduce(*replica.side, {SINTER_F32, elements},
                                    overlapping);
  });
  CHECK(results[0].code() == SINTER_DEVICE_FAILED);
}
