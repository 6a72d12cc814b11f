//===- Node.cpp - one ONNX node while it is imported ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Node.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Values.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using ::onnx::AttributeProto;

namespace sinter::compiler {

NodeImport::NodeImport(GraphImport &graph, Scope &scope, const Frame &frame,
                       const ::onnx::NodeProto &node, int64_t version,
                       OpBuilder &builder, Location loc)
    : Emit(builder, loc), node(node), version(version), graph_(graph),
      scope_(scope), frame_(frame) {}

std::string NodeImport::inputName(size_t i) const {
  return int(i) < node.input_size() ? node.input(int(i)) : std::string();
}
std::string NodeImport::outputName(size_t i) const {
  return int(i) < node.output_size() ? node.output(int(i)) : std::string();
}

size_t NodeImport::numOutputs() const { return size_t(node.output_size()); }

bool NodeImport::wants(size_t i) const {
  std::string name = outputName(i);
  return !name.empty() && scope_.read.contains(name);
}

void NodeImport::out(size_t i, Value value) {
  if (results_.size() <= i)
    results_.resize(i + 1);
  results_[i] = value;
}

static bool is16BitFloat(Value value) {
  if (!value || !isTensor(value))
    return false;
  Type element = ir::tensorType(value).getElementType();
  return element.isF16() || element.isBF16();
}

Type NodeImport::widenInputs() {
  auto first = llvm::find_if(inputs_, is16BitFloat);
  if (first == inputs_.end())
    return {};
  Type element = ir::tensorType(*first).getElementType();
  for (Value &input : inputs_)
    if (is16BitFloat(input))
      input = cast(input, b.getF32Type());
  return element;
}

void NodeImport::narrowResults(Type element) {
  for (auto [i, result] : llvm::enumerate(results_))
    if (result && isTensor(result) && !float32Results_.contains(i) &&
        ir::tensorType(result).getElementType().isF32())
      result = cast(result, element);
}

bool NodeImport::requireFloat(size_t i) {
  if (!has(i) || isFloat(inputs_[i]))
    return !failed();
  fail("input " + quoted(inputName(i)) + " must be of a float type");
  return false;
}

bool NodeImport::requireRank(size_t i, int64_t least) {
  if (!has(i) || rankOf(inputs_[i]) >= least)
    return !failed();
  fail("input " + quoted(inputName(i)) + " has rank " +
       std::to_string(rankOf(inputs_[i])) + "; at least " +
       std::to_string(least) + " is needed");
  return false;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *NodeImport::findAttr(StringRef name) {
  readAttrs_.insert(name);
  for (const AttributeProto &attribute : node.attribute()) {
    if (StringRef(attribute.name()) != name)
      continue;
    if (attribute.ref_attr_name().empty())
      return &attribute;
    auto bound = frame_.attributes.find(attribute.ref_attr_name());
    return bound == frame_.attributes.end() ? nullptr : bound->second;
  }
  return nullptr;
}

std::optional<std::string> NodeImport::findUnread() const {
  for (const AttributeProto &attribute : node.attribute()) {
    // A function's attribute that its caller omits is absent.
    bool isAbsent = !attribute.ref_attr_name().empty() &&
                    !frame_.attributes.contains(attribute.ref_attr_name());
    if (!isAbsent && !readAttrs_.contains(attribute.name()))
      return "attribute " + quoted(attribute.name());
  }
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] && !readInputs_[unsigned(i)])
      return "input " + std::to_string(i) + " (" + quoted(inputName(i)) + ")";
  return std::nullopt;
}

bool NodeImport::hasAttr(StringRef name) { return findAttr(name) != nullptr; }

/// The attribute, if it is present and of `type`.
static const AttributeProto *typed(NodeImport &node, StringRef name,
                                   AttributeProto::AttributeType type) {
  const AttributeProto *attribute = node.findAttr(name);
  if (!attribute)
    return nullptr;
  // Writers before IR version 2 omitted the type.
  bool fits = attribute->type() == type;
  if (fits)
    return attribute;
  node.fail("attribute " + quoted(name) + " is of type " +
            AttributeProto::AttributeType_Name(attribute->type()) +
            "; it must be " + AttributeProto::AttributeType_Name(type));
  return nullptr;
}

std::optional<int64_t> NodeImport::attrInt(StringRef name) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::INT);
  return attribute ? std::optional<int64_t>(attribute->i()) : std::nullopt;
}

int64_t NodeImport::attrInt(StringRef name, int64_t byDefault) {
  return attrInt(name).value_or(byDefault);
}

double NodeImport::attrFloat(StringRef name, double byDefault) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::FLOAT);
  return attribute ? double(attribute->f()) : byDefault;
}

std::string NodeImport::attrString(StringRef name, StringRef byDefault) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::STRING);
  return attribute ? attribute->s() : byDefault.str();
}

std::optional<Shape> NodeImport::attrInts(StringRef name) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  return Shape(attribute->ints().begin(), attribute->ints().end());
}

std::optional<SmallVector<double>> NodeImport::attrFloats(StringRef name) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::FLOATS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<double>(attribute->floats().begin(),
                             attribute->floats().end());
}

std::optional<std::vector<std::string>>
NodeImport::attrStrings(StringRef name) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::STRINGS);
  if (!attribute)
    return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(),
                                  attribute->strings().end());
}

const ::onnx::TensorProto *NodeImport::attrTensor(StringRef name) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::TENSOR);
  return attribute ? &attribute->t() : nullptr;
}

const ::onnx::GraphProto *NodeImport::attrGraph(StringRef name) {
  const AttributeProto *attribute = typed(*this, name, AttributeProto::GRAPH);
  return attribute ? &attribute->g() : nullptr;
}

//===----------------------------------------------------------------------===//
// What is known at compile time
//===----------------------------------------------------------------------===//

std::optional<ir::Tensor> NodeImport::constantOf(Value value) {
  return graph_.constantOf(value);
}

std::optional<ir::Tensor> NodeImport::known(size_t i, StringRef field) {
  if (!has(i))
    return std::nullopt;
  std::optional<ir::Tensor> tensor = constantOf(in(i));
  if (!tensor)
    unsupported("input " + quoted(field) + " (" + quoted(inputName(i)) +
                ") must be known at compile time");
  return tensor;
}

std::optional<Shape> NodeImport::knownInts(size_t i, StringRef field) {
  if (!has(i))
    return std::nullopt;
  if (isFloat(in(i)) || rankOf(in(i)) > 1) {
    fail("input " + quoted(field) + " must be a list of integers");
    return std::nullopt;
  }
  std::optional<ir::Tensor> tensor = known(i, field);
  if (!tensor)
    return std::nullopt;
  return Shape(tensor->ints.begin(), tensor->ints.end());
}

std::optional<int64_t> NodeImport::knownInt(size_t i, StringRef field) {
  std::optional<Shape> values = knownInts(i, field);
  if (!values)
    return std::nullopt;
  if (values->size() != 1) {
    fail("input " + quoted(field) + " must be a single integer");
    return std::nullopt;
  }
  return values->front();
}

std::optional<Shape> NodeImport::normalised(Ints axes, int64_t rank) {
  Shape result;
  for (int64_t value : axes) {
    std::optional<int64_t> dim = axis(value, rank, "axes: axis");
    if (!dim)
      return std::nullopt;
    result.push_back(*dim);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    fail("axes " + shownShape(axes) + " name a dimension twice");
    return std::nullopt;
  }
  return result;
}

std::optional<Shape> NodeImport::axes(size_t i, int64_t inputSince,
                                      int64_t rank) {
  std::optional<Shape> axes =
      version >= inputSince ? knownInts(i, "axes") : attrInts("axes");
  return axes ? normalised(*axes, rank) : std::nullopt;
}

} // namespace sinter::compiler
