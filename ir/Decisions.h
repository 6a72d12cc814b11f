//===- Decisions.h - choices that passes leave open -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Where several forms of a program are right and only their speed differs, a
// pass follows a rule. It asks here first: a tool may give another answer, and
// learns which questions there were. `--lockfile` keeps the answers, `--tune`
// tries others. Without a tool a question costs a null check.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_DECISIONS_H
#define SINTER_IR_DECISIONS_H

#include "ir/Dialect.h"

#include "mlir/IR/DialectInterface.h"

#include <functional>
#include <mutex>
#include <string>

namespace sinter::ir {

struct Question {
  llvm::StringRef pass; // its flag without "sinter-", or a code generator
  llvm::StringRef what; // what is asked: "merge", "tile"
  /// The ops that the answer applies to, at least one; all in one function or
  /// kernel.
  llvm::ArrayRef<mlir::Operation *> ops;
  /// Of a question about two groups of ops: the second one.
  llvm::ArrayRef<mlir::Operation *> others;
  /// The right answers, at least two, none twice. The first one is that of the
  /// rule.
  llvm::ArrayRef<std::string> answers;
  /// Whether all answers give the same bits.
  bool keepsBits = true;
};

/// An interface of the sinter dialect of the context.
class DecisionSink : public mlir::DialectInterface::Base<DecisionSink> {
public:
  /// Returns the position of an answer. Called under a lock, from any thread;
  /// all questions in one function or kernel come in an order that depends only
  /// on the program.
  using Handler = std::function<size_t(const Question &)>;
  explicit DecisionSink(mlir::Dialect *dialect) : Base(dialect) {}

  /// Makes `handler` the one that is asked; an empty one detaches it. Must not
  /// be called during a pass.
  static void attach(mlir::MLIRContext *context, Handler handler) {
    auto *dialect = context->getOrLoadDialect<SinterDialect>();
    if (!dialect->getRegisteredInterface<DecisionSink>())
      dialect->addInterface<DecisionSink>();
    dialect->getRegisteredInterface<DecisionSink>()->handler =
        std::move(handler);
  }
  /// The sink of the context; null if nobody is to be asked.
  static const DecisionSink *of(mlir::MLIRContext *context) {
    auto *dialect = context->getLoadedDialect<SinterDialect>();
    auto *sink =
        dialect ? dialect->getRegisteredInterface<DecisionSink>() : nullptr;
    return sink && sink->handler ? sink : nullptr;
  }
  size_t ask(const Question &question) const {
    std::lock_guard<std::mutex> lock(mutex);
    return handler(question);
  }

private:
  Handler handler;
  mutable std::mutex mutex;
};

/// The position of the answer to follow; 0, that of the rule, if there is
/// nobody to ask.
inline size_t decide(const Question &question) {
  const DecisionSink *sink =
      DecisionSink::of(question.ops.front()->getContext());
  return sink ? sink->ask(question) : 0;
}

/// Asks for one of two answers. `question` has none; true for `yes`, which is
/// the rule's answer if `byRule`.
inline bool decide(Question question, bool byRule, llvm::StringRef yes,
                   llvm::StringRef no) {
  if (!DecisionSink::of(question.ops.front()->getContext()))
    return byRule;
  const std::string answers[] = {(byRule ? yes : no).str(),
                                 (byRule ? no : yes).str()};
  question.answers = answers;
  return (decide(question) == 0) == byRule;
}

} // namespace sinter::ir

#endif // SINTER_IR_DECISIONS_H
