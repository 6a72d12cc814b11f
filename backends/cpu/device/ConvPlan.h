//===- ConvPlan.h - how a convolution is cut into parts ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Pure arithmetic on a sinter_conv. Slices are whole images or, if there are
// few images, bands of rows (of the first spatial dimension) of one image.
// Large filters are also cut, so that each slice reads only a part of them.
// What must stay true: nothing here depends on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CONVPLAN_H
#define SINTER_BACKENDS_CPU_DEVICE_CONVPLAN_H

#include "backends/cpu/device/OneDnnShim.h"
#include "backends/cpu/device/Partition.h"
#include "sinter/abi.h"

#include <cstdint>
#include <vector>

namespace sinter::cpu {

/// Whether a CONV is forward, over two dimensions, with channels last: what our
/// own code computes.
bool isForwardImageConv(const sinter_conv &params);

/// One spatial dimension, without negative pads: instead, rows of the stored
/// input are cut off.
struct ConvDim {
  int64_t stored, cropLow; // input rows in memory; the first used row
  int64_t in, out;         // input rows that are used, output rows
  int64_t kernel, stride, dilation;
  int64_t padLow, padHigh;
  int64_t window() const { return (kernel - 1) * dilation + 1; }
};

struct ConvShape {
  explicit ConvShape(const sinter_conv &params);

  int64_t batch, channels, filters, groups;
  std::vector<ConvDim> dims;
  bool channelsFirst;

  /// The same convolution with less to tell apart: the images of a pointwise
  /// one are lines of one image.
  ConvShape withJoinedImages() const;

  bool cropped() const;
  /// True if there are no products: no channels, or only padding as input.
  bool emptySum() const;
  int64_t inputPoints() const; // stored spatial size
  int64_t usedPoints() const;  // after cropping
  int64_t outputPoints() const;
  int64_t filterElements() const;
  /// Floating-point operations for the whole batch.
  double flops() const;
};

/// The part of a convolution that one primitive computes: `batch` images, a
/// band of the first spatial dimension, and some or all filters.
struct ConvSlice {
  int64_t batch;
  int64_t filters;
  int64_t in, out;         // rows of the first dimension
  int64_t padLow, padHigh; // of the first dimension
  auto operator<=>(const ConvSlice &) const = default;
};

/// A ConvSlice and its position.
struct PlacedConvSlice {
  ConvSlice slice;
  int64_t batchBegin, inBegin, outBegin, filterBegin;
};

/// Slices that cover the result exactly once: the output (forward) or the used
/// input (input gradient). `copied`: activations go through scratch, and slices
/// of single images keep it small.
std::vector<PlacedConvSlice> cutConv(const ConvShape &shape, bool inputGrad,
                                     bool copied);

/// Layouts for the library, always channels last and dense.
/// {batch, channels, rows, dims[1..]..} where rows replaces the first
/// dimension.
shim::Desc
activationDesc(const ConvShape &shape, bool input, int64_t batch, int64_t rows,
               int64_t channels,
               dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// {[groups,] filters / groups, channels / groups, kernel..}: dense, or the
/// layout that the library prefers.
shim::Desc
filterDesc(const ConvShape &shape, int64_t filters, bool any,
           dnnl::memory::data_type type = dnnl::memory::data_type::f32);
shim::ConvGeometry geometry(const ConvShape &shape, int64_t padLow,
                            int64_t padHigh);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CONVPLAN_H
