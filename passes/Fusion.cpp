//===- Fusion.cpp - what the passes of the fuse phase share ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/Fusion.h"
#include "passes/FusionInfo.h"
#include "passes/IndexMap.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::passes {

bool isLibraryOp(Operation *op) {
  return isa<ir::DotGeneralOp, ir::ConvOp, ir::ConvInputGradOp,
             ir::ConvFilterGradOp>(op);
}

bool isSplatConstant(ir::ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return elements && elements.isSplat();
}

bool isNewState(OpOperand &use) {
  auto function = use.getOwner()->getParentOfType<func::FuncOp>();
  return isa<func::ReturnOp>(use.getOwner()) &&
         function.getResultAttr(use.getOperandNumber(),
                                ir::SinterDialect::kStateAttr);
}

ir::FusionOp buildFusion(OpBuilder &builder, StringRef kind,
                         ArrayRef<Operation *> members,
                         ArrayRef<Value> results) {
  llvm::SmallPtrSet<Operation *, 16> inside(members.begin(), members.end());
  llvm::SetVector<Value> operands;
  SmallVector<Location> locations;
  for (Operation *member : members) {
    locations.push_back(member->getLoc());
    for (Value operand : member->getOperands())
      if (Operation *def = operand.getDefiningOp();
          !def || !inside.contains(def))
        operands.insert(operand);
  }
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  Location loc = FusedLoc::get(builder.getContext(), locations);
  auto fusion =
      builder.create<ir::FusionOp>(loc, types, operands.getArrayRef(), kind);

  Block &body = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value operand : operands)
    mapping.map(operand, body.addArgument(operand.getType(), operand.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (Operation *member : members)
    inner.clone(*member, mapping);
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  inner.create<ir::YieldOp>(loc, yielded);

  for (auto [number, output] : llvm::enumerate(fusion.getOutputs()))
    Value(results[number]).replaceUsesWithIf(output, [&](OpOperand &use) {
      return !inside.contains(use.getOwner());
    });
  return fusion;
}

static bool isContractionKind(StringRef kind) {
  return kind == fusion_kind::kMatmul || kind == fusion_kind::kConv;
}

bool isLibraryCall(ir::FusionOp fusion) {
  return fusion.getKind() == fusion_kind::kAttention ||
         (isContractionKind(fusion.getKind()) && !fusion->hasAttr("domain"));
}

/// The answer for a fusion of kind multi: that of the part that yields
/// `output`, if no other part uses `input`.
static bool mayRunPartInPlace(Block &body, unsigned input, unsigned output) {
  Value argument = body.getArgument(input),
        result = body.getTerminator()->getOperand(output);
  auto part = result.getDefiningOp<ir::FusionOp>();
  if (!part || llvm::any_of(argument.getUsers(),
                            [&](Operation *user) { return user != part; }))
    return false;
  for (auto [number, operand] : llvm::enumerate(part.getInputs()))
    if (operand == argument &&
        !mayRunInPlace(part, number, cast<OpResult>(result).getResultNumber()))
      return false;
  return true;
}

bool mayRunInPlace(Operation *fusion, unsigned input, unsigned output) {
  Block &body = fusion->getRegion(0).front();
  Value argument = body.getArgument(input),
        result = body.getTerminator()->getOperand(output);
  if (argument.getType() != result.getType())
    return false;
  StringRef kind = fusion->getAttrOfType<StringAttr>("kind").getValue();
  if (kind == fusion_kind::kMulti)
    return mayRunPartInPlace(body, input, output);
  if (kind == fusion_kind::kScatter) // begins by copying what it scatters into
    return body.front().getNumOperands() > 0 &&
           body.front().getOperand(0) == argument && argument.hasOneUse();
  if (kind != fusion_kind::kLoop && kind != fusion_kind::kReduce &&
      !isContractionKind(kind))
    return false;
  // Results over all loops are stored element by element after their operands
  // are read; those of a row when the row is done. What a contraction sums is
  // read at no one index.
  FusionDomain domain = FusionDomain::read(fusion);
  if (domain.views.size() != body.getTerminator()->getNumOperands())
    return false; // not made by the fuse phase: nothing is known of its loops
  auto indices = domain.trace(body);
  auto it = indices.find(argument);
  if (it == indices.end() || !(it->second == domain.views[output]))
    return false;
  // The result of a row is stored by one of the threads that share the row; the
  // others may still need the operand for results over all loops.
  auto isOverAllLoops = [&](const IndexVector &view) {
    return llvm::any_of(view, [&](const Index &index) {
      std::optional<unsigned> loop = index.asLoop();
      return loop && domain.isReduced(*loop);
    });
  };
  if (isOverAllLoops(domain.views[output]))
    return true;
  SmallVector<Value> work;
  for (auto [value, view] :
       llvm::zip_equal(body.getTerminator()->getOperands(), domain.views))
    if (isOverAllLoops(view))
      work.push_back(value);
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (value == argument)
      return false;
    if (Operation *op = value.getDefiningOp(); op && seen.insert(value).second)
      llvm::append_range(work, op->getOperands());
  }
  return true;
}

} // namespace sinter::passes
