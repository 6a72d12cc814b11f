//===- AttentionProbe.cpp - the matrix of cuDNN, attention ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneAttention.h"
#include "test/gpu/probe/Probe.h"

#include <cmath>

using namespace sinter;
using namespace sinter::probe;
using namespace sinter::test;

void probe::probeAttention(Report &report) {
  struct Case {
    const char *name;
    uint32_t dtype;
    int64_t queries, keys, depth;
    bool causal, masked;
  };
  constexpr Case cases[] = {
      {"bf16, causal", SINTER_BF16, 64, 64, 64, true, false},
      {"bf16", SINTER_BF16, 32, 48, 64, false, false},
      {"bf16, a mask", SINTER_BF16, 32, 32, 64, false, true},
      {"f16, causal", SINTER_F16, 64, 64, 64, true, false},
      {"bf16, 197 rows", SINTER_BF16, 197, 197, 64, false, false},
      {"bf16, depth 128", SINTER_BF16, 32, 32, 128, true, false}};
  std::unique_ptr<Bench> bench = Bench::create(report, SINTER_CMD_ATTENTION);
  if (!bench)
    return;
  for (const Case &one : cases) {
    cuda::SdpaShape shape;
    shape.dtype = one.dtype;
    shape.batch = 2;
    shape.heads = 2;
    shape.queries = one.queries;
    shape.keys = one.keys;
    shape.depth = one.depth;
    shape.causal = one.causal;
    shape.masked = one.masked;
    shape.mask = {one.queries * one.keys, 0, one.keys};
    shape.scale = 1 / std::sqrt(static_cast<float>(one.depth));
    shape.setDense();
    OneAttention attention(shape);
    const std::string name = one.name;
    Comparison forward = bench->comparison(one.dtype);
    if (!bench->begin(name + ", forward"))
      continue;
    Ran ran = attention.runForward(bench->runner());
    bench->end(name + ", forward", ran, forward,
               [&] { attention.compareForward(forward); });
    Comparison backward = bench->comparison(one.dtype);
    if (!ran.prepared.ok() || !ran.computed.ok() ||
        !bench->begin(name + ", backward"))
      continue;
    bench->end(name + ", backward", attention.runBackward(bench->runner()),
               backward, [&] { attention.compareBackward(backward); });
  }
}
