//===- ConvolutionsProbe.cpp - the matrix of cuDNN, convolutions ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnPlan.h"
#include "backends/cuda/library/Loader.h"
#include "backends/sim/library/SimCudnn.h"
#include "test/backends/cuda/OneConvolution.h"
#include "test/gpu/probe/Probe.h"

using namespace sinter;
using namespace sinter::probe;
using namespace sinter::test;

namespace {

constexpr std::pair<const char *, uint32_t> types[] = {{"bf16", SINTER_BF16},
                                                       {"f32", SINTER_F32},
                                                       {"f16", SINTER_F16},
                                                       {"tf32", SINTER_TF32}};
constexpr const char *directions[] = {"", "forward", "input gradient",
                                      "filter gradient"};

struct Layout {
  const char *name;
  uint32_t activations, filter;
};
constexpr Layout layouts[] = {
    {"channels last", SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST},
    {"channels first", SINTER_CHANNELS_FIRST, SINTER_CHANNELS_FIRST},
    {"filters first", SINTER_CHANNELS_LAST, SINTER_CHANNELS_FIRST}};

struct Shape {
  const char *name;
  int64_t channels, filters, groups;
  std::vector<ConvAxis> axes;
};
const Shape shapes[] = {
    {"3x3", 16, 24, 1, {{9, 3, 1, 1, 1}, {8, 3, 1, 1, 1}}},
    {"1x1", 16, 32, 1, {{6, 1}, {6, 1}}},
    {"3x3 by steps of 2", 8, 16, 1, {{9, 3, 2, 1, 1}, {9, 3, 2, 1, 1}}},
    {"7x7 of 3 channels", 3, 8, 1, {{14, 7, 2, 3, 3}, {14, 7, 2, 3, 3}}},
    {"3x3 in 2 groups", 16, 16, 2, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}}},
    {"3x3 of each channel", 16, 16, 16, {{8, 3, 1, 1, 1}, {8, 3, 1, 1, 1}}},
    {"3x3 of each channel, by steps of 2",
     8,
     8,
     8,
     {{8, 3, 2, 1, 1}, {8, 3, 2, 1, 1}}},
    {"3x3 of 2 channels", 2, 8, 1, {{8, 3, 1, 1, 1}, {8, 3, 1, 1, 1}}},
    {"1x1 with 12 filters", 8, 12, 1, {{4, 1}, {4, 1}}},
    // More points than a block of a kernel has.
    {"3x3 of many points", 8, 16, 1, {{40, 3, 1, 1, 1}, {40, 3, 1, 1, 1}}}};

OneConvolution make(uint32_t dtype, uint32_t direction, const Shape &shape,
                    const Layout &layout) {
  OneConvolution convolution(dtype, direction, 2, shape.channels, shape.filters,
                             shape.groups, shape.axes);
  convolution.layout(layout.activations, layout.filter);
  return convolution;
}

/// The device's properties as cuDNN describes them, which plans depend on: a
/// fixture for tests without a device.
void describeDevice(Report &report) {
  rt::Result<const cuda::dnn::Api *> api =
      report.options().isSimulated()
          ? rt::Result<const cuda::dnn::Api *>(&sim::dnnApi())
          : cuda::loadCudnn();
  if (!api.ok())
    return report.add("the device's properties", api.status());
  auto context = cuda::DnnContext::create(**api);
  if (!context.ok())
    return report.add("the device's properties", context.status());
  rt::Result<std::string> json = (*context)->deviceJson();
  if (!json.ok())
    return report.add("the device's properties", json.status());
  report.facts["device_properties"] =
      nlohmann::ordered_json::parse(*json, nullptr, /*exceptions=*/false);
  report.add("the device's properties", "ok", *json);
}

} // namespace

void probe::probeConvolutions(Report &report) {
  std::unique_ptr<Bench> bench = Bench::create(report, SINTER_CMD_CONV);
  if (!bench)
    return;
  describeDevice(report);
  auto check = [&](const std::string &what, OneConvolution convolution) {
    const uint32_t dtype = convolution.params.dtype;
    for (const auto &[name, type] : types)
      if (type == dtype)
        bench->check(std::string(name) + ", " + what, convolution, dtype);
  };
  for (const Layout &layout : layouts)
    for (const auto &[name, dtype] : types)
      for (uint32_t direction = SINTER_CONV_FORWARD;
           direction <= SINTER_CONV_FILTER_GRAD; ++direction)
        check(std::string(directions[direction]) + " " + layout.name,
              make(dtype, direction, shapes[0], layout));
  for (const Shape &shape : shapes)
    for (uint32_t dtype : {SINTER_BF16, SINTER_F32})
      for (uint32_t direction = SINTER_CONV_FORWARD;
           direction <= SINTER_CONV_FILTER_GRAD; ++direction)
        if (&shape != shapes)
          check(std::string(directions[direction]) + " " + shape.name,
                make(dtype, direction, shape, layouts[0]));
  auto forward = [](uint32_t dtype) {
    return make(dtype, SINTER_CONV_FORWARD, shapes[0], layouts[0]);
  };
  for (uint32_t dtype : {SINTER_BF16, SINTER_F32}) {
    check("bias", forward(dtype).post(SINTER_POST_BIAS));
    check("bias, relu",
          forward(dtype).post(SINTER_POST_BIAS).post(SINTER_POST_RELU));
    check("bias, add, relu", forward(dtype)
                                 .post(SINTER_POST_BIAS)
                                 .post(SINTER_POST_ADD)
                                 .post(SINTER_POST_RELU));
  }
  check("bias, swish",
        forward(SINTER_BF16).post(SINTER_POST_BIAS).post(SINTER_POST_SWISH));
}

void probe::probeSums(Report &report) {
  std::unique_ptr<Bench> bench = Bench::create(report, SINTER_CMD_CONV);
  if (!bench)
    return;
  for (const Shape &shape : shapes)
    for (const auto &[name, dtype] : types) {
      if (dtype != SINTER_BF16 && (dtype != SINTER_F16 || &shape != shapes))
        continue;
      OneConvolution convolution =
          make(dtype, SINTER_CONV_FORWARD, shape, layouts[0]);
      convolution.post(SINTER_POST_CHANNEL_SUM)
          .post(SINTER_POST_CHANNEL_SQUARES);
      bench->check(std::string(name) + ", " + shape.name, convolution, dtype);
    }
}
