//===- OneNode.h - tests of single ONNX nodes -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_COMPILER_IMPORT_ONENODE_H
#define SINTER_TEST_COMPILER_IMPORT_ONENODE_H

#include "test/compiler/import/ModelBuilder.h"

#include <catch2/catch.hpp>

namespace sinter::test {

/// One node 'n' of `op`; its inputs are added one by one, its output is y.
class OneNode {
public:
  OneNode(const std::string &op, int64_t opset, const std::string &domain = "")
      : builder(domain.empty() ? opset : 20) {
    node_ = &builder.node(op, {}, {"y"}, "n");
    node_->set_domain(domain);
    if (!domain.empty()) {
      auto &import = *builder.model.add_opset_import();
      import.set_domain(domain);
      import.set_version(opset);
    }
    builder.output("y", 0);
  }

  OneNode &x(const std::vector<int64_t> &dims,
             const std::vector<double> &values) {
    std::string name = nextName();
    builder.input(name, {dims.begin(), dims.end()});
    fed.push_back(values);
    return *this;
  }
  /// An input of float16.
  OneNode &half(const std::vector<int64_t> &dims,
                const std::vector<double> &values) {
    std::string name = nextName();
    builder.input(name, {dims.begin(), dims.end()},
                  ::onnx::TensorProto::FLOAT16);
    fed.push_back(values);
    return *this;
  }
  OneNode &floats(const std::vector<int64_t> &dims,
                  const std::vector<float> &values) {
    builder.floats(nextName(), dims, values);
    return *this;
  }
  OneNode &ints(const std::vector<int64_t> &values) {
    builder.ints(nextName(), {int64_t(values.size())}, values);
    return *this;
  }
  OneNode &typed(int32_t type, const std::vector<int64_t> &dims,
                 const std::vector<int32_t> &values) {
    ::onnx::TensorProto &tensor = *builder.graph().add_initializer();
    tensor.set_name(nextName());
    tensor.set_data_type(type);
    for (int64_t dim : dims)
      tensor.add_dims(dim);
    for (int32_t value : values)
      tensor.add_int32_data(value);
    return *this;
  }
  /// An input of the builder's.
  OneNode &named(const std::string &name) {
    node_->add_input(name);
    return *this;
  }
  OneNode &absent() {
    node_->add_input("");
    return *this;
  }
  /// y is the node's second output.
  OneNode &second() {
    node_->set_output(0, "first");
    node_->add_output("y");
    return *this;
  }
  OneNode &set(const std::string &name, int64_t value) {
    ModelBuilder::setInt(*node_, name, value);
    return *this;
  }
  OneNode &set(const std::string &name, int value) {
    return set(name, int64_t(value));
  }
  OneNode &set(const std::string &name, double value) {
    ModelBuilder::setFloat(*node_, name, float(value));
    return *this;
  }
  OneNode &set(const std::string &name, const char *value) {
    ModelBuilder::setString(*node_, name, value);
    return *this;
  }
  OneNode &set(const std::string &name,
               const std::vector<std::string> &values) {
    auto *attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string &value : values)
      attribute->add_strings(value);
    return *this;
  }
  OneNode &set(const std::string &name, const std::vector<int64_t> &values) {
    ModelBuilder::setInts(*node_, name, values);
    return *this;
  }

  /// The output has this shape and, within 1e-5, these values.
  void gives(const std::vector<int64_t> &shape,
             const std::vector<double> &expected) {
    Imported result = builder.import();
    INFO(result.text());
    REQUIRE(result.module);
    std::vector<sinter::ir::Tensor> y = evaluate(result, fed);
    REQUIRE(y.size() == 1);
    CHECK(std::vector<int64_t>(y[0].shape().begin(), y[0].shape().end()) ==
          shape);
    std::vector<double> values =
        y[0].isFloat()
            ? y[0].floats
            : std::vector<double>(y[0].ints.begin(), y[0].ints.end());
    REQUIRE(values.size() == expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      INFO(i);
      CHECK(values[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
    }
  }
  void fails(const std::string &part, int code = 2) {
    Imported result = builder.import();
    INFO(result.text());
    CHECK(result.errors.exitCode() == code);
    CHECK(result.says(part));
  }
  /// The import gives one warning, which contains `part`; none if it is empty.
  void warns(const std::string &part) {
    Imported result = builder.import();
    INFO(result.text());
    REQUIRE(result.module);
    llvm::ArrayRef<std::string> warnings = result.errors.warnings();
    REQUIRE(warnings.size() == (part.empty() ? 0 : 1));
    for (const std::string &line : warnings) {
      INFO(line);
      CHECK(line.find(part) != std::string::npos);
    }
  }

  ModelBuilder builder;
  std::vector<std::vector<double>> fed;

private:
  std::string nextName() {
    std::string name = "i" + std::to_string(node_->input_size());
    node_->add_input(name);
    return name;
  }

  ::onnx::NodeProto *node_;
};

} // namespace sinter::test

#endif // SINTER_TEST_COMPILER_IMPORT_ONENODE_H
