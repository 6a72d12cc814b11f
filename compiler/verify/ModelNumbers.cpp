//===- ModelNumbers.cpp - the numbers of two models -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/ModelNumbers.h"

#include "compiler/base/Text.h"

#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;
namespace json = llvm::json;

bool NumericDifference::empty() const {
  return llvm::all_of(results,
                      [](const Result &each) { return each.isSame(); });
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {

/// The arguments of a function, or its results, that bear a name.
struct Names {
  struct Each {
    StringRef name;
    unsigned index;
  };
  std::vector<Each> list;

  Names(func::FuncOp function, bool areResults) {
    const unsigned count =
        areResults ? function.getNumResults() : function.getNumArguments();
    for (unsigned i = 0; i < count; ++i)
      if (auto name = areResults ? function.getResultAttrOfType<StringAttr>(
                                       i, ir::SinterDialect::kOutputAttr)
                                 : function.getArgAttrOfType<StringAttr>(
                                       i, ir::SinterDialect::kInputAttr))
        list.push_back({name.getValue(), i});
  }

  /// Those that `other` does not have.
  std::vector<Each> without(const Names &other) const {
    std::vector<Each> rest;
    llvm::copy_if(list, std::back_inserter(rest), [&](const Each &each) {
      return llvm::none_of(other.list, [&](const Each &theirs) {
        return theirs.name == each.name;
      });
    });
    return rest;
  }
};

} // namespace

/// Gives inputs and outputs of `b` the names that they have in `a`.
static void takeNames(func::FuncOp a, func::FuncOp b) {
  for (bool areResults : {false, true}) {
    const Names ofA(a, areResults), ofB(b, areResults);
    std::vector<Names::Each> onlyA = ofA.without(ofB), onlyB = ofB.without(ofA);
    if (onlyA.size() != onlyB.size())
      continue;
    for (auto [from, to] : llvm::zip_equal(onlyA, onlyB)) {
      auto name = StringAttr::get(b.getContext(), from.name);
      if (areResults)
        b.setResultAttr(to.index, ir::SinterDialect::kOutputAttr, name);
      else
        b.setArgAttr(to.index, ir::SinterDialect::kInputAttr, name);
    }
  }
}

// Why `b` cannot take the inputs of `a`; "" if it can.
static std::string whyOtherInputs(func::FuncOp a, func::FuncOp b) {
  const Names ofA(a, false), ofB(b, false);
  for (const Names::Each &mine : ofA.list)
    for (const Names::Each &theirs : ofB.list) {
      if (mine.name != theirs.name)
        continue;
      std::string own = debugString(a.getArgument(mine.index).getType()),
                  other = debugString(b.getArgument(theirs.index).getType());
      if (own != other)
        return "input " + quoted(mine.name.str()) + " is " + own +
               " in the first model and " + other +
               " in the second: they cannot have the same inputs";
    }
  return "";
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static double relativeError(const Tensor &value, const Tensor &reference) {
  double largest = 0, error = 0;
  for (int64_t i = 0; i < reference.size(); ++i) {
    const double a = value.isFloat() ? value.floats[i] : double(value.ints[i]),
                 b = reference.isFloat() ? reference.floats[i]
                                         : double(reference.ints[i]);
    if (std::isfinite(b))
      largest = std::max(largest, std::fabs(b));
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    const double distance = std::fabs(a - b);
    error = std::isfinite(distance) ? std::max(error, distance)
                                    : std::numeric_limits<double>::infinity();
  }
  return largest ? error / largest : error;
}

static NumericDifference::Result compareResult(const std::string &name,
                                               const Bounded &reference,
                                               const ProgramResults &results) {
  auto found = results.find(name);
  if (found == results.end())
    return {name, "is only in the first model"};
  const Tensor &value = found->second;
  const Tensor &own = reference.value;
  if (value.shape() != own.shape() || value.isFloat() != own.isFloat())
    return {name, "is " + debugString(own.type()) + " in the first model and " +
                      debugString(value.type()) + " in the second"};
  return {name, "", compare(value, reference), own.shape().vec(),
          relativeError(value, own)};
}

/// Where the differences begin. Models of two exporters may have another
/// layout, so that all values are those of the other one in another order.
static std::vector<Culprit> whereTheyBegin(CulpritSearch &search) {
  std::vector<Culprit> found = search.find(/*anyOrder=*/false);
  const bool isOtherLayout = llvm::any_of(found, [](const Culprit &each) {
    return each.isReordered && each.text.empty();
  });
  if (!isOtherLayout)
    return found;
  std::vector<Culprit> inAnyOrder = search.find(/*anyOrder=*/true);
  return inAnyOrder.empty() ? found : inAnyOrder;
}

FailureOr<NumericDifference>
compiler::compareNumbers(ModuleOp a, ModuleOp b, const GivenArrays &given,
                         std::map<std::string, std::string> namesInA,
                         std::string &problem) {
  OwningOpRef<ModuleOp> renamed = b.clone();
  for (ModuleOp module : {a, *renamed})
    if (problem = whyNotEvaluated(module); !problem.empty())
      return failure();
  for (auto function : a.getOps<func::FuncOp>())
    if (auto other =
            renamed->lookupSymbol<func::FuncOp>(function.getSymName())) {
      takeNames(function, other);
      if (problem = whyOtherInputs(function, other); !problem.empty())
        return failure();
    }
  ProgramInputs inputsOfA(given);
  auto reference = Reference::measure(a, inputsOfA);
  if (failed(reference))
    return failure();
  const GivenArrays same = inputsOfA.inputArrays();
  ProgramInputs inputsOfB(same);
  auto results = runProgram(*renamed, inputsOfB, {});
  if (failed(results))
    return failure();
  if (llvm::none_of(reference->results(), [&](const auto &result) {
        return results->count(result.first);
      })) {
    problem = "the models have no results in common: of the two, neither the "
              "names nor the numbers of results are equal";
    return failure();
  }
  NumericDifference difference;
  for (const auto &[name, bounded] : reference->results())
    difference.results.push_back(compareResult(name, bounded, *results));
  for (const auto &[name, value] : *results)
    if (!reference->results().count(name))
      difference.results.push_back({name, "is only in the second model"});
  if (difference.empty())
    return difference;
  CulpritSearch search(a, *renamed);
  search.namesBefore = std::move(namesInA);
  if (failed(search.evaluate(inputsOfA, inputsOfB)))
    return failure();
  difference.begins = whereTheyBegin(search);
  return difference;
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

static std::string textOf(const NumericDifference::Result &result) {
  if (!result.problem.empty())
    return result.problem;
  std::string size =
      "off by " + shortNumber(result.error) + " of its largest value";
  if (!result.isSame())
    return result.difference.text(result.shape) + "; " + size;
  return result.error == 0 ? "the same" : "the same within rounding; " + size;
}

void compiler::printDifference(const NumericDifference &difference, bool all,
                               llvm::raw_ostream &os) {
  constexpr size_t kMostShown = 20;
  size_t same = 0;
  for (const NumericDifference::Result &result : difference.results) {
    same += result.isSame();
    os << shown(result.name) << ": " << textOf(result) << "\n";
  }
  size_t left = all ? difference.begins.size() : kMostShown;
  for (const Culprit &each :
       llvm::ArrayRef(difference.begins).take_front(left)) {
    os << "begins  at " << each.op;
    if (!each.nodes.empty())
      os << ", node " << shown(each.nodes);
    if (!each.text.empty())
      os << ": " << each.text;
    os << "\n";
  }
  if (difference.begins.size() > left)
    os << "begins  at " << difference.begins.size() - left << " more\n";
  if (!difference.empty() && difference.begins.empty())
    os << "every value of the second model is one of the first, up to 1e-6 of "
          "its largest element\n";
  os << same << " of " << difference.results.size() << " results the same\n";
}

json::Object compiler::differenceJson(const NumericDifference &difference) {
  json::Array results, begins;
  for (const NumericDifference::Result &result : difference.results) {
    json::Object object{{"name", json::fixUTF8(result.name)},
                        {"same", result.isSame()},
                        {"text", json::fixUTF8(textOf(result))}};
    if (result.problem.empty() && std::isfinite(result.error))
      object["error"] = result.error;
    results.push_back(std::move(object));
  }
  for (const Culprit &each : difference.begins) {
    llvm::SmallVector<StringRef> names;
    StringRef(each.nodes).split(names, ',', -1, /*KeepEmpty=*/false);
    json::Array nodes;
    for (StringRef name : names)
      nodes.push_back(json::fixUTF8(name));
    begins.push_back(json::Object{{"op", each.op},
                                  {"nodes", std::move(nodes)},
                                  {"text", json::fixUTF8(each.text)}});
  }
  return json::Object{{"same", difference.empty()},
                      {"results", std::move(results)},
                      {"begins", std::move(begins)}};
}
