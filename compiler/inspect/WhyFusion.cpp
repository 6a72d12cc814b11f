//===- WhyFusion.cpp - the reasons why commands are several ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/inspect/Why.h"
#include "ir/Provenance.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// What became of the ops of a remark
//===----------------------------------------------------------------------===//

bool WhyIndex::Pair::isAbout(size_t a, size_t b) const {
  const bool isOfMany = remark->ops == remark->others;
  const Numbers &seconds = isOfMany ? first : second;
  if (isOfMany)
    return first.contains(a) && first.contains(b);
  // Groups that were merged later are apart nowhere.
  auto isApart = [&](size_t of, size_t from) {
    return first.contains(of) && seconds.contains(from) &&
           !seconds.contains(of) && !first.contains(from);
  };
  return isApart(a, b) || isApart(b, a);
}

void WhyIndex::settlePairs() {
  llvm::DenseMap<unsigned, Numbers> holders; // by op
  // A copy may have the ops of what it copies.
  for (bool isMade : {true, false}) {
    llvm::DenseMap<unsigned, Numbers> own;
    for (auto [number, command] : llvm::enumerate(commands_))
      if ((command.isFusion() || command.kind == "scan") == isMade)
        for (unsigned op : command.ops)
          own[op].insert(number);
    for (auto &[op, commands] : own)
      holders.try_emplace(op, commands);
  }
  // Constants that were copied and ops that became part of others are in no
  // command.
  auto settle = [&](llvm::ArrayRef<unsigned> ops, bool isOfMany,
                    Numbers &commands, Numbers &parts) {
    std::vector<unsigned> left;
    llvm::copy_if(ops, std::back_inserter(left),
                  [&](unsigned op) { return holders.contains(op); });
    if (isOfMany) {
      for (unsigned op : left)
        commands.insert(holders[op].begin(), holders[op].end());
    } else if (!left.empty()) {
      for (size_t command : holders[left.front()])
        if (std::ranges::includes(commands_[command].ops, left))
          commands.insert(command);
      if (!commands.empty())
        return;
      // A kernel that was divided: rematerialization divides the updates.
      llvm::SetVector<size_t> candidates;
      for (unsigned op : left)
        candidates.insert(holders[op].begin(), holders[op].end());
      for (size_t command : candidates)
        if (std::ranges::includes(ops, commands_[command].ops)) {
          commands.insert(command);
          parts.insert(command);
        }
    }
  };
  pairsOf_.resize(commands_.size());
  for (auto [number, pair] : llvm::enumerate(pairs_)) {
    const bool isOfMany = pair.remark->ops == pair.remark->others;
    settle(pair.remark->ops, isOfMany, pair.first, pair.parts);
    if (!isOfMany)
      settle(pair.remark->others, false, pair.second, pair.parts);
    Numbers all = pair.first;
    all.insert(pair.second.begin(), pair.second.end());
    for (size_t command : all)
      pairsOf_[command].push_back(number);
  }
}

static bool areGradients(llvm::ArrayRef<std::string> names) {
  return !names.empty() && llvm::all_of(names, [](const std::string &name) {
    return ir::isGradientName(name);
  });
}

// "of NODE and NODE", the first of each group of ops.
static std::string frontNames(const TraceRemark &pair) {
  auto front = [](llvm::ArrayRef<std::string> names) {
    return names.empty() ? "an op without a node" : shown(names.front());
  };
  return "of " + front(pair.nodes) + " and " + front(pair.with);
}

std::string WhyIndex::ofWhole(const Pair &pair,
                              llvm::ArrayRef<size_t> commands) const {
  std::string parts;
  for (size_t command : commands)
    if (pair.parts.contains(command))
      parts += (parts.empty() ? "" : " and ") + commands_[command].number();
  return parts.empty() ? ""
                       : "; this was before rematerialize divided the kernel "
                         "that command " +
                             parts + " is a part of";
}

//===----------------------------------------------------------------------===//
// Two nodes
//===----------------------------------------------------------------------===//

bool WhyIndex::addPairs(StringRef nodeA, size_t first, StringRef nodeB,
                        size_t second, Answer &answer) const {
  bool isKnown = false;
  // Remarks that name both nodes come first: others are about other ops of the
  // same commands.
  for (bool isNamed : {true, false}) {
    for (size_t number : pairsOf_[first]) {
      const Pair &pair = pairs_[number];
      if (!pair.isAbout(first, second))
        continue;
      const TraceRemark &remark = *pair.remark;
      auto name = [&](StringRef a, StringRef b) {
        return llvm::is_contained(remark.nodes, a) &&
               llvm::is_contained(remark.with, b);
      };
      // In the order of the remark.
      const bool isInOrder =
          pair.first.contains(first) && !pair.second.contains(first);
      if (isNamed != (isInOrder ? name(nodeA, nodeB) : name(nodeB, nodeA)))
        continue;
      // Of two nodes, a reason about gradients in the same commands says
      // nothing.
      if (!isNamed && !ir::isGradientName(nodeA) &&
          !ir::isGradientName(nodeB) &&
          (areGradients(remark.nodes) || areGradients(remark.with)))
        continue;
      const Command &a = commands_[isInOrder ? first : second],
                    &b = commands_[isInOrder ? second : first];
      addReason(answer, remark.pass,
                a.number() + " and " + b.number() + " of @" + a.entry + ": " +
                    (isNamed ? "" : frontNames(remark) + ": ") + remark.text +
                    ofWhole(pair, {first, second}),
                &remark);
      isKnown = true;
    }
    if (isKnown)
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

  const bool isOne = a == b;
  std::string both =
      isOne ? "the ops of " + shown(a) : shown(a) + " and " + shown(b);
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
  llvm::SetVector<StringRef> entries;
  for (const Numbers &commands : {ofA, ofB})
    for (size_t command : commands)
      entries.insert(commands_[command].entry);
  // A copy or a scan that both are a part of is not a kernel.
  size_t together = 0, apart = 0;
  for (StringRef entry : entries) {
    size_t own = 0;
    for (size_t command : ofA)
      if (commands_[command].entry == entry && commands_[command].isFusion() &&
          (isOne || ofB.contains(command)))
        ++own;
    auto isElsewhere = [&](const Numbers &commands, const Numbers &others) {
      return llvm::any_of(commands, [&](size_t command) {
        return commands_[command].entry == entry &&
               commands_[command].isFusion() && !others.contains(command);
      });
    };
    together += own > 0;
    apart += isOne ? own > 1 : isElsewhere(ofA, ofB) || isElsewhere(ofB, ofA);
  }
  answer.headline =
      both + (!together || (isOne && apart) ? " are not in one kernel"
              : apart                       ? " are in one kernel in part"
                                            : " are in one kernel");
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
  const bool isOne = a.node == b.node;
  for (const Side *side : {&a, &b})
    for (size_t command : side->commands) {
      bool isA = a.commands.contains(command),
           isB = b.commands.contains(command);
      addReason(answer, "plan-memory",
                commands_[command].text + (isOne        ? ""
                                           : isA && isB ? ": both"
                                           : isA        ? ": the first"
                                                        : ": the second"));
    }
  addApart(entry, a, b, answer);
}

void WhyIndex::addApart(StringRef entry, const Side &a, const Side &b,
                        Answer &answer) const {
  const bool isOne = a.node == b.node;
  auto isInBody = [&](size_t command) {
    return StringRef(commands_[command].number()).contains('.');
  };
  bool isKnown = false, areApart = false, areInBody = false;
  for (size_t first : a.commands)
    for (size_t second : b.commands) {
      if (isOne ? first >= second
                : b.commands.contains(first) || a.commands.contains(second))
        continue;
      areApart = true;
      if (isInBody(first) != isInBody(second))
        areInBody = true;
      else
        isKnown |= addPairs(a.node, first, b.node, second, answer);
    }
  if (!areApart)
    return;
  if (areInBody)
    addReason(answer, "fuse",
              ("@" + entry +
               ": no kernel has ops of the body of a scan and others: the body "
               "runs once for each trip")
                  .str());
  else if (!isKnown)
    addReason(answer, "fuse",
              ("@" + entry +
               ": no pass recorded a reason: passes try two kernels as one if "
               "one reads a result of the other, or if both read one value")
                  .str());
}

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

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
  StringRef grouped = kernel.empty() ? "group into sinter.library_call"
                                     : "group into sinter.kernel";
  for (const TraceStep &step : trace_.steps)
    for (const TraceRewrite &rewrite : step.rewrites)
      if (rewrite.name == grouped && !rewrite.ops.empty() &&
          llvm::any_of(own, [&](size_t number) {
            return std::ranges::includes(commands_[number].ops, rewrite.ops);
          }))
        addReason(
            answer, step.pass,
            rewrite.name + " of " +
                std::to_string(1 + StringRef(rewrite.before).count('\n')) +
                " ops");
  // Why no more: the reasons for each neighbour.
  for (size_t number : own)
    for (size_t at : pairsOf_[number]) {
      const Pair &pair = pairs_[at];
      const TraceRemark &remark = *pair.remark;
      bool isFirst = pair.first.contains(number),
           isSecond = pair.second.contains(number);
      if (isFirst == isSecond)
        continue;
      const std::vector<std::string> &other =
          isFirst ? remark.with : remark.nodes;
      addReason(
          answer, remark.pass,
          "not with " +
              (other.empty() ? "an op without a node" : shown(other.front())) +
              ": " + remark.text + ofWhole(pair, number),
          &remark);
    }
  return answer;
}
