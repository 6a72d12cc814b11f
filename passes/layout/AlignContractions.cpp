//===- AlignContractions.cpp - operands that one library call takes -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A library's matrix product takes one stride for each of m, n and k. If the
// dimension numbers of a contraction do not allow that (passes/MatmulForm.h),
// its operands are first transposed to [batch.., m.., k..] and [batch.., k..,
// n..]. The result of the op already has the matching order. On a GPU, products
// on tensor cores then get aligned sizes (ContractionPadding.h), and
// convolutions by a library aligned channels (ConvPadding.h).
//
//===----------------------------------------------------------------------===//
#include "passes/layout/AlignContractions.h"
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/Remarks.h"
#include "passes/MatmulForm.h"
#include "passes/fuse/ChooseCalls.h"
#include "passes/layout/ContractionPadding.h"
#include "passes/layout/ConvPadding.h"
#include "passes/place/Devices.h"
#include "passes/simplify/CommonSubexpressions.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_ALIGNCONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

struct AlignContractionsPass
    : impl::AlignContractionsBase<AlignContractionsPass> {
  AlignContractionsPass() = default;
  AlignContractionsPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : target(target), devices(devices) {}

  void runOnOperation() override {
    getOperation().walk([](ir::DotGeneralOp dot) {
      if (!isMatmulExpressible(dot))
        align(dot);
    });
    if (target)
      pad();
  }

  // Pattern: dot_general(a, b) -> slice(dot_general(pad(a), pad(b)))
  // Pattern: conv(x, w) -> conv(pad(x), pad(w))
  // Pattern: conv_filter_grad(x, dy) -> slice(conv_filter_grad(pad(x), dy))
  void pad() {
    DeviceMap map(getOperation());
    SmallVector<std::pair<ir::DotGeneralOp, ContractionPadding>> dots;
    SmallVector<std::pair<Operation *, int64_t>> convs;
    getOperation().walk([&](Operation *op) {
      if (!isa<ir::DotGeneralOp, ir::ConvOp, ir::ConvFilterGradOp>(op))
        return;
      const Target *its = targetOf(getOperation()->getParentOfType<ModuleOp>(),
                                   map.of(op).value_or(0), devices, target);
      if (!its->traits().hasTensorCores)
        return;
      if (auto dot = dyn_cast<ir::DotGeneralOp>(op)) {
        if (std::optional<ContractionPadding> padding = worthwhilePadding(dot))
          dots.emplace_back(dot, std::move(*padding));
        return;
      }
      if (implementationOf(op, its) != Implementation::Library)
        return;
      ConvPadding padding = worthwhileConvPadding(op);
      if (!padding.reason.empty())
        ir::explain("align-contractions",
                    padding.channels ? "padded-channels" : "channels",
                    op->getLoc(), padding.reason);
      if (padding.channels)
        convs.emplace_back(op, padding.channels);
    });
    for (auto &[dot, padding] : dots)
      padContraction(dot, padding);
    for (auto [conv, channels] : convs)
      padConv(conv, channels);
    if (dots.empty() && convs.empty())
      return;
    // A product or convolution and its gradients read the same operands.
    eliminateCommonSubexpressions(getOperation().getBody().front());
    ir::remark("align-contractions", "padded", getOperation().getLoc(), "",
               static_cast<int64_t>(dots.size() + convs.size()));
  }

  // Pattern: dot_general(a, b) -> dot_general(transpose(a), transpose(b)),
  // batch first, k inside
  static void align(ir::DotGeneralOp dot) {
    OpBuilder builder(dot);
    SmallVector<int64_t> lhsOrder(dot.getLhsBatch()),
        rhsOrder(dot.getRhsBatch());
    llvm::append_range(lhsOrder, dot.getLhsFree());
    llvm::append_range(lhsOrder, dot.getLhsContract());
    llvm::append_range(rhsOrder, dot.getRhsContract());
    llvm::append_range(rhsOrder, dot.getRhsFree());
    int64_t batch = dot.getLhsBatch().size(),
            contracted = dot.getLhsContract().size();
    auto range = [&](int64_t from, int64_t count) {
      return builder.getDenseI64ArrayAttr(
          llvm::to_vector(llvm::seq<int64_t>(from, from + count)));
    };
    Value lhs = ir::transposeTo(builder, dot.getLoc(), dot.getLhs(), lhsOrder);
    Value rhs = ir::transposeTo(builder, dot.getLoc(), dot.getRhs(), rhsOrder);
    auto aligned = builder.create<ir::DotGeneralOp>(
        dot.getLoc(), lhs, rhs, range(0, batch), range(0, batch),
        range(static_cast<int64_t>(lhsOrder.size()) - contracted, contracted),
        range(batch, contracted), dot.getTf32());
    dot.replaceAllUsesWith(aligned.getResult());
    dot.erase();
  }

  const Target *target = nullptr;
  ArrayRef<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createAlignContractions(const Target *target,
                                              ArrayRef<ProgramDevice> devices) {
  return std::make_unique<AlignContractionsPass>(target, devices);
}

} // namespace sinter::passes
