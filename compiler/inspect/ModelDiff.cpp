//===- ModelDiff.cpp - what differs between two graphs --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ModelDiff.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <cstring>
#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <typename T>
static std::string valueChange(llvm::ArrayRef<char> a, llvm::ArrayRef<char> b) {
  size_t count = a.size() / sizeof(T), other = 0;
  double most = 0;
  for (size_t i = 0; i < count; ++i) {
    T x, y;
    std::memcpy(&x, a.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&y, b.data() + i * sizeof(T), sizeof(T));
    if (std::memcmp(&x, &y, sizeof(T)) == 0)
      continue;
    ++other;
    double distance =
        std::fabs(static_cast<double>(x) - static_cast<double>(y));
    most = distance > most || std::isnan(distance) ? distance : most;
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << other << " of " << count << " values, by at most "
      << llvm::format("%.3g", most);
  return text;
}

// "33 of 396 values, by at most 0.1"
static std::string valueChange(const ModelNode &a, const ModelNode &b) {
  if (!a.value || !b.value)
    return "other initial values";
  llvm::ArrayRef<char> x = bytesOf(a.value), y = bytesOf(b.value);
  if (x.size() == y.size()) {
    if (a.dtype == "f32")
      return valueChange<float>(x, y);
    if (a.dtype == "f64")
      return valueChange<double>(x, y);
    if (a.dtype == "i64")
      return valueChange<int64_t>(x, y);
    if (a.dtype == "i32")
      return valueChange<int32_t>(x, y);
  }
  return "other values";
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {

// The ops of one graph by the name of their node.
struct Names {
  explicit Names(const ModelGraph &graph) {
    for (auto [i, node] : llvm::enumerate(graph.graph.nodes))
      if (!node.isBoundary && !graph.details[i].isWeight)
        ops[node.name].push_back(i);
  }
  bool isNode(StringRef name) const { return ops.count(name.str()); }

  std::map<std::string, std::vector<unsigned>> ops;
};

class Comparison {
public:
  Comparison(const ModelGraph &a, const ModelGraph &b)
      : a_(a), b_(b), match_(matchGraphs(a.graph, b.graph)), namesA_(a),
        namesB_(b) {}

  ModelDifference run() {
    for (size_t i = 0; i < a_.graph.nodes.size(); ++i)
      if (match_.ofA[i] == kUnmatched)
        addUnmatched(a_, namesA_, i, goneOps_, result_.gone);
      else
        comparePair(i, match_.ofA[i]);
    for (size_t i = 0; i < b_.graph.nodes.size(); ++i)
      if (match_.ofB[i] == kUnmatched)
        addUnmatched(b_, namesB_, i, addedOps_, result_.added);
    pairReplaced();
    settleGone();
    settleAdded();
    for (auto &[names, change] : changes_)
      result_.changed.push_back(std::move(change));
    // Inputs, nodes and outputs before weights, of which there may be many.
    for (auto *list : {&result_.changed, &result_.gone, &result_.added})
      llvm::stable_sort(*list, [](const ModelChange &a, const ModelChange &b) {
        return a.kind < b.kind;
      });
    count();
    return std::move(result_);
  }

private:
  using OpsOfNode = std::map<std::string, std::vector<unsigned>>;

  const MatchNode &nodeA(unsigned i) const { return a_.graph.nodes[i]; }
  const MatchNode &nodeB(unsigned i) const { return b_.graph.nodes[i]; }

  // A constant that an importer made for a node is part of the node.
  static std::string kindOf(const ModelGraph &graph, const Names &names,
                            unsigned i) {
    const MatchNode &node = graph.graph.nodes[i];
    if (node.isBoundary)
      return node.op;
    return graph.details[i].isWeight && !names.isNode(node.name) ? "weight"
                                                                 : "node";
  }

  void addUnmatched(const ModelGraph &graph, const Names &names, unsigned i,
                    OpsOfNode &ops, std::vector<ModelChange> &list) {
    const MatchNode &node = graph.graph.nodes[i];
    std::string kind = kindOf(graph, names, i);
    if (kind == "node")
      ops[node.name].push_back(i);
    else
      list.push_back({kind, node.name, "", {node.type}});
  }

  std::vector<std::string> &changesOf(const std::string &kind,
                                      const MatchNode &a, const MatchNode &b) {
    ModelChange &change = changes_[{a.name, b.name}];
    change.kind = kind;
    change.name = a.name;
    if (a.name != b.name)
      change.nameB = b.name;
    return change.details;
  }

  void comparePair(unsigned i, unsigned j) {
    const MatchNode &a = nodeA(i), &b = nodeB(j);
    std::string kind = kindOf(a_, namesA_, i);
    if (a.name != b.name)
      renamed_.insert({a.name, b.name});
    std::vector<std::string> details;
    std::string op = kind == "node" ? a.op + ": " : "";
    if (a.op != b.op)
      details.push_back(a.op + " -> " + b.op);
    else
      compareAttributes(a_.details[i], b_.details[j], op, details);
    if (a.value != b.value && a.type == b.type)
      details.push_back(op + valueChange(a_.details[i], b_.details[j]) +
                        (kind == "weight" ? readersOf(b_.graph, j) : ""));
    compareOperands(a, b, op, details);
    if (!details.empty())
      llvm::append_range(changesOf(kind, a, b), details);
    if (a.type == b.type)
      return;
    otherTypes_.insert(b.name);
    types_[{kind, a.name}].insert(a.type + " -> " + b.type);
  }

  // ", read by /c1/Conv and 2 more"; "" if no node reads it.
  static std::string readersOf(const MatchGraph &graph, unsigned weight) {
    std::set<std::string> names;
    std::string first;
    for (const MatchNode &node : graph.nodes)
      if (!node.isBoundary && !node.name.empty() &&
          llvm::any_of(
              node.operands,
              [&](const MatchNode::Use &use) { return use.node == weight; }) &&
          names.insert(node.name).second && first.empty())
        first = node.name;
    if (names.empty())
      return "";
    return ", read by " + first +
           (names.size() > 1
                ? " and " + std::to_string(names.size() - 1) + " more"
                : "");
  }

  static void compareAttributes(const ModelNode &a, const ModelNode &b,
                                const std::string &op,
                                std::vector<std::string> &details) {
    std::map<std::string, std::pair<std::string, std::string>> all;
    for (auto &[key, value] : a.attributes)
      all[key].first = value;
    for (auto &[key, value] : b.attributes)
      all[key].second = value;
    for (auto &[key, values] : all)
      if (values.first != values.second)
        details.push_back(
            op + key + " " + (values.first.empty() ? "none" : values.first) +
            " -> " + (values.second.empty() ? "none" : values.second));
  }

  void compareOperands(const MatchNode &a, const MatchNode &b,
                       const std::string &op,
                       std::vector<std::string> &details) const {
    if (a.operands.size() != b.operands.size()) {
      details.push_back(op + std::to_string(a.operands.size()) + " -> " +
                        std::to_string(b.operands.size()) + " operands");
      return;
    }
    for (auto [k, pair] :
         llvm::enumerate(llvm::zip_equal(a.operands, b.operands))) {
      auto [x, y] = pair;
      if (isSameOperand(x, y) || isExplained(x.node, y.node))
        continue;
      details.push_back(op + "operand " + std::to_string(k) + " " +
                        nameOf(nodeA(x.node)) + " -> " + nameOf(nodeB(y.node)));
    }
  }

  static std::string nameOf(const MatchNode &node) {
    return node.name.empty() ? node.op : node.name;
  }

  bool isSameOperand(const MatchNode::Use &x, const MatchNode::Use &y) const {
    if (match_.ofA[x.node] == y.node && x.result == y.result)
      return true;
    // Equal constants may have matched crosswise.
    const MatchNode &a = nodeA(x.node), &b = nodeB(y.node);
    return a_.details[x.node].isWeight && b_.details[y.node].isWeight &&
           a.op == b.op && a.type == b.type && a.value == b.value;
  }

  // Whether the operand differs only because nodes on the way to it were added
  // or are gone: behind these is the same node.
  bool isExplained(unsigned x, unsigned y) const {
    if (match_.ofA[x] != kUnmatched && match_.ofB[y] != kUnmatched)
      return false;
    llvm::DenseSet<unsigned> behindB;
    for (unsigned node : behind(b_.graph, match_.ofB, y))
      behindB.insert(node);
    std::vector<unsigned> behindA = behind(a_.graph, match_.ofA, x);
    return behindB.empty() || behindA.empty() ||
           llvm::any_of(behindA, [&](unsigned node) {
             return behindB.contains(match_.ofA[node]);
           });
  }

  // The nearest matched nodes from which `start` is computed.
  static std::vector<unsigned> behind(const MatchGraph &graph,
                                      llvm::ArrayRef<unsigned> matches,
                                      unsigned start) {
    std::vector<unsigned> found, work = {start};
    llvm::DenseSet<unsigned> seen = {start};
    while (!work.empty()) {
      unsigned node = work.back();
      work.pop_back();
      if (matches[node] != kUnmatched) {
        found.push_back(node);
        continue;
      }
      for (const MatchNode::Use &use : graph.nodes[node].operands)
        if (seen.insert(use.node).second)
          work.push_back(use.node);
    }
    return found;
  }

  // The matched op of a node, or kUnmatched if none of its ops is.
  static unsigned matchedOp(const Names &names, const std::string &name,
                            llvm::ArrayRef<unsigned> matches) {
    auto found = names.ops.find(name);
    if (found != names.ops.end())
      for (unsigned op : found->second)
        if (matches[op] != kUnmatched)
          return op;
    return kUnmatched;
  }

  static std::string opsText(const ModelGraph &graph,
                             llvm::ArrayRef<unsigned> ops) {
    std::string text;
    for (unsigned op : ops)
      text += (text.empty() ? "" : ", ") + graph.graph.nodes[op].op;
    return text;
  }

  // The operands and readers of an unmatched node, as numbers of nodes of b.
  // Empty if one of them is unmatched. Constants are ignored.
  std::vector<unsigned> surroundings(const ModelGraph &graph,
                                     llvm::ArrayRef<unsigned> ops,
                                     bool isA) const {
    llvm::DenseSet<unsigned> own(ops.begin(), ops.end());
    std::set<unsigned> reads, users;
    auto addTo = [&](std::set<unsigned> &set, unsigned node) {
      set.insert(isA                              ? match_.ofA[node]
                 : match_.ofB[node] == kUnmatched ? kUnmatched
                                                  : node);
    };
    for (unsigned op : ops)
      for (const MatchNode::Use &use : graph.graph.nodes[op].operands)
        if (!own.contains(use.node) && !graph.details[use.node].isWeight)
          addTo(reads, use.node);
    for (auto [i, node] : llvm::enumerate(graph.graph.nodes))
      if (!own.contains(i) &&
          llvm::any_of(node.operands, [&](const MatchNode::Use &use) {
            return own.contains(use.node);
          }))
        addTo(users, i);
    if (reads.empty() || users.empty() || reads.count(kUnmatched) ||
        users.count(kUnmatched))
      return {};
    std::vector<unsigned> all(reads.begin(), reads.end());
    all.push_back(kUnmatched); // parts the two
    all.insert(all.end(), users.begin(), users.end());
    return all;
  }

  // A node that is gone and one that was added between the same nodes are one
  // that has changed.
  void pairReplaced() {
    std::map<std::vector<unsigned>, std::string> places;
    for (auto &[name, ops] : addedOps_)
      if (matchedOp(namesB_, name, match_.ofB) == kUnmatched)
        if (auto place = surroundings(b_, ops, false); !place.empty())
          places.emplace(std::move(place), name);
    for (auto it = goneOps_.begin(); it != goneOps_.end();) {
      auto &[name, ops] = *it++;
      if (matchedOp(namesA_, name, match_.ofA) != kUnmatched)
        continue;
      auto found = places.find(surroundings(a_, ops, true));
      if (found == places.end())
        continue;
      std::string other = found->second;
      places.erase(found);
      replace(name, other);
    }
  }

  // Reports node `name` of a as changed into node `other` of b.
  void replace(const std::string &name, const std::string &other) {
    const std::vector<unsigned> &ops = goneOps_[name], &now = addedOps_[other];
    if (name != other)
      renamed_.insert({name, other});
    changesOf("node", nodeA(ops[0]), nodeB(now[0]))
        .push_back(opsText(a_, ops) + " -> " + opsText(b_, now));
    goneOps_.erase(name);
    addedOps_.erase(other);
  }

  // A node is gone if all its ops are; else it has changed.
  void settleGone() {
    for (auto it = goneOps_.begin(); it != goneOps_.end();) {
      auto &[name, ops] = *it++; // replace() erases it
      std::string text = opsText(a_, ops);
      if (unsigned op = matchedOp(namesA_, name, match_.ofA); op != kUnmatched)
        changesOf("node", nodeA(op), nodeB(match_.ofA[op]))
            .push_back(text + " gone");
      else if (addedOps_.count(name) &&
               matchedOp(namesB_, name, match_.ofB) == kUnmatched)
        replace(name, name);
      else
        result_.gone.push_back(
            {"node", name, "", {text + ": " + nodeA(ops.back()).type}});
    }
  }

  void settleAdded() {
    for (auto &[name, ops] : addedOps_) {
      std::string text = opsText(b_, ops);
      if (unsigned op = matchedOp(namesB_, name, match_.ofB); op != kUnmatched)
        changesOf("node", nodeA(match_.ofB[op]), nodeB(op))
            .push_back(text + " added");
      else
        result_.added.push_back(
            {"node", name, "", {text + ": " + nodeB(ops.back()).type}});
    }
  }

  void count() {
    llvm::StringSet<> other;
    for (const ModelChange &change : result_.changed)
      other.insert(change.nameB.empty() ? change.name : change.nameB);
    for (const ModelChange &change : result_.added)
      other.insert(change.name);
    for (auto &[key, texts] : types_)
      result_.types.push_back(
          {key.first, key.second, "", {texts.begin(), texts.end()}});
    for (const auto &entry : otherTypes_)
      other.insert(entry.getKey());
    for (auto &[name, ops] : namesB_.ops) {
      ++result_.nodes;
      result_.same += !other.contains(name);
    }
    result_.renamed.assign(renamed_.begin(), renamed_.end());
  }

  const ModelGraph &a_, &b_;
  GraphMatch match_;
  Names namesA_, namesB_;
  OpsOfNode goneOps_, addedOps_;
  std::map<std::pair<std::string, std::string>, ModelChange> changes_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>>
      types_;                    // by kind and name
  llvm::StringSet<> otherTypes_; // names in b
  std::set<std::pair<std::string, std::string>> renamed_;
  ModelDifference result_;
};

} // namespace

ModelDifference compiler::diffModels(const ModelGraph &a, const ModelGraph &b) {
  return Comparison(a, b).run();
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

// Entries of a list that are shown without `all`.
static constexpr size_t kMostShown = 20, kMostTypes = 5, kMostRenamed = 3;

// "changed  node /c1/Conv: conv: strides [1, 1] -> [2, 2]"
static void printChanges(StringRef word, llvm::ArrayRef<ModelChange> changes,
                         size_t most, llvm::raw_ostream &os) {
  for (const ModelChange &change : changes.take_front(most)) {
    os << llvm::left_justify(word, 8) << " " << change.kind << " "
       << (change.name.empty() ? "without a name" : shown(change.name));
    if (!change.nameB.empty())
      os << " (now " << shown(change.nameB) << ")";
    for (auto [i, detail] : llvm::enumerate(change.details))
      os << (i ? "; " : ": ") << shown(detail, 200);
    os << "\n";
  }
  if (changes.size() > most)
    os << llvm::left_justify(word, 8) << " and " << changes.size() - most
       << " more\n";
}

static void printSum(const ModelDifference &difference, llvm::raw_ostream &os) {
  if (difference.empty())
    os << "the same graph; " << difference.nodes << " nodes";
  else
    os << difference.same << " of " << difference.nodes << " nodes the same, "
       << difference.changed.size() << " changed, " << difference.gone.size()
       << " gone, " << difference.added.size() << " added, "
       << difference.types.size() << " of another type";
  os << ", " << difference.renamed.size() << " renamed\n";
}

void compiler::printDifference(const ModelDifference &difference, bool all,
                               llvm::raw_ostream &os) {
  auto most = [&](size_t count) { return all ? SIZE_MAX : count; };
  printChanges("changed", difference.changed, most(kMostShown), os);
  printChanges("gone", difference.gone, most(kMostShown), os);
  printChanges("added", difference.added, most(kMostShown), os);
  printChanges("type", difference.types, most(kMostTypes), os);
  for (auto &[a, b] :
       llvm::ArrayRef(difference.renamed).take_front(most(kMostRenamed)))
    os << "renamed  " << shown(a) << " -> " << shown(b) << "\n";
  if (difference.renamed.size() > most(kMostRenamed))
    os << "renamed  and " << difference.renamed.size() - kMostRenamed
       << " more\n";
  printSum(difference, os);
}

static json::Array changesJson(llvm::ArrayRef<ModelChange> changes) {
  json::Array list;
  for (const ModelChange &change : changes) {
    json::Array details;
    for (const std::string &detail : change.details)
      details.push_back(jsonText(detail));
    json::Object object{{"kind", change.kind},
                        {"name", jsonText(change.name)},
                        {"details", std::move(details)}};
    if (!change.nameB.empty())
      object["new_name"] = jsonText(change.nameB);
    list.push_back(std::move(object));
  }
  return list;
}

json::Object compiler::differenceJson(const ModelDifference &difference) {
  json::Array renamed;
  for (auto &[a, b] : difference.renamed)
    renamed.push_back(json::Array{jsonText(a), jsonText(b)});
  return json::Object{{"same", difference.empty()},
                      {"nodes", difference.nodes},
                      {"same_nodes", difference.same},
                      {"changed", changesJson(difference.changed)},
                      {"gone", changesJson(difference.gone)},
                      {"added", changesJson(difference.added)},
                      {"types", changesJson(difference.types)},
                      {"renamed", std::move(renamed)}};
}
