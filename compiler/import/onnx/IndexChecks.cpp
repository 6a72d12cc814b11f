//===- IndexChecks.cpp - indices that may be out of range -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Import functions declare which of their inputs are indices, and their ranges.
// Known indices are checked here. Others are checked when the program runs,
// unless they cannot be out of range; one result of @main holds the findings.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "ir/Build.h"
#include "ir/Intervals.h"
#include "ir/Locations.h"

using namespace mlir;

namespace sinter::compiler {

static std::string outOfRange(int64_t index, int64_t lower, int64_t upper) {
  std::string text = "index " + std::to_string(index) + " is out of range: ";
  return lower >= upper ? text + "the dimension is empty"
                        : text + "it must lie in [" + std::to_string(lower) +
                              ", " + std::to_string(upper - 1) + "]";
}

bool NodeImport::checkIndices(Value indices, int64_t lower, int64_t upper) {
  return graph_.checkIndices(*this, indices, lower, upper);
}

bool GraphImport::checkIndices(NodeImport &node, Value indices, int64_t lower,
                               int64_t upper) {
  if (node.failed() || !indices)
    return false;
  if (std::optional<ir::Tensor> known = node.constantOf(indices)) {
    for (int64_t index : known->ints)
      if (index < lower || index >= upper) {
        node.fail(outOfRange(index, lower, upper));
        return false;
      }
    return true;
  }
  if (lower >= upper || options_.uncheckedIndices)
    return true;
  ir::Intervals intervals;
  for (auto [value, interval] : ranges_)
    intervals.assume(value, interval);
  ir::Interval range = intervals.of(indices);
  if (range.low >= double(lower) && range.high <= double(upper - 1))
    return true;
  Type element = node.elementOf(indices);
  if (!element.isInteger(32) && !element.isInteger(64))
    indices = node.cast(indices, node.i64());
  // In a branch that is not taken, indices out of range do not matter.
  const double sound = double(std::clamp<int64_t>(0, lower, upper - 1));
  for (auto [condition, taken] : guards_) {
    Value isTaken =
        node.broadcast(node.reshape(condition, {}), node.shapeOf(indices));
    Value other = node.splatLike(indices, sound);
    indices = taken ? node.where(isTaken, indices, other)
                    : node.where(isTaken, other, indices);
  }
  for (const IndexCheck &check : indexChecks_)
    if (check.indices == indices && check.lower == lower &&
        check.upper == upper)
      return true;
  auto fault =
      builder_.create<ir::IndexFaultOp>(node.loc, indices, lower, upper);
  indexChecks_.push_back({indices, fault.getResult(),
                          ir::joinedNodeNames(node.loc), lower, upper});
  return true;
}

bool GraphImport::addIndexChecks(SmallVectorImpl<Value> &results,
                                 ArrayAttr &checks) {
  SmallVector<Value> rows;
  SmallVector<Attribute> rowAttrs;
  SmallVector<Location> locations;
  for (const IndexCheck &check : indexChecks_) {
    if (std::optional<ir::Tensor> known = constantOf(check.fault)) {
      if (known->ints[0] == 0)
        continue;
      return invalid("node " + quoted(check.node) + ": " +
                     outOfRange(known->ints[1], check.lower, check.upper));
    }
    Location loc = check.fault.getLoc();
    rows.push_back(ir::reshapeTo(builder_, loc, check.fault, {1, 2}));
    locations.push_back(loc);
    auto number = [&](StringRef name, int64_t value) {
      return builder_.getNamedAttr(name, builder_.getI64IntegerAttr(value));
    };
    rowAttrs.push_back(builder_.getDictionaryAttr(
        {builder_.getNamedAttr("node", builder_.getStringAttr(check.node)),
         number("lower", check.lower), number("upper", check.upper),
         number("elements", ir::tensorType(check.indices).getNumElements())}));
  }
  if (rows.empty())
    return true;
  Location loc = FusedLoc::get(context_, locations);
  results.push_back(rows.size() == 1 ? rows.front()
                                     : builder_
                                           .create<ir::ConcatOp>(loc, rows,
                                                                 /*axis=*/0)
                                           .getResult());
  checks = builder_.getArrayAttr(rowAttrs);
  return true;
}

} // namespace sinter::compiler
