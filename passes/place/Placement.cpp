//===- Placement.cpp - on which device each node runs ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/place/Placement.h"

#include "ir/Locations.h"
#include "ir/exec/Exec.h"
#include "passes/Failure.h"
#include "passes/fuse/Fusion.h"
#include "passes/place/DecomposeComposites.h"
#include "passes/place/Devices.h"
#include "passes/place/UnsupportedOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace sinter::passes {

bool splitRule(StringRef rule, StringRef &pattern, StringRef &device) {
  std::tie(pattern, device) = rule.rsplit('=');
  return !pattern.empty() && !device.empty();
}

namespace place {

Placement::Placement(ModuleOp module, std::vector<ProgramDevice> devices,
                     const PlaceOpsOptions &options)
    : module(module), known(std::move(devices)), options(options) {}

std::optional<unsigned> Placement::deviceOf(Operation *op) const {
  auto found = unitOf.find(op);
  if (found == unitOf.end())
    return std::nullopt;
  return all[found->second].device;
}

//===----------------------------------------------------------------------===//
// Units and what passes between them
//===----------------------------------------------------------------------===//

unsigned Placement::unitNamed(StringRef name) {
  auto [found, isNew] = byName.try_emplace(name, all.size());
  if (isNew)
    all.emplace_back().name = name.str();
  return found->second;
}

void Placement::collectUnits() {
  for (auto func : module.getOps<func::FuncOp>()) {
    DeviceMap map(func);
    func.walk([&](Operation *op) {
      if (!isa<ir::SinterDialect>(op->getDialect()) ||
          isa<ir::ConstantOp>(op) || op->hasTrait<ir::OptimizerUpdate>() ||
          ir::isOfPart(op->getLoc(), ir::kClipPart) ||
          ir::isOfPart(op->getLoc(), ir::kOptimizerPart))
        return;
      llvm::SmallSetVector<StringRef, 4> names;
      ir::collectNodeNames(op->getLoc(), names);
      if (names.empty() || names.front().empty())
        return;
      unsigned number = unitNamed(names.front());
      unitOf[op] = number;
      all[number].ops.push_back(op);
      all[number].isHeavy |= ir::isContraction(op) || isa<ir::AttentionOp>(op);
      all[number].isBound |= map.of(op).has_value();
    });
  }
}

void Placement::collectEdges(func::FuncOp func) {
  DeviceMap map(func);
  func.walk([&](Operation *op) {
    auto from = unitOf.find(op);
    if (from == unitOf.end() || !map.of(op))
      return;
    for (Value result : op->getResults()) {
      Edge edge{from->second, {}, exec::sizeBytes(result.getType())};
      for (Operation *user : result.getUsers())
        if (auto to = unitOf.find(user);
            to != unitOf.end() && to->second != edge.from)
          edge.to.insert(to->second);
      if (edge.to.empty())
        continue;
      edgesOf[edge.from].push_back(edges.size());
      for (unsigned to : edge.to) {
        edgesOf[to].push_back(edges.size());
        all[edge.from].neighbours.push_back(to);
        all[to].neighbours.push_back(edge.from);
      }
      edges.push_back(std::move(edge));
    }
  });
}

/// A state or a constant belongs to the unit that reads it first, a slot to the
/// unit of its parameter.
void Placement::collectWeights(func::FuncOp func) {
  llvm::DenseMap<Operation *, int64_t> slotBytes;
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getOf())
      slotBytes[SymbolTable::lookupNearestSymbolFrom(
          state, state.getOfAttr())] += exec::sizeBytes(state.getType());
  func.walk([&](Operation *op) {
    auto unit = unitOf.find(op);
    if (unit == unitOf.end())
      return;
    for (Value operand : op->getOperands()) {
      if (auto constant = operand.getDefiningOp<ir::ConstantOp>()) {
        // A splat is written into the code.
        if (!isSplatConstant(constant) && owned.insert(constant).second)
          all[unit->second].weightBytes += exec::sizeBytes(constant.getType());
        continue;
      }
      // The arguments of an op's body are not arguments of the function.
      auto argument = dyn_cast<BlockArgument>(operand);
      ir::StateOp state = argument && argument.getOwner() == &func.front()
                              ? stateOfArgument(func, argument.getArgNumber())
                              : nullptr;
      if (!state || !owned.insert(state).second)
        continue;
      all[unit->second].states.insert(state);
      all[unit->second].weightBytes +=
          exec::sizeBytes(state.getType()) + slotBytes.lookup(state);
    }
  });
}

//===----------------------------------------------------------------------===//
// Rules, support
//===----------------------------------------------------------------------===//

/// The units of nodes whose name matches. If there are none, the units that
/// such nodes became part of, as a division becomes part of a GELU.
SmallVector<unsigned> Placement::unitsOf(const llvm::Regex &pattern) const {
  SmallVector<unsigned> found;
  for (unsigned number = 0; number < all.size(); ++number)
    if (all[number].isBound && pattern.match(all[number].name))
      found.push_back(number);
  if (!found.empty())
    return found;
  for (unsigned number = 0; number < all.size(); ++number)
    if (all[number].isBound &&
        llvm::any_of(all[number].ops, [&](Operation *op) {
          llvm::SmallSetVector<StringRef, 4> names;
          ir::collectNodeNames(op->getLoc(), names);
          return llvm::any_of(
              names, [&](StringRef name) { return pattern.match(name); });
        }))
      found.push_back(number);
  return found;
}

LogicalResult Placement::pin() {
  for (auto [number, rule] : llvm::enumerate(options.rules)) {
    StringRef pattern, name;
    if (!splitRule(rule, pattern, name))
      return emitFailure(module, kUsageFailure)
             << "the rule '" << rule << "' is not REGEX=DEVICE";
    auto device = llvm::find_if(known, [&](const ProgramDevice &candidate) {
      return candidate.name == name;
    });
    if (device == known.end())
      return emitFailure(module, kUsageFailure)
             << "the rule '" << rule << "' names no device of the program";
    SmallVector<unsigned> units = unitsOf(llvm::Regex(pattern));
    if (units.empty())
      return emitFailure(module, kUsageFailure)
             << "--place=" << rule
             << " pins nothing: the nodes that it matches are gone, or are "
                "computed from constants alone and so on every device";
    for (unsigned unit : units) {
      all[unit].device = device - known.begin();
      all[unit].reason = Reason::Pinned;
      all[unit].why = "--place=" + rule;
      all[unit].rule = number;
    }
  }
  return checkRules();
}

/// Of several rules for a node the last one counts, so that exceptions can
/// follow a general rule. A rule that loses all its nodes contradicts those
/// after it.
LogicalResult Placement::checkRules() const {
  for (auto [number, rule] : llvm::enumerate(options.rules)) {
    if (llvm::any_of(all, [&, number = number](const Unit &unit) {
          return unit.reason == Reason::Pinned && unit.rule == number;
        }))
      continue;
    StringRef pattern, name;
    splitRule(rule, pattern, name);
    const Unit &taken = all[unitsOf(llvm::Regex(pattern)).front()];
    if (known[taken.device].name != name)
      return emitFailure(module, kUsageFailure)
             << "--place=" << rule << " and " << taken.why
             << " contradict each other about node " << taken.name
             << ": the later one leaves no node to the first";
  }
  return success();
}

std::string whyUnsupported(Operation *op, const Target &target) {
  // Every target repeats a body whose ops it supports.
  if (isa<ir::ScanOp, ir::YieldOp>(op))
    return "";
  auto asked = [&](Operation *single) -> std::string {
    std::string reason;
    if (!isa<ir::SinterDialect>(single->getDialect()) ||
        target.implementationOf(single, reason) !=
            passes::Implementation::Unsupported)
      return "";
    return unsupportedText(single, reason);
  };
  if (!isa<ir::CompositeOpInterface>(op) || target.keepsComposite(op, {}))
    return asked(op);
  // Decompose it in a scratch function.
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
  OpBuilder builder(scratch->getBodyRegion());
  auto func = builder.create<func::FuncOp>(
      op->getLoc(), "scratch",
      builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping inner;
  for (auto [argument, operand] :
       llvm::zip_equal(block->getArguments(), op->getOperands())) {
    // Decompositions may read the values of constants.
    if (auto constant = operand.getDefiningOp<ir::ConstantOp>())
      inner.map(operand, builder.clone(*constant)->getResult(0));
    else
      inner.map(operand, argument);
  }
  Operation *clone = builder.clone(*op, inner);
  builder.create<func::ReturnOp>(op->getLoc(), clone->getResults());
  decomposeComposites(
      func, [&](Operation *inner) { return target.keepsComposite(inner, {}); });
  std::string why;
  func.walk([&](Operation *inner) {
    if (why.empty())
      why = asked(inner);
  });
  return why;
}

std::string Placement::whyUnsupported(const Unit &unit, const Target &target) {
  for (Operation *op : unit.ops)
    if (std::string why = place::whyUnsupported(op, target); !why.empty())
      return why;
  return "";
}

/// Nodes that their device does not support go to the CPU if they may. The pass
/// reports those that remain, in one error.
LogicalResult Placement::checkSupport() {
  for (Unit &unit : all) {
    if (!unit.isBound)
      continue;
    std::string why = whyUnsupported(unit, *known[unit.device].target);
    if (why.empty())
      continue;
    if (unit.reason == Reason::Pinned)
      return emitModuleError(module)
             << "node " << unit.name << " is pinned to "
             << known[unit.device].name << " (" << unit.why
             << "), which does not support " << why;
    auto cpu = llvm::find_if(known, [](const ProgramDevice &one) {
      return ir::isHostDevice(one.name);
    });
    if (cpu == known.end() || !unit.mayUseCpu ||
        !whyUnsupported(unit, *cpu->target).empty())
      continue;
    unit.reason = Reason::Unsupported;
    unit.why = known[unit.device].name + " does not support " + why;
    unit.device = cpu - known.begin();
  }
  return success();
}

LogicalResult Placement::decide() {
  collectUnits();
  edgesOf.resize(all.size());
  for (auto func : module.getOps<func::FuncOp>()) {
    collectEdges(func);
    collectWeights(func);
  }
  for (Unit &unit : all) {
    llvm::sort(unit.neighbours);
    unit.neighbours.erase(llvm::unique(unit.neighbours), unit.neighbours.end());
  }
  if (!options.allowCpu.empty())
    for (unsigned number : unitsOf(llvm::Regex(options.allowCpu)))
      all[number].mayUseCpu = true;
  if (failed(pin()))
    return failure();
  if (known.size() == 1)
    return success();
  if (failed(checkSupport()))
    return failure();
  if (failed(spill()))
    return failure();
  improve();
  return success();
}

//===----------------------------------------------------------------------===//
// Text for users
//===----------------------------------------------------------------------===//

std::string Placement::whyText(const Unit &unit) const {
  switch (unit.reason) {
  case Reason::Default:
    return "the default device";
  case Reason::Pinned:
    return "pinned by " + unit.why;
  case Reason::Unsupported:
    return "allowed by --allow-cpu, " + unit.why;
  case Reason::Memory:
    return "does not fit, " + unit.why;
  case Reason::Neighbours:
    return "next to its neighbours, so that less is copied";
  }
  return "";
}

std::vector<PlacementRegion> Placement::regions() const {
  std::vector<PlacementRegion> list;
  std::vector<bool> visited(all.size(), false);
  for (unsigned first = 0; first < all.size(); ++first) {
    if (visited[first] || !all[first].isBound)
      continue;
    SmallVector<unsigned> region{first};
    visited[first] = true;
    for (size_t i = 0; i < region.size(); ++i)
      for (unsigned next : all[region[i]].neighbours)
        if (!visited[next] && all[next].device == all[first].device &&
            all[next].reason == all[first].reason &&
            all[next].why == all[first].why) {
          visited[next] = true;
          region.push_back(next);
        }
    llvm::sort(region);
    PlacementRegion &entry = list.emplace_back();
    entry.device = known[all[first].device].name;
    entry.reason = all[first].reason;
    entry.why = whyText(all[first]);
    for (unsigned number : region) {
      entry.nodes.push_back(all[number].name);
      entry.weightBytes += all[number].weightBytes;
    }
  }
  return list;
}

} // namespace place
} // namespace sinter::passes
