//===- Conv.cpp - Conv and ConvTranspose ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Conv.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Windows.h"

#include <algorithm>

using namespace mlir;

namespace sinter::compiler {

/// Checks ranks, kernel_shape and group, for Conv and ConvTranspose.
static bool checkConv(NodeImport &n, Value x, Value filter, int64_t &groups) {
  int64_t rank = n.rankOf(x);
  groups = n.attrInt("group", 1);
  std::optional<Shape> kernel = n.attrInts("kernel_shape");
  if (n.failed())
    return false;
  if (rank < 3 || n.rankOf(filter) != rank) {
    n.fail("input and filter have the ranks " + std::to_string(rank) + " and " +
           std::to_string(n.rankOf(filter)) +
           "; they must be equal and at least 3");
    return false;
  }
  Ints spatial = n.shapeOf(filter).drop_front(2);
  if (kernel && Ints(*kernel) != spatial) {
    n.fail("attribute 'kernel_shape' is " + shownShape(*kernel) +
           "; the filter's shape is " + shownShape(n.shapeOf(filter)));
    return false;
  }
  int64_t channels = n.shapeOf(x)[1];
  if (groups < 1 || channels % groups != 0 ||
      n.shapeOf(filter)[0] % groups != 0) {
    n.fail("attribute 'group' is " + std::to_string(groups) +
           "; it must divide the channels (" + std::to_string(channels) +
           ") and the filters (" + std::to_string(n.shapeOf(filter)[0]) + ")");
    return false;
  }
  if (llvm::is_contained(spatial, 0)) {
    n.fail("the filter's shape " + shownShape(n.shapeOf(filter)) +
           " has an empty window");
    return false;
  }
  return true;
}

/// Adds a bias of shape [channels] along dimension 1.
static Value addBias(NodeImport &n, Value y, Value bias) {
  if (!bias || !y)
    return y;
  if (n.rankOf(bias) != 1)
    return n.fail("the bias has rank " + std::to_string(n.rankOf(bias)) +
                  "; it must be a list");
  return n.add(y, n.broadcastInDims(bias, {1}, n.shapeOf(y)));
}

Value emitConv(NodeImport &n, Value x, Value filter, Value bias) {
  int64_t groups;
  if (!checkConv(n, x, filter, groups))
    return {};
  if (n.shapeOf(filter)[1] * groups != n.shapeOf(x)[1])
    return n.fail("the filter's shape " + shownShape(n.shapeOf(filter)) +
                  " takes " + std::to_string(n.shapeOf(filter)[1] * groups) +
                  " channels; the input has " +
                  std::to_string(n.shapeOf(x)[1]));
  Ints input = n.shapeOf(x).drop_front(2);
  std::optional<Emit::Window> window =
      readWindow(n, n.shapeOf(filter).drop_front(2), input);
  if (!window)
    return {};
  window->groups = groups;
  for (size_t i = 0; i < input.size(); ++i)
    if (spanOf(window->size[i], window->dilations[i]) >
        input[i] + window->low[i] + window->high[i])
      return n.fail(
          "the dilated kernel (" +
          std::to_string(spanOf(window->size[i], window->dilations[i])) +
          ") is larger than the padded input (" +
          std::to_string(input[i] + window->low[i] + window->high[i]) +
          ") in spatial dimension " + std::to_string(i));
  return addBias(n, n.conv(x, filter, *window), bias);
}

static void importConv(NodeImport &n) {
  n.out(emitConv(n, n.in(0), n.in(1), n.in(2)));
}

/// Sets the padding that gives the requested output size: cropping, or zeros at
/// the end, which are added to `extra`. False after fail().
static bool padForShape(NodeImport &n, Emit::Window &window, Ints input,
                        Shape &extra, Ints output, bool moreLow) {
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t whole = window.strides[i] * (input[i] - 1) +
                    spanOf(window.size[i], window.dilations[i]) + extra[i];
    if (output[i] < 1 || output[i] > (int64_t(1) << 40)) {
      n.fail("an output size of " + std::to_string(output[i]) +
             " is not possible");
      return false;
    }
    int64_t total = whole - output[i];
    if (total < 0) {
      extra[i] -= total;
      total = 0;
    }
    window.low[i] = moreLow ? total - total / 2 : total / 2;
    window.high[i] = total - window.low[i];
  }
  return true;
}

/// A transposed convolution is the gradient of a convolution with respect to
/// its input. The ONNX filter [C, M / group, ..] is that of the convolution
/// from M to C channels.
static void importConvTranspose(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  int64_t groups;
  if (!checkConv(n, x, filter, groups))
    return;
  Ints input = n.shapeOf(x).drop_front(2),
       size = n.shapeOf(filter).drop_front(2);
  std::optional<Shape> extra = spatialList(n, "output_padding", size.size(), 0);
  std::optional<Shape> wanted = n.attrInts("output_shape");
  std::string mode = n.attrString("auto_pad", "NOTSET");
  std::optional<Emit::Window> window = readWindow(n, size, input);
  if (!extra || !window || n.failed())
    return;
  if (n.shapeOf(filter)[0] != n.shapeOf(x)[1]) {
    n.fail("the filter's shape " + shownShape(n.shapeOf(filter)) + " takes " +
           std::to_string(n.shapeOf(filter)[0]) + " channels; the input has " +
           std::to_string(n.shapeOf(x)[1]));
    return;
  }
  bool isSame = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (wanted && wanted->size() != size.size()) {
    n.fail("attribute 'output_shape' has " + std::to_string(wanted->size()) +
           " entries; it must have " + std::to_string(size.size()));
    return;
  }
  if (isSame && !wanted) {
    wanted.emplace();
    for (size_t i = 0; i < size.size(); ++i)
      wanted->push_back(input[i] * window->strides[i]);
  }
  if (wanted &&
      !padForShape(n, *window, input, *extra, *wanted, mode != "SAME_UPPER"))
    return;

  window->groups = groups;
  Shape result = {n.shapeOf(x)[0], n.shapeOf(filter)[1] * groups};
  Shape low(n.rankOf(x), 0), high(n.rankOf(x), 0);
  for (size_t i = 0; i < size.size(); ++i) {
    // Output padding first undoes cropping; the rest becomes zeros at the end.
    int64_t restored = std::min((*extra)[i], window->high[i]);
    window->high[i] -= restored;
    high[i + 2] = (*extra)[i] - restored;
    result.push_back(window->strides[i] * (input[i] - 1) +
                     spanOf(size[i], window->dilations[i]) - window->low[i] -
                     window->high[i]);
    if (result.back() < 1) {
      n.fail("the output would be empty: pads are larger than the result");
      return;
    }
  }
  Value y = n.convInputGrad(x, filter, *window, result);
  y = n.pad(y, n.scalar(n.elementOf(x), 0), low, high);
  n.out(addBias(n, y, n.in(2)));
}

/// Adds the blocks up at their positions in the image. This is the gradient of
/// the convolution that extracts the blocks from the image.
static void importCol2Im(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> image = n.knownInts(1, "image_shape"),
                       block = n.knownInts(2, "block_shape");
  if (!image || !block)
    return;
  size_t rank = image->size();
  int64_t taps = 1;
  for (int64_t size : *block)
    if (size < 1 || llvm::MulOverflow(taps, size, taps) || taps > (1 << 16)) {
      n.fail("block_shape " + shownShape(*block) +
             " is not of at most 2^16 elements");
      return;
    }
  if (!n.requireFloat() || n.rankOf(x) != 3 || rank == 0 ||
      block->size() != rank || n.shapeOf(x)[1] % taps != 0) {
    n.fail("an input of shape " + shownShape(n.shapeOf(x)) +
           " does not fit an image " + shownShape(*image) + " and blocks " +
           shownShape(*block));
    return;
  }
  std::optional<Emit::Window> window = readWindow(n, *block, *image);
  if (!window)
    return;
  Shape blocks = {n.shapeOf(x)[0], n.shapeOf(x)[1]};
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    int64_t room = (*image)[i] + window->low[i] + window->high[i] -
                   spanOf((*block)[i], window->dilations[i]);
    blocks.push_back(room < 0 ? 0 : room / window->strides[i] + 1);
    if (llvm::MulOverflow(count, blocks.back(), count))
      count = -1;
  }
  if (count != n.shapeOf(x)[2]) {
    n.fail("the image has " + std::to_string(count) +
           " blocks; the input has " + std::to_string(n.shapeOf(x)[2]));
    return;
  }
  int64_t channels = blocks[1] / taps;
  // One filter per position in a block: [channels * taps, 1, block..].
  Shape filter = {taps, 1}, repeated = {channels};
  llvm::append_range(filter, *block);
  Value isPlace =
      n.compare(ir::CompareKind::eq, n.iota({taps, taps}, 0, n.i64()),
                n.iota({taps, taps}, 1, n.i64()));
  Value places = n.reshape(n.cast(isPlace, n.elementOf(x)), filter);
  llvm::append_range(repeated, filter);
  places = n.broadcast(places, repeated);
  filter[0] = blocks[1];
  window->groups = channels;
  Shape result = {blocks[0], channels};
  llvm::append_range(result, *image);
  n.out(n.convInputGrad(n.reshape(x, blocks), n.reshape(places, filter),
                        *window, result));
}

llvm::ArrayRef<OpRow> convOps() {
  static constexpr OpRow rows[] = {
      {"Col2Im", importCol2Im, 3, 3, 1, 18},
      {"Conv", importConv, 2, 3},
      {"ConvTranspose", importConvTranspose, 2, 3},
  };
  return rows;
}

} // namespace sinter::compiler
