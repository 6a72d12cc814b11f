//===- DecomposeComposites.cpp - composites into the compact set ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replaces every composite by its decomposition, and the composites in that
// likewise, except those named in `keep`; removes stop_gradient. Legal once all
// differentiation is done. The place phase keeps the composites that its target
// computes better as a whole.
//
//===----------------------------------------------------------------------===//
#include "passes/place/DecomposeComposites.h"

#include "ir/CompositeParts.h"
#include "ir/Remarks.h"
#include "ir/Rewrites.h"
#include "passes/Passes.h"
#include "passes/precision/Widening.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "passes/Passes.h.inc"

/// Casts around a composite do not belong to it. Each gets the nodes of the ops
/// that read it, or of the op whose result it rounds.
static void locateCasts(ArrayRef<CastOp> casts) {
  for (CastOp cast : llvm::reverse(casts)) {
    auto width = [](Value value) {
      return tensorType(value).getElementType().getIntOrFloatBitWidth();
    };
    SmallVector<Location> locations;
    if (width(cast.getResult()) < width(cast.getX())) {
      if (Operation *source = cast.getX().getDefiningOp())
        locations.push_back(source->getLoc());
    } else {
      for (Operation *reader : cast->getUsers())
        if (!llvm::is_contained(locations, reader->getLoc()))
          locations.push_back(reader->getLoc());
    }
    if (!locations.empty())
      cast->setLoc(FusedLoc::get(cast.getContext(), locations));
  }
}

int64_t decomposeComposites(func::FuncOp function,
                            llvm::function_ref<bool(Operation *)> keeps) {
  int64_t count = 0;
  SmallVector<CompositeOpInterface> work;
  SmallVector<CastOp> casts;
  auto collect = [&](Operation *op) {
    auto composite = dyn_cast<CompositeOpInterface>(op);
    if (composite && !keeps(op))
      work.push_back(composite);
  };
  function.walk(collect);
  while (!work.empty()) {
    CompositeOpInterface op = work.pop_back_val();
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    Rewrite rewrite("decompose", op.getOperation());
    // Values within the decomposition are not rounded to 16 bits.
    SmallVector<Value> values;
    if (!buildWidened(op, values))
      values = op.decompose(builder);
    op->replaceAllUsesWith(values);
    Block *block = op->getBlock();
    for (Operation *made = before ? before->getNextNode() : &block->front();
         made != op; made = made->getNextNode()) {
      rewrite.inserted(made);
      collect(made);
      if (auto cast = dyn_cast<CastOp>(made); cast && namesParts(cast.getLoc()))
        casts.push_back(cast);
    }
    op->erase();
    ++count;
  }
  locateCasts(casts);
  return count;
}

void dropStopGradients(func::FuncOp function) {
  function.walk([](StopGradientOp op) {
    op.replaceAllUsesWith(op.getX());
    op.erase();
  });
}

namespace {

class DecomposeComposites
    : public impl::DecomposeCompositesBase<DecomposeComposites> {
public:
  using DecomposeCompositesBase::DecomposeCompositesBase;

  void runOnOperation() override {
    llvm::StringSet<> kept;
    for (const std::string &name : keep)
      kept.insert(name);
    int64_t count = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      count += decomposeComposites(function, [&](Operation *op) {
        return kept.contains(op->getName().stripDialect());
      });
      dropStopGradients(function);
    }
    if (count)
      remark("decompose-composites", "decomposed", getOperation().getLoc(), "",
             count);
  }
};

} // namespace
} // namespace sinter::passes
