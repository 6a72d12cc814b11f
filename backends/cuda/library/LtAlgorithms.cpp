//===- LtAlgorithms.cpp - comparing and storing cuBLASLt's algorithms -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtAlgorithms.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

using namespace sinter;
using namespace sinter::cuda;

std::string sinter::cuda::textOf(const LtPlan &plan,
                                 const LtAlignments &alignments,
                                 const LibraryOptions &options) {
  std::string text = "matmul";
  auto add = [&](const char *name, auto value) {
    text += std::string(" ") + name + "=" + std::to_string(value);
  };
  auto addLayout = [&](const char *name, const LtLayout &layout) {
    add(name, layout.type);
    for (int64_t number :
         {layout.rows, layout.cols, layout.ld, layout.batchStride})
      text += "," + std::to_string(number);
  };
  add("compute", plan.computeType);
  add("scale", plan.scaleType);
  add("transA", plan.transA);
  add("transB", plan.transB);
  addLayout("a", plan.a);
  addLayout("b", plan.b);
  addLayout("d", plan.d);
  add("batch", plan.batch);
  add("calls", plan.calls());
  add("epilogue", plan.epilogue);
  add("bias", plan.biasSlice != noSlice);
  add("bias-stride", plan.biasBatchStride);
  add("aux-ld", plan.auxLd);
  add("aux-stride", plan.auxBatchStride);
  add("c", plan.cSlice != noSlice);
  text += " alignment=";
  for (uint32_t alignment : alignments)
    text += std::to_string(alignment) + ",";
  add("workspace", options.maxWorkspaceBytes);
  add("deterministic", options.deterministic);
  return text;
}

std::string sinter::cuda::textOf(const lt::Algo &algo) {
  std::string text;
  for (uint64_t word : algo.data) {
    char digits[20];
    std::snprintf(digits, sizeof(digits), "%016llx",
                  static_cast<unsigned long long>(word));
    text += digits;
  }
  return text;
}

std::optional<lt::Algo> sinter::cuda::readAlgo(const std::string &text) {
  constexpr size_t digits = 16;
  lt::Algo algo{};
  if (text.size() != digits * std::size(algo.data))
    return std::nullopt;
  const char *at = text.data();
  for (uint64_t &word : algo.data) {
    auto [end, error] = std::from_chars(at, at + digits, word, 16);
    at += digits;
    if (error != std::errc() || end != at)
      return std::nullopt;
  }
  return algo;
}
