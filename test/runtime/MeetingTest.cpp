//===- MeetingTest.cpp - where the processes of a job meet ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Threads in place of processes.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Meeting.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <sys/socket.h>
#include <thread>

using namespace sinter::rt;

namespace {

/// An unused port.
uint16_t freePort() {
  Result<Listener> listener = Listener::open("127.0.0.1", 0);
  REQUIRE(listener.ok());
  return listener->port();
}

Ranks rankOf(uint32_t rank, uint32_t world, uint16_t port) {
  Ranks ranks;
  ranks.rank = rank;
  ranks.world = world;
  ranks.leaderHost = "127.0.0.1";
  ranks.leaderPort = port;
  return ranks;
}

using Body = std::function<Status(Meeting &)>;

/// Joins `world` processes and runs `body` in each; returns what they return,
/// or why they could not join.
std::vector<Status> meet(uint32_t world, const Body &body,
                         Meeting::Options options = {}) {
  const uint16_t port = freePort();
  std::vector<Status> results(world);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < world; ++rank)
    threads.emplace_back([&, rank] {
      auto joined = Meeting::join(rankOf(rank, world, port), options);
      results[rank] = joined.ok() ? body(**joined) : joined.status();
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

void checkAllOk(const std::vector<Status> &results) {
  for (const Status &status : results) {
    INFO(status.message());
    CHECK(status.ok());
  }
}

} // namespace

TEST_CASE("meeting: all get what each has put", "[meeting]") {
  checkAllOk(meet(5, [](Meeting &meeting) -> Status {
    for (int round = 0; round < 20; ++round) {
      auto all = meeting.gather("round " + std::to_string(round),
                                std::string(100, char('a' + meeting.rank())));
      SINTER_RETURN_IF_ERROR(all.status());
      for (uint32_t rank = 0; rank < meeting.world(); ++rank)
        if ((*all)[rank] != std::string(100, char('a' + rank)))
          return Status::failed("another value");
    }
    return {};
  }));
}

TEST_CASE("meeting: rank 0 combines what each has put", "[meeting]") {
  checkAllOk(meet(5, [](Meeting &meeting) -> Status {
    for (int round = 0; round < 20; ++round) {
      Result<std::string> all =
          meeting.combine("round " + std::to_string(round),
                          std::string(1, char('a' + meeting.rank())),
                          [&](const std::vector<std::string> &texts) {
                            std::string text = std::to_string(meeting.rank());
                            for (const std::string &one : texts)
                              text += one;
                            return text;
                          });
      SINTER_RETURN_IF_ERROR(all.status());
      if (*all != "0abcde")
        return Status::failed("another value: " + *all);
    }
    return {};
  }));
}

TEST_CASE("meeting: a name is free again after its readers", "[meeting]") {
  checkAllOk(meet(3, [](Meeting &meeting) -> Status {
    for (int round = 0; round < 20; ++round) {
      const std::string value = std::to_string(round);
      if (meeting.rank() == 1)
        SINTER_RETURN_IF_ERROR(meeting.put("one reader", value, 1));
      if (meeting.rank() == 2) {
        Result<std::string> got = meeting.get("one reader");
        SINTER_RETURN_IF_ERROR(got.status());
        if (*got != value)
          return Status::failed("another value: " + *got);
      }
      SINTER_RETURN_IF_ERROR(meeting.gather("next " + value, "").status());
    }
    return {};
  }));
}

TEST_CASE("meeting: each run has names and permissions of its own",
          "[meeting]") {
  checkAllOk(meet(3, [](Meeting &meeting) -> Status {
    for (int64_t run = 0; run < 20; ++run) {
      SINTER_RETURN_IF_ERROR(meeting.beginRun());
      const std::string value = std::to_string(run);
      if (meeting.rank() == 0) {
        SINTER_RETURN_IF_ERROR(meeting.put("value", value));
        SINTER_RETURN_IF_ERROR(meeting.allow({5}));
        SINTER_RETURN_IF_ERROR(meeting.allow({10, Order::Stop}));
      } else {
        Result<Permission> permission = meeting.awaitPermission(0);
        SINTER_RETURN_IF_ERROR(permission.status());
        if (permission->step != 5)
          return Status::failed("the permission of another run");
      }
      // Not rank 2, so that the value is still there.
      if (meeting.rank() == 1) {
        Result<std::string> got = meeting.get("value");
        SINTER_RETURN_IF_ERROR(got.status());
        if (*got != value)
          return Status::failed("the value of another run");
      }
      SINTER_RETURN_IF_ERROR(meeting.gather("end", "").status());
    }
    return {};
  }));
}

TEST_CASE("meeting: steps begin when rank 0 allows it", "[meeting]") {
  std::atomic<int64_t> allowed{0};
  std::vector<int64_t> saves(3, -1), stops(3, -1);
  checkAllOk(meet(3, [&](Meeting &meeting) -> Status {
    if (meeting.rank() == 0) {
      for (int64_t step = 10; step <= 100; step += 10) {
        allowed = step;
        if (step == 50)
          SINTER_RETURN_IF_ERROR(meeting.allow({40, Order::Save}));
        SINTER_RETURN_IF_ERROR(meeting.allow({step}));
      }
      return meeting.allow({100, Order::Stop});
    }
    for (int64_t step = 0;;) {
      Result<Permission> permission = meeting.awaitPermission(step);
      SINTER_RETURN_IF_ERROR(permission.status());
      if (permission->order == Order::Save) {
        saves[meeting.rank()] = step;
      } else if (permission->order == Order::Stop) {
        stops[meeting.rank()] = step;
        return {};
      } else if (permission->step <= step || permission->step > allowed) {
        return Status::failed("began too early");
      } else {
        step = permission->step;
      }
    }
  }));
  CHECK(saves == std::vector<int64_t>{-1, 40, 40});
  CHECK(stops == std::vector<int64_t>{-1, 100, 100});
}

TEST_CASE("meeting: a process asks rank 0", "[meeting]") {
  checkAllOk(meet(3, [](Meeting &meeting) -> Status {
    if (meeting.rank() == 2)
      meeting.ask(Order::Save);
    if (meeting.rank() == 0)
      while (meeting.takeAsked() != static_cast<uint32_t>(Order::Save))
        std::this_thread::yield();
    return meeting.gather("end", "").status();
  }));
}

TEST_CASE("meeting: rank 0 knows who asked to stop", "[meeting]") {
  checkAllOk(meet(3, [](Meeting &meeting) -> Status {
    if (meeting.rank() == 1)
      meeting.ask(Order::Save);
    if (meeting.rank() == 2)
      meeting.ask(Order::Stop);
    if (meeting.rank() == 0) {
      while (meeting.stopAskedBy().empty())
        std::this_thread::yield();
      CHECK(meeting.stopAskedBy() == "rank 2");
    }
    return meeting.gather("end", "").status();
  }));
}

TEST_CASE("meeting: all answer, whatever they wait for", "[meeting]") {
  checkAllOk(meet(3, [](Meeting &meeting) -> Status {
    if (meeting.rank() != 2)
      meeting.answerWith([&] {
        return "rank " + std::to_string(meeting.rank()) + " is well";
      });
    Result<std::string> all = meeting.combine(
        "ready", "", [](const auto &) { return std::string(); });
    if (!all.ok())
      return all.status();
    if (meeting.rank() != 0)
      return meeting.get("end").status();
    for (int i = 0; i < 2; ++i) {
      Result<std::vector<std::string>> answers = meeting.askAll();
      if (!answers.ok())
        return answers.status();
      CHECK(*answers == std::vector<std::string>{"rank 1 is well", ""});
    }
    return meeting.put("end", "", 2);
  }));
}

TEST_CASE("meeting: all know the newest checkpoint before they go on",
          "[meeting]") {
  checkAllOk(meet(3, [](Meeting &meeting) -> Status {
    CHECK(meeting.savedStep() == -1);
    for (int64_t step : {7, 14}) {
      // So that none is told before all have looked.
      if (Status all = meeting.gather(std::to_string(step), "").status();
          !all.ok())
        return all;
      if (meeting.rank() == 0) {
        CHECK(meeting.tellSaved(step).ok());
        CHECK(meeting.allow({step + 1}).ok());
      } else if (auto next = meeting.awaitPermission(step); !next.ok()) {
        return next.status();
      }
      CHECK(meeting.savedStep() == step);
    }
    return meeting.gather("end", "").status();
  }));
}

TEST_CASE("meeting: a process that fails ends the job", "[meeting]") {
  std::vector<Status> results = meet(4, [](Meeting &meeting) -> Status {
    if (meeting.rank() == 2) {
      meeting.fail("the disk is on fire");
      return {};
    }
    std::atomic<bool> isCalled{false};
    meeting.onEnd([&] { isCalled = true; });
    Result<std::string> never = meeting.get("never");
    meeting.onEnd(nullptr);
    return never.ok() || !isCalled ? Status() : never.status();
  });
  for (uint32_t rank : {0u, 1u, 3u}) {
    INFO(results[rank].message());
    CHECK(results[rank].code() == SINTER_FAILED);
    CHECK(results[rank].message().starts_with("rank 2 ("));
    CHECK(results[rank].message().ends_with("): the disk is on fire"));
  }
}

TEST_CASE("meeting: why a process ends is heard before that it cannot be sent "
          "to",
          "[meeting]") {
  for (int i = 0; i < 20; ++i) {
    std::vector<Status> results = meet(2, [](Meeting &meeting) -> Status {
      if (meeting.rank() == 1) {
        meeting.fail("the disk is on fire");
        return {};
      }
      while (meeting.status().ok())
        (void)meeting.tellSaved(1).ok();
      return meeting.status();
    });
    CHECK(results[0].code() == SINTER_FAILED);
    CHECK(results[0].message().ends_with("): the disk is on fire"));
  }
}

TEST_CASE("meeting: a leader that is gone is lost, whoever notices it first",
          "[meeting]") {
  for (int round = 0; round < 50; ++round) {
    auto listener = Listener::open("127.0.0.1", 0);
    REQUIRE(listener.ok());
    std::thread leader([&] {
      std::optional<Wire> wire;
      while (!wire)
        wire = listener->accept();
      REQUIRE(wire->receive(10000).ok());
      REQUIRE(wire->send({MessageKind::Joined, 0, "", ""}).ok());
    });
    Ranks ranks;
    ranks.rank = 1;
    ranks.world = 2;
    ranks.leaderHost = "127.0.0.1";
    ranks.leaderPort = listener->port();
    auto meeting = Meeting::join(ranks, {});
    leader.join();
    REQUIRE(meeting.ok());
    Status status;
    for (int i = 0; status.ok(); ++i)
      status = (*meeting)->put("a" + std::to_string(i), "b");
    CHECK(status.code() == SINTER_INTERRUPTED);
    CHECK(status.message().find("has ended") != std::string::npos);
  }
}

TEST_CASE("meeting: who does not come is named", "[meeting]") {
  Meeting::Options options;
  options.joinTimeoutMs = 2000;
  const uint16_t port = freePort();
  std::vector<Status> results(2);
  std::vector<std::thread> threads;
  for (uint32_t rank : {0u, 1u})
    threads.emplace_back([&, rank] {
      results[rank] = Meeting::join(rankOf(rank, 4, port), options).status();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : results) {
    CHECK(status.code() == SINTER_INTERRUPTED);
    CHECK(status.message() == "ranks 2 and 3 did not join within 2 s");
  }
}

TEST_CASE("meeting: rank 0 says early who is missing", "[meeting]") {
  Meeting::Options options;
  options.joinTimeoutMs = 1000;
  options.lateMs = 300;
  std::vector<std::string> late;
  options.onLate = [&](const std::string &text) { late.push_back(text); };
  CHECK(!Meeting::join(rankOf(0, 3, freePort()), options).ok());
  CHECK(late == std::vector<std::string>{"ranks 1 and 2"});
}

TEST_CASE("meeting: who waits for a late process need not say that it is alive",
          "[meeting]") {
  Meeting::Options options;
  options.joinTimeoutMs = 20000;
  options.aliveTimeoutMs = 2000;
  const uint16_t port = freePort();
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      if (rank == 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(3000));
      auto joined = Meeting::join(rankOf(rank, 3, port), options);
      results[rank] =
          joined.ok() ? (*joined)->gather("all", "").status() : joined.status();
    });
  for (std::thread &thread : threads)
    thread.join();
  checkAllOk(results);
}

TEST_CASE("meeting: waiting can be interrupted", "[meeting]") {
  Meeting::Options options;
  options.isInterrupted = [] { return true; };
  const uint16_t port = freePort();
  for (uint32_t rank : {0u, 1u}) {
    Status status = Meeting::join(rankOf(rank, 2, port), options).status();
    CHECK(status.code() == SINTER_INTERRUPTED);
    CHECK(status.message().starts_with("interrupted while rank "));
  }
}

TEST_CASE("meeting: who comes to no message is named", "[meeting]") {
  Meeting::Options options;
  options.aliveTimeoutMs = 1500;
  // Rank 1 is in a step and alive, but comes to no message.
  for (const Status &status : meet(
           3,
           [](Meeting &meeting) {
             meeting.setStep(7, /*isTraining=*/true);
             if (meeting.rank() != 1)
               meeting.countMessages();
             return meeting.awaitEnd(20000);
           },
           options)) {
    CHECK(status.code() == SINTER_INTERRUPTED);
    CHECK(status.message().starts_with("rank 1 ("));
    CHECK(status.message().find("has made no progress for 1 s: it is in step 8 "
                                "and has begun 0 messages, others 1") !=
          std::string::npos);
  }
}

TEST_CASE("meeting: who evaluates or goes on is not late", "[meeting]") {
  Meeting::Options options;
  options.aliveTimeoutMs = 1500;
  checkAllOk(meet(
      3,
      [](Meeting &meeting) {
        // Rank 0 does something else, rank 1 is behind and goes on.
        meeting.setStep(7, meeting.rank() != 0);
        for (int i = 0; i < 40; ++i) {
          if (meeting.rank() == 2 || (meeting.rank() == 1 && i % 10 == 9))
            meeting.countMessages();
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return meeting.status();
      },
      options));
}

TEST_CASE("meeting: after a long save, time begins anew", "[meeting]") {
  Meeting::Options options;
  options.aliveTimeoutMs = 3000;
  checkAllOk(meet(
      3,
      [](Meeting &meeting) {
        // Rank 0 saves; the others wait for it in the next step. It begins a
        // message of that step, and its heartbeat comes before theirs.
        using std::chrono::milliseconds;
        meeting.setStep(7, meeting.rank() != 0);
        std::this_thread::sleep_for(milliseconds(5000));
        meeting.setStep(7, true);
        std::this_thread::sleep_for(
            milliseconds(meeting.rank() == 0 ? 0 : 1300));
        for (int i = 0; i < 30; ++i) {
          meeting.countMessages();
          std::this_thread::sleep_for(milliseconds(100));
        }
        return meeting.status();
      },
      options));
}

TEST_CASE("meeting: who leaves because it hears nothing is lost to the others",
          "[meeting]") {
  const uint16_t port = freePort();
  Status left, stayed;
  std::thread other([&] {
    Meeting::Options impatient;
    impatient.aliveTimeoutMs = 300; // less than the time between heartbeats
    auto joined = Meeting::join(rankOf(1, 2, port), impatient);
    left = joined.ok() ? (*joined)->awaitEnd(20000) : joined.status();
  });
  {
    auto joined = Meeting::join(rankOf(0, 2, port), {});
    REQUIRE(joined.ok());
    stayed = (*joined)->gather("what the other never says", "").status();
  }
  other.join();
  CHECK(left.code() == SINTER_INTERRUPTED);
  CHECK(left.message().find("has sent nothing for 0 s") != std::string::npos);
  CHECK(stayed.code() == SINTER_INTERRUPTED);
  CHECK(stayed.message().starts_with("rank 1 ("));
}

TEST_CASE("meeting: a job that is complete goes on without others",
          "[meeting]") {
  const uint16_t port = freePort();
  std::vector<std::thread> threads;
  std::vector<Status> results(2), refused(3);
  for (uint32_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      auto joined = Meeting::join(rankOf(rank, 2, port), {});
      if (!joined.ok()) {
        results[rank] = joined.status();
        return;
      }
      if (rank == 1) {
        refused[0] = Meeting::join(rankOf(1, 2, port), {}).status();
        refused[1] = Meeting::join(rankOf(3, 4, port), {}).status();
        refused[2] = Meeting::join(rankOf(2, 2, port), {}).status();
      }
      results[rank] = (*joined)->gather("after that", "").status();
    });
  for (std::thread &thread : threads)
    thread.join();
  checkAllOk(results);
  for (const Status &status : refused)
    CHECK(status.code() == SINTER_INVALID);
  CHECK(refused[0].message().find("two processes have rank 1") !=
        std::string::npos);
}

TEST_CASE("meeting: who comes when the job is over hears why", "[meeting]") {
  const uint16_t port = freePort();
  Status late;
  std::thread other([&] {
    auto joined = Meeting::join(rankOf(1, 2, port), {});
    if (joined.ok())
      (*joined)->fail("a reason");
    late = Meeting::join(rankOf(1, 2, port), {}).status();
  });
  auto joined = Meeting::join(rankOf(0, 2, port), {});
  REQUIRE(joined.ok());
  CHECK((*joined)->awaitEnd(20000).code() == SINTER_FAILED);
  other.join();
  CHECK(late.code() == SINTER_FAILED);
  CHECK(late.message().find("a reason") != std::string::npos);
}

TEST_CASE("meeting: another token, number or rank is refused", "[meeting]") {
  const uint16_t port = freePort();
  Meeting::Options options;
  options.joinTimeoutMs = 20000;
  options.token = "secret";
  Status leader;
  std::thread thread(
      [&] { leader = Meeting::join(rankOf(0, 2, port), options).status(); });
  // A stranger does not end the job.
  Meeting::Options other = options;
  other.token = "guess";
  Status stranger = Meeting::join(rankOf(1, 2, port), other).status();
  CHECK(stranger.code() == SINTER_INVALID);
  CHECK(stranger.message().find("token") != std::string::npos);
  // A process of the job that contradicts it does.
  Status wrong = Meeting::join(rankOf(1, 3, port), options).status();
  CHECK(wrong.code() == SINTER_INVALID);
  CHECK(wrong.message().find("was started with 3 processes, rank 0 with 2") !=
        std::string::npos);
  thread.join();
  CHECK(leader.code() == SINTER_FAILED);
  CHECK(leader.message().find("was started with 3 processes, rank 0 with 2") !=
        std::string::npos);
}

TEST_CASE("meeting: rank 0 says who was refused", "[meeting]") {
  const uint16_t port = freePort();
  Meeting::Options options;
  options.joinTimeoutMs = 1000;
  options.token = "secret";
  Status leader;
  std::thread thread(
      [&] { leader = Meeting::join(rankOf(0, 2, port), options).status(); });
  Meeting::Options other = options;
  other.token = "guess";
  CHECK(Meeting::join(rankOf(1, 2, port), other).status().code() ==
        SINTER_INVALID);
  thread.join();
  CHECK(leader.message().starts_with("rank 1 did not join within 1 s; 127."));
  CHECK(leader.message().ends_with(
      " was refused, because its token is another one"));
}

TEST_CASE("meeting: a port that is in use", "[meeting]") {
  Result<Listener> listener = Listener::open("127.0.0.1", 0);
  REQUIRE(listener.ok());
  Status status = Meeting::join(rankOf(0, 2, listener->port()), {}).status();
  CHECK(status.code() == SINTER_FAILED);
  CHECK(status.message() ==
        "rank 0 cannot meet the others: listening on 127.0.0.1:" +
            std::to_string(listener->port()) +
            ": Address already in use; --leader=HOST:PORT, of all processes, "
            "sets another port");
}

TEST_CASE("meeting: a connection that sends no valid message is closed",
          "[meeting]") {
  const uint16_t port = freePort();
  Meeting::Options options;
  options.joinTimeoutMs = 20000;
  std::vector<Status> results(2);
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    results[0] = Meeting::join(rankOf(0, 2, port), options).status();
  });
  Result<Wire> noise = connectTo("127.0.0.1", port, 20000);
  REQUIRE(noise.ok());
  const std::string bytes(100000, '\xff');
  (void)::send(noise->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  Result<std::optional<Message>> answer = noise->receive(20000);
  CHECK_FALSE(answer.ok()); // closed
  threads.emplace_back([&] {
    results[1] = Meeting::join(rankOf(1, 2, port), options).status();
  });
  for (std::thread &thread : threads)
    thread.join();
  checkAllOk(results);
}
