//===- ConvOperands.cpp - activations and filters around a convolution ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvOperands.h"

using namespace sinter;
using namespace sinter::cpu;

ActivationView::ActivationView(const ConvShape &shape, bool input)
    : channels_(input ? shape.channels : shape.filters),
      storedPoints_(input ? shape.inputPoints() : shape.outputPoints()),
      channelsFirst_(shape.channelsFirst) {
  rowPoints_ = 1;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const ConvDim &dim = shape.dims[i];
    // Missing dimensions count as outer ones of size 1, but rows stay dimension
    // 0.
    size_t at = i == 0 ? 0 : i + (3 - shape.dims.size());
    stored_[at] = input ? dim.stored : dim.out;
    used_[at] = input ? dim.in : dim.out;
    crop_[at] = input ? dim.cropLow : 0;
    if (i > 0)
      rowPoints_ *= used_[at];
    cropped_ |= stored_[at] != used_[at];
  }
  direct_ =
      !cropped_ && (!channelsFirst_ || channels_ == 1 || storedPoints_ == 1);
}

void ActivationView::gather(const float *memory, int64_t imageBegin,
                            int64_t images, int64_t rowBegin, int64_t rows,
                            int64_t channelBegin, int64_t channels,
                            float *dense) const {
  int64_t imagePoints = rows * rowPoints_;
  for (int64_t i = 0; i < images; ++i)
    forEachRun(imageBegin + i, rowBegin, rows,
               [&](int64_t offset, int64_t densePoint, int64_t points) {
                 copyBlock({dense + (i * imagePoints + densePoint) * channels,
                            points, channels, channels, 1},
                           memory + offset + channelBegin * channelStride(),
                           pointStride(), channelStride());
               });
}

FilterReorder::FilterReorder(const OneDnnContext &context,
                             const ConvShape &shape, int64_t filters,
                             const shim::Desc &packed, bool toPacked)
    : toPacked_(toPacked) {
  shim::Desc plain = filterDesc(shape, filters, /*any=*/false);
  int64_t perFilter =
      shape.filterElements() / std::max<int64_t>(1, shape.filters);
  auto add = [&](const shim::Desc &plainPart, const shim::Desc &packedPart,
                 int64_t offset) {
    pieces_.push_back({toPacked_ ? makeReorder(context, plainPart, packedPart)
                                 : makeReorder(context, packedPart, plainPart),
                       offset});
  };
  // Cut along the filters, at borders that are block borders in every layout of
  // the library.
  Partition cut(filters, filters * perFilter / 65536, 64);
  if (shape.groups == 1 && cut.count() > 1) {
    try {
      for (int64_t i = 0; i < cut.count(); ++i) {
        shim::Dims dims = plain.dims(), offsets(dims.size(), 0);
        dims[0] = cut.size(i);
        offsets[0] = cut.begin(i);
        add(filterDesc(shape, cut.size(i), /*any=*/false),
            packed.submemory_desc(dims, offsets), cut.begin(i) * perFilter);
      }
      return;
    } catch (const dnnl::error &) {
      pieces_.clear(); // a layout that cannot be cut: one piece
    }
  }
  add(plain, packed, 0);
}

uint64_t FilterReorder::scratchpadBytes() const {
  uint64_t bytes = 0;
  for (const Piece &piece : pieces_)
    bytes = std::max(bytes, piece.reorder.scratchpadBytes());
  return bytes;
}

void FilterReorder::bind(const OneDnnContext &context,
                         const rt::Scratch &scratch, int threads) {
  for (Piece &piece : pieces_)
    piece.reorder.bind(context, scratch, threads);
}

bool FilterReorder::run(const OneDnnContext &context, int worker, int64_t piece,
                        const float *plain, const void *packed) const {
  const Piece &part = pieces_[static_cast<size_t>(piece)];
  void *plainAddress = const_cast<float *>(plain + part.plainOffset);
  void *packedAddress = const_cast<void *>(packed);
  void *addresses[] = {toPacked_ ? plainAddress : packedAddress,
                       toPacked_ ? packedAddress : plainAddress};
  return part.reorder.run(context, worker, addresses);
}
