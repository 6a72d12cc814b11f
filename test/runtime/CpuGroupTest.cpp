//===- CpuGroupTest.cpp - collectives of the CPU's replicas ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Stream.h"
#include "test/runtime/CollectiveArrays.h"
#include "test/runtime/GroupOfThreads.h"
#include "test/runtime/OneCommand.h"
#include "test/runtime/ThreadExchange.h"

#include <catch2/catch.hpp>

#include <functional>
#include <thread>

using namespace sinter;
using namespace sinter::rt;
using test::CollectiveArrays;

namespace {

using test::Layout, test::Body;

Status onProcesses(Layout layout, const Body &body) {
  test::Wires wires(layout.processes);
  return test::onProcesses(
      layout,
      [&](uint32_t number) -> MakeExchange {
        return [&, number](Meeting &) {
          return Result<std::unique_ptr<Exchange>>(
              std::make_unique<test::ThreadExchange>(wires, number,
                                                     /*takesPieces=*/true));
        };
      },
      body);
}

constexpr Layout layouts[] = {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 2}, {4, 1}};

} // namespace

TEST_CASE("cpu group: sums, parts of sums, gathered parts", "[cpu-group]") {
  for (Layout layout : layouts)
    for (uint32_t dtype : {SINTER_F32, SINTER_F16, SINTER_BF16, SINTER_I64}) {
      CAPTURE(layout.processes, layout.count, dtype);
      const std::vector<uint64_t> elements = {63, 0, 1000, 1};
      // One after the other, so that messages of different sizes follow.
      std::vector<CollectiveArrays> all;
      for (uint32_t op : test::collectiveOps)
        all.emplace_back(op, dtype, layout.replicas(), elements);
      all.emplace_back(SINTER_ALL_REDUCE, dtype, layout.replicas(), elements);
      all.back().useOneSide();
      Stream stream;
      const Status status = onProcesses(layout, [&](Communicator &group) {
        Status status;
        for (CollectiveArrays &arrays : all)
          if (status.ok())
            status =
                group.run(stream, arrays.what(), arrays.buffers(group.rank()));
        return status;
      });
      INFO(status.message());
      REQUIRE(status.ok());
      for (const CollectiveArrays &arrays : all)
        CHECK(arrays.areDone());
    }
}

TEST_CASE("cpu group: bools are gathered, not summed", "[cpu-group]") {
  for (Layout layout : layouts)
    for (uint32_t op : test::collectiveOps) {
      CAPTURE(layout.processes, layout.count, op);
      CollectiveArrays arrays(op, SINTER_BOOL, layout.replicas(), {100});
      Stream stream;
      const Status status = onProcesses(layout, [&](Communicator &group) {
        return group.run(stream, arrays.what(), arrays.buffers(group.rank()));
      });
      if (op == SINTER_ALL_GATHER) {
        CHECK(status.ok());
        CHECK(arrays.areDone());
      } else {
        CHECK(status.code() == SINTER_UNSUPPORTED);
        CHECK(status.message() == "a sum of a dtype that cannot be summed");
      }
    }
}

TEST_CASE("cpu group: replicas that call different collectives are told",
          "[cpu-group]") {
  const CollectiveArrays summed(SINTER_REDUCE_SCATTER, SINTER_F32, 2, {8}),
      gathered(SINTER_ALL_GATHER, SINTER_F32, 2, {8});
  Stream stream;
  const Status status = onProcesses({1, 2}, [&](Communicator &group) {
    const CollectiveArrays &mine = group.rank() ? summed : gathered;
    return group.run(stream, mine.what(), mine.buffers(group.rank()));
  });
  CHECK(status.message() == "replicas 0 and 1 called different collectives");
}

TEST_CASE("cpu group: those that wait for a replica that left are told",
          "[cpu-group]") {
  Stream stream;
  for (Layout layout : layouts) {
    if (layout.count == 1)
      continue; // ThreadExchange cannot be aborted
    CAPTURE(layout.processes, layout.count);
    const CollectiveArrays arrays(SINTER_ALL_REDUCE, SINTER_F32,
                                  layout.replicas(), {8});
    const Status status = onProcesses(layout, [&](Communicator &group) {
      if (group.rank() % layout.count == 1)
        return Status();
      const Status begun =
          group.run(stream, arrays.what(), arrays.buffers(group.rank()));
      return begun.ok() ? group.await(1) : begun;
    });
    CHECK(status.isAboutOthers());
    CHECK(
        status.message() ==
        "replica 1 has left its group" +
            std::string(layout.processes > 1 ? ", message 1 of 32 bytes" : ""));
  }
}

TEST_CASE("cpu group: a program sums parts and gathers them", "[cpu-group]") {
  // y = the sum of x, by a reduce_scatter and an all_gather of 4 replicas.
  int64_t dims[] = {8};
  const sinter_tensor_desc x{"x", dims, 32, SINTER_F32, 1},
      y{"y", dims, 32, SINTER_F32, 1};
  const sinter_slice scatter[] = {{SINTER_SPACE_INPUT, 0, 0, 32},
                                  {SINTER_SPACE_ARENA, 0, 64, 8}},
                     gather[] = {{SINTER_SPACE_ARENA, 0, 64, 8},
                                 {SINTER_SPACE_OUTPUT, 0, 0, 32}};
  sinter_command commands[4] = {test::commandOf(SINTER_CMD_COLLECTIVE),
                                test::commandOf(SINTER_CMD_AWAIT),
                                test::commandOf(SINTER_CMD_COLLECTIVE),
                                test::commandOf(SINTER_CMD_AWAIT)};
  commands[0].slices = scatter;
  commands[0].collective = {1, SINTER_F32, SINTER_REDUCE_SCATTER,
                            SINTER_AXIS_DATA};
  commands[1].event = 1;
  commands[2].slices = gather;
  commands[2].collective = {0, SINTER_F32, SINTER_ALL_GATHER, SINTER_AXIS_DATA};
  commands[3].event = 0;
  for (int i : {0, 2}) {
    commands[i].numSlices = 2;
    commands[i].numReads = 1;
  }
  sinter_entry entry{};
  entry.name = "main";
  entry.inputs = &x;
  entry.outputs = &y;
  entry.commands = commands;
  entry.numInputs = entry.numOutputs = 1;
  entry.numCommands = 4;
  entry.arenaBytes = 128;
  sinter_training training{};
  training.optimizer = training.loss = "";
  training.replicas = 4;
  sinter_artifact artifact = test::OneCommand::emptyArtifact();
  artifact.training = &training;
  artifact.entries = &entry;
  artifact.numEntries = 1;

  sinter_rank group = {};
  group.replicas = 4;
  nameLocalGroup(group.group);
  auto run = [&](uint32_t replica, bool joins, std::vector<float> &result,
                 int times = 3) -> Status {
    auto device = cpu::createCpuDevice(1);
    SINTER_RETURN_IF_ERROR(device.status());
    auto program = Program::create(artifact, std::move(*device));
    SINTER_RETURN_IF_ERROR(program.status());
    sinter_rank rank = group;
    rank.rank = replica;
    if (joins)
      SINTER_RETURN_IF_ERROR((*program)->join(rank));
    const std::vector<float> mine = test::someValues(8, replica);
    const void *inputs[] = {mine.data()};
    void *outputs[] = {result.data()};
    for (int i = 0; i < times; ++i)
      SINTER_RETURN_IF_ERROR((*program)->run("main", nullptr, inputs, outputs));
    (*program)->leave();
    return {};
  };
  std::vector<Status> status(4);
  std::vector<std::vector<float>> results(4, std::vector<float>(8));
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < 4; ++r)
    threads.emplace_back([&, r] { status[r] = run(r, true, results[r]); });
  for (std::thread &thread : threads)
    thread.join();
  std::vector<float> expected(8);
  for (size_t i = 0; i < 8; ++i) {
    auto of = [&](uint32_t r) { return test::someValues(8, r)[i]; };
    expected[i] = (of(0) + of(1)) + (of(2) + of(3));
  }
  for (uint32_t r = 0; r < 4; ++r) {
    CAPTURE(r);
    CHECK(status[r].message() == "");
    CHECK(results[r] == expected);
  }
  CHECK(run(0, false, results[0]).message() ==
        "node: is a collective of replicas, but this program has not joined a "
        "group of replicas");

  // Replica 3 leaves when it has joined.
  nameLocalGroup(group.group);
  threads.clear();
  for (uint32_t r = 0; r < 4; ++r)
    threads.emplace_back(
        [&, r] { status[r] = run(r, true, results[r], r == 3 ? 0 : 3); });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(status[3].ok());
  for (uint32_t r = 0; r < 3; ++r) {
    CAPTURE(r, status[r].message());
    CHECK(status[r].isAboutOthers());
    CHECK(status[r].message().starts_with("node: replica "));
    CHECK(status[r].message().ends_with(" has left its group"));
  }
}
