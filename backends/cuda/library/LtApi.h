//===- LtApi.h - the parts of cuBLASLt that Sinter uses ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Our own declarations of the part of cuBLASLt 12 and 13 that we use, as a
// table of functions. The CUDA device fills the table from the vendor's
// library; the simulated device and tests fill it with functions that check
// their arguments. So a build needs no toolkit, and a binary starts without
// one. Numbers are those of the vendor's headers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTAPI_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTAPI_H

// The C headers: device code includes this file.
#include <stddef.h>
#include <stdint.h>

namespace sinter::cuda::lt {

enum Status : int {
  statusSuccess = 0,
  statusNotInitialized = 1,
  statusInvalidValue = 7,
  statusExecutionFailed = 13,
  statusNotSupported = 15,
};

/// cudaDataType_t.
enum DataType : int32_t {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  i8 = 3,
  i32 = 10,
  bf16 = 14,
};

/// The bytes of an element; 0 if the type is not in DataType.
constexpr uint64_t elementBytes(int32_t type) {
  switch (type) {
  case f64:
    return 8;
  case f32:
  case i32:
    return 4;
  case f16:
  case bf16:
    return 2;
  case i8:
    return 1;
  default:
    return 0;
  }
}

enum ComputeType : int {
  compute32F = 68,
  compute32FFastTf32 = 77,
  compute64F = 70,
  compute32I = 72,
};

enum Operation : int32_t { opN = 0, opT = 1 };

/// Bits: relu 2, bias 4, gelu 32, aux 128; see LtPlan.h.
enum Epilogue : uint32_t {
  epilogueDefault = 1,
  epilogueRelu = 2,
  epilogueBias = 4,
  epilogueReluBias = 6,
  epilogueGelu = 32,
  epilogueGeluBias = 36,
  epilogueReluAux = 130,
  epilogueReluAuxBias = 134,
  epilogueDRelu = 136,
  epilogueDReluBGrad = 152,
  epilogueGeluAux = 160,
  epilogueGeluAuxBias = 164,
  epilogueDGelu = 192,
  epilogueDGeluBGrad = 208,
  epilogueBGradA = 256,
  epilogueBGradB = 512,
};

enum DescAttribute : int {
  descComputeType = 0,
  descScaleType = 1,
  descPointerMode = 2,
  descTransA = 3,
  descTransB = 4,
  descEpilogue = 7,
  descBiasPointer = 8,
  descBiasBatchStride = 10,
  descAuxPointer = 11,
  descAuxLd = 12,
  descAuxBatchStride = 13,
  descAuxDataType = 22,
  descBiasDataType = 26,
};

enum LayoutAttribute : int {
  layoutType = 0,
  layoutOrder = 1,
  layoutRows = 2,
  layoutCols = 3,
  layoutLd = 4,
  layoutBatchCount = 5,
  layoutBatchStride = 6,
};

enum PreferenceAttribute : int {
  prefMaxWorkspaceBytes = 1,
  prefReductionSchemes = 3,
  prefMinAlignmentA = 5,
  prefMinAlignmentB = 6,
  prefMinAlignmentC = 7,
  prefMinAlignmentD = 8,
};

/// Bits: how split-k adds partial sums. In-place sums follow the order in which
/// blocks happen to run, as far as the library's counters allow it. The other
/// two go through the workspace in a fixed order.
enum ReductionScheme : uint32_t {
  reductionNone = 0,
  reductionInPlace = 1,
  reductionComputeType = 2,
  reductionOutputType = 4,
};

enum AlgoAttribute : int {
  algoId = 0,
  algoTile = 1,
  algoSplitK = 2,
  algoReductionScheme = 3,
  algoStages = 6,
};

struct Algo {
  uint64_t data[8];
};

struct HeuristicResult {
  Algo algo;
  size_t workspaceBytes;
  int state; // Status
  float waves;
  int reserved[4];
};

using Handle = struct HandleTag *;
using Desc = struct DescTag *;
using Layout = struct LayoutTag *;
using Preference = struct PreferenceTag *;
/// cudaStream_t = CUstream.
using Stream = void *;

/// The functions, with the vendor's names without "cublasLt".
struct Api {
  size_t (*getVersion)();
  int (*create)(Handle *handle);
  int (*destroy)(Handle handle);
  int (*matmulDescCreate)(Desc *desc, int computeType, int scaleType);
  int (*matmulDescDestroy)(Desc desc);
  int (*matmulDescSetAttribute)(Desc desc, int attribute, const void *value,
                                size_t sizeBytes);
  int (*matrixLayoutCreate)(Layout *layout, int type, uint64_t rows,
                            uint64_t cols, int64_t ld);
  int (*matrixLayoutDestroy)(Layout layout);
  int (*matrixLayoutSetAttribute)(Layout layout, int attribute,
                                  const void *value, size_t sizeBytes);
  int (*matmulPreferenceCreate)(Preference *preference);
  int (*matmulPreferenceDestroy)(Preference preference);
  int (*matmulPreferenceSetAttribute)(Preference preference, int attribute,
                                      const void *value, size_t sizeBytes);
  int (*matmulAlgoGetHeuristic)(Handle handle, Desc desc, Layout a, Layout b,
                                Layout c, Layout d, Preference preference,
                                int requested, HeuristicResult *results,
                                int *returned);
  /// Whether an algorithm from any source computes a problem; also its
  /// workspace.
  int (*matmulAlgoCheck)(Handle handle, Desc desc, Layout a, Layout b, Layout c,
                         Layout d, const Algo *algo, HeuristicResult *result);
  int (*matmulAlgoConfigGetAttribute)(const Algo *algo, int attribute,
                                      void *value, size_t sizeBytes,
                                      size_t *writtenBytes);
  int (*matmul)(Handle handle, Desc desc, const void *alpha, const void *a,
                Layout aLayout, const void *b, Layout bLayout, const void *beta,
                const void *c, Layout cLayout, void *d, Layout dLayout,
                const Algo *algo, void *workspace, size_t workspaceBytes,
                Stream stream);

  /// Why the last call of this thread failed. Null for the vendor's library,
  /// which has no such function.
  const char *(*lastError)();
};

} // namespace sinter::cuda::lt

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTAPI_H
