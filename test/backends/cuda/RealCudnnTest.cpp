//===- RealCudnnTest.cpp - what the installed cuDNN makes of our graphs ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Nothing runs: plans are made for a described H200, written as text and read
// back. cuDNN must recognise the graphs that ConvPlan accepts for the compiler
// and the simulated device, and must have no engine for those that it refuses.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/RealCudnn.h"
#include "backends/cuda/library/ConvPlan.h"
#include "backends/cuda/library/DnnChoice.h"
#include "backends/cuda/library/Loader.h"
#include "backends/cuda/library/SdpaPlan.h"
#include "runtime/base/File.h"
#include "test/backends/cuda/CacheFolder.h"

#include <catch2/catch.hpp>

#include <set>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::test;

namespace {

struct Layout {
  uint32_t activations, filter;
};
constexpr Layout first{SINTER_CHANNELS_FIRST, SINTER_CHANNELS_FIRST},
    mixed{SINTER_CHANNELS_LAST, SINTER_CHANNELS_FIRST},
    last{SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST};

/// 8 images of 28x28, 64 to 128 channels, 3x3.
sinter_conv makeConv(uint32_t dtype, uint32_t direction, Layout layout) {
  sinter_conv p{};
  p.direction = direction;
  p.dtype = dtype;
  p.layout = layout.activations;
  p.filterLayout = layout.filter;
  p.spatialRank = 2;
  p.batch = 8;
  p.channels = 64;
  p.filters = 128;
  p.groups = 1;
  for (int i = 0; i < 2; ++i) {
    p.inputDims[i] = p.outputDims[i] = 28;
    p.kernel[i] = 3;
    p.strides[i] = p.dilations[i] = p.padsLow[i] = p.padsHigh[i] = 1;
  }
  return p;
}

void post(sinter_conv &p, std::initializer_list<uint32_t> kinds) {
  uint32_t slice = 2;
  for (uint32_t kind : kinds)
    p.postOps[p.numPostOps++] = {kind, kind <= SINTER_POST_ADD ? slice++ : 0, 0,
                                 6};
}

LibraryOptions roomy() {
  LibraryOptions options;
  options.maxWorkspaceBytes = 1u << 30;
  return options;
}

/// Makes a plan, writes it as text, reads it back; returns the pattern that was
/// recognised.
std::string patternOf(const DnnContext &dnn, const sinter_conv &conv) {
  DnnGraph graph = convGraph(conv, 9);
  CAPTURE(conv.dtype, conv.direction, conv.layout, conv.filterLayout,
          conv.numPostOps);
  REQUIRE(graph.refusal == "");
  auto plan = DnnPlan::build(dnn, graph, roomy());
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  REQUIRE(plan->candidates() > 0);
  REQUIRE(plan->workspaceBytes() <= roomy().maxWorkspaceBytes);
  auto json = plan->json();
  REQUIRE(json.ok());
  auto reloaded = DnnPlan::reload(dnn, *json);
  INFO(reloaded.status().message());
  REQUIRE(reloaded.ok());
  REQUIRE(reloaded->workspaceBytes() == plan->workspaceBytes());
  return textOf(*json, "finalizeMode");
}

/// Whether there is an engine for a graph that ConvPlan refuses.
bool hasEngine(const DnnContext &dnn, const DnnGraph &graph) {
  return DnnPlan::build(dnn, graph, roomy()).ok();
}

} // namespace

TEST_CASE("real cuDNN: the three convolutions in every layout", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  REQUIRE(dnn.version().find("cuDNN 9.") == 0);
  const char *patterns[] = {"", "CONV_FORWARD", "CONV_BWD_DATA",
                            "CONV_BWD_FILTER"};
  for (uint32_t dtype : {SINTER_F32, SINTER_BF16, SINTER_F16})
    for (Layout layout : {first, mixed, last})
      for (uint32_t direction = 1; direction <= 3; ++direction)
        REQUIRE(patternOf(dnn, makeConv(dtype, direction, layout)) ==
                patterns[direction]);
}

TEST_CASE("real cuDNN: 16-bit operands with a float32 result", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  for (uint32_t dtype : {SINTER_BF16, SINTER_F16})
    for (Layout layout : {first, mixed, last})
      for (uint32_t direction = 1; direction <= 3; ++direction) {
        sinter_conv conv = makeConv(dtype, direction, layout);
        conv.outDtype = SINTER_F32;
        if (direction == SINTER_CONV_FORWARD) {
          REQUIRE(patternOf(dnn, conv) == "CONV_FORWARD");
          continue;
        }
        // Gradients have the type of their operands.
        REQUIRE(convGraph(conv, 9).refusal.find("into dtype") !=
                std::string::npos);
        conv.outDtype = 0;
        DnnGraph graph = convGraph(conv, 9);
        graph.tensors.back().type = dnn::f32;
        REQUIRE_FALSE(hasEngine(dnn, graph));
      }
}

TEST_CASE("real cuDNN: tf32 where it is asked for", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  for (Layout layout : {first, mixed, last}) {
    sinter_conv exact = makeConv(SINTER_F32, SINTER_CONV_FORWARD, layout),
                rounded = makeConv(SINTER_TF32, SINTER_CONV_FORWARD, layout);
    auto wide = DnnPlan::build(dnn, convGraph(exact, 9), roomy());
    auto tensor = DnnPlan::build(dnn, convGraph(rounded, 9), roomy());
    REQUIRE(wide.ok());
    REQUIRE(tensor.ok());
    REQUIRE(tensor->candidates() > wide->candidates());
  }
}

TEST_CASE("real cuDNN: addition, bias and activation in every layout",
          "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  for (uint32_t dtype : {SINTER_F32, SINTER_BF16})
    for (Layout layout : {first, mixed, last})
      for (auto kinds : std::initializer_list<std::initializer_list<uint32_t>>{
               {SINTER_POST_BIAS},
               {SINTER_POST_BIAS, SINTER_POST_RELU},
               {SINTER_POST_BIAS, SINTER_POST_ADD, SINTER_POST_RELU},
               {SINTER_POST_BIAS, SINTER_POST_CLIP},
               {SINTER_POST_BIAS, SINTER_POST_SIGMOID},
               {SINTER_POST_BIAS, SINTER_POST_TANH}}) {
        sinter_conv conv = makeConv(dtype, SINTER_CONV_FORWARD, layout);
        post(conv, kinds);
        REQUIRE(patternOf(dnn, conv) == "CONV_ADD_BIAS_ACT");
      }
  // Groups and other ranks too.
  sinter_conv conv = makeConv(SINTER_F32, SINTER_CONV_FORWARD, mixed);
  conv.groups = 4;
  post(conv, {SINTER_POST_BIAS, SINTER_POST_ADD, SINTER_POST_RELU});
  REQUIRE(patternOf(dnn, conv) == "CONV_ADD_BIAS_ACT");
  conv.spatialRank = 1;
  REQUIRE(patternOf(dnn, conv) == "CONV_ADD_BIAS_ACT");
}

TEST_CASE("real cuDNN: any steps with channels last", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  sinter_conv conv = makeConv(SINTER_F32, SINTER_CONV_FORWARD, last);
  post(conv, {SINTER_POST_BIAS, SINTER_POST_ADD, SINTER_POST_SWISH});
  REQUIRE(patternOf(dnn, conv) == "GENERIC_CONV_FUSION");
  conv = makeConv(SINTER_BF16, SINTER_CONV_FORWARD, last);
  post(conv, {SINTER_POST_SCALE, SINTER_POST_GELU_TANH});
  REQUIRE(patternOf(dnn, conv) == "GENERIC_CONV_FUSION");
  conv = makeConv(SINTER_F32, SINTER_CONV_INPUT_GRAD, last);
  post(conv, {SINTER_POST_RELU});
  REQUIRE(patternOf(dnn, conv) == "GENERIC_CONV_FUSION");
}

TEST_CASE("real cuDNN: the sums of channels", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  const char *pattern = "SCALE_BIAS_ADD_RELU_CONV_STATS";
  auto summed = [](sinter_conv conv) {
    conv.postOps[0] = {SINTER_POST_CHANNEL_SUM, 2, 0, 0};
    conv.postOps[1] = {SINTER_POST_CHANNEL_SQUARES, 3, 0, 0};
    conv.numPostOps = 2;
    return conv;
  };
  for (uint32_t dtype : {SINTER_BF16, SINTER_F16})
    for (Layout layout : {mixed, last}) {
      sinter_conv conv = makeConv(dtype, SINTER_CONV_FORWARD, layout);
      REQUIRE(patternOf(dnn, summed(conv)) == pattern);
      conv.groups = 4;
      REQUIRE(patternOf(dnn, summed(conv)) == pattern);
      conv.spatialRank = 1;
      REQUIRE(patternOf(dnn, summed(conv)) == pattern);
    }
  // The first convolution of a ResNet, and a number of channels that is odd.
  sinter_conv stem = makeConv(SINTER_BF16, SINTER_CONV_FORWARD, mixed);
  stem.channels = 3;
  stem.filters = 65;
  for (int i = 0; i < 2; ++i) {
    stem.inputDims[i] = 224;
    stem.outputDims[i] = 112;
    stem.kernel[i] = 7;
    stem.strides[i] = 2;
    stem.padsLow[i] = stem.padsHigh[i] = 3;
  }
  REQUIRE(patternOf(dnn, summed(stem)) == pattern);
  // What ConvPlan refuses has no engine: other layouts, and fp32.
  sinter_conv conv = makeConv(SINTER_BF16, SINTER_CONV_FORWARD, last);
  DnnGraph graph = convGraph(summed(conv), 9),
           like =
               convGraph(makeConv(SINTER_BF16, SINTER_CONV_FORWARD, first), 9);
  for (size_t i = 0; i < like.tensors.size(); ++i)
    graph.tensors[i].strides = like.tensors[i].strides;
  REQUIRE_FALSE(hasEngine(dnn, graph));
  REQUIRE(convGraph(summed(makeConv(SINTER_F32, SINTER_CONV_FORWARD, last)), 9)
              .refusal != "");
  graph = convGraph(summed(conv), 9);
  for (DnnTensor &tensor : graph.tensors)
    tensor.type = dnn::f32;
  REQUIRE_FALSE(hasEngine(dnn, graph));
}

TEST_CASE("real cuDNN: what ConvPlan refuses has no engine", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  // The graph is that with channels last; the strides are changed by hand.
  auto refused = [&](uint32_t direction,
                     std::initializer_list<uint32_t> kinds) {
    sinter_conv conv = makeConv(SINTER_F32, direction, first);
    post(conv, kinds);
    REQUIRE(convGraph(conv, 9).refusal != "");
    sinter_conv plain = makeConv(SINTER_F32, direction, first);
    DnnGraph strides = convGraph(plain, 9);
    conv.layout = conv.filterLayout = SINTER_CHANNELS_LAST;
    DnnGraph graph = convGraph(conv, 9);
    REQUIRE(graph.refusal == "");
    for (DnnTensor &tensor : graph.tensors)
      for (const DnnTensor &like : strides.tensors)
        if (tensor.dims == like.dims)
          tensor.strides = like.strides;
    REQUIRE_FALSE(hasEngine(dnn, graph));
  };
  refused(SINTER_CONV_FORWARD, {SINTER_POST_RELU});
  refused(SINTER_CONV_FORWARD, {SINTER_POST_BIAS, SINTER_POST_SWISH});
  refused(SINTER_CONV_INPUT_GRAD, {SINTER_POST_BIAS, SINTER_POST_RELU});
}

TEST_CASE("real cuDNN: several engines for one graph", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  sinter_conv conv = makeConv(SINTER_BF16, SINTER_CONV_FORWARD, last);
  auto several = DnnPlan::buildSeveral(dnn, convGraph(conv, 9), roomy(), 4);
  REQUIRE(several.ok());
  REQUIRE(several->size() > 1);
  REQUIRE(several->size() <= 4);
  std::set<std::string> texts;
  for (const DnnPlan &plan : *several) {
    REQUIRE(plan.candidates() >= static_cast<int>(several->size()));
    REQUIRE(plan.workspaceBytes() <= roomy().maxWorkspaceBytes);
    auto json = plan.json();
    REQUIRE(json.ok());
    texts.insert(*json);
    REQUIRE(DnnPlan::reload(dnn, *json).ok());
  }
  REQUIRE(texts.size() == several->size());
}

TEST_CASE("real cuDNN: errors are one line in its own words", "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  DnnGraph graph =
      convGraph(makeConv(SINTER_F32, SINTER_CONV_FORWARD, first), 9);
  graph.tensors[0].dims[1] = 63;
  auto plan = DnnPlan::build(dnn, graph, roomy());
  REQUIRE_FALSE(plan.ok());
  REQUIRE(plan.status().message().find("cudnnBackendFinalize of a convolution "
                                       "operation failed") == 0);
  REQUIRE(plan.status().message().find('\n') == std::string::npos);
  auto reloaded = DnnPlan::reload(dnn, "{}");
  REQUIRE_FALSE(reloaded.ok());
  LibraryOptions none;
  none.maxWorkspaceBytes = 0;
  // Only engines that need no workspace remain.
  auto small = DnnPlan::build(
      dnn, convGraph(makeConv(SINTER_F32, SINTER_CONV_FILTER_GRAD, mixed), 9),
      none);
  REQUIRE((!small.ok() || small->workspaceBytes() == 0));
}

TEST_CASE("real cuDNN: attention is recognised", "[dnn][sdpa][real]") {
  const DnnContext &dnn = realCudnn();
  LibraryOptions options;
  options.maxWorkspaceBytes = 1u << 30;
  options.deterministic = false;
  auto patternOf = [&](const DnnGraph &graph) {
    REQUIRE(graph.refusal == "");
    auto plan = DnnPlan::build(dnn, graph, options);
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    // In a fixed order, query gradients need memory for each block of keys,
    // which the compiler counts (passes/AttentionForm.h).
    REQUIRE(plan->workspaceBytes() <=
            (options.deterministic ? 2u * 8 * 1024 * (1024 / 128) * 256 : 0u) +
                256);
    auto json = plan->json();
    REQUIRE(json.ok());
    auto reloaded = DnnPlan::reload(dnn, *json);
    REQUIRE(reloaded.ok());
    REQUIRE(reloaded->workspaceBytes() == plan->workspaceBytes());
    return textOf(*json, "finalizeMode");
  };
  SdpaShape shape;
  shape.batch = 2;
  shape.heads = 8;
  shape.queries = shape.keys = 1024;
  shape.depth = 64;
  shape.causal = true;
  shape.scale = 0.125f;
  shape.setDense();
  REQUIRE(patternOf(sdpaForward(shape, true)) == "SDPA_FWD");
  REQUIRE(patternOf(sdpaBackward(shape, false)) == "SDPA_BWD");
  // Packed {batch, rows, 3, heads, depth}, and no mask.
  shape.causal = false;
  shape.query = shape.key = shape.value = {1024 * 3 * 8 * 64, 64, 3 * 8 * 64};
  REQUIRE(patternOf(sdpaForward(shape, false)) == "SDPA_FWD");
  // The gradients are stored where the projection's gradient reads them.
  shape.queryGrad = shape.keyGrad = shape.valueGrad = shape.query;
  shape.result = shape.resultGrad = {1024 * 8 * 64, 64, 8 * 64};
  REQUIRE(patternOf(sdpaForward(shape, true)) == "SDPA_FWD");
  REQUIRE(patternOf(sdpaBackward(shape, false)) == "SDPA_BWD");
  options.deterministic = true;
  REQUIRE(patternOf(sdpaForward(shape, true)) == "SDPA_FWD");
  REQUIRE(patternOf(sdpaBackward(shape, true)) == "SDPA_BWD");
  // A mask in fp32: for each key of a sequence, each pair, each of all.
  shape.masked = true;
  constexpr int64_t square = int64_t(1024) * 1024;
  for (SdpaStrides mask : {SdpaStrides{1024, 0, 0},
                           {square, 0, 1024},
                           {0, 0, 1024},
                           {0, 0, 0},
                           {8 * square, square, 1024}})
    for (bool causal : {false, true}) {
      CAPTURE(mask[0], mask[1], mask[2], causal);
      shape.mask = mask;
      shape.causal = causal;
      CHECK(patternOf(sdpaForward(shape, true)) == "SDPA_FWD");
      CHECK(patternOf(sdpaForward(shape, false)) == "SDPA_FWD");
      CHECK(patternOf(sdpaBackward(shape, true)) == "SDPA_BWD");
    }
}

TEST_CASE("real cuDNN: attention's gradients take what is counted",
          "[dnn][sdpa][real]") {
  const DnnContext &dnn = realCudnn();
  for (auto [queries, keys] :
       {std::pair<int64_t, int64_t>{128, 128}, {200, 328}, {512, 96}})
    for (int64_t depth : {8, 64, 128}) {
      CAPTURE(queries, keys, depth);
      SdpaShape shape;
      shape.batch = 3;
      shape.heads = 4;
      shape.queries = queries;
      shape.keys = keys;
      shape.depth = depth;
      shape.setDense();
      const auto counted = static_cast<uint64_t>(
          12 * ((queries + 127) / 128 * 128) * ((keys + 127) / 128) * 256 +
          256);
      LibraryOptions options;
      options.maxWorkspaceBytes = counted;
      auto plan = DnnPlan::build(dnn, sdpaBackward(shape, true), options);
      INFO(plan.status().message());
      REQUIRE(plan.ok());
      CHECK(plan->workspaceBytes() <= counted);
      options.maxWorkspaceBytes = 256;
      auto refused = DnnPlan::build(dnn, sdpaBackward(shape, true), options);
      CHECK(refused.status().code() == SINTER_OUT_OF_MEMORY);
    }
}

TEST_CASE("real cuDNN: an execution plan is made once",
          "[dnn][plan-cache][real]") {
  const DnnContext &dnn = realCudnn();
  CacheFolder folder;
  SdpaShape shape;
  shape.batch = 2;
  shape.heads = 4;
  shape.queries = shape.keys = 256;
  shape.depth = 64;
  shape.setDense();
  LibraryOptions options = roomy();
  for (const DnnGraph &graph :
       {sdpaForward(shape, true), sdpaBackward(shape, true),
        convGraph(makeConv(SINTER_BF16, SINTER_CONV_FORWARD, last), 9)}) {
    const size_t known = folder.files().size();
    options.cache = folder.open();
    auto made = DnnChoice::make(dnn, graph, options);
    INFO(made.status().message());
    REQUIRE(made.ok());
    REQUIRE(made->plan().candidates() > 0);
    REQUIRE(folder.files().size() == known + 1);
    options.cache = folder.open();
    auto stored = DnnChoice::make(dnn, graph, options);
    REQUIRE(stored.ok());
    REQUIRE(stored->plan().candidates() == 0);
    REQUIRE(stored->plan().workspaceBytes() == made->plan().workspaceBytes());
    // Without a device there is nothing to time them on.
    REQUIRE(stored->alternatives() == 0);
  }
  // A text that the library does not accept as a plan is made anew.
  for (const auto &file : folder.files())
    REQUIRE(rt::writeFileAtomic(file, std::string("{}")).ok());
  options.cache = folder.open();
  const DnnGraph graph =
      convGraph(makeConv(SINTER_BF16, SINTER_CONV_FORWARD, last), 9);
  auto anew = DnnChoice::make(dnn, graph, options);
  REQUIRE(anew.ok());
  REQUIRE(anew->plan().candidates() > 0);
  REQUIRE(folder.notes.empty());
}

// Why ConvPadding.cpp pads to eight channels.
TEST_CASE("real cuDNN: three and four channels in 16 bits do without tensor "
          "cores",
          "[dnn][real]") {
  const DnnContext &dnn = realCudnn();
  LibraryOptions options;
  options.maxWorkspaceBytes = 32u << 20; // what programs promise by default
  for (int64_t channels : {3, 4, 8}) {
    sinter_conv conv = makeConv(SINTER_BF16, SINTER_CONV_FILTER_GRAD, mixed);
    conv.batch = conv.filters = 64;
    conv.channels = channels;
    for (int i = 0; i < 2; ++i) {
      conv.inputDims[i] = 224;
      conv.outputDims[i] = 112;
      conv.kernel[i] = 7;
      conv.strides[i] = 2;
      conv.padsLow[i] = conv.padsHigh[i] = 3;
    }
    CAPTURE(channels);
    auto plan = DnnPlan::build(dnn, convGraph(conv, 2), options);
    REQUIRE(plan.ok());
    auto json = plan->json();
    REQUIRE(json.ok());
    REQUIRE((textOf(*json, "kernelName") == "wgrad2d_shmem_tiling") ==
            (channels < 8));
  }
}

TEST_CASE("real cuBLASLt: descriptors without a device", "[lt][real]") {
  auto api = loadCublasLt();
  REQUIRE(api.ok());
  const lt::Api &real = **api;
  REQUIRE(real.getVersion() >= 120000);
  lt::Desc desc = nullptr;
  REQUIRE(real.matmulDescCreate(&desc, lt::compute32F, lt::f32) == 0);
  auto set = [&](int attribute, auto value) {
    return real.matmulDescSetAttribute(desc, attribute, &value, sizeof(value));
  };
  // These numbers and sizes come from the library.
  REQUIRE(set(lt::descTransA, int32_t(lt::opT)) == 0);
  REQUIRE(set(lt::descTransB, int32_t(lt::opN)) == 0);
  REQUIRE(set(lt::descEpilogue, uint32_t(lt::epilogueGeluAuxBias)) == 0);
  REQUIRE(set(lt::descBiasPointer, static_cast<void *>(nullptr)) == 0);
  REQUIRE(set(lt::descBiasDataType, int32_t(lt::bf16)) == 0);
  REQUIRE(set(lt::descBiasBatchStride, int64_t(0)) == 0);
  REQUIRE(set(lt::descAuxPointer, static_cast<void *>(nullptr)) == 0);
  REQUIRE(set(lt::descAuxLd, int64_t(128)) == 0);
  REQUIRE(set(lt::descAuxBatchStride, int64_t(0)) == 0);
  REQUIRE(set(lt::descAuxLd, int32_t(128)) == lt::statusInvalidValue);
  lt::Layout layout = nullptr;
  REQUIRE(real.matrixLayoutCreate(&layout, lt::bf16, 64, 32, 64) == 0);
  int32_t batch = 3;
  int64_t stride = 2048;
  REQUIRE(real.matrixLayoutSetAttribute(layout, lt::layoutBatchCount, &batch,
                                        sizeof(batch)) == 0);
  REQUIRE(real.matrixLayoutSetAttribute(layout, lt::layoutBatchStride, &stride,
                                        sizeof(stride)) == 0);
  lt::Preference preference = nullptr;
  REQUIRE(real.matmulPreferenceCreate(&preference) == 0);
  uint64_t workspace = 1 << 20;
  uint32_t mask = lt::reductionComputeType, alignment = 16;
  REQUIRE(real.matmulPreferenceSetAttribute(
              preference, lt::prefMaxWorkspaceBytes, &workspace, 8) == 0);
  REQUIRE(real.matmulPreferenceSetAttribute(
              preference, lt::prefReductionSchemes, &mask, 4) == 0);
  for (int attribute : {lt::prefMinAlignmentA, lt::prefMinAlignmentD})
    REQUIRE(real.matmulPreferenceSetAttribute(preference, attribute, &alignment,
                                              4) == 0);
  REQUIRE(real.matmulPreferenceDestroy(preference) == 0);
  REQUIRE(real.matrixLayoutDestroy(layout) == 0);
  REQUIRE(real.matmulDescDestroy(desc) == 0);
}
