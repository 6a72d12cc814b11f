//===- Provenance.h - what a kernel computes, by node -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The names that a command carries: those of the nodes that it computes, and
// grad(NODE) for a node whose gradient it computes. The label of a command in
// an artifact is made here, and everything that lists kernels prints it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_PROVENANCE_H
#define SINTER_IR_PROVENANCE_H

#include "ir/Locations.h"

#include <vector>

namespace sinter::ir {

inline constexpr llvm::StringLiteral kGradientOpen = "grad(";
inline constexpr llvm::StringLiteral kGradientClose = ")";

/// "grad(NODE)".
inline std::string gradientName(llvm::StringRef node) {
  return (kGradientOpen + node + kGradientClose).str();
}

/// The node of "grad(NODE)" or of "NODE".
inline llvm::StringRef nodeOfName(llvm::StringRef name) {
  llvm::StringRef node = name;
  return node.consume_front(kGradientOpen) && node.consume_back(kGradientClose)
             ? node
             : name;
}

inline bool isGradientName(llvm::StringRef name) {
  return nodeOfName(name).size() != name.size();
}

/// Whether `location` is one that gradientLocation makes.
inline bool isOfGradient(mlir::FusedLoc location) {
  return location == gradientLocation(location.getLocations().front());
}

/// Adds the names in `location`, in order. The gradient of a gradient is a
/// gradient.
inline void collectProvenance(mlir::Location location,
                              std::vector<std::string> &names,
                              bool isGradient = false) {
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
    llvm::StringRef node = name.getName();
    std::string text = isGradient ? gradientName(node) : node.str();
    if (!llvm::is_contained(names, text))
      names.push_back(std::move(text));
  } else if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    if (!isOfInitializer(fused))
      for (mlir::Location part : fused.getLocations())
        collectProvenance(part, names, isGradient || isOfGradient(fused));
  } else if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    collectProvenance(call.getCallee(), names, isGradient);
  }
}

/// The distinct names joined by commas; "" if there is none.
inline std::string joinedProvenance(mlir::Location location) {
  std::vector<std::string> names;
  collectProvenance(location, names);
  std::string joined;
  for (const std::string &name : names)
    joined += (joined.empty() ? "" : ",") + name;
  return joined;
}

} // namespace sinter::ir

#endif // SINTER_IR_PROVENANCE_H
