//===- Subgraphs.cpp - calls of functions, branches and loop bodies -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Inlines functions and subgraphs into the single block of @main. Also builds
// constants from attributes.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace sinter::compiler {

bool GraphImport::callFunction(NodeImport &node,
                               const ::onnx::FunctionProto &function,
                               llvm::StringRef label) {
  Scope scope;
  if (node.numInputs() > size_t(function.input_size())) {
    node.fail("is called with " + std::to_string(node.numInputs()) +
              " inputs; it has " + std::to_string(function.input_size()));
    return false;
  }
  for (int i = 0; i < function.input_size(); ++i) {
    if (node.has(i))
      scope.values[function.input(i)] = node.in(i);
    else
      scope.absent.insert(function.input(i));
  }
  Frame frame;
  frame.prefix = label.str() + "/";
  Opsets opsets;
  for (const auto &entry : function.opset_import())
    opsets[canonicalDomain(entry.domain())] = entry.version();
  frame.opsets = opsets.empty() ? node.frame().opsets : &opsets;
  for (const std::string &name : function.attribute())
    if (const AttributeProto *value = node.findAttr(name))
      frame.attributes[name] = value;
  for (const AttributeProto *byDefault : model_->defaultsOf(function)) {
    const AttributeProto *value = node.findAttr(byDefault->name());
    frame.attributes[byDefault->name()] = value ? value : byDefault;
  }
  for (const std::string &output : function.output())
    scope.read.insert(output);
  std::vector<bool> live = findLive(function.node(), scope.read);
  llvm::SmallVector<bool> liveBits(live.begin(), live.end());
  if (!importNodes(function.node(), liveBits, scope, frame))
    return false;
  for (int i = 0; i < function.output_size(); ++i) {
    std::optional<Value> value = lookup(scope, function.output(i));
    if (!value)
      return false;
    node.out(i, *value);
  }
  return true;
}

int64_t GraphImport::countNodes(const GraphProto &body) {
  int64_t count = body.node_size();
  for (const NodeProto &node : body.node())
    for (const AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        count += countNodes(attribute.g());
      for (const GraphProto &graph : attribute.graphs())
        count += countNodes(graph);
    }
  return count;
}

bool GraphImport::importBody(NodeImport &node, const GraphProto &body,
                             ValueRange inputs,
                             llvm::SmallVectorImpl<Value> &outputs) {
  Scope scope;
  scope.parent = &node.scope();
  declareInitializers(body, scope);
  if (inputs.size() != size_t(body.input_size())) {
    node.fail("the graph " + quoted(body.name()) + " has " +
              std::to_string(body.input_size()) + " inputs; it gets " +
              std::to_string(inputs.size()));
    return false;
  }
  for (const auto &output : body.output())
    scope.read.insert(output.name());
  std::vector<bool> live = findLive(body.node(), scope.read);
  llvm::SmallVector<bool> liveBits(live.begin(), live.end());
  llvm::SmallVector<Value> arguments(inputs);
  if (!settle(arguments)) {
    node.fail("");
    return false;
  }
  for (int i = 0; i < body.input_size(); ++i)
    scope.values[body.input(i).name()] = arguments[i];
  if (!importNodes(body.node(), liveBits, scope, node.frame())) {
    node.fail("its graph " + quoted(body.name()) + " cannot be imported");
    return false;
  }
  for (const auto &output : body.output()) {
    std::optional<Value> value = lookup(scope, output.name());
    if (!value)
      return false;
    outputs.push_back(*value);
  }
  return true;
}

bool GraphImport::tryScan(const GraphProto &body,
                          llvm::function_ref<bool()> build) {
  if (notScans_.contains(&body) || !settle({}))
    return false;
  Operation *before = settled_;
  const size_t checks = indexChecks_.size();
  const int64_t random = randomIds_, sequence = sequenceBudget_;
  ImportErrors errors = errors_;
  auto unsupported = unsupported_;
  if (build() && randomIds_ == random)
    return true;
  notScans_.insert(&body);
  // Constants stay, because names may be bound to them.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(main_.getBody().front()))) {
    if (&op == before)
      break;
    if (!isa<ir::ConstantOp>(op) && op.use_empty())
      op.erase();
  }
  settled_ = before;
  indexChecks_.resize(checks);
  randomIds_ = random;
  sequenceBudget_ = sequence;
  errors_ = std::move(errors);
  unsupported_ = std::move(unsupported);
  return false;
}

/// Builds the constant of a tensor, or reports why it could not be read.
static Value constantOrError(NodeImport &node, OpBuilder &builder,
                             const auto &model,
                             const std::optional<TensorData> &data,
                             const std::string &why, ReadFailure failure) {
  if (!data)
    return failure == ReadFailure::Unsupported
               ? node.unsupported("its tensor: " + why)
               : node.fail("its tensor: " + why);
  return builder.create<ir::ConstantOp>(node.loc, data->type,
                                        toAttr(model, *data, "constant"));
}

Value GraphImport::makeConstant(NodeImport &node,
                                const ::onnx::TensorProto &tensor) {
  std::string why;
  ReadFailure failure = ReadFailure::None;
  std::optional<TensorData> data =
      readTensor(*model_, tensor, context_, why, failure);
  return constantOrError(node, builder_, model_, data, why, failure);
}

Value GraphImport::makeConstant(NodeImport &node,
                                const ::onnx::SparseTensorProto &tensor) {
  std::string why;
  ReadFailure failure = ReadFailure::None;
  std::optional<TensorData> data =
      readSparseTensor(*model_, tensor, context_, sparseBudget_, why, failure);
  return constantOrError(node, builder_, model_, data, why, failure);
}

} // namespace sinter::compiler
