//===- DnnAttention.cpp - attention by cuDNN ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnConv.h"
#include "backends/cuda/library/SdpaPlan.h"

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

SdpaStrides stridesOf(const sinter_heads &heads) {
  return {heads.batchStride, heads.headStride, heads.rowStride};
}

/// Turns the slices of sdpaBackward that the command does not have into
/// scratch, and renumbers the others to the command's slices.
void takeScratch(DnnGraph &graph, const SdpaShape &shape) {
  const uint32_t sums = shape.masked ? 7 : 6, accumulator = sums + 1,
                 numScratch = 2;
  int64_t lines = shape.batch * shape.heads * shape.queries;
  // Both are in fp32. The accumulator begins after the sums, rounded up.
  int64_t accumulatorAt = (lines + 63) / 64 * 64, end = accumulatorAt;
  for (DnnTensor &tensor : graph.tensors) {
    if (tensor.isVirtual || tensor.isByValue)
      continue;
    if (tensor.slice == sums || tensor.slice == accumulator) {
      tensor.isScratch = true;
      tensor.offset = tensor.slice == sums ? 0 : accumulatorAt;
      if (tensor.slice == accumulator)
        end = accumulatorAt + lines * shape.depth;
      tensor.slice = SINTER_NONE;
    } else if (tensor.slice > accumulator) {
      tensor.slice -= numScratch;
    }
  }
  graph.scratchBytes = static_cast<uint64_t>(end) * sizeof(float);
}

/// NVIDIA's own frontend refuses these versions for attention in 16 bits, for
/// known defects.
Status checkVersion(const DnnContext &context) {
  const size_t version = context.api().getVersion();
  if (version != 91000 && version != 91001)
    return {};
  return {SINTER_DEVICE_FAILED,
          context.version() + " has defects in attention: install cuDNN 9.10.2 "
                              "or newer, or compile with --libraries=cublaslt"};
}

} // namespace

Result<std::unique_ptr<LibraryCall>> sinter::cuda::prepareDnnAttention(
    const DnnContext &context, const sinter_command &command,
    const LibraryOptions &options, const ZeroFill &zeroFill) {
  SINTER_RETURN_IF_ERROR(checkVersion(context));
  const auto &p = *command.attention.params;
  SdpaShape shape;
  shape.dtype = p.dtype;
  shape.batch = p.batch;
  shape.heads = p.heads;
  shape.queries = p.queries;
  shape.keys = p.keys;
  shape.depth = p.depth;
  shape.causal = p.causal != 0;
  shape.masked = p.hasMask != 0;
  shape.mask = stridesOf(p.mask);
  shape.scale = p.scale;
  shape.query = stridesOf(p.query);
  shape.key = stridesOf(p.key);
  shape.value = stridesOf(p.value);
  shape.result = stridesOf(p.output);
  if (p.direction == SINTER_ATTENTION_FORWARD)
    return prepareDnnGraph(context, command,
                           sdpaForward(shape, p.hasStats != 0),
                           "cuDNN attention", options, zeroFill);
  shape.resultGrad = stridesOf(p.outputGrad);
  shape.queryGrad = stridesOf(p.queryGrad);
  shape.keyGrad = stridesOf(p.keyGrad);
  shape.valueGrad = stridesOf(p.valueGrad);
  // The compiler counts the scratch of the ordered form, for all programs.
  LibraryOptions ordered = options;
  ordered.deterministic = true;
  DnnGraph graph = sdpaBackward(shape, /*deterministic=*/true);
  takeScratch(graph, shape);
  return prepareDnnGraph(context, command, std::move(graph),
                         "cuDNN attention gradient", ordered, zeroFill);
}
