//===- PlaceOps.cpp - each op on a device that supports it ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Gives each node a device (place/Placement), inserts copies where data crosses
// from one to another (place/Transfers), decomposes the composites that the
// device's target does not keep, and asks the target about every op of the
// sinter dialect. One error lists all unsupported ops, so that a user sees at
// once everything that is missing. Always legal.
//
//===----------------------------------------------------------------------===//
#include "passes/place/PlaceOps.h"
#include "ir/Locations.h"
#include "ir/Remarks.h"
#include "passes/Failure.h"
#include "passes/Passes.h"
#include "passes/place/DecomposeComposites.h"
#include "passes/place/Devices.h"
#include "passes/place/Placement.h"
#include "passes/place/PlacementReport.h"
#include "passes/place/UnsupportedOps.h"
#include "passes/precision/AssignPrecision.h"
#include "passes/precision/Widening.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_PLACEOPS
#include "passes/Passes.h.inc"

namespace {

class PlaceOps : public impl::PlaceOpsBase<PlaceOps> {
public:
  PlaceOps(std::vector<ProgramDevice> devices, const PlaceOpsOptions &options)
      : devices(std::move(devices)) {
    rules = options.rules;
    allowCpu = options.allowCpu;
    memoryLimit = options.memoryLimit;
    memoryReserves = options.memoryReserves;
    log = options.log;
    policy = options.policy;
    onOneDevice = options.onOneDevice;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (devices.empty()) {
      module.emitError() << "no target to place ops on";
      return signalPassFailure();
    }
    decomposed = libraryCalls = 0;
    unsupported = {};
    if (failed(assignDevices(module)))
      return signalPassFailure();
    for (auto func : module.getOps<func::FuncOp>()) {
      decomposed += decompose(func);
      widenAccumulations(func);
    }
    for (auto func : module.getOps<func::FuncOp>()) {
      DeviceMap map(func);
      func.walk([&](Operation *op) { place(op, targetOfOp(map, op)); });
    }
    StringRef name = devices.front().target->name();
    if (decomposed)
      ir::remark("place-ops", "decomposed", module.getLoc(), name, decomposed);
    if (libraryCalls)
      ir::remark("place-ops", "library-calls", module.getLoc(), name,
                 libraryCalls);
    if (unsupported.empty())
      return;
    unsupported.report(module, !devices.front().target->traits().isHost);
    signalPassFailure();
  }

private:
  LogicalResult assignDevices(ModuleOp module) {
    // In a file of this phase or a later one, everything has its device.
    if (module->hasAttr(ir::SinterDialect::kDevicesAttr))
      return checkSpan(module);
    PlaceOpsOptions options;
    SmallVector<std::string> kept(rules.begin(), rules.end());
    options.rules = kept; // refers to it
    options.allowCpu = allowCpu;
    options.memoryLimit = memoryLimit;
    SmallVector<int64_t> reserves(memoryReserves.begin(), memoryReserves.end());
    options.memoryReserves = reserves;
    place::Placement placement(module, devices, options);
    if (failed(placement.decide()))
      return failure();
    std::vector<PlacementRegion> regions = placement.regions();
    for (const PlacementRegion &region : regions) {
      ir::remark("place-ops", "region", module.getLoc(), region.line(), 1);
      SmallVector<Location> nodes;
      for (const std::string &node : region.nodes)
        nodes.push_back(NameLoc::get(StringAttr::get(&getContext(), node)));
      ir::explain("place-ops", "device", FusedLoc::get(&getContext(), nodes),
                  region.device + ": " + region.why);
    }
    for (const place::Unit &unit : placement.units())
      for (Operation *state : unit.states)
        ir::explain("place-ops", "state-device", state->getLoc(),
                    placement.devices()[unit.device].name +
                        ": a state, with its slots and its update, is on the "
                        "device of the first node that reads it, '" +
                        unit.name + "'");
    if (devices.size() > 1 || log || !rules.empty())
      setPlacementReport(module, regions);
    // The name of a target alone means the first device of its kind.
    std::string otherwise = devices.front().target->firstDevice();
    if (devices.size() > 1 || devices.front().name != otherwise)
      place::insertTransfers(module, placement, otherwise);
    return checkSpan(module);
  }

  LogicalResult checkSpan(ModuleOp module) {
    if (onOneDevice.empty() || ir::numDevices(module) < 2)
      return success();
    return emitFailure(module, kUsageFailure)
           << onOneDevice << " for a program on several devices ("
           << llvm::join(ir::deviceNames(module), ", ")
           << "): not yet supported";
  }

  /// Decomposing erases composites and creates new ones, so only the devices of
  /// other ops are recorded.
  int64_t decompose(func::FuncOp func) {
    DeviceMap map(func);
    llvm::DenseMap<Operation *, std::optional<int64_t>> lasting;
    func.walk([&](Operation *op) {
      if (!isa<ir::CompositeOpInterface, func::FuncOp>(op))
        lasting[op] = map.of(op);
    });
    std::function<std::optional<int64_t>(Operation *)> deviceOf =
        [&](Operation *op) -> std::optional<int64_t> {
      for (Value operand : op->getOperands()) {
        Operation *made = operand.getDefiningOp();
        auto known = lasting.find(made);
        std::optional<int64_t> device = !made ? map.of(operand)
                                        : known != lasting.end()
                                            ? known->second
                                            : deviceOf(made);
        if (device)
          return device;
      }
      return std::nullopt;
    };
    return decomposeComposites(func, [&](Operation *op) {
      return targetOf(getOperation(), deviceOf(op).value_or(0), devices,
                      devices.front().target)
          ->keepsComposite(op, narrowType(&getContext(), policy));
    });
  }

  const Target &targetOfOp(DeviceMap &map, Operation *op) {
    return *targetOf(getOperation(), map.of(op).value_or(0), devices,
                     devices.front().target);
  }

  void place(Operation *op, const Target &target) {
    if (!isa<ir::SinterDialect>(op->getDialect()) ||
        isa<ir::CopyOp, ir::ScanOp, ir::YieldOp>(op))
      return;
    std::string reason;
    Implementation implementation = target.implementationOf(op, reason);
    libraryCalls += implementation == Implementation::Library;
    explain(op, target, implementation, reason);
    if (implementation == Implementation::Unsupported)
      unsupported.add(target.name(), place::unsupportedText(op, reason), op);
  }

  /// What computes a call; `reason` is that of Target::implementationOf.
  static std::string callText(const Target &target, StringRef reason) {
    std::string library = "library of " + target.name().str();
    return reason.empty()
               ? "a " + library + " computes it"
               : reason.str() + " compute it: --libraries allows no " + library;
  }

  /// Reports what becomes of `op`.
  static void explain(Operation *op, const Target &target,
                      Implementation implementation, StringRef reason) {
    if (!ir::RemarkSink::takesDetails(op->getContext()))
      return;
    std::string name = op->getName().stripDialect().str();
    switch (implementation) {
    case Implementation::Library:
      return ir::explain("place-ops", "library-call", op->getLoc(),
                         name + ": " + callText(target, reason));
    case Implementation::Alias:
      return ir::explain("place-ops", "no-code", op->getLoc(),
                         name + ": its result is bytes that exist already");
    case Implementation::Generated:
      return ir::explain(
          "place-ops", "generated", op->getLoc(),
          !ir::isContraction(op)
              ? name + ": libraries are called for products, convolutions and "
                       "attentions"
          : target.canGenerate(op)
              ? name + ": --libraries allows no library of " + target.name() +
                    " for it, or none computes this form and type"
              : name + ": no library computes it");
    case Implementation::Unsupported:
      return;
    }
  }

  std::vector<ProgramDevice> devices;
  int64_t decomposed = 0, libraryCalls = 0;
  place::UnsupportedOps unsupported;
};

} // namespace

std::unique_ptr<Pass> createPlaceOps(std::vector<ProgramDevice> devices,
                                     const PlaceOpsOptions &options) {
  return std::make_unique<PlaceOps>(std::move(devices), options);
}

} // namespace sinter::passes
