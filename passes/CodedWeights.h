//===- CodedWeights.h - constant weights as small integers ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A call of the library multiplies float32 rows by weights that are stored as
// integers of 4 or 8 bits:
//   weights[k, n] = (codes[k, n] - zero[k / block, n]) * scale[k / block, n]
// In the IR they are ops on constants, from the simplify phase, which builds
// them, up to the plan phase, which takes them apart.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_CODEDWEIGHTS_H
#define SINTER_PASSES_CODEDWEIGHTS_H

#include "passes/ValueBuilder.h"

#include <optional>

namespace sinter::passes {

/// On a constant of codes that the program reads as they are: the pass
/// FoldConstants leaves the ops that make floats of them.
inline constexpr llvm::StringLiteral kUnfoldedAttr = "sinter.unfolded";

/// A float32 for each block of each column, or one for all.
struct PerBlock {
  mlir::Value values; // [K / block, N] or, for one block, [N]; null: `number`
  double number = 0;
};

struct CodedWeights {
  int64_t bits = 8, block = 0; // block divides K, and is even for 4 bits
  /// 8 bits: any 8-bit integers [K, N]. 4 bits: ui8 [K / 2, N], the low half of
  /// a byte is the code of an even k, the high half that of the next one.
  mlir::Value codes;
  PerBlock scale{{}, 1}, zero;
  /// The ops that compute the weights, definitions before uses.
  llvm::SmallVector<mlir::Operation *> ops{};

  /// The weights, [K, N] of float32. Does not use `ops`.
  mlir::Value build(ValueBuilder &b) const;
};

/// How `build` has computed `weights`; nothing for other values.
std::optional<CodedWeights> codedWeights(mlir::Value weights);

} // namespace sinter::passes

#endif // SINTER_PASSES_CODEDWEIGHTS_H
