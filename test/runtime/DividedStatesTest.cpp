//===- DividedStatesTest.cpp - states that replicas divide ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/DividedStates.h"
#include "runtime/base/Float16.h"
#include "test/runtime/OneCommand.h"

#include "sinter/sinter.h"

#include <cstring>

using namespace sinter;
using namespace sinter::rt;

namespace {

std::vector<uint8_t> bytesOf(const std::vector<float> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floatsOf(const std::vector<uint8_t> &bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename Narrow>
std::vector<float> widened(const std::vector<uint8_t> &bytes) {
  std::vector<float> values;
  for (size_t i = 0; i < bytes.size(); i += sizeof(Narrow)) {
    Narrow value;
    std::memcpy(&value, bytes.data() + i, sizeof(value));
    values.push_back(toFloat(value));
  }
  return values;
}

/// A parameter of three floats, of which two replicas have two each, and its
/// rounding, which "main" returns.
struct Sample {
  const int64_t dims[1] = {3};
  sinter_state_desc states[2] = {};
  sinter_tensor_desc output{"y", dims, 6, SINTER_BF16, 1};
  sinter_slice slices[2] = {{SINTER_SPACE_STATE, 1, 0, 6},
                            {SINTER_SPACE_OUTPUT, 0, 0, 6}};
  sinter_command command = {};
  sinter_entry entry = {};
  sinter_training training = {};
  struct alignas(64) {
    float w[3] = {1.5, -2, 1 + 0x1p-20f};
  } constants;
  sinter_artifact artifact = test::OneCommand::emptyArtifact();
  sinter_program *program = nullptr;

  Sample() {
    states[0].tensor = {"w", dims, 12, SINTER_F32, 1};
    states[0].role = SINTER_STATE_PARAM;
    states[0].partBytes = 8;
    states[1].tensor = {"bf16/w", dims, 6, SINTER_BF16, 1};
    states[1].role = SINTER_STATE_ROUNDED;
    states[1].of = 0;
    states[1].offsetBytes = 64;
    states[1].initOffsetBytes = UINT64_MAX;
    command.kind = SINTER_CMD_COPY;
    command.slices = slices;
    command.numSlices = 2;
    command.numReads = 1;
    command.label = "node";
    entry.name = "main";
    entry.outputs = &output;
    entry.numOutputs = 1;
    entry.commands = &command;
    entry.numCommands = 1;
    training.optimizer = training.loss = "";
    training.replicas = 2;
    artifact.training = &training;
    artifact.states = states;
    artifact.numStates = 2;
    artifact.stateBytes = 128;
    artifact.entries = &entry;
    artifact.numEntries = 1;
    artifact.constants = reinterpret_cast<const uint8_t *>(&constants);
    artifact.constantsBytes = sizeof(constants);
  }
  ~Sample() { sinter_program_destroy(program); }

  sinter_status load() {
    return sinter_program_create(&artifact, "cpu", 1, &program);
  }
  std::vector<float> run() {
    std::vector<uint8_t> y(6);
    void *outputs[] = {y.data()};
    REQUIRE(sinter_program_run(program, "main", nullptr, nullptr, outputs) ==
            SINTER_OK);
    return widened<Bfloat>(y);
  }
};

} // namespace

TEST_CASE("divided states: the part of a replica", "[divided]") {
  sinter_state_desc state = {};
  state.partBytes = 8;
  const std::vector<uint8_t> whole = bytesOf({1, 2, 3, 4, 5});
  CHECK(floatsOf(partOf(state, whole, 0)) == std::vector<float>{1, 2});
  CHECK(floatsOf(partOf(state, whole, 2)) == std::vector<float>{5, 0});
  CHECK(floatsOf(partOf(state, whole, 3)) == std::vector<float>{0, 0});
}

TEST_CASE("divided states: the rounding of a parameter", "[divided]") {
  sinter_state_desc state = {};
  // One row more than the parameter, and ties to even.
  state.tensor = {"r", nullptr, 8, SINTER_BF16, 1};
  const std::vector<uint8_t> whole =
      bytesOf({1 + 0x1p-8f, 1 + 0x1p-7f + 0x1p-8f, -0.0f});
  CHECK(widened<Bfloat>(roundedBytes(state, whole)) ==
        std::vector<float>{1, 1 + 0x1p-6f, -0.0f, 0});
  state.tensor.dtype = SINTER_F16;
  CHECK(widened<Half>(roundedBytes(state, bytesOf({1 + 0x1p-11f, 65504}))) ==
        std::vector<float>{1, 65504, 0, 0});
  CHECK(widened<Half>(roundedBytes(state, {})) ==
        std::vector<float>{0, 0, 0, 0});
}

TEST_CASE("divided states: a program has the rounding of the whole",
          "[divided]") {
  Sample sample;
  REQUIRE(sample.load() == SINTER_OK);
  CHECK(sample.run() == std::vector<float>{1.5, -2, 1});
  // Whoever has the whole parameter writes it.
  const std::vector<uint8_t> rounded =
      roundedBytes(sample.states[1], bytesOf({4, 5, 6}));
  REQUIRE(sinter_program_write_state(sample.program, 1, rounded.data()) ==
          SINTER_OK);
  CHECK(sample.run() == std::vector<float>{4, 5, 6});
}

TEST_CASE("divided states: what the artifact must have", "[divided]") {
  auto refused = [](const char *text, auto damage) {
    Sample sample;
    damage(sample);
    CHECK(sample.load() == SINTER_INVALID);
    CHECK(std::string(sinter_last_error()).find(text) != std::string::npos);
  };
  // Of an undivided parameter, the program must compute the rounding.
  refused("nothing computes", [](Sample &s) { s.states[0].partBytes = 0; });
  refused("not a rounding",
          [](Sample &s) { s.states[0].tensor.dtype = SINTER_I32; });
  refused("initial bytes", [](Sample &s) { s.artifact.constantsBytes = 11; });
}
