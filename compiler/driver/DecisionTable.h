//===- DecisionTable.h - the answers to the passes' questions ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Passes ask how to do what several ways do (ir/Decisions.h). The table has the
// answers of a lock file or of a search, and records every question of a
// compilation with the answer that was given.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_DECISIONTABLE_H
#define SINTER_COMPILER_DRIVER_DECISIONTABLE_H

#include "ir/Decisions.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

/// What tells a question from all others of a program.
struct DecisionKey {
  std::string target;                     // the kind of device
  std::string pass, what;                 // "fuse-loops", "merge"
  std::string function;                   // "": a kernel
  std::vector<std::string> nodes, others; // ONNX nodes, in order

  auto operator<=>(const DecisionKey &) const = default;
  /// In messages: "fuse-loops: merge of '/a', '/b' with '/c'".
  std::string text() const;
};

/// Answers in the order in which a question is asked; a single one is for
/// every time.
using Answers = std::vector<std::string>;

class DecisionTable {
public:
  /// A question as it was asked, perhaps several times: parts of one node are
  /// told apart only by their order.
  struct Asked {
    Answers given;
    std::vector<std::string> byRule; // each time
    /// Every answer that was possible once.
    std::vector<std::string> possible;
    /// The ops and types that were asked about. Equal for layers that repeat.
    std::string form;
    /// How often it was asked in each function or kernel. Two kernels that
    /// nothing tells apart get the same answers, in whatever order they ask.
    llvm::StringMap<size_t> times;
    double bytes = 0; // of the results of those ops
    size_t order = 0; // of all questions
    bool keepsBits = true;
  };

  /// `mayChangeBits`: whether an answer may change the bits of results. If not,
  /// such questions are answered by their rules.
  explicit DecisionTable(bool mayChangeBits) : mayChangeBits(mayChangeBits) {}

  /// Reads the decisions of a lock file; returns what is wrong with them, "" if
  /// nothing.
  std::string read(const llvm::json::Array &decisions);
  /// All questions that were asked and their answers, sorted; tuned ones are
  /// marked.
  llvm::json::Array write() const;

  /// Begins a compilation for `target`: forgets what was asked before for it.
  void begin(llvm::StringRef target);
  /// Makes passes that work in `context` ask here; `detach` ends that.
  void attach(mlir::MLIRContext *context);
  static void detach(mlir::MLIRContext *context);

  const std::map<DecisionKey, Asked> &asked() const { return asked_; }
  /// From now on the answer to `key` is `answer`, each time. An answer that is
  /// not possible is ignored.
  void want(const DecisionKey &key, Answers answer) {
    wanted_[key] = std::move(answer);
  }
  /// Of the questions whose answer may change bits: how many answers are not
  /// those of the rules, and a hash of these: "3 of 27 (5f1c0a9b)"; "" if all
  /// follow the rules.
  std::string summary() const;

  /// A line for each decision that was read and could not be kept, and why.
  std::vector<std::string> notKept() const;
  /// The number of questions that were asked and are not in what was read.
  size_t numNew() const;

private:
  size_t answer(const ir::Question &question);

  bool mayChangeBits;
  std::string target_;
  std::map<DecisionKey, Answers> wanted_;
  std::map<DecisionKey, Asked> asked_;
  std::map<DecisionKey, std::string> impossible_; // and why
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_DECISIONTABLE_H
