//===- ConvChainTest.cpp - convolutions that run in bands -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A chain gives the bits of the same convolutions one by one.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/OneCommand.h"

#include "runtime/exec/ArtifactChecks.h"

#include <functional>
#include <memory>
#include <numeric>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::test;

namespace {

/// One convolution of a chain.
struct Layer {
  int64_t filters, kernel = 1, stride = 1, padLow = 0, padHigh = 0,
                   dilation = 1;
  bool isDepthwise = false;
  uint32_t postOp = SINTER_POST_RELU; // after a bias
  bool addsInput = false;             // that of the chain
};

Layer depthwise(int64_t kernel, int64_t stride,
                uint32_t postOp = SINTER_POST_HARD_SWISH) {
  return {0, kernel, stride, kernel / 2, kernel / 2, 1, true, postOp};
}

/// A program of these convolutions on channels-last images, joined to a chain
/// or with arena memory between them.
class Chain {
public:
  Chain(int64_t batch, int64_t height, int64_t width, int64_t channels,
        std::vector<Layer> layers, bool isJoined)
      : params_(layers.size()), slices_(layers.size()) {
    inputElements_ = batch * height * width * channels;
    uint64_t arena = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Layer &layer = layers[i];
      sinter_conv &p = params_[i];
      p.direction = SINTER_CONV_FORWARD;
      p.dtype = SINTER_F32;
      p.layout = SINTER_CHANNELS_LAST;
      p.spatialRank = 2;
      p.batch = batch;
      p.channels = channels;
      p.filters = layer.isDepthwise ? channels : layer.filters;
      p.groups = layer.isDepthwise ? channels : 1;
      const uint64_t inputBytes = floatBytes(batch * height * width * channels);
      for (int d = 0; d < 2; ++d) {
        p.inputDims[d] = d == 0 ? height : width;
        p.kernel[d] = layer.kernel;
        p.strides[d] = layer.stride;
        p.dilations[d] = layer.dilation;
        p.padsLow[d] = layer.padLow;
        p.padsHigh[d] = layer.padHigh;
        p.outputDims[d] = (p.inputDims[d] + layer.padLow + layer.padHigh -
                           (layer.kernel - 1) * layer.dilation - 1) /
                              layer.stride +
                          1;
      }
      addPostOp(p, SINTER_POST_BIAS);
      addCommonPostOp(p, layer.postOp);
      if (layer.addsInput)
        addPostOp(p, SINTER_POST_ADD);
      height = p.outputDims[0];
      width = p.outputDims[1];
      const auto seed = static_cast<uint32_t>(i);
      const bool isLast = i + 1 == layers.size();
      auto &slices = slices_[i];
      slices.push_back(i == 0
                           ? sinter_slice{SINTER_SPACE_INPUT, 0, 0, inputBytes}
                           : slices_[i - 1].back());
      slices.push_back(constant(p.filters * p.channels / p.groups *
                                    layer.kernel * layer.kernel,
                                2 * seed));
      slices.push_back(constant(p.filters, 2 * seed + 1));
      if (layer.addsInput)
        slices.push_back(slices_[0][0]);
      channels = p.filters;
      const uint64_t bytes = floatBytes(batch * height * width * channels);
      slices.push_back(isLast ? sinter_slice{SINTER_SPACE_OUTPUT, 0, 0, bytes}
                       : isJoined
                           ? sinter_slice{SINTER_SPACE_CHAIN,
                                          static_cast<uint32_t>(i), 0, bytes}
                           : sinter_slice{SINTER_SPACE_ARENA, 0, arena, bytes});
      arena += isLast || isJoined ? 0 : (bytes + 63) / 64 * 64;
    }
    outputElements_ = batch * height * width * channels;
    for (size_t i = 0; i < layers.size(); ++i) {
      sinter_command &command = commands_.emplace_back();
      command.kind = SINTER_CMD_CONV;
      command.conv.params = &params_[i];
      command.slices = slices_[i].data();
      command.numSlices = static_cast<uint32_t>(slices_[i].size());
      command.numReads = command.numSlices - 1;
      command.label = "conv";
    }
    input_ = {"x", &inputElements_, floatBytes(inputElements_), SINTER_F32, 1};
    output_ = {"y", &outputElements_, floatBytes(outputElements_), SINTER_F32,
               1};
    entry_.name = "main";
    entry_.inputs = &input_;
    entry_.numInputs = 1;
    entry_.outputs = &output_;
    entry_.numOutputs = 1;
    entry_.arenaBytes = arena;
    entry_.commands = commands_.data();
    entry_.numCommands = static_cast<uint32_t>(commands_.size());
    artifact = OneCommand::emptyArtifact();
    artifact.entries = &entry_;
    artifact.numEntries = 1;
    artifact.constantsBytes = 4 * constants_.size();
    alignas(64) static const uint8_t none[64] = {};
    artifact.constants = none; // until run()
    // For bands that are smaller than an image on every CPU.
    static const uint64_t workspaceBytes = 2 << 20;
    artifact.workspaces = &workspaceBytes;
  }
  Chain(const Chain &) = delete;

  /// What the program gives; `descriptions` is what the library chose.
  std::vector<float> run(int threads, CommandWatch *watch = nullptr) {
    Result<AlignedBlock> constants =
        AlignedBlock::allocate(4 * constants_.size(), "constants");
    REQUIRE(constants.ok());
    std::memcpy(constants->data(), constants_.data(), 4 * constants_.size());
    artifact.constants = constants->data();
    artifact.constantsBytes = constants->sizeBytes();
    auto device = cpu::createCpuDevice(threads);
    REQUIRE(device.ok());
    auto program = Program::create(artifact, std::move(*device));
    INFO(program.status().message());
    REQUIRE(program.ok());
    descriptions.clear();
    for (uint32_t i = 0; i < entry_.numCommands; ++i)
      descriptions.push_back((*program)->find("main")->describe(i));
    if (watch)
      (*program)->setWatch(watch);
    std::vector<float> x = someValues(inputElements_, 77),
                       y(static_cast<size_t>(outputElements_), -7.0f);
    const void *inputs[] = {x.data()};
    void *outputs[] = {y.data()};
    for (int i = 0; i < 2; ++i) {
      Status status = (*program)->run("main", nullptr, inputs, outputs);
      INFO(status.message());
      REQUIRE(status.ok());
    }
    return y;
  }

  sinter_conv &params(size_t index) { return params_[index]; }
  /// Gives convolution `index` a filter of the size of its parameters.
  void resizeFilter(size_t index) {
    const sinter_conv &p = params_[index];
    slices_[index][1] = constant(
        p.filters * p.channels / p.groups * p.kernel[0] * p.kernel[1], 99);
    artifact.constantsBytes = 4 * constants_.size();
  }
  sinter_command &command(size_t index) { return commands_[index]; }
  sinter_slice &slice(size_t command, size_t index) {
    return slices_[command][index];
  }
  sinter_artifact artifact;
  std::vector<std::string> descriptions;

private:
  static uint64_t floatBytes(int64_t elements) {
    return 4 * static_cast<uint64_t>(elements);
  }
  sinter_slice constant(int64_t elements, uint32_t seed) {
    sinter_slice slice{SINTER_SPACE_CONSTANT, 0, 4 * constants_.size(),
                       floatBytes(elements)};
    std::vector<float> values = someValues(elements, seed);
    constants_.insert(constants_.end(), values.begin(), values.end());
    constants_.resize((constants_.size() + 15) / 16 * 16);
    return slice;
  }

  int64_t inputElements_, outputElements_ = 0;
  std::vector<sinter_conv> params_;
  std::vector<std::vector<sinter_slice>> slices_;
  std::vector<sinter_command> commands_;
  std::vector<float> constants_;
  sinter_tensor_desc input_, output_;
  sinter_entry entry_{};
};

/// Keeps what each command wrote.
class Results final : public CommandWatch {
public:
  Status ran(const RanCommand &command) override {
    const sinter_command &row = command.entry.commands[command.index];
    const sinter_slice &result = row.slices[row.numSlices - 1];
    const auto *bytes =
        static_cast<const float *>(command.buffers[row.numSlices - 1]);
    written.emplace_back(bytes, bytes + result.sizeBytes / 4);
    return {};
  }
  std::vector<std::vector<float>> written;
};

struct Case {
  const char *name;
  int64_t batch, height, width, channels;
  std::vector<Layer> layers;
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"expand, depthwise", 1, 40, 40, 24, {{96}, depthwise(3, 1)}},
      {"with swish",
       1,
       40,
       40,
       24,
       {{96, 1, 1, 0, 0, 1, false, SINTER_POST_SWISH},
        depthwise(3, 1, SINTER_POST_SWISH)}},
      {"with swish, deep",
       1,
       26,
       24,
       160,
       {{192, 1, 1, 0, 0, 1, false, SINTER_POST_SWISH},
        depthwise(3, 1, SINTER_POST_SWISH)}},
      {"stride 2", 1, 41, 43, 24, {{96}, depthwise(3, 2)}},
      {"kernel 5, images", 3, 30, 30, 40, {{120}, depthwise(5, 1)}},
      {"expand, depthwise, project, add",
       2,
       44,
       40,
       16,
       {{96},
        depthwise(3, 1),
        {16, 1, 1, 0, 0, 1, false, SINTER_POST_RELU, true}}},
      {"depthwise, pointwise", 1, 60, 60, 32, {depthwise(3, 1), {64}}},
      {"uneven pads", 1, 47, 40, 32, {{64}, {0, 3, 1, 0, 2, 1, true}}},
      {"without pads", 1, 50, 40, 32, {{64}, {0, 3, 2, 0, 0, 1, true}}},
      {"two windows", 1, 48, 50, 48, {depthwise(3, 1), depthwise(5, 1)}},
      {"a window smaller than its stride",
       1,
       81,
       40,
       32,
       {{64}, {48, 1, 3, 0, 0}, {64}}},
      {"large pads", 1, 60, 40, 32, {{64}, {0, 3, 1, 2, 2, 1, true}}},
      {"whole images", 12, 7, 7, 64, {{128}, depthwise(3, 1), {64}}},
      {"tall", 1, 480, 10, 24, {{96}, depthwise(3, 1)}},
      {"tall, stride 2", 1, 481, 16, 24, {{64}, depthwise(3, 2), {24}}},
      {"four", 1, 40, 64, 16, {{32}, depthwise(3, 1), {24}, depthwise(3, 2)}},
  };
  return all;
}

const Case &caseOf(const std::string &name) {
  return *std::ranges::find(cases(), name, &Case::name);
}

} // namespace

TEST_CASE("chains: the bits of single convolutions", "[conv][chain]") {
  int inThreads = 0; // runs with more threads in bands
  for (const Case &each : cases()) {
    INFO(each.name);
    Chain single(each.batch, each.height, each.width, each.channels,
                 each.layers, false);
    Chain joined(each.batch, each.height, each.width, each.channels,
                 each.layers, true);
    Results expected;
    const std::vector<float> y = single.run(1, &expected);
    REQUIRE(sameBits(y, joined.run(1)));
    INFO(joined.descriptions[0]);
    REQUIRE(joined.descriptions[0].find("in bands of ") != std::string::npos);
    REQUIRE(joined.descriptions[1] == "with the command before it");
    for (int threads : {2, 3}) {
      REQUIRE(sameBits(y, joined.run(threads)));
      inThreads += joined.descriptions[0].find("in bands of ") == 0;
    }
    // With a watch, each command writes all of its own result.
    for (int threads : {1, 2}) {
      Results results;
      REQUIRE(sameBits(y, joined.run(threads, &results)));
      REQUIRE(results.written.size() == expected.written.size());
      for (size_t i = 0; i < results.written.size(); ++i)
        REQUIRE(sameBits(results.written[i], expected.written[i]));
    }
  }
  REQUIRE(inThreads > 6);
}

TEST_CASE("chains: what runs in no bands has memory", "[conv][chain]") {
  auto refuse = [](const std::function<void(Chain &)> &change) {
    const Case &each = cases()[0];
    std::vector<float> results[2];
    for (bool isJoined : {false, true}) {
      Chain chain(each.batch, each.height, each.width, each.channels,
                  each.layers, isJoined);
      change(chain);
      results[isJoined] = chain.run(1);
      for (const std::string &text : chain.descriptions)
        REQUIRE(text.find("in bands of ") == std::string::npos);
    }
    REQUIRE(sameBits(results[0], results[1]));
  };
  SECTION("plain loops") {
    refuse([](Chain &chain) { chain.command(0).conv.way = SINTER_BY_LOOPS; });
  }
  SECTION("a result that is read in another shape") {
    refuse([](Chain &chain) {
      for (int64_t *dims :
           {chain.params(1).inputDims, chain.params(1).outputDims}) {
        dims[0] /= 2;
        dims[1] *= 2;
      }
    });
  }
  SECTION("a convolution of another kind") {
    refuse([](Chain &chain) {
      for (int d = 0; d < 2; ++d) {
        chain.params(0).kernel[d] = 3;
        chain.params(0).padsLow[d] = chain.params(0).padsHigh[d] = 1;
      }
      chain.resizeFilter(0);
    });
  }
  SECTION("scratch that is too small") {
    static const uint64_t bytes = 64 << 10;
    refuse([](Chain &chain) { chain.artifact.workspaces = &bytes; });
  }
}

TEST_CASE("chains: artifacts that break one", "[artifact][chain]") {
  auto refused = [](const char *text,
                    const std::function<void(Chain &)> &damage) {
    const Case &each = caseOf("expand, depthwise, project, add");
    Chain chain(each.batch, each.height, each.width, each.channels, each.layers,
                true);
    const Status whole = checkArtifact(chain.artifact);
    INFO(whole.message());
    REQUIRE(whole.ok());
    damage(chain);
    Status status = checkArtifact(chain.artifact);
    INFO(text << " <- " << status.message());
    REQUIRE(status.code() == SINTER_INVALID);
    REQUIRE(status.message().find(text) != std::string::npos);
  };
  refused("does not read its result",
          [](Chain &chain) { chain.slice(1, 0).index = 1; });
  refused("does not read its result", [](Chain &chain) {
    chain.slice(0, 3).index = chain.slice(1, 0).index = 1;
  });
  refused("link of a chain 3 of 3",
          [](Chain &chain) { chain.slice(0, 3).index = 3; });
  refused("exceed its space",
          [](Chain &chain) { chain.slice(0, 3).offsetBytes = 64; });
  refused("not forward convolutions of one stream", [](Chain &chain) {
    chain.command(1).stream = SINTER_STREAM_GRADIENT;
  });
  refused("not between two commands of a chain",
          [](Chain &chain) { chain.slice(2, 3) = chain.slice(1, 0); });
  refused("is chained, but the last one", [](Chain &chain) {
    chain.slice(2, 4) = {SINTER_SPACE_CHAIN, 2, 0, chain.slice(2, 4).sizeBytes};
  });
}
