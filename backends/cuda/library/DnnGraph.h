//===- DnnGraph.h - an operation graph of cuDNN, as data --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A computation as tensors and the operations between them, before any
// descriptor is made. Pure data; DnnPlan.h passes it to cuDNN.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_DNNGRAPH_H
#define SINTER_BACKENDS_CUDA_LIBRARY_DNNGRAPH_H

#include "backends/cuda/library/DnnApi.h"
#include "sinter/abi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::cuda {

/// Dims and strides are in cuDNN's order: batch, channels, spatial. The strides
/// define the layout in memory.
struct DnnTensor {
  int32_t type = dnn::f32; // dnn::DataType
  std::vector<int64_t> dims, strides;
  /// Exists only between operations, never in memory.
  bool isVirtual = false;
  /// A number that is passed by value, in fp32.
  bool isByValue = false;
  float value = 0;
  /// A slice of the command, and an offset in it, in elements.
  uint32_t slice = SINTER_NONE;
  int64_t offset = 0;
  /// Lies in the call's own scratch, at `offset`, instead of in a slice.
  bool isScratch = false;
  /// The alignment of the address, in bytes.
  int64_t alignment = 16;

  uint64_t elementBytes() const {
    switch (type) {
    case dnn::f64:
      return 8;
    case dnn::f16:
    case dnn::bf16:
      return 2;
    case dnn::boolean:
      return 1;
    default:
      return 4;
    }
  }
};

struct DnnOperation {
  enum Kind {
    ConvForward,    // x, w -> y
    ConvInputGrad,  // x = dy, w -> y = dx
    ConvFilterGrad, // x, w = dy -> y = dw
    Pointwise,      // x [, w [, t]] -> y
    Matmul,         // x, w -> y
    Reduction,      // x -> y
    Reshape,        // x -> y
    GenStats,       // x -> y = its sums, w = those of its squares
  };
  Kind kind = Pointwise;
  int32_t mode = 0;                   // dnn::PointwiseMode or ReductionOperator
  int x = -1, w = -1, t = -1, y = -1; // indices of tensors
  // For convolutions.
  std::vector<int64_t> strides, dilations, prePads, postPads;
  // For relu and gen_index.
  float upper = 0;
  bool hasUpper = false;
  int64_t axis = 0;
  /// The type in which a pointwise step computes.
  int32_t mathType = dnn::f32;
};

struct DnnGraph {
  /// If not empty: why the computation cannot be expressed, in a few words.
  std::string refusal;
  /// The result has no elements.
  bool empty = false;
  /// The call's own scratch, in addition to cuDNN's workspace.
  uint64_t scratchBytes = 0;
  /// The result's slice is zeroed before the operations, if there are any.
  bool zeroFirst = false;
  /// The type of the sums: dnn::f32 or dnn::f64.
  int32_t computeType = dnn::f32;
  /// Engines may round fp32 operands to tf32.
  bool allowsTf32 = false;
  std::vector<DnnTensor> tensors; // tensor i has the id i + 1
  std::vector<DnnOperation> operations;

  int add(DnnTensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<int>(tensors.size()) - 1;
  }
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_DNNGRAPH_H
