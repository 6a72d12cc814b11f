//===- ProgramValues.h - inputs and results of a program --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the functions of a module read, and what they compute from it, by name:
// phases change signatures, not the names of inputs, outputs, states and
// control fields.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_PROGRAMVALUES_H
#define SINTER_COMPILER_VERIFY_PROGRAMVALUES_H

#include "compiler/verify/NoisyEvaluation.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

/// An array that the user gave for an input or a state.
struct GivenArray {
  std::vector<int64_t> dims;
  std::string type; // as in messages: "float32 [1, 10]"
  std::vector<char> bytes;
};
using GivenArrays = llvm::StringMap<GivenArray>;

/// Values for everything that a program reads. What is not given is made up
/// when a function first asks for it, from the name alone, so that all
/// modules of a compilation read the same:
/// - inputs: floats in [-1, 1), integers in the range of what they index;
/// - states: their initial values; slots without one: small positive numbers;
/// - control fields: a third step, and one row less than the batch has.
class ProgramInputs {
public:
  explicit ProgramInputs(const GivenArrays &given, int64_t accumulate = 1)
      : given_(given), accumulate_(accumulate) {}

  /// The value of argument `index` of `function`. Fails with an error on the
  /// function if a given array has another shape or type.
  mlir::FailureOr<ir::Tensor> argument(mlir::func::FuncOp function,
                                       unsigned index);
  /// The value of a state at the start.
  const ir::Tensor &state(mlir::ModuleOp module, llvm::StringRef name);
  void setState(llvm::StringRef name, ir::Tensor value) {
    states_[name.str()] = std::move(value);
  }
  int64_t accumulate() const { return accumulate_; }
  /// The inputs so far, for another compilation: what integers index may not be
  /// found in its module.
  GivenArrays inputArrays() const;
  /// A control field of this type; `microBatch` counts from 0.
  static ir::Tensor control(llvm::StringRef name, mlir::RankedTensorType type,
                            int64_t validRows, int64_t microBatch);
  /// The rows that count in an evaluation.
  static int64_t validRows(mlir::func::FuncOp function);

private:
  mlir::FailureOr<ir::Tensor> input(mlir::func::FuncOp function, unsigned index,
                                    llvm::StringRef name);

  const GivenArrays &given_;
  int64_t accumulate_;
  std::map<std::string, ir::Tensor> inputs_, states_;
};

/// Results by what they are: "output 'loss' of step", "state 'w' after step".
using ProgramResults = std::map<std::string, ir::Tensor>;

/// Why the program cannot be evaluated as one, in one line; "" if it can.
std::string whyNotEvaluated(mlir::ModuleOp module);

/// Runs @main, or a step and then @eval with the states from before the step.
/// Fails with an error.
mlir::FailureOr<ProgramResults> runProgram(mlir::ModuleOp module,
                                           ProgramInputs &inputs,
                                           const EvaluationOptions &options);

/// The new value of a state after a step, with micro-batches after all of them;
/// null if the step does not change it.
const ir::Tensor *newState(const ProgramResults &results,
                           llvm::StringRef state);

/// A new value of a state of role rounded that is not the rounding of its
/// parameter's new value, in one line; "" if there is none.
std::string wrongRounding(mlir::ModuleOp module, const ProgramResults &results);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_PROGRAMVALUES_H
