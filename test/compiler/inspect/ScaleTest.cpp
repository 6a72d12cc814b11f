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

TEST_CASE("scale: fabrics that make no sense are refused", "[scale]") {
  CHECK(refusalOf("{}") == "'links' must be a list of one link or more");
  CHECK(refusalOf(R"({"links": [{"gb_per_s": 1}]})") ==
        "'latency_us' must be a number above 0");
  CHECK(refusalOf(R"({"links": [{"latency_us": 1, "gb_per_s": -1}]})") ==
        "'gb_per_s' must be a number above 0");
  CHECK(refusalOf(R"({"links": [{"latency_us": 1, "gb_per_s": 1,
                                 "processes": 8}]})")
            .starts_with("every link but the last needs 'processes'"));
  CHECK(refusalOf(R"({"lnks": []})") == "unknown key 'lnks'");
  CHECK(refusalOf(R"({"links": [
      {"latency_us": 1, "gb_per_s": 1, "processes": 8},
      {"latency_us": 1, "gb_per_s": 1, "processes": 8},
      {"latency_us": 1, "gb_per_s": 1}]})")
            .starts_with("each link must connect more processes"));
}
