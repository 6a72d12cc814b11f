//===- DeviceCheck.h - the numbers of every command -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Runs the compiled program and looks at each command when it has ended. Its
// results are compared with those of its fusion in float64, on the operands
// that the commands before it computed on the device, so errors do not add up
// and each kernel and library call is judged alone. What a command reads must
// still be what was computed; otherwise the plan lets something overwrite it.
// Then the program runs once more without an observer: the results must be the
// same bytes, or the order between commands is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_DEVICECHECK_H
#define SINTER_COMPILER_VERIFY_DEVICECHECK_H

#include "compiler/verify/DeviceProgram.h"
#include "compiler/verify/Finding.h"
#include "compiler/verify/Reference.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace sinter::compiler {

/// What is wrong on the device. Fields that are not known are empty.
struct DeviceFinding {
  std::string what;    // "kernel", "library call", "plan", "order", "device"
  std::string name;    // of the kernel
  std::string command; // "3 of step"
  std::string nodes;   // of the command
  std::string text;    // what is wrong

  FindingFields fields() const;
};

class DeviceCheck {
public:
  /// To be called between the phases remat and plan: gives each fusion a
  /// location by which its command is found, and keeps a copy of the module.
  explicit DeviceCheck(mlir::ModuleOp fused);

  /// `planned` is the module after the phase plan, `artifact` its program.
  /// `devicePrecision` is the unit roundoff of multiplications on the device.
  /// Fails, with `problem`, if the program cannot be run at all.
  mlir::LogicalResult run(mlir::ModuleOp planned,
                          const sinter_artifact &artifact,
                          ProgramInputs &inputs, const LoadProgram &load,
                          const std::string &device, std::string &problem);

  const std::optional<DeviceFinding> &finding() const { return finding_; }
  int numCommands() const { return numCommands_; }
  /// The largest error of a command's result, in bounds, and its nodes.
  double largestRatio() const { return largest_; }
  const std::string &largestAt() const { return largestAt_; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> graph_;
  std::optional<DeviceFinding> finding_;
  int numCommands_ = 0;
  double largest_ = 0;
  std::string largestAt_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_DEVICECHECK_H
