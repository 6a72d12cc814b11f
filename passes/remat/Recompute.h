//===- Recompute.h - what computing again does to a plan --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A value that waits over the command where most memory is live, the turn (the
// end of the forward pass in a training step), need not wait: its kernel can
// run once more right before the first command that reads it after the turn.
// What that kernel reads and nobody kept is computed again before it. Each
// kernel runs at most twice; the second run has the bits of the first, as a
// kernel's results depend on its operands alone.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_RECOMPUTE_H
#define SINTER_PASSES_REMAT_RECOMPUTE_H

#include "passes/plan/Plan.h"
#include "passes/remat/PartialClone.h"

#include "llvm/ADT/BitVector.h"

#include <map>

namespace sinter::passes::plan {

class Recompute {
public:
  /// `graph` is on one device and outlives this; `order` is one of its.
  Recompute(const CommandGraph &graph, const Order &order, unsigned turn);
  Recompute(const Recompute &) = delete;
  ~Recompute();

  /// A result of a command that waits over the turn.
  struct Candidate {
    unsigned command, value; // value: a buffer
    int64_t bytes;
  };
  llvm::ArrayRef<Candidate> candidates() const { return found; }

  /// A command that runs once more.
  struct Clone {
    ir::FusionOpInterface fusion;           // ours, in no block
    unsigned original;                      // command
    llvm::SmallVector<unsigned, 4> outputs; // of the original, one per result
  };

  /// The program without the values of the candidates in `dropped`. Values
  /// (buffers) in `kept` wait for whoever computes something again from them.
  struct Outcome {
    CommandGraph graph; // the given commands, then those of `clones`
    Order order;
    std::vector<Clone> clones;
    double flops = 0, cpuTime = 0; // of the clones (Cost.h)
  };
  Outcome without(const llvm::BitVector &dropped, const llvm::BitVector &kept);

  unsigned positionOf(unsigned command) const { return position[command]; }
  bool isReadAfterTurn(unsigned buffer) const {
    return isReadLate.test(buffer);
  }
  unsigned turn() const { return turnAt; }
  const CommandGraph &commandGraph() const { return graph; }

private:
  struct Emission;
  /// A part of a command with what running it costs.
  struct Part : PartialClone {
    double flops, cpuTime;
  };

  void findCandidates();
  bool isClonable(unsigned command) const;
  /// The part of `command` with these results, made once.
  const Part &partOf(unsigned command, llvm::ArrayRef<unsigned> wanted);
  unsigned bufferOf(unsigned command, mlir::Value operand) const;
  /// True when a clone may read `buffer` after the turn as it is.
  bool isKept(unsigned buffer, int64_t bytesWanted,
              const llvm::BitVector &isDropped,
              const llvm::BitVector &kept) const;
  std::vector<const Part *> needed(const llvm::BitVector &isDropped,
                                   const llvm::BitVector &kept);
  std::optional<Outcome> tryWithout(const llvm::BitVector &isDropped,
                                    const llvm::BitVector &kept);

  const CommandGraph &graph;
  const Order &order;
  unsigned turnAt;
  std::vector<unsigned> position; // by command
  llvm::BitVector isReadLate;     // buffers with readers after the turn
  llvm::BitVector unclonable;     // commands
  std::vector<Candidate> found;
  std::map<std::pair<unsigned, std::vector<unsigned>>, Part> parts;
};

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_RECOMPUTE_H
