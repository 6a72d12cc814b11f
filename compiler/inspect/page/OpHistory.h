//===- OpHistory.h - an op through the passes -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The printed IR of two passes names its values anew. Here each op of a
// top-level symbol has a number that stays the same while passes move or change
// it, so that the page can say what a pass did to an op.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_OPHISTORY_H
#define SINTER_COMPILER_INSPECT_PAGE_OPHISTORY_H

#include "compiler/inspect/page/OpText.h"

#include <array>
#include <cstdint>

namespace sinter::compiler {

/// An op in one version of a symbol. `operands` refer to ids, not to places.
struct TrackedOp {
  unsigned id;
  unsigned parent; // the id of the op around it; ~0: none
  OpText op;
  /// Where an op that is equal in all of this was in the version before; ~0: it
  /// is new or has changed.
  unsigned placeBefore = ~0u;
};

/// The versions of one symbol.
class OpHistory {
public:
  /// Takes the next version. An op of the new version is the same as one of the
  /// version before if its text, nodes and operands are; else if its text and
  /// nodes are; else if its kind and nodes are. Each op before is at most one
  /// op after.
  const std::vector<TrackedOp> &advance(llvm::StringRef text);

private:
  /// Hashes of what two ops must share to be one, from the strictest to the
  /// loosest.
  using Keys = std::array<uint64_t, 3>;

  std::vector<TrackedOp> ops_;
  std::vector<Keys> keys_; // of each op
  unsigned numIds_ = 0;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_OPHISTORY_H
