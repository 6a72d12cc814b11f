//===- DivideWeights.cpp - float32 weights that replicas divide -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// With --shard, each replica updates a part of a weight, and all gather the
// parts. Where a weight is read only to be rounded to 16 bits and to be
// updated, no replica needs all of it in float32: it keeps its part, and what
// is gathered is the rounding. That halves the message, after Rajbhandari et
// al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
// (2020).
//
// Legal, since the rounding of a part is that part of the rounding.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/Remarks.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/place/Devices.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_DIVIDEWEIGHTS
#include "passes/Passes.h.inc"

namespace {

/// All that functions do with a weight.
struct Weight {
  ir::StateOp state, rounded;
  SmallVector<BlockArgument> arguments;
  SmallVector<ir::GatherOp> parts; // of the arguments: this replica's
  struct Update {
    func::FuncOp function;
    unsigned result;         // of the function
    ir::AllGatherOp whole;   // of the parts of all replicas
    SmallVector<Value> path; // from there to the result, which is last
  };
  SmallVector<Update> updates;
  RankedTensorType partType;
  int64_t replicas = 0;
};

/// Whether `value` is the number of the replica.
bool isReplica(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  auto control =
      function ? function.getArgAttrOfType<StringAttr>(
                     argument.getArgNumber(), ir::SinterDialect::kControlAttr)
               : StringAttr();
  return control && control.getValue() == SINTER_CONTROL_REPLICA;
}

bool isAll(ArrayRef<int64_t> values, int64_t value) {
  return llvm::all_of(values, [&](int64_t one) { return one == value; });
}

/// Whether `op` keeps the elements in order, and may append zeros.
bool flattens(Operation *op) {
  auto pad = dyn_cast<ir::PadOp>(op);
  if (!pad)
    return isa<ir::ReshapeOp>(op);
  std::optional<double> value = splatNumber(pad.getValue());
  return value == 0.0 && pad.getType().getRank() == 1 &&
         isAll(pad.getLow(), 0) && isAll(pad.getInterior(), 0);
}

/// Whether `op` keeps the elements in order, and may drop the last ones.
bool unflattens(Operation *op) {
  auto slice = dyn_cast<ir::SliceOp>(op);
  if (!slice)
    return isa<ir::ReshapeOp>(op);
  return slice.getType().getRank() == 1 && isAll(slice.getStarts(), 0) &&
         isAll(slice.getStrides(), 1);
}

/// The op that takes this replica's part of `whole`, which nothing else reads;
/// null if there is none. Pattern: gather(reshape(pad(reshape(w))), replica)
ir::GatherOp partOf(Value whole) {
  while (whole.hasOneUse()) {
    Operation *user = *whole.user_begin();
    if (auto gather = dyn_cast<ir::GatherOp>(user))
      return gather.getX() == whole && gather.getAxis() == 0 &&
                     ir::tensorType(whole).getRank() == 2 &&
                     isReplica(gather.getIndices())
                 ? gather
                 : ir::GatherOp();
    if (user->getOperand(0) != whole || !flattens(user))
      return {};
    whole = user->getResult(0);
  }
  return {};
}

/// What gathers the parts of all replicas for `whole`; null if nothing does.
/// Pattern: reshape(slice(all_gather(part)))
ir::AllGatherOp gatheredAs(Value whole, SmallVectorImpl<Value> &path) {
  path.push_back(whole);
  while (Operation *op = path.back().getDefiningOp()) {
    if (auto gather = dyn_cast<ir::AllGatherOp>(op)) {
      std::reverse(path.begin(), path.end());
      return gather.getInputs().size() == 1 ? gather : ir::AllGatherOp();
    }
    if (!unflattens(op))
      return {};
    path.push_back(op->getOperand(0));
  }
  return {};
}

/// Whether `use` returns the new value of `state`.
bool isReturnedAs(OpOperand &use, ir::StateOp state) {
  auto end = dyn_cast<func::ReturnOp>(use.getOwner());
  return end && stateOfResult(end->getParentOfType<func::FuncOp>(),
                              use.getOperandNumber()) == state;
}

struct DivideWeightsPass : impl::DivideWeightsBase<DivideWeightsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t divided = 0, bytes = 0;
    // Two roundings of one parameter would be two messages.
    llvm::MapVector<Operation *, SmallVector<ir::StateOp>> roundings;
    SymbolTable symbols(module);
    for (auto state : module.getOps<ir::StateOp>())
      if (state.getRole() == ir::StateRole::rounded)
        roundings[symbols.lookup(*state.getOf())].push_back(state);
    for (auto &[of, rounded] : roundings) {
      Weight weight;
      weight.state = cast<ir::StateOp>(of);
      weight.rounded = rounded.front();
      StringRef why = rounded.size() > 1 ? "it is rounded in two ways"
                                         : collectUses(weight);
      if (!why.empty()) {
        ir::remark("divide-weights", "whole", weight.state.getLoc(),
                   weight.state.getSymName() + " stays whole: " + why, 1);
        continue;
      }
      ++divided;
      bytes +=
          weight.state.getWholeType().getNumElements() *
          ir::elementSizeBytes(weight.state.getWholeType().getElementType());
      divide(weight);
      ir::remark("divide-weights", "part", weight.state.getLoc(),
                 weight.state.getSymName() +
                     " is read in 16 bits alone: each replica has a part of it "
                     "in float32",
                 1);
    }
    if (divided)
      ir::remark("divide-weights", "divided", module.getLoc(),
                 Twine(divided) + " weights of " + Twine(bytes) +
                     " bytes are read in 16 bits alone; each replica has a "
                     "part of them in float32",
                 divided);
    dropEmptyRefresh(module);
  }

private:
  /// Collects all that functions do with `weight`. Returns why one of them
  /// needs the whole; "" if none does.
  StringRef collectUses(Weight &weight) {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (stateOfResult(function, i) == weight.state &&
            !collectUpdate(weight, function, i))
          return "each replica updates all of it";
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const bool isRefresh = function.getSymName() == SINTER_ENTRY_REFRESH;
      for (BlockArgument argument : function.getArguments()) {
        if (stateOfArgument(function, argument.getArgNumber()) != weight.state)
          continue;
        weight.arguments.push_back(argument);
        if (isRefresh || argument.use_empty())
          continue;
        ir::GatherOp part = partOf(argument);
        if (!part)
          return "a function reads it in float32";
        if (!hasSameParts(weight, part.getType(),
                          ir::tensorType(part.getX()).getDimSize(0)))
          return "it has parts of two sizes";
        weight.parts.push_back(part);
      }
    }
    return weight.partType && !weight.updates.empty() ? ""
                                                      : "it is not updated";
  }

  /// False if the new value has other uses than a gathered part can serve.
  bool collectUpdate(Weight &weight, func::FuncOp function, unsigned result) {
    Weight::Update update;
    update.function = function;
    update.result = result;
    Value whole =
        function.getBody().front().getTerminator()->getOperand(result);
    update.whole = gatheredAs(whole, update.path);
    if (!update.whole ||
        !hasSameParts(weight, ir::tensorType(update.whole.getInputs()[0]),
                      static_cast<int64_t>(update.whole.getReplicas())))
      return false;
    for (Value step : ArrayRef(update.path).drop_back())
      if (!step.hasOneUse())
        return false;
    for (OpOperand &use : whole.getUses()) {
      auto rounding = dyn_cast<ir::CastOp>(use.getOwner());
      if (rounding
              ? !llvm::all_of(rounding->getUses(),
                              [&](OpOperand &narrow) {
                                return isReturnedAs(narrow, weight.rounded);
                              })
              : !isReturnedAs(use, weight.state))
        return false;
    }
    weight.updates.push_back(update);
    return true;
  }

  /// Whether a part of type `type`, one of `replicas`, is like the other ones.
  static bool hasSameParts(Weight &weight, RankedTensorType type,
                           int64_t replicas) {
    if (!weight.partType) {
      weight.partType = type;
      weight.replicas = replicas;
    }
    return type == weight.partType && replicas == weight.replicas &&
           type.getRank() == 1;
  }

  static void divide(Weight &weight) {
    RankedTensorType whole = weight.state.getWholeType();
    weight.state.setPartOf(whole);
    weight.state.setType(weight.partType);
    for (BlockArgument argument : weight.arguments)
      retype(argument, weight);
    for (ir::GatherOp part : weight.parts)
      read(part, weight);
    for (Weight::Update &update : weight.updates)
      gatherRounded(update, weight);
  }

  /// Gives `argument` the type of the part. In @refresh, which the rounding
  /// does not need any more, it is removed with it.
  static void retype(BlockArgument argument, const Weight &weight) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (function.getSymName() == SINTER_ENTRY_REFRESH) {
      Operation *end = function.getBody().front().getTerminator();
      for (unsigned i = function.getNumResults(); i-- > 0;)
        if (stateOfResult(function, i) == weight.rounded) {
          Operation *rounding = end->getOperand(i).getDefiningOp();
          end->eraseOperand(i);
          function.eraseResult(i);
          rounding->erase();
        }
      function.eraseArgument(argument.getArgNumber());
      return;
    }
    argument.setType(weight.partType);
    function.setType(FunctionType::get(
        function.getContext(), function.getBody().front().getArgumentTypes(),
        function.getResultTypes()));
  }

  /// Pattern: gather(reshape(pad(reshape(w))), replica) -> w
  static void read(ir::GatherOp part, const Weight &weight) {
    Operation *op = part;
    Value value = part.getX();
    part.replaceAllUsesWith(argumentOf(value));
    while (!isa<BlockArgument>(value)) {
      op->erase();
      op = value.getDefiningOp();
      value = op->getOperand(0);
    }
    op->erase();
  }
  static Value argumentOf(Value value) {
    while (Operation *op = value.getDefiningOp())
      value = op->getOperand(0);
    return value;
  }

  /// Pattern: w = reshape(slice(all_gather(part))), r = cast(w)
  ///          -> w = part, r = reshape(slice(all_gather(cast(part))))
  static void gatherRounded(Weight::Update &update, Weight &weight) {
    Value part = update.whole.getInputs()[0], whole = update.path.back();
    Type narrow =
        cast<RankedTensorType>(weight.rounded.getType()).getElementType();
    SmallVector<Operation *> casts;
    for (Operation *user : whole.getUsers())
      if (isa<ir::CastOp>(user))
        casts.push_back(user);
    OpBuilder b(update.whole);
    Value value =
        b.create<ir::AllGatherOp>(
             update.whole.getLoc(),
             ValueRange(ir::castTo(b, update.whole.getLoc(), part, narrow)),
             update.whole.getAxis(), update.whole.getReplicas())
            .getResult(0);
    for (Value step : ArrayRef(update.path).drop_front()) {
      Operation *op = step.getDefiningOp();
      b.setInsertionPoint(op);
      IRMapping map;
      map.map(op->getOperand(0), value);
      Operation *copy = b.clone(*op, map);
      copy->getResult(0).setType(
          cast<RankedTensorType>(step.getType()).clone(narrow));
      value = copy->getResult(0);
    }
    Operation *end = update.function.getBody().front().getTerminator();
    for (Operation *cast : casts) {
      cast->getResult(0).replaceAllUsesWith(value);
      cast->erase();
    }
    end->setOperand(update.result, part);
    SmallVector<Type> results(update.function.getResultTypes());
    results[update.result] = part.getType();
    update.function.setType(FunctionType::get(
        end->getContext(), update.function.getArgumentTypes(), results));
    for (Value step : llvm::reverse(update.path))
      step.getDefiningOp()->erase();
  }

  static void dropEmptyRefresh(ModuleOp module) {
    auto refresh = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_REFRESH);
    if (refresh && refresh.getNumArguments() == 0 &&
        refresh.getNumResults() == 0)
      refresh.erase();
  }
};

} // namespace
} // namespace sinter::passes
