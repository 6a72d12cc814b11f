//===- ScaleTest.cpp - the predicted step of a trainer --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Scale.h"

#include <catch2/catch.hpp>

using namespace sinter;
using namespace sinter::compiler;
namespace json = llvm::json;

static Fabric fabricOf(const char *text) {
  llvm::Expected<json::Value> value = json::parse(text);
  REQUIRE(bool(value));
  llvm::Expected<Fabric> fabric = Fabric::read(*value->getAsObject());
  REQUIRE(bool(fabric));
  return *fabric;
}

static std::string refusalOf(const char *text) {
  llvm::Expected<json::Value> value = json::parse(text);
  REQUIRE(bool(value));
  llvm::Expected<Fabric> fabric = Fabric::read(*value->getAsObject());
  REQUIRE(!fabric);
  return llvm::toString(fabric.takeError());
}

TEST_CASE("scale: a message of one link", "[scale]") {
  // 1 GB/s is 1000 bytes in a microsecond.
  Fabric fabric = fabricOf(R"({"links": [{"latency_us": 10, "gb_per_s": 1}]})");
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 1) == 0);
  // Half of it goes to the other, and half of the sums comes back.
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 2) == Approx(2 * (10 + 4)));
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 4) == Approx(2 * (10 + 6)));
  CHECK(messageUs(fabric, SINTER_REDUCE_SCATTER, 8000, 4) == Approx(10 + 6));
  CHECK(messageUs(fabric, SINTER_ALL_GATHER, 8000, 4) == Approx(10 + 6));
  fabric.isRing = true;
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 4) ==
        Approx(2 * (3 * 10 + 6)));
  fabric.copyBytesPerUs = 1000;
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 4) ==
        Approx(2 * (3 * 10 + 6) + 3 * 8));
}

TEST_CASE("scale: the slowest link counts", "[scale]") {
  Fabric fabric = fabricOf(R"({"links": [
      {"processes": 4, "latency_us": 1, "gb_per_s": 10},
      {"latency_us": 20, "gb_per_s": 1}]})");
  CHECK(fabric.linksFor(4).size() == 1);
  CHECK(fabric.linksFor(5).size() == 2);
  // Within a host nothing goes over the second link.
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 4) == Approx(2 * (1 + 0.6)));
  // Of 8, four are elsewhere: half of the bytes goes over the second one.
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 8) == Approx(2 * (20 + 4)));
}

TEST_CASE("scale: a ring within and between hosts", "[scale]") {
  Fabric fabric = fabricOf(R"({"ring": true, "links": [
      {"processes": 8, "latency_us": 4, "gb_per_s": 100},
      {"latency_us": 12, "gb_per_s": 12.5}]})");
  auto sum = [&](uint64_t bytes, int64_t world) {
    return messageUs(fabric, SINTER_ALL_REDUCE, bytes, world);
  };
  // Of one host, 7 of the 8 hops, twice.
  CHECK(sum(0, 8) == Approx(2 * 7 * 4));
  CHECK(sum(0, 2) == Approx(2 * 4));
  // 9 processes: 7 hops in the first host, there and back between the two. The
  // slowest part leaves out one in the host.
  CHECK(sum(0, 9) == Approx(2 * (6 * 4 + 2 * 12)));
  // 64 hosts of 8: 7 * 64 hops in hosts and 64 between them.
  CHECK(sum(0, 512) == Approx(2 * (447 * 4 + 64 * 12)));
  CHECK(messageUs(fabric, SINTER_ALL_GATHER, 0, 512) ==
        Approx(447 * 4 + 64 * 12));
  // 8 MB at 12500 bytes in a microsecond, or at 100000 in one host.
  CHECK(sum(8000000, 512) - sum(0, 512) == Approx(2 * 511 / 512.0 * 640));
  CHECK(sum(8000000, 8) - sum(0, 8) == Approx(2 * 7 / 8.0 * 80));

  // 8 processes in pairs of pairs of pairs: 4 hops in pairs, 2 between pairs of
  // a four, 2 between the fours.
  fabric = fabricOf(R"({"ring": true, "links": [
      {"processes": 2, "latency_us": 1, "gb_per_s": 100},
      {"processes": 4, "latency_us": 10, "gb_per_s": 50},
      {"latency_us": 100, "gb_per_s": 25}]})");
  CHECK(sum(0, 8) == Approx(2 * (3 * 1 + 2 * 10 + 2 * 100)));
}

TEST_CASE("scale: an ideal link", "[scale]") {
  Fabric fabric = fabricOf(R"({"links": [{"latency_us": 0, "gb_per_s": 1}]})");
  CHECK(messageUs(fabric, SINTER_ALL_REDUCE, 8000, 2) == Approx(2 * 4));
}

TEST_CASE("scale: messages beside commands", "[scale]") {
  const Fabric fabric =
      fabricOf(R"({"links": [{"latency_us": 10, "gb_per_s": 1}]})");
  auto compute = [](double us) {
    return TimedCommand{TimedCommand::Compute, us, 0, 0, 0};
  };
  auto send = [](uint64_t bytes, uint32_t event) {
    return TimedCommand{TimedCommand::Send, 0, SINTER_ALL_REDUCE, bytes, event};
  };
  auto await = [](uint32_t event) {
    return TimedCommand{TimedCommand::Await, 0, 0, 0, event};
  };
  // The first message takes 28 us and the second, which waits for it, 24.
  const TimedCommand commands[] = {compute(100),  send(8000, 0), compute(10),
                                   send(4000, 1), compute(5),    await(0),
                                   compute(20),   await(1),      compute(1)};
  PredictedStep one = predictStep(commands, fabric, 1);
  CHECK(one.us == Approx(136));
  CHECK(one.waitUs == Approx(0));
  PredictedStep two = predictStep(commands, fabric, 2);
  // await(0) returns at 128, await(1) at 152.
  CHECK(two.us == Approx(153));
  CHECK(two.computeUs == Approx(136));
  CHECK(two.messagesUs == Approx(52));
  CHECK(two.waitUs == Approx(17));
}

/// The mistake in a fabric with these links.
static std::string refusalOfLinks(const std::string &links) {
  return refusalOf((R"({"links": [)" + links + "]}").c_str());
}

TEST_CASE("scale: fabrics that make no sense are refused", "[scale]") {
  CHECK(refusalOf("{}") == "'links' must be a list of one link or more");
  CHECK(refusalOf(R"({"links": {}})") ==
        "'links' must be a list of one link or more");
  CHECK(refusalOf(R"({"lnks": []})") ==
        "unknown key 'lnks'; it has name, links, copy_gb_per_s, ring");
  CHECK(refusalOf(R"({"ring": "yes", "links": []})") ==
        "'ring' must be true or false");
  CHECK(refusalOf(R"({"name": 5, "links": []})") == "'name' must be a text");
  CHECK(refusalOf(R"({"copy_gb_per_s": 0, "links": []})") ==
        "'copy_gb_per_s' must be a number from 1e-6 to 1e9");

  CHECK(refusalOfLinks("5") == "link 1: must be an object");
  CHECK(refusalOfLinks(R"({"gb_per_s": 1})") ==
        "link 1: 'latency_us' must be a number from 0 to 1e9");
  CHECK(refusalOfLinks(R"({"latency_us": -1, "gb_per_s": 1})") ==
        "link 1: 'latency_us' must be a number from 0 to 1e9");
  CHECK(refusalOfLinks(R"({"latency_us": 1e308, "gb_per_s": 1})") ==
        "link 1: 'latency_us' must be a number from 0 to 1e9");
  for (const char *rate : {"-1", "0", "1e308", "1e-300", "\"1\"", "null"})
    CHECK(refusalOfLinks(R"({"latency_us": 1, "gb_per_s": )" +
                         std::string(rate) + "}") ==
          "link 1: 'gb_per_s' must be a number from 1e-6 to 1e9");
  CHECK(refusalOfLinks(R"({"latency_us": 1, "gb_per_s": 1, "speed": 2})") ==
        "link 1: unknown key 'speed'; it has processes, latency_us, gb_per_s");

  auto link = [](const std::string &processes) {
    return R"({"latency_us": 1, "gb_per_s": 1)" +
           (processes.empty() ? "" : R"(, "processes": )" + processes) + "}";
  };
  for (const char *processes : {"2.5", "1", "0", "-8", "1e300", "\"8\""})
    CHECK(refusalOfLinks(link(processes) + "," + link("")) ==
          "link 1: 'processes' must be a whole number from 2 to 1048576");
  CHECK(refusalOfLinks(link("8")) ==
        "link 1: the last link connects all processes, so it has no "
        "'processes'");
  CHECK(refusalOfLinks(link("") + "," + link("")) ==
        "link 1: 'processes' is missing, the number that it connects; only the "
        "last link has none");
  for (const char *second : {"8", "4", "12"})
    CHECK(refusalOfLinks(link("8") + "," + link(second) + "," + link("")) ==
          "link 2: 'processes' must be a multiple of the 8 of the link before, "
          "and more: the innermost link is first");
}
