//===- PlaceOps.cpp - each op on a device that has it ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Decomposes the composites that the target has no better whole for, and asks
// it about every op. What it cannot do is reported in one error that lists
// everything, so that a user sees the whole distance at once. Legal always; ops
// of sinter only are asked about.
//
//===----------------------------------------------------------------------===//
#include "passes/PlaceOps.h"
#include "ir/Locations.h"
#include "ir/Remarks.h"
#include "passes/AssignPrecision.h"
#include "passes/DecomposeComposites.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_PLACEOPS
#include "passes/Passes.h.inc"

namespace {

class PlaceOps : public impl::PlaceOpsBase<PlaceOps> {
public:
  PlaceOps(const Target *target, StringRef policy)
      : target(target), policy(policy) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!target) {
      module.emitError() << "no target to place ops on";
      return signalPassFailure();
    }
    decomposed = libraryCalls = 0;
    unsupported.clear();
    for (auto func : module.getOps<func::FuncOp>())
      decomposed += decomposeComposites(func, [&](Operation *op) {
        return target->keepsComposite(op, narrowType(&getContext(), policy));
      });
    for (auto func : module.getOps<func::FuncOp>())
      func.walk([&](Operation *op) { place(op); });
    if (decomposed)
      ir::remark("place-ops", "decomposed", module.getLoc(), target->name(),
                 decomposed);
    if (libraryCalls)
      ir::remark("place-ops", "library-calls", module.getLoc(), target->name(),
                 libraryCalls);
    if (!unsupported.empty())
      report(module);
  }

private:
  void place(Operation *op) {
    if (!isa<ir::SinterDialect>(op->getDialect()))
      return;
    std::string reason;
    Placement placement = target->place(op, reason);
    libraryCalls += placement == Placement::Library;
    if (placement != Placement::Unsupported)
      return;
    std::vector<std::string> &nodes =
        unsupported[{op->getName().getStringRef().str(), reason}];
    std::string node = ir::joinedNodeNames(op->getLoc());
    if (!node.empty() && !llvm::is_contained(nodes, node))
      nodes.push_back(node);
  }

  /// One error for all ops and reasons, with the nodes that need them.
  void report(ModuleOp module) {
    InFlightDiagnostic diag = module.emitError() << "target " << target->name()
                                                 << " does not support ";
    bool isFirst = true;
    for (auto &[key, nodes] : unsupported) {
      diag << (isFirst ? "" : "; ") << key.first;
      isFirst = false;
      if (!key.second.empty())
        diag << " (" << key.second << ")";
      constexpr size_t kMaxNodes = 4;
      for (auto [i, node] :
           llvm::enumerate(ArrayRef(nodes).take_front(kMaxNodes)))
        diag << (i ? ", " : " of node ") << node;
      if (nodes.size() > kMaxNodes)
        diag << " and " << nodes.size() - kMaxNodes << " more";
    }
    signalPassFailure();
  }

  const Target *target;
  std::string policy; // of the precision phase, which follows
  int64_t decomposed = 0, libraryCalls = 0;
  /// Op and reason -> the nodes that need it, in the order of the program.
  using Key = std::pair<std::string, std::string>;
  llvm::MapVector<Key, std::vector<std::string>, std::map<Key, unsigned>>
      unsupported;
};

} // namespace

std::unique_ptr<Pass> createPlaceOps(const Target *target, StringRef policy) {
  return std::make_unique<PlaceOps>(target, policy);
}

} // namespace sinter::passes
