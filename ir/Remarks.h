//===- Remarks.h - where passes report their decisions ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A pass reports what it did and what it declined to do, with a count if it did
// something many times. Interested tools attach a handler to the context;
// without one a remark costs a null check. `--remarks` and `sinter-inspect why`
// read remarks. Details explain a decision about one op or one pair of ops; a
// program has thousands, so they are made only for a tool that wants them.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_REMARKS_H
#define SINTER_IR_REMARKS_H

#include "ir/Dialect.h"

#include "mlir/IR/DialectInterface.h"

#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace sinter::ir {

struct Remark {
  llvm::StringRef pass; // its flag without "sinter-": "fold-constants"
  llvm::StringRef kind; // what was done or not done: "folded", "not-fused"
  mlir::Location location;
  std::string text;  // why, or to what; may be empty
  int64_t count = 1; // how many times; *fused 12*
  /// Of a detail about a pair of ops: the location of the second one.
  std::optional<mlir::Location> other{};
  bool isDetail = false;
};

/// An interface of the sinter dialect of the context. Handlers are called under
/// a lock, from any thread.
class RemarkSink : public mlir::DialectInterface::Base<RemarkSink> {
public:
  using Handler = std::function<void(const Remark &)>;
  explicit RemarkSink(mlir::Dialect *dialect) : Base(dialect) {}

  /// Makes `handler` the sink of the context; an empty one detaches it. Must
  /// not be called during a pass.
  static void attach(mlir::MLIRContext *context, Handler handler,
                     bool wantsDetails = false) {
    auto *dialect = context->getOrLoadDialect<SinterDialect>();
    if (!dialect->getRegisteredInterface<RemarkSink>())
      dialect->addInterface<RemarkSink>();
    auto *sink = dialect->getRegisteredInterface<RemarkSink>();
    sink->handler = std::move(handler);
    sink->wantsDetails = wantsDetails;
  }
  /// The sink of the context; null if nobody listens.
  static const RemarkSink *of(mlir::MLIRContext *context) {
    auto *dialect = context->getLoadedDialect<SinterDialect>();
    auto *sink =
        dialect ? dialect->getRegisteredInterface<RemarkSink>() : nullptr;
    return sink && sink->handler ? sink : nullptr;
  }
  void take(const Remark &remark) const {
    std::lock_guard<std::mutex> lock(mutex);
    handler(remark);
  }
  /// Whether somebody reads details.
  static bool takesDetails(mlir::MLIRContext *context) {
    const RemarkSink *sink = of(context);
    return sink && sink->wantsDetails;
  }

private:
  Handler handler;
  bool wantsDetails = false;
  mutable std::mutex mutex;
};

/// Reports to the sink of the context of the location. `text` is only formatted
/// if somebody listens.
inline void remark(llvm::StringRef pass, llvm::StringRef kind,
                   mlir::Location location, const llvm::Twine &text = "",
                   int64_t count = 1) {
  if (const RemarkSink *sink = RemarkSink::of(location.getContext()))
    sink->take({pass, kind, location, text.str(), count});
}

/// Reports a detail about one op.
inline void explain(llvm::StringRef pass, llvm::StringRef kind,
                    mlir::Location location, const llvm::Twine &text) {
  if (RemarkSink::takesDetails(location.getContext()))
    RemarkSink::of(location.getContext())
        ->take({pass, kind, location, text.str(), 1, std::nullopt, true});
}

/// Reports a detail about two ops, such as why they are not one kernel.
inline void explain(llvm::StringRef pass, llvm::StringRef kind,
                    mlir::Location location, mlir::Location other,
                    const llvm::Twine &text) {
  if (RemarkSink::takesDetails(location.getContext()))
    RemarkSink::of(location.getContext())
        ->take({pass, kind, location, text.str(), 1, other, true});
}

} // namespace sinter::ir

#endif // SINTER_IR_REMARKS_H
