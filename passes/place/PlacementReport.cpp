//===- PlacementReport.cpp - what is placed where, and why ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/place/PlacementReport.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sinter::passes {

static constexpr llvm::StringLiteral kReasons[] = {
    "default", "pinned", "unsupported", "memory", "neighbours"};

llvm::StringRef nameOf(PlaceReason reason) {
  return kReasons[static_cast<unsigned>(reason)];
}

std::string PlacementRegion::line() const {
  std::string text = device + ": " + (nodes.empty() ? "" : nodes.front());
  if (nodes.size() > 1)
    text +=
        " to " + nodes.back() + ", " + std::to_string(nodes.size()) + " nodes";
  if (weightBytes)
    text += ", " + std::to_string(weightBytes) + " bytes of weights";
  return text + ": " + why;
}

void setPlacementReport(ModuleOp module, ArrayRef<PlacementRegion> regions) {
  Builder b(module.getContext());
  SmallVector<Attribute> list;
  for (const PlacementRegion &region : regions) {
    auto text = [&](StringRef name, StringRef value) {
      return b.getNamedAttr(name, b.getStringAttr(value));
    };
    SmallVector<StringRef> nodes(region.nodes.begin(), region.nodes.end());
    list.push_back(b.getDictionaryAttr(
        {text("device", region.device),
         b.getNamedAttr("nodes", b.getStrArrayAttr(nodes)),
         text("reason", nameOf(region.reason)), text("why", region.why),
         b.getNamedAttr("weight_bytes",
                        b.getI64IntegerAttr(region.weightBytes))}));
  }
  module->setAttr(kPlacementAttr, b.getArrayAttr(list));
}

std::vector<PlacementRegion> placementReport(ModuleOp module) {
  std::vector<PlacementRegion> regions;
  auto list = module->getAttrOfType<ArrayAttr>(kPlacementAttr);
  if (!list)
    return regions;
  for (auto fields : list.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef name) {
      auto attr = fields.getAs<StringAttr>(name);
      return attr ? attr.str() : std::string();
    };
    PlacementRegion region;
    region.device = text("device");
    region.why = text("why");
    auto reason = llvm::find(kReasons, StringRef(text("reason")));
    if (reason != std::end(kReasons))
      region.reason = static_cast<PlaceReason>(reason - std::begin(kReasons));
    if (auto nodes = fields.getAs<ArrayAttr>("nodes"))
      for (auto node : nodes.getAsRange<StringAttr>())
        region.nodes.push_back(node.str());
    if (auto bytes = fields.getAs<IntegerAttr>("weight_bytes"))
      region.weightBytes = bytes.getInt();
    regions.push_back(std::move(region));
  }
  return regions;
}

} // namespace sinter::passes
