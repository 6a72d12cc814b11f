//===- RoundedStatesTest.cpp - states that a program computes again -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Program.h"
#include "test/runtime/OneCommand.h"

#include "sinter/program_names.h"
#include "sinter/sinter.h"

#include <cstdlib>
#include <cstring>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// The upper half of a float, which is it as bf16 if the other half is zero.
void roundKernel(void *const *buffers, int64_t, int64_t) {
  std::memcpy(buffers[1], static_cast<const char *>(buffers[0]) + 2, 2);
}

/// w = 2 * w, without the rounded state: a defect.
void doubleKernel(void *const *buffers, int64_t, int64_t) {
  *static_cast<float *>(buffers[1]) = 2 * *static_cast<float *>(buffers[0]);
}

/// refresh: r = bf16(w); main: y = r; double: w = 2 * w.
struct Sample {
  sinter_state_desc states[3] = {}; // the last one is not used
  sinter_tensor_desc output{"y", nullptr, 2, SINTER_BF16, 0};
  sinter_kernel_desc kernels[2] = {
      {"round", roundKernel, nullptr, {}, {}, 0, 2},
      {"double", doubleKernel, nullptr, {}, {}, 0, 2}};
  sinter_slice round[2] = {{SINTER_SPACE_STATE, 0, 0, 4},
                           {SINTER_SPACE_STATE, 1, 0, 2}};
  sinter_slice give[2] = {{SINTER_SPACE_STATE, 1, 0, 2},
                          {SINTER_SPACE_OUTPUT, 0, 0, 2}};
  sinter_slice twice[2] = {{SINTER_SPACE_STATE, 0, 0, 4},
                           {SINTER_SPACE_STATE, 0, 0, 4}};
  sinter_command commands[3] = {};
  sinter_entry entries[3] = {};
  struct alignas(64) {
    float w = 1.5;
  } constants;
  sinter_artifact artifact = test::OneCommand::emptyArtifact();
  sinter_program *program = nullptr;

  Sample() {
    states[0].tensor = {"w", nullptr, 4, SINTER_F32, 0};
    states[0].role = SINTER_STATE_PARAM;
    states[1].tensor = {"bf16/w", nullptr, 2, SINTER_BF16, 0};
    states[1].role = SINTER_STATE_ROUNDED;
    states[1].of = 0;
    states[1].offsetBytes = 64;
    states[1].initOffsetBytes = UINT64_MAX;
    entry(0, "main", SINTER_CMD_COPY, give);
    entries[0].outputs = &output;
    entries[0].numOutputs = 1;
    entry(1, SINTER_ENTRY_REFRESH, SINTER_CMD_LAUNCH, round);
    commands[1].launch = {1, 0, 0};
    entry(2, "double", SINTER_CMD_LAUNCH, twice);
    commands[2].launch = {1, 1, 0};
    artifact.states = states;
    artifact.numStates = 2;
    artifact.stateBytes = 128;
    artifact.kernels = kernels;
    artifact.numKernels = 2;
    artifact.entries = entries;
    artifact.numEntries = 3;
    artifact.constants = reinterpret_cast<const uint8_t *>(&constants);
    artifact.constantsBytes = sizeof(constants);
  }
  ~Sample() { sinter_program_destroy(program); }

  void entry(int i, const char *name, uint32_t kind,
             const sinter_slice *slices) {
    commands[i].kind = kind;
    commands[i].slices = slices;
    commands[i].numSlices = 2;
    commands[i].numReads = 1;
    commands[i].label = "node";
    entries[i].name = name;
    entries[i].commands = &commands[i];
    entries[i].numCommands = 1;
  }

  void load() {
    REQUIRE(sinter_program_create(&artifact, "cpu", 1, &program) == SINTER_OK);
  }
  /// What "main" reads, as a float.
  float run() {
    uint16_t y = 0;
    void *outputs[] = {&y};
    REQUIRE(sinter_program_run(program, "main", nullptr, nullptr, outputs) ==
            SINTER_OK);
    return wide(y);
  }
  static float wide(uint16_t half) {
    uint32_t bits = uint32_t(half) << 16;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  }
};

} // namespace

TEST_CASE("rounded states follow what is written", "[rounded]") {
  Sample sample;
  sample.load();
  CHECK(sample.run() == 1.5f);
  float w = -4;
  REQUIRE(sinter_program_write_state(sample.program, 0, &w) == SINTER_OK);
  uint16_t read = 0;
  REQUIRE(sinter_program_read_state(sample.program, 1, &read) == SINTER_OK);
  CHECK(Sample::wide(read) == -4);
  CHECK(sample.run() == -4);
  w = 0.25;
  REQUIRE(sinter_program_write_state(sample.program, 0, &w) == SINTER_OK);
  CHECK(sample.run() == 0.25f);
}

TEST_CASE("a host cannot write a rounded state", "[rounded]") {
  Sample sample;
  sample.load();
  // A pointer would let the host change the parameter unseen.
  CHECK(sinter_program_state(sample.program, 0) == nullptr);
  CHECK(sinter_program_state(sample.program, 1) == nullptr);
  uint16_t value = 0;
  CHECK(sinter_program_write_state(sample.program, 1, &value) ==
        SINTER_INVALID);
  CHECK(std::string(sinter_last_error()) ==
        "the program computes state 'bf16/w' itself");
}

TEST_CASE("SINTER_DEBUG=fresh-weights rounds before every run", "[rounded]") {
  for (bool isFresh : {false, true}) {
    if (isFresh)
      setenv("SINTER_DEBUG", "fresh-weights", 1);
    Sample sample;
    sample.load();
    unsetenv("SINTER_DEBUG");
    CHECK(sample.run() == 1.5f);
    REQUIRE(sinter_program_run(sample.program, "double", nullptr, nullptr,
                               nullptr) == SINTER_OK);
    // The update forgot the rounded state.
    CHECK(sample.run() == (isFresh ? 3.0f : 1.5f));
  }
}

TEST_CASE("rounded states of a damaged artifact", "[rounded]") {
  auto refused = [](const char *text, auto damage) {
    Sample sample;
    damage(sample);
    CHECK(sinter_program_create(&sample.artifact, "cpu", 1, &sample.program) ==
          SINTER_INVALID);
    CHECK(std::string(sinter_last_error()).find(text) != std::string::npos);
  };
  refused("is not of a parameter", [](Sample &s) { s.states[1].of = 1; });
  refused("is not of a parameter",
          [](Sample &s) { s.states[0].role = SINTER_STATE_BUFFER; });
  refused("nothing computes", [](Sample &s) { s.entries[1].name = "other"; });
  refused("nothing computes",
          [](Sample &s) { s.states[1].initOffsetBytes = 0; });
  refused("comes after rounded parameters", [](Sample &s) {
    s.states[2] = s.states[0];
    s.artifact.numStates = 3;
  });
}
