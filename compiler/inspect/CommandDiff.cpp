//===- CommandDiff.cpp - which command is which of another program --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/CommandDiff.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// What must be equal for two commands to match.
enum class Key { All, Nodes, AllButNodes };

static std::string keyOf(const CommandFacts &command, Key part) {
  std::string key = command.entry + "\n" + command.kind;
  if (part != Key::AllButNodes)
    for (const std::string &node : command.nodes)
      key += "\n" + node;
  if (part == Key::Nodes)
    return key;
  key += "\n\n" + command.device + "\n" + command.ops;
  for (auto &[name, value] : command.signature)
    key += "\n" + name + "=" + value;
  return key;
}

// How well two commands fit each other; 0: not at all. Those of one kind fit if
// one has half the nodes of the other, others if they share a fourth of all.
static double fit(const CommandFacts &a, const CommandFacts &b) {
  std::set<std::string> x(a.nodes.begin(), a.nodes.end()),
      y(b.nodes.begin(), b.nodes.end());
  double common = llvm::count_if(
      x, [&](const std::string &node) { return y.count(node) != 0; });
  double all = x.size() + y.size() - common;
  if (a.kind == b.kind && 2 * common >= std::min(x.size(), y.size()))
    return 1 + common / all;
  return 4 * common >= all ? common / all : 0;
}

static std::string differenceOf(const std::vector<std::string> &from,
                                const std::vector<std::string> &of) {
  std::set<std::string> known(of.begin(), of.end());
  std::string text;
  for (const std::string &node : from)
    if (!known.count(node))
      text += (text.empty() ? "" : ", ") + node;
  return text;
}

static std::vector<std::string> detailsOf(const CommandFacts &a,
                                          const CommandFacts &b) {
  std::vector<std::string> details;
  auto change = [&](const std::string &what, const std::string &from,
                    const std::string &to) {
    if (from != to)
      details.push_back(what + (what.empty() ? "" : " ") +
                        (from.empty() ? "none" : from) + " -> " +
                        (to.empty() ? "none" : to));
  };
  if (std::string left = differenceOf(a.nodes, b.nodes); !left.empty())
    details.push_back("without " + left);
  if (std::string joined = differenceOf(b.nodes, a.nodes); !joined.empty())
    details.push_back("with " + joined);
  change("", a.kind, b.kind);
  change("device", a.device, b.device);
  if (a.kind != b.kind)
    return details;
  std::map<std::string, std::pair<std::string, std::string>> rows;
  for (auto &[name, value] : a.signature)
    rows[name].first = value;
  for (auto &[name, value] : b.signature)
    rows[name].second = value;
  for (auto &[name, values] : rows)
    if (name == kConstantsRow && values.first != values.second)
      details.push_back("other constants");
    else if (name != kCodeRow && name != kMachineRow && name != kLayoutRow &&
             !(StringRef(name).starts_with(kOfPostOps) &&
               rows["post-ops"].first != rows["post-ops"].second))
      change(name, values.first, values.second);
  if (details.empty())
    change(kLayoutRow.str(), rows[kLayoutRow.str()].first,
           rows[kLayoutRow.str()].second);
  // The body of a kernel has the sizes of its operands.
  auto differs = [&](StringRef row) {
    return rows[row.str()].first != rows[row.str()].second;
  };
  if (details.empty() && differs(kCodeRow))
    details.push_back("other code");
  if (details.empty() && differs(kMachineRow))
    details.push_back("other machine code for the same ops");
  if (details.empty())
    change("code", a.ops, b.ops);
  if (details.empty() && a.nodes != b.nodes)
    details.push_back("another order of nodes");
  return details;
}

namespace {

class CommandMatcher {
public:
  CommandMatcher(std::vector<CommandFacts> a, std::vector<CommandFacts> b,
                 ArtifactDifference &result)
      : a_(std::move(a)), b_(std::move(b)), result_(result), doneA_(a_.size()),
        doneB_(b_.size()), pairOfA_(a_.size(), -1), isPairedB_(b_.size()) {
    for (const CommandFacts &command : b_)
      for (const Wire &wire : command.wires)
        if (wire.command < 0)
          placesOfB_.insert(wire.text);
  }

  void run() {
    matchEqual(Key::All);
    matchEqual(Key::Nodes);
    matchEqual(Key::AllButNodes);
    matchOverlapping();
    for (auto [i, j] : pairs_)
      addPair(i, j);
    for (size_t i = 0; i < a_.size(); ++i)
      if (!doneA_[i])
        add(result_.gone, a_[i], {});
    for (size_t i = 0; i < b_.size(); ++i)
      if (!doneB_[i])
        add(result_.added, b_[i], {});
    result_.commands = llvm::count_if(
        b_, [](const CommandFacts &command) { return !command.isScan; });
  }

private:
  // Matches commands with equal keys, in their order. Without nodes only those
  // whose nodes the other program does not have: they were renamed.
  void matchEqual(Key part) {
    std::set<std::string> nodesA = nodesOf(a_), nodesB = nodesOf(b_);
    auto isOut = [&](const CommandFacts &command,
                     const std::set<std::string> &others) {
      return part == Key::AllButNodes &&
             llvm::any_of(command.nodes, [&](const std::string &node) {
               return others.count(node) != 0;
             });
    };
    std::map<std::string, std::vector<size_t>> free;
    for (size_t i = b_.size(); i-- > 0;)
      if (!doneB_[i] && !isOut(b_[i], nodesA))
        free[keyOf(b_[i], part)].push_back(i);
    for (size_t i = 0; i < a_.size(); ++i) {
      if (doneA_[i] || isOut(a_[i], nodesB))
        continue;
      auto found = free.find(keyOf(a_[i], part));
      if (found == free.end() || found->second.empty())
        continue;
      auto taken = bestOf(i, found->second);
      size_t j = *taken;
      found->second.erase(taken);
      if (part == Key::AllButNodes)
        renamed_.insert(i);
      match(i, j);
    }
  }

  static std::set<std::string> nodesOf(llvm::ArrayRef<CommandFacts> commands) {
    std::set<std::string> nodes;
    for (const CommandFacts &command : commands)
      nodes.insert(command.nodes.begin(), command.nodes.end());
    return nodes;
  }

  // The pair that fits best first.
  void matchOverlapping() {
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> byNode;
    for (size_t j = 0; j < b_.size(); ++j)
      if (!doneB_[j])
        for (const std::string &node : b_[j].nodes)
          byNode[{b_[j].entry, node}].push_back(j);
    std::vector<std::tuple<double, size_t, size_t>> pairs;
    for (size_t i = 0; i < a_.size(); ++i) {
      if (doneA_[i])
        continue;
      std::set<size_t> near;
      for (const std::string &node : a_[i].nodes)
        if (auto found = byNode.find({a_[i].entry, node});
            found != byNode.end())
          near.insert(found->second.begin(), found->second.end());
      for (size_t j : near)
        if (double share = fit(a_[i], b_[j]); share > 0)
          pairs.emplace_back(-share, i, j);
    }
    llvm::sort(pairs);
    for (auto [share, i, j] : pairs)
      if (!doneA_[i] && !doneB_[j])
        match(i, j);
  }

  void match(size_t i, size_t j) {
    doneA_[i] = doneB_[j] = isPairedB_[j] = true;
    pairOfA_[i] = static_cast<int64_t>(j);
    pairs_.emplace_back(i, j);
  }

  void addPair(size_t i, size_t j) {
    const bool isRenamed = renamed_.count(i) != 0;
    std::vector<std::string> details =
        isRenamed ? std::vector<std::string>() : detailsOf(a_[i], b_[j]);
    if (details.empty())
      for (std::string other : {otherWire(i, j), otherWait(i, j)})
        if (details.empty() && !other.empty())
          details.push_back(std::move(other));
    if (!details.empty())
      return add(result_.changed, b_[j], std::move(details));
    result_.same += !b_[j].isScan;
    result_.renamed += isRenamed && !b_[j].isScan;
  }

  /// Of equal commands of B, the last of the list being the first of the
  /// program, the first one that reads the same results; else the first.
  std::vector<size_t>::iterator bestOf(size_t i, std::vector<size_t> &free) {
    constexpr size_t kMostTried = 64;
    size_t tried = 0;
    for (auto at = free.end(); at != free.begin() && tried++ < kMostTried;)
      if (otherWire(i, *--at).empty())
        return at;
    return std::prev(free.end());
  }

  /// The first operand or result of two commands that is of other commands;
  /// "" if there is none. What has no counterpart in the other program says
  /// nothing.
  std::string otherWire(size_t i, size_t j) const {
    for (auto [x, y] : llvm::zip(a_[i].wires, b_[j].wires)) {
      const int64_t pair = x.command < 0 ? -1 : pairOfA_[x.command];
      const bool isUnknown = (x.command >= 0 && pair < 0) ||
                             (y.command >= 0 && !isPairedB_[y.command]) ||
                             x.text.empty() || y.text.empty() ||
                             (x.command < 0 && !placesOfB_.count(x.text));
      if (isUnknown)
        continue;
      if (pair != y.command || x.text != y.text || hasOtherOffset(x, y))
        return y.what + ": " + wireText(x, a_) + " -> " + wireText(y, b_);
    }
    return "";
  }

  /// Which commands only one of two commands waits for; "" if there is none.
  /// Those without a counterpart in the other program say nothing.
  std::string otherWait(size_t i, size_t j) const {
    std::set<Wait> ofA; // as commands of B
    for (const Wait &wait : a_[i].waits)
      if (int64_t pair = pairOfA_[wait.command]; pair >= 0)
        ofA.insert({pair, wait.isAfter});
    std::string gone, added;
    for (const Wait &wait : a_[i].waits)
      if (int64_t pair = pairOfA_[wait.command];
          pair >= 0 &&
          !llvm::is_contained(b_[j].waits, Wait{pair, wait.isAfter}))
        addWait(wait, a_, gone);
    for (const Wait &wait : b_[j].waits)
      if (isPairedB_[wait.command] && !ofA.count(wait))
        addWait(wait, b_, added);
    if (gone.empty() && added.empty())
      return "";
    return "waits: " + (gone.empty() ? "none" : gone) + " -> " +
           (added.empty() ? "none" : added);
  }

  static void addWait(const Wait &wait, llvm::ArrayRef<CommandFacts> list,
                      std::string &text) {
    text +=
        (text.empty() ? "" : ", ") +
        std::string(wait.isAfter ? "at its end for command " : "for command ") +
        list[wait.command].number;
  }

  /// In a value of another size, other offsets say nothing.
  bool hasOtherOffset(const Wire &x, const Wire &y) const {
    const int64_t of = x.command >= 0 ? x.command : x.scan;
    return x.offset != y.offset &&
           (of < 0 ||
            (pairOfA_[of] >= 0 && detailsOf(a_[of], b_[pairOfA_[of]]).empty()));
  }

  static std::string wireText(const Wire &wire,
                              llvm::ArrayRef<CommandFacts> list) {
    std::string text = wire.text;
    if (wire.command >= 0)
      text += " of command " + list[wire.command].number;
    return text +
           (wire.offset ? " at byte " + std::to_string(wire.offset) : "");
  }

  // Layers that differ in the same way become one line.
  static void add(std::vector<CommandChange> &list, const CommandFacts &command,
                  std::vector<std::string> details) {
    for (CommandChange &change : list)
      if (change.entry == command.entry && change.target == command.target &&
          change.trips == command.trips && change.details == details) {
        ++change.count;
        llvm::append_range(change.nodes, command.nodes);
        return;
      }
    list.push_back({command.entry, command.target, command.nodes,
                    std::move(details), 1, command.trips, command.isScan});
  }

  std::vector<CommandFacts> a_, b_;
  ArtifactDifference &result_;
  std::vector<bool> doneA_, doneB_;
  std::vector<std::pair<size_t, size_t>> pairs_; // in the order of matching
  std::vector<int64_t> pairOfA_;
  std::vector<bool> isPairedB_;
  std::set<size_t> renamed_;        // of A
  std::set<std::string> placesOfB_; // inputs, states, ...
};

} // namespace

void compiler::diffCommands(std::vector<CommandFacts> a,
                            std::vector<CommandFacts> b,
                            ArtifactDifference &result) {
  CommandMatcher(std::move(a), std::move(b), result).run();
}
