//===- GraphEdit.cpp - changes of a model's main graph --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/GraphEdit.h"
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/RestoreParameters.h"

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {

GraphEdit::GraphEdit(::onnx::ModelProto &model)
    : model_(model), graph_(*model.mutable_graph()) {
  for (const TensorProto &tensor : graph_.initializer())
    names_.insert(tensor.name());
  for (const NodeProto &node : graph_.node())
    for (const std::string &output : node.output())
      names_.insert(output);
  for (const auto &input : graph_.input())
    names_.insert(input.name());
}

std::string GraphEdit::freshName(const std::string &base) {
  std::string name = base;
  for (int i = 1; !names_.insert(name).second; ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

TensorProto &GraphEdit::addTensor(const std::string &name, Ints shape,
                                  int32_t type, std::string bytes) {
  TensorProto &tensor = *tensors_.Add();
  tensor.set_name(name);
  for (int64_t size : shape)
    tensor.add_dims(size);
  tensor.set_data_type(type);
  tensor.set_raw_data(std::move(bytes));
  names_.insert(name);
  replaced_.insert(name);
  return tensor;
}

TensorProto &GraphEdit::addTensor(const std::string &name,
                                  const TensorProto &tensor) {
  TensorProto &copy = *tensors_.Add();
  copy = tensor;
  copy.set_name(name);
  names_.insert(name);
  replaced_.insert(name);
  return copy;
}

std::string GraphEdit::addInts(const std::string &base, Ints values,
                               Ints shape) {
  std::string name = freshName(base);
  addTensor(name, shape, TensorProto::INT64,
            std::string(reinterpret_cast<const char *>(values.data()),
                        values.size() * sizeof(int64_t)));
  return name;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static NodeProto &fill(NodeProto &node, const std::string &op,
                       const std::vector<std::string> &inputs,
                       const std::string &output) {
  node.set_op_type(op);
  node.set_name(output);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

NodeProto &GraphEdit::addNode(const std::string &op,
                              const std::vector<std::string> &inputs,
                              const std::string &output) {
  return fill(*front_.Add(), op, inputs, output);
}

NodeProto &GraphEdit::addNodeBehind(int index, const std::string &op,
                                    const std::vector<std::string> &inputs,
                                    const std::string &output) {
  return fill(*behind_[index].Add(), op, inputs, output);
}

static AttributeProto &addAttribute(NodeProto &node, const std::string &name,
                                    AttributeProto::AttributeType type) {
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}
void GraphEdit::setInt(NodeProto &node, const std::string &name,
                       int64_t value) {
  addAttribute(node, name, AttributeProto::INT).set_i(value);
}
void GraphEdit::setFloat(NodeProto &node, const std::string &name,
                         float value) {
  addAttribute(node, name, AttributeProto::FLOAT).set_f(value);
}
void GraphEdit::setInts(NodeProto &node, const std::string &name, Ints values) {
  AttributeProto &attribute = addAttribute(node, name, AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
}

int64_t GraphEdit::opset() const {
  for (const auto &entry : model_.opset_import())
    if (canonicalDomain(entry.domain()).empty())
      return entry.version();
  return 0;
}

std::string GraphEdit::reshape(const std::string &value, Ints shape,
                               const std::string &base) {
  std::string sizes = addInts(base + "/shape", shape, {int64_t(shape.size())});
  std::string output = freshName(base);
  addNode("Reshape", {value, sizes}, output);
  return output;
}

std::string GraphEdit::expand(const std::string &value, Ints shape,
                              const std::string &base) {
  std::string sizes = addInts(base + "/shape", shape, {int64_t(shape.size())});
  std::string output = freshName(base);
  addNode("Expand", {value, sizes}, output);
  return output;
}

std::string GraphEdit::transpose(const std::string &value, Ints permutation,
                                 const std::string &base) {
  std::string output = freshName(base);
  setInts(addNode("Transpose", {value}, output), "perm", permutation);
  return output;
}

std::string GraphEdit::concat(const std::vector<std::string> &values,
                              const std::string &base) {
  if (values.size() == 1)
    return values.front();
  std::string output = freshName(base);
  setInt(addNode("Concat", values, output), "axis", 0);
  return output;
}

std::string GraphEdit::gather(const std::string &value, Ints indices,
                              Ints shape, const std::string &base) {
  std::string positions = addInts(base + "/indices", indices, shape);
  std::string output = freshName(base);
  setInt(addNode("Gather", {value, positions}, output), "axis", 0);
  return output;
}

std::string GraphEdit::reduceL2(const std::string &value, Ints shape,
                                const std::string &base) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 1)
      axes.push_back(i);
  std::string output = freshName(base);
  if (opset() >= 18) {
    std::string operand = addInts(base + "/axes", axes, {int64_t(axes.size())});
    addNode("ReduceL2", {value, operand}, output);
  } else {
    setInts(addNode("ReduceL2", {value}, output), "axes", axes);
  }
  return output;
}

std::vector<std::string> GraphEdit::split(const std::string &value,
                                          size_t count,
                                          const std::string &base) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < count; ++i)
    parts.push_back(freshName(base));
  NodeProto &node = addNode("Split", {value}, parts.front());
  for (size_t i = 1; i < count; ++i)
    node.add_output(parts[i]);
  setInt(node, "axis", 0);
  if (opset() >= 18)
    setInt(node, "num_outputs", count);
  return parts;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void GraphEdit::apply() {
  for (const NewInput &input : inputs_) {
    NodeProto &node = *graph_.mutable_node(input.node);
    while (node.input_size() <= input.input)
      node.add_input("");
    node.set_input(input.input, input.value);
  }
  for (auto &[index, output] : outputs_)
    graph_.mutable_node(index)->set_output(0, output);

  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  nodes.Swap(&front_);
  for (int i = 0; i < graph_.node_size(); ++i) {
    nodes.Add()->Swap(graph_.mutable_node(i));
    if (auto behind = behind_.find(i); behind != behind_.end())
      for (NodeProto &node : behind->second)
        nodes.Add()->Swap(&node);
  }
  graph_.mutable_node()->Swap(&nodes);

  llvm::StringSet<> read;
  for (const auto &output : graph_.output())
    read.insert(output.name());
  findLive(graph_.node(), read);
  google::protobuf::RepeatedPtrField<TensorProto> kept;
  for (TensorProto &tensor : *graph_.mutable_initializer())
    if (!replaced_.contains(tensor.name()) &&
        (read.contains(tensor.name()) || !isFloatData(tensor.data_type())))
      kept.Add()->Swap(&tensor);
  for (TensorProto &tensor : tensors_)
    if (read.contains(tensor.name()))
      kept.Add()->Swap(&tensor);
  graph_.mutable_initializer()->Swap(&kept);
}

} // namespace sinter::compiler
