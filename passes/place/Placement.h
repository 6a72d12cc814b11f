//===- Placement.h - on which device each node runs -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The decisions of the place phase. They are made for units: a unit is all ops,
// in all functions, that belong to one ONNX node first, its gradients among
// them, so that these follow it. Ops of no node (clipping, the optimizer's
// scalars) and the optimizer's updates have no unit: they follow their operands
// and parameters. What is computed from constants alone is on no device: every
// one that reads it does so for itself.
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
  llvm::SetVector<mlir::Operation *> states; // that it alone reads first
  int64_t weightBytes = 0; // of these with their slots, and of constants
  bool isHeavy = false;    // contracts
  bool isBound = false;    // reads more than constants: has to be somewhere
  bool mayUseCpu = false;  // --allow-cpu
  unsigned device = 0;
  Reason reason = Reason::Default;
  std::string why;   // the rule, the op: for the log
  unsigned rule = 0; // of a pinned one: its number
  llvm::SmallVector<unsigned> neighbours;
};

class Placement {
public:
  Placement(mlir::ModuleOp module, std::vector<ProgramDevice> devices,
            const PlaceOpsOptions &options);

  /// Fails with one line that names a node on a device that cannot run it, a
  /// rule without effect, or states that fit nowhere.
  mlir::LogicalResult decide();

  /// The device of the op's unit; nothing for an op without one.
  std::optional<unsigned> deviceOf(mlir::Operation *op) const;
  llvm::ArrayRef<Unit> units() const { return all; }
  llvm::ArrayRef<ProgramDevice> devices() const { return known; }

  /// Connected units of one device and reason.
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
  llvm::DenseSet<mlir::Operation *> owned; // states and constants of a unit
};

/// Why `target` cannot run `op`, decomposed where it keeps no composite; ""
/// when it can.
std::string whyUnsupported(mlir::Operation *op, const Target &target);

/// Writes the decisions into the module: devices of states, `sinter.copy`s, and
/// the names of the devices that are used. Constants and what is computed from
/// control fields alone get none.
void insertTransfers(mlir::ModuleOp module, const Placement &placement,
                     llvm::StringRef defaultDevice);

} // namespace sinter::passes::place

#endif // SINTER_PASSES_PLACE_PLACEMENT_H
