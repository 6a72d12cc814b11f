//===- TraceWriter.h - records a trace while passes run ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_TRACE_TRACEWRITER_H
#define SINTER_COMPILER_TRACE_TRACEWRITER_H

#include "compiler/trace/Trace.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <mutex>
#include <thread>

namespace sinter::compiler {

/// Records the trace of one compilation. Must outlive the pass managers that it
/// is attached to.
class TraceWriter {
public:
  TraceWriter(mlir::ModuleOp module, llvm::StringRef model);

  /// The passes that run from now on belong to `phase`.
  void beginPhase(llvm::StringRef phase) { phase_ = phase.str(); }
  void attach(mlir::PassManager &pm);
  void write(llvm::raw_ostream &os) const { trace_.write(os); }

private:
  class Instrumentation;
  using Clock = std::chrono::steady_clock;

  /// Adds the text of `symbol` to `step` if it is new.
  void record(const std::string &symbol, std::string text, TraceStep &step);
  void recordModule(mlir::ModuleOp module, TraceStep &step);

  Trace trace_;
  std::string phase_ = "import";
  std::map<std::string, std::string>
      texts_;        // by symbol: the text recorded last
  std::mutex mutex_; // function passes run in parallel
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_TRACE_TRACEWRITER_H
