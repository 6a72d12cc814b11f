//===- CompositeParts.cpp - which node a part of a composite is -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/CompositeParts.h"

#include "ir/Dialect.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace sinter::ir {

/// The metadata of the location of a composite.
static constexpr llvm::StringLiteral kComposite = "composite";

static StringRef nameOf(CompositePart part) {
  switch (part) {
  case CompositePart::scores:
    return "scores";
  case CompositePart::scale:
    return "scale";
  case CompositePart::mask:
    return "mask";
  case CompositePart::softmax:
    return "softmax";
  case CompositePart::output:
    return "output";
  case CompositePart::maximum:
    return "maximum";
  case CompositePart::shift:
    return "shift";
  case CompositePart::power:
    return "power";
  case CompositePart::sum:
    return "sum";
  case CompositePart::logarithm:
    return "logarithm";
  case CompositePart::quotient:
    return "quotient";
  case CompositePart::mean:
    return "mean";
  case CompositePart::centred:
    return "centred";
  case CompositePart::square:
    return "square";
  case CompositePart::variance:
    return "variance";
  case CompositePart::epsilon:
    return "epsilon";
  case CompositePart::deviation:
    return "deviation";
  case CompositePart::normalised:
    return "normalised";
  case CompositePart::bias:
    return "bias";
  case CompositePart::argument:
    return "argument";
  case CompositePart::curve:
    return "curve";
  case CompositePart::product:
    return "product";
  }
  llvm_unreachable("all parts are named");
}

static bool hasMetadata(FusedLoc location, StringRef text) {
  auto what = dyn_cast_or_null<StringAttr>(location.getMetadata());
  return what && what.getValue() == text;
}

Location compositeLocation(MLIRContext *context,
                           ArrayRef<std::pair<CompositePart, Location>> parts) {
  if (!parts.empty() && llvm::all_of(parts, [&](const auto &part) {
        return part.second == parts.front().second;
      }))
    return parts.front().second;
  llvm::MapVector<CompositePart, SmallVector<Location>> byPart;
  for (const auto &[part, location] : parts)
    if (!isa<UnknownLoc>(location) &&
        !llvm::is_contained(byPart[part], location))
      byPart[part].push_back(location);
  SmallVector<Location> locations;
  for (const auto &[part, ofPart] : byPart)
    if (!ofPart.empty())
      locations.push_back(FusedLoc::get(
          ofPart, StringAttr::get(context, nameOf(part)), context));
  return FusedLoc::get(locations, StringAttr::get(context, kComposite),
                       context);
}

Location partOfComposite(Location location, CompositePart part) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return location;
  MLIRContext *context = location.getContext();
  if (hasMetadata(fused, kComposite)) {
    for (Location candidate : fused.getLocations())
      if (auto named = dyn_cast<FusedLoc>(candidate);
          named && hasMetadata(named, nameOf(part)))
        return FusedLoc::get(named.getLocations(), Attribute(), context);
    return location;
  }
  SmallVector<Location> parts;
  for (Location inner : fused.getLocations())
    parts.push_back(partOfComposite(inner, part));
  return ArrayRef(parts) == fused.getLocations()
             ? location
             : FusedLoc::get(parts, fused.getMetadata(), context);
}

// Of an attention and its gradient: a value that belongs to one of its products
// or to the mask.
static Location partOf(Operation *op, bool isOfScores, bool isOfMask) {
  return partOfComposite(op->getLoc(), isOfMask     ? CompositePart::mask
                                       : isOfScores ? CompositePart::scores
                                                    : CompositePart::output);
}

Location operandLocation(Operation *op, unsigned operand) {
  if (!isa<AttentionOp, AttentionGradOp>(op))
    return op->getLoc();
  Value value = op->getOperand(operand);
  auto isOne = [&](auto attention) {
    return partOf(op,
                  value == attention.getQuery() || value == attention.getKey(),
                  value == attention.getMask());
  };
  if (auto grad = dyn_cast<AttentionGradOp>(op))
    return isOne(grad);
  return isOne(cast<AttentionOp>(op));
}

Location resultLocation(Operation *op, unsigned result) {
  if (isa<AttentionOp>(op))
    return partOfComposite(op->getLoc(), result == 0 ? CompositePart::output
                                                     : CompositePart::softmax);
  // The gradients of query, key, value and mask.
  if (isa<AttentionGradOp>(op))
    return partOf(op, result < 2, result == 3);
  return op->getLoc();
}

bool namesParts(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  return fused && (hasMetadata(fused, kComposite) ||
                   llvm::any_of(fused.getLocations(), namesParts));
}

} // namespace sinter::ir
