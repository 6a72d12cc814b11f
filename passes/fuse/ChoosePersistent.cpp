//===- ChoosePersistent.cpp - which functions become one kernel -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Remarks.h"
#include "passes/AttentionForm.h"
#include "passes/Failure.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/fuse/PersistentKernel.h"
#include "passes/precision/PrecisionReport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <cmath>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_CHOOSEPERSISTENT
#include "passes/Passes.h.inc"

namespace {

/// The most multiply-adds of products in a function that becomes one kernel: up
/// to here a product takes not much longer than a launch, and a library's
/// kernels are not much faster than ours.
constexpr double kMostMultiplyAdds = 0.25e9;
/// The most contractions: the compile time of a kernel grows faster than its
/// code.
constexpr int64_t kMostContractions = 16;
/// The largest value that stays in a GPU's L2 cache beside others.
constexpr int64_t kMostBytes = int64_t(16) << 20;

struct ChoosePersistentPass : impl::ChoosePersistentBase<ChoosePersistentPass> {
  ChoosePersistentPass(const Target *target, ArrayRef<ProgramDevice> devices,
                       const std::string &mode)
      : mainTarget(target), devices(devices) {
    this->mode = mode;
  }

  void runOnOperation() override {
    if (mode == "off")
      return;
    if (mode != "auto" && mode != "on") {
      emitFailure(getOperation(), kUsageFailure)
          << "sinter-choose-persistent: mode=" << mode
          << " is not off, auto or on";
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const Target *target = targetOf(
          getOperation(), ir::deviceNumber(function), devices, mainTarget);
      std::string obstacle = obstacleOf(function, target);
      if (!obstacle.empty() && mode == "on") {
        emitFailure(getOperation(), kUsageFailure)
            << "--persistent-kernel=on: @" << function.getSymName() << ' '
            << obstacle;
        return signalPassFailure();
      }
      if (obstacle.empty() && mode == "auto")
        obstacle = sizeOf(function);
      if (obstacle.empty())
        function->setAttr(kPersistentAttr,
                          StringAttr::get(&getContext(), mode));
      else
        ir::remark("choose-persistent", "not-one-kernel", function.getLoc(),
                   obstacle);
    }
  }

private:
  /// Why `function` cannot be one kernel; "" if it can.
  std::string obstacleOf(func::FuncOp function, const Target *target) const {
    if (ir::numDevices(function->getParentOfType<ModuleOp>()) > 1)
      return "is on several devices";
    if (!target || !target->traits().hasGridBarriers)
      return "is on a device whose blocks cannot wait for each other";
    std::string obstacle;
    function.walk([&](Operation *op) {
      if (isa<ir::CollectiveOpInterface>(op))
        obstacle = "exchanges values with other replicas";
      else if (isa<ir::ScanOp>(op))
        obstacle = "has a scan, which --unroll-scans=all would avoid";
      else if (isPlainAttention(op))
        obstacle = "calls a library for attention";
      else if (ir::isContraction(op) && !target->canGenerate(op))
        obstacle = "has a contraction that is too large for a kernel";
      return obstacle.empty() ? WalkResult::advance() : WalkResult::interrupt();
    });
    return obstacle;
  }

  /// Why `function` is too large to be faster as one kernel; "" if it is not.
  static std::string sizeOf(func::FuncOp function) {
    double multiplyAdds = 0;
    int64_t contractions = 0;
    std::string obstacle;
    function.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type);
            tensor && tensor.getNumElements() *
                              ir::elementSizeBytes(tensor.getElementType()) >
                          kMostBytes)
          obstacle = "has values of more than " +
                     std::to_string(kMostBytes >> 20) + " MiB";
      if (!ir::isContraction(op))
        return;
      ++contractions;
      multiplyAdds += countMultiplyAdds(op);
      if (!isa<ir::DotGeneralOp>(op))
        obstacle = "has convolutions";
    });
    if (contractions > kMostContractions)
      obstacle = "has " + std::to_string(contractions) + " contractions";
    if (multiplyAdds > kMostMultiplyAdds)
      obstacle = "has products of " +
                 std::to_string(std::llround(multiplyAdds / 1e6)) +
                 " million multiply-adds";
    return obstacle;
  }

  const Target *mainTarget = nullptr;
  SmallVector<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createChoosePersistent(const Target *target,
                                             ArrayRef<ProgramDevice> devices,
                                             const std::string &mode) {
  return std::make_unique<ChoosePersistentPass>(target, devices, mode);
}

} // namespace sinter::passes
