//===- RestoreDropout.cpp - random masks that PyTorch wrote out -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Dropout2d and stochastic depth draw a mask and divide it by its mean p.
// PyTorch's exporter writes
//
//   div(cast(less(random_uniform_like(x), p)), p)
//
// which is a Dropout of ones, with the ratio 1 - p. As that, it is trained as
// every Dropout is, and does nothing in evaluation and in exported models. Any
// other use of random numbers stays as it is, and the import refuses it.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Import.h"
#include "compiler/import/onnx/RestoreParameters.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <onnx/onnx_pb.h>

#include <cstring>

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {
namespace {

/// The first operator set whose Dropout has the input training_mode.
constexpr int64_t kDropoutWithMode = 12;

class DropoutRestorer {
public:
  explicit DropoutRestorer(GraphProto &graph) : graph_(graph) {
    for (NodeProto &node : *graph.mutable_node())
      for (const std::string &output : node.output()) {
        producers_[output] = &node;
        names_.insert(output);
      }
    for (const TensorProto &tensor : graph.initializer()) {
      initializers_[tensor.name()] = &tensor;
      names_.insert(tensor.name());
    }
    for (const auto &input : graph.input())
      names_.insert(input.name());
    countReads(graph);
  }

  void run() {
    for (NodeProto &node : *graph_.mutable_node())
      if (node.op_type() == "Div" && node.domain().empty() &&
          node.input_size() == 2)
        restore(node);
    if (front_.empty())
      return;
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    for (NodeProto &node : front_)
      nodes.Add()->Swap(&node);
    for (NodeProto &node : *graph_.mutable_node())
      if (!dropped_.contains(&node))
        nodes.Add()->Swap(&node);
    graph_.mutable_node()->Swap(&nodes);
  }

private:
  void countReads(const GraphProto &graph) {
    for (const auto &output : graph.output())
      ++reads_[output.name()];
    for (const NodeProto &node : graph.node()) {
      for (const std::string &input : node.input())
        ++reads_[input];
      for (const AttributeProto &attribute : node.attribute()) {
        if (attribute.has_g())
          countReads(attribute.g());
        for (const GraphProto &inner : attribute.graphs())
          countReads(inner);
      }
    }
  }

  /// The node of one of `ops` that makes `value`, which has `numReads` readers;
  /// null if there is none.
  NodeProto *producer(const std::string &value,
                      llvm::ArrayRef<llvm::StringRef> ops, unsigned numReads) {
    NodeProto *node = producers_.lookup(value);
    bool isIt = node && node->domain().empty() && node->input_size() > 0 &&
                llvm::is_contained(ops, node->op_type()) &&
                reads_.lookup(value) == numReads;
    return isIt ? node : nullptr;
  }

  static std::optional<float> scalar(const TensorProto &tensor) {
    if (!llvm::all_of(tensor.dims(), [](int64_t dim) { return dim == 1; }) ||
        tensor.data_type() != TensorProto::FLOAT ||
        tensor.data_location() == TensorProto::EXTERNAL)
      return std::nullopt;
    if (tensor.float_data_size() == 1)
      return tensor.float_data(0);
    if (tensor.raw_data().size() != sizeof(float))
      return std::nullopt;
    float value;
    std::memcpy(&value, tensor.raw_data().data(), sizeof(value));
    return value;
  }

  std::optional<float> constant(const std::string &name) {
    if (const TensorProto *tensor = initializers_.lookup(name))
      return scalar(*tensor);
    const NodeProto *node = producers_.lookup(name);
    if (!node || node->op_type() != "Constant" || node->attribute_size() != 1)
      return std::nullopt;
    const AttributeProto &value = node->attribute(0);
    if (value.name() == "value_float")
      return value.f();
    return value.name() == "value" ? scalar(value.t()) : std::nullopt;
  }

  /// Whether it draws from [0, 1).
  static bool isUniform(const NodeProto &random) {
    for (const AttributeProto &attribute : random.attribute())
      if ((attribute.name() == "low" && attribute.f() != 0) ||
          (attribute.name() == "high" && attribute.f() != 1))
        return false;
    return true;
  }

  std::string fresh(const std::string &base) {
    std::string name = base;
    while (!names_.insert(name).second)
      name += "_";
    return name;
  }

  /// Adds a scalar constant before all nodes.
  std::string addConstant(const std::string &base, int32_t type,
                          llvm::StringRef bytes) {
    NodeProto &node = front_.emplace_back();
    node.set_op_type("Constant");
    node.add_output(fresh(base));
    node.set_name(node.output(0));
    AttributeProto &value = *node.add_attribute();
    value.set_name("value");
    value.set_type(AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(type);
    value.mutable_t()->set_raw_data(bytes.str());
    return node.output(0);
  }

  void restore(NodeProto &div) {
    NodeProto *cast = producer(div.input(0), {"Cast", "CastLike"}, 1);
    NodeProto *less = cast ? producer(cast->input(0), {"Less"}, 1) : nullptr;
    if (!less || less->input_size() != 2)
      return;
    // The exporter casts p to the type of the random numbers.
    NodeProto *castP = producer(less->input(1), {"CastLike"}, 1);
    if (castP &&
        (castP->input_size() != 2 || castP->input(1) != less->input(0)))
      return;
    NodeProto *random =
        producer(less->input(0), {"RandomUniformLike"}, castP ? 2 : 1);
    if (!random || !isUniform(*random))
      return;
    std::optional<float> p = constant(castP ? castP->input(0) : less->input(1)),
                         divisor = constant(div.input(1));
    if (!p || !divisor || *p != *divisor || !(*p > 0 && *p <= 1))
      return;

    const float ratio = 1 - *p;
    std::string ratioName = addConstant(
        div.output(0) + "/ratio", TensorProto::FLOAT,
        llvm::StringRef(reinterpret_cast<const char *>(&ratio), sizeof(ratio)));
    std::string modeName =
        addConstant(div.output(0) + "/training", TensorProto::BOOL,
                    llvm::StringRef("\1", 1));
    if (castP)
      dropped_.insert(castP);
    // New names, because the file declares the types of the old values.
    random->set_output(0, fresh(div.output(0) + "/shape"));
    less->set_input(0, random->output(0));
    less->set_output(0, fresh(div.output(0) + "/ones"));
    cast->set_input(0, less->output(0));
    random->set_op_type("Shape");
    random->clear_attribute();
    less->set_op_type("ConstantOfShape");
    less->mutable_input()->RemoveLast();
    AttributeProto &one = *less->add_attribute();
    one.set_name("value");
    one.set_type(AttributeProto::TENSOR);
    one.mutable_t()->set_data_type(TensorProto::FLOAT);
    one.mutable_t()->add_dims(1);
    one.mutable_t()->add_float_data(1);
    div.set_op_type("Dropout");
    div.set_input(1, ratioName);
    div.add_input(modeName);
  }

  GraphProto &graph_;
  llvm::StringMap<NodeProto *> producers_;
  llvm::StringMap<const TensorProto *> initializers_;
  llvm::StringMap<unsigned> reads_;
  llvm::StringSet<> names_;
  std::vector<NodeProto> front_;
  llvm::SmallPtrSet<const NodeProto *, 4> dropped_;
};

} // namespace

void restoreDropout(OnnxModel &model) {
  for (const auto &import : model.proto().opset_import())
    if ((import.domain().empty() || import.domain() == "ai.onnx") &&
        import.version() < kDropoutWithMode)
      return;
  DropoutRestorer(*model.mutableProto().mutable_graph()).run();
}

} // namespace sinter::compiler
