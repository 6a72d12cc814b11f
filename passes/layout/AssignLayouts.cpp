//===- AssignLayouts.cpp - channels-last convolutions and neighbours ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The library computes convolutions on channels-last activations, and loops
// along the channels are the ones that vectorise. An area is a set of values
// that must have the same layout, because the ops between them work in any
// layout. An area with convolutions becomes channels-last if that saves at
// least as much copying inside library calls as the transposes at its border
// cost, or if it has convolutions of 8-bit integers with a kernel, which reads
// no other layout. This is legal for every value: permuting the dimension
// numbers of each op keeps its meaning. States, arguments and results of the
// function keep their layout. The simplifier merges the new transposes with
// those that exist.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/Kernel.h"
#include "ir/Remarks.h"
#include "passes/OpClasses.h"
#include "passes/QuantizedPostOps.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"

namespace {

int64_t rankOf(Value value) { return ir::tensorType(value).getRank(); }

/// The channels-first dimensions in channels-last order.
SmallVector<int64_t> lastOrder(int64_t rank) {
  SmallVector<int64_t> order{0};
  for (int64_t dim = 2; dim < rank; ++dim)
    order.push_back(dim);
  order.push_back(1);
  return order;
}
/// The channels-last position of each channels-first dimension.
SmallVector<int64_t> placeInLast(int64_t rank) {
  SmallVector<int64_t> place{0, rank - 1};
  for (int64_t dim = 2; dim < rank; ++dim)
    place.push_back(dim - 1);
  return place;
}
SmallVector<int64_t> permuted(ArrayRef<int64_t> list) {
  SmallVector<int64_t> result;
  for (int64_t dim : lastOrder(list.size()))
    result.push_back(list[dim]);
  return result;
}

/// The bytes whose position differs between the two layouts.
int64_t movedBytes(Value value) {
  RankedTensorType type = ir::tensorType(value);
  int64_t elements = type.getNumElements(), channels = type.getDimSize(1);
  if (elements == 0 || channels == 1 ||
      elements == channels * type.getDimSize(0))
    return 0;
  return elements * std::max(8u, type.getElementTypeBitWidth()) / 8;
}

class LayoutAssignment {
public:
  explicit LayoutAssignment(func::FuncOp func)
      : block(func.getBody().front()) {}

  /// The number of convolutions that became channels-last.
  int64_t run() {
    findAreas();
    weigh();
    choose();
    explain();
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : ops)
      rewrite(op);
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    return converted;
  }

private:
  static StringRef symbolOf(Operation *function) {
    return cast<func::FuncOp>(function).getSymName();
  }

  /// Reports the layout of each convolution.
  void explain() {
    for (Operation &op : block) {
      ir::CarriedLayout carried = ir::carriedLayout(&op);
      if (!ir::isContraction(&op) ||
          (!carried.result && carried.operands.empty()))
        continue;
      const Area &area =
          areaFor(carried.result ? Value(op.getResult(0))
                                 : op.getOperand(carried.operands.front()));
      bool isLast = area.becomesLast;
      if (area.needsLast) {
        ir::explain("assign-layouts", "channels-last", op.getLoc(),
                    "@" + symbolOf(block.getParentOp()) +
                        ": convolutions of 8-bit integers, as this or a "
                        "connected one is, have a kernel for no other layout");
        continue;
      }
      bool isByRule = isLast == (area.saved >= area.spent);
      ir::explain(
          "assign-layouts", isLast ? "channels-last" : "channels-first",
          op.getLoc(),
          "@" + symbolOf(block.getParentOp()) +
              ": channels-last saves copies of " + Twine(area.saved) +
              " bytes in this and the connected convolutions where a library "
              "computes them; " +
              Twine(area.spent) +
              " bytes must be transposed at their borders. The rule compares "
              "these bytes, in the types and shapes that values have before "
              "casts are moved and channels are padded" +
              (isByRule ? "" : "; a lock file decides otherwise"));
    }
  }

  struct Area {
    int64_t saved = 0, spent = 0; // bytes not copied; transposed
    /// Of 8-bit integers, which have no other kernel than loops.
    bool needsLast = false;
    SmallVector<Operation *> convs;
    bool becomesLast = false;
  };

  void findAreas() {
    for (Operation &op : block) {
      ir::CarriedLayout carried = ir::carriedLayout(&op);
      std::optional<Value> first;
      auto join = [&](Value value) {
        areaOf.insert(value);
        if (first)
          areaOf.unionSets(*first, value);
        first = value;
      };
      for (unsigned operand : carried.operands)
        join(op.getOperand(operand));
      if (carried.result)
        join(op.getResult(0));
    }
  }

  Area &areaFor(Value value) { return areas[areaOf.getLeaderValue(value)]; }
  bool isKnown(Value value) { return areaOf.findValue(value) != areaOf.end(); }
  bool becomesLast(Value value) {
    return isKnown(value) && areaFor(value).becomesLast;
  }

  static bool carries(OpOperand &use) {
    return llvm::is_contained(ir::carriedLayout(use.getOwner()).operands,
                              use.getOperandNumber());
  }

  void addContraction(Area &area, Operation *op) {
    area.convs.push_back(op);
    auto conv = dyn_cast<ir::ConvOp>(op);
    area.needsLast |= conv && multipliesBytes(op) && hasByteWindow(conv);
  }

  void weigh() {
    llvm::SmallVector<Value> values;
    for (BlockArgument argument : block.getArguments())
      values.push_back(argument);
    for (Operation &op : block)
      llvm::append_range(values, op.getResults());
    for (Value value : values) {
      if (!isKnown(value))
        continue;
      Area &area = areaFor(value);
      Operation *def = value.getDefiningOp();
      int64_t bytes = movedBytes(value);
      bool definedInside = def && ir::carriedLayout(def).result;
      // An existing transpose at the border only gets another permutation.
      if (!definedInside && !isa_and_nonnull<ir::TransposeOp>(def))
        area.spent += bytes;
      bool usedOutside = llvm::any_of(value.getUses(), [](OpOperand &use) {
        return !carries(use) && !isa<ir::TransposeOp>(use.getOwner());
      });
      if (usedOutside)
        area.spent += bytes;
      // The library's copies of both operands, or of operand and result.
      if (definedInside && ir::isContraction(def)) {
        addContraction(area, def);
        area.saved += bytes;
      }
      for (OpOperand &use : value.getUses())
        if (carries(use) && ir::isContraction(use.getOwner())) {
          addContraction(area, use.getOwner());
          area.saved += bytes;
        }
    }
  }

  /// Chooses the layout of each area with convolutions.
  void choose() {
    for (auto &[leader, area] : areas)
      if (area.needsLast)
        area.becomesLast = true;
      else if (!area.convs.empty())
        area.becomesLast = ir::decide({.pass = "assign-layouts",
                                       .what = "layout",
                                       .ops = area.convs,
                                       .keepsBits = false},
                                      /*byRule=*/area.saved >= area.spent,
                                      "channels-last", "channels-first");
  }

  /// The channels-last form of `value`, whose area becomes channels-last.
  Value last(Value value) {
    auto it = lastOf.find(value);
    if (it != lastOf.end())
      return it->second;
    OpBuilder builder(block.getParentOp()->getContext());
    builder.setInsertionPointAfterValue(value);
    Value moved = ir::transposeTo(builder, value.getLoc(), value,
                                  lastOrder(rankOf(value)));
    lastOf[value] = moved;
    return moved;
  }

  void rewrite(Operation *op) {
    ir::CarriedLayout carried = ir::carriedLayout(op);
    Value key = carried.result ? Value(op->getResult(0))
                : !carried.operands.empty()
                    ? op->getOperand(carried.operands.front())
                    : Value();
    if (!key || !becomesLast(key))
      return;
    OpBuilder builder(op);
    OperationState state(op->getLoc(), op->getName());
    for (OpOperand &use : op->getOpOperands())
      state.operands.push_back(
          llvm::is_contained(carried.operands, use.getOperandNumber())
              ? last(use.get())
              : use.get());
    state.addAttributes(op->getAttrs());
    RankedTensorType type = ir::tensorType(op->getResult(0));
    int64_t rank = rankOf(key);
    SmallVector<int64_t> place = placeInLast(rank);
    // The permutation of the result if it is not part of an area.
    SmallVector<int64_t> backOrder;
    auto set = [&](StringRef name, ArrayRef<int64_t> list) {
      state.attributes.set(name, builder.getDenseI64ArrayAttr(list));
    };
    llvm::TypeSwitch<Operation *>(op)
        .Case<ir::ConvOp, ir::ConvInputGradOp, ir::ConvFilterGradOp>(
            [&](auto conv) {
              state.attributes.set(conv.getChannelsLastAttrName(),
                                   builder.getUnitAttr());
              ++converted;
            })
        .Case([&](ir::ConstantOp constant) {
          auto value = cast<DenseElementsAttr>(constant.getValue());
          state.attributes.set(
              constant.getValueAttrName(),
              value.resizeSplat(type.clone(permuted(type.getShape()))));
        })
        .Case([&](ir::BroadcastOp broadcast) {
          placeBroadcast(builder, broadcast, place, state);
        })
        .Case([&](ir::ReduceOp reduce) {
          SmallVector<int64_t> dims, kept;
          for (int64_t dim : reduce.getDims())
            dims.push_back(place[dim]);
          llvm::sort(dims);
          set(reduce.getDimsAttrName(), dims);
          // The kept dimensions in their new order, by their old numbers.
          backOrder = keptOrder(reduce, rank);
          SmallVector<int64_t> shape(backOrder.size());
          for (auto [from, to] : llvm::enumerate(backOrder))
            shape[to] = type.getDimSize(from);
          type = type.clone(shape);
        })
        .Case<ir::ReduceWindowOp, ir::ReduceWindowGradOp>([&](auto windows) {
          set(windows.getWindowAttrName(), permuted(windows.getWindow()));
          set(windows.getStridesAttrName(), permuted(windows.getStrides()));
          set(windows.getDilationsAttrName(), permuted(windows.getDilations()));
          set(windows.getPadsLowAttrName(), permuted(windows.getPadsLow()));
          set(windows.getPadsHighAttrName(), permuted(windows.getPadsHigh()));
        })
        .Case([&](ir::PadOp pad) {
          set(pad.getLowAttrName(), permuted(pad.getLow()));
          set(pad.getHighAttrName(), permuted(pad.getHigh()));
          set(pad.getInteriorAttrName(), permuted(pad.getInterior()));
        })
        .Case([&](ir::SliceOp slice) {
          set(slice.getStartsAttrName(), permuted(slice.getStarts()));
          set(slice.getLimitsAttrName(), permuted(slice.getLimits()));
          set(slice.getStridesAttrName(), permuted(slice.getStrides()));
        })
        .Case([&](ir::ReverseOp reverse) {
          SmallVector<int64_t> dims;
          for (int64_t dim : reverse.getDims())
            dims.push_back(place[dim]);
          set(reverse.getDimsAttrName(), dims);
        })
        .Case<ir::GatherOp, ir::ConcatOp>([&](auto along) {
          state.attributes.set(
              along.getAxisAttrName(),
              builder.getI64IntegerAttr(place[along.getAxis()]));
        });
    if (carried.result)
      type = type.clone(permuted(type.getShape()));
    state.addTypes(type);
    Operation *created = builder.create(state);
    replaced.push_back(op);
    Value old = op->getResult(0), result = created->getResult(0);
    if (!carried.result) {
      Value back = backOrder.empty() ? result
                                     : ir::transposeTo(builder, op->getLoc(),
                                                       result, backOrder);
      old.replaceAllUsesWith(back);
      return;
    }
    lastOf[old] = result;
    // Users outside of areas need it channels-first; those inside call `last`.
    SmallVector<OpOperand *> outside;
    for (OpOperand &use : old.getUses())
      if (!carries(use))
        outside.push_back(&use);
    if (outside.empty())
      return;
    Value first = ir::transposeTo(builder, op->getLoc(), result, place);
    for (OpOperand *use : outside)
      use->set(first);
  }

  /// Maps the dimensions of `broadcast` to their new positions, in ascending
  /// order.
  static void placeBroadcast(OpBuilder &builder, ir::BroadcastOp broadcast,
                             ArrayRef<int64_t> place, OperationState &state) {
    SmallVector<int64_t> dims, order;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(place[dim]);
    order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
    llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
    llvm::sort(dims);
    state.operands[0] =
        ir::transposeTo(builder, broadcast.getLoc(), broadcast.getX(), order);
    state.attributes.set(broadcast.getDimsAttrName(),
                         builder.getDenseI64ArrayAttr(dims));
  }

  /// The position of each dimension of the result if the reduced value is
  /// channels-last.
  static SmallVector<int64_t> keptOrder(ir::ReduceOp reduce, int64_t rank) {
    SmallVector<int64_t> kept, order;
    for (int64_t dim : lastOrder(rank))
      if (!llvm::is_contained(reduce.getDims(), dim))
        kept.push_back(dim);
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(reduce.getDims(), dim))
        order.push_back(llvm::find(kept, dim) - kept.begin());
    return order;
  }

  /// Values are compared by their address; only equality of areas matters.
  struct ByAddress {
    bool operator()(Value a, Value b) const {
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
    }
  };
  Block &block;
  llvm::EquivalenceClasses<Value, ByAddress> areaOf;
  llvm::MapVector<Value, Area> areas; // by the leader
  llvm::DenseMap<Value, Value> lastOf;
  SmallVector<Operation *> replaced;
  int64_t converted = 0;
};

struct AssignLayoutsPass : impl::AssignLayoutsBase<AssignLayoutsPass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    LayoutAssignment assignment(getOperation());
    if (int64_t converted = assignment.run())
      ir::remark("assign-layouts", "channels-last", getOperation().getLoc(), "",
                 converted);
  }
};

} // namespace
} // namespace sinter::passes
