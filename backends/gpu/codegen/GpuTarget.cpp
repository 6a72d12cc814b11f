//===- GpuTarget.cpp - what all GPUs answer as targets --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/GpuTarget.h"
#include "backends/common/codegen/Contraction.h"
#include "ir/Dialect.h"
#include "passes/AttentionForm.h"
#include "passes/fuse/SplitContractions.h"

using namespace mlir;

namespace sinter::gpu {

bool GpuTarget::canGenerate(Operation *contraction) const {
  auto dot = dyn_cast<ir::DotGeneralOp>(contraction);
  return codegen::Contraction::isCountable(contraction,
                                           dot ? passes::stretchesOf(dot) : 1);
}

passes::Implementation GpuTarget::implementationOf(Operation *op,
                                                   std::string &reason) const {
  if (ir::isContraction(op)) {
    if (isCalled(op))
      return passes::Implementation::Library;
    if (canGenerate(op))
      return passes::Implementation::Generated;
    reason = "kernels count up to 2147483647 in each dimension, padding and "
             "dilation included";
    return passes::Implementation::Unsupported;
  }
  if (passes::isPlainAttention(op))
    return passes::Implementation::Library;
  if (op->hasTrait<ir::Alias>() || isa<ir::ConstantOp>(op))
    return passes::Implementation::Alias;
  return passes::Implementation::Generated;
}

} // namespace sinter::gpu
