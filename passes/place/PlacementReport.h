//===- PlacementReport.h - what is placed where, and why --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the place phase decided, as an attribute of the module:
// `--log-placement`, the manifest, `sinter-inspect placement` and contracts are
// made of it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_PLACEMENTREPORT_H
#define SINTER_PASSES_PLACE_PLACEMENTREPORT_H

#include "ir/Dialect.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace sinter::passes {

/// Why a node is where it is.
enum class PlaceReason { Default, Pinned, Unsupported, Memory, Neighbours };

/// "default", "pinned", "unsupported", "memory" or "neighbours".
llvm::StringRef nameOf(PlaceReason reason);

/// Connected nodes on one device for one reason.
struct PlacementRegion {
  std::string device;             // "sim:1"
  std::vector<std::string> nodes; // in the order of the program
  PlaceReason reason = PlaceReason::Default;
  std::string why; // in words: "pinned by --place=Gemm=sim:1"
  /// Of states with their slots, and of constants, that these nodes read first.
  int64_t weightBytes = 0;

  bool isPinned() const { return reason == PlaceReason::Pinned; }
  /// True where the compiler chose a device that was not the default one, and
  /// that no rule named.
  bool isOwnChoice() const {
    return reason != PlaceReason::Default && !isPinned();
  }
  /// One line: "sim:1: first to last, 3 nodes, 80 bytes of weights: why".
  std::string line() const;
};

inline constexpr llvm::StringLiteral kPlacementAttr = "sinter.placement";
void setPlacementReport(mlir::ModuleOp module,
                        llvm::ArrayRef<PlacementRegion> regions);
/// Nothing for a program that could only be on one device.
std::vector<PlacementRegion> placementReport(mlir::ModuleOp module);

} // namespace sinter::passes

#endif // SINTER_PASSES_PLACE_PLACEMENTREPORT_H
