//===- ModelBuilder.cpp - small ONNX models for tests ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/ModelBuilder.h"

#include "ir/eval/Evaluate.h"

#include <cmath>

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::test {

std::string Imported::text() const {
  std::string text;
  for (const std::string &line : errors.lines())
    text += line + "\n";
  return text;
}

std::string Imported::ir() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module)
    module.get().print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

int Imported::count(const std::string &part) const {
  std::string text = ir();
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

ModelBuilder::ModelBuilder(int64_t opset) {
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

void ModelBuilder::input(const std::string &name, const std::vector<Dim> &dims,
                         int32_t type) {
  ::onnx::ValueInfoProto &info = *graph().add_input();
  info.set_name(name);
  auto &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const Dim &dim : dims) {
    auto &to = *tensor.mutable_shape()->add_dim();
    if (const int64_t *size = std::get_if<int64_t>(&dim))
      to.set_dim_value(*size);
    else
      to.set_dim_param(std::get<std::string>(dim));
  }
}

void ModelBuilder::output(const std::string &name, int32_t type) {
  ::onnx::ValueInfoProto &info = *graph().add_output();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

NodeProto &ModelBuilder::node(const std::string &op, const Names &inputs,
                              const Names &outputs, const std::string &name) {
  NodeProto &node = *graph().add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  return node;
}

TensorProto &ModelBuilder::floats(const std::string &name,
                                  const std::vector<int64_t> &dims,
                                  const std::vector<float> &values) {
  TensorProto &tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  for (float value : values)
    tensor.add_float_data(value);
  return tensor;
}

TensorProto &ModelBuilder::ints(const std::string &name,
                                const std::vector<int64_t> &dims,
                                const std::vector<int64_t> &values) {
  TensorProto &tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::INT64);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  for (int64_t value : values)
    tensor.add_int64_data(value);
  return tensor;
}

Imported importBytes(const std::string &bytes,
                     const compiler::ImportOptions &options) {
  Imported result;
  result.context =
      std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  auto model = compiler::loadOnnxBytes({bytes.data(), bytes.size()},
                                       "test.onnx", result.errors);
  if (model && options.train &&
      !compiler::restoreParameters(*model, options, result.errors))
    model.reset();
  if (model)
    result.module = compiler::importOnnx(model, options, result.context.get(),
                                         result.errors);
  return result;
}

Imported ModelBuilder::import(const compiler::ImportOptions &options) const {
  return importBytes(model.SerializeAsString(), options);
}

Imported ModelBuilder::importTrain() const {
  compiler::ImportOptions options;
  options.train = true;
  return import(options);
}

AttributeProto &ModelBuilder::attribute(NodeProto &node,
                                        const std::string &name,
                                        AttributeProto::AttributeType type) {
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void ModelBuilder::setInt(NodeProto &node, const std::string &name,
                          int64_t value) {
  attribute(node, name, AttributeProto::INT).set_i(value);
}
void ModelBuilder::setInts(NodeProto &node, const std::string &name,
                           const std::vector<int64_t> &values) {
  AttributeProto &to = attribute(node, name, AttributeProto::INTS);
  for (int64_t value : values)
    to.add_ints(value);
}
void ModelBuilder::setFloat(NodeProto &node, const std::string &name,
                            float value) {
  attribute(node, name, AttributeProto::FLOAT).set_f(value);
}
void ModelBuilder::setString(NodeProto &node, const std::string &name,
                             const std::string &value) {
  attribute(node, name, AttributeProto::STRING).set_s(value);
}

std::vector<ir::Tensor>
evaluate(const Imported &imported,
         const std::vector<std::vector<double>> &inputs) {
  auto main = imported.module.get().lookupSymbol<func::FuncOp>("main");
  std::vector<ir::Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ir::Tensor &tensor = tensors.emplace_back(
        cast<RankedTensorType>(main.getArgumentTypes()[unsigned(i)]));
    for (size_t k = 0; k < inputs[i].size(); ++k)
      if (tensor.isFloat())
        tensor.floats[k] = inputs[i][k];
      else
        tensor.ints[k] = int64_t(inputs[i][k]);
  }
  auto results = ir::evaluateFunction(main, tensors);
  if (failed(results))
    return {};
  return std::vector<ir::Tensor>(results->begin(), results->end());
}

/// Values without a pattern that a mistake could hide behind.
static std::vector<float> wave(size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(float(std::sin(1.7 * double(i) + 0.3) * 0.5));
  return values;
}

ModelBuilder smallNet() {
  ModelBuilder b;
  b.input("x", {std::string("N"), int64_t(2), int64_t(6), int64_t(6)});
  b.floats("conv.weight", {4, 2, 3, 3}, wave(72));
  b.floats("conv.bias", {4}, wave(4));
  b.floats("bn.weight", {4}, {1, 1.5f, 0.5f, 2});
  b.floats("bn.bias", {4}, wave(4));
  b.floats("bn.running_mean", {4}, wave(4));
  b.floats("bn.running_var", {4}, {1, 2, 0.5f, 1.5f});
  b.floats("fc.weight", {3, 36}, wave(108));
  b.floats("fc.bias", {3}, wave(3));
  NodeProto &conv =
      b.node("Conv", {"x", "conv.weight", "conv.bias"}, {"c"}, "conv");
  b.setInts(conv, "pads", {1, 1, 1, 1});
  b.node("BatchNormalization",
         {"c", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"},
         {"n"}, "bn");
  b.node("Relu", {"n"}, {"r"}, "relu");
  NodeProto &pool = b.node("MaxPool", {"r"}, {"p"}, "pool");
  b.setInts(pool, "kernel_shape", {2, 2});
  b.setInts(pool, "strides", {2, 2});
  b.node("Flatten", {"p"}, {"f"}, "flatten");
  NodeProto &fc = b.node("Gemm", {"f", "fc.weight", "fc.bias"}, {"y"}, "fc");
  b.setInt(fc, "transB", 1);
  b.output("y");
  return b;
}

} // namespace sinter::test
