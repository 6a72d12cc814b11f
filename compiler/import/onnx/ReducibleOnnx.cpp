//===- ReducibleOnnx.cpp - an ONNX file made smaller ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ReducibleOnnx.h"

#include "compiler/base/Text.h"
#include "compiler/import/onnx/ExternalData.h"
#include "ir/Tensor.h"

#include "llvm/ADT/StringSet.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <set>

using namespace sinter::compiler;
using llvm::StringRef;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::ValueInfoProto;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static uint64_t elementBytes(int32_t type) {
  switch (type) {
  case TensorProto::BOOL:
  case TensorProto::INT8:
  case TensorProto::UINT8:
    return 1;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return 8;
  default:
    return 0; // not edited
  }
}

template <class T, class List> static std::string packed(const List &list) {
  std::string bytes;
  for (auto value : list) {
    const T element = static_cast<T>(value);
    bytes.append(reinterpret_cast<const char *>(&element), sizeof(T));
  }
  return bytes;
}

/// Moves the elements to raw_data, so that they can be cut as bytes.
static void makeRaw(TensorProto &tensor) {
  std::string bytes;
  const uint64_t size = elementBytes(tensor.data_type());
  if (!size || tensor.has_raw_data())
    return;
  if (tensor.float_data_size())
    bytes = packed<float>(tensor.float_data());
  else if (tensor.double_data_size())
    bytes = packed<double>(tensor.double_data());
  else if (tensor.int64_data_size())
    bytes = packed<int64_t>(tensor.int64_data());
  else if (tensor.uint64_data_size())
    bytes = size == 4 ? packed<uint32_t>(tensor.uint64_data())
                      : packed<uint64_t>(tensor.uint64_data());
  else if (tensor.int32_data_size())
    bytes = size == 1   ? packed<int8_t>(tensor.int32_data())
            : size == 2 ? packed<int16_t>(tensor.int32_data())
                        : packed<int32_t>(tensor.int32_data());
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_int32_data();
  tensor.set_raw_data(std::move(bytes));
}

/// Keeps the first `to` elements of each dimension of size `from`.
static bool cut(TensorProto &tensor, int64_t from, int64_t to) {
  const uint64_t size = elementBytes(tensor.data_type());
  if (!size || !tensor.has_raw_data())
    return false;
  bool isCut = false;
  for (int dim = 0; dim < tensor.dims_size(); ++dim) {
    if (tensor.dims(dim) != from)
      continue;
    uint64_t inner = size, outer = 1;
    for (int k = 0; k < tensor.dims_size(); ++k)
      (k < dim ? outer : inner) *= k == dim ? 1 : tensor.dims(k);
    const std::string &bytes = tensor.raw_data();
    if (bytes.size() != outer * inner * static_cast<uint64_t>(from))
      return isCut;
    std::string kept;
    for (uint64_t i = 0; i < outer; ++i)
      kept.append(bytes, i * inner * from, inner * to);
    tensor.set_raw_data(std::move(kept));
    tensor.set_dims(dim, to);
    isCut = true;
  }
  return isCut;
}

/// Replaces the number `from` in a short list of 64-bit integers: shapes are
/// such lists.
static bool replaceNumber(TensorProto &tensor, int64_t from, int64_t to) {
  if (tensor.data_type() != TensorProto::INT64 || tensor.dims_size() > 1)
    return false;
  std::string bytes = tensor.raw_data();
  bool isReplaced = false;
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8)
    if (std::memcmp(&bytes[at], &from, 8) == 0) {
      std::memcpy(&bytes[at], &to, 8);
      isReplaced = true;
    }
  if (isReplaced)
    tensor.set_raw_data(std::move(bytes));
  return isReplaced;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {

class ReducibleOnnx : public ReducibleModel {
public:
  explicit ReducibleOnnx(::onnx::ModelProto proto) : model(std::move(proto)) {}

  std::unique_ptr<ReducibleModel> clone() const override {
    return std::make_unique<ReducibleOnnx>(model);
  }
  std::string bytes() const override { return model.SerializeAsString(); }

  size_t numNodes() const override { return model.graph().node_size(); }
  size_t numOutputs() const override { return model.graph().output_size(); }
  size_t numConstants() const override {
    return model.graph().initializer_size();
  }

  std::vector<int64_t> sizes() const override {
    std::set<int64_t, std::greater<>> sizes;
    for (const TensorProto &tensor : model.graph().initializer())
      for (int64_t size : tensor.dims())
        sizes.insert(size);
    for (const ValueInfoProto &input : model.graph().input())
      for (const auto &dim : input.type().tensor_type().shape().dim())
        if (dim.has_dim_value())
          sizes.insert(dim.dim_value());
    std::vector<int64_t> list;
    for (int64_t size : sizes)
      if (size > 1)
        list.push_back(size);
    return list;
  }

  bool keepOutput(size_t output) override {
    if (numOutputs() < 2)
      return false;
    ValueInfoProto kept = graph().output(static_cast<int>(output));
    graph().clear_output();
    *graph().add_output() = kept;
    dropUnused();
    return true;
  }

  bool endAt(size_t node, const NodeTypes &types) override {
    const NodeProto last = graph().node(static_cast<int>(node));
    if (last.output_size() == 0 || last.output(0).empty())
      return false;
    if (numOutputs() == 1 && graph().output(0).name() == last.output(0))
      return false;
    ValueInfoProto output = infoOf(last, types);
    if (!output.has_type())
      return false;
    graph().clear_output();
    *graph().add_output() = output;
    dropUnused();
    return true;
  }

  bool replaceByInputs(llvm::ArrayRef<size_t> nodes,
                       const NodeTypes &types) override {
    std::vector<bool> isGone(numNodes());
    for (size_t node : nodes)
      isGone[node] = true;
    llvm::StringSet<> read;
    for (size_t i = 0; i < numNodes(); ++i)
      if (!isGone[i])
        collectReads(graph().node(static_cast<int>(i)), read);
    for (const ValueInfoProto &output : graph().output())
      for (size_t node : nodes)
        for (const std::string &name : nodeAt(node).output())
          if (name == output.name())
            return false; // a result must be computed
    std::vector<ValueInfoProto> inputs;
    for (size_t node : nodes)
      for (int k = 0; k < nodeAt(node).output_size(); ++k) {
        if (!read.contains(nodeAt(node).output(k)))
          continue;
        ValueInfoProto input =
            k == 0 ? infoOf(nodeAt(node), types) : ValueInfoProto();
        if (!input.has_type())
          return false;
        inputs.push_back(std::move(input));
      }
    eraseNodes(isGone);
    for (ValueInfoProto &input : inputs)
      *graph().add_input() = std::move(input);
    dropUnused();
    return true;
  }

  bool bypass(size_t node) override {
    const NodeProto gone = nodeAt(node);
    if (gone.input_size() == 0 || gone.output_size() == 0 ||
        gone.input(0).empty())
      return false;
    for (const ValueInfoProto &output : graph().output())
      if (output.name() == gone.output(0))
        return false;
    std::vector<bool> isGone(numNodes());
    isGone[node] = true;
    eraseNodes(isGone);
    for (NodeProto &other : *graph().mutable_node())
      for (std::string &input : *other.mutable_input())
        if (input == gone.output(0))
          input = gone.input(0);
    dropUnused();
    return true;
  }

  bool makeInput(size_t constant) override {
    const TensorProto tensor = graph().initializer(static_cast<int>(constant));
    ValueInfoProto info;
    info.set_name(tensor.name());
    auto *type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    type->mutable_shape();
    for (int64_t size : tensor.dims())
      type->mutable_shape()->add_dim()->set_dim_value(size);
    graph().mutable_initializer()->DeleteSubrange(static_cast<int>(constant),
                                                  1);
    eraseInputs([&](StringRef name) { return name == tensor.name(); });
    *graph().add_input() = std::move(info);
    return true;
  }

  bool shrink(int64_t from, int64_t to) override {
    bool isChanged = false;
    for (TensorProto &tensor : *graph().mutable_initializer()) {
      isChanged |= cut(tensor, from, to);
      isChanged |= replaceNumber(tensor, from, to);
    }
    for (auto *list : {graph().mutable_input(), graph().mutable_output(),
                       graph().mutable_value_info()})
      for (ValueInfoProto &info : *list)
        isChanged |= shrinkType(info, from, to);
    for (NodeProto &node : *graph().mutable_node())
      if (node.op_type() == "Constant")
        for (auto &attribute : *node.mutable_attribute())
          if (attribute.has_t()) {
            makeRaw(*attribute.mutable_t());
            isChanged |= cut(*attribute.mutable_t(), from, to);
            isChanged |= replaceNumber(*attribute.mutable_t(), from, to);
          }
    return isChanged;
  }

  bool dropMetadata() override {
    const size_t before = model.ByteSizeLong();
    model.clear_doc_string();
    model.clear_metadata_props();
    graph().clear_doc_string();
    graph().clear_value_info();
    for (NodeProto &node : *graph().mutable_node())
      node.clear_doc_string();
    return model.ByteSizeLong() != before;
  }

private:
  GraphProto &graph() { return *model.mutable_graph(); }
  const NodeProto &nodeAt(size_t node) {
    return graph().node(static_cast<int>(node));
  }

  static bool shrinkType(ValueInfoProto &info, int64_t from, int64_t to) {
    bool isChanged = false;
    if (!info.type().has_tensor_type() ||
        !info.type().tensor_type().has_shape())
      return false;
    for (auto &dim : *info.mutable_type()
                          ->mutable_tensor_type()
                          ->mutable_shape()
                          ->mutable_dim())
      if (dim.has_dim_value() && dim.dim_value() == from) {
        dim.set_dim_value(to);
        isChanged = true;
      }
    return isChanged;
  }

  /// The declaration of a node's first output; without a type if that is not
  /// known.
  ValueInfoProto infoOf(const NodeProto &node, const NodeTypes &types) {
    ValueInfoProto info;
    info.set_name(node.output(0));
    auto found = types.find(node.name());
    if (found == types.end())
      return info;
    const int32_t element = dataTypeOf(found->second.getElementType());
    if (element == 0)
      return info;
    auto *type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(element);
    type->mutable_shape();
    for (int64_t size : found->second.getShape())
      type->mutable_shape()->add_dim()->set_dim_value(size);
    return info;
  }

  static void collectReads(const NodeProto &node, llvm::StringSet<> &names) {
    for (const std::string &input : node.input())
      names.insert(input);
    for (const auto &attribute : node.attribute()) {
      auto collect = [&](const GraphProto &inner) {
        for (const NodeProto &each : inner.node())
          collectReads(each, names);
        for (const ValueInfoProto &output : inner.output())
          names.insert(output.name());
      };
      if (attribute.has_g())
        collect(attribute.g());
      for (const GraphProto &inner : attribute.graphs())
        collect(inner);
    }
  }

  void eraseNodes(const std::vector<bool> &isGone) {
    GraphProto kept;
    for (size_t i = 0; i < isGone.size(); ++i)
      if (!isGone[i])
        *kept.add_node() = nodeAt(i);
    graph().mutable_node()->Swap(kept.mutable_node());
  }
  template <class IsGone> void eraseInputs(IsGone isGone) {
    GraphProto kept;
    for (const ValueInfoProto &input : graph().input())
      if (!isGone(StringRef(input.name())))
        *kept.add_input() = input;
    graph().mutable_input()->Swap(kept.mutable_input());
  }

  /// Removes nodes, initializers, inputs and declarations that no output
  /// needs.
  void dropUnused() {
    llvm::StringSet<> needed;
    for (const ValueInfoProto &output : graph().output())
      needed.insert(output.name());
    std::vector<bool> isGone(numNodes());
    for (size_t i = numNodes(); i-- > 0;) {
      const NodeProto &node = nodeAt(i);
      isGone[i] = llvm::none_of(node.output(), [&](const std::string &output) {
        return needed.contains(output);
      });
      if (!isGone[i])
        collectReads(node, needed);
    }
    eraseNodes(isGone);
    GraphProto kept;
    for (const TensorProto &tensor : graph().initializer())
      if (needed.contains(tensor.name()))
        *kept.add_initializer() = tensor;
    graph().mutable_initializer()->Swap(kept.mutable_initializer());
    eraseInputs([&](StringRef name) { return !needed.contains(name); });
  }

  ::onnx::ModelProto model;
};

} // namespace

std::unique_ptr<ReducibleModel>
sinter::compiler::makeReducible(const OnnxModel &model, ImportErrors &errors) {
  ::onnx::ModelProto proto = model.proto();
  for (TensorProto &tensor : *proto.mutable_graph()->mutable_initializer()) {
    makeRaw(tensor);
    if (tensor.data_location() != TensorProto::EXTERNAL)
      continue;
    uint64_t bytes = elementBytes(tensor.data_type());
    for (int64_t size : tensor.dims())
      bytes *= static_cast<uint64_t>(size);
    std::string why;
    auto data = readExternalData(model, tensor, bytes, why);
    if (!data) {
      errors.invalid(shown(model.path()) + ": tensor " + quoted(tensor.name()) +
                     ": " + why);
      return nullptr;
    }
    llvm::ArrayRef<char> found = data->data;
    tensor.set_raw_data(std::string(found.begin(), found.end()));
    tensor.clear_external_data();
    tensor.clear_data_location();
  }
  // The types of nodes are known by their names.
  for (NodeProto &node : *proto.mutable_graph()->mutable_node())
    if (node.name().empty() && node.output_size())
      node.set_name(node.output(0));
  return std::make_unique<ReducibleOnnx>(std::move(proto));
}
