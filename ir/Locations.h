//===- Locations.h - the ONNX nodes in a location ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_LOCATIONS_H
#define SINTER_IR_LOCATIONS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace sinter::ir {

/// What the metadata of a fused location says that its names are, if they are
/// not nodes.
inline constexpr llvm::StringLiteral kInitializer = "initializer";

/// The location of the constant of an initializer called `name`.
inline mlir::Location initializerLocation(mlir::MLIRContext *context,
                                          llvm::StringRef name) {
  return mlir::FusedLoc::get(
      {mlir::NameLoc::get(mlir::StringAttr::get(context, name))},
      mlir::StringAttr::get(context, kInitializer), context);
}

/// Whether the names in `location` itself are those of initializers.
inline bool isOfInitializer(mlir::FusedLoc location) {
  auto what = mlir::dyn_cast_or_null<mlir::StringAttr>(location.getMetadata());
  return what && what.getValue() == kInitializer;
}

/// Adds the parts of `location` that are of initializers.
inline void
collectInitializers(mlir::Location location,
                    llvm::SmallSetVector<mlir::Location, 4> &parts) {
  auto fused = mlir::dyn_cast<mlir::FusedLoc>(location);
  if (!fused)
    return;
  if (isOfInitializer(fused)) {
    parts.insert(location);
    return;
  }
  for (mlir::Location part : fused.getLocations())
    collectInitializers(part, parts);
}

/// Adds the node names in `location`, in order.
inline void collectNodeNames(mlir::Location location,
                             llvm::SmallSetVector<llvm::StringRef, 4> &names) {
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
    names.insert(name.getName().getValue());
  } else if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    if (!isOfInitializer(fused))
      for (mlir::Location part : fused.getLocations())
        collectNodeNames(part, names);
  } else if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    collectNodeNames(call.getCallee(), names);
  }
}

/// The names of the initializers in `location`, joined by commas; "" if there
/// is none.
inline std::string joinedInitializerNames(mlir::Location location) {
  llvm::SmallSetVector<mlir::Location, 4> parts;
  collectInitializers(location, parts);
  std::string joined;
  for (mlir::Location part : parts)
    for (mlir::Location name : mlir::cast<mlir::FusedLoc>(part).getLocations())
      if (auto named = mlir::dyn_cast<mlir::NameLoc>(name))
        joined += (joined.empty() ? "" : ",") + named.getName().str();
  return joined;
}

/// Parts of a training step that come from no node of the model.
inline constexpr llvm::StringLiteral kLossPart = "loss";
inline constexpr llvm::StringLiteral kLossScalePart = "loss_scale";
inline constexpr llvm::StringLiteral kClipPart = "clip";
inline constexpr llvm::StringLiteral kOptimizerPart = "optimizer";
/// What the metadata of their locations says.
inline constexpr llvm::StringLiteral kStep = "step";

/// The location of the ops that compute the gradient of an op at `location`.
/// Their nodes are those of the op.
inline mlir::Location gradientLocation(mlir::Location location) {
  mlir::MLIRContext *context = location.getContext();
  return mlir::FusedLoc::get(
      {location}, mlir::StringAttr::get(context, "gradient"), context);
}

/// The location of the ops of such a part. Its name is `part`; a node of the
/// model may have the same name.
inline mlir::Location partLocation(mlir::MLIRContext *context,
                                   llvm::StringRef part) {
  return mlir::FusedLoc::get(
      {mlir::NameLoc::get(mlir::StringAttr::get(context, part))},
      mlir::StringAttr::get(context, kStep), context);
}

/// Whether the first name in `location` is that of the part `part`, or of its
/// gradient.
inline bool isOfPart(mlir::Location location, llvm::StringRef part) {
  auto isOther = [](mlir::FusedLoc fused) {
    auto what = mlir::dyn_cast_or_null<mlir::StringAttr>(fused.getMetadata());
    return !what || what.getValue() == "gradient";
  };
  auto fused = mlir::dyn_cast<mlir::FusedLoc>(location);
  while (fused && isOther(fused))
    fused = mlir::dyn_cast<mlir::FusedLoc>(fused.getLocations().front());
  return fused && fused == partLocation(location.getContext(), part);
}

/// The distinct names joined by commas; "" if there is none.
inline std::string joinedNodeNames(mlir::Location location) {
  llvm::SmallSetVector<llvm::StringRef, 4> names;
  collectNodeNames(location, names);
  std::string joined;
  for (llvm::StringRef name : names)
    joined += (joined.empty() ? "" : ",") + name.str();
  return joined;
}

} // namespace sinter::ir

#endif // SINTER_IR_LOCATIONS_H
