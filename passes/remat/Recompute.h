//===- Recompute.h - recomputation within a plan ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The *turn* is the command during which most memory is live: in a training
// step the end of the forward pass. A value that is written before the turn and
// read after it need not be kept: its kernel can run once more right before the
// first command that reads the value after the turn. Operands of that kernel
// that are not kept are computed again before it. Each kernel runs at most
// twice. The second run gives the bits of the first, since the results of a
// kernel depend on its operands alone.
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
  /// `graph` is on one device and outlives this object. `order` is an order of
  /// it.
  Recompute(const CommandGraph &graph, const Order &order, unsigned turn);
  Recompute(const Recompute &) = delete;
  ~Recompute();

  /// A result of a command that is kept over the turn.
  struct Candidate {
    unsigned command, value; // value: a buffer
    int64_t bytes;
  };
  llvm::ArrayRef<Candidate> candidates() const { return found; }

  /// A command that runs once more.
  struct Clone {
    ir::FusionOpInterface fusion;           // owned here, in no block
    unsigned original;                      // command
    llvm::SmallVector<unsigned, 4> outputs; // of the original, one per result
  };

  /// The program in which the candidates in `dropped` are not kept over the
  /// turn. The values (buffers) in `kept` are, for commands that are computed
  /// again from them.
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
  /// A partial clone of a command with the cost of running it.
  struct Part : PartialClone {
    double flops, cpuTime;
  };

  void findCandidates();
  bool isClonable(unsigned command) const;
  /// The partial clone of `command` with these results; built once.
  const Part &partOf(unsigned command, llvm::ArrayRef<unsigned> wanted);
  unsigned bufferOf(unsigned command, mlir::Value operand) const;
  /// True when a clone after the turn may read the original `buffer`.
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
