//===- ConvPlan.h - how a convolution is cut into parts ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Pure arithmetic on a sinter_conv. Slices are whole images or, when there are
// few of them, bands of rows (of the first spatial dimension) of one image;
// large filters are cut as well, so that each slice reads a part of them only.
// What must stay true: nothing here knows how many threads there are.
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

/// One spatial dimension, without negative pads: those cut off `cropLow` and
/// `cropHigh` rows of the stored input instead.
struct ConvDim {
  int64_t stored, cropLow; // input rows in memory; the first that is used
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

  bool cropped() const;
  /// No products at all: no channels, or only padding is left of the input.
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

/// A ConvSlice and where it lies.
struct PlacedConvSlice {
  ConvSlice slice;
  int64_t batchBegin, inBegin, outBegin, filterBegin;
};

/// Slices that cover the result exactly once: of the output (forward) or of the
/// used input (input gradient). `copied`: activations go through scratch, which
/// single images keep small.
std::vector<PlacedConvSlice> cutConv(const ConvShape &shape, bool inputGrad,
                                     bool copied);

/// Layouts for the library, always channels last and dense.
/// {batch, channels, rows, dims[1..]..} where rows replaces the first
/// dimension.
shim::Desc
activationDesc(const ConvShape &shape, bool input, int64_t batch, int64_t rows,
               int64_t channels,
               dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// {[groups,] filters / groups, channels / groups, kernel..}: dense, or
/// whatever the library prefers.
shim::Desc
filterDesc(const ConvShape &shape, int64_t filters, bool any,
           dnnl::memory::data_type type = dnnl::memory::data_type::f32);
shim::ConvGeometry geometry(const ConvShape &shape, int64_t padLow,
                            int64_t padHigh);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CONVPLAN_H
