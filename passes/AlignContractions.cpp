//===- AlignContractions.cpp - operands that one library call can take ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A library's matrix product takes one stride for each of m, n and k. Where the
// dimension numbers of a contraction do not allow that (passes/MatmulForm.h),
// its operands are transposed to [batch.., m.., k..] and [batch.., k.., n..]
// first; the result of that order is the result of the op.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "passes/MatmulForm.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_ALIGNCONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

struct AlignContractionsPass
    : impl::AlignContractionsBase<AlignContractionsPass> {
  void runOnOperation() override {
    getOperation().walk([](ir::DotGeneralOp dot) {
      if (!isMatmulExpressible(dot))
        align(dot);
    });
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
};

} // namespace
} // namespace sinter::passes
