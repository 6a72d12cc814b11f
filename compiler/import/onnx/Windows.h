//===- Windows.h - the attributes of convolutions and pools -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_WINDOWS_H
#define SINTER_COMPILER_IMPORT_ONNX_WINDOWS_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// A list of positive numbers, one per spatial dimension; `byDefault` for each
/// if absent. Nothing after fail().
std::optional<Shape> spatialList(NodeImport &n, llvm::StringRef name,
                                 size_t rank, int64_t byDefault);

/// strides, dilations, pads and auto_pad for a window of `size` over `input`
/// (both spatial). SAME pads so that the output's size is the input's size
/// divided by the stride, rounded up.
std::optional<Emit::Window> readWindow(NodeImport &n, Ints size, Ints input);

/// The number of elements that a dilated window of `size` spans.
inline int64_t spanOf(int64_t size, int64_t dilation) {
  return (size - 1) * dilation + 1;
}

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_WINDOWS_H
