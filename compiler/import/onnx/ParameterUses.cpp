//===- ParameterUses.cpp - which parameter is at an input -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ParameterUses.h"
#include "compiler/import/onnx/RestoreParameters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <set>

using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace sinter::compiler {

llvm::StringRef operationOf(llvm::StringRef value) {
  return value.rtrim("0123456789").trim('_');
}

bool isMoved(llvm::StringRef value) {
  static const llvm::StringSet<> operations = {"alias",
                                               "cat",
                                               "chunk",
                                               "clone",
                                               "concat",
                                               "contiguous",
                                               "copy",
                                               "embedding",
                                               "expand",
                                               "expand_as",
                                               "flatten",
                                               "flip",
                                               "gather",
                                               "getitem",
                                               "index",
                                               "index_select",
                                               "lift_fresh_copy",
                                               "movedim",
                                               "narrow",
                                               "permute",
                                               "repeat",
                                               "repeat_interleave",
                                               "reshape",
                                               "roll",
                                               "select",
                                               "slice",
                                               "split",
                                               "split_with_sizes",
                                               "squeeze",
                                               "stack",
                                               "swapaxes",
                                               "t",
                                               "take",
                                               "to",
                                               "to_copy",
                                               "transpose",
                                               "type_as",
                                               "unbind",
                                               "unflatten",
                                               "unsafe_view",
                                               "unsqueeze",
                                               "view",
                                               "view_as",
                                               "val"};
  return operations.contains(operationOf(value));
}

bool isMadeOfNumbers(llvm::StringRef value) {
  static const llvm::StringSet<> operations = {
      "arange",       "empty",         "eye",
      "fill",         "full",          "full_like",
      "lift_fresh",   "linspace",      "new_full",
      "new_ones",     "new_zeros",     "ones",
      "ones_like",    "scalar_tensor", "scalar_tensor_default",
      "sym_size_int", "tril_indices",  "triu_indices",
      "zeros",        "zeros_like"};
  return operations.contains(operationOf(value));
}

/// Whether a value that no node computes was more than a copy. In a file that
/// was exported for inference, a dropout is a copy.
static bool isLeftOut(llvm::StringRef value) {
  return !isMoved(value) && !isMadeOfNumbers(value) &&
         !operationOf(value).contains("dropout") &&
         operationOf(value) != "detach";
}

namespace {

bool isRecurrent(const NodeProto &node, const FxCall &call) {
  llvm::StringRef op = node.op_type();
  return (op == "LSTM" && call.target == "aten.lstm") ||
         (op == "GRU" && call.target == "aten.gru") ||
         (op == "RNN" &&
          (call.target == "aten.rnn_tanh" || call.target == "aten.rnn_relu"));
}

/// Such a value follows its parameter, but no gradient flows through it.
bool isDetached(llvm::StringRef value) {
  return operationOf(value) == "detach";
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

class UseFinder {
public:
  UseFinder(const GraphProto &graph, const Signature &signature,
            const llvm::StringMap<bool> &initializers,
            const std::vector<bool> &live)
      : graph_(graph), signature_(signature), initializers_(initializers) {
    for (int i = 0; i < graph.node_size(); ++i) {
      calls_.push_back(live[i] ? readFxCall(graph.node(i)) : std::nullopt);
      if (!live[i])
        continue;
      nodes_.push_back(i);
      for (const std::string &output : graph.node(i).output())
        produced_.insert(output);
      if (!calls_[i])
        continue;
      groups_[calls_[i]->result].push_back(i);
      produced_.insert(calls_[i]->result);
      for (const std::string &value : calls_[i]->values)
        if (signature.byPlaceholder(value))
          found_.mentioned.insert(value);
    }
    for (const auto &input : graph.input())
      produced_.insert(input.name());
    for (const std::string &input : signature.inputs())
      produced_.insert(input);
    for (const auto &tensor : graph.initializer())
      produced_.insert(tensor.name());
  }

  ParameterUses run() {
    for (int i : nodes_) {
      const NodeProto &node = graph_.node(i);
      for (const auto &attribute : node.attribute())
        if (attribute.has_g())
          scanBody(attribute.g());
      if (hasFoldedBatchNorm(node))
        for (const std::string &input : node.input())
          found_.folded.insert(input);
      if (calls_[i] && isRecurrent(node, *calls_[i]) && addLayer(i))
        continue;
      for (int input = 0; input < node.input_size(); ++input)
        if (initializers_.contains(node.input(input)))
          found_.uses.push_back(classify(i, input));
      if (calls_[i])
        addDropped(i);
    }
    findAliases();
    findVanished();
    findReplaced();
    return std::move(found_);
  }

private:
  void scanBody(const GraphProto &body) {
    for (const NodeProto &node : body.node()) {
      std::optional<FxCall> call = readFxCall(node);
      if (call)
        for (const std::string &value : call->values)
          if (signature_.byPlaceholder(value))
            found_.mentioned.insert(value);
      for (const std::string &input : node.input()) {
        if (!initializers_.contains(input))
          continue;
        const SignatureEntry *named = signature_.byTarget(input);
        if (named)
          found_.inBodies.insert(named->placeholder);
        // The node reads the call's own parameter under another name.
        bool isOther =
            call && (!named || !isMentioned(*call, *named)) &&
            llvm::any_of(call->values, [&](const std::string &value) {
              const SignatureEntry *entry = signature_.byPlaceholder(value);
              return entry && !llvm::is_contained(node.input(), entry->target);
            });
        if (isOther)
          found_.unclearInBodies.push_back(input);
      }
      for (const auto &attribute : node.attribute())
        if (attribute.has_g())
          scanBody(attribute.g());
    }
  }

  ParameterUse classify(int index, int input) {
    const NodeProto &node = graph_.node(index);
    const std::string &name = node.input(input);
    ParameterUse use;
    use.node = index;
    use.input = input;
    use.value = name;
    auto state = [&](const SignatureEntry *entry,
                     ParameterLayout layout = ParameterLayout::Same) {
      use.kind = ParameterUse::Kind::State;
      use.entry = entry;
      use.layout = layout;
      return use;
    };
    auto as = [&](ParameterUse::Kind kind) {
      bool isFolded = kind == ParameterUse::Kind::Folded;
      use.kind = isFolded && isMadeOfNumbers(use.value)
                     ? ParameterUse::Kind::Constant
                     : kind;
      return use;
    };
    const SignatureEntry *named = signature_.byTarget(name);
    const std::optional<FxCall> &call = calls_[index];
    if (!call)
      return named ? state(named) : as(ParameterUse::Kind::Folded);

    std::optional<CallOperand> operand = findOperand(node, input, *call);
    if (operand) {
      const std::vector<std::string> &values = operand->values;
      if (values.empty())
        return as(ParameterUse::Kind::Constant);
      if (values.size() == 1)
        if (const SignatureEntry *entry = signature_.byPlaceholder(values[0]))
          return state(entry, operand->layout);
      use.value = values.front();
      if (isDetached(use.value))
        return as(ParameterUse::Kind::Unclear);
      return named && isMentioned(*call, *named)
                 ? state(named)
                 : as(ParameterUse::Kind::Folded);
    }
    if (named && isMentioned(*call, *named))
      return state(named);
    if (llvm::is_contained(call->values, name))
      return as(ParameterUse::Kind::Folded);
    if (hasFoldedBatchNorm(node) && !named)
      return as(ParameterUse::Kind::Folded);
    // Equal initializers share one name. If the initializer has another entry's
    // name, it is the call's entry only if the call has just one left.
    std::vector<const SignatureEntry *> left = unnamed(*call);
    if (named && left.size() == 1 && initializers_.lookup(name))
      return state(left.front());
    if (named && !rewriteRules(node).empty())
      return state(named);
    if (!left.empty())
      return as(ParameterUse::Kind::Unclear);
    // Single numbers, such as the scale of an attention, are literals of calls.
    return as(initializers_.lookup(name) && readsUnknown(*call)
                  ? ParameterUse::Kind::Folded
                  : ParameterUse::Kind::Constant);
  }

  static bool isMentioned(const FxCall &call, const SignatureEntry &entry) {
    return llvm::is_contained(call.values, entry.placeholder);
  }

  /// The entries that the call names and that none of its nodes reads under the
  /// entry's name.
  std::vector<const SignatureEntry *> unnamed(const FxCall &call) {
    std::vector<const SignatureEntry *> entries;
    for (const std::string &value : call.values) {
      const SignatureEntry *entry = signature_.byPlaceholder(value);
      if (!entry || llvm::is_contained(entries, entry))
        continue;
      bool isRead = llvm::any_of(groups_[call.result], [&](int node) {
        return llvm::is_contained(graph_.node(node).input(), entry->target);
      });
      if (!isRead)
        entries.push_back(entry);
    }
    return entries;
  }

  /// Whether the call reads a value that no node computes.
  bool readsUnknown(const FxCall &call) {
    return llvm::any_of(call.values, [&](const std::string &value) {
      return !produced_.contains(value) && !signature_.byPlaceholder(value);
    });
  }

  /// Adds an optional operand that the call has and the node lacks.
  void addDropped(int index) {
    const NodeProto &node = graph_.node(index);
    const FxCall &call = *calls_[index];
    if (rewriteRules(node).find("RemoveOptionalBias") == std::string::npos)
      return;
    if (node.input_size() > 2 && !node.input(2).empty())
      return;
    std::optional<CallOperand> operand = findOperand(node, 2, call);
    if (!operand || operand->values.size() != 1)
      return;
    const SignatureEntry *entry =
        signature_.byPlaceholder(operand->values.front());
    if (!entry)
      return;
    ParameterUse use;
    use.node = index;
    use.input = 2;
    use.kind = ParameterUse::Kind::Dropped;
    use.entry = entry;
    found_.uses.push_back(use);
  }

  /// Classifies an initial state of a recurrent layer. The call has a list of
  /// them, one for all layers together.
  ParameterUse classifyBeginning(int index, int input, size_t numLayers) {
    ParameterUse use;
    use.node = index;
    use.input = input;
    use.value = graph_.node(index).input(input);
    const std::vector<std::string> &states = calls_[index]->arguments[1].values;
    size_t which = input - 5;
    if (which >= states.size())
      return use;
    use.value = states[which];
    const SignatureEntry *entry = signature_.byPlaceholder(use.value);
    if (!entry) {
      if (!isMadeOfNumbers(use.value))
        use.kind = ParameterUse::Kind::Folded;
      return use;
    }
    use.kind = numLayers == 1 ? ParameterUse::Kind::State
                              : ParameterUse::Kind::Unclear;
    use.entry = numLayers == 1 ? entry : nullptr;
    return use;
  }

  /// False if the weights of the call do not match those of its nodes.
  bool addLayer(int index) {
    const NodeProto &node = graph_.node(index);
    const FxCall &call = *calls_[index];
    std::vector<int> nodes;
    for (int i : groups_[call.result])
      if (graph_.node(i).op_type() == node.op_type())
        nodes.push_back(i);
    if (call.arguments.size() < 3)
      return false;
    const std::vector<std::string> &values = call.arguments[2].values;
    RecurrentLayer layer;
    layer.node = index;
    layer.perDirection =
        node.input_size() > 3 && !node.input(3).empty() ? 4 : 2;
    size_t directions = 1;
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "direction" && attribute.s() == "bidirectional")
        directions = 2;
    size_t count = directions * layer.perDirection;
    if (values.size() != nodes.size() * count)
      return false;
    size_t first = (llvm::find(nodes, index) - nodes.begin()) * count;
    for (size_t i = 0; i < count; ++i) {
      const SignatureEntry *entry = signature_.byPlaceholder(values[first + i]);
      if (!entry)
        return false;
      layer.weights.push_back(entry);
    }
    for (int input : {1, 2, 3})
      if (input < node.input_size() && !node.input(input).empty() &&
          !initializers_.contains(node.input(input)))
        return false;
    for (int input = 0; input < node.input_size(); ++input) {
      if (!initializers_.contains(node.input(input)))
        continue;
      ParameterUse use;
      if (input >= 1 && input <= 3) {
        use.node = index;
        use.input = input;
        use.kind = ParameterUse::Kind::Recurrent;
      } else {
        use = classifyBeginning(index, input, nodes.size());
      }
      found_.uses.push_back(use);
    }
    found_.layers.push_back(std::move(layer));
    return true;
  }

  /// A tensor that two modules share has a placeholder for each, but calls name
  /// only one. The module of a call tells which other one is the same tensor.
  void findAliases() {
    for (const SignatureEntry &entry : signature_.entries()) {
      if (!entry.isParameter() || found_.mentioned.contains(entry.placeholder))
        continue;
      auto [module, leaf] = llvm::StringRef(entry.target).rsplit('.');
      for (int i : nodes_) {
        if (!calls_[i] || llvm::StringRef(modulePath(graph_.node(i))) != module)
          continue;
        const SignatureEntry *of = nullptr;
        for (const std::string &value : calls_[i]->values)
          if (const SignatureEntry *other = signature_.byPlaceholder(value))
            if (llvm::StringRef(other->target).rsplit('.').second == leaf)
              of = other;
        if (!of)
          continue;
        found_.aliases.push_back({&entry, of});
        break;
      }
    }
  }

  void findVanished() {
    llvm::StringSet<> seen;
    for (int i : nodes_)
      if (calls_[i])
        for (const std::string &value : calls_[i]->values)
          if (isDetached(value) && !produced_.contains(value) &&
              seen.insert(value).second)
            found_.detached.push_back(value);
    for (const std::string &value : signature_.outputs())
      if (isLeftOut(value) && !produced_.contains(value) &&
          !signature_.byPlaceholder(value) && seen.insert(value).second)
        found_.vanished.push_back(value);
    for (int i : nodes_)
      if (calls_[i])
        for (const std::string &value : calls_[i]->values)
          if (isLeftOut(value) && !produced_.contains(value) &&
              !signature_.byPlaceholder(value) && seen.insert(value).second)
            found_.vanished.push_back(value);
  }

  /// Finds values that calls read but no node computes, because other values
  /// replace them.
  void findReplaced() {
    std::map<std::string, int> producers;
    for (int i : nodes_)
      for (const std::string &output : graph_.node(i).output())
        producers[output] = i;
    std::set<std::string> integers;
    for (const auto &info : graph_.value_info())
      if (!isFloatData(info.type().tensor_type().elem_type()))
        integers.insert(info.name());
    std::set<std::string> ofParameters = findOfParameters();
    std::map<std::string, std::string> moved; // actual -> value
    llvm::StringSet<> seen;
    auto add = [&](const std::string &value, const std::string &actual) {
      if (initializers_.contains(actual) || integers.count(actual) ||
          !seen.insert(value).second)
        return;
      if (!isComputed(value)) {
        // Copies of one value may have been copies of two equal values.
        auto [first, isNew] = moved.try_emplace(actual, value);
        if (!isNew && ofParameters.count(actual))
          found_.vanished.push_back(value);
        return;
      }
      auto producer = producers.find(actual);
      int by = producer == producers.end() ? -1 : producer->second;
      if (isReplaceable(value) && !isSame(value, by))
        found_.skipped.push_back(value);
      else if (isSame(value, by))
        found_.merged.push_back(value);
    };
    for (int i : nodes_) {
      if (!calls_[i] || hasFoldedBatchNorm(graph_.node(i)))
        continue;
      for (const std::string &value : calls_[i]->values)
        if (isGone(value))
          if (auto actual = inputFor(i, value))
            add(value, *actual);
    }
    for (int i = 0; i < graph_.output_size(); ++i)
      if (size_t(i) < signature_.outputs().size() &&
          isGone(signature_.outputs()[i]))
        add(signature_.outputs()[i], graph_.output(i).name());
  }

  /// The results that depend on a float initializer of the module.
  std::set<std::string> findOfParameters() {
    std::set<std::string> results;
    for (int i : nodes_)
      if (llvm::any_of(graph_.node(i).input(), [&](const std::string &input) {
            return results.count(input) || (initializers_.contains(input) &&
                                            signature_.byTarget(input));
          }))
        results.insert(graph_.node(i).output().begin(),
                       graph_.node(i).output().end());
    return results;
  }

  /// Whether a value of a call does not exist any more.
  bool isGone(const std::string &value) const {
    return !produced_.contains(value) && !signature_.byPlaceholder(value);
  }
  static bool isComputed(llvm::StringRef value) {
    llvm::StringRef operation = operationOf(value);
    return isLeftOut(value) || operation == "embedding" ||
           operation == "getitem";
  }
  /// Whether the operation returns its operand for some number (x + 0, x * 1).
  static bool isReplaceable(llvm::StringRef value) {
    static const llvm::StringSet<> operations = {"add", "sub", "mul", "div",
                                                 "pow"};
    return operations.contains(operationOf(value));
  }
  /// Whether node `by` does the operation that computed `value`.
  bool isSame(const std::string &value, int by) const {
    if (by < 0)
      return false;
    llvm::StringRef operation = operationOf(value);
    if (operation == "getitem")
      return graph_.node(by).op_type() == "BatchNormalization";
    return calls_[by] && operationOf(calls_[by]->result) == operation;
  }
  /// The input of node `index` that corresponds to `value` in its call.
  std::optional<std::string> inputFor(int index, const std::string &value) {
    const NodeProto &node = graph_.node(index);
    std::vector<std::string> unknown;
    for (int i = 0; i < node.input_size(); ++i) {
      std::optional<CallOperand> operand = findOperand(node, i, *calls_[index]);
      if (operand && operand->values.size() == 1 &&
          operand->values.front() == value)
        return node.input(i);
      if (!operand && !node.input(i).empty() &&
          !initializers_.contains(node.input(i)) &&
          !llvm::is_contained(calls_[index]->values, node.input(i)))
        unknown.push_back(node.input(i));
    }
    if (unknown.size() == 1)
      return unknown.front();
    return std::nullopt;
  }

  const GraphProto &graph_;
  const Signature &signature_;
  const llvm::StringMap<bool> &initializers_;
  std::vector<std::optional<FxCall>> calls_;
  std::vector<int> nodes_;
  /// Maps the name of a call's value to the nodes made from the call.
  std::map<std::string, std::vector<int>> groups_;
  llvm::StringSet<> produced_;
  ParameterUses found_;
};

} // namespace

bool hasFoldedBatchNorm(const NodeProto &node) {
  return rewriteRules(node).find("FuseBatchNorm") != std::string::npos;
}

ParameterUses findParameterUses(const GraphProto &graph,
                                const Signature &signature,
                                const llvm::StringMap<bool> &initializers,
                                const std::vector<bool> &live) {
  return UseFinder(graph, signature, initializers, live).run();
}

} // namespace sinter::compiler
