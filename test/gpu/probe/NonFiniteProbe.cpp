//===- NonFiniteProbe.cpp - NaN and infinity through the libraries --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A step that went wrong must not look right: NaN and infinity in an operand
// are in the results where the mathematics has them.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneConvolution.h"
#include "test/backends/cuda/OneProduct.h"
#include "test/gpu/probe/Probe.h"

#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter::probe;
using namespace sinter::test;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

constexpr std::pair<const char *, uint32_t> types[] = {
    {"f32", SINTER_F32}, {"bf16", SINTER_BF16}, {"f16", SINTER_F16}};

struct Value {
  const char *name;
  double value;
};
constexpr Value values[] = {{"NaN", nan}, {"infinity", infinity}};

void checkProducts(Report &report) {
  std::unique_ptr<Bench> bench = Bench::create(report, SINTER_CMD_MATMUL);
  if (!bench)
    return;
  // What the library's own ReLU makes of NaN; training does not use it.
  OneProduct relu(SINTER_F32, SINTER_F32, 32, 40, 64);
  relu.post(SINTER_POST_RELU).build().operands()[0].store(5 * 64 + 3, nan);
  if (Ran ran = relu.run(bench->runner());
      ran.prepared.ok() && ran.computed.ok())
    report.facts["relu of NaN in cuBLASLt"] =
        std::isnan(relu.operands().back().load(5 * 40)) ? "NaN" : "0";
  bench->keepsNan = true;
  for (const auto &[type, dtype] : types)
    for (const Value &planted : values) {
      struct Epilogue {
        const char *name;
        std::vector<uint32_t> ops;
      };
      const Epilogue epilogues[] = {
          {"no epilogue", {}},
          {"bias", {SINTER_POST_BIAS}},
          {"relu", {SINTER_POST_RELU}},
          {"bias, relu", {SINTER_POST_BIAS, SINTER_POST_RELU}},
          {"bits of relu", {SINTER_POST_RELU_BITS}},
          {"gelu", {SINTER_POST_GELU_TANH}}};
      for (const Epilogue &epilogue : epilogues) {
        OneProduct product(dtype, dtype, 32, 40, 64);
        for (uint32_t op : epilogue.ops)
          product.post(op);
        std::vector<Operand> &operands = product.build().operands();
        // A row of A is added up with weights of both signs; GELU of minus
        // infinity is not asked for.
        if (planted.value == infinity && epilogue.ops.size() == 1 &&
            epilogue.ops[0] == SINTER_POST_GELU_TANH)
          for (int64_t j = 0; j < 40; ++j)
            operands[1].store(3 * 40 + j, 0.5);
        operands[0].store(5 * 64 + 3, planted.value);
        bench->check(std::string("product of ") + type + ", " + epilogue.name +
                         ": " + planted.name,
                     product, dtype);
      }
    }
}

void checkConvolutions(Report &report) {
  std::unique_ptr<Bench> bench = Bench::create(report, SINTER_CMD_CONV);
  if (!bench)
    return;
  for (const auto &[type, dtype] : types)
    for (const Value &planted : values) {
      auto check = [&](const char *name, OneConvolution convolution) {
        convolution.layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST);
        convolution.build().operands()[0].store(17, planted.value);
        bench->check(std::string("convolution of ") + type + ", " + name +
                         ": " + planted.name,
                     convolution, dtype);
      };
      auto make = [&](uint32_t direction) {
        return OneConvolution(dtype, direction, 2, 8, 16, 1,
                              {{6, 3, 1, 1, 1}, {6, 3, 1, 1, 1}});
      };
      for (uint32_t direction : {SINTER_CONV_FORWARD, SINTER_CONV_INPUT_GRAD,
                                 SINTER_CONV_FILTER_GRAD})
        check(direction == SINTER_CONV_FORWARD      ? "forward"
              : direction == SINTER_CONV_INPUT_GRAD ? "input gradient"
                                                    : "filter gradient",
              make(direction));
      check("bias, relu", make(SINTER_CONV_FORWARD)
                              .post(SINTER_POST_BIAS)
                              .post(SINTER_POST_RELU));
    }
}

} // namespace

void probe::probeNonFinite(Report &report) {
  const std::vector<std::string> &words = report.options().words;
  const std::string of = words.empty() ? "" : words.front();
  if (of != "convolutions")
    checkProducts(report);
  if (of != "products")
    checkConvolutions(report);
}
