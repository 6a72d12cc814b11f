//===- HostExchangeTest.cpp - processes that share memory -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/HostExchange.h"
#include "test/runtime/GroupOfThreads.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::rt;

namespace {

using Body = std::function<Status(Meeting &, HostExchange &)>;

Status inProcess(uint32_t rank, uint32_t world, uint16_t port,
                 const Body &body) {
  Ranks ranks;
  ranks.rank = rank;
  ranks.world = world;
  ranks.leaderHost = "127.0.0.1";
  ranks.leaderPort = port;
  auto meeting = Meeting::join(ranks, {});
  SINTER_RETURN_IF_ERROR(meeting.status());
  auto exchange = HostExchange::join(**meeting);
  SINTER_RETURN_IF_ERROR(exchange.status());
  return body(**meeting, **exchange);
}

/// Runs `body` on threads that play processes; the result of each.
std::vector<Status> inThreads(uint32_t world, const Body &body) {
  const uint16_t port = test::freePort();
  std::vector<Status> results(world);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < world; ++rank)
    threads.emplace_back(
        [&, rank] { results[rank] = inProcess(rank, world, port, body); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

/// What `sender` sends to `receiver` in a call.
std::vector<uint8_t> message(uint32_t sender, uint32_t receiver, int call,
                             size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + i / 251 + sender * 31 +
                                    receiver * 57 + static_cast<size_t>(call));
  return bytes;
}

/// The sizes differ between pairs and calls, and some are 0; most are no
/// divisors of a ring's size, and some larger than it.
size_t sizeOf(uint32_t sender, uint32_t receiver, int call) {
  const size_t sizes[] = {0, 1, 63, 4096, 70001, 262144, 262145, 1000003};
  return sizes[(sender * 3 + receiver * 5 + static_cast<uint32_t>(call)) %
               std::size(sizes)];
}

/// `bytes` in pieces of `most` bytes at most, and an empty one.
Pieces cut(std::vector<uint8_t> &bytes, size_t most) {
  Pieces pieces = {{}};
  for (size_t at = 0; at < bytes.size(); at += most)
    pieces.push_back(
        std::span(bytes).subspan(at, std::min(most, bytes.size() - at)));
  return pieces;
}

Status exchangeAll(uint32_t rank, uint32_t world, HostExchange &exchange) {
  for (int call = 0; call < 24; ++call) {
    std::vector<std::vector<uint8_t>> sent(world), received(world);
    std::vector<Pieces> from, to;
    for (uint32_t p = 0; p < world; ++p) {
      sent[p] = message(rank, p, call, sizeOf(rank, p, call));
      received[p].resize(sizeOf(p, rank, call));
      from.push_back(cut(sent[p], 1000 + 50000 * p));
      to.push_back(cut(received[p], 777777));
    }
    SINTER_RETURN_IF_ERROR(exchange.exchange(from, to));
    for (uint32_t p = 0; p < world; ++p)
      if (p != rank &&
          received[p] != message(p, rank, call, sizeOf(p, rank, call)))
        return Status::failed("call " + std::to_string(call) +
                              ": other bytes of rank " + std::to_string(p));
  }
  return {};
}

/// One byte to and from each other process.
Status exchangeByte(uint32_t world, HostExchange &exchange) {
  uint8_t sent = 1;
  std::vector<uint8_t> received(world);
  const std::vector<Pieces> from(world, Pieces{{&sent, 1}});
  std::vector<Pieces> to;
  for (uint8_t &byte : received)
    to.push_back({{&byte, 1}});
  return exchange.exchange(from, to);
}

} // namespace

TEST_CASE("host exchange: bytes of any number", "[host-exchange]") {
  for (uint32_t world : {2u, 3u, 8u}) {
    CAPTURE(world);
    for (const Status &status :
         inThreads(world, [&](Meeting &meeting, HostExchange &exchange) {
           return exchange.numReached() + 1 == world
                      ? exchangeAll(meeting.rank(), world, exchange)
                      : Status::failed("no memory is shared");
         })) {
      INFO(status.message());
      CHECK(status.ok());
    }
  }
}

TEST_CASE("host exchange: processes", "[host-exchange]") {
  const uint16_t port = test::freePort();
  auto body = [](Meeting &meeting, HostExchange &exchange) {
    return exchange.reaches(1 - meeting.rank())
               ? exchangeAll(meeting.rank(), 2, exchange)
               : Status::failed("no memory is shared");
  };
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0)
    _exit(inProcess(1, 2, port, body).ok() ? 0 : 1);
  const Status status = inProcess(0, 2, port, body);
  int ended = -1;
  CHECK(waitpid(child, &ended, 0) == child);
  INFO(status.message());
  CHECK(status.ok());
  CHECK(ended == 0);
}

TEST_CASE("host exchange: a process leaves", "[host-exchange]") {
  const std::vector<Status> results =
      inThreads(3, [&](Meeting &meeting, HostExchange &exchange) -> Status {
        SINTER_RETURN_IF_ERROR(exchangeByte(3, exchange));
        return meeting.rank() == 2 ? Status() : exchangeByte(3, exchange);
      });
  CHECK(results[2].ok());
  for (uint32_t rank : {0u, 1u}) {
    CHECK(results[rank].message() == "a process has left its group");
    CHECK(results[rank].isAboutOthers());
  }
}

TEST_CASE("host exchange: aborted while it waits", "[host-exchange]") {
  const std::vector<Status> results =
      inThreads(2, [&](Meeting &meeting, HostExchange &exchange) -> Status {
        if (meeting.rank() == 1) // does not exchange until the other one fails
          return meeting.get("failed").status();
        std::thread aborts([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          exchange.abort();
        });
        const Status status = exchangeByte(2, exchange);
        aborts.join();
        SINTER_RETURN_IF_ERROR(meeting.put("failed", ""));
        CHECK(!exchangeByte(2, exchange).ok());
        return status;
      });
  CHECK(results[0].message() == "a process has left its group");
  CHECK(results[1].ok());
}

TEST_CASE("host exchange: a library that sends by its own ways",
          "[host-exchange]") {
  Ranks ranks;
  ranks.leaderHost = "127.0.0.1";
  ranks.leaderPort = test::freePort();
  Meeting::Options options;
  options.sharesMemory = false;
  auto meeting = Meeting::join(ranks, options);
  REQUIRE(meeting.ok());
  uint8_t group[SINTER_GROUP_BYTES] = {};
  const Status status = nameGroupByLeader(
      {meeting->get(), 0, 1}, [](uint8_t *) { return Status(); }, group);
  CHECK(status.code() == SINTER_UNSUPPORTED);
  CHECK(status.message() == "--transport=tcp: the library of this device "
                            "chooses how it sends values");
}
