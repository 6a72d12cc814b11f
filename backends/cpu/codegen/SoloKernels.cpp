//===- SoloKernels.cpp - kernels of single ops ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Makes tiles of ranges of units, and chooses the kernel of an op.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/SoloKernels.h"
#include "backends/common/codegen/UnitKernel.h"
#include "backends/cpu/codegen/ChannelWindowGrad.h"

using namespace mlir;

namespace sinter::cpu {

namespace {

/// A unit kernel whose tiles are ranges of units.
class UnitTiles : public SoloKernel {
public:
  explicit UnitTiles(std::unique_ptr<codegen::UnitKernel> kernelIn)
      : kernel(std::move(kernelIn)),
        perTile(std::max<int64_t>(
            1, kTileOperations / std::max<int64_t>(kernel->unitCost, 1))) {}

  int64_t tiles() const override {
    return llvm::divideCeil(kernel->units, perTile);
  }

  void emit(OpBuilder &builder, Location loc, Value begin, Value end,
            ArrayRef<Value> operands, ArrayRef<Value> results) override {
    codegen::Scalar s(builder, loc);
    Value last = s.minimum(s.mul(end, perTile), s.number(kernel->units));
    s.loop(s.mul(begin, perTile), last,
           [&](Value unit) { kernel->emitUnit(s, unit, operands, results); });
  }

private:
  std::unique_ptr<codegen::UnitKernel> kernel;
  int64_t perTile;
};

} // namespace

std::unique_ptr<SoloKernel> SoloKernel::create(Operation *op, int64_t lanes) {
  if (auto grad = dyn_cast<ir::ReduceWindowGradOp>(op);
      grad && hasChannelLanes(grad))
    return createChannelWindowGrad(grad, lanes);
  constexpr int64_t kScatterRun = 64;
  auto kernel = codegen::UnitKernel::create(op, kScatterRun);
  return kernel ? std::make_unique<UnitTiles>(std::move(kernel)) : nullptr;
}

} // namespace sinter::cpu
