//===- SimLtEpilogue.cpp - kernels for epilogues by loops -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimLtEpilogue.h"
#include "backends/sim/library/SimMemory.h"

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::cuda;
using rt::Status;

namespace {

/// The last element of a matrix of a batch, and one more.
int64_t extentOf(int64_t rows, int64_t rowStride, int64_t cols,
                 int64_t colStride, int64_t batch = 1, int64_t stride = 0) {
  return (rows - 1) * rowStride + (cols - 1) * colStride +
         (batch - 1) * stride + 1;
}

Status outside(const char *name) {
  return Status::invalid("a kernel for epilogues: " + std::string(name) +
                         " does not lie in memory of the device");
}

class HostKernels final : public LtKernels {
public:
  Status apply(const LtEpilogueArgs &args, void *stream) override;
  Status sum(const LtSumArgs &args, void *stream) override;
};

} // namespace

static Status checkMemory(const LtEpilogueArgs &args) {
  const uint64_t bytes = lt::elementBytes(args.type);
  auto isInside = [](const void *at, int64_t elements, uint64_t bytes) {
    return isLibraryMemory(at, uint64_t(elements) * bytes);
  };
  int64_t extent =
      extentOf(args.m, 1, args.n, args.ld, args.batch, args.stride);
  if (!isInside(args.product,
                extentOf(args.m, 1, args.n, args.productLd, args.batch,
                         args.productStride),
                sizeof(float)))
    return outside("the product");
  if (!isInside(args.d, extent, bytes))
    return outside("D");
  if (args.c && !isInside(args.c, extent, bytes))
    return outside("C");
  if (args.bias &&
      !isInside(args.bias,
                extentOf(args.m, 1, 1, 0, args.batch, args.biasStride), bytes))
    return outside("the bias");
  if (!args.aux)
    return {};
  int64_t elements =
      extentOf(args.m, 1, args.n, args.auxLd, args.batch, args.auxStride);
  bool hasBits = args.epilogue & (lt::epilogueRelu | ltReluGradBit);
  return isInside(args.aux, hasBits ? (elements + 7) / 8 : elements,
                  hasBits ? 1 : bytes)
             ? Status()
             : outside("the auxiliary matrix");
}

Status HostKernels::apply(const LtEpilogueArgs &args, void *) {
  SINTER_RETURN_IF_ERROR(checkMemory(args));
  for (int64_t b = 0; b < args.batch; ++b)
    for (int64_t j = 0; j < args.n; ++j)
      for (int64_t first = 0; first < args.m; first += 8) {
        unsigned bits = 0;
        for (int64_t i = first; i < std::min(args.m, first + 8); ++i)
          bits |= unsigned(applyEpilogue<HostMachine>(args, i, j, b))
                  << (i - first);
        if (storesMask(args))
          storeMask(args, first, j, b, bits);
      }
  return {};
}

Status HostKernels::sum(const LtSumArgs &args, void *) {
  const auto lines = uint64_t(args.lines);
  if (!isLibraryMemory(args.values,
                       uint64_t(extentOf(args.lines, args.lineStride,
                                         args.terms, args.termStride)) *
                           lt::elementBytes(args.type)))
    return outside("what is summed");
  if (args.to &&
      !isLibraryMemory(args.to, lines * lt::elementBytes(args.toType)))
    return outside("the sums");
  if (args.running && !isLibraryMemory(args.running, lines * sizeof(float)))
    return outside("the running sums");
  for (int64_t line = 0; line < args.lines; ++line) {
    float partials[ltSumLanes];
    for (int lane = 0; lane < ltSumLanes; ++lane)
      partials[lane] = partialSum<HostMachine>(args, line, lane);
    finishSum<HostMachine>(args, line, partials, 1);
  }
  return {};
}

std::unique_ptr<LtKernels> sinter::sim::createLtKernels() {
  return std::make_unique<HostKernels>();
}
