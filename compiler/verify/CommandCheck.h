//===- CommandCheck.h - one run of an entry, command by command -*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Follows the commands of an entry in the function that it was made of: knows
// the value behind each slice and compares results with the evaluation of their
// fusions.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_COMMANDCHECK_H
#define SINTER_COMPILER_VERIFY_COMMANDCHECK_H

#include "compiler/verify/DeviceCheck.h"

#include <memory>

namespace sinter::compiler {

/// What a command of an entry computes. Those of a scan are there for each
/// trip.
struct CommandFusion {
  mlir::Operation *fusion = nullptr; // null for copies, fills and events
  std::string number;                // as 'plan' has it: "3", "6.1, trip 2"
  ir::ScanCallOp scan = nullptr;     // if the command is in its body
  int64_t trip = 0;
  bool beginsTrip = false, endsTrip = false;
};
using CommandFusions = std::vector<CommandFusion>;

class CommandCheck {
public:
  /// `arguments` are the values of the function's arguments when the run
  /// begins.
  CommandCheck(mlir::func::FuncOp function, const CommandFusions &fusions,
               const sinter_artifact &artifact,
               llvm::ArrayRef<ir::Tensor> arguments);

  /// Nothing if the command did what it should.
  std::optional<DeviceFinding> check(const ObservedCommand &command);
  /// After the run: the value that result `index` of the function should have.
  /// Nothing if a command that computes it has not run.
  std::optional<ir::Tensor> result(unsigned index);
  /// The last command of the entry that wrote these bytes; a finding of the
  /// plan about them.
  DeviceFinding planFinding(const sinter_entry &entry, uint32_t before,
                            const sinter_slice &slice, const std::string &text);

  double largestRatio = 0;
  std::string largestAt;

private:
  std::optional<DeviceFinding> checkFusion(const ObservedCommand &command,
                                           mlir::Operation *fusion);
  std::optional<DeviceFinding> checkInTrip(const ObservedCommand &command,
                                           const CommandFusion &what);
  bool beginTrip(const CommandFusion &what);
  void endTrip(const CommandFusion &what);
  const ir::Tensor *valueOf(mlir::Value value);
  std::optional<DeviceFinding> checkOperands(const ObservedCommand &command,
                                             mlir::Operation *fusion);
  std::optional<DeviceFinding>
  checkResults(const ObservedCommand &command, mlir::Operation *fusion,
               llvm::ArrayRef<ir::Tensor> operands);
  DeviceFinding describe(const sinter_entry &entry, uint32_t command,
                         llvm::StringRef what, const std::string &text);
  /// The command that computed a value; nothing if none did.
  std::optional<uint32_t> producerOf(mlir::Value value) const;
  DeviceFinding changedOperand(const ObservedCommand &command, uint32_t slice,
                               std::optional<uint32_t> producer);

  mlir::func::FuncOp function;
  const CommandFusions &fusions;
  const sinter_artifact &artifact;
  llvm::DenseMap<mlir::Value, ir::Tensor> values;
  llvm::DenseMap<mlir::Operation *, uint32_t> commandOf; // by fusion
  /// Of the trip that runs; and the results of its scan after the trips before.
  std::unique_ptr<CommandCheck> trip;
  llvm::SmallVector<ir::Tensor> scanResults;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_COMMANDCHECK_H
