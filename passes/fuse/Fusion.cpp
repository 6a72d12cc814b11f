//===- Fusion.cpp - what the passes of the fuse phase share ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Fusion.h"
#include "ir/Decisions.h"
#include "ir/Kernel.h"
#include "ir/Locations.h"
#include "ir/Rewrites.h"
#include "passes/OpClasses.h"
#include "passes/PostOps.h"
#include "passes/fuse/Cluster.h"
#include "passes/fuse/FusionForm.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <functional>
#include <map>

using namespace mlir;

namespace sinter::passes {

Value withoutAliases(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!def->hasTrait<ir::Alias>())
      break;
    value = def->getOperand(0);
  }
  return value;
}

int64_t elementsRead(ir::KernelOp fusion) {
  int64_t elements = 0;
  for (Value input : fusion.getInputs())
    elements += ir::tensorType(input).getNumElements();
  return elements;
}

bool becomeOneKernel(StringRef pass, StringRef what, ArrayRef<Operation *> ops,
                     ArrayRef<Operation *> others) {
  return ir::decide({.pass = pass, .what = what, .ops = ops, .others = others},
                    /*byRule=*/true, "one-kernel", "apart");
}

bool isNewState(OpOperand &use) {
  auto function = use.getOwner()->getParentOfType<func::FuncOp>();
  return isa<func::ReturnOp>(use.getOwner()) &&
         function.getResultAttr(use.getOperandNumber(),
                                ir::SinterDialect::kStateAttr);
}

/// Orders `members` so that each free op, and each that reads nothing, is right
/// before the first op that needs it. Their original positions mean nothing,
/// and equal computations become equal kernels.
static SmallVector<Operation *> inOneOrder(ArrayRef<Operation *> members) {
  llvm::SmallPtrSet<Operation *, 16> inside(members.begin(), members.end());
  llvm::SmallPtrSet<Operation *, 16> moved;
  for (Operation *member : members)
    if (ir::elementCost(member) == ir::ElementCost::free ||
        isFreeOfMemory(member))
      moved.insert(member);
  llvm::SmallSetVector<Operation *, 16> ordered;
  std::function<void(Operation *)> place = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && moved.contains(def) && !ordered.contains(def))
        place(def);
    ordered.insert(op);
  };
  for (Operation *member : members)
    if (!moved.contains(member))
      place(member);
  for (Operation *member : members) // free ones that are results
    place(member);
  return ordered.takeVector();
}

/// Whether `op` widens what an op outside has rounded for the same nodes. It is
/// how the members read this value, and computes no part of the nodes.
static bool isReadOfRounded(Operation *op, ArrayRef<Operation *> members) {
  auto cast = dyn_cast<ir::CastOp>(op);
  Operation *def = cast ? cast.getX().getDefiningOp() : nullptr;
  if (!def || llvm::is_contained(members, def) || !widened(cast.getResult()))
    return false;
  llvm::SmallSetVector<StringRef, 4> own, outside;
  ir::collectNodeNames(op->getLoc(), own);
  ir::collectNodeNames(def->getLoc(), outside);
  return llvm::all_of(own,
                      [&](StringRef name) { return outside.contains(name); });
}

/// The locations of the members that compute and, if these name no node
/// (constants that are stored), those of the users.
static Location fusedLocation(OpBuilder &builder, ArrayRef<Operation *> members,
                              ArrayRef<Value> results) {
  SmallVector<Location> locations;
  llvm::SmallSetVector<StringRef, 4> names;
  auto add = [&](Operation *op) {
    locations.push_back(op->getLoc());
    ir::collectNodeNames(op->getLoc(), names);
  };
  for (Operation *member : members)
    if (!isReadOfRounded(member, members))
      add(member);
  if (names.empty())
    for (Operation *member : members)
      if (isReadOfRounded(member, members))
        add(member);
  if (names.empty())
    for (Value result : results)
      for (Operation *user : result.getUsers())
        add(user);
  return FusedLoc::get(builder.getContext(), locations);
}

/// Builds an op of type OpTy with a body of copies of `given`. `arguments`
/// follow the operands in the builder of the op.
template <class OpTy, class... Arguments>
static OpTy buildRegion(OpBuilder &builder, ArrayRef<Operation *> given,
                        ArrayRef<Value> results, Arguments... arguments) {
  SmallVector<Operation *> members = inOneOrder(given);
  llvm::SmallPtrSet<Operation *, 16> inside(members.begin(), members.end());
  llvm::SetVector<Value> operands;
  for (Operation *member : members)
    for (Value operand : member->getOperands())
      if (Operation *def = operand.getDefiningOp();
          !def || !inside.contains(def))
        operands.insert(operand);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  Location loc = fusedLocation(builder, members, results);
  ir::Rewrite rewrite("group into " + OpTy::getOperationName(), members);
  auto fusion =
      builder.create<OpTy>(loc, types, operands.getArrayRef(), arguments...);
  rewrite.inserted(fusion);

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

ir::KernelOp buildKernel(OpBuilder &builder, ir::KernelKind kind,
                         ArrayRef<Operation *> members, ArrayRef<Value> results,
                         ir::DomainAttr domain) {
  return buildRegion<ir::KernelOp>(builder, members, results, kind, domain);
}

ir::LibraryCallOp buildLibraryCall(OpBuilder &builder, ir::LibraryCallKind kind,
                                   ArrayRef<Operation *> members,
                                   ArrayRef<Value> results) {
  return buildRegion<ir::LibraryCallOp>(builder, members, results, kind);
}

void unpackKernel(ir::KernelOp fusion, ir::KernelKind kind,
                  SmallVectorImpl<Operation *> &parts) {
  if (fusion.getKind() != kind) {
    parts.push_back(fusion);
    return;
  }
  OpBuilder builder(fusion);
  Block &body = fusion.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), fusion.getInputs());
  for (Operation &part : body.without_terminator())
    parts.push_back(builder.clone(part, mapping));
  for (auto [output, yielded] : llvm::zip_equal(
           fusion.getOutputs(), body.getTerminator()->getOperands()))
    output.replaceAllUsesWith(mapping.lookup(yielded));
  fusion.erase();
}

ir::KernelOp mergeKernels(OpBuilder &builder, ArrayRef<ir::KernelOp> fusions) {
  // The op that marks the insertion point must not be one of those erased.
  Operation *before = builder.getInsertionBlock()->getTerminator();
  if (builder.getInsertionPoint() != builder.getInsertionBlock()->end())
    before = &*builder.getInsertionPoint();
  while (auto fusion = dyn_cast<ir::KernelOp>(before)) {
    if (!llvm::is_contained(fusions, fusion))
      break;
    before = before->getNextNode();
  }
  SmallVector<Operation *> parts;
  for (ir::KernelOp fusion : fusions)
    unpackKernel(fusion, ir::KernelKind::multi, parts);
  SmallVector<Value> results;
  for (Operation *part : parts)
    llvm::append_range(results, part->getResults());
  builder.setInsertionPoint(before);
  ir::KernelOp merged =
      buildKernel(builder, ir::KernelKind::multi, parts, results);
  for (Operation *part : llvm::reverse(parts))
    part->erase();
  return merged;
}

static unsigned numBuffers(ir::KernelOp fusion) {
  return fusion->getNumOperands() + fusion->getNumResults();
}

/// Deals `classes` out to `count` runs: each run gets equally many of a class,
/// and the first one also the remainder. Empty if that run would be too large.
static std::vector<KernelRun> dealOut(ArrayRef<KernelRun> classes,
                                      size_t count) {
  std::vector<KernelRun> runs(count);
  for (const KernelRun &equal : classes) {
    size_t each = equal.size() / count;
    ArrayRef<ir::KernelOp> left = equal;
    for (KernelRun &run : llvm::reverse(runs)) {
      ArrayRef<ir::KernelOp> own =
          &run == &runs.front() ? left : left.take_back(each);
      run.append(own.begin(), own.end());
      left = left.drop_back(own.size());
    }
  }
  unsigned buffers = 0;
  for (ir::KernelOp fusion : runs.front())
    buffers += numBuffers(fusion);
  if (buffers > kMostBuffers)
    return {};
  return runs;
}

std::vector<KernelRun> kernelRuns(ArrayRef<ir::KernelOp> fusions) {
  unsigned buffers = 0;
  for (ir::KernelOp fusion : fusions)
    buffers += numBuffers(fusion);
  if (buffers <= kMostBuffers)
    return {KernelRun(fusions)};
  std::map<std::vector<const void *>, size_t> numbers;
  std::vector<KernelRun> classes;
  for (ir::KernelOp fusion : fusions) {
    auto [found, isNew] =
        numbers.try_emplace(FusionForm(fusion).key(), classes.size());
    if (isNew)
      classes.emplace_back();
    classes[found->second].push_back(fusion);
  }
  for (size_t count = 2 * buffers / kMostBuffers; count < fusions.size();
       ++count)
    if (std::vector<KernelRun> runs = dealOut(classes, count); !runs.empty())
      return runs;
  std::vector<KernelRun> alone;
  for (ir::KernelOp fusion : fusions)
    alone.push_back({fusion});
  return alone;
}

RankedTensorType storedType(ir::FusionOpInterface fusion, unsigned output) {
  RankedTensorType type = ir::tensorType(fusion.getOutputs()[output]);
  if (!isa<ir::LibraryCallOp>(fusion) || !type.getElementType().isInteger(1))
    return type;
  int64_t n = 1, lines = 1;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (!ir::isContraction(&op))
      continue;
    SmallVector<int64_t> dims = biasDims(&op);
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      (llvm::is_contained(dims, dim) ? n : lines) *= size;
    break;
  }
  return RankedTensorType::get(
      {lines, (n + 127) / 128 * 16},
      IntegerType::get(fusion.getContext(), 8, IntegerType::Unsigned));
}

/// The answer for kernels with parts: that of the part that yields `output`,
/// provided that no other part uses `input`. In a staged kernel earlier stages
/// may use it.
static bool mayRunPartInPlace(Block &body, bool isStaged, unsigned input,
                              unsigned output) {
  Value argument = body.getArgument(input),
        result = body.getTerminator()->getOperand(output);
  auto part = result.getDefiningOp<ir::KernelOp>();
  if (!part || llvm::any_of(argument.getUsers(), [&](Operation *user) {
        return user != part && !(isStaged && user->isBeforeInBlock(part));
      }))
    return false;
  for (auto [number, operand] : llvm::enumerate(part.getInputs()))
    if (operand == argument &&
        !mayRunInPlace(part, number, cast<OpResult>(result).getResultNumber()))
      return false;
  return true;
}

bool mayRunInPlace(Operation *fusion, unsigned input, unsigned output) {
  auto kernel = dyn_cast<ir::KernelOpInterface>(fusion);
  if (!kernel)
    return false; // a library call
  Block &body = kernel.getBody().front();
  Value argument = body.getArgument(input),
        result = body.getTerminator()->getOperand(output);
  if (argument.getType() != result.getType())
    return false;
  ir::KernelKind kind = kernel.getKind();
  bool isStaged = ir::hasStages(kind);
  if (kind == ir::KernelKind::multi || isStaged)
    return mayRunPartInPlace(body, isStaged, input, output);
  if (kind ==
      ir::KernelKind::scatter) // first copies the tensor it scatters into
    return body.front().getNumOperands() > 0 &&
           body.front().getOperand(0) == argument && argument.hasOneUse();
  if (!ir::hasDomain(kind))
    return false;
  // A result over all loops is stored element by element after its operands are
  // read; the result of a row, when the row is done. Operands that a
  // contraction sums are not read at one index.
  ir::Domain domain(kernel.getDomainAttr());
  auto indices = domain.trace(body);
  auto it = indices.find(argument);
  if (it == indices.end() || !(it->second == domain.views[output]))
    return false;
  // The result of a row is stored by one of the threads that share the row.
  // Others may still need the operand for results over all loops, and for what
  // is reduced.
  auto isOverAllLoops = [&](const ir::IndexVector &view) {
    return llvm::any_of(view, [&](const ir::Index &index) {
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
  for (Operation &op : body)
    if (ir::isReduction(&op))
      llvm::append_range(work, op.getOperands());
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

/// Whether the CPU's library has code of its own for `conv`, which adds in
/// place. oneDNN adds apart: if it must not, it computes in scratch or in
/// float32 (prepareBfloatWindow, DepthwiseCall::fits, isPointwiseProduct).
static bool isOwnOfCpu(ir::ConvOp conv) {
  RankedTensorType input = ir::tensorType(conv.getInput()),
                   filter = ir::tensorType(conv.getFilter());
  if (!conv.getChannelsLast() || input.getRank() != 4)
    return false;
  constexpr int64_t fewestChannels = 16, mostChannels = 384,
                    greatestHeight = 16;
  const int64_t channels = input.getDimSize(3), groups = conv.getGroups();
  if (input.getElementType().isF32()) {
    auto isAll = [](ArrayRef<int64_t> numbers, int64_t number) {
      return llvm::all_of(numbers,
                          [&](int64_t each) { return each == number; });
    };
    // Sums of more products are stored before they are complete.
    return groups == 1 && channels >= fewestChannels &&
           channels <= mostChannels && filter.getDimSize(0) >= fewestChannels &&
           isAll(filter.getShape().drop_front(2), 1) &&
           isAll(conv.getStrides(), 1) && isAll(conv.getPadsLow(), 0) &&
           isAll(conv.getPadsHigh(), 0);
  }
  return groups == 1 ? channels >= fewestChannels
                     : groups == channels && groups == filter.getDimSize(0) &&
                           filter.getDimSize(2) <= greatestHeight;
}

bool mayAddInPlace(ir::LibraryCallOp call, unsigned input) {
  Block &body = call.getBody().front();
  BlockArgument argument = body.getArgument(input);
  RankedTensorType type = ir::tensorType(argument);
  auto convs = body.getOps<ir::ConvOp>();
  if (convs.empty() || call.getNumResults() != 1 ||
      body.getTerminator()->getOperand(0).getType() != type ||
      !isa<FloatType>(type.getElementType()) ||
      type.getElementTypeBitWidth() > 32 || type.getRank() != 4 ||
      !argument.hasOneUse() || !isOwnOfCpu(*convs.begin()))
    return false;
  Operation *user = *argument.user_begin();
  if (isa<ir::CastOp>(user) && user->hasOneUse())
    user = *user->user_begin();
  return isa<ir::AddOp>(user);
}

void forEachInPlacePair(Operation *fusion,
                        llvm::function_ref<void(unsigned, unsigned)> visit) {
  Block &body = fusion->getRegion(0).front();
  auto kernel = dyn_cast<ir::KernelOpInterface>(fusion);
  bool isMulti = kernel && kernel.getKind() == ir::KernelKind::multi;
  for (auto [output, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    // A result of a part can only share bytes with operands of that part; in a
    // staged kernel also with what earlier stages read.
    SmallVector<Value> inputs(body.getArguments());
    if (Operation *part = value.getDefiningOp(); isMulti && part)
      inputs.assign(part->operand_begin(), part->operand_end());
    for (Value input : inputs)
      if (auto argument = dyn_cast<BlockArgument>(input);
          argument && mayRunInPlace(fusion, argument.getArgNumber(), output))
        visit(argument.getArgNumber(), output);
  }
}

} // namespace sinter::passes
