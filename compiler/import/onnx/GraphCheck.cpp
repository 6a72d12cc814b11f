//===- GraphCheck.cpp - is the model well-formed? -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Registry.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#include <onnx/onnx_pb.h>

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace sinter::compiler {

static constexpr int64_t kMinOpset = 7;
/// The total number of nodes that calls of functions may expand to.
static constexpr int64_t kInlineBudget = 200000;
static constexpr int kMaxCallDepth = 64;

llvm::StringRef canonicalDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? llvm::StringRef() : domain;
}

std::string functionKey(llvm::StringRef domain, llvm::StringRef name) {
  return (canonicalDomain(domain) + llvm::StringRef("\0", 1) + name).str();
}

std::string nodeLabel(const NodeProto &node, size_t index) {
  return node.name().empty() ? node.op_type() + "_" + std::to_string(index)
                             : node.name();
}

namespace {

class Checker {
public:
  Checker(const OnnxModel &model, ModelIndex &index, ImportErrors &errors)
      : proto_(model.proto()), index_(index), errors_(errors),
        file_(shown(model.path(), 512)) {}

  bool run() {
    return checkOpsets(proto_.opset_import(), index_.opsets) &&
           checkFunctions() && checkGraph(proto_.graph(), nullptr, "the graph");
  }

private:
  /// The names that are visible at a point of a graph.
  struct Names {
    const Names *parent;
    llvm::StringSet<> defined;

    bool contains(llvm::StringRef name) const {
      for (const Names *names = this; names; names = names->parent)
        if (names->defined.contains(name))
          return true;
      return false;
    }
  };

  bool invalid(const std::string &text) {
    errors_.invalid(file_ + ": " + text);
    return false;
  }

  template <class Imports>
  bool checkOpsets(const Imports &imports, Opsets &opsets) {
    for (const auto &entry : imports) {
      llvm::StringRef domain = canonicalDomain(entry.domain());
      if (!opsets.try_emplace(domain, entry.version()).second)
        return invalid("the operator set of domain " + quoted(entry.domain()) +
                       " is imported twice");
      int64_t newest = *newestOpset("");
      if (domain.empty() &&
          (entry.version() < kMinOpset || entry.version() > newest))
        return invalid("operator set " + std::to_string(entry.version()) +
                       " is not supported; " + std::to_string(kMinOpset) +
                       " to " + std::to_string(newest) + " are");
    }
    if (opsets.empty())
      return invalid("no operator set is imported (opset_import is missing)");
    return true;
  }

  /// Names must be UTF-8, as ONNX requires. JSON and safetensors could not hold
  /// other names.
  bool checkText(llvm::StringRef name, const char *what,
                 const std::string &where) {
    return llvm::json::isUTF8(name) ||
           invalid(where + ": the name of " + what + " " + quoted(name) +
                   " is not UTF-8");
  }

  template <class List>
    requires requires(const List &list) { list.begin()->name(); }
  bool define(Names &names, const List &list, const char *what,
              const std::string &where) {
    for (const auto &entry : list)
      if (!define(names, entry.name(), what, where))
        return false;
    return true;
  }
  bool define(Names &names, llvm::StringRef name, const char *what,
              const std::string &where) {
    if (name.empty())
      return invalid(where + ": " + what + " has no name");
    if (!checkText(name, what, where))
      return false;
    if (!names.defined.insert(name).second)
      return invalid(where + ": " + what + " " + quoted(name) +
                     " has the name of another value");
    return true;
  }

  bool checkGraph(const GraphProto &graph, const Names *parent,
                  const std::string &where) {
    Names names{parent, {}};
    if (!define(names, graph.input(), "input", where))
      return false;
    // An initializer may give a default to an input of its name.
    llvm::StringSet<> initializers;
    auto defineInitializer = [&](const std::string &name) {
      if (name.empty())
        return invalid(where + ": an initializer has no name");
      if (!checkText(name, "initializer", where))
        return false;
      if (!initializers.insert(name).second)
        return invalid(where + ": initializer " + quoted(name) +
                       " is defined twice");
      names.defined.insert(name);
      return true;
    };
    for (const auto &tensor : graph.initializer())
      if (!defineInitializer(tensor.name()))
        return false;
    for (const auto &tensor : graph.sparse_initializer())
      if (!defineInitializer(tensor.values().name()))
        return false;
    if (graph.output().empty())
      return invalid(where + " has no outputs");
    return checkNodes(graph.node(), names, where) &&
           checkOutputs(graph.output(), names, where,
                        [](const auto &info) -> const std::string & {
                          return info.name();
                        });
  }

  template <class List, class NameOf>
  bool checkOutputs(const List &outputs, const Names &names,
                    const std::string &where, NameOf nameOf) {
    llvm::StringSet<> seen;
    for (const auto &output : outputs) {
      const std::string &name = nameOf(output);
      if (name.empty())
        return invalid(where + ": an output has no name");
      if (!seen.insert(name).second)
        return invalid(where + ": output " + quoted(name) + " is listed twice");
      if (!names.contains(name))
        return invalid(where + ": output " + quoted(name) +
                       " is not produced by any node");
    }
    return true;
  }

  template <class Nodes>
  bool checkNodes(const Nodes &nodes, Names &names, const std::string &where) {
    llvm::StringMap<int> producers; // for the message only; filled on an error
    for (int i = 0; i < nodes.size(); ++i) {
      const NodeProto &node = nodes.Get(i);
      auto label = [&] {
        return "node " + quoted(nodeLabel(node, i)) + " (" +
               shown(node.op_type()) + ")";
      };
      if (node.op_type().empty())
        return invalid(label() + ": op_type is missing");
      for (const std::string &input : node.input()) {
        if (input.empty() || names.contains(input))
          continue;
        for (int j = i; j < nodes.size(); ++j)
          for (const std::string &output : nodes.Get(j).output())
            producers.try_emplace(output, j);
        auto later = producers.find(input);
        if (later == producers.end())
          return invalid(label() + ": input " + quoted(input) +
                         " is not defined");
        return invalid(
            label() + ": input " + quoted(input) +
            " is produced only later, by node " +
            quoted(nodeLabel(nodes.Get(later->second), later->second)) +
            "; nodes must be sorted, without cycles");
      }
      llvm::StringSet<> attributes;
      for (const AttributeProto &attribute : node.attribute()) {
        if (!attributes.insert(attribute.name()).second)
          return invalid(label() + ": attribute " + quoted(attribute.name()) +
                         " is given twice");
        if (attribute.has_g() &&
            !checkGraph(attribute.g(), &names,
                        label() + ": graph " + quoted(attribute.name())))
          return false;
        for (const GraphProto &graph : attribute.graphs())
          if (!checkGraph(graph, &names,
                          label() + ": graph " + quoted(attribute.name())))
            return false;
      }
      for (const std::string &output : node.output())
        if (!output.empty() && !define(names, output, "output", label()))
          return false;
    }
    return true;
  }

  bool checkFunctions() {
    for (const FunctionProto &function : proto_.functions()) {
      std::string where = "function " + quoted(function.name());
      if (!index_.functions
               .try_emplace(functionKey(function.domain(), function.name()),
                            &function)
               .second)
        return invalid(where + " is defined twice");
      Opsets opsets;
      if (function.opset_import_size() &&
          !checkOpsets(function.opset_import(), opsets))
        return false;
      Names names{nullptr, {}};
      for (const std::string &input : function.input())
        if (!define(names, input, "input", where))
          return false;
      if (!checkNodes(function.node(), names, where) ||
          !checkOutputs(function.output(), names, where,
                        [](const std::string &name) -> const std::string & {
                          return name;
                        }))
        return false;
    }
    int64_t total = 0;
    return expand(proto_.graph().node(), total, 0);
  }

  /// Adds the number of nodes that the calls in `nodes` expand to.
  template <class Nodes>
  bool expand(const Nodes &nodes, int64_t &total, int depth) {
    for (const NodeProto &node : nodes) {
      auto found =
          index_.functions.find(functionKey(node.domain(), node.op_type()));
      if (found != index_.functions.end() &&
          !expandCall(*found->second, total, depth))
        return false;
      for (const AttributeProto &attribute : node.attribute()) {
        if (attribute.has_g() && !expand(attribute.g().node(), total, depth))
          return false;
        for (const GraphProto &graph : attribute.graphs())
          if (!expand(graph.node(), total, depth))
            return false;
      }
    }
    return true;
  }

  bool expandCall(const FunctionProto &function, int64_t &total, int depth) {
    std::string where = "function " + quoted(function.name());
    if (depth >= kMaxCallDepth)
      return invalid(where + ": calls are nested deeper than " +
                     std::to_string(kMaxCallDepth));
    auto [known, isNew] = expanded_.try_emplace(&function, -1);
    if (!isNew && known->second < 0)
      return invalid(where + " calls itself");
    int64_t size = known->second;
    if (isNew) {
      size = function.node_size();
      if (!expand(function.node(), size, depth + 1))
        return false;
      expanded_[&function] = size;
    }
    total += size;
    if (total > kInlineBudget)
      return invalid(where + ": function calls expand to more than " +
                     std::to_string(kInlineBudget) + " nodes");
    return true;
  }

  const ::onnx::ModelProto &proto_;
  ModelIndex &index_;
  ImportErrors &errors_;
  std::string file_;
  llvm::DenseMap<const FunctionProto *, int64_t> expanded_;
};

} // namespace

bool checkModel(const OnnxModel &model, ModelIndex &index,
                ImportErrors &errors) {
  return Checker(model, index, errors).run();
}

} // namespace sinter::compiler
