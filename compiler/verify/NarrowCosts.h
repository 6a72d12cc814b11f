//===- NarrowCosts.h - what rounding to 16 bits costs -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// With --precision=bf16 or fp16 a program is less accurate, which is no defect.
// The casts of one node at a time round here, in a float64 evaluation; the
// change of the results is what the node costs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_NARROWCOSTS_H
#define SINTER_COMPILER_VERIFY_NARROWCOSTS_H

#include "compiler/verify/ProgramValues.h"
#include "passes/precision/PrecisionReport.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#include <functional>

namespace sinter::compiler {

class NarrowCosts {
public:
  /// `rounded` is the program with the casts of the precision phase, also those
  /// of weights (addRoundings).
  NarrowCosts(mlir::ModuleOp rounded, ProgramInputs &inputs)
      : module(rounded), inputs(inputs) {}

  /// Evaluates the program twice, and once more for each node that rounds.
  /// Fails with an error if the program cannot be evaluated.
  mlir::LogicalResult measure() { return measure({}); }
  /// Called with the number of nodes that were measured, and of all.
  std::function<void(size_t done, size_t all)> progress;
  /// The nodes that cost most, and the error of the whole.
  void print(llvm::raw_ostream &os, llvm::StringRef policy) const;
  /// {"policy", "error", "nodes": [{"nodes", "error"}]}, all nodes that round.
  llvm::json::Object json(llvm::StringRef policy) const;
  /// What a plan reaches.
  struct PlanResult {
    size_t numKept = 0;   // ops that it keeps in float32
    double error = 0;     // of the program that is compiled with it
    bool isWhole = false; // nothing is left in 16 bits
  };
  /// Compiles the model with the plan at `path` and calls `use` with the
  /// program that has the casts of the precision phase.
  using CompileWith = llvm::function_ref<mlir::LogicalResult(
      llvm::StringRef path,
      llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp, ProgramInputs &)>
          use)>;
  /// Writes a precision plan that keeps the most expensive nodes in float32,
  /// with those that read their results: 1, then half as many again each time,
  /// until the error is at most half; then the fewest of the last ones with
  /// which it is. Other ops round when a node no longer does, so what they cost
  /// is measured each time; what is known of nodes that round as before is
  /// kept. Returns what went wrong, "" if nothing.
  std::string writePlan(llvm::StringRef path, llvm::StringRef policy,
                        CompileWith compileWith, PlanResult &result);

private:
  struct Node {
    std::string names; // separated by commas
    /// The names of the ops that read what it rounds, and may be why it does.
    std::vector<std::string> readers;
    size_t numCasts; // that round
    double error = 0;
  };
  /// `measured`: nodes of a program of the same model.
  mlir::LogicalResult measure(llvm::ArrayRef<Node> measured);
  /// The largest error of a result, relative to its size (of a state: to its
  /// change), if the casts round of which the nodes `round`.
  mlir::FailureOr<double>
  errorWhere(llvm::function_ref<bool(llvm::StringRef names)> rounds);
  double errorOf(const ProgramResults &results);
  /// A program that is compiled with a plan.
  struct Trial {
    double error = 0;
    std::vector<Node> nodes;
    size_t numOps = 0;                           // that the plan keeps
    std::vector<passes::PrecisionEntry> entries; // of the program
  };
  std::string tryPlan(const llvm::StringSet<> &kept, llvm::StringRef path,
                      llvm::StringRef policy, CompileWith compileWith,
                      Trial &trial) const;
  /// Also counts the ops that the plan keeps.
  std::string writePlanThatKeeps(const llvm::StringSet<> &kept,
                                 llvm::StringRef path, llvm::StringRef policy,
                                 size_t &numOps) const;
  double scaleOf(llvm::StringRef result, const ir::Tensor &value);

  mlir::ModuleOp module;
  ProgramInputs &inputs;
  ProgramResults exact;
  std::vector<Node> nodes; // the most expensive first
  double whole = 0;
  KnownValues known; // of the program without roundings
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_NARROWCOSTS_H
