//===- AllOperators.h - a node of every operator ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// operators.onnx has a node of every operator that is imported, with its name
// in messages. Tests extract the nodes one by one.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_COMPILER_IMPORT_ALLOPERATORS_H
#define SINTER_TEST_COMPILER_IMPORT_ALLOPERATORS_H

#include "compiler/import/onnx/Registry.h"
#include "test/compiler/import/OneNode.h"

#include <fstream>
#include <map>
#include <set>

namespace sinter::test {

/// Graph outputs are tensors: sequences become their length.
inline const std::set<std::string> giveSequences = {
    "SequenceConstruct", "SequenceEmpty", "SequenceErase",
    "SequenceInsert",    "SequenceMap",   "SplitToSequence"};

class Operators {
public:
  Operators() {
    std::ifstream file(SINTER_OPERATORS_ONNX, std::ios::binary);
    REQUIRE(model_.ParseFromIstream(&file));
    for (const ::onnx::NodeProto &node : model_.graph().node())
      nodes_[node.name()] = &node;
  }

  /// The model of one node and of the nodes that its inputs need.
  ModelBuilder alone(const std::string &name, int64_t opset) const {
    ModelBuilder builder(opset);
    auto &import = *builder.model.add_opset_import();
    import.set_domain("com.microsoft");
    import.set_version(1);
    auto found = nodes_.find(name);
    INFO("operators.onnx has no node '" << name << "'");
    REQUIRE(found != nodes_.end());
    add(builder, *found->second);
    if (giveSequences.count(name)) {
      builder.node("SequenceLength", {found->second->output(0)}, {"length"});
      builder.graph().add_output()->set_name("length");
      return builder;
    }
    for (const std::string &output : found->second->output())
      if (!output.empty())
        builder.graph().add_output()->set_name(output);
    return builder;
  }

private:
  void add(ModelBuilder &builder, const ::onnx::NodeProto &node) const {
    for (const std::string &input : node.input()) {
      for (const auto &tensor : model_.graph().initializer())
        if (tensor.name() == input)
          *builder.graph().add_initializer() = tensor;
      size_t dot = input.rfind(".out");
      if (dot != std::string::npos)
        add(builder, *nodes_.at(input.substr(0, dot)));
    }
    *builder.graph().add_node() = node;
  }

  ::onnx::ModelProto model_;
  std::map<std::string, const ::onnx::NodeProto *> nodes_;
};

inline ::onnx::NodeProto &nodeOf(ModelBuilder &builder,
                                 const std::string &name) {
  for (::onnx::NodeProto &node : *builder.graph().mutable_node())
    if (node.name() == name)
      return node;
  FAIL("there is no node of this name");
  std::abort();
}

/// All operators with their names as in messages and the newest operator set
/// that has them.
template <class Visit> void forEachOperator(const Visit &visit) {
  Operators operators;
  compiler::Registry().forEach(
      [&](llvm::StringRef domain, const compiler::OpRow &row) {
        std::string name =
            (domain.empty() ? "" : domain.str() + ".") + row.name.str();
        int64_t newest = *compiler::newestOpset("");
        int64_t opset = row.before == compiler::kAny ? newest : row.before - 1;
        INFO(name);
        visit(name, row, operators.alone(name, opset));
      });
}

} // namespace sinter::test

#endif // SINTER_TEST_COMPILER_IMPORT_ALLOPERATORS_H
