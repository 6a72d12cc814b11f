//===- Culprit.cpp - the op whose value is wrong --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/Culprit.h"

#include "compiler/verify/Reference.h"
#include "ir/Locations.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

namespace {

/// The numbers of a module: of arguments and of all ops, those in fusions
/// included.
struct Numbers {
  llvm::DenseMap<Value, Tensor> values;
  std::vector<Value> order;

  LogicalResult evaluate(ModuleOp module, ProgramInputs &inputs) {
    EvaluationOptions options;
    options.observe = [&](Operation *op, ArrayRef<Tensor> results) {
      for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
        if (values.try_emplace(result, value).second)
          order.push_back(result);
    };
    return failure(failed(runProgram(module, inputs, options)));
  }
};

/// The value behind arguments and results of fusions.
Value resolve(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto fusion =
          dyn_cast<ir::FusionOpInterface>(argument.getOwner()->getParentOp());
      if (!fusion)
        return value;
      value = fusion.getInputs()[argument.getArgNumber()];
    } else if (auto fusion = value.getDefiningOp<ir::FusionOpInterface>()) {
      value = fusion.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
    } else {
      return value;
    }
  }
}

std::vector<double> numbersOf(const Tensor &tensor, bool isSorted) {
  std::vector<double> numbers = tensor.floats;
  for (int64_t number : tensor.ints)
    numbers.push_back(static_cast<double>(number));
  if (isSorted)
    llvm::sort(numbers, [](double a, double b) {
      return std::isnan(b) ? !std::isnan(a) : a < b;
    });
  return numbers;
}

bool areClose(const std::vector<double> &a, const std::vector<double> &b) {
  constexpr double kClose = 1e-6; // some roundings of float32
  double largest = 0;
  for (double number : b)
    if (std::isfinite(number))
      largest = std::max(largest, std::fabs(number));
  for (auto [x, y] : llvm::zip_equal(a, b))
    if (x != y && !(std::isnan(x) && std::isnan(y)) &&
        !(std::fabs(x - y) <= kClose * largest))
      return false;
  return true;
}

class CulpritSearch {
public:
  CulpritSearch(ModuleOp before, ModuleOp after, bool anyOrder)
      : before(before), after(after), anyOrder(anyOrder) {}

  Culprit run(ProgramInputs &inputs) {
    if (failed(good.evaluate(before, inputs)) ||
        failed(bad.evaluate(after, inputs)))
      return {};
    // Many constants are zeros or ones, which wrong values may be by chance.
    for (Value value : good.order)
      if (!value.getDefiningOp<ir::ConstantOp>())
        known[good.values[value].size()].push_back(
            numbersOf(good.values[value], anyOrder));
    for (auto function : after.getOps<func::FuncOp>())
      visitResults(function);
    // In program order: the first one whose operands are right.
    Operation *found = firstWrong, *last = nullptr;
    for (Value value : bad.order)
      if (!found && unexplained.contains(value) && hasRightOperands(value))
        found = value.getDefiningOp();
    for (Value value : bad.order)
      if (unexplained.contains(value))
        last = last ? last : value.getDefiningOp();
    found = found ? found : last;
    return found ? describe(found) : Culprit();
  }

private:
  bool isExplained(Value value) {
    auto found = bad.values.find(value);
    if (found == bad.values.end()) // an input, a state or a control field
      return true;
    if (value.getDefiningOp<ir::ConstantOp>())
      return true;
    auto known_ = known.find(found->second.size());
    if (known_ == known.end())
      return false;
    std::vector<double> numbers = numbersOf(found->second, anyOrder);
    return llvm::any_of(known_->second, [&](const auto &other) {
      return areClose(numbers, other);
    });
  }

  /// The value in `before` that the same result returns; null if there is none.
  Value counterpart(func::FuncOp function, unsigned index) {
    auto other = before.lookupSymbol<func::FuncOp>(function.getSymName());
    for (unsigned i = 0; other && i < other.getNumResults(); ++i)
      if (other.getResultAttrDict(i) == function.getResultAttrDict(index))
        return other.getBody().front().getTerminator()->getOperand(i);
    return {};
  }

  void visitResults(func::FuncOp function) {
    Operation *end = function.getBody().front().getTerminator();
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      Value expected = counterpart(function, i), actual = end->getOperand(i);
      expected = expected ? resolve(expected) : expected;
      actual = resolve(actual);
      auto right = expected ? good.values.find(expected) : good.values.end();
      auto wrong = bad.values.find(actual);
      if (right == good.values.end() || wrong == bad.values.end() ||
          right->second.size() != wrong->second.size() ||
          areClose(numbersOf(wrong->second, false),
                   numbersOf(right->second, false)))
        continue;
      visit(actual);
      // A right value of something else.
      if (unexplained.empty() && !firstWrong)
        firstWrong = actual.getDefiningOp();
    }
  }

  void visit(Value value) {
    llvm::SmallVector<Value> work = {value};
    while (!work.empty()) {
      Value next = resolve(work.pop_back_val());
      if (unexplained.contains(next) || isExplained(next))
        continue;
      unexplained.insert(next);
      llvm::append_range(work, next.getDefiningOp()->getOperands());
    }
  }

  bool hasRightOperands(Value value) {
    return llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value each) {
      return !unexplained.contains(resolve(each));
    });
  }

  Culprit describe(Operation *op) {
    Culprit culprit{op->getName().getStringRef().str(),
                    ir::joinedNodeNames(op->getLoc()), ""};
    llvm::SmallSetVector<StringRef, 4> names;
    ir::collectNodeNames(op->getLoc(), names);
    // The value of the same node before, if it is gone.
    const Tensor &wrong = bad.values[op->getResult(0)];
    for (Value value : good.order) {
      const Tensor &right = good.values[value];
      llvm::SmallSetVector<StringRef, 4> others;
      ir::collectNodeNames(value.getLoc(), others);
      bool isOfNode = llvm::any_of(
          others, [&](StringRef name) { return names.contains(name); });
      if (!isOfNode || right.type() != wrong.type() ||
          value.getDefiningOp()->getName() != op->getName())
        continue;
      Bounded bounded = Bounded::of(right, {});
      Difference difference = compare(wrong, bounded);
      if (difference.ratio > 1)
        culprit.text = difference.text(right.shape());
    }
    return culprit;
  }

  ModuleOp before, after;
  bool anyOrder;
  Numbers good, bad;
  std::map<int64_t, std::vector<std::vector<double>>> known; // by size
  llvm::SmallSetVector<Value, 16> unexplained;
  Operation *firstWrong = nullptr;
};

} // namespace

Culprit compiler::findCulprit(ModuleOp before, ModuleOp after,
                              ProgramInputs &inputs, bool anyOrder) {
  return CulpritSearch(before, after, anyOrder).run(inputs);
}
