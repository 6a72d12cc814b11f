//===- Control.cpp - gradients of repetition ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The gradient of a scan is a scan in the opposite order. The forward scan
// stacks what each trip read of the carried values and what its contractions
// gave, with what was added to it. A trip of the backward scan computes the
// other values of its forward trip again, which are cheap, and then
// differentiates the body. Cotangents of carried values are carried, those of
// stacks are stacked, and those of whole operands are summed. Where such a sum
// is one of products, both factors are stacked instead: one product over all
// trips gives the sum.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

bool isFloat(Value value) {
  return isa<FloatType>(tensorType(value).getElementType());
}

RankedTensorType stackType(Type slice, ScanOp scan) {
  auto type = cast<RankedTensorType>(slice);
  SmallVector<int64_t> shape{static_cast<int64_t>(scan.getTrips())};
  llvm::append_range(shape, type.getShape());
  return withShape(type, shape);
}

class ScanGradient {
public:
  ScanGradient(ScanOp scan, OpGradient &g)
      : scan(scan), g(g), body(scan.getBody().front()),
        numStacks(scan.numStacks()), numCarried(scan.numCarried()) {}

  void build() {
    findActive();
    stackResiduals();
    if (!buildBody())
      return;
    give();
  }

private:
  Value yielded(unsigned i) { return body.getTerminator()->getOperand(i); }

  /// Finds the arguments of the body, and with them the carried values, through
  /// which results depend on the wanted operands.
  void findActive() {
    for (unsigned i = 0; i < scan->getNumOperands(); ++i)
      if (g.wants(i) && isFloat(scan->getOperand(i)))
        active.insert(body.getArgument(i));
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation &op : body.without_terminator())
        if (gradientRuleKind(op.getName()) != GradientRuleKind::Zero &&
            llvm::any_of(op.getOperands(),
                         [&](Value value) { return active.contains(value); }))
          for (Value result : op.getResults())
            if (isFloat(result))
              active.insert(result);
      for (unsigned i = 0; i < numCarried; ++i)
        if (active.contains(yielded(i)))
          changed |= active.insert(body.getArgument(numStacks + i)).second;
    }
  }

  /// The result of a contraction, or the sum that it is only a term of.
  static Value sumOf(Operation *contraction) {
    Value value = contraction->getResult(0);
    while (value.hasOneUse()) {
      auto add = dyn_cast<AddOp>(*value.user_begin());
      if (!add)
        break;
      value = add.getResult();
    }
    return value;
  }

  /// Replaces the scan by one that also stacks what the backward scan reads:
  /// all carried values before each trip, and the results of contractions.
  void stackResiduals() {
    OpBuilder b(scan);
    for (BlockArgument argument :
         body.getArguments().slice(numStacks, numCarried))
      kept.insert(argument);
    for (Operation &op : body)
      if (isContraction(&op) && isFloat(op.getResult(0)))
        kept.insert(sumOf(&op));
    SmallVector<Type> types(scan->getResultTypes());
    for (Value value : kept)
      types.push_back(stackType(value.getType(), scan));
    forward = b.create<ScanOp>(scan.getLoc(), types, scan.getTrips(),
                               scan.getReverse(), scan.getStacks(),
                               scan.getInitial(), scan.getWhole());
    IRMapping map;
    scan.getBody().cloneInto(&forward.getBody(), map);
    Operation *yield = forward.getBody().front().getTerminator();
    SmallVector<Value> values(yield->getOperands());
    for (Value value : kept)
      values.push_back(map.lookup(value));
    yield->setOperands(values);
    scan->replaceAllUsesWith(
        forward->getResults().take_front(scan->getNumResults()));
  }

  Value addArgument(Type type) { return block->addArgument(type, g.loc); }

  /// Builds the body of the backward scan and collects its operands.
  bool buildBody() {
    block = std::make_unique<Block>();
    IRMapping map;
    for (auto [i, stack] : llvm::enumerate(scan.getStacks())) {
      map.map(body.getArgument(i), addArgument(body.getArgument(i).getType()));
      stacks.push_back(stack);
    }
    SmallVector<Value> residuals;
    for (auto [value, stack] :
         llvm::zip_equal(kept, forward->getResults().take_back(kept.size()))) {
      residuals.push_back(addArgument(value.getType()));
      stacks.push_back(stack);
    }
    for (unsigned i = 0; i < numCarried; ++i)
      map.map(body.getArgument(numStacks + i), residuals[i]);
    // The cotangents of what the body yields: of stacked results.
    SmallVector<Value> cotangents(scan->getNumResults());
    for (unsigned i = numCarried; i < scan->getNumResults(); ++i)
      if (Value grad = g.gradOrNull(i); grad && active.contains(yielded(i))) {
        cotangents[i] = addArgument(yielded(i).getType());
        stacks.push_back(grad);
      }
    for (unsigned i = 0; i < numCarried; ++i)
      if (active.contains(body.getArgument(numStacks + i))) {
        cotangents[i] = addArgument(yielded(i).getType());
        initial.push_back(g.grad(i));
      }
    firstSum = block->getNumArguments();

    // Whole operands follow the sums, of which the number is not known yet.
    OpBuilder b(scan.getContext());
    b.setInsertionPointToEnd(block.get());
    SmallVector<std::pair<Value, Value>> wholeArguments;
    wholes = std::make_unique<Block>();
    for (auto [i, whole] : llvm::enumerate(scan.getWhole()))
      map.map(body.getArgument(scan.firstWhole() + i),
              wholes->addArgument(whole.getType(), g.loc));
    for (Operation &op : body.without_terminator())
      b.clone(op, map);

    SmallVector<Value> parts, seeds, wrt;
    for (auto [i, cotangent] : llvm::enumerate(cotangents))
      if (cotangent) {
        parts.push_back(map.lookup(yielded(i)));
        seeds.push_back(cotangent);
      }
    SmallVector<BlockArgument> wanted;
    for (BlockArgument argument : body.getArguments())
      if (active.contains(argument)) {
        wanted.push_back(argument);
        wrt.push_back(map.lookup(argument));
      }
    if (parts.empty())
      return abandon("");
    if (llvm::any_of(parts, [&](Value part) {
          return getElementTypeOrSelf(part) != getElementTypeOrSelf(parts[0]);
        }))
      return abandon("with results of several float types");
    Value loss = joined(b, parts), seed = joined(b, seeds);
    FailureOr<SmallVector<Value>> grads = gradients(b, loss, wrt, seed);
    if (failed(grads))
      return abandon("through its body");
    // Contractions are not computed again.
    for (auto [value, residual] : llvm::zip_equal(kept, residuals))
      if (!isa<BlockArgument>(value))
        map.lookup(value).replaceAllUsesWith(residual);

    SmallVector<Value> next, slices;
    for (auto [argument, grad] : llvm::zip_equal(wanted, *grads)) {
      unsigned number = argument.getArgNumber();
      if (scan.isStack(number)) {
        if (grad) {
          slices.push_back(grad);
          outputs[number] = {Output::slice, slices.size() - 1};
        }
      } else if (scan.isCarried(number)) {
        next.push_back(grad ? grad : zerosLike(b, g.loc, map.lookup(argument)));
        outputs[number] = {Output::last, next.size() - 1};
      }
    }
    for (auto [argument, grad] : llvm::zip_equal(wanted, *grads))
      if (argument.getArgNumber() >= scan.firstWhole() && grad)
        addSum(b, argument.getArgNumber(), grad, next, slices);
    b.create<YieldOp>(g.loc, concatenated(next, slices));
    for (BlockArgument argument : wholes->getArguments())
      argument.replaceAllUsesWith(addArgument(argument.getType()));
    numNext = next.size();
    for (Value value : next)
      types.push_back(value.getType());
    for (Value value : slices)
      types.push_back(stackType(value.getType(), scan));
    return true;
  }

  static SmallVector<Value> concatenated(ArrayRef<Value> a, ArrayRef<Value> b) {
    SmallVector<Value> all(a);
    llvm::append_range(all, b);
    return all;
  }

  /// The values as one vector, so that one differentiation serves them all; the
  /// simplifier removes it.
  Value joined(OpBuilder &b, ArrayRef<Value> values) {
    if (values.size() == 1)
      return values.front();
    SmallVector<Value> flat;
    for (Value value : values)
      flat.push_back(
          reshapeTo(b, g.loc, value, tensorType(value).getNumElements()));
    return b.create<ConcatOp>(g.loc, flat, /*axis=*/0).getResult();
  }

  /// Sums `grad` of the whole operand `number` over all trips.
  void addSum(OpBuilder &b, unsigned number, Value grad,
              SmallVector<Value> &next, SmallVector<Value> &slices) {
    if (auto sum = grad.getDefiningOp<AddOp>()) {
      addSum(b, number, sum.getLhs(), next, slices);
      addSum(b, number, sum.getRhs(), next, slices);
      return;
    }
    SmallVector<TransposeOp> moves;
    Value product = grad;
    for (; auto move = product.getDefiningOp<TransposeOp>();
         product = move.getX())
      moves.push_back(move);
    auto dot = product.getDefiningOp<DotGeneralOp>();
    if (dot && dot.getLhsBatch().empty()) {
      slices.push_back(dot.getLhs());
      slices.push_back(dot.getRhs());
      products.push_back({number, dot, moves, slices.size() - 2});
      return;
    }
    Value before = addArgument(grad.getType());
    next.push_back(b.create<AddOp>(g.loc, before, grad).getResult());
    initial.push_back(g.like(before, 0));
    sums.push_back({number, next.size() - 1});
  }

  bool abandon(StringRef why) {
    // Ops in the block refer to arguments of both blocks.
    block->dropAllReferences();
    block->clear();
    block.reset();
    wholes.reset();
    if (!why.empty())
      g.refuse(why);
    return false;
  }

  void give() {
    // The products are described by ops of the body, which moves now.
    auto backward =
        g.b.create<ScanOp>(g.loc, types, scan.getTrips(), !scan.getReverse(),
                           stacks, initial, scan.getWhole());
    backward.getBody().push_back(block.release());
    auto stacked = [&](size_t i) { return backward->getResult(numNext + i); };
    for (auto &[number, output] : outputs)
      g.give(number, output.first == Output::last
                         ? Value(backward->getResult(output.second))
                         : Value(stacked(output.second)));
    llvm::MapVector<unsigned, Value> totals;
    auto addTo = [&](unsigned number, Value part) {
      Value &total = totals[number];
      total = total ? g.add(total, part) : part;
    };
    for (auto [number, index] : sums)
      addTo(number, backward->getResult(index));
    for (const Product &product : products)
      addTo(product.number, overAllTrips(product, stacked(product.firstSlice),
                                         stacked(product.firstSlice + 1)));
    for (auto &[number, total] : totals)
      g.give(number, total);
  }

  struct Product {
    unsigned number; // of the operand
    DotGeneralOp dot;
    SmallVector<TransposeOp> moves; // the last one first
    size_t firstSlice;
  };

  /// The sum of a product of slices: one product that also contracts the trips.
  Value overAllTrips(const Product &product, Value lhs, Value rhs) {
    auto withTrips = [](ArrayRef<int64_t> dims) {
      SmallVector<int64_t> all{0};
      for (int64_t dim : dims)
        all.push_back(dim + 1);
      return all;
    };
    DotGeneralOp dot = product.dot;
    Value sum = g.make<DotGeneralOp>(
        lhs, rhs, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
        withTrips(dot.getLhsContract()), withTrips(dot.getRhsContract()));
    for (TransposeOp move : llvm::reverse(product.moves))
      sum = g.transpose(sum, move.getPerm());
    return sum;
  }

  ScanOp scan, forward;
  OpGradient &g;
  Block &body;
  const unsigned numStacks, numCarried;
  llvm::DenseSet<Value> active;
  llvm::SmallSetVector<Value, 8>
      kept; // of the body; stacked for the backward scan

  std::unique_ptr<Block> block, wholes;
  unsigned firstSum = 0;
  SmallVector<Value> stacks, initial;
  SmallVector<Type> types;
  size_t numNext = 0;
  enum class Output { last, slice };
  llvm::MapVector<unsigned, std::pair<Output, size_t>> outputs; // by operand
  SmallVector<std::pair<unsigned, size_t>> sums;
  SmallVector<Product> products;
};

} // namespace

void addControlRules(GradientRules &rules) {
  rules.add<ScanOp>(
      [](ScanOp scan, OpGradient &g) { ScanGradient(scan, g).build(); });
}

} // namespace sinter::passes
