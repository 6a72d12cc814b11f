//===- Windows.cpp - the attributes of convolutions and pools -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Windows.h"
#include "compiler/base/Text.h"

#include <algorithm>

namespace sinter::compiler {

/// Larger than any sensible window; products with a dimension still fit in
/// int64.
static constexpr int64_t kMaxEntry = 1 << 20;

static bool checkEntries(NodeImport &n, llvm::StringRef name, Ints values,
                         size_t count, int64_t least) {
  if (values.size() != count) {
    n.fail("attribute " + quoted(name) + " has " +
           std::to_string(values.size()) + " entries; it must have " +
           std::to_string(count));
    return false;
  }
  for (int64_t value : values)
    if (value < least || value > kMaxEntry) {
      n.fail("attribute " + quoted(name) + " is " + shownShape(values) +
             "; its entries must lie between " + std::to_string(least) +
             " and " + std::to_string(kMaxEntry));
      return false;
    }
  return true;
}

std::optional<Shape> spatialList(NodeImport &n, llvm::StringRef name,
                                 size_t rank, int64_t byDefault) {
  std::optional<Shape> values = n.attrInts(name);
  if (n.failed())
    return std::nullopt;
  if (!values)
    return Shape(rank, byDefault);
  if (!checkEntries(n, name, *values, rank, byDefault == 0 ? 0 : 1))
    return std::nullopt;
  return values;
}

std::optional<Emit::Window> readWindow(NodeImport &n, Ints size, Ints input) {
  size_t rank = size.size();
  Emit::Window window;
  std::optional<Shape> strides = spatialList(n, "strides", rank, 1);
  std::optional<Shape> dilations = spatialList(n, "dilations", rank, 1);
  std::string mode = n.attrString("auto_pad", "NOTSET");
  std::optional<Shape> pads = n.attrInts("pads");
  if (!strides || !dilations || n.failed())
    return std::nullopt;
  window.size.assign(size.begin(), size.end());
  window.strides = *strides;
  window.dilations = *dilations;
  window.low.assign(rank, 0);
  window.high.assign(rank, 0);
  if (mode == "NOTSET") {
    if (!pads)
      return window;
    if (!checkEntries(n, "pads", *pads, 2 * rank, 0))
      return std::nullopt;
    window.low.assign(pads->begin(), pads->begin() + rank);
    window.high.assign(pads->begin() + rank, pads->end());
    return window;
  }
  if (mode == "VALID")
    return window;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    n.fail("attribute 'auto_pad' is " + quoted(mode) +
           "; it must be 'NOTSET', 'SAME_UPPER', 'SAME_LOWER' or 'VALID'");
    return std::nullopt;
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t positions = (input[i] + window.strides[i] - 1) / window.strides[i];
    int64_t needed = (positions - 1) * window.strides[i] +
                     spanOf(size[i], window.dilations[i]);
    int64_t total = std::max<int64_t>(needed - input[i], 0);
    window.low[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.high[i] = total - window.low[i];
  }
  return window;
}

} // namespace sinter::compiler
