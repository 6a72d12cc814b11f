//===- ShareKernels.cpp - constants that keep kernels from being one ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The layers of a deep model are the same kernels, made once, unless a number
// is in them that differs from layer to layer: that of a dropout's random
// stream. Such a number becomes a scalar operand. What is computed is the same.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/FusionForm.h"
#include "passes/fuse/FusionInfo.h"

#include "ir/Build.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_SHAREKERNELS
#include "passes/Passes.h.inc"

namespace {

/// More scalars than this do not become operands of one kernel.
constexpr size_t kMostScalars = 8;

struct Member {
  ir::KernelOp fusion;
  FusionForm form;
};

/// True when every fusion in `fusion`, and itself, runs over loops of its own,
/// where a scalar operand is as good as a constant.
bool isOfLoops(ir::KernelOp fusion) {
  WalkResult walked = fusion->walk([](ir::KernelOp part) {
    bool fits =
        llvm::is_contained({ir::KernelKind::loop, ir::KernelKind::reduce,
                            ir::KernelKind::multi, ir::KernelKind::staged},
                           part.getKind());
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

/// True when a user is faster for knowing the constant.
bool isBestKnown(ir::ConstantOp constant) {
  return llvm::any_of(constant->getUsers(), [](Operation *user) {
    return isa<ir::DivOp, ir::RemOp, ir::ModOp, ir::PowOp, ir::ShiftLeftOp,
               ir::ShiftRightOp, ir::YieldOp>(user);
  });
}

/// `scalar`, which is defined before the outermost fusion around `block`, as an
/// argument of `block`.
Value enter(Value scalar, Block *block, ir::KernelOp outermost) {
  auto fusion = cast<ir::KernelOp>(block->getParentOp());
  Value outside = fusion == outermost
                      ? scalar
                      : enter(scalar, fusion->getBlock(), outermost);
  for (auto [input, argument] :
       llvm::zip_equal(fusion.getInputs(), block->getArguments()))
    if (input == outside)
      return argument;
  fusion.getInputsMutable().append(outside);
  return block->addArgument(outside.getType(), outside.getLoc());
}

void makeOperand(ir::ConstantOp constant, Value scalar, ir::KernelOp fusion) {
  Value inside = enter(scalar, constant->getBlock(), fusion);
  OpBuilder builder(constant);
  // Constants belong to no node, but what computes does.
  constant.replaceAllUsesWith(ir::broadcastTo(builder, fusion.getLoc(), inside,
                                              constant.getType().getShape()));
  constant.erase();
}

/// The constants at one place of each fusion of a group.
using Column = SmallVector<Attribute>;

/// Makes the constants operands at which the fusions of `group` differ; those
/// that are equal in each of the fusions become one.
void share(std::vector<Member> &group) {
  llvm::MapVector<size_t, Column> columns;
  SmallVector<Column> scalars;
  for (size_t i = 0; i < group.front().form.constants.size(); ++i) {
    Column column;
    for (Member &member : group)
      column.push_back(member.form.constants[i].getValueAttr());
    if (llvm::all_equal(column))
      continue;
    for (Member &member : group)
      if (isBestKnown(member.form.constants[i]))
        return;
    if (!llvm::is_contained(scalars, column))
      scalars.push_back(column);
    columns[i] = column;
  }
  if (columns.empty() || scalars.size() > kMostScalars)
    return;
  for (auto [number, member] : llvm::enumerate(group)) {
    OpBuilder builder(member.fusion);
    SmallVector<Value> values;
    for (auto &[place, column] : columns) {
      size_t scalar = llvm::find(scalars, column) - scalars.begin();
      ir::ConstantOp constant = member.form.constants[place];
      if (scalar == values.size()) {
        auto splat = cast<DenseElementsAttr>(column[number]);
        auto type = RankedTensorType::get({}, splat.getElementType());
        values.push_back(builder.create<ir::ConstantOp>(
            constant.getLoc(), splat.resizeSplat(type)));
      }
      makeOperand(constant, values[scalar], member.fusion);
    }
  }
}

struct ShareKernelsPass : impl::ShareKernelsBase<ShareKernelsPass> {
  void runOnOperation() override {
    std::map<std::vector<const void *>, size_t> numbers;
    std::vector<std::vector<Member>> groups;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto fusion : function.getOps<ir::KernelOp>()) {
        if (!isOfLoops(fusion))
          continue;
        FusionForm form(fusion);
        auto [found, isNew] = numbers.try_emplace(form.code, groups.size());
        if (isNew)
          groups.emplace_back();
        groups[found->second].push_back({fusion, std::move(form)});
      }
    for (std::vector<Member> &group : groups)
      share(group);
  }
};

} // namespace
} // namespace sinter::passes
