//===- SimCudnn.h - a cuDNN that checks and computes by loops ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The functions of cuda::dnn::Api for the simulated device: descriptors with
// the vendor's attributes and types; the rules of tensors, operations, graphs
// and variant packs; engines for graphs for which cuDNN 9 was observed to have
// some; and their results in fp32 (fp64 for fp64). A violated rule gives
// CUDNN_STATUS_BAD_PARAM, and getLastErrorString describes it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMCUDNN_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMCUDNN_H

#include "backends/cuda/library/DnnApi.h"

namespace sinter::sim {

const cuda::dnn::Api &dnnApi();

/// The number of handles and descriptors that were not destroyed.
size_t dnnLiveObjects();

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMCUDNN_H
