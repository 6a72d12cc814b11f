//===- Why.cpp - the reasons behind a compilation -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Why.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/LocationText.h"
#include "ir/Provenance.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static constexpr QuestionKind kKinds[] = {
    {"--not-fused", "NODE,NODE", "why two nodes are not in one kernel"},
    {"--kernel", "KERNEL", "what a kernel computes, and why no more"},
    {"--fp32", "NODE", "why a node has its precision"},
    {"--cpu", "NODE", "why a node is on its device"},
    {"--not-library", "NODE", "why a library computes a node, or none does"},
    {"--layout", "NODE", "why a convolution has its layout"},
    {"--recomputed", "NODE", "why a node is computed twice, or is not"},
    {"--bytes", "NODE",
     "which memory the results of a node take, and why; without a node, what "
     "is live at the peak",
     /*mayBeBare=*/true},
};

llvm::ArrayRef<QuestionKind> compiler::questionKinds() { return kKinds; }

//===----------------------------------------------------------------------===//
// The index
//===----------------------------------------------------------------------===//

WhyIndex::WhyIndex(const Trace &trace) : trace_(trace) {
  for (const TraceStep &step : trace.steps)
    for (const TraceRemark &remark : step.remarks) {
      bool isOfModule = remark.kind == "policy" || remark.kind == "region";
      if (remark.pass == "assign-precision" && remark.kind == "policy")
        policy_ = remark.text;
      if (isOfModule)
        continue;
      for (const std::string &node : remark.nodes)
        remarksOf_[node].push_back(&remark);
      if (remark.kind == "not-fused")
        pairs_.push_back({&remark});
      if (remark.pass == "plan-memory" &&
          (remark.kind == "buffer" || remark.kind == "peak-buffer"))
        buffers_.push_back(&remark);
      if (remark.pass != "plan-memory" || remark.kind != "command")
        continue;
      for (const std::string &node : remark.nodes)
        commandsOf_[node].insert(commands_.size());
      auto [head, target] = StringRef(remark.text).rsplit(' ');
      StringRef entry =
          StringRef(remark.text).split('@').second.split(':').first;
      commands_.push_back({remark.text, entry.str(),
                           head.ends_with(" launch") ? target.str() : "",
                           head.ends_with(" launch") ? "" : target.str(),
                           remark.nodes, remark.ops});
    }
  settlePairs();
}

const TraceRemark *WhyIndex::fateAtImport(StringRef node) const {
  for (const TraceRemark *remark : remarksOf_.lookup(node))
    if (remark->pass == "import")
      return remark;
  return nullptr;
}

bool WhyIndex::isComputed(StringRef node) const {
  if (commandsOf_.contains(node) || fateAtImport(node))
    return true;
  // A planned program names the inputs that it reads.
  for (const TraceStep &step : trace_.steps)
    for (const TraceChange &change : step.changes)
      if (!StringRef(change.text).starts_with("exec.program") &&
          comesFrom(change.text, node))
        return true;
  return false;
}

// What `name` is in the printed IR, if it is not a node; "" if it is nowhere.
static StringRef kindOfName(const Trace &trace, StringRef name) {
  const std::string literal = stringLiteral(name);
  struct Form {
    std::string text;
    StringRef kind;
  };
  const Form forms[] = {
      {"sinter.input = " + literal, "an input of the program"},
      {"sinter.control = " + literal, "a value that the caller sets"},
      {"sinter.state @" + literal + " ", "a state of the program"},
      {"sinter.state @" + name.str() + " ", "a state of the program"},
      {("fused<\"" + ir::kInitializer + "\">[" + literal).str(),
       "an initializer of the program"},
      {"sinter.output = " + literal, "an output of the program"}};
  for (const TraceStep &step : trace.steps)
    for (const TraceChange &change : step.changes)
      for (const Form &form : forms)
        if (StringRef(change.text).contains(form.text))
          return form.kind;
  return "";
}

std::string WhyIndex::whyNotComputed(StringRef node) const {
  if (isComputed(node))
    return "";
  std::string name = quoted(node.str());
  if (StringRef kind = kindOfName(trace_, node); !kind.empty())
    return name + " is " + kind.str() + ", not a node";
  StringRef of = ir::nodeOfName(node);
  if (of != node && isComputed(of))
    return "the program computes no gradient of " + quoted(of.str());
  std::string part = ir::partName(node),
              none = "the program has no node " + name;
  return isComputed(part) ? none + ", but a part of the step " + quoted(part)
                          : none;
}

std::string WhyIndex::whyUnknown(StringRef node) const {
  return remarksOf_.contains(node) ? "" : whyNotComputed(node);
}

void compiler::addReason(Answer &answer, StringRef pass,
                         const std::string &text, const TraceRemark *pair) {
  for (const Answer::Reason &reason : answer.reasons)
    if (reason.pass == pass && reason.text == text)
      return;
  answer.reasons.push_back({pass.str(), text});
  if (pair) {
    answer.reasons.back().nodes = pair->nodes;
    answer.reasons.back().with = pair->with;
  }
}

/// Which pass removed the last op of `node`, and by which rewrite.
void WhyIndex::addFate(StringRef node, Answer &answer) const {
  if (const TraceRemark *fate = fateAtImport(node))
    return addReason(answer, fate->pass, fate->text);
  std::set<std::string> holders; // functions that name it
  const TraceStep *removed = nullptr;
  for (const TraceStep &step : trace_.steps)
    for (const TraceChange &change : step.changes) {
      if (comesFrom(change.text, node))
        holders.insert(change.symbol);
      else if (holders.erase(change.symbol) && holders.empty())
        removed = &step;
    }
  if (!holders.empty() || !removed)
    return;
  addReason(answer, removed->pass,
            "no op of the node is left after this pass, of phase " +
                removed->phase);
  for (const TraceRewrite &rewrite : removed->rewrites)
    if (llvm::is_contained(rewrite.nodes, node))
      addReason(answer, removed->pass,
                "rewrite " + rewrite.name + ": " +
                    StringRef(rewrite.before).split('\n').first.str() + " -> " +
                    (rewrite.after.empty()
                         ? "nothing"
                         : StringRef(rewrite.after).split('\n').first.str()));
}

void WhyIndex::add(StringRef node, StringRef pass,
                   llvm::ArrayRef<StringRef> kinds, Answer &answer) const {
  auto found = remarksOf_.find(node);
  if (found == remarksOf_.end())
    return;
  for (const TraceRemark *remark : found->second)
    if (remark->pass == pass && llvm::is_contained(kinds, remark->kind))
      addReason(answer, remark->pass, remark->kind + ": " + remark->text);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Answer WhyIndex::answer(const Question &question) const {
  StringRef option = question.option, about = question.about;
  if (option == "--not-fused")
    return whyNotFused(about);
  if (option == "--kernel")
    return whyKernel(about);
  if (const TraceRemark *fate = fateAtImport(about)) {
    Answer answer;
    answer.headline = shown(about) + " has no op";
    addReason(answer, fate->pass, fate->text);
    return answer;
  }
  if (option == "--fp32")
    return whyPrecision(about);
  if (option == "--cpu")
    return whyDevice(about);
  if (option == "--not-library")
    return whyLibrary(about);
  if (option == "--layout")
    return whyLayout(about);
  if (option == "--recomputed")
    return whyRecomputed(about);
  return question.isBare ? whyPeak() : whyBytes(about);
}

void compiler::printAnswers(llvm::ArrayRef<Question> questions,
                            llvm::ArrayRef<Answer> answers, bool json,
                            llvm::raw_ostream &os) {
  llvm::json::Array list;
  for (auto [question, answer] : llvm::zip_equal(questions, answers)) {
    if (!json) {
      os << answer.headline << "\n";
      for (const Answer::Reason &reason : answer.reasons)
        os << "  " << llvm::left_justify(reason.pass, 20) << " "
           << shown(reason.text, 600) << "\n";
      continue;
    }
    llvm::json::Array reasons;
    for (const Answer::Reason &reason : answer.reasons) {
      llvm::json::Object object{{"pass", jsonText(reason.pass)},
                                {"text", jsonText(reason.text)}};
      if (!reason.nodes.empty() || !reason.with.empty()) {
        object["nodes"] = jsonTexts(reason.nodes);
        object["with"] = jsonTexts(reason.with);
      }
      reasons.push_back(std::move(object));
    }
    list.push_back(
        llvm::json::Object{{"option", StringRef(question.option).drop_front(2)},
                           {"about", jsonText(question.about)},
                           {"answer", jsonText(answer.headline)},
                           {"reasons", std::move(reasons)}});
  }
  if (json)
    os << llvm::json::Value(std::move(list)) << "\n";
}
