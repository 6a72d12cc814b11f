//===- MeetingTest.cpp - collectives of simulated devices -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/NcclGroup.h"
#include "backends/sim/device/SimDevice.h"
#include "backends/sim/library/SimNccl.h"
#include "runtime/collective/SpanningGroup.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <functional>
#include <numeric>
#include <thread>

#include <sys/socket.h>
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

  Status send(std::span<const uint64_t> elements, uint32_t dtype = SINTER_F32,
              uint32_t op = SINTER_ALL_REDUCE) {
    return group->run(*side, {op, dtype, elements}, buffers);
  }
};

constexpr uint64_t count = 100;

using Body = std::function<Status(Replica &, uint32_t rank)>;

/// Runs `body` for the replicas of `group` from `first` on, on threads of their
/// own.
std::vector<Status> onReplicas(const sinter_rank &group, uint32_t first,
                               uint32_t replicas, uint64_t seed,
                               const Body &body) {
  std::vector<Status> results(replicas);
  std::vector<std::thread> threads;
  for (uint32_t local = 0; local < replicas; ++local)
    threads.emplace_back([&, local] {
      const uint32_t rank = first + local;
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
      results[local] = run();
      if (!results[local].ok() && replica.group)
        replica.group->abort();
      replica.group.reset();
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

/// All of them are in this process.
std::vector<Status> onReplicas(uint32_t replicas, uint64_t seed,
                               const Body &body) {
  sinter_rank group = {};
  group.replicas = replicas;
  REQUIRE(cuda::nameNcclGroup(ncclApi(), group.group).ok());
  return onReplicas(group, 0, replicas, seed, body);
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

/// A body that does the operation once and compares: replicas have parts of one
/// array. Memory that is not to be written must stay as it is.
Body checksParts(uint32_t op, uint32_t replicas) {
  return [=](Replica &replica, uint32_t rank) -> Status {
    const uint64_t part = count / replicas, whole = part * replicas;
    auto value = [](uint64_t i, uint32_t rank) {
      return 1.0f / static_cast<float>(i + 1 + 7 * rank);
    };
    std::vector<float> mine(count), got(count), expected(count, -1);
    for (uint64_t i = 0; i < count; ++i)
      mine[i] = value(i, rank);
    rt::Device &device = *replica.device;
    rt::Stream &stream = *replica.side;
    SINTER_RETURN_IF_ERROR(device.upload(stream, replica.from, mine.data(),
                                         count * sizeof(float)));
    SINTER_RETURN_IF_ERROR(device.upload(stream, replica.to, expected.data(),
                                         count * sizeof(float)));
    // Uploads may take their bytes as late as this.
    SINTER_RETURN_IF_ERROR(device.synchronize());
    const uint64_t elements[] = {whole};
    SINTER_RETURN_IF_ERROR(replica.send(elements, SINTER_F32, op));
    SINTER_RETURN_IF_ERROR(
        device.download(stream, got.data(), replica.to, count * sizeof(float)));
    SINTER_RETURN_IF_ERROR(device.synchronize());
    if (op == SINTER_ALL_GATHER)
      for (uint64_t i = 0; i < whole; ++i)
        expected[i] = value(i % part, static_cast<uint32_t>(i / part));
    else
      for (uint64_t i = 0; i < part; ++i) {
        auto of = [&](uint32_t r) { return value(rank * part + i, r); };
        expected[i] = of(0) + of(1);
        if (replicas > 2)
          expected[i] += replicas == 3 ? of(2) : of(2) + of(3);
      }
    return got == expected ? Status() : Status::failed("other values");
  };
}

/// What is written to a pipe until it is closed. Closes this end.
std::string readAll(int end) {
  std::string text;
  char part[256];
  for (ssize_t n; (n = read(end, part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(n));
  close(end);
  return text;
}

/// Connects two processes by a socket; what is sent fits its buffer.
class SocketExchange final : public rt::Exchange {
public:
  SocketExchange(int socket, uint32_t other) : socket_(socket), other_(other) {}
  Status exchange(std::span<const rt::Pieces> from,
                  std::span<const rt::Pieces> to) override {
    for (std::span<uint8_t> piece : from[other_])
      if (write(socket_, piece.data(), piece.size()) !=
          static_cast<ssize_t>(piece.size()))
        return Status::failed("cannot write");
    for (std::span<uint8_t> rest : to[other_])
      while (!rest.empty()) {
        const ssize_t n = read(socket_, rest.data(), rest.size());
        if (n <= 0)
          return Status::failed("cannot read");
        rest = rest.subspan(static_cast<size_t>(n));
      }
    return {};
  }
  bool takesPieces() const override { return true; }
  std::string transport() const override { return "sockets"; }
  void abort() override {}

private:
  int socket_;
  uint32_t other_;
};

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

TEST_CASE("replicas get parts of the sum, or all parts", "[meeting]") {
  for (uint32_t replicas : {2u, 3u, 4u})
    for (uint32_t op : {SINTER_REDUCE_SCATTER, SINTER_ALL_GATHER})
      for (uint64_t seed = 0; seed < 4; ++seed) {
        CAPTURE(replicas, op, seed);
        for (const Status &status :
             onReplicas(replicas, seed, checksParts(op, replicas)))
          CHECK(status.message() == "");
      }
}

/// Unused as soon as this returns.
static uint16_t freePort() {
  Result<rt::Listener> listener = rt::Listener::open("127.0.0.1", 0);
  REQUIRE(listener.ok());
  return listener->port();
}

/// Two processes with two replicas each; the errors that they have seen.
static std::string onTwoProcesses(const Body &body) {
  int ends[2], errors[2];
  REQUIRE(pipe(errors) == 0);
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  rt::Ranks ranks;
  ranks.world = 2;
  ranks.leaderHost = "127.0.0.1";
  ranks.leaderPort = freePort();
  auto process = [&]() -> Status {
    auto meeting = rt::Meeting::join(ranks, {});
    SINTER_RETURN_IF_ERROR(meeting.status());
    sinter_rank group = {};
    group.replicas = 4;
    SINTER_RETURN_IF_ERROR(rt::nameGroupOfThreads(
        {meeting->get(), 2 * ranks.rank, 2},
        [&](rt::Meeting &) {
          return Result<std::unique_ptr<rt::Exchange>>(
              std::make_unique<SocketExchange>(ends[ranks.rank],
                                               1 - ranks.rank));
        },
        group.group));
    for (const Status &status : onReplicas(group, 2 * ranks.rank, 2, 1, body))
      SINTER_RETURN_IF_ERROR(status);
    return {};
  };
  pid_t children[2];
  for (uint32_t p = 0; p < 2; ++p) {
    children[p] = fork();
    REQUIRE(children[p] >= 0);
    if (children[p] == 0) {
      alarm(60); // in case the other one is lost
      close(ends[1 - p]);
      ranks.rank = p;
      const Status status = process();
      const std::string &text = status.message();
      std::_Exit(write(errors[1], text.data(), text.size()) ==
                         static_cast<ssize_t>(text.size())
                     ? 0
                     : 1);
    }
  }
  for (int end : {ends[0], ends[1], errors[1]})
    close(end);
  const std::string text = readAll(errors[0]);
  for (pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  return text;
}

TEST_CASE("processes get parts of the sum, or all parts", "[meeting]") {
  for (uint32_t op : {SINTER_REDUCE_SCATTER, SINTER_ALL_GATHER}) {
    CAPTURE(op);
    CHECK(onTwoProcesses(checksParts(op, 4)) == "");
  }
  CHECK(onTwoProcesses([](Replica &, uint32_t rank) {
          return rank == 3 ? Status::failed("an error") : Status();
        }) == "an error");
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
  const std::string text = readAll(ends[0]);
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

TEST_CASE("replicas that call different collectives are told", "[meeting]") {
  auto results =
      onReplicas(2, 1, [&](Replica &replica, uint32_t rank) -> Status {
        const uint64_t elements[] = {10};
        SINTER_RETURN_IF_ERROR(
            replica.send(elements, SINTER_F32,
                         rank ? SINTER_ALL_GATHER : SINTER_REDUCE_SCATTER));
        return replica.device->synchronize();
      });
  for (const Status &status : results)
    CHECK(status.message() == "NCCL: call 0 of replica 0 is reduce-scatter, "
                              "that of replica 1 is all-gather");
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
  CHECK(results[0].isAboutOthers());
}

TEST_CASE("operands beyond the device's memory are refused", "[meeting]") {
  auto results = onReplicas(1, 0, [&](Replica &replica, uint32_t) -> Status {
    float onTheStack[4];
    void *outside[] = {onTheStack, replica.to};
    const uint64_t elements[] = {4};
    return replica.group->run(
        *replica.side, {SINTER_ALL_REDUCE, SINTER_F32, elements}, outside);
  });
  CHECK(results[0].message() ==
        "NCCL: queueing an all-reduce: invalid argument (4)");
  results = onReplicas(1, 0, [&](Replica &replica, uint32_t) -> Status {
    void *overlapping[] = {replica.from, replica.from + 1};
    const uint64_t elements[] = {4};
    return replica.group->run(
        *replica.side, {SINTER_ALL_REDUCE, SINTER_F32, elements}, overlapping);
  });
  CHECK(results[0].code() == SINTER_DEVICE_FAILED);
  // Only sums may be in place.
  results = onReplicas(1, 0, [&](Replica &replica, uint32_t) -> Status {
    void *same[] = {replica.from, replica.from};
    const uint64_t elements[] = {4};
    SINTER_RETURN_IF_ERROR(replica.group->run(
        *replica.side, {SINTER_ALL_REDUCE, SINTER_F32, elements}, same));
    SINTER_RETURN_IF_ERROR(replica.device->synchronize());
    return replica.group->run(*replica.side,
                              {SINTER_ALL_GATHER, SINTER_F32, elements}, same);
  });
  CHECK(results[0].message() ==
        "NCCL: queueing an all-gather: invalid argument (4)");
  // The larger side counts.
  for (uint32_t op : {SINTER_REDUCE_SCATTER, SINTER_ALL_GATHER}) {
    results = onReplicas(2, 0, [&](Replica &replica, uint32_t) -> Status {
      const uint64_t elements[] = {2 * count};
      return replica.send(elements, SINTER_F32, op);
    });
    for (const Status &status : results)
      CHECK(status.code() == SINTER_DEVICE_FAILED);
  }
}
