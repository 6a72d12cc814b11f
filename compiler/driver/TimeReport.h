//===- TimeReport.h - where compile time goes -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_TIMEREPORT_H
#define SINTER_COMPILER_DRIVER_TIMEREPORT_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::compiler {

/// The time of phases, of the passes in them and of code generation for each
/// kernel, in milliseconds.
class TimeReport {
public:
  void addPhase(llvm::StringRef phase, double milliseconds) {
    phases_.emplace_back(phase.str(), milliseconds);
  }
  void addPhaseSince(llvm::StringRef phase,
                     std::chrono::steady_clock::time_point begin) {
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - begin;
    addPhase(phase, time.count());
  }
  /// Measures the passes of `pm`, which belong to `phase`. `this` must outlive
  /// it.
  void attach(mlir::PassManager &pm, llvm::StringRef phase);
  /// May be called from any thread.
  void addKernel(llvm::StringRef kernel, double milliseconds);

  bool hasPhase(llvm::StringRef phase) const;
  void clear();
  /// A line for each phase, with its share of the total, then for each of its
  /// passes in order, or each kernel, the slowest first; a pass that ran
  /// several times has one line. Passes and kernels that ran in parallel count
  /// in full, so they may add up to more than their phase.
  void print(llvm::raw_ostream &os) const;

private:
  class Instrumentation;
  struct Spent {
    double milliseconds = 0;
    unsigned runs = 0;
  };
  using SpentByName =
      llvm::MapVector<std::string, Spent, std::map<std::string, unsigned>>;

  std::vector<std::pair<std::string, double>> phases_;
  std::map<std::string, SpentByName> passes_; // by phase
  SpentByName kernels_;
  std::mutex mutex_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_TIMEREPORT_H
