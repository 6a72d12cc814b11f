//===- CommandGraph.h - a fused function as commands ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The commands of a program and the orders in which they may run, before the
// arena is laid out. Every value is a buffer; a reshape is none, it shares that
// of its operand. A command that reads the result of `sinter.after` runs after
// those that write its other operands. New values of states are written
// straight onto the old ones, unless a reader of the old value must come later.
// A program on several devices is a function that calls one function for each
// part on one device; these are read as if they were inlined. A scan is one
// command, whose body is planned as a program of its own (ScanBody.h).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_COMMANDGRAPH_H
#define SINTER_PASSES_PLAN_COMMANDGRAPH_H

#include "passes/plan/ConstantPool.h"
#include "passes/plan/Schedule.h"

#include "llvm/ADT/BitVector.h"

#include <memory>

namespace sinter::passes::plan {

inline constexpr unsigned kNoCommand = ~0u;

struct PlannedBody;

struct Buffer {
  mlir::RankedTensorType type;
  mlir::Location loc;
  exec::SliceAttr slice;       // null: in the arena
  mlir::ElementsAttr constant; // a constant; its slice is known once it is read
  unsigned writer =
      kNoCommand; // kNoCommand: it has its value when the program starts
  unsigned awaited = kNoCommand; // the wait for a collective that writes it
  llvm::SmallVector<unsigned, 4> readers; // commands, each once
  unsigned device = 0;                    // where it is, unless everywhere

  bool isInArena() const { return !slice && !constant; }
  /// Inputs, control fields and constants are on every device.
  bool isEverywhere() const {
    return constant || (slice && (slice.getSpace() == exec::Space::input ||
                                  slice.getSpace() == exec::Space::control ||
                                  slice.getSpace() == exec::Space::constant));
  }
  int64_t bytes() const { return exec::sizeBytes(type); }
};

/// A kernel or library call, a scan, a collective, the wait for one, or a
/// copy.
struct Command {
  ir::FusionOpInterface fusion; // null, and no other op: copies reads[0] to
                                // writes[0], or fills with zeros if it reads
                                // nothing
  mlir::Location loc;
  llvm::SmallVector<unsigned, 4> reads,
      writes; // buffers, one per operand and result; a wait reads all buffers
              // of its collective, which live until then
  exec::CommandPlace place = {};
  ir::CollectiveOpInterface collective = nullptr; // of one and of its wait
  unsigned await = kNoCommand;                    // of a collective: its wait
  bool isGradient = false;       // a contraction that GradientStream.h moved
  ir::ScanCallOp scan = nullptr; // reads its operands; writes the outputs of
                                 // the body, and a scratch buffer
  std::shared_ptr<const PlannedBody> body = nullptr; // of a scan
  unsigned chained = kNoCommand; // of a convolution: the one that may run
                                 // together with it, if it comes next
  bool isCollective() const { return await != kNoCommand; }
  bool isAwait() const { return collective && !isCollective(); }
  bool isCopy() const { return !fusion && !collective && !scan; } // or a fill
};

class CommandGraph {
public:
  /// Fails with an error if the function does not have the form that the fuse
  /// phase leaves. `states` numbers the states of the module. The body of a
  /// scan is built with it as `caller`.
  static mlir::FailureOr<CommandGraph>
  build(mlir::func::FuncOp func, ConstantPool &pool,
        const llvm::StringMap<unsigned> &states, ir::ScanCallOp caller = {});

  /// Commands in an order in which they can run; `before[i]` are those that
  /// must run before command i.
  std::vector<Command> commands;
  std::vector<llvm::SmallVector<unsigned, 4>> before;
  std::vector<Buffer> buffers;
  /// Names of the devices; one empty name if the program names none.
  llvm::SmallVector<llvm::StringRef> devices;
  /// By device: whether its library calls may store a sum onto what they add.
  /// Empty: none of them.
  llvm::BitVector addsInPlace;

  llvm::SmallVector<mlir::Attribute> inputNames, inputTypes, outputNames,
      outputTypes;
  /// Describes the index checks in the last output, which the runtime reads;
  /// null if there are none.
  mlir::ArrayAttr indexChecks;

  /// True when result `output` of `command` may take the bytes of `buffer`,
  /// which the command reads.
  bool mayRunInPlace(const Command &command, unsigned output,
                     unsigned buffer) const;

  /// Returns `order` with each collective as early and each wait as late as the
  /// other commands allow, so that commands run while a message travels.
  Order overlapped(const Order &order) const;

  /// Returns `order` with what needs a wait after all that does not. Values
  /// that only waits free live longer.
  Order waitingLast(const Order &order) const;
};

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_COMMANDGRAPH_H
