//===- Provenance.h - what a kernel computes, by node -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The names that a command carries: NODE for a node that it computes, <PART>
// for a part of the training step that comes from no node, such as <optimizer>,
// and grad(NAME) for the gradient of either. The label of a command in an
// artifact is made here, and everything that lists kernels prints it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_PROVENANCE_H
#define SINTER_IR_PROVENANCE_H

#include "ir/Locations.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

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

/// "<optimizer>".
inline std::string partName(llvm::StringRef part) {
  return ("<" + part + ">").str();
}

/// The name of a node called `node`. It is `node`, but with a backslash in
/// front where that would read as a part of the step.
inline std::string nodeName(llvm::StringRef node) {
  llvm::StringRef inner = node.ltrim('\\');
  const bool readsAsPart = llvm::any_of(
      std::initializer_list<llvm::StringRef>{kLossPart, kLossScalePart,
                                             kClipPart, kOptimizerPart},
      [&](llvm::StringRef part) { return inner == partName(part); });
  return (readsAsPart ? "\\" : "") + node.str();
}

/// Whether `location` is one that gradientLocation makes.
inline bool isOfGradient(mlir::FusedLoc location) {
  return location == gradientLocation(location.getLocations().front());
}

/// Whether the names in `location` itself are those of parts of the step.
inline bool isOfStep(mlir::FusedLoc location) {
  auto what = mlir::dyn_cast_or_null<mlir::StringAttr>(location.getMetadata());
  return what && what.getValue() == kStep;
}

/// Calls `visit` for each name in `location`, in order. The gradient of a
/// gradient is a gradient. `isPart`: the names in it are those of parts of the
/// step.
inline void visitProvenance(mlir::Location location,
                            llvm::function_ref<void(std::string)> visit,
                            bool isGradient = false, bool isPart = false) {
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
    llvm::StringRef own = name.getName();
    std::string text = isPart ? partName(own) : nodeName(own);
    visit(isGradient ? gradientName(text) : std::move(text));
  } else if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    if (!isOfInitializer(fused))
      for (mlir::Location part : fused.getLocations())
        visitProvenance(part, visit, isGradient || isOfGradient(fused),
                        isPart || isOfStep(fused));
  } else if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    visitProvenance(call.getCallee(), visit, isGradient, isPart);
  }
}

/// Adds the names in `location` that `names` does not have, in order.
inline void collectProvenance(mlir::Location location,
                              std::vector<std::string> &names) {
  llvm::StringSet<> known;
  for (const std::string &name : names)
    known.insert(name);
  visitProvenance(location, [&](std::string name) {
    if (known.insert(name).second)
      names.push_back(std::move(name));
  });
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
