//===- OneDnnFilterGrad.cpp - fp32 gradients of filters -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The sum runs over the batch, so the batch is cut into chunks whose number the
// shape determines. Each chunk has a partial result in the library's filter
// layout, and the partial results are added in a fixed tree. If the filter is
// so large that partial results would cost too much, its output channels are
// also cut.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvOperands.h"
#include "backends/cpu/device/CpuLibrary.h"

#include <atomic>
#include <cstring>
#include <map>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;
using dnnl::memory;

namespace {

/// The largest useful number of chunks of the batch. With too few chunks, the
/// filters are also cut, although each piece then reads the input again.
constexpr int64_t maxChunks = 16, enoughPieces = 8;

class FilterGradCall : public LibraryCall {
public:
  FilterGradCall(OneDnnContext &context, const sinter_command &command)
      : context_(context), shape_(*command.conv.params),
        input_(shape_, /*input=*/true), output_(shape_, /*input=*/false) {}

  void prepare();

  uint64_t sharedBytes() const override { return sharedBytes_; }
  uint64_t perWorkerBytes() const override { return perWorkerBytes_; }
  Status bind(const Scratch &scratch, int threads) override;
  Status run(void *const *buffers, const CallContext &context) override;
  std::string description() const override;

private:
  /// Primitives depend on the sizes of the chunk and of the piece of filters.
  struct Size {
    int64_t batch, filters;
    auto operator<=>(const Size &) const = default;
  };
  /// The layout that all chunks share for pieces of filters of one size.
  struct FilterLayout {
    memory::desc desc;
    FilterReorder reorder;
    bool plain = false;
  };

  void choosePieces();
  void makeVariant(const Size &size);
  bool runPiece(void *const *buffers, int worker, int64_t index) const;
  float *partial(int64_t piece, int64_t chunk) const {
    return reinterpret_cast<float *>(scratch_.shared) +
           (piece * chunks_.count() + chunk) * partialElements_;
  }
  float *result(void *const *buffers) const {
    return static_cast<float *>(buffers[2]);
  }

  OneDnnContext &context_;
  ConvShape shape_;
  ActivationView input_, output_;
  bool empty_ = false;
  bool gatherInput_ = false, gatherOutput_ = false;
  Partition chunks_, pieces_; // of the batch, of the filters
  std::map<Size, OneDnnPrimitive> variants_;
  std::map<int64_t, FilterLayout> layouts_; // by number of filters
  int64_t partialElements_ = 0;             // size of one partial result
  uint64_t sharedBytes_ = 0, perWorkerBytes_ = 0;
  int64_t inputOffset_ = 0, outputOffset_ = 0;
  Scratch scratch_;
};

void FilterGradCall::choosePieces() {
  double us = estimateUs(
      shape_.flops(),
      4.0 * static_cast<double>(shape_.batch) *
          static_cast<double>(shape_.usedPoints() * shape_.channels +
                              shape_.outputPoints() * shape_.filters));
  int64_t wanted = std::min(slicesFor(us), maxChunks);
  // Another partial result costs about a nanosecond per element; allow a tenth
  // of the work for that.
  double perChunkUs = 1e-3 * static_cast<double>(shape_.filterElements());
  auto affordable = static_cast<int64_t>(0.1 * us / perChunkUs);
  chunks_ = Partition(shape_.batch, std::min(wanted, 1 + affordable), 1);
  int64_t filterPieces = 1;
  if (shape_.groups == 1)
    filterPieces = (std::min(wanted, enoughPieces) + chunks_.count() - 1) /
                   chunks_.count();
  pieces_ = Partition(shape_.filters, filterPieces, 16);
}

void FilterGradCall::makeVariant(const Size &size) {
  const ConvDim &first = shape_.dims.front();
  memory::desc input =
      activationDesc(shape_, true, size.batch, first.in, shape_.channels);
  memory::desc output =
      activationDesc(shape_, false, size.batch, first.out, size.filters);
  shim::ConvGeometry g = geometry(shape_, first.padLow, first.padHigh);
  auto found = layouts_.find(size.filters);
  auto make = [&](const memory::desc &weights) {
    auto forward = shim::convForward(context_.engine, input, weights, {},
                                     output, g, dnnl::primitive_attr());
    return shim::convBackwardWeights(context_.engine, input, weights, output, g,
                                     makeAttributes(), forward);
  };
  // Partial results can be added only if all chunks have the same layout.
  auto desc = make(found == layouts_.end()
                       ? filterDesc(shape_, size.filters, /*any=*/true)
                       : found->second.desc);
  if (found == layouts_.end()) {
    FilterLayout layout;
    layout.desc = desc.diff_weights_desc();
    layout.plain =
        layout.desc == filterDesc(shape_, size.filters, /*any=*/false);
    if (!layout.plain)
      layout.reorder = FilterReorder(context_, shape_, size.filters,
                                     layout.desc, /*toPacked=*/false);
    layouts_.emplace(size.filters, std::move(layout));
  }
  std::vector<PrimitiveArg> args = {
      {DNNL_ARG_SRC, input},
      {DNNL_ARG_DIFF_DST, output},
      {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc()}};
  variants_.emplace(size,
                    OneDnnPrimitive(dnnl::convolution_backward_weights(desc),
                                    std::move(args), desc.scratchpad_desc(),
                                    desc.impl_info_str()));
}

void FilterGradCall::prepare() {
  empty_ =
      shape_.emptySum() || shape_.batch == 0 || output_.imageElements() == 0;
  if (empty_)
    return;
  choosePieces();
  gatherInput_ = !input_.direct();
  gatherOutput_ = !output_.direct() || pieces_.count() > 1;
  uint64_t scratchpad = 0;
  for (int64_t piece = 0; piece < pieces_.count(); ++piece)
    for (int64_t chunk = 0; chunk < chunks_.count(); ++chunk) {
      Size size{chunks_.size(chunk), pieces_.size(piece)};
      if (!variants_.count(size))
        makeVariant(size);
      scratchpad = std::max(scratchpad, variants_.at(size).scratchpadBytes());
    }
  for (const auto &[filters, layout] : layouts_) {
    scratchpad = std::max(scratchpad, layout.reorder.scratchpadBytes());
    partialElements_ =
        std::max(partialElements_,
                 alignUp(static_cast<int64_t>(layout.desc.get_size())) / 4);
  }
  int64_t offset = alignUp(static_cast<int64_t>(scratchpad));
  inputOffset_ = offset;
  if (gatherInput_)
    offset +=
        alignUp(4 * chunks_.largest() * shape_.usedPoints() * shape_.channels);
  outputOffset_ = offset;
  if (gatherOutput_)
    offset += alignUp(4 * chunks_.largest() * shape_.outputPoints() *
                      pieces_.largest());
  perWorkerBytes_ = static_cast<uint64_t>(offset);
  sharedBytes_ = static_cast<uint64_t>(4 * partialElements_ * chunks_.count() *
                                       pieces_.count());
}

Status FilterGradCall::bind(const Scratch &scratch, int threads) {
  scratch_ = scratch;
  try {
    for (auto &[size, primitive] : variants_)
      primitive.bind(context_, scratch, threads);
    for (auto &[filters, layout] : layouts_)
      layout.reorder.bind(context_, scratch, threads);
  } catch (const dnnl::error &error) {
    return {SINTER_DEVICE_FAILED, std::string("oneDNN: ") + error.what()};
  }
  return {};
}

bool FilterGradCall::runPiece(void *const *buffers, int worker,
                              int64_t index) const {
  int64_t piece = index / chunks_.count(), chunk = index % chunks_.count();
  int64_t image = chunks_.begin(chunk), images = chunks_.size(chunk);
  int64_t filter = pieces_.begin(piece), filters = pieces_.size(piece);
  const ConvDim &first = shape_.dims.front();
  uint8_t *mine = scratch_.perWorker +
                  static_cast<uint64_t>(worker) * scratch_.perWorkerStride;
  auto operand = [&](const ActivationView &view, const void *memory,
                     bool gather, int64_t scratchOffset, int64_t rows,
                     int64_t channelBegin, int64_t channels) {
    const auto *from = static_cast<const float *>(memory);
    if (!gather)
      return const_cast<float *>(from + image * view.imageElements());
    auto *dense = reinterpret_cast<float *>(mine + scratchOffset);
    view.gather(from, image, images, 0, rows, channelBegin, channels, dense);
    return dense;
  };
  const FilterLayout &layout = layouts_.at(filters);
  float *target = partial(piece, chunk);
  int64_t plainOffset = filter * (shape_.filterElements() / shape_.filters);
  if (layout.plain && chunks_.count() == 1)
    target = result(buffers) + plainOffset;
  void *addresses[] = {operand(input_, buffers[0], gatherInput_, inputOffset_,
                               first.in, 0, shape_.channels),
                       operand(output_, buffers[1], gatherOutput_,
                               outputOffset_, first.out, filter, filters),
                       target};
  return variants_.at({images, filters}).run(context_, worker, addresses);
}

Status FilterGradCall::run(void *const *buffers, const CallContext &context) {
  if (empty_) {
    // A filter without elements may have any address.
    if (size_t bytes =
            sizeof(float) * static_cast<size_t>(shape_.filterElements()))
      std::memset(result(buffers), 0, bytes);
    return {};
  }
  OneThreadScope oneThread;
  std::atomic<bool> failed{false};
  auto guard = [&](bool good) {
    if (!good)
      failed.store(true, std::memory_order_relaxed);
  };
  context.parallelFor(pieces_.count() * chunks_.count(), 1,
                      [&](int worker, int64_t begin, int64_t end) {
                        OneThreadScope::limitWorker(worker);
                        for (int64_t i = begin; i < end; ++i)
                          guard(runPiece(buffers, worker, i));
                      });
  for (int64_t piece = 0; piece < pieces_.count(); ++piece) {
    const FilterLayout &layout = layouts_.at(pieces_.size(piece));
    float *sum = partial(piece, 0);
    int64_t plainOffset =
        pieces_.begin(piece) * (shape_.filterElements() / shape_.filters);
    auto elements = static_cast<int64_t>(layout.desc.get_size() / 4);
    if (chunks_.count() > 1)
      context.parallelFor(
          elements, std::max<int64_t>(1024, 65536 / chunks_.count()),
          [&](int, int64_t begin, int64_t end) {
            sumPartials(sum, partialElements_, chunks_.count(), begin, end);
            if (layout.plain)
              std::memcpy(result(buffers) + plainOffset + begin, sum + begin,
                          static_cast<size_t>(end - begin) * sizeof(float));
          });
    if (!layout.plain)
      context.parallelFor(
          layout.reorder.pieces(), 1,
          [&](int worker, int64_t begin, int64_t end) {
            OneThreadScope::limitWorker(worker);
            for (int64_t i = begin; i < end; ++i)
              guard(layout.reorder.run(context_, worker, i,
                                       result(buffers) + plainOffset, sum));
          });
  }
  if (failed.load(std::memory_order_relaxed))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to run a filter gradient"};
  return {};
}

std::string FilterGradCall::description() const {
  std::string text = "conv filter grad";
  if (variants_.empty())
    return text + " without work";
  text += " in " + std::to_string(chunks_.count()) + " chunks of " +
          std::to_string(chunks_.largest()) + " images x " +
          std::to_string(pieces_.count()) + " pieces of " +
          std::to_string(pieces_.largest()) + " filters, " +
          variants_.begin()->second.implementation();
  if (gatherInput_ || !output_.direct())
    text += ", activations copied";
  return text;
}

} // namespace

LibraryCallResult
sinter::cpu::prepareOneDnnFilterGrad(OneDnnContext &context,
                                     const sinter_command &command) {
  auto call = std::make_unique<FilterGradCall>(context, command);
  call->prepare();
  return std::unique_ptr<LibraryCall>(std::move(call));
}
