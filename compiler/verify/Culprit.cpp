//===- Culprit.cpp - the op whose value is wrong --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/Culprit.h"

#include "compiler/verify/Reference.h"
#include "ir/Provenance.h"

#include "mlir/Support/DebugStringHelper.h"

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult CulpritSearch::Values::evaluate(ModuleOp module,
                                              ProgramInputs &inputs) {
  EvaluationOptions options;
  options.observe = [&](Operation *op, ArrayRef<Tensor> results) {
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
      if (tensors.try_emplace(result, value).second)
        order.push_back(result);
  };
  return failure(failed(runProgram(module, inputs, options)));
}

CulpritSearch::Elements::Elements(const Tensor &tensor, bool isSorted)
    : numbers(tensor.floats) {
  for (int64_t number : tensor.ints)
    numbers.push_back(static_cast<double>(number));
  for (double number : numbers)
    if (std::isfinite(number))
      largest = std::max(largest, std::fabs(number));
  if (isSorted)
    llvm::sort(numbers, [](double a, double b) {
      return std::isnan(b) ? !std::isnan(a) : a < b;
    });
}

bool CulpritSearch::Elements::isClose(const Elements &other) const {
  constexpr double kClose = 1e-6; // some roundings of float32
  for (auto [x, y] : llvm::zip_equal(numbers, other.numbers))
    if (x != y && !(std::isnan(x) && std::isnan(y)) &&
        !(std::fabs(x - y) <= kClose * other.largest))
      return false;
  return true;
}

/// The value behind arguments and results of fusions.
static Value resolve(Value value) {
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

LogicalResult CulpritSearch::evaluate(ProgramInputs &inputsBefore,
                                      ProgramInputs &inputsAfter) {
  return failure(failed(good_.evaluate(before_, inputsBefore)) ||
                 failed(bad_.evaluate(after_, inputsAfter)));
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

struct CulpritSearch::Search {
  bool anyOrder;
  ElementsBySize known;
  llvm::SmallSetVector<Value, 16> unexplained = {};
  Operation *firstWrong = nullptr; // a right value of something else

  bool hasRightOperands(Value value) const {
    return llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value each) {
      return !unexplained.contains(resolve(each));
    });
  }
};

// Many constants are zeros or ones, which wrong values may be by chance.
CulpritSearch::ElementsBySize
CulpritSearch::elementsBefore(bool isSorted) const {
  ElementsBySize elements;
  for (Value value : good_.order)
    if (!value.getDefiningOp<ir::ConstantOp>()) {
      const Tensor &tensor = good_.tensors.find(value)->second;
      elements[tensor.size()].emplace_back(tensor, isSorted);
    }
  return elements;
}

bool CulpritSearch::isExplained(Value value, const ElementsBySize &known,
                                bool isSorted) const {
  auto found = bad_.tensors.find(value);
  if (found == bad_.tensors.end()) // an input, a state or a control field
    return true;
  if (value.getDefiningOp<ir::ConstantOp>())
    return true;
  auto ofSize = known.find(found->second.size());
  if (ofSize == known.end())
    return false;
  const Elements elements(found->second, isSorted);
  return llvm::any_of(ofSize->second, [&](const Elements &other) {
    return elements.isClose(other);
  });
}

// Whether two results are the same input, output or state. Their attributes
// may be of two contexts.
static bool isSameResult(DictionaryAttr a, DictionaryAttr b) {
  if (a == b)
    return true;
  auto nameOf = [](DictionaryAttr attributes, StringRef key) -> StringRef {
    Attribute name = attributes ? attributes.get(key) : Attribute();
    if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(name))
      return symbol.getValue();
    auto text = dyn_cast_or_null<StringAttr>(name);
    return text ? text.getValue() : StringRef();
  };
  return llvm::any_of(llvm::ArrayRef({ir::SinterDialect::kOutputAttr,
                                      ir::SinterDialect::kStateAttr}),
                      [&](StringRef key) {
                        return !nameOf(a, key).empty() &&
                               nameOf(a, key) == nameOf(b, key);
                      });
}

/// The value in `before` that the same result returns; null if there is none.
Value CulpritSearch::counterpart(func::FuncOp function, unsigned index) {
  auto other = before_.lookupSymbol<func::FuncOp>(function.getSymName());
  for (unsigned i = 0; other && i < other.getNumResults(); ++i)
    if (isSameResult(other.getResultAttrDict(i),
                     function.getResultAttrDict(index)))
      return other.getBody().front().getTerminator()->getOperand(i);
  return {};
}

void CulpritSearch::visitResults(func::FuncOp function, Search &search) {
  Operation *end = function.getBody().front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Value expected = counterpart(function, i), actual = end->getOperand(i);
    expected = expected ? resolve(expected) : expected;
    actual = resolve(actual);
    auto right = expected ? good_.tensors.find(expected) : good_.tensors.end();
    auto wrong = bad_.tensors.find(actual);
    if (right == good_.tensors.end() || wrong == bad_.tensors.end() ||
        right->second.size() != wrong->second.size() ||
        Elements(wrong->second, false).isClose(Elements(right->second, false)))
      continue;
    visit(actual, search);
    if (search.unexplained.empty() && !search.firstWrong)
      search.firstWrong = actual.getDefiningOp();
  }
}

void CulpritSearch::visit(Value value, Search &search) {
  llvm::SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = resolve(work.pop_back_val());
    if (search.unexplained.contains(next) ||
        isExplained(next, search.known, search.anyOrder))
      continue;
    search.unexplained.insert(next);
    llvm::append_range(work, next.getDefiningOp()->getOperands());
  }
}

static bool isSameType(RankedTensorType a, RankedTensorType b) {
  return a == b || debugString(a) == debugString(b);
}

Culprit CulpritSearch::describe(Operation *op) {
  Culprit culprit{op->getName().getStringRef().str(),
                  ir::joinedProvenance(op->getLoc()), ""};
  llvm::SmallSetVector<StringRef, 4> names;
  ir::collectNodeNames(op->getLoc(), names);
  for (StringRef name : names.takeVector()) {
    auto renamed = namesBefore.find(name.str());
    names.insert(renamed == namesBefore.end() ? name
                                              : StringRef(renamed->second));
  }
  // The value of the same node before, if it is gone.
  const Tensor &wrong = bad_.tensors[op->getResult(0)];
  for (Value value : good_.order) {
    const Tensor &right = good_.tensors[value];
    llvm::SmallSetVector<StringRef, 4> others;
    ir::collectNodeNames(value.getLoc(), others);
    bool isOfNode = llvm::any_of(
        others, [&](StringRef name) { return names.contains(name); });
    if (!isOfNode || !isSameType(right.type(), wrong.type()) ||
        value.getDefiningOp()->getName().getStringRef() != culprit.op)
      continue;
    Bounded bounded = Bounded::of(right, {});
    Difference difference = compare(wrong, bounded);
    if (difference.ratio > 1)
      culprit.text = difference.text(right.shape());
  }
  return culprit;
}

std::vector<Culprit> CulpritSearch::find(bool anyOrder) {
  Search search{anyOrder, elementsBefore(anyOrder)};
  for (auto function : after_.getOps<func::FuncOp>())
    visitResults(function, search);
  // In program order: those whose operands are right.
  llvm::SmallSetVector<Operation *, 4> found;
  Operation *firstUnexplained = nullptr;
  if (search.firstWrong)
    found.insert(search.firstWrong);
  for (Value value : bad_.order)
    if (search.unexplained.contains(value)) {
      firstUnexplained =
          firstUnexplained ? firstUnexplained : value.getDefiningOp();
      if (search.hasRightOperands(value))
        found.insert(value.getDefiningOp());
    }
  if (found.empty() && firstUnexplained)
    found.insert(firstUnexplained);
  std::vector<Culprit> culprits;
  for (Operation *op : found)
    culprits.push_back(describe(op));
  if (anyOrder || found.empty())
    return culprits;
  const ElementsBySize sorted = elementsBefore(/*isSorted=*/true);
  for (auto [culprit, op] : llvm::zip_equal(culprits, found))
    culprit.isReordered = isExplained(op->getResult(0), sorted, true);
  return culprits;
}

Culprit compiler::findCulprit(ModuleOp before, ModuleOp after,
                              ProgramInputs &inputs, bool anyOrder) {
  CulpritSearch search(before, after);
  if (failed(search.evaluate(inputs, inputs)))
    return {};
  std::vector<Culprit> found = search.find(anyOrder);
  return found.empty() ? Culprit() : found.front();
}
