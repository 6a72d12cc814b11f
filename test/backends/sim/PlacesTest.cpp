//===- PlacesTest.cpp - a program on several simulated devices ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Only the events of a plan order its streams: if one of them is left out, some
// schedule gives a different result.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimDevice.h"
#include "runtime/exec/Program.h"

#include <catch2/catch.hpp>

#include <optional>

using namespace sinter;
using namespace sinter::sim;

namespace {

constexpr uint64_t bytes = 256;

/// y = x, through the arenas of sim:0 and sim:1 and, in the next run, a state
/// of sim:1: y2 is the y of the run before. The arena of sim:0 ends as zeros.
struct TwoPlaces {
  int64_t dims[1] = {bytes / 4};
  sinter_tensor_desc x = {"x", dims, bytes, SINTER_F32, 1};
  sinter_tensor_desc outputs[2] = {{"y", dims, bytes, SINTER_F32, 1},
                                   {"y2", dims, bytes, SINTER_F32, 1}};
  sinter_state_desc state = {};
  sinter_slice arrive[2] = {{SINTER_SPACE_INPUT, 0, 0, bytes},
                            {SINTER_SPACE_ARENA, 0, 0, bytes}};
  sinter_slice cross[2] = {{SINTER_SPACE_ARENA, 0, 0, bytes},
                           {SINTER_SPACE_ARENA, 1, 64, bytes}};
  sinter_slice leave[2] = {{SINTER_SPACE_ARENA, 1, 64, bytes},
                           {SINTER_SPACE_OUTPUT, 0, 0, bytes}};
  sinter_slice last[2] = {{SINTER_SPACE_STATE, 0, 0, bytes},
                          {SINTER_SPACE_OUTPUT, 1, 0, bytes}};
  sinter_slice keep[2] = {{SINTER_SPACE_ARENA, 1, 64, bytes},
                          {SINTER_SPACE_STATE, 0, 0, bytes}};
  sinter_slice clear[1] = {{SINTER_SPACE_ARENA, 0, 0, bytes}};
  std::vector<sinter_command> commands;
  sinter_entry entry = {};
  sinter_place_desc places[2] = {{"sim:0", "sim"}, {"sim:1", "sim"}};
  uint64_t arenas[2] = {bytes, 64 + bytes};
  sinter_artifact artifact = {};

  sinter_command &add(uint32_t kind, uint32_t place, uint32_t stream) {
    sinter_command &command = commands.emplace_back();
    command.kind = kind;
    command.place = place;
    command.stream = stream;
    command.label = "test";
    return command;
  }
  void addEvent(uint32_t kind, uint32_t place, uint32_t stream,
                uint32_t event) {
    add(kind, place, stream).event = event;
  }
  void addCopy(uint32_t place, uint32_t stream, uint32_t from, uint32_t to,
               const sinter_slice *slices) {
    sinter_command &command = add(SINTER_CMD_COPY, place, stream);
    command.slices = slices;
    command.numSlices = 2;
    command.numReads = 1;
    command.copy = {from, to};
  }
  void addFill(uint32_t place, const sinter_slice *slices) {
    sinter_command &command = add(SINTER_CMD_FILL, place, 0);
    command.slices = slices;
    command.numSlices = 1;
  }

  /// Without wait number `dropped`.
  explicit TwoPlaces(std::optional<size_t> dropped = {}) {
    size_t numWaits = 0;
    auto wait = [&](uint32_t place, uint32_t stream, uint32_t event) {
      if (numWaits++ != dropped)
        addEvent(SINTER_CMD_WAIT, place, stream, event);
    };
    addCopy(0, 0, 0, 0, arrive);
    addEvent(SINTER_CMD_RECORD, 0, 0, 0);
    wait(1, SINTER_STREAM_TRANSFER, 0);
    addCopy(1, SINTER_STREAM_TRANSFER, 0, 1, cross);
    addEvent(SINTER_CMD_RECORD, 1, SINTER_STREAM_TRANSFER, 1);
    wait(1, 0, 1);
    addCopy(1, 0, 1, 1, leave);
    addCopy(1, 0, 1, 1, last);
    addCopy(1, 0, 1, 1, keep);
    wait(0, 0, 1);
    addFill(0, clear);
    state.tensor = {"s", dims, bytes, SINTER_F32, 1};
    state.role = SINTER_STATE_BUFFER;
    state.of = SINTER_NONE;
    state.place = 1;
    state.initOffsetBytes = UINT64_MAX;
    entry.name = "main";
    entry.inputs = &x;
    entry.outputs = outputs;
    entry.commands = commands.data();
    entry.numInputs = 1;
    entry.numOutputs = 2;
    entry.numCommands = commands.size();
    entry.arenaBytes = arenas[0];
    artifact.magic = SINTER_ABI_MAGIC;
    artifact.major = SINTER_ABI_MAJOR;
    artifact.minor = SINTER_ABI_MINOR;
    artifact.sizeofArtifact = sizeof(sinter_artifact);
    artifact.sizeofCommand = sizeof(sinter_command);
    artifact.sizeofState = sizeof(sinter_state_desc);
    artifact.name = artifact.buildId = "test";
    artifact.target = "sim";
    artifact.manifest = "{}";
    artifact.cpuFeatures = "";
    artifact.states = &state;
    artifact.numStates = 1;
    artifact.stateBytes = bytes;
    artifact.entries = &entry;
    artifact.numEntries = 1;
    artifact.places = places;
    artifact.arenas = arenas;
    artifact.numPlaces = 2;
  }

  rt::Result<std::unique_ptr<rt::Program>> load(uint64_t seed) const {
    SimSettings settings;
    settings.seed = seed;
    std::vector<std::unique_ptr<rt::Device>> devices;
    for (int ordinal : {0, 1}) {
      auto device = createSimDevice(ordinal, settings);
      REQUIRE(device.ok());
      devices.push_back(std::move(*device));
    }
    return rt::Program::create(artifact, std::move(devices));
  }

  /// Whether four runs, two of them in flight at a time, give correct results.
  bool isRight(uint64_t seed) const {
    auto program = load(seed);
    INFO(program.status().message());
    REQUIRE(program.ok());
    constexpr int runs = 4;
    std::vector<float> in[runs], y[runs], y2[runs];
    rt::RunNumber numbers[runs];
    bool right = true;
    auto finish = [&](int i) {
      REQUIRE((*program)->wait(numbers[i]).ok());
      right &= y[i] == in[i];
      right &= y2[i] == (i ? in[i - 1] : std::vector<float>(bytes / 4, 0.0f));
    };
    for (int i = 0; i < runs; ++i) {
      in[i].assign(bytes / 4, float(i + 1));
      y[i].assign(bytes / 4, -1);
      y2[i].assign(bytes / 4, -1);
      const void *inputs[] = {in[i].data()};
      void *outputs[] = {y[i].data(), y2[i].data()};
      auto begun = (*program)->begin("main", nullptr, inputs, outputs);
      INFO(begun.status().message());
      REQUIRE(begun.ok());
      numbers[i] = *begun;
      if (i > 0)
        finish(i - 1);
    }
    finish(runs - 1);
    std::vector<float> kept(bytes / 4);
    REQUIRE((*program)->readState(0, kept.data()).ok());
    return right && kept == in[runs - 1];
  }
};

} // namespace

TEST_CASE("a program on two devices gives the same under every schedule") {
  TwoPlaces sample;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    INFO("seed " << seed);
    CHECK(sample.isRight(seed));
  }
}

TEST_CASE("every wait that is left out shows within five schedules") {
  for (size_t dropped = 0; dropped < 3; ++dropped) {
    INFO("wait " << dropped);
    TwoPlaces sample(dropped);
    bool shows = false;
    for (uint64_t seed = 0; seed < 5; ++seed)
      shows |= !sample.isRight(seed);
    CHECK(shows);
  }
}

TEST_CASE("tables of places are checked") {
  auto message = [](auto change) {
    TwoPlaces sample;
    change(sample);
    return sample.load(0).status().message();
  };
  CHECK(message([](TwoPlaces &s) {
          s.commands[2].event = 1;
        }).find("event 1 is waited for before it is recorded") !=
        std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.commands[4].event = 0;
        }).find("event 0 is recorded twice") != std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.commands[6].copy.from = 0;
        }).find("the arena of place 1 in a command on place 0") !=
        std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.state.place = 2;
        }).find("state 's' lies on place 2 of 2") != std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.commands[3].stream = 3;
        }).find("runs on stream 3 of 3") != std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.commands[3].place = 2;
        }).find("runs on place 2 of 2") != std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.commands[3].copy.to = 7;
        }).find("copies from or to place 7 of 2") != std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.places[1].target = "cpu";
        }).find("place 1 has no device, or not its kind as target") !=
        std::string::npos);
  CHECK(message([](TwoPlaces &s) {
          s.places[1].device = "sim:0";
        }).find("two places are sim:0") != std::string::npos);
}
