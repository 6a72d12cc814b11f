//===- Rewrites.h - who sees the rewrites of the passes ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A tool may observe every rewrite: each application of a pattern, and each
// transformation of a pass that works without patterns. `--trace` records them.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_REWRITES_H
#define SINTER_IR_REWRITES_H

#include "ir/Dialect.h"

#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/PatternMatch.h"

namespace sinter::ir {

/// Is told of rewrites, from any thread. The ops of one thread's rewrites are
/// those of the pass that runs in it.
class RewriteObserver {
public:
  virtual ~RewriteObserver() = default;
  /// A rewrite called `name` begins at `ops`. Rewrites of a thread do not nest.
  virtual void begin(llvm::StringRef name,
                     llvm::ArrayRef<mlir::Operation *> ops) = 0;
  /// It has made `op`.
  virtual void inserted(mlir::Operation *op) = 0;
  /// It has changed `op` in place.
  virtual void changed(mlir::Operation *op) = 0;
  /// It is about to erase `op`.
  virtual void erased(mlir::Operation *op) = 0;
  /// It ends. It was a rewrite only if it made, changed or erased an op.
  virtual void end() = 0;
};

/// An interface of the sinter dialect of the context.
class RewriteSink : public mlir::DialectInterface::Base<RewriteSink> {
public:
  explicit RewriteSink(mlir::Dialect *dialect) : Base(dialect) {}

  /// Makes `observer` that of the context; null detaches it. Must not be called
  /// during a pass.
  static void attach(mlir::MLIRContext *context, RewriteObserver *observer) {
    auto *dialect = context->getOrLoadDialect<SinterDialect>();
    if (!dialect->getRegisteredInterface<RewriteSink>())
      dialect->addInterface<RewriteSink>();
    dialect->getRegisteredInterface<RewriteSink>()->observer = observer;
  }
  /// The observer of the context; null if there is none.
  static RewriteObserver *of(mlir::MLIRContext *context) {
    auto *dialect = context->getLoadedDialect<SinterDialect>();
    auto *sink =
        dialect ? dialect->getRegisteredInterface<RewriteSink>() : nullptr;
    return sink ? sink->observer : nullptr;
  }

private:
  RewriteObserver *observer = nullptr;
};

/// A listener for greedy pattern drivers, which tells the observer of the
/// context. Outside of patterns, such a driver folds ops and erases dead ones.
class RewriteListener : public mlir::RewriterBase::Listener {
public:
  explicit RewriteListener(mlir::MLIRContext *context)
      : observer(RewriteSink::of(context)) {}

  void notifyPatternBegin(const mlir::Pattern &pattern,
                          mlir::Operation *op) override {
    isInPattern = true;
    if (observer)
      observer->begin(pattern.getDebugName(), op);
  }
  void notifyPatternEnd(const mlir::Pattern &, llvm::LogicalResult) override {
    isInPattern = false;
    if (observer)
      observer->end();
  }
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint from) override {
    // An op that was somewhere before is only moved.
    if (observer && isInPattern && !from.isSet())
      observer->inserted(op);
  }
  void notifyOperationModified(mlir::Operation *op) override {
    if (observer && isInPattern)
      observer->changed(op);
  }
  void notifyOperationReplaced(mlir::Operation *op,
                               mlir::ValueRange values) override {
    if (!observer || isInPattern) // a pattern erases what it replaces
      return;
    folded = op;
    observer->begin(op->hasTrait<mlir::OpTrait::ConstantLike>()
                        ? "merge equal constants"
                        : "fold",
                    op);
    observer->erased(op);
    for (mlir::Value value : values)
      if (mlir::Operation *source = value.getDefiningOp())
        observer->inserted(source);
    observer->end();
  }
  void notifyOperationErased(mlir::Operation *op) override {
    if (!observer || folded == op) {
      folded = nullptr;
      return;
    }
    if (!isInPattern)
      observer->begin("erase dead op", op);
    observer->erased(op);
    if (!isInPattern)
      observer->end();
  }

private:
  RewriteObserver *observer;
  bool isInPattern = false;
  mlir::Operation *folded = nullptr; // which is erased next
};

/// A rewrite of a pass that works without patterns, from its construction to
/// its destruction.
class Rewrite {
public:
  Rewrite(const llvm::Twine &name, llvm::ArrayRef<mlir::Operation *> ops)
      : observer(ops.empty() ? nullptr
                             : RewriteSink::of(ops.front()->getContext())) {
    if (observer)
      observer->begin(name.str(), ops);
  }
  Rewrite(const Rewrite &) = delete;
  Rewrite &operator=(const Rewrite &) = delete;
  ~Rewrite() {
    if (observer)
      observer->end();
  }

  void inserted(mlir::Operation *op) {
    if (observer)
      observer->inserted(op);
  }
  void erased(mlir::Operation *op) {
    if (observer)
      observer->erased(op);
  }

private:
  RewriteObserver *observer;
};

} // namespace sinter::ir

#endif // SINTER_IR_REWRITES_H
