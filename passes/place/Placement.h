//===- Placement.h - on which device each node runs -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The decisions of the place phase, for PlaceOps. They are made for units. A
// unit is all ops, in all functions, whose first ONNX node is the same; that
// includes the node's gradients, which therefore follow it. Ops of no node
// (clipping, the optimizer's scalars) and the optimizer's updates have no unit:
// they follow their operands and parameters. A value that is computed from
// constants alone is on no device: every device that reads it computes it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_PLACEMENT_H
#define SINTER_PASSES_PLACE_PLACEMENT_H

#include "passes/Passes.h"
#include "passes/place/PlacementReport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <string>
#include <vector>

namespace llvm {
class Regex;
}

namespace sinter::passes::place {

using Reason = PlaceReason;

struct Unit {
  std::string name; // of the node
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::Operation *> states; // it is the first to read these
  int64_t weightBytes = 0; // of these states, their slots and its constants
  bool isHeavy = false;    // has a contraction or an attention
  bool isBound = false;    // reads more than constants, so it needs a device
  bool mayUseCpu = false;  // --allow-cpu
  unsigned device = 0;
  Reason reason = Reason::Default;
  std::string why;   // for the log: the rule, or the op that is unsupported
  unsigned rule = 0; // if pinned: the number of the rule
  llvm::SmallVector<unsigned> neighbours;
};

class Placement {
public:
  Placement(mlir::ModuleOp module, std::vector<ProgramDevice> devices,
            const PlaceOpsOptions &options);

  /// Fails with one line that names a pinned node that its device cannot run, a
  /// rule without effect, or the weights that fit nowhere.
  mlir::LogicalResult decide();

  /// The device of the op's unit; nothing for an op without one.
  std::optional<unsigned> deviceOf(mlir::Operation *op) const;
  llvm::ArrayRef<Unit> units() const { return all; }
  llvm::ArrayRef<ProgramDevice> devices() const { return known; }

  /// The regions: connected units on one device for one reason.
  std::vector<PlacementRegion> regions() const;

private:
  /// A value that one unit computes and others use.
  struct Edge {
    unsigned from;
    llvm::SmallSetVector<unsigned, 4> to;
    int64_t bytes;
  };

  void collectUnits();
  void collectEdges(mlir::func::FuncOp func);
  void collectWeights(mlir::func::FuncOp func);
  unsigned unitNamed(llvm::StringRef name);

  mlir::LogicalResult pin();
  llvm::SmallVector<unsigned> unitsOf(const llvm::Regex &pattern) const;
  mlir::LogicalResult checkRules() const;
  mlir::LogicalResult checkSupport();

  // Capacity.cpp
  mlir::LogicalResult spill();
  void spillToCpu(unsigned device);
  void spillToNext(unsigned device, unsigned next);
  void moveForMemory(llvm::ArrayRef<unsigned> units, unsigned from,
                     unsigned to);
  int64_t weightBytesOn(unsigned device) const;
  int64_t valueBytesOn(unsigned device) const;
  int64_t bytesOn(unsigned device) const {
    return weightBytesOn(device) + valueBytesOn(device);
  }
  int64_t reserveOn(unsigned device) const {
    return device < options.memoryReserves.size()
               ? options.memoryReserves[device]
               : 0;
  }
  int64_t roomOn(unsigned device) const {
    return options.memoryLimit - reserveOn(device);
  }
  std::string largestWeights(unsigned device) const;

  // Neighbours.cpp
  void improve();
  double cost(llvm::ArrayRef<unsigned> moved) const;
  bool moveIfBetter(llvm::ArrayRef<unsigned> component);
  std::string whyUnsupported(const Unit &unit, const Target &target);

  bool isCpu(unsigned device) const {
    return ir::isHostDevice(known[device].name);
  }
  std::string whyText(const Unit &unit) const;

  mlir::ModuleOp module;
  std::vector<ProgramDevice> known;
  const PlaceOpsOptions &options;
  std::vector<Unit> all;
  llvm::StringMap<unsigned> byName;
  llvm::DenseMap<mlir::Operation *, unsigned> unitOf;
  std::vector<Edge> edges;
  std::vector<llvm::SmallVector<unsigned>> edgesOf; // by unit
  llvm::DenseSet<mlir::Operation *> owned; // states and constants of some unit
};

/// Why `target` cannot run `op`, decomposed if it is a composite that the
/// target does not keep; "" if it can.
std::string whyUnsupported(mlir::Operation *op, const Target &target);

/// Writes the decisions into the module: the devices of states, `sinter.copy`s,
/// and the names of the devices that are used. Constants, and values that are
/// computed from constants and control fields alone, get no device.
void insertTransfers(mlir::ModuleOp module, const Placement &placement,
                     llvm::StringRef defaultDevice);

} // namespace sinter::passes::place

#endif // SINTER_PASSES_PLACE_PLACEMENT_H
