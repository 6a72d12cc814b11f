//===- PlacementReport.h - what is placed where, and why --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The decisions of the place phase, as an attribute of the module. Read by
// `--log-placement`, the manifest, `sinter-inspect placement` and contracts.
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
  /// The bytes of the states, with their slots, and of the constants that these
  /// nodes are the first to read.
  int64_t weightBytes = 0;

  bool isPinned() const { return reason == PlaceReason::Pinned; }
  /// True if the compiler chose a device other than the default one, without a
  /// rule that named it.
  bool isOwnChoice() const {
    return reason != PlaceReason::Default && !isPinned();
  }
  /// One line: "sim:1: first to last, 3 nodes, 80 bytes of weights: why".
  std::string line() const;
};

inline constexpr llvm::StringLiteral kPlacementAttr = "sinter.placement";
void setPlacementReport(mlir::ModuleOp module,
                        llvm::ArrayRef<PlacementRegion> regions);
/// Empty for a program that could only be on one device.
std::vector<PlacementRegion> placementReport(mlir::ModuleOp module);

} // namespace sinter::passes

#endif // SINTER_PASSES_PLACE_PLACEMENTREPORT_H
