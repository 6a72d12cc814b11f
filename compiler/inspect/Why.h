//===- Why.h - the reasons behind a compilation -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Answers of `sinter-inspect why`, from the remarks in a trace.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_WHY_H
#define SINTER_COMPILER_INSPECT_WHY_H

#include "compiler/trace/Trace.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace sinter::compiler {

/// What one of the options of `why` asks, and of what.
struct Question {
  std::string option; // one of questionKinds()
  /// A node, "NODE,NODE" or a kernel. grad(NODE) is a gradient of a node.
  std::string about;
  bool isBare = false; // "--bytes" without "="
};

struct QuestionKind {
  const char *option; // "--not-fused"
  const char *about;  // "NODE,NODE"
  const char *summary;
  bool mayBeBare = false; // "--bytes" is a question, too
};
llvm::ArrayRef<QuestionKind> questionKinds();

struct Answer {
  std::string headline;
  struct Reason {
    std::string pass, text;
    /// Of a reason about two groups of ops: their nodes, as kernels name them.
    std::vector<std::string> nodes = {}, with = {};
  };
  std::vector<Reason> reasons; // each once, in the order of the passes
  /// What is wrong with the question, such as a node that does not exist; ""
  /// if there is an answer.
  std::string problem;
};

/// Adds a reason that the answer does not have yet. `pair`: it is a remark
/// about two groups of ops.
void addReason(Answer &answer, llvm::StringRef pass, const std::string &text,
               const TraceRemark *pair = nullptr);

/// Finds reasons by node and by kernel. Refers to the trace.
class WhyIndex {
public:
  explicit WhyIndex(const Trace &trace);

  Answer answer(const Question &question) const;

private:
  /// A kernel launch, library call or copy of the program.
  struct Command {
    std::string text;   // "command 3 of @main: launch k0_add"
    std::string entry;  // "main"
    std::string kernel; // "k0_add"; "" for others
    std::string kind;   // of others: "conv"
    llvm::ArrayRef<std::string> nodes;
    llvm::ArrayRef<unsigned> ops; // their numbers (OpNumbers.h)

    /// Whether it is one of those that fusion makes: a kernel or the call of a
    /// library.
    bool isFusion() const {
      return !kernel.empty() || kind == "matmul" || kind == "conv" ||
             kind == "attention";
    }
    /// "3" of "command 3 of @main: launch k0_add"; "3.0" in the body of a scan.
    std::string number() const {
      llvm::StringRef rest = llvm::StringRef(text).split(' ').second;
      return rest.split(' ').first.str();
    }
  };
  using Numbers = llvm::SmallSetVector<size_t, 2>;
  /// A remark about two groups of ops, and what became of these: the commands
  /// that have all ops of a group, but those that no command has; if there are
  /// none, the commands that have only ops of the group. The groups of
  /// a remark about many readers of one value are the same: `first` has the
  /// commands with any of them.
  struct Pair {
    const TraceRemark *remark;
    Numbers first = {}, second = {};
    /// Those that have only a part of a group: rematerialize divided its
    /// kernel.
    Numbers parts = {};

    /// Whether it is why two commands are not one.
    bool isAbout(size_t a, size_t b) const;
  };

  /// The remark about a node that the importer made no op for; else null.
  const TraceRemark *fateAtImport(llvm::StringRef node) const;
  bool isComputed(llvm::StringRef node) const;
  /// What is wrong with a question about `node`; "" if it can be answered.
  std::string whyUnknown(llvm::StringRef node) const;
  /// The same if the question is about ops that compute `node`.
  std::string whyNotComputed(llvm::StringRef node) const;
  void addFate(llvm::StringRef node, Answer &answer) const;
  void add(llvm::StringRef node, llvm::StringRef pass,
           llvm::ArrayRef<llvm::StringRef> kinds, Answer &answer) const;
  /// The names of a pair, and the commands of one entry that compute them.
  struct Side {
    llvm::StringRef node;
    Numbers commands;
  };
  /// Adds why two commands, one of each side, are two; false if nothing is
  /// known.
  bool addPairs(llvm::StringRef nodeA, size_t first, llvm::StringRef nodeB,
                size_t second, Answer &answer) const;
  void settlePairs();
  /// What to add to a reason about commands of which some are only parts of the
  /// kernel that it is about; "" if none is.
  std::string ofWhole(const Pair &pair, llvm::ArrayRef<size_t> commands) const;
  void addApart(llvm::StringRef entry, const Side &a, const Side &b,
                Answer &answer) const;
  void addEntry(llvm::StringRef entry, const Side &a, const Side &b,
                Answer &answer) const;

  Answer whyNotFused(llvm::StringRef pair) const;
  Answer whyPrecision(llvm::StringRef node) const;
  Answer whyDevice(llvm::StringRef node) const;
  Answer whyKernel(llvm::StringRef name) const;
  void addOtherBuffers(const Command &command, llvm::StringRef node,
                       Answer &answer) const;
  Answer whyBytes(llvm::StringRef node) const;
  Answer whyPeak() const;
  Answer whyLibrary(llvm::StringRef node) const;
  Answer whyLayout(llvm::StringRef node) const;
  Answer whyRecomputed(llvm::StringRef node) const;

  const Trace &trace_;
  llvm::StringMap<std::vector<const TraceRemark *>> remarksOf_; // by node
  std::vector<Command> commands_;
  llvm::StringMap<Numbers> commandsOf_; // by node
  std::vector<Pair> pairs_;
  std::vector<std::vector<size_t>> pairsOf_; // by command
  std::vector<const TraceRemark *> buffers_;
  std::string policy_; // of --precision
};

/// Prints answers, one after the other; as JSON a list of objects {"option",
/// "about", "answer", "reasons": [{"pass", "text", "nodes", "with"}]}; nodes
/// and with only of reasons about two groups of ops.
void printAnswers(llvm::ArrayRef<Question> questions,
                  llvm::ArrayRef<Answer> answers, bool json,
                  llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_WHY_H
