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

bool WhyIndex::isComputed(StringRef node) const {
  if (commandsOf_.contains(node))
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
  std::string literal = "\"";
  llvm::raw_string_ostream os(literal);
  llvm::printEscapedString(name, os);
  os << '"';
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
  return "the program has no node " + name;
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

// "of NODE and NODE", the first of each group of ops.
static std::string frontNames(const TraceRemark &pair) {
  auto front = [](llvm::ArrayRef<std::string> names) {
    return names.empty() ? "an op without a node" : shown(names.front());
  };
  return "of " + front(pair.nodes) + " and " + front(pair.with);
}

bool WhyIndex::addPairs(StringRef nodeA, size_t first, StringRef nodeB,
                        size_t second, Answer &answer) const {
  const Command &a = commands_[first], &b = commands_[second];
  size_t before = answer.reasons.size();
  // Remarks that name both nodes come first: others are about other ops of the
  // same commands. A kernel bears the nodes of all its ops, so those of the ops
  // of a remark are among them. Ops that were divided or merged after the
  // remark have others.
  for (auto [isNamed, isExact] :
       {std::pair(true, true), std::pair(true, false), std::pair(false, true),
        std::pair(false, false)}) {
    for (const TraceRemark *pair : pairs_) {
      if (!pair->function.empty() && pair->function != a.entry)
        continue;
      // A remark about many readers of one value names them all twice.
      bool isWhole = isExact && pair->nodes != pair->with;
      auto isAbout = [&, isNamed = isNamed](llvm::ArrayRef<std::string> ops,
                                            StringRef node,
                                            const Command &command) {
        return (!isNamed || llvm::is_contained(ops, node)) &&
               (isWhole ? !ops.empty() && isPart(ops, command.nodes)
                        : concern(ops, command.nodes));
      };
      if ((isAbout(pair->nodes, nodeA, a) && isAbout(pair->with, nodeB, b)) ||
          (isAbout(pair->nodes, nodeB, b) && isAbout(pair->with, nodeA, a)))
        addReason(answer, pair->pass,
                  a.number() + " and " + b.number() + " of @" + a.entry + ": " +
                      (isNamed ? "" : frontNames(*pair) + ": ") + pair->text,
                  pair);
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
    if (whyNotComputed(a).empty() && whyNotComputed(b).empty())
      break;
  }
  if (a.empty() || b.empty())
    answer.problem = "--not-fused: expected NODE,NODE";
  for (StringRef node : {a, b})
    if (answer.problem.empty())
      answer.problem = whyNotComputed(node);
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
    addEntry(entry, {a, within(ofA)}, {b, within(ofB)}, answer);
  }
  return answer;
}

/// Adds which commands of `entry` compute the nodes, and why those of one alone
/// and those of the other alone are several.
void WhyIndex::addEntry(StringRef entry, const Side &a, const Side &b,
                        Answer &answer) const {
  for (const Side *side : {&a, &b})
    for (size_t command : side->commands) {
      bool isA = a.commands.contains(command),
           isB = b.commands.contains(command);
      addReason(answer, "plan-memory",
                commands_[command].text + ": " +
                    (isA && isB ? "both"
                     : isA      ? "the first"
                                : "the second"));
    }
  bool isKnown = false, areApart = false;
  for (size_t first : a.commands)
    for (size_t second : b.commands)
      if (!b.commands.contains(first) && !a.commands.contains(second)) {
        areApart = true;
        isKnown |= addPairs(a.node, first, b.node, second, answer);
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
  // "k13" stands for "k13_mul_add".
  std::string start = name.str() + "_";
  const bool isNumber = name.size() > 1 && name.front() == 'k' &&
                        llvm::all_of(name.drop_front(), llvm::isDigit);
  for (auto [number, command] : llvm::enumerate(commands_))
    if (command.kernel == name || command.kind == name ||
        (isNumber && StringRef(command.kernel).starts_with(start)))
      own.insert(number);
  if (own.empty()) {
    llvm::SetVector<StringRef> kinds;
    for (const Command &command : commands_)
      if (!command.kind.empty())
        kinds.insert(command.kind);
    answer.problem = "the program has no kernel " + quoted(name.str());
    if (isComputed(name))
      answer.problem += "; it is a node, which 'sinter-inspect kernels FILE "
                        "NODE' takes";
    else
      answer.problem +=
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
  const std::string &kernel = commands_[own.front()].kernel;
  answer.headline =
      shown(kernel.empty() ? name : StringRef(kernel)) + " computes " +
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
              ": " + pair->text,
          pair);
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
