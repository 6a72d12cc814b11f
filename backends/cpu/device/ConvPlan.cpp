//===- ConvPlan.cpp - the geometry of a convolution and how it is cut -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvPlan.h"

#include <algorithm>
#include <bit>

using namespace sinter::cpu;
using dnnl::memory;

bool sinter::cpu::isForwardImageConv(const sinter_conv &params) {
  return params.direction == SINTER_CONV_FORWARD && params.spatialRank == 2 &&
         params.layout == SINTER_CHANNELS_LAST;
}

ConvShape::ConvShape(const sinter_conv &p)
    : batch(p.batch), channels(p.channels), filters(p.filters),
      groups(p.groups), channelsFirst(p.layout == SINTER_CHANNELS_FIRST) {
  for (uint32_t i = 0; i < p.spatialRank; ++i) {
    ConvDim dim;
    dim.stored = p.inputDims[i];
    dim.cropLow = std::max<int64_t>(0, -p.padsLow[i]);
    dim.in = dim.stored - dim.cropLow;
    dim.out = p.outputDims[i];
    dim.kernel = p.kernel[i];
    dim.stride = p.strides[i];
    dim.dilation = p.dilations[i];
    dim.padLow = std::max<int64_t>(0, p.padsLow[i]);
    dim.padHigh = std::max<int64_t>(0, p.padsHigh[i]);
    // A negative high pad matters only if it cuts off at least a whole stride
    // of rows. Fewer rows are out of reach of every window anyway.
    int64_t reached = (dim.out - 1) * dim.stride + dim.window() - dim.padLow;
    if (p.padsHigh[i] < 0 && dim.out > 0 && dim.in - reached >= dim.stride)
      dim.in = reached;
    dims.push_back(dim);
  }
}

ConvShape ConvShape::withJoinedImages() const {
  const bool isPointwise = std::ranges::all_of(dims, [](const ConvDim &dim) {
    return dim.kernel == 1 && dim.stride == 1 && dim.in == dim.stored &&
           dim.in == dim.out;
  });
  ConvShape joined = *this;
  if (!isPointwise || channelsFirst)
    return joined;
  ConvDim &lines = joined.dims.front();
  lines.stored = lines.in = lines.out = batch * lines.out;
  joined.batch = 1;
  return joined;
}

bool ConvShape::cropped() const {
  for (const ConvDim &dim : dims)
    if (dim.in != dim.stored)
      return true;
  return false;
}

bool ConvShape::emptySum() const {
  for (const ConvDim &dim : dims)
    if (dim.in <= 0)
      return true;
  return channels == 0;
}

int64_t ConvShape::inputPoints() const {
  int64_t points = 1;
  for (const ConvDim &dim : dims)
    points *= dim.stored;
  return points;
}

int64_t ConvShape::usedPoints() const {
  int64_t points = 1;
  for (const ConvDim &dim : dims)
    points *= std::max<int64_t>(0, dim.in);
  return points;
}

int64_t ConvShape::outputPoints() const {
  int64_t points = 1;
  for (const ConvDim &dim : dims)
    points *= dim.out;
  return points;
}

int64_t ConvShape::filterElements() const {
  int64_t elements = filters * (channels / groups);
  for (const ConvDim &dim : dims)
    elements *= dim.kernel;
  return elements;
}

double ConvShape::flops() const {
  return 2.0 * static_cast<double>(batch) *
         static_cast<double>(outputPoints()) *
         static_cast<double>(filterElements());
}

namespace {

/// Sets the input rows that the band [begin, begin + rows) of output rows
/// reads.
bool forwardBand(const ConvDim &dim, int64_t begin, int64_t rows,
                 PlacedConvSlice &placed) {
  int64_t first = begin * dim.stride - dim.padLow;
  int64_t last = (begin + rows - 1) * dim.stride - dim.padLow + dim.window();
  int64_t inBegin = std::max<int64_t>(first, 0);
  int64_t inEnd = std::min(last, dim.in);
  placed.outBegin = begin;
  placed.inBegin = inBegin;
  placed.slice.out = rows;
  placed.slice.in = inEnd - inBegin;
  placed.slice.padLow = inBegin - first;
  placed.slice.padHigh = last - inEnd;
  return inEnd > inBegin;
}

/// Sets the output rows that contribute to the band [begin, end) of input rows.
bool inputGradBand(const ConvDim &dim, int64_t begin, int64_t end,
                   PlacedConvSlice &placed) {
  if (end <= begin)
    return false;
  int64_t reach = begin + dim.padLow - (dim.window() - 1);
  int64_t outBegin = reach <= 0 ? 0 : (reach + dim.stride - 1) / dim.stride;
  int64_t outEnd = std::min(dim.out, (end - 1 + dim.padLow) / dim.stride + 1);
  placed.inBegin = begin;
  placed.outBegin = outBegin;
  placed.slice.in = end - begin;
  placed.slice.out = outEnd - outBegin;
  placed.slice.padLow = dim.padLow + begin - outBegin * dim.stride;
  int64_t padHigh = (placed.slice.out - 1) * dim.stride + dim.window() -
                    placed.slice.in - placed.slice.padLow;
  placed.slice.padHigh = std::max<int64_t>(0, padHigh);
  // The library's formula does not allow a whole stride of rows that no window
  // reaches.
  return outEnd > outBegin && placed.slice.padLow >= 0 && padHigh > -dim.stride;
}

/// The bands of one image; none if they cannot be formed.
std::vector<PlacedConvSlice> cutRows(const ConvDim &dim, bool inputGrad,
                                     int64_t filters, int64_t pieces) {
  std::vector<PlacedConvSlice> bands;
  // Input bands begin where a window begins, so that no pad of a band is
  // negative.
  Partition rows(inputGrad ? dim.in + dim.padLow : dim.out, pieces,
                 inputGrad ? dim.stride : 1);
  for (int64_t i = 0; i < rows.count(); ++i) {
    PlacedConvSlice placed{};
    placed.slice.batch = 1;
    placed.slice.filters = filters;
    int64_t begin = rows.begin(i), end = begin + rows.size(i);
    if (inputGrad && end <= dim.padLow)
      continue; // all of it is padding
    bool good =
        inputGrad ? inputGradBand(dim, std::max<int64_t>(0, begin - dim.padLow),
                                  end - dim.padLow, placed)
                  : forwardBand(dim, begin, end - begin, placed);
    if (!good)
      return {};
    bands.push_back(placed);
  }
  return bands;
}

/// A filter of more bytes than this does not stay in a core's cache together
/// with the activations. Every slice that uses all of it would read it again
/// from memory.
constexpr int64_t largeFilterBytes = 512 << 10;
/// How much input a slice may read if the input is read again for each piece of
/// the filters.
constexpr int64_t cachedInputBytes = 1 << 20;
/// Pieces of the filters have at least this size: two of the widest registers.
constexpr int64_t filterGranule = 32;

/// Slices that are groups of images times pieces of the filters.
std::vector<PlacedConvSlice> cutFilters(const ConvShape &shape,
                                        int64_t wanted) {
  const ConvDim &first = shape.dims.front();
  int64_t inputBytes = 4 * shape.batch * shape.usedPoints() * shape.channels;
  int64_t filterBytes = 4 * shape.filterElements();
  auto quotient = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
  // As few pieces as the cache allows, because each piece reads the input
  // again.
  int64_t pieces = quotient(filterBytes, largeFilterBytes);
  Partition images(
      shape.batch,
      std::max(quotient(wanted, pieces), inputBytes / cachedInputBytes), 1);
  Partition filters(shape.filters,
                    std::max(pieces, quotient(wanted, images.count())),
                    filterGranule);
  std::vector<PlacedConvSlice> slices;
  // Neighbouring slices in this order share a piece of the filters.
  for (int64_t j = 0; j < filters.count(); ++j)
    for (int64_t i = 0; i < images.count(); ++i)
      slices.push_back({{images.size(i), filters.size(j), first.in, first.out,
                         first.padLow, first.padHigh},
                        images.begin(i),
                        0,
                        0,
                        filters.begin(j)});
  return slices;
}

/// The number of slices for a convolution of `us` microseconds. It is a power
/// of two, which a few threads can share evenly.
int64_t convSlicesFor(double us) {
  constexpr double leastUs = 12, enoughUs = 400;
  constexpr int64_t enough = 16;
  auto few = std::min(static_cast<int64_t>(us / leastUs), enough);
  auto many = std::min(static_cast<int64_t>(us / enoughUs), maxSlices);
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>({few, many, 1}))));
}

} // namespace

std::vector<PlacedConvSlice> sinter::cpu::cutConv(const ConvShape &shape,
                                                  bool inputGrad, bool copied) {
  const ConvDim &first = shape.dims.front();
  double bytes =
      4.0 * static_cast<double>(shape.batch) *
          (static_cast<double>(shape.usedPoints() * shape.channels) +
           static_cast<double>(shape.outputPoints() * shape.filters)) +
      4.0 * static_cast<double>(shape.filterElements());
  double us = estimateUs(shape.flops(), bytes);
  int64_t wanted = convSlicesFor(us);
  if (!inputGrad && !copied && shape.groups == 1 && wanted > 1 &&
      4 * shape.filterElements() > largeFilterBytes &&
      shape.filters >= 2 * filterGranule)
    return cutFilters(shape, wanted);
  // Slices of single images fit in the cache together with their copies. The
  // pool gives a worker several at once if they are small.
  if (copied && us / static_cast<double>(shape.batch) > 2.0)
    wanted = std::max(wanted, shape.batch);

  // A band needs enough points to keep the kernels busy, unless there would be
  // very few slices.
  constexpr int64_t enoughSlices = 8, manyPoints = 128, fewPoints = 24;
  std::vector<PlacedConvSlice> bands;
  if (wanted > shape.batch) {
    int64_t perImage = (wanted + shape.batch - 1) / shape.batch;
    int64_t points = inputGrad ? shape.usedPoints() : shape.outputPoints();
    int64_t least = shape.batch >= enoughSlices ? manyPoints : fewPoints;
    perImage = std::min(perImage, points / least);
    if (perImage > 1)
      bands = cutRows(first, inputGrad, shape.filters, perImage);
  }
  std::vector<PlacedConvSlice> slices;
  if (bands.size() > 1) {
    for (int64_t image = 0; image < shape.batch; ++image)
      for (PlacedConvSlice band : bands) {
        band.batchBegin = image;
        slices.push_back(band);
      }
    return slices;
  }
  Partition images(shape.batch, wanted, 1);
  for (int64_t i = 0; i < images.count(); ++i)
    slices.push_back({{images.size(i), shape.filters, first.in, first.out,
                       first.padLow, first.padHigh},
                      images.begin(i),
                      0,
                      0,
                      0});
  return slices;
}

shim::Desc sinter::cpu::activationDesc(const ConvShape &shape, bool input,
                                       int64_t batch, int64_t rows,
                                       int64_t channels,
                                       memory::data_type type) {
  memory::dims dims = {batch, channels, rows};
  for (size_t i = 1; i < shape.dims.size(); ++i)
    dims.push_back(input ? shape.dims[i].in : shape.dims[i].out);
  static constexpr memory::format_tag tags[] = {memory::format_tag::nwc,
                                                memory::format_tag::nhwc,
                                                memory::format_tag::ndhwc};
  return {dims, type, tags[shape.dims.size() - 1]};
}

shim::Desc sinter::cpu::filterDesc(const ConvShape &shape, int64_t filters,
                                   bool any, memory::data_type type) {
  memory::dims dims;
  if (shape.groups > 1)
    dims.push_back(shape.groups);
  dims.push_back(filters / shape.groups);
  dims.push_back(shape.channels / shape.groups);
  for (const ConvDim &dim : shape.dims)
    dims.push_back(dim.kernel);
  using tag = memory::format_tag;
  static constexpr tag plain[] = {tag::oiw, tag::oihw, tag::oidhw};
  static constexpr tag grouped[] = {tag::goiw, tag::goihw, tag::goidhw};
  size_t rank = shape.dims.size() - 1;
  return {dims, type,
          any                ? tag::any
          : shape.groups > 1 ? grouped[rank]
                             : plain[rank]};
}

shim::ConvGeometry sinter::cpu::geometry(const ConvShape &shape, int64_t padLow,
                                         int64_t padHigh) {
  shim::ConvGeometry g;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const ConvDim &dim = shape.dims[i];
    g.strides.push_back(dim.stride);
    g.dilations.push_back(dim.dilation - 1);
    g.padsLow.push_back(i == 0 ? padLow : dim.padLow);
    g.padsHigh.push_back(i == 0 ? padHigh : dim.padHigh);
  }
  return g;
}
