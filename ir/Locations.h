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

/// Adds the node names in `location`, in order.
inline void collectNodeNames(mlir::Location location,
                             llvm::SmallSetVector<llvm::StringRef, 4> &names) {
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    names.insert(name.getName().getValue());
  else if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      collectNodeNames(part, names);
  else if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location))
    collectNodeNames(call.getCallee(), names);
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
