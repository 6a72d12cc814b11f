//===- ShareKernels.cpp - constants that keep kernels apart ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The layers of a deep model become the same kernels, which are generated once,
// unless a constant in them differs from layer to layer: for example the number
// of a dropout's random stream. Such a constant becomes a scalar operand. The
// computed values are the same.
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

/// The most scalars that become operands of one kernel.
constexpr size_t kMostScalars = 8;

struct Member {
  ir::KernelOp fusion;
  FusionForm form;
};

/// True when `fusion` and all of its parts run over loops of their own, where a
/// scalar operand is as good as a constant.
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

/// True when a user benefits from knowing the constant.
bool isBestKnown(ir::ConstantOp constant) {
  return llvm::any_of(constant->getUsers(), [](Operation *user) {
    return user->hasTrait<ir::CheaperByConstant>() || isa<ir::YieldOp>(user);
  });
}

/// Passes `scalar`, which is defined before the outermost kernel around
/// `block`, into `block`. Returns the argument.
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
  // A constant has no node name; the kernel that computes with it has.
  constant.replaceAllUsesWith(ir::broadcastTo(builder, fusion.getLoc(), inside,
                                              constant.getType().getShape()));
  constant.erase();
}

/// The constants at the same position in each kernel of a group.
using Column = SmallVector<Attribute>;

/// Makes those constants operands in which the kernels of `group` differ.
/// Constants that are equal within each kernel become one operand.
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
