//===- ArtifactChecksTest.cpp - a corrupt table is an error, not a crash --===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/OneCommand.h"

#include "runtime/exec/ArtifactChecks.h"

#include <functional>
#include <memory>

using namespace sinter;
using namespace sinter::rt;

namespace {

void noKernel(void *const *, int64_t, int64_t) {}

/// A small valid artifact; tests may damage every part of it.
struct Sample {
  int64_t dims[2] = {4, 8};
  int64_t weightDims[2] = {8, 8};
  sinter_tensor_desc input{"x", dims, 128, SINTER_F32, 2};
  sinter_tensor_desc output{"y", dims, 128, SINTER_F32, 2};
  sinter_state_desc states[2] = {};
  sinter_kernel_desc kernel{"k", noKernel, nullptr, {}, {}, 0, 3};
  sinter_slice launchSlices[3] = {{SINTER_SPACE_INPUT, 0, 0, 128},
                                  {SINTER_SPACE_CONTROL, 0, 16, 8},
                                  {SINTER_SPACE_ARENA, 0, 64, 128}};
  sinter_slice matmulSlices[4] = {{SINTER_SPACE_ARENA, 0, 64, 128},
                                  {SINTER_SPACE_STATE, 0, 0, 256},
                                  {SINTER_SPACE_CONSTANT, 0, 32, 32},
                                  {SINTER_SPACE_OUTPUT, 0, 0, 128}};
  sinter_slice convSlices[3] = {{SINTER_SPACE_ARENA, 0, 0, 128},
                                {SINTER_SPACE_STATE, 0, 0, 256},
                                {SINTER_SPACE_ARENA, 0, 128, 64}};
  sinter_slice copySlices[2] = {{SINTER_SPACE_STATE, 0, 0, 64},
                                {SINTER_SPACE_STATE, 1, 0, 64}};
  sinter_slice fillSlice{SINTER_SPACE_ARENA, 0, 0, 256};
  sinter_matmul matmul{};
  sinter_conv conv{};
  sinter_command commands[5] = {};
  sinter_entry entries[2] = {};
  sinter_export_piece piece{nullptr, 256, 0, 0};
  alignas(64) uint8_t constants[64] = {};
  sinter_artifact artifact = test::OneCommand::emptyArtifact();

  Sample() {
    states[0].tensor = {"w", weightDims, 256, SINTER_F32, 2};
    states[0].role = SINTER_STATE_PARAM;
    states[0].initOffsetBytes = UINT64_MAX;
    states[1].tensor = {"w.m", weightDims + 1, 32, SINTER_F32, 1};
    states[1].role = SINTER_STATE_SLOT;
    states[1].slot = "m";
    states[1].of = 0;
    states[1].offsetBytes = 256;
    states[1].initOffsetBytes = 32;
    copySlices[0].sizeBytes = copySlices[1].sizeBytes = 32;

    matmul.dtype = matmul.outDtype = SINTER_F32;
    matmul.m = 4;
    matmul.n = matmul.k = 8;
    matmul.aStrideM = matmul.bStrideK = matmul.cStrideM = 8;
    matmul.aStrideK = matmul.bStrideN = matmul.cStrideN = 1;
    matmul.numPostOps = 1;
    matmul.postOps[0] = {SINTER_POST_BIAS, 2, 0, 0};

    conv.direction = SINTER_CONV_FORWARD;
    conv.dtype = SINTER_F32;
    conv.layout = SINTER_CHANNELS_LAST;
    conv.spatialRank = 1;
    conv.batch = 1;
    conv.channels = 4;
    conv.filters = 2;
    conv.groups = 1;
    conv.inputDims[0] = 8;
    conv.outputDims[0] = 8;
    conv.kernel[0] = 3;
    conv.strides[0] = conv.dilations[0] = 1;
    conv.padsLow[0] = conv.padsHigh[0] = 1;

    commands[0] = with(test::commandOf(SINTER_CMD_LAUNCH), launchSlices, 3, 2);
    commands[0].launch.tiles = 4;
    commands[1] = with(test::callOf(&matmul), matmulSlices, 4, 3);
    commands[2] = with(test::callOf(&conv), convSlices, 3, 2);
    commands[3] = with(test::commandOf(SINTER_CMD_COPY), copySlices, 2, 1);
    commands[4] = with(test::commandOf(SINTER_CMD_FILL), &fillSlice, 1, 0);
    entries[0].name = "main";
    entries[0].inputs = &input;
    entries[0].outputs = &output;
    entries[0].commands = commands;
    entries[0].numInputs = entries[0].numOutputs = 1;
    entries[0].numCommands = 5;
    entries[0].arenaBytes = 256;
    entries[1].name = "nothing";
    artifact.states = states;
    artifact.numStates = 2;
    artifact.stateBytes = 512;
    artifact.kernels = &kernel;
    artifact.numKernels = 1;
    artifact.entries = entries;
    artifact.numEntries = 2;
    artifact.exportPieces = &piece;
    artifact.numExportPieces = 1;
    artifact.constants = constants;
    artifact.constantsBytes = 64;
  }

  static sinter_command with(sinter_command command, const sinter_slice *slices,
                             uint32_t count, uint32_t reads) {
    command.slices = slices;
    command.numSlices = count;
    command.numReads = reads;
    return command;
  }
};

/// Damages a fresh sample and requires an error that contains `text`.
void refused(const char *text, const std::function<void(Sample &)> &damage) {
  auto sample = std::make_unique<Sample>();
  damage(*sample);
  Status status = checkArtifact(sample->artifact);
  INFO(text << " <- " << status.message());
  REQUIRE(status.code() == SINTER_INVALID);
  REQUIRE(status.message().find(text) != std::string::npos);
  REQUIRE(status.message().find('\n') == std::string::npos);
}

} // namespace

TEST_CASE("artifact: the sample is valid", "[artifact]") {
  Sample sample;
  Status status = checkArtifact(sample.artifact);
  INFO(status.message());
  REQUIRE(status.ok());
}

TEST_CASE("artifact: foreign, newer and older ones", "[artifact]") {
  refused("not a Sinter artifact", [](Sample &s) { s.artifact.magic ^= 1; });
  refused("update the runtime", [](Sample &s) { ++s.artifact.major; });
  refused("compile the model again", [](Sample &s) { s.artifact.major = 0; });
  refused("struct sizes", [](Sample &s) { s.artifact.sizeofArtifact += 8; });
  refused("struct sizes", [](Sample &s) { s.artifact.sizeofCommand -= 8; });
  refused("struct sizes", [](Sample &s) { s.artifact.sizeofState = 0; });
  Sample newer;
  newer.artifact.minor = SINTER_ABI_MINOR + 1;
  newer.artifact.sizeofArtifact += 64;
  REQUIRE(checkArtifact(newer.artifact).ok());
}

TEST_CASE("artifact: workspaces", "[artifact]") {
  refused("a workspace exceeds 2^63 bytes", [](Sample &s) {
    static const uint64_t bytes[] = {uint64_t(1) << 63};
    s.artifact.workspaces = bytes;
  });
}

TEST_CASE("artifact: checks of indices", "[artifact]") {
  // The last output is internal to the runtime and is not counted.
  struct Checked {
    int64_t dims[2] = {1, 2};
    sinter_tensor_desc outputs[2];
    sinter_index_check check{"look up", -5, 5, 8, 4};
    explicit Checked(Sample &s)
        : outputs{s.output, {"index checks", dims, 16, SINTER_I64, 2}} {
      s.entries[0].outputs = outputs;
      s.entries[0].numIndexChecks = 1;
      s.artifact.indexChecks = &check;
    }
  };
  auto refuse = [](const char *text,
                   const std::function<void(Sample &, Checked &)> &damage) {
    auto sample = std::make_unique<Sample>();
    Checked checked(*sample);
    damage(*sample, checked);
    std::string message = checkArtifact(sample->artifact).message();
    CAPTURE(message, text);
    REQUIRE(
        (*text ? message.find(text) != std::string::npos : message.empty()));
  };
  refuse("", [](Sample &, Checked &) {});
  refuse("lacks the table",
         [](Sample &s, Checked &) { s.artifact.indexChecks = nullptr; });
  refuse("no output for them",
         [](Sample &s, Checked &) { s.entries[0].numIndexChecks = 2; });
  refuse("no output for them",
         [](Sample &, Checked &c) { c.outputs[1].dtype = SINTER_U64; });
  refuse("no output for them", [](Sample &, Checked &c) {
    c.outputs[1].rank = 1;
    c.outputs[1].dims = &c.dims[1];
  });
  refuse("meaningless index check",
         [](Sample &, Checked &c) { c.check.node = nullptr; });
  refuse("meaningless index check",
         [](Sample &, Checked &c) { c.check.upper = -5; });
  refuse("meaningless index check",
         [](Sample &, Checked &c) { c.check.rows = -1; });
  refuse("meaningless index check",
         [](Sample &, Checked &c) { c.check.stride = 0; });
}

TEST_CASE("artifact: missing tables and texts", "[artifact]") {
  refused("missing", [](Sample &s) { s.artifact.manifest = nullptr; });
  refused("state table", [](Sample &s) { s.artifact.states = nullptr; });
  refused("entry table", [](Sample &s) { s.artifact.entries = nullptr; });
  refused("kernel table", [](Sample &s) { s.artifact.kernels = nullptr; });
  refused("has no name or no code", [](Sample &s) { s.kernel.cpu = nullptr; });
  refused("has no name or no code",
          [](Sample &s) { s.artifact.target = "cuda"; });
  refused("images", [](Sample &s) { s.artifact.numImages = 1; });
  refused("image 0 is empty", [](Sample &s) {
    static const sinter_image image{SINTER_IMAGE_PTX, 80, nullptr, 0};
    s.artifact.images = &image;
    s.artifact.numImages = 1;
  });
  refused("empty grid", [](Sample &s) {
    s.artifact.target = "sim";
    s.kernel.sim = [](void *const *, const sinter_sim_functions *) {};
    s.kernel.grid[0] = s.kernel.grid[1] = s.kernel.grid[2] = 1;
  });
  refused("unknown flag", [](Sample &s) { s.kernel.flags = 1; }); // on a CPU
  refused("unknown flag", [](Sample &s) {
    s.artifact.target = "sim";
    s.kernel.sim = [](void *const *, const sinter_sim_functions *) {};
    s.kernel.flags = 4 | SINTER_KERNEL_WAITS;
  });
  refused("export pieces",
          [](Sample &s) { s.artifact.exportPieces = nullptr; });
  refused("constants", [](Sample &s) { s.artifact.constants = nullptr; });
  refused("aligned", [](Sample &s) { s.artifact.constants += 4; });
  refused("no code", [](Sample &s) { s.kernel.cpu = nullptr; });
  refused("no name", [](Sample &s) { s.input.name = nullptr; });
  refused("no name", [](Sample &s) { s.entries[1].name = nullptr; });
  refused("two entries", [](Sample &s) { s.entries[1].name = "main"; });
  refused("lacks a table", [](Sample &s) { s.entries[0].commands = nullptr; });
}

TEST_CASE("artifact: tensors and states", "[artifact]") {
  refused("unknown dtype 99", [](Sample &s) { s.input.dtype = 99; });
  refused("rank 33", [](Sample &s) { s.input.rank = 33; });
  refused("dimension -1", [](Sample &s) { s.dims[0] = -1; });
  refused("2^63", [](Sample &s) { s.dims[0] = int64_t(1) << 62; });
  refused("its shape has 128", [](Sample &s) { s.output.sizeBytes = 129; });
  refused("state block", [](Sample &s) { s.artifact.stateBytes = 255; });
  refused("state block", [](Sample &s) { s.states[0].offsetBytes = 8; });
  refused("state block",
          [](Sample &s) { s.states[0].offsetBytes = UINT64_MAX - 63; });
  refused("overlap", [](Sample &s) { s.states[1].offsetBytes = 192; });
  refused("initial bytes", [](Sample &s) { s.states[1].initOffsetBytes = 33; });
  refused("role", [](Sample &s) { s.states[0].role = 9; });
  refused("slot name", [](Sample &s) { s.states[1].slot = nullptr; });
  refused("belongs to state 2", [](Sample &s) { s.states[1].of = 2; });
  refused("export piece 0", [](Sample &s) { s.piece.state = 2; });
  refused("export piece 0", [](Sample &s) { s.piece.sizeBytes = 255; });
}

TEST_CASE("artifact: divided states", "[artifact]") {
  sinter_training training{};
  training.optimizer = training.loss = "";
  training.replicas = 3;
  // The second state has 8 floats; three replicas hold three each.
  auto divide = [&](Sample &s) {
    s.artifact.training = &training;
    s.states[1].partBytes = 12;
    s.states[1].initOffsetBytes = UINT64_MAX;
    s.artifact.stateBytes = 256 + 12; // it needs no more
    s.copySlices[0].sizeBytes = s.copySlices[1].sizeBytes = 12;
  };
  Sample sample;
  divide(sample);
  Status status = checkArtifact(sample.artifact);
  INFO(status.message());
  CHECK(status.ok());
  auto refusedDivided = [&](const char *what, auto change) {
    refused(what, [&](Sample &s) {
      divide(s);
      change(s);
    });
  };
  // The whole begins there, not a part of it.
  refusedDivided("initial bytes",
                 [](Sample &s) { s.states[1].initOffsetBytes = 33; });
  refusedDivided("is not an optimizer slot or a parameter",
                 [](Sample &s) { s.states[1].role = SINTER_STATE_BUFFER; });
  refusedDivided("each of 3 replicas holds 8",
                 [](Sample &s) { s.states[1].partBytes = 8; });
  refusedDivided("each of 3 replicas holds 16",
                 [](Sample &s) { s.states[1].partBytes = 16; });
  refusedDivided("each of 1 replicas holds 12",
                 [](Sample &s) { s.artifact.training = nullptr; });
  refusedDivided("state block",
                 [](Sample &s) { s.artifact.stateBytes = 256 + 11; });
  refusedDivided("slice", [](Sample &s) {
    s.copySlices[0].sizeBytes = s.copySlices[1].sizeBytes = 16;
  });
}

TEST_CASE("artifact: commands and slices", "[artifact]") {
  refused("unknown kind", [](Sample &s) { s.commands[0].kind = 77; });
  refused("kernel 1 of 1", [](Sample &s) { s.commands[0].launch.kernel = 1; });
  refused("tiles", [](Sample &s) { s.commands[0].launch.tiles = -1; });
  refused("label", [](Sample &s) { s.commands[0].label = nullptr; });
  refused("place 1", [](Sample &s) { s.commands[0].place = 1; });
  refused("slice table", [](Sample &s) { s.commands[0].slices = nullptr; });
  refused("reads 4 of 3", [](Sample &s) { s.commands[0].numReads = 4; });
  refused("writes an input", [](Sample &s) { s.commands[0].numReads = 0; });
  refused("unknown space", [](Sample &s) { s.launchSlices[0].space = 0; });
  refused("input 1 of 1", [](Sample &s) { s.launchSlices[0].index = 1; });
  refused("only index 0", [](Sample &s) { s.launchSlices[1].index = 1; });
  refused("exceed", [](Sample &s) { s.launchSlices[0].sizeBytes = 129; });
  refused("exceed", [](Sample &s) { s.launchSlices[1].offsetBytes = 57; });
  refused("exceed",
          [](Sample &s) { s.launchSlices[2].offsetBytes = UINT64_MAX - 63; });
  refused("exceed", [](Sample &s) { s.entries[0].arenaBytes = 191; });
  refused("state 7 of 2", [](Sample &s) { s.copySlices[1].index = 7; });
  refused("two slices of one size",
          [](Sample &s) { s.copySlices[1].sizeBytes = 31; });
  refused("one written slice", [](Sample &s) { s.commands[4].numReads = 1; });
}

namespace {

/// The sample with a collective of 4 replicas in place of its copy, and its
/// wait in place of the fill.
struct CollectiveSample : Sample {
  sinter_training training{};
  sinter_slice slices[4] = {{SINTER_SPACE_ARENA, 0, 0, 128},
                            {SINTER_SPACE_STATE, 0, 0, 64},
                            {SINTER_SPACE_ARENA, 0, 128, 32},
                            {SINTER_SPACE_STATE, 0, 64, 16}};

  explicit CollectiveSample(uint32_t op) {
    training.optimizer = training.loss = "";
    training.replicas = 4;
    artifact.training = &training;
    if (op == SINTER_ALL_REDUCE)
      for (int i : {0, 1})
        slices[i].sizeBytes = slices[2 + i].sizeBytes;
    if (op == SINTER_ALL_GATHER)
      for (int i : {0, 1})
        std::swap(slices[i], slices[2 + i]);
    commands[3] = with(test::commandOf(SINTER_CMD_COLLECTIVE), slices, 4, 2);
    commands[3].collective = {2, SINTER_F32, op, SINTER_AXIS_DATA};
    commands[4] = test::commandOf(SINTER_CMD_AWAIT);
    commands[4].event = 2;
  }
};

void refused(uint32_t op, const char *text,
             const std::function<void(CollectiveSample &)> &damage) {
  auto sample = std::make_unique<CollectiveSample>(op);
  damage(*sample);
  Status status = checkArtifact(sample->artifact);
  INFO(text << " <- " << status.message());
  REQUIRE(status.code() == SINTER_INVALID);
  REQUIRE(status.message().find(text) != std::string::npos);
}

} // namespace

TEST_CASE("artifact: collectives", "[artifact]") {
  const std::pair<uint32_t, std::string> ops[] = {
      {SINTER_ALL_REDUCE, "all_reduce"},
      {SINTER_REDUCE_SCATTER, "reduce_scatter"},
      {SINTER_ALL_GATHER, "all_gather"}};
  for (const auto &[op, name] : ops) {
    CAPTURE(name);
    const CollectiveSample sample(op);
    const Status status = checkArtifact(sample.artifact);
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(commandName(sample.commands[3]) == name);

    refused(op, "the unknown collective op 3",
            [](CollectiveSample &s) { s.commands[3].collective.op = 3; });
    refused(op, "the unknown mesh axis 1",
            [](CollectiveSample &s) { s.commands[3].collective.axis = 1; });
    refused(op, "elements of dtype 99",
            [](CollectiveSample &s) { s.commands[3].collective.dtype = 99; });
    refused(op, "as many written slices as read ones",
            [](CollectiveSample &s) { s.commands[3].numReads = 1; });
    // Parts of half an element, and other ratios.
    refused(op, (name + " of 4 replicas reads ").c_str(),
            [](CollectiveSample &s) {
              for (sinter_slice &slice : s.slices)
                slice.sizeBytes /= 16;
            });
    for (int i = 0; i < 4; ++i)
      for (int more : {-4, 1})
        refused(op, (name + " of 4 replicas reads ").c_str(),
                [&](CollectiveSample &s) {
                  s.slices[i].sizeBytes += static_cast<uint64_t>(more);
                });
    refused(op, "nothing waits for the collective of event 2",
            [](CollectiveSample &s) { s.entries[0].numCommands = 4; });
    refused(op, "waits for event 1, which no collective before it has",
            [](CollectiveSample &s) { s.commands[4].event = 1; });
    refused(op, "the event 5 of another collective",
            [](CollectiveSample &s) { s.commands[3].collective.event = 5; });
  }
  refused(SINTER_REDUCE_SCATTER,
          "reduce_scatter of 2 replicas reads 128 bytes and writes 32",
          [](CollectiveSample &s) { s.training.replicas = 2; });
  refused(SINTER_ALL_GATHER,
          "all_gather of 1 replicas reads 32 bytes and writes 128",
          [](CollectiveSample &s) { s.artifact.training = nullptr; });
  // Bools are gathered, not summed.
  for (const auto &[op, name] : ops) {
    CAPTURE(name);
    auto toBool = [](CollectiveSample &s) {
      s.commands[3].collective.dtype = SINTER_BOOL;
    };
    if (op != SINTER_ALL_GATHER) {
      refused(op, "sums elements of bool", toBool);
      continue;
    }
    CollectiveSample sample(op);
    toBool(sample);
    CHECK(checkArtifact(sample.artifact).ok());
  }
}

TEST_CASE("artifact: matmul parameters", "[artifact]") {
  refused("no parameters",
          [](Sample &s) { s.commands[1].matmul.params = nullptr; });
  refused("slices", [](Sample &s) { s.commands[1].numSlices = 2; });
  refused("dtype 0", [](Sample &s) { s.matmul.dtype = 0; });
  refused("multiplies", [](Sample &s) {
    s.commands[1].matmul.dtypeOfB = SINTER_I8; // A and C are fp32
  });
  refused("multiplies", [](Sample &s) {
    s.matmul.dtype = SINTER_U8;
    s.matmul.outDtype = SINTER_I32;
    s.commands[1].matmul.dtypeOfB = SINTER_I16;
  });
  refused("weights of 5 bits", [](Sample &s) { s.matmul.weights.bits = 5; });
  auto coded = [](Sample &s) {
    s.matmul.weights = {8, 0, 0, 1, 0, 0, s.matmul.k};
    s.commands[1].matmul.dtypeOfB = SINTER_I8;
  };
  refused("codes in", [&](Sample &s) {
    coded(s);
    s.commands[1].matmul.dtypeOfB = 0;
  });
  refused("codes in", [&](Sample &s) {
    coded(s);
    s.matmul.weights.bits = 4; // signed
  });
  refused("blocks of 3 weights", [&](Sample &s) {
    coded(s);
    s.matmul.weights.block = 3;
  });
  refused("other strides", [&](Sample &s) {
    coded(s);
    s.matmul.bStrideN = 2;
  });
  refused("of slice 3", [&](Sample &s) {
    coded(s);
    s.matmul.weights.scales = 3;
  });
  refused("table of zero points ends at", [&](Sample &s) {
    coded(s);
    s.matmul.weights = {8, 0, 2, 1, 0, 0, 1};
  });
  refused("B ends at", [&](Sample &s) {
    coded(s);
    s.matmulSlices[1].sizeBytes = static_cast<uint64_t>(s.matmul.k) - 1;
  });
  refused("batch dimensions", [](Sample &s) { s.matmul.batchRank = 5; });
  refused("batch dimension -1", [](Sample &s) {
    s.matmul.batchRank = 1;
    s.matmul.batch[0] = -1;
  });
  refused("m, n, k", [](Sample &s) { s.matmul.k = -8; });
  refused("A ends at", [](Sample &s) { s.matmul.m = 5; });
  refused("B ends at", [](Sample &s) { s.matmul.bStrideK = 9; });
  refused("negative stride", [](Sample &s) { s.matmul.aStrideM = -8; });
  refused("2^63", [](Sample &s) { s.matmul.aStrideM = INT64_MAX; });
  refused("overlap", [](Sample &s) { s.matmul.cStrideM = 7; });
  refused("overlap", [](Sample &s) {
    s.matmul.batchRank = 1;
    s.matmul.batch[0] = 3;
  });
  refused("C ends at", [](Sample &s) { s.matmulSlices[3].sizeBytes = 124; });
  refused("bias ends at", [](Sample &s) { s.matmulSlices[2].sizeBytes = 28; });
  refused("post-ops",
          [](Sample &s) { s.matmul.numPostOps = SINTER_MAX_POST_OPS + 1; });
  refused("unknown post-op", [](Sample &s) { s.matmul.postOps[0].kind = 0; });
  refused("post-op reads slice 3",
          [](Sample &s) { s.matmul.postOps[0].slice = 3; });
  refused("post-op reads slice 1",
          [](Sample &s) { s.matmul.postOps[0].slice = 1; });
  refused("added operand",
          [](Sample &s) { s.matmul.postOps[0].kind = SINTER_POST_ADD; });
  // A post-op that writes adds a result.
  refused("2 results after two or more operands",
          [](Sample &s) { s.matmul.postOps[0].kind = SINTER_POST_STORE; });
  refused("bits ends at",
          [](Sample &s) { s.matmul.postOps[0].kind = SINTER_POST_RELU_GRAD; });
  refused("unknown post-op", [](Sample &s) {
    s.matmul.postOps[0].kind = SINTER_POST_CHANNEL_SQUARES + 1;
  });
  refused("unknown post-op 19", [](Sample &s) {
    s.matmul.postOps[0].kind = SINTER_POST_CHANNEL_SUM;
    s.commands[1].numReads = 2;
    s.matmulSlices[2] = {SINTER_SPACE_ARENA, 0, 192, 32};
  });
}

TEST_CASE("artifact: convolution parameters", "[artifact]") {
  refused("direction", [](Sample &s) { s.conv.direction = 0; });
  refused("layout", [](Sample &s) { s.conv.layout = 3; });
  refused("spatial dimensions", [](Sample &s) { s.conv.spatialRank = 4; });
  refused("groups", [](Sample &s) { s.conv.groups = 3; });
  refused("groups", [](Sample &s) { s.conv.groups = 0; });
  refused("out of range", [](Sample &s) { s.conv.strides[0] = 0; });
  refused("out of range", [](Sample &s) { s.conv.kernel[0] = 0; });
  refused("out of range", [](Sample &s) { s.conv.dilations[0] = INT64_MAX; });
  refused("gives 8 outputs", [](Sample &s) { s.conv.outputDims[0] = 9; });
  refused("input ends at", [](Sample &s) { s.conv.batch = 2; });
  refused("filter ends at", [](Sample &s) { s.convSlices[1].sizeBytes = 92; });
  refused("output ends at", [](Sample &s) { s.conv.filters = 3; });
  refused("multiplies", [](Sample &s) {
    s.commands[2].conv.dtypeOfFilter = SINTER_I8; // the input is fp32
  });
  refused("multiplies", [](Sample &s) {
    s.conv.dtype = SINTER_U8;
    s.conv.outDtype = SINTER_F32; // without DEQUANTIZE
    s.commands[2].conv.dtypeOfFilter = SINTER_I8;
  });
  refused("unknown post-op", [](Sample &s) { // of fp32
    s.conv.numPostOps = 1;
    s.conv.postOps[0] = {SINTER_POST_DEQUANTIZE, 1, 0, 0};
  });
  refused("out of order", [](Sample &s) {
    s.conv.dtype = s.conv.outDtype = SINTER_U8;
    s.conv.numPostOps = 1;
    s.conv.postOps[0] = {SINTER_POST_QUANTIZE, 0, 1, 0};
  });
  refused("out of order", [](Sample &s) {
    s.conv.dtype = s.conv.outDtype = SINTER_U8;
    s.conv.numPostOps = 1;
    s.conv.postOps[0] = {SINTER_POST_FAKE_QUANTIZE, 0, 1, 0};
  });
  refused("pads f32 with 3", [](Sample &s) { s.conv.padValue = 3; });
  refused("pads u8 with 3", [](Sample &s) { // without DEQUANTIZE
    s.conv.dtype = SINTER_U8;
    s.conv.padValue = 3;
  });
  refused("no post-ops", [](Sample &s) {
    s.conv.direction = SINTER_CONV_FILTER_GRAD;
    s.convSlices[1] = {SINTER_SPACE_ARENA, 0, 128, 64};
    s.convSlices[2] = {SINTER_SPACE_STATE, 0, 0, 256};
    s.conv.numPostOps = 1;
    s.conv.postOps[0].kind = SINTER_POST_RELU;
  });
}

TEST_CASE("artifact: the sums of channels", "[artifact]") {
  // A convolution of two filters that keeps both sums of 8 bytes.
  struct Sums {
    sinter_slice slices[5];
    explicit Sums(Sample &s)
        : slices{s.convSlices[0],
                 s.convSlices[1],
                 {SINTER_SPACE_ARENA, 0, 192, 8},
                 {SINTER_SPACE_ARENA, 0, 208, 8},
                 s.convSlices[2]} {
      s.conv.postOps[0] = {SINTER_POST_CHANNEL_SUM, 2, 0, 0};
      s.conv.postOps[1] = {SINTER_POST_CHANNEL_SQUARES, 3, 0, 0};
      s.conv.numPostOps = 2;
      s.commands[2] = Sample::with(test::callOf(&s.conv), slices, 5, 2);
    }
  };
  auto check = [](const char *text,
                  const std::function<void(Sample &, Sums &)> &damage) {
    auto sample = std::make_unique<Sample>();
    Sums sums(*sample);
    damage(*sample, sums);
    std::string message = checkArtifact(sample->artifact).message();
    CAPTURE(message, text);
    REQUIRE(
        (*text ? message.find(text) != std::string::npos : message.empty()));
  };
  check("", [](Sample &, Sums &) {});
  check("sum of a channel's squares ends at",
        [](Sample &, Sums &s) { s.slices[3].sizeBytes = 4; });
  check("3 results after two or more operands",
        [](Sample &s, Sums &) { s.commands[2].numReads = 3; });
  check("unknown post-op 19", [](Sample &s, Sums &) {
    std::swap(s.conv.postOps[0], s.conv.postOps[1]);
    s.conv.postOps[1].kind = SINTER_POST_CHANNEL_SUM;
    s.conv.postOps[0].kind = SINTER_POST_RELU;
    s.conv.postOps[2] = {SINTER_POST_CHANNEL_SQUARES, 3, 0, 0};
    s.conv.postOps[3] = {SINTER_POST_RELU, 0, 0, 0};
    s.conv.numPostOps = 4;
  });
  check("unknown post-op 20", [](Sample &s, Sums &) {
    s.conv.postOps[0] = {SINTER_POST_CHANNEL_SQUARES, 2, 0, 0};
  });
  check("unknown post-op 19", [](Sample &s, Sums &of) {
    s.conv.direction = SINTER_CONV_INPUT_GRAD;
    std::swap(of.slices[0], of.slices[4]);
  });
}

TEST_CASE("artifact: attention parameters", "[artifact]") {
  // query, key and value packed in 384 bytes of fp16: 1 batch, 2 heads of 4
  // rows and 8 columns.
  struct Attention {
    sinter_slice slices[10];
    sinter_attention params{};

    explicit Attention(Sample &sample, uint32_t direction) {
      sample.entries[0].arenaBytes = 4096;
      bool forward = direction == SINTER_ATTENTION_FORWARD;
      for (uint64_t i = 0; i < 9; ++i)
        slices[i] = {SINTER_SPACE_ARENA, 0, i * 256, 128};
      for (uint64_t i = 0; i < 3; ++i)
        slices[i] = {SINTER_SPACE_ARENA, 0, i * 32, 384 - i * 32};
      slices[forward ? 3 : 5].sizeBytes = 32;
      params.direction = direction;
      params.dtype = SINTER_F16;
      params.hasStats = 1;
      params.batch = 1;
      params.heads = 2;
      params.queries = params.keys = 4;
      params.depth = 8;
      params.query = params.key = params.value = {192, 8, 48};
      params.output = params.outputGrad = params.queryGrad = params.keyGrad =
          params.valueGrad = {64, 32, 8};
      sample.commands[0] = Sample::with(test::callOf(&params), slices,
                                        forward ? 5 : 9, forward ? 3 : 6);
    }
  };
  auto check =
      [](uint32_t direction, const char *text,
         const std::function<void(Attention &, sinter_command &)> &damage) {
        auto sample = std::make_unique<Sample>();
        Attention attention(*sample, direction);
        damage(attention, sample->commands[0]);
        Status status = checkArtifact(sample->artifact);
        INFO(text << " <- " << status.message());
        REQUIRE(status.ok() == (*text == 0));
        REQUIRE(status.message().find(text) != std::string::npos);
      };
  constexpr uint32_t forward = SINTER_ATTENTION_FORWARD,
                     backward = SINTER_ATTENTION_BACKWARD;
  for (uint32_t direction : {forward, backward})
    check(direction, "", [](Attention &, sinter_command &) {});
  check(forward, "unknown direction 3",
        [](Attention &a, sinter_command &) { a.params.direction = 3; });
  check(forward, "has no parameters",
        [](Attention &, sinter_command &c) { c.attention.params = nullptr; });
  check(forward, "5 and 3 are expected",
        [](Attention &, sinter_command &c) { c.numSlices = 4; });
  check(backward, "has no statistics",
        [](Attention &a, sinter_command &) { a.params.hasStats = 0; });
  check(forward, "has the size 0",
        [](Attention &a, sinter_command &) { a.params.keys = 0; });
  check(forward, "the value ends at element",
        [](Attention &a, sinter_command &) { a.params.value.rowStride = 49; });
  check(backward, "the key grad is written with strides that overlap",
        [](Attention &a, sinter_command &) { a.params.keyGrad.rowStride = 4; });
  check(forward, "the softmax statistic ends at element",
        [](Attention &a, sinter_command &) { a.slices[3].sizeBytes = 28; });
  check(backward, "negative stride", [](Attention &a, sinter_command &) {
    a.params.output.headStride = -8;
  });
  // A mask of 4 keys, after the other operands.
  auto addMask = [](Attention &a, sinter_command &c) {
    a.params.hasMask = 1;
    for (uint32_t i = c.numSlices - 1; i >= c.numReads; --i)
      a.slices[i + 1] = a.slices[i];
    a.slices[c.numReads] = {SINTER_SPACE_ARENA, 0, 3840, 16};
    ++c.numReads;
    ++c.numSlices;
  };
  for (uint32_t direction : {forward, backward}) {
    check(direction, "", addMask);
    check(direction, "are expected", [&](Attention &a, sinter_command &c) {
      addMask(a, c);
      a.params.hasMask = 0;
    });
    check(direction, "the mask ends at element 7 of",
          [&](Attention &a, sinter_command &c) {
            addMask(a, c);
            a.params.mask.headStride = 4;
          });
    check(direction, "the mask has the negative stride",
          [&](Attention &a, sinter_command &c) {
            addMask(a, c);
            a.params.mask.rowStride = -4;
          });
  }
  check(forward, "has 2 masks",
        [](Attention &a, sinter_command &) { a.params.hasMask = 2; });
}

TEST_CASE("checks: a program for several targets", "[checks]") {
  Sample cpu, second, third;
  cpu.artifact.next = &second.artifact;
  second.artifact.target = "cuda";
  static const uint8_t image[] = "x";
  sinter_image images{SINTER_IMAGE_PTX, 80, image, 2};
  for (Sample *gpu : {&second, &third}) {
    gpu->artifact.images = &images;
    gpu->artifact.numImages = 1;
    for (int i = 0; i < 3; ++i)
      gpu->kernel.grid[i] = gpu->kernel.block[i] = 1;
  }
  auto message = [&] { return checkArtifacts(cpu.artifact).message(); };
  CHECK(message() == "");
  CHECK(*artifactFor(cpu.artifact, "cuda", "cuda:0") == &second.artifact);
  CHECK(artifactFor(cpu.artifact, "sim", "sim:1").status().message() ==
        "the program was compiled for cpu and cuda; it cannot run on sim:1");
  second.artifact.next = &third.artifact;
  third.artifact.target = "cuda";
  CHECK(message() == "corrupt artifact: two of its parts are for cuda");
  second.artifact.next = &second.artifact;
  CHECK(message() == "corrupt artifact: its chain of targets does not end");
  second.artifact.next = nullptr;
  second.states[1].tensor.name = "other";
  CHECK(message().find("state 1 is ") != std::string::npos);
  second.artifact.numStates = 1;
  CHECK(message() != "");
  second.states[1].tensor.name = cpu.states[1].tensor.name;
  second.artifact.numStates = 2;
  CHECK(message() == "");
  second.artifact.magic = 0;
  CHECK(message() != "");
}
