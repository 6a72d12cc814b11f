//===- DnnRulesTest.cpp - the rules that the stand-in for cuDNN checks ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/ConvPlan.h"
#include "backends/cuda/library/DnnConv.h"
#include "backends/cuda/library/DnnPlan.h"
#include "backends/sim/library/SimCudnn.h"
#include "backends/sim/library/SimMemory.h"
#include "test/runtime/Calls.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace sinter;
using namespace sinter::cuda;

namespace {

/// A convolution of 2x4x6x6 with 8 filters of 3x3, bias and relu.
DnnGraph validGraph(uint32_t dtype = SINTER_F32) {
  sinter_conv p{};
  p.direction = SINTER_CONV_FORWARD;
  p.dtype = dtype;
  p.layout = SINTER_CHANNELS_FIRST;
  p.spatialRank = 2;
  p.batch = 2;
  p.channels = 4;
  p.filters = 8;
  p.groups = 1;
  for (int i = 0; i < 2; ++i) {
    p.inputDims[i] = p.outputDims[i] = 6;
    p.kernel[i] = 3;
    p.strides[i] = p.dilations[i] = p.padsLow[i] = p.padsHigh[i] = 1;
  }
  p.numPostOps = 2;
  p.postOps[0] = {SINTER_POST_BIAS, 2, 0, 0};
  p.postOps[1] = {SINTER_POST_RELU, 0, 0, 0};
  return convGraph(p, 3);
}

enum { X, W, Virtual, Bias, Sum, Y }; // tensors of validGraph

/// Builds, and runs with tensor i at memory[i]; the first failure's text.
struct Run {
  alignas(256) static inline uint8_t memory[8][16384] = {};
  DnnGraph graph = validGraph();
  std::vector<void *> addresses;
  std::vector<int64_t> ids;
  void *workspace = memory[7];

  Run() {
    for (size_t i = 0; i < graph.tensors.size(); ++i)
      if (!graph.tensors[i].isVirtual) {
        ids.push_back(static_cast<int64_t>(i) + 1);
        addresses.push_back(memory[i]);
      }
  }

  std::string run() {
    std::string text;
    {
      auto context = DnnContext::create(sim::dnnApi());
      REQUIRE(context.ok());
      auto plan = DnnPlan::build(**context, graph, {});
      text = plan.status().message();
      if (plan.ok())
        text = plan->execute(ids, addresses, workspace, nullptr).message();
    }
    REQUIRE(sim::dnnLiveObjects() == 0);
    return text;
  }
};

void breaks(const char *rule, const std::function<void(Run &)> &change) {
  Run run;
  change(run);
  std::string text = run.run();
  CAPTURE(text, rule);
  REQUIRE(text.find(rule) != std::string::npos);
}

} // namespace

TEST_CASE("cuDNN rules: a valid graph runs", "[dnn]") {
  REQUIRE(Run().run() == "");
}

TEST_CASE("cuDNN rules: a relu passes NaN on if it is told to", "[dnn]") {
  auto *x = reinterpret_cast<float *>(Run::memory[X]);
  auto *y = reinterpret_cast<float *>(Run::memory[Y]);
  constexpr int results = 2 * 8 * 6 * 6;
  auto countNan = [&] {
    return std::count_if(y, y + results,
                         [](float value) { return std::isnan(value); });
  };
  std::fill_n(x, 2 * 4 * 6 * 6, std::numeric_limits<float>::quiet_NaN());
  CHECK(Run().run() == "");
  CHECK(countNan() == results);
  // Without the attribute the library makes 0 of it.
  static int numSet;
  numSet = 0;
  dnn::Api api = sim::dnnApi();
  api.backendSetAttribute = [](dnn::Desc desc, int attribute, int type,
                               int64_t count, const void *values) {
    if (attribute == dnn::pointwiseNanPropagation && ++numSet)
      return int(dnn::statusSuccess);
    return sim::dnnApi().backendSetAttribute(desc, attribute, type, count,
                                             values);
  };
  Run dropped;
  auto context = DnnContext::create(api);
  REQUIRE(context.ok());
  auto plan = DnnPlan::build(**context, dropped.graph, {});
  REQUIRE(plan.ok());
  CHECK(numSet == 1);
  CHECK(
      plan->execute(dropped.ids, dropped.addresses, dropped.workspace, nullptr)
          .ok());
  CHECK(countNan() == 0);
  std::fill_n(x, 2 * 4 * 6 * 6, 0.0f);
}

TEST_CASE("cuDNN rules: versions with defects in attention", "[dnn]") {
  static size_t version;
  dnn::Api api = sim::dnnApi();
  api.getVersion = [] { return version; };
  sinter_attention attention{};
  sinter_command command = test::callOf(&attention);
  for (auto [number, text] :
       {std::pair<size_t, const char *>{91000, "9.10.0"}, {91001, "9.10.1"}}) {
    version = number;
    auto context = DnnContext::create(api);
    REQUIRE(context.ok());
    auto call = prepareDnnAttention(**context, command, {}, nullptr);
    CHECK(call.status().message() ==
          std::string("cuDNN ") + text +
              " has defects in attention: install cuDNN 9.10.2 or newer, or "
              "compile with --libraries=cublaslt");
  }
  version = 91002;
  auto context = DnnContext::create(api);
  REQUIRE(context.ok());
  attention.dtype = SINTER_BF16;
  attention.direction = SINTER_ATTENTION_FORWARD;
  attention.batch = attention.heads = 1;
  attention.queries = attention.keys = attention.depth = 64;
  attention.scale = 1;
  for (sinter_heads *heads :
       {&attention.query, &attention.key, &attention.value, &attention.output})
    *heads = {64 * 64, 64 * 64, 64};
  sinter_slice slices[4] = {{SINTER_SPACE_ARENA, 0, 0, 8192},
                            {SINTER_SPACE_ARENA, 0, 8192, 8192},
                            {SINTER_SPACE_ARENA, 0, 16384, 8192},
                            {SINTER_SPACE_ARENA, 0, 24576, 8192}};
  command.slices = slices;
  command.numSlices = 4;
  command.numReads = 3;
  auto call = prepareDnnAttention(**context, command, {}, nullptr);
  CHECK(call.status().message() == "");
}

TEST_CASE("cuDNN rules: tensors", "[dnn]") {
  breaks("a tensor has the dims 2x0x6x6",
         [](Run &r) { r.graph.tensors[X].dims[1] = 0; });
  breaks("a tensor has 4 dims and 3 strides",
         [](Run &r) { r.graph.tensors[X].strides.pop_back(); });
  breaks("a tensor has the strides",
         [](Run &r) { r.graph.tensors[X].strides[0] = -1; });
  breaks("is aligned to 24 bytes",
         [](Run &r) { r.graph.tensors[X].alignment = 24; });
  breaks("is aligned to 2 bytes",
         [](Run &r) { r.graph.tensors[X].alignment = 2; });
  breaks("unknown type 77", [](Run &r) { r.graph.tensors[X].type = 77; });
  breaks("a tensor by value has",
         [](Run &r) { r.graph.tensors[Bias].isByValue = true; });
}

TEST_CASE("cuDNN rules: operations", "[dnn]") {
  breaks("does not give 2x8x6x6",
         [](Run &r) { r.graph.operations[0].postPads[0] = 0; });
  breaks("pads 1x-1", [](Run &r) { r.graph.operations[0].prePads[1] = -1; });
  breaks("has a list of 1",
         [](Run &r) { r.graph.operations[0].dilations.pop_back(); });
  breaks("a convolution of 2x4x6x6 with 8x3x3x3",
         [](Run &r) { r.graph.tensors[W].dims[1] = 3; });
  breaks("computes in type 1", [](Run &r) { r.graph.computeType = dnn::f64; });
  breaks("has an operand of 1x7x1x1",
         [](Run &r) { r.graph.tensors[Bias].dims[1] = 7; });
  breaks("wrong number of operands",
         [](Run &r) { r.graph.operations[2].mode = dnn::mul; });
}

TEST_CASE("cuDNN rules: statistics", "[dnn]") {
  // The relu's result is added up instead of stored alone.
  auto add = [](Run &r, int64_t channels, int32_t type) {
    DnnTensor sums;
    sums.type = type;
    sums.dims = sums.strides = {1, channels, 1, 1};
    DnnOperation step;
    step.kind = DnnOperation::GenStats;
    step.x = Y;
    step.y = r.graph.add(sums);
    step.w = r.graph.add(sums);
    r.graph.operations.push_back(step);
  };
  breaks("statistics of 2x8x6x6 are 1x7x1x1 of type 0",
         [&](Run &r) { add(r, 7, dnn::f32); });
  breaks("statistics of 2x8x6x6 are 1x8x1x1 of type 9",
         [&](Run &r) { add(r, 8, dnn::bf16); });
  breaks("has no engine for this graph", [&](Run &r) { add(r, 8, dnn::f32); });
  breaks("written by two operations", [&](Run &r) {
    add(r, 8, dnn::f32);
    r.graph.operations.back().w = r.graph.operations.back().y;
  });
}

TEST_CASE("cuDNN rules: graphs", "[dnn]") {
  breaks("written by two operations",
         [](Run &r) { r.graph.operations[2].y = Sum; });
  breaks("is read but never written",
         [](Run &r) { r.graph.operations.erase(r.graph.operations.begin()); });
  breaks("form a cycle", [](Run &r) {
    r.graph.operations[1].x = Y;
    r.graph.operations[2].x = Sum;
  });
  breaks("is given no values", [](Run &r) { r.graph.operations.clear(); });
  breaks("has no engine for this graph",
         [](Run &r) { r.graph.operations[2].mode = dnn::swishForward; });
}

TEST_CASE("cuDNN rules: addresses", "[dnn]") {
  breaks("tensor 1 has no address", [](Run &r) { r.addresses[0] = nullptr; });
  breaks("tensor 2 has no address", [](Run &r) {
    r.ids.erase(r.ids.begin() + 1);
    r.addresses.erase(r.addresses.begin() + 1);
  });
  breaks("tensor 1 is not aligned to the 16 bytes",
         [](Run &r) { r.addresses[0] = Run::memory[0] + 8; });
  breaks("tensor 3 has an address but is not in memory",
         [](Run &r) { r.ids[2] = Virtual + 1; });
  breaks("names a tensor twice", [](Run &r) { r.ids[1] = r.ids[0]; });
  breaks("is written and overlaps tensor 1",
         [](Run &r) { r.addresses[3] = r.addresses[0]; });
  breaks("workspace of 4096 bytes is not given",
         [](Run &r) { r.workspace = nullptr; });
  breaks("workspace is not aligned",
         [](Run &r) { r.workspace = Run::memory[7] + 4; });
  sim::setLibraryMemoryCheck([](const void *address, uint64_t sizeBytes) {
    auto *begin = static_cast<const uint8_t *>(address);
    return begin >= Run::memory[1] && begin + sizeBytes <= Run::memory[7];
  });
  breaks("workspace does not lie in memory", [](Run &) {});
  breaks("tensor 1 of 1152 bytes does not lie in memory",
         [](Run &r) { r.workspace = Run::memory[6]; });
  sim::setLibraryMemoryCheck(nullptr);
}

TEST_CASE("cuDNN rules: fp32 is not rounded to tf32, sums have one order",
          "[dnn]") {
  // The engines that the heuristics prefer are not the requested one.
  auto context = DnnContext::create(sim::dnnApi());
  REQUIRE(context.ok());
  auto wide = DnnPlan::build(**context, validGraph(), {});
  REQUIRE(wide.ok());
  REQUIRE(wide->candidates() == 1);
  auto rounded = DnnPlan::build(**context, validGraph(SINTER_TF32), {});
  REQUIRE(rounded.ok());
  REQUIRE(rounded->candidates() == 2);
  auto narrow = DnnPlan::build(**context, validGraph(SINTER_BF16), {});
  REQUIRE(narrow.ok());
  REQUIRE(narrow->candidates() == 2);
  LibraryOptions fast;
  fast.deterministic = false;
  auto any = DnnPlan::build(**context, validGraph(SINTER_BF16), fast);
  REQUIRE(any.ok());
  REQUIRE(any->candidates() == 3);
}

TEST_CASE("cuDNN rules: an engine that does not answer is skipped", "[dnn]") {
  static int failing, numFailures,
      numAsked; // the attribute, how often it fails
  dnn::Api api = sim::dnnApi();
  api.backendGetAttribute = [](dnn::Desc desc, int attribute, int type,
                               int64_t requested, int64_t *count,
                               void *values) {
    if (attribute == failing && numAsked++ < numFailures)
      return int(dnn::statusNotSupported);
    return sim::dnnApi().backendGetAttribute(desc, attribute, type, requested,
                                             count, values);
  };
  auto context = DnnContext::create(api);
  REQUIRE(context.ok());
  LibraryOptions fast;
  fast.deterministic = false; // all three engines
  auto build = [&](int attribute, int failures) {
    failing = attribute;
    numFailures = failures;
    numAsked = 0;
    return DnnPlan::build(**context, validGraph(SINTER_BF16), fast);
  };
  for (int attribute : {int(dnn::engineNumericalNotes), int(dnn::configEngine),
                        int(dnn::planWorkspace)}) {
    CAPTURE(attribute);
    auto plan = build(attribute, 1);
    REQUIRE(plan.ok());
    CHECK(plan->candidates() >= 2);
    auto none = build(attribute, 1000);
    CHECK(none.status().code() == SINTER_UNSUPPORTED);
    CHECK(none.status().message().find("; one was skipped: ") !=
          std::string::npos);
  }
}

TEST_CASE("cuDNN rules: a device describes itself", "[dnn]") {
  const dnn::Api &api = sim::dnnApi();
  {
    auto context = DnnContext::create(api);
    REQUIRE(context.ok());
    auto json = (*context)->deviceJson();
    INFO(json.status().message());
    REQUIRE(json.ok());
    CHECK(json->front() == '{');
    CHECK(json->back() == '}');
  }
  dnn::Desc device = nullptr;
  REQUIRE(api.backendCreateDescriptor(dnn::devicePropDesc, &device) == 0);
  CHECK(api.backendFinalize(device) == dnn::statusBadParam);
  REQUIRE(api.backendDestroyDescriptor(device) == 0);
  CHECK(sim::dnnLiveObjects() == 0);
}

TEST_CASE("cuDNN rules: attributes and lifetimes", "[dnn]") {
  const dnn::Api &api = sim::dnnApi();
  auto lastError = [&] {
    char text[256];
    api.getLastErrorString(text, sizeof(text));
    return std::string(text);
  };
  dnn::Desc tensor = nullptr;
  REQUIRE(api.backendCreateDescriptor(dnn::tensorDesc, &tensor) == 0);
  int64_t id = 1;
  REQUIRE(api.backendSetAttribute(tensor, dnn::tensorId, dnn::typeInt64, 1,
                                  &id) == 0);
  REQUIRE(api.backendSetAttribute(tensor, dnn::tensorId, dnn::typeFloat, 1,
                                  &id) == dnn::statusBadParamAttributeType);
  REQUIRE(api.backendSetAttribute(tensor, dnn::planJson, dnn::typeChar, 1,
                                  &id) == dnn::statusBadParam);
  REQUIRE(lastError() == "there is no attribute 405 of descriptors of type 17");
  REQUIRE(api.backendFinalize(tensor) == dnn::statusBadParam);
  REQUIRE(lastError() == "a tensor needs a type, dims, strides and an id");
  dnn::Desc operation = nullptr;
  REQUIRE(api.backendCreateDescriptor(dnn::opConvForward, &operation) == 0);
  REQUIRE(api.backendSetAttribute(operation, dnn::forwardX, dnn::typeDescriptor,
                                  1,
                                  &tensor) == dnn::statusBadParamNotFinalized);
  REQUIRE(api.backendDestroyDescriptor(tensor) == 0);
  REQUIRE(api.backendDestroyDescriptor(tensor) == dnn::statusBadParam);
  REQUIRE(api.backendSetAttribute(operation, dnn::forwardX, dnn::typeDescriptor,
                                  1, &tensor) == dnn::statusBadParam);
  REQUIRE(api.backendDestroyDescriptor(operation) == 0);
  dnn::Desc unknown = nullptr;
  REQUIRE(api.backendCreateDescriptor(99, &unknown) == 4003);
}
