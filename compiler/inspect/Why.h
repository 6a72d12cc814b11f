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
  std::string about;  // a node, "NODE,NODE" or a kernel
};

struct QuestionKind {
  const char *option; // "--not-fused"
  const char *about;  // "NODE,NODE"
  const char *summary;
};
llvm::ArrayRef<QuestionKind> questionKinds();

struct Answer {
  std::string headline;
  struct Reason {
    std::string pass, text;
  };
  std::vector<Reason> reasons; // each once, in the order of the passes
  /// What is wrong with the question, such as a node that does not exist; ""
  /// if there is an answer.
  std::string problem;
};

/// Adds a reason that the answer does not have yet.
void addReason(Answer &answer, llvm::StringRef pass, const std::string &text);

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

    /// "3" of "command 3 of @main: launch k0_add".
    std::string number() const {
      llvm::StringRef rest = llvm::StringRef(text).split(' ').second;
      return rest.split(' ').first.str();
    }
  };
  using Numbers = llvm::SmallSetVector<size_t, 2>;

  std::string whyNoNode(llvm::StringRef node) const;
  void addFate(llvm::StringRef node, Answer &answer) const;
  void add(llvm::StringRef node, llvm::StringRef pass,
           llvm::ArrayRef<llvm::StringRef> kinds, Answer &answer) const;
  /// Adds why the commands are two; false if nothing is known.
  bool addPairs(size_t first, size_t second, Answer &answer) const;
  void addEntry(llvm::StringRef entry, const Numbers &ofA, const Numbers &ofB,
                Answer &answer) const;

  Answer whyNotFused(llvm::StringRef pair) const;
  Answer whyPrecision(llvm::StringRef node) const;
  Answer whyDevice(llvm::StringRef node) const;
  Answer whyKernel(llvm::StringRef name) const;
  void addOtherBuffers(const Command &command, llvm::StringRef node,
                       Answer &answer) const;
  Answer whyBytes(llvm::StringRef node) const;
  Answer whyLibrary(llvm::StringRef node) const;
  Answer whyLayout(llvm::StringRef node) const;
  Answer whyRecomputed(llvm::StringRef node) const;

  const Trace &trace_;
  llvm::StringMap<std::vector<const TraceRemark *>> remarksOf_; // by node
  std::vector<Command> commands_;
  llvm::StringMap<Numbers> commandsOf_; // by node
  std::vector<const TraceRemark *> pairs_, buffers_;
  std::string policy_; // of --precision
};

/// Prints answers, one after the other; as JSON a list of objects {"option",
/// "about", "answer", "reasons": [{"pass", "text"}]}.
void printAnswers(llvm::ArrayRef<Question> questions,
                  llvm::ArrayRef<Answer> answers, bool json,
                  llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_WHY_H
