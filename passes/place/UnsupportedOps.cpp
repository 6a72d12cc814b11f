//===- UnsupportedOps.cpp - ops that targets do not support ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/place/UnsupportedOps.h"

#include "ir/Locations.h"
#include "passes/Failure.h"
#include "passes/place/PlaceOps.h"
#include "passes/place/Placement.h"

using namespace mlir;

namespace sinter::passes {
namespace place {

std::string unsupportedText(Operation *op, StringRef reason) {
  std::string text = op->getName().getStringRef().str();
  return reason.empty() ? text : text + " (" + reason.str() + ")";
}

void UnsupportedOps::add(StringRef target, const std::string &what,
                         Operation *op) {
  Nodes &nodes = byTarget[target][what];
  std::string node = ir::joinedNodeNames(op->getLoc());
  if (!node.empty() && !llvm::is_contained(nodes, node))
    nodes.push_back(node);
}

void UnsupportedOps::report(ModuleOp module, bool mayAllowCpu) const {
  InFlightDiagnostic diag = emitModuleError(module);
  for (const auto &[target, ops] : byTarget) {
    diag << (target == byTarget.front().first ? "" : "; ") << "target "
         << target << " does not support ";
    bool isFirst = true;
    for (const auto &[what, nodes] : ops) {
      diag << (isFirst ? "" : "; ") << what;
      isFirst = false;
      constexpr size_t kMaxNodes = 4;
      for (auto [i, node] :
           llvm::enumerate(ArrayRef(nodes).take_front(kMaxNodes)))
        diag << (i ? ", " : " of node ") << node;
      if (nodes.size() > kMaxNodes)
        diag << " and " << nodes.size() - kMaxNodes << " more";
    }
  }
  if (mayAllowCpu)
    diag << "; --allow-cpu=REGEX lets nodes go to the CPU";
}

} // namespace place

LogicalResult checkSupport(ModuleOp module, ArrayRef<ProgramDevice> devices) {
  place::UnsupportedOps unsupported;
  const Target &first = *devices.front().target;
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](Operation *op) {
      std::string why = place::whyUnsupported(op, first);
      if (!why.empty() &&
          llvm::none_of(devices.drop_front(), [&](const ProgramDevice &other) {
            return place::whyUnsupported(op, *other.target).empty();
          }))
        unsupported.add(first.name(), why, op);
    });
  if (unsupported.empty())
    return success();
  unsupported.report(module, !first.traits().isHost);
  return failure();
}

} // namespace sinter::passes
