//===- TraceWriter.h - records a trace while passes run ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_TRACE_TRACEWRITER_H
#define SINTER_COMPILER_TRACE_TRACEWRITER_H

#include "compiler/trace/Trace.h"
#include "ir/Remarks.h"
#include "ir/Rewrites.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"

#include <chrono>
#include <mutex>
#include <thread>

namespace sinter::compiler {

/// "CancelMoves<TransposeOp>" of a pattern's C++ name, which has namespaces.
std::string patternName(llvm::StringRef name);

/// Records the trace of one compilation. Must outlive the pass managers that it
/// is attached to.
class TraceWriter : public ir::RewriteObserver {
public:
  TraceWriter(mlir::ModuleOp module, llvm::StringRef model);
  ~TraceWriter() override { detach(); }
  /// Ends the recording of rewrites: the context may end before the writer.
  void detach();

  /// The passes that run from now on belong to `phase`. Ops are numbered
  /// (OpNumbers.h) from the phase `fuse` to the end of `plan`, or of the last
  /// phase.
  void beginPhase(llvm::StringRef phase);
  void endPhase(bool isLast);
  void attach(mlir::PassManager &pm);
  /// Adds a remark to the step that runs in this thread, or to the last one.
  void take(const ir::Remark &remark);

  void begin(llvm::StringRef name,
             llvm::ArrayRef<mlir::Operation *> ops) override;
  void inserted(mlir::Operation *op) override;
  void changed(mlir::Operation *op) override;
  void erased(mlir::Operation *op) override;
  void end() override;

  const Trace &trace() const { return trace_; }

private:
  class Instrumentation;
  using Clock = std::chrono::steady_clock;

  /// A rewrite that has begun. Most do not match: `record` is filled when the
  /// first op changes.
  struct OpenRewrite {
    std::string name;
    llvm::SmallVector<mlir::Operation *, 1> ops;
    bool hasMatched = false;
    TraceRewrite record;
    llvm::SetVector<mlir::Operation *> made; // or changed: `after`
  };
  /// What a thread does.
  struct Running {
    Clock::time_point begin;
    std::string function; // "": the module
    TraceStep step;
    OpenRewrite rewrite;
  };
  /// What is known of a top-level op.
  struct Seen {
    std::string text;
    std::vector<mlir::OperationFingerPrint> prints; // of the ops of its name
  };

  /// The running pass of this thread, null if there is none.
  Running *running();
  /// The rewrite of this thread, which has matched; null if there is none.
  OpenRewrite *matched();
  /// Adds the text of `ops`, which share `symbol`, to `step` if it is new.
  void record(const std::string &symbol, llvm::ArrayRef<mlir::Operation *> ops,
              TraceStep &step);
  void recordModule(mlir::ModuleOp module, TraceStep &step);
  /// Orders the steps of an adaptor, which runs passes of the functions of
  /// `module` in parallel, as one thread would run them: function by function.
  void orderByFunction(mlir::Operation *module);

  Trace trace_;
  std::vector<std::string> functionOf_; // of each step; "": the module
  size_t firstOfAdaptor_ = 0;           // its first step
  mlir::ModuleOp module_;
  mlir::MLIRContext *context_;
  bool isNumbered_ = false;
  std::string phase_ = "import";
  std::map<std::string, Seen> seen_; // by symbol
  /// The passes that run in each thread, the innermost last: a thread that
  /// waits for others may begin the pass of another function.
  std::map<std::thread::id, std::vector<Running>> running_;
  std::mutex mutex_; // function passes run in parallel
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_TRACE_TRACEWRITER_H
