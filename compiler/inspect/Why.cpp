//===- Why.cpp - the reasons behind a compilation -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Why.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"

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
    {"--bytes", "NODE", "which memory the results of a node take, and why"},
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
        pairs_.push_back(&remark);
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
                           remark.nodes});
    }
}

// A name as the printed IR has it: in quotes, with escapes.
static std::string inText(StringRef name) {
  std::string text = "\"";
  llvm::raw_string_ostream os(text);
  llvm::printEscapedString(name, os);
  os << "\"";
  return text;
}

std::string WhyIndex::whyNoNode(StringRef node) const {
  if (remarksOf_.contains(node) || commandsOf_.contains(node))
    return "";
  std::string name = inText(node);
  for (const TraceStep &step : trace_.steps)
    for (const TraceChange &change : step.changes)
      if (StringRef(change.text).contains(name))
        return "";
  return "the program has no node " + quoted(node.str());
}

void compiler::addReason(Answer &answer, StringRef pass,
                         const std::string &text) {
  for (const Answer::Reason &reason : answer.reasons)
    if (reason.pass == pass && reason.text == text)
      return;
  answer.reasons.push_back({pass.str(), text});
}

/// Which pass removed the last op of `node`, and by which rewrite.
void WhyIndex::addFate(StringRef node, Answer &answer) const {
  std::string name = inText(node);
  std::set<std::string> holders; // functions that name it
  const TraceStep *removed = nullptr;
  for (const TraceStep &step : trace_.steps)
    for (const TraceChange &change : step.changes) {
      bool isNamed = StringRef(change.text).contains(name);
      if (isNamed)
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
// Fusion
//===----------------------------------------------------------------------===//

static bool concern(llvm::ArrayRef<std::string> named,
                    llvm::ArrayRef<std::string> of) {
  return llvm::any_of(named, [&](const std::string &node) {
    return llvm::is_contained(of, node);
  });
}

static bool isPart(llvm::ArrayRef<std::string> part,
                   llvm::ArrayRef<std::string> whole) {
  return llvm::all_of(part, [&](const std::string &node) {
    return llvm::is_contained(whole, node);
  });
}

bool WhyIndex::addPairs(size_t first, size_t second, Answer &answer) const {
  const Command &a = commands_[first], &b = commands_[second];
  using Nodes = llvm::ArrayRef<std::string>;
  // A kernel bears the nodes of all its ops, so those of the ops of a remark
  // are among them. Ops that were divided or merged after the remark have
  // others.
  auto fits = [](Nodes part, Nodes whole) {
    return !part.empty() && isPart(part, whole);
  };
  size_t before = answer.reasons.size();
  for (auto matches : {llvm::function_ref<bool(Nodes, Nodes)>(fits),
                       llvm::function_ref<bool(Nodes, Nodes)>(concern)}) {
    for (const TraceRemark *pair : pairs_) {
      if (!pair->function.empty() && pair->function != a.entry)
        continue;
      // A remark about many readers of one value names them all twice.
      bool isOfMany = pair->nodes == pair->with;
      if (isOfMany
              ? concern(pair->nodes, a.nodes) && concern(pair->with, b.nodes)
              : (matches(pair->nodes, a.nodes) &&
                 matches(pair->with, b.nodes)) ||
                    (matches(pair->nodes, b.nodes) &&
                     matches(pair->with, a.nodes)))
        addReason(answer, pair->pass,
                  a.number() + " and " + b.number() + " of @" + a.entry + ": " +
                      pair->text);
    }
    if (answer.reasons.size() > before)
      return true;
  }
  return false;
}

Answer WhyIndex::whyNotFused(StringRef pair) const {
  Answer answer;
  // A comma may be part of a name.
  StringRef a, b;
  for (size_t at = pair.find(','); at != StringRef::npos;
       at = pair.find(',', at + 1)) {
    a = pair.take_front(at);
    b = pair.drop_front(at + 1);
    if (whyNoNode(a).empty() && whyNoNode(b).empty())
      break;
  }
  if (a.empty() || b.empty())
    answer.problem = "--not-fused: expected NODE,NODE";
  for (StringRef node : {a, b})
    if (answer.problem.empty())
      answer.problem = whyNoNode(node);
  if (!answer.problem.empty())
    return answer;

  std::string both = shown(a) + " and " + shown(b);
  Numbers ofA = commandsOf_.lookup(a), ofB = commandsOf_.lookup(b);
  for (auto [node, commands] : {std::pair(a, ofA), std::pair(b, ofB)})
    if (commands.empty()) {
      answer.headline = both +
                        " are not in one kernel: no command of the "
                        "program computes " +
                        shown(node);
      addFate(node, answer);
      add(node, "place-ops", {"no-code"}, answer);
      if (answer.reasons.empty())
        addReason(answer, "simplify",
                  "its ops were folded or are views of other values");
      return answer;
    }
  size_t together = 0, apart = 0;
  for (size_t command : ofA)
    (ofB.contains(command) ? together : apart) += 1;
  answer.headline = both + (!together ? " are not in one kernel"
                            : apart   ? " are in one kernel in part"
                                      : " are in one kernel");
  llvm::SetVector<StringRef> entries;
  for (const Numbers &commands : {ofA, ofB})
    for (size_t command : commands)
      entries.insert(commands_[command].entry);
  for (StringRef entry : entries) {
    auto within = [&](const Numbers &all) {
      Numbers own;
      for (size_t command : all)
        if (commands_[command].entry == entry)
          own.insert(command);
      return own;
    };
    addEntry(entry, within(ofA), within(ofB), answer);
  }
  return answer;
}

/// Adds which commands of `entry` compute the nodes, and why those of one alone
/// and those of the other alone are several.
void WhyIndex::addEntry(StringRef entry, const Numbers &ofA, const Numbers &ofB,
                        Answer &answer) const {
  for (const Numbers *commands : {&ofA, &ofB})
    for (size_t command : *commands) {
      bool isA = ofA.contains(command), isB = ofB.contains(command);
      addReason(answer, "plan-memory",
                commands_[command].text + ": " +
                    (isA && isB ? "both"
                     : isA      ? "the first"
                                : "the second"));
    }
  bool isKnown = false, areApart = false;
  for (size_t first : ofA)
    for (size_t second : ofB)
      if (!ofB.contains(first) && !ofA.contains(second)) {
        areApart = true;
        isKnown |= addPairs(first, second, answer);
      }
  if (areApart && !isKnown)
    addReason(answer, "fuse",
              ("@" + entry +
               ": no command of one reads a result of a command of the other, "
               "and they read no common value: one kernel would save nothing")
                  .str());
}

Answer WhyIndex::whyKernel(StringRef name) const {
  Answer answer;
  Numbers own;
  for (auto [number, command] : llvm::enumerate(commands_))
    if (command.kernel == name || command.kind == name)
      own.insert(number);
  if (own.empty()) {
    llvm::SetVector<StringRef> kinds;
    for (const Command &command : commands_)
      if (!command.kind.empty())
        kinds.insert(command.kind);
    answer.problem =
        "the program has no kernel " + quoted(name.str()) +
        (kinds.empty() ? std::string()
                       : ", and no other commands than " +
                             llvm::join(kinds.getArrayRef(), ", ")) +
        "; 'sinter-inspect kernels' lists them";
    return answer;
  }
  llvm::SetVector<StringRef> nodes;
  for (size_t number : own)
    nodes.insert(commands_[number].nodes.begin(),
                 commands_[number].nodes.end());
  answer.headline =
      shown(name) + " computes " +
      (nodes.empty() ? "no node" : llvm::join(nodes.getArrayRef(), ", "));
  for (size_t number : own)
    addReason(answer, "plan-memory", commands_[number].text);
  for (const TraceStep &step : trace_.steps)
    for (const TraceRewrite &rewrite : step.rewrites)
      if (StringRef(rewrite.name).starts_with("group into") &&
          llvm::any_of(own, [&](size_t number) {
            return llvm::ArrayRef(rewrite.nodes) == commands_[number].nodes;
          }))
        addReason(
            answer, step.pass,
            rewrite.name + " of " +
                std::to_string(1 + StringRef(rewrite.before).count('\n')) +
                " ops");
  // Why no more: the reasons for each neighbour.
  for (size_t number : own)
    for (const TraceRemark *pair : pairs_) {
      bool isFirst = concern(pair->nodes, commands_[number].nodes),
           isSecond = concern(pair->with, commands_[number].nodes);
      if (isFirst == isSecond)
        continue;
      const std::vector<std::string> &other =
          isFirst ? pair->with : pair->nodes;
      addReason(
          answer, pair->pass,
          "not with " +
              (other.empty() ? "an op without a node" : shown(other.front())) +
              ": " + pair->text);
    }
  return answer;
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
  return whyBytes(about);
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
    for (const Answer::Reason &reason : answer.reasons)
      reasons.push_back(llvm::json::Object{{"pass", jsonText(reason.pass)},
                                           {"text", jsonText(reason.text)}});
    list.push_back(
        llvm::json::Object{{"option", StringRef(question.option).drop_front(2)},
                           {"about", jsonText(question.about)},
                           {"answer", jsonText(answer.headline)},
                           {"reasons", std::move(reasons)}});
  }
  if (json)
    os << llvm::json::Value(std::move(list)) << "\n";
}
