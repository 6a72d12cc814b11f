//===- RangeProbes.h - a program that measures its own values ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Copies a placed function into @main of a new module, for calibration: states
// and control fields become inputs, and the results are the ranges of chosen
// values.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_RANGEPROBES_H
#define SINTER_COMPILER_DRIVER_RANGEPROBES_H

#include "compiler/driver/Calibration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace sinter::compiler {

/// The magnitudes of a value, and what rounding it to fp16 loses.
struct ValueRange16 {
  double largest = 0;
  double sum = 0;
  double lost = 0; // sum of |x - fp16(x)|
};

class RangeProbes {
public:
  /// One value that fp16 would round.
  struct Probe {
    std::string key; // of the op that defines it; "": state, input or constant
    std::vector<std::string> readers; // keys of 16-bit contractions
  };

  /// Probes the values that the ops in `narrow` (PrecisionEntry::key) define
  /// and multiply.
  RangeProbes(mlir::func::FuncOp function, const llvm::StringSet<> &narrow);

  mlir::ModuleOp module() { return *module_; }
  const std::vector<Probe> &probes() const { return probes_; }
  /// Initial values of states, zeros for control fields.
  const GivenInputs &given() const { return given_; }
  /// False if the program has no dynamic loss scale.
  bool setLossScale(double scale);
  /// One range per probe, from the outputs of a run.
  std::vector<ValueRange16>
  read(llvm::ArrayRef<std::vector<char>> outputs) const;

private:
  void makeInputs(mlir::func::FuncOp function, mlir::func::FuncOp main);
  void findProbes(mlir::func::FuncOp main, llvm::StringRef name,
                  const llvm::StringSet<> &narrow);
  void returnRanges(mlir::func::FuncOp main);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  llvm::MapVector<mlir::Value, Probe> found_; // during construction
  std::vector<Probe> probes_;
  GivenInputs given_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_RANGEPROBES_H
