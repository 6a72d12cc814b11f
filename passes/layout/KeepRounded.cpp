//===- KeepRounded.cpp - 16-bit weights from step to step -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A step that is trained in 16 bits begins by rounding every float32 weight.
// Here the rounded weight becomes a state of its own, of role rounded:
// functions read it instead of rounding the parameter. A function that computes
// a new value of the parameter also rounds that and returns it; FuseLoops makes
// it one more result of the update's kernel. @refresh computes all such states;
// the runtime calls it before the next run after something else than a run has
// written a parameter.
//
// Legal, since the state always holds what the cast would compute: the same
// rounding of the same bits. A weight whose readers all pad its rows (tensor
// cores want aligned sizes) is kept with these rows. One that is only
// concatenated with others is left alone: the kernel that concatenates rounds
// it for free.
//
//===----------------------------------------------------------------------===//
#include "passes/layout/KeepRounded.h"
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/Remarks.h"
#include "passes/Passes.h"
#include "passes/place/Devices.h"

#include "sinter/program_names.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_KEEPROUNDED
#include "passes/Passes.h.inc"

namespace {

/// A parameter and the type to which it is rounded.
using Key = std::pair<Operation *, Type>;

/// The casts of one parameter to one type, in all functions.
struct Weight {
  SmallVector<ir::CastOp> casts;
  ir::StateOp rounded;
};

/// The parameter of which `argument` is the value; null if it is none.
ir::StateOp parameterOf(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  ir::StateOp state = function
                          ? stateOfArgument(function, argument.getArgNumber())
                          : ir::StateOp();
  return state && state.getRole() == ir::StateRole::param ? state
                                                          : ir::StateOp();
}

/// True when `user` appends rows of zeros and does nothing else.
bool padsRows(Operation *user) {
  auto pad = dyn_cast<ir::PadOp>(user);
  auto zero =
      pad ? pad.getValue().getDefiningOp<ir::ConstantOp>() : ir::ConstantOp();
  auto isNone = [](ArrayRef<int64_t> sizes) {
    return llvm::all_of(sizes, [](int64_t size) { return size == 0; });
  };
  return zero && ir::isSplatConstant(zero) &&
         cast<DenseElementsAttr>(zero.getValue())
             .getSplatValue<APFloat>()
             .isPosZero() &&
         isNone(pad.getLow()) && isNone(pad.getInterior()) &&
         isNone(pad.getHigh().drop_front()) && pad.getHigh().front() > 0;
}

struct KeepRoundedPass : impl::KeepRoundedBase<KeepRoundedPass> {
  using KeepRoundedBase::KeepRoundedBase;
  KeepRoundedPass(const Target *target, ArrayRef<ProgramDevice> devices,
                  bool alsoOnHost)
      : target(target), devices(devices) {
    this->alsoOnHost = alsoOnHost;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::MapVector<Key, Weight> weights;
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      for (auto cast : function.getBody().front().getOps<ir::CastOp>()) {
        Type to = cast.getType().getElementType();
        auto argument = dyn_cast<BlockArgument>(cast.getX());
        if (!argument || !(to.isF16() || to.isBF16()) ||
            !cast.getX().getType().getElementType().isF32())
          continue;
        ir::StateOp state = parameterOf(argument);
        if (state && (alsoOnHost || !isOnHost(module, ir::deviceNumber(state))))
          weights[{state, to}].casts.push_back(cast);
      }
    SymbolTable symbols(module);
    if (symbols.lookup(SINTER_ENTRY_REFRESH))
      return; // a function of the user's
    int64_t kept = 0;
    for (auto &[key, weight] : weights) {
      RankedTensorType type = keptType(weight.casts);
      if (!type)
        continue;
      weight.rounded = declare(cast<ir::StateOp>(key.first), type, symbols);
      ++kept;
    }
    if (!kept)
      return;
    for (func::FuncOp function : functions)
      computeIn(function, weights);
    for (auto &[key, weight] : weights)
      if (weight.rounded)
        for (ir::CastOp cast : weight.casts)
          replace(cast, weight.rounded);
    addRefresh(module, functions.back(), weights);
    ir::remark("keep-rounded", "kept", module.getLoc(), "", kept);
  }

private:
  using Weights = llvm::MapVector<Key, Weight>;

  bool isOnHost(ModuleOp module, int64_t device) const {
    return target && targetOf(module, device, devices, target)->traits().isHost;
  }

  /// The type of a state for what `casts` compute; null if it does not pay.
  static RankedTensorType keptType(ArrayRef<ir::CastOp> casts) {
    SmallVector<Operation *> users;
    for (ir::CastOp cast : casts)
      llvm::append_range(users, cast->getUsers());
    if (llvm::all_of(users, llvm::IsaPred<ir::ConcatOp>))
      return {};
    Type padded = users.front()->getNumResults() == 1
                      ? users.front()->getResult(0).getType()
                      : Type();
    bool isPadded = llvm::all_of(users, [&](Operation *user) {
      return padsRows(user) && user->getResult(0).getType() == padded;
    });
    return isPadded ? cast<RankedTensorType>(padded)
                    : ir::CastOp(casts.front()).getType();
  }

  /// Declares the state after all others: the numbers of these are the same in
  /// programs for other targets.
  static ir::StateOp declare(ir::StateOp of, RankedTensorType type,
                             SymbolTable &symbols) {
    ir::StateOp last = of;
    for (auto state : of->getParentOfType<ModuleOp>().getOps<ir::StateOp>())
      last = state;
    OpBuilder builder(of.getContext());
    builder.setInsertionPointAfter(last);
    std::string name = (type.getElementType().isF16() ? "fp16/" : "bf16/") +
                       of.getSymName().str();
    while (symbols.lookup(name))
      name = "rounded/" + name;
    auto state = builder.create<ir::StateOp>(
        of.getLoc(), name, type, ir::StateRole::rounded, /*init=*/nullptr,
        /*trainable=*/false, /*slot=*/nullptr, FlatSymbolRefAttr::get(of),
        /*onnx=*/nullptr, /*reason=*/StringAttr(), /*aliases=*/ArrayAttr(),
        /*part_of=*/TypeAttr());
    if (Attribute device = of->getAttr(ir::SinterDialect::kDeviceAttr))
      state->setAttr(ir::SinterDialect::kDeviceAttr, device);
    symbols.insert(state, Block::iterator(state));
    return state;
  }

  static DictionaryAttr attributeOf(ir::StateOp state) {
    Builder b(state.getContext());
    return b.getDictionaryAttr(b.getNamedAttr(ir::SinterDialect::kStateAttr,
                                              FlatSymbolRefAttr::get(state)));
  }

  /// Appends the value that `state` gets when `parameter` is the new value of
  /// its parameter.
  static void addResult(func::FuncOp function, ir::StateOp state,
                        Value parameter) {
    auto end = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    OpBuilder builder(end);
    Location loc = parameter.getLoc();
    Value rounded = ir::castTo(
        builder, isa<UnknownLoc>(loc) ? state.getLoc() : loc, parameter,
        cast<RankedTensorType>(state.getType()).getElementType());
    function.insertResult(function.getNumResults(), rounded.getType(),
                          attributeOf(state));
    end.getOperandsMutable().append(rounded);
  }

  /// Makes `function` compute the states of those parameters of which it
  /// computes new values.
  static void computeIn(func::FuncOp function, const Weights &weights) {
    Operation *end = function.getBody().front().getTerminator();
    llvm::MapVector<Operation *, Value> updates;
    for (OpOperand &operand : end->getOpOperands())
      if (ir::StateOp state =
              stateOfResult(function, operand.getOperandNumber()))
        updates[state] = operand.get();
    for (const auto &[key, weight] : weights)
      if (auto found = updates.find(key.first);
          weight.rounded && found != updates.end())
        addResult(function, weight.rounded, found->second);
  }

  /// The value of `state` before the run: an argument, new on first use.
  static Value argumentOf(func::FuncOp function, ir::StateOp state) {
    unsigned last = 0;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      ir::StateOp other = stateOfArgument(function, i);
      if (other == state)
        return function.getArgument(i);
      if (other)
        last = i + 1;
    }
    function.insertArgument(last, state.getType(), attributeOf(state),
                            state.getLoc());
    return function.getArgument(last);
  }

  /// Pattern: cast(parameter), or pad(cast(parameter)) -> rounded
  static void replace(ir::CastOp cast, ir::StateOp rounded) {
    Value value = argumentOf(cast->getParentOfType<func::FuncOp>(), rounded);
    if (value.getType() == cast.getType()) {
      cast.replaceAllUsesWith(value);
      cast.erase();
      return;
    }
    for (Operation *pad : llvm::make_early_inc_range(cast->getUsers())) {
      pad->getResult(0).replaceAllUsesWith(value);
      pad->erase();
    }
    cast.erase();
  }

  /// Adds the function that computes all rounded states.
  static void addRefresh(ModuleOp module, func::FuncOp last,
                         const Weights &weights) {
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfter(last);
    auto refresh = builder.create<func::FuncOp>(
        last.getLoc(), SINTER_ENTRY_REFRESH, builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(refresh.addEntryBlock());
    builder.create<func::ReturnOp>(last.getLoc());
    for (const auto &[key, weight] : weights)
      if (weight.rounded)
        addResult(refresh, weight.rounded,
                  argumentOf(refresh, cast<ir::StateOp>(key.first)));
  }

  const Target *target = nullptr;
  ArrayRef<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createKeepRounded(const Target *target,
                                        ArrayRef<ProgramDevice> devices,
                                        bool alsoOnHost) {
  return std::make_unique<KeepRoundedPass>(target, devices, alsoOnHost);
}

} // namespace sinter::passes
