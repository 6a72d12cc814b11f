//===- NarrowCosts.cpp - what rounding to 16 bits costs -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/NarrowCosts.h"

#include "compiler/base/Text.h"
#include "compiler/options/PrecisionPlan.h"
#include "ir/Locations.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

/// How many nodes are printed.
static constexpr size_t kShown = 10;

static bool narrows(ir::CastOp cast) {
  auto from = dyn_cast<FloatType>(cast.getX().getType().getElementType()),
       to = dyn_cast<FloatType>(cast.getType().getElementType());
  return from && to && to.getWidth() < from.getWidth();
}

static double sizeOf(const Tensor &value, const Tensor *less) {
  double sum = 0;
  for (size_t i = 0; i < value.floats.size(); ++i) {
    double number = value.floats[i] - (less ? less->floats[i] : 0);
    sum += std::isfinite(number) ? number * number : 0;
  }
  return value.floats.empty()
             ? 0
             : std::sqrt(sum / static_cast<double>(value.floats.size()));
}

double NarrowCosts::scaleOf(StringRef result, const Tensor &value) {
  for (auto state : module.getOps<ir::StateOp>())
    if (result.starts_with("state " + quoted(state.getSymName()) + " ") &&
        state.getRole() != ir::StateRole::rounded)
      return sizeOf(value, &inputs.state(module, state.getSymName()));
  return sizeOf(value, nullptr);
}

FailureOr<double>
NarrowCosts::errorWhere(llvm::function_ref<bool(StringRef)> rounds) {
  EvaluationOptions options;
  options.isExactCast = [&](Operation *cast) {
    return narrows(mlir::cast<ir::CastOp>(cast)) &&
           !rounds(ir::joinedNodeNames(cast->getLoc()));
  };
  // Most of the program comes before the node, or beside it.
  options.known = &known;
  options.differs = [&](Operation *op) {
    auto cast = dyn_cast<ir::CastOp>(op);
    return cast && narrows(cast) && rounds(ir::joinedNodeNames(op->getLoc()));
  };
  auto results = runProgram(module, inputs, options);
  if (failed(results))
    return failure();
  return errorOf(*results);
}

double NarrowCosts::errorOf(const ProgramResults &results) {
  double largest = 0;
  for (auto &[name, value] : results) {
    auto right = exact.find(name);
    if (right == exact.end() || !value.isFloat())
      continue;
    const double scale = scaleOf(name, right->second);
    if (scale > 0)
      largest = std::max(largest, sizeOf(value, &right->second) / scale);
  }
  return largest;
}

/// Adds the nodes of the ops that read the result of `op`, also through casts
/// and views.
static void collectReaders(Operation *op,
                           llvm::SmallSetVector<StringRef, 4> &readers) {
  for (Operation *user : op->getUsers())
    if (isa<ir::CastOp>(user) || user->hasTrait<ir::Alias>() ||
        isa<ir::TransposeOp, ir::BroadcastOp>(user))
      collectReaders(user, readers);
    else if (!user->hasTrait<OpTrait::IsTerminator>())
      ir::collectNodeNames(user->getLoc(), readers);
}

LogicalResult NarrowCosts::measure(llvm::ArrayRef<Node> measured) {
  EvaluationOptions options;
  options.isExactCast = [](Operation *cast) {
    return narrows(mlir::cast<ir::CastOp>(cast));
  };
  options.record = &known;
  auto found = runProgram(module, inputs, options);
  if (failed(found))
    return failure();
  exact = std::move(*found);
  auto all = errorWhere([](StringRef) { return true; });
  if (failed(all))
    return failure();
  whole = *all;
  struct Casts {
    size_t count = 0;
    llvm::SmallSetVector<StringRef, 4> readers;
  };
  std::map<std::string, Casts> castsOf;
  module.walk([&](ir::CastOp cast) {
    if (!narrows(cast))
      return;
    Casts &casts = castsOf[ir::joinedNodeNames(cast.getLoc())];
    ++casts.count;
    collectReaders(cast, casts.readers);
  });
  for (auto &[name, casts] : castsOf) {
    Node node{name, {}, casts.count};
    for (StringRef reader : casts.readers)
      node.readers.push_back(reader.str());
    const Node *found = llvm::find_if(measured, [&](const Node &other) {
      return other.names == node.names && other.numCasts == node.numCasts;
    });
    if (found != measured.end()) {
      node.error = found->error;
    } else {
      auto error = errorWhere([&](StringRef other) { return other == name; });
      if (failed(error))
        return failure();
      node.error = *error;
    }
    nodes.push_back(std::move(node));
    if (progress)
      progress(nodes.size(), castsOf.size());
  }
  known = KnownValues();
  llvm::stable_sort(
      nodes, [](const Node &a, const Node &b) { return a.error > b.error; });
  return success();
}

void NarrowCosts::print(llvm::raw_ostream &os, StringRef policy) const {
  os << "in " << policy << " results are off by up to "
     << llvm::format("%.3g", whole) << " of their size; of " << nodes.size()
     << " nodes that round, these cost most alone:\n";
  for (const Node &node : llvm::ArrayRef(nodes).take_front(kShown))
    os << llvm::format("  %-9.3g ", node.error) << shown(node.names, 200)
       << "\n";
}

static llvm::SmallVector<StringRef> splitNames(StringRef joined) {
  llvm::SmallVector<StringRef> names;
  joined.split(names, ',');
  return names;
}

llvm::json::Object NarrowCosts::json(StringRef policy) const {
  llvm::json::Array list;
  for (const Node &node : nodes) {
    llvm::json::Array names;
    for (StringRef name : splitNames(node.names))
      names.push_back(llvm::json::fixUTF8(name));
    list.push_back(
        llvm::json::Object{{"nodes", std::move(names)}, {"error", node.error}});
  }
  return llvm::json::Object{
      {"policy", policy}, {"error", whole}, {"nodes", std::move(list)}};
}

std::string NarrowCosts::writePlanThatKeeps(const llvm::StringSet<> &kept,
                                            StringRef path, StringRef policy,
                                            size_t &numOps) const {
  numOps = 0;
  std::vector<passes::PrecisionEntry> entries = passes::precisionReport(module);
  for (passes::PrecisionEntry &entry : entries)
    if (entry.precision == policy &&
        llvm::any_of(splitNames(entry.node),
                     [&](StringRef name) { return kept.contains(name); })) {
      entry.precision = "fp32";
      entry.reason = "it costs much accuracy";
      ++numOps;
    }
  return writePrecisionPlan(path, policy, entries);
}

std::string NarrowCosts::tryPlan(const llvm::StringSet<> &kept, StringRef path,
                                 StringRef policy, CompileWith compileWith,
                                 Trial &trial) const {
  std::string wrong = writePlanThatKeeps(kept, path, policy, trial.numOps);
  if (!wrong.empty())
    return wrong;
  auto measured = compileWith(path, [&](ModuleOp other, ProgramInputs &its) {
    NarrowCosts costs(other, its);
    LogicalResult isMeasured = costs.measure(nodes);
    trial.error = costs.whole;
    trial.nodes = std::move(costs.nodes);
    trial.entries = passes::precisionReport(other);
    return isMeasured;
  });
  return succeeded(measured)
             ? ""
             : shown(path) + ": the model cannot be compiled with this plan";
}

std::string NarrowCosts::writePlan(StringRef path, StringRef policy,
                                   CompileWith compileWith,
                                   PlanResult &result) {
  const double wanted = whole / 2;
  auto withNodes = [](llvm::StringSet<> kept, llvm::ArrayRef<Node> added) {
    for (const Node &node : added) {
      for (StringRef name : splitNames(node.names))
        kept.insert(name);
      for (const std::string &reader : node.readers)
        kept.insert(reader);
    }
    return kept;
  };
  llvm::StringSet<> kept, before;
  std::vector<Node> added; // to `before`
  Trial last{whole, nodes, 0, passes::precisionReport(module)};
  for (size_t numKept = 0; last.error > wanted; numKept += added.size()) {
    added = last.nodes;
    llvm::erase_if(added, [&](const Node &node) {
      return llvm::all_of(splitNames(node.names),
                          [&](StringRef name) { return kept.contains(name); });
    });
    if (added.empty()) // the other casts belong to no entry of the plan
      break;
    added.resize(std::min(added.size(), std::max<size_t>(1, numKept / 2)));
    before = std::move(kept);
    kept = withNodes(before, added);
    if (std::string wrong = tryPlan(kept, path, policy, compileWith, last);
        !wrong.empty())
      return wrong;
  }
  // The last nodes may be more than are needed.
  for (size_t few = 0, many = added.size();
       last.error <= wanted && many - few > 1;) {
    size_t number = (few + many) / 2;
    auto fewer = withNodes(before, llvm::ArrayRef(added).take_front(number));
    Trial trial;
    if (std::string wrong = tryPlan(fewer, path, policy, compileWith, trial);
        !wrong.empty())
      return wrong;
    if (trial.error > wanted) {
      few = number;
      continue;
    }
    many = number;
    kept = std::move(fewer);
    last = std::move(trial);
  }
  // The plan is what the program has: other ops may have lost their reason to
  // be in 16 bits.
  result.error = last.error;
  auto numNarrow = [&](llvm::ArrayRef<passes::PrecisionEntry> entries) {
    return llvm::count_if(entries, [&](const passes::PrecisionEntry &entry) {
      return entry.precision == policy;
    });
  };
  result.numKept =
      numNarrow(passes::precisionReport(module)) - numNarrow(last.entries);
  result.isWhole = numNarrow(last.entries) == 0;
  return writePrecisionPlan(path, policy, last.entries);
}
