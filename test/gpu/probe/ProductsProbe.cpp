//===- ProductsProbe.cpp - the matrix of cuBLASLt -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Types, layouts, alignments and epilogues, through the plans and calls of
// programs, against sums in double.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneProduct.h"
#include "test/gpu/probe/Probe.h"

using namespace sinter;
using namespace sinter::probe;
using namespace sinter::test;

namespace {

struct Types {
  const char *name;
  uint32_t in, out;
};
constexpr Types plain[] = {
    {"f32", SINTER_F32, SINTER_F32},       {"bf16", SINTER_BF16, SINTER_BF16},
    {"f16", SINTER_F16, SINTER_F16},       {"tf32", SINTER_TF32, SINTER_F32},
    {"bf16>f32", SINTER_BF16, SINTER_F32}, {"f16>f32", SINTER_F16, SINTER_F32},
    {"f64", SINTER_F64, SINTER_F64}};

struct Layout {
  const char *name;
  bool a, b, c; // transposed
};
constexpr Layout layouts[] = {{"NN", false, false, false},
                              {"TN", true, false, false},
                              {"NT", false, true, false},
                              {"TT", true, true, false},
                              {"NN, result transposed", false, false, true}};

struct Epilogue {
  const char *name;
  std::vector<uint32_t> ops;
  bool ofTraining = false;
};
const Epilogue epilogues[] = {
    {"bias", {SINTER_POST_BIAS}},
    {"add", {SINTER_POST_ADD}},
    {"relu", {SINTER_POST_RELU}},
    {"gelu", {SINTER_POST_GELU_TANH}},
    {"scale", {SINTER_POST_SCALE}},
    {"bias, relu", {SINTER_POST_BIAS, SINTER_POST_RELU}},
    {"bias, gelu", {SINTER_POST_BIAS, SINTER_POST_GELU_TANH}},
    {"bias, add, relu", {SINTER_POST_BIAS, SINTER_POST_ADD, SINTER_POST_RELU}},
    {"store, gelu", {SINTER_POST_STORE, SINTER_POST_GELU_TANH}},
    {"bias, store, gelu",
     {SINTER_POST_BIAS, SINTER_POST_STORE, SINTER_POST_GELU_TANH}},
    {"bits of relu", {SINTER_POST_RELU_BITS}},
    {"bias, bits of relu", {SINTER_POST_BIAS, SINTER_POST_RELU_BITS}},
    {"gradient of gelu", {SINTER_POST_GELU_TANH_GRAD}},
    {"gradients of gelu and bias",
     {SINTER_POST_GELU_TANH_GRAD, SINTER_POST_BIAS_GRAD}},
    {"gradient of relu", {SINTER_POST_RELU_GRAD}},
    {"gradients of relu and bias",
     {SINTER_POST_RELU_GRAD, SINTER_POST_BIAS_GRAD}},
    {"sums of A", {SINTER_POST_A_SUM}},
    {"sums of B", {SINTER_POST_B_SUM}}};

OneProduct make(const Types &types, int64_t m, int64_t n, int64_t k,
                const Layout &layout) {
  OneProduct product(types.in, types.out, m, n, k);
  if (layout.a)
    product.transposeA();
  if (layout.b)
    product.transposeB();
  if (layout.c)
    product.transposeC();
  return product;
}

} // namespace

void probe::probeProducts(Report &report) {
  std::unique_ptr<Bench> bench = Bench::create(report, SINTER_CMD_MATMUL);
  if (!bench)
    return;
  auto check = [&](const Types &types, const std::string &what,
                   OneProduct product) {
    bench->check(std::string(types.name) + ", " + what, product, types.in);
  };
  // What most programs have comes first.
  for (const Types &types : plain)
    check(types, "64x96x128", make(types, 64, 96, 128, layouts[0]));
  for (const Types &types : plain)
    for (const Epilogue &epilogue : epilogues) {
      // Not in double, and in the types of results once.
      if (types.in == SINTER_F64 || types.in == SINTER_TF32 ||
          (types.out != types.in && epilogue.ops.size() > 1))
        continue;
      OneProduct product = make(types, 64, 96, 128, layouts[0]);
      for (uint32_t op : epilogue.ops)
        product.post(op, op == SINTER_POST_SCALE ? 0.125f : 0.0f);
      check(types, epilogue.name, product);
    }
  for (const Types &types : plain)
    for (const Layout &layout : layouts) {
      if (&layout != layouts)
        check(types, std::string("64x96x128 ") + layout.name,
              make(types, 64, 96, 128, layout));
      // Lines that begin at odd addresses.
      check(types, std::string("33x65x17 ") + layout.name,
            make(types, 33, 65, 17, layout));
    }
  // Operands that begin at multiples of 16 bytes, and of fewer.
  for (const Types &types : plain)
    for (uint64_t offsetBytes : {16, 8}) {
      OneProduct product = make(types, 64, 96, 128, layouts[0]);
      for (Operand &operand : product.build().operands())
        operand.offsetBytes = offsetBytes;
      check(types, "64x96x128 at byte " + std::to_string(offsetBytes), product);
    }
  for (const Types &types : plain) {
    OneProduct heads = make(types, 32, 48, 64, layouts[2]);
    check(types, "a batch of 6",
          heads.batch(6, 32 * 64, 48 * 64, 32 * 48).build());
  }
  constexpr Types integers = {"i8>i32", SINTER_I8, SINTER_I32};
  check(integers, "64x96x128 NT", make(integers, 64, 96, 128, layouts[2]));
}
