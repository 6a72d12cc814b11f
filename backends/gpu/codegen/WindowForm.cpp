//===- WindowForm.cpp - the shape of a window's gradient ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/WindowForm.h"

#include <numeric>

using namespace mlir;

namespace sinter::gpu {

WindowForm::WindowForm(ir::ReduceWindowGradOp op)
    : element(op.getType().getElementType()),
      isSum(op.getKind() == ir::ReduceKind::sum) {
  ArrayRef<int64_t> in = op.getType().getShape(),
                    out = ir::tensorType(op.getOutputGrad()).getShape();
  auto slides = [&](int64_t d) {
    return op.getWindow()[d] != 1 || op.getStrides()[d] != 1 ||
           op.getPadsLow()[d] != 0 || op.getPadsHigh()[d] != 0;
  };
  int64_t first = 0, end = in.size();
  while (first < end && !slides(first))
    outer *= in[first++];
  while (end > first && !slides(end - 1))
    inner *= in[--end];
  for (int64_t d = first; d < end; ++d) {
    WindowDim dim{in[d],
                  out[d],
                  op.getWindow()[d],
                  op.getStrides()[d],
                  op.getDilations()[d],
                  op.getPadsLow()[d],
                  op.getPadsHigh()[d],
                  /*step=*/inner,
                  /*gradStep=*/inner};
    // Strides and dilations that make no difference may be large numbers.
    if (dim.window == 1)
      dim.dilation = 1;
    if (dim.out == 1)
      dim.stride = std::max<int64_t>(dim.padded(), 1);
    reach = std::max(reach, dim.padded());
    dims.push_back(dim);
  }
  for (WindowDim &dim : llvm::reverse(dims)) {
    dim.step *= plane;
    dim.gradStep *= gradPlane;
    plane *= dim.in;
    gradPlane *= dim.out;
  }
  reach = std::max({reach, elements(), outer * gradPlane * inner});
  int64_t most = 16 / ir::elementSizeBytes(element);
  lanes = std::gcd(inner, std::max<int64_t>(most, 1));
}

} // namespace sinter::gpu
