//===- Segments.h - narrow points of the forward pass -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_SEGMENTS_H
#define SINTER_PASSES_REMAT_SEGMENTS_H

#include "passes/remat/Recompute.h"

namespace sinter::passes::plan {

/// Divides the commands before the turn at points that the fewest values pass:
/// written before and read after. Between two blocks of a residual network this
/// is only the sum.
class Segments {
public:
  Segments(const CommandGraph &graph, const Recompute &recompute);

  /// Numbers of narrow points that a segment may span, ascending. The last one
  /// makes the whole forward pass one segment.
  llvm::SmallVector<unsigned> widths() const;

  /// The division into segments of a width.
  struct Division {
    std::vector<unsigned>
        segmentOf; // by command; the last segment after the turn
    unsigned count = 0;
    llvm::BitVector boundary; // values (buffers) that pass between segments, or
                              // through many of them
  };
  Division divide(unsigned width) const;

private:
  struct Place {
    unsigned position; // of the last command before the point
    llvm::SmallVector<unsigned, 2> values;
  };

  void findPlaces(llvm::ArrayRef<llvm::SmallVector<unsigned, 2>> passing,
                  size_t most);

  const CommandGraph &graph;
  const Recompute &recompute;
  std::vector<Place> places;
  llvm::BitVector shared; // values that pass through much of the program
};

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_SEGMENTS_H
