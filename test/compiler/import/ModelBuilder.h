//===- ModelBuilder.h - small ONNX models for tests -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_COMPILER_IMPORT_MODELBUILDER_H
#define SINTER_TEST_COMPILER_IMPORT_MODELBUILDER_H

#include "compiler/import/onnx/Import.h"

#include "mlir/IR/MLIRContext.h"

#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace sinter::test {

using Names = std::vector<std::string>;
/// A size or the name of an open dimension.
using Dim = std::variant<int64_t, std::string>;

/// The result of an import: a module or error lines.
struct Imported {
  std::unique_ptr<mlir::MLIRContext> context;
  compiler::ImportErrors errors;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  Imported() = default;
  Imported(Imported &&) = default;
  /// Destroys the module before its context.
  Imported &operator=(Imported &&other) {
    module = std::move(other.module);
    context = std::move(other.context);
    errors = std::move(other.errors);
    return *this;
  }

  /// All error lines, each followed by a newline.
  std::string text() const;
  bool says(const std::string &part) const {
    return text().find(part) != std::string::npos;
  }
  /// The module in MLIR's text form.
  std::string ir() const;
  /// How often `part` is in ir().
  int count(const std::string &part) const;
};

/// A model of IR version 8; `graph` is its main graph.
class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 17);

  ::onnx::ModelProto model;
  ::onnx::GraphProto &graph() { return *model.mutable_graph(); }

  void input(const std::string &name, const std::vector<Dim> &dims,
             int32_t type = ::onnx::TensorProto::FLOAT);
  void output(const std::string &name,
              int32_t type = ::onnx::TensorProto::FLOAT);
  ::onnx::NodeProto &node(const std::string &op, const Names &inputs,
                          const Names &outputs, const std::string &name = "");
  ::onnx::TensorProto &floats(const std::string &name,
                              const std::vector<int64_t> &dims,
                              const std::vector<float> &values);
  ::onnx::TensorProto &ints(const std::string &name,
                            const std::vector<int64_t> &dims,
                            const std::vector<int64_t> &values);

  Imported import(const compiler::ImportOptions &options = {}) const;
  Imported importTrain() const;

  static ::onnx::AttributeProto &
  attribute(::onnx::NodeProto &node, const std::string &name,
            ::onnx::AttributeProto::AttributeType type);
  static void setInt(::onnx::NodeProto &node, const std::string &name,
                     int64_t value);
  static void setInts(::onnx::NodeProto &node, const std::string &name,
                      const std::vector<int64_t> &values);
  static void setFloat(::onnx::NodeProto &node, const std::string &name,
                       float value);
  static void setString(::onnx::NodeProto &node, const std::string &name,
                        const std::string &value);
};

/// Imports arbitrary bytes.
Imported importBytes(const std::string &bytes,
                     const compiler::ImportOptions &options = {});
/// The outputs of @main by reference evaluation; the module must take `inputs`.
std::vector<ir::Tensor>
evaluate(const Imported &imported,
         const std::vector<std::vector<double>> &inputs);
/// A small model with a convolution, normalisation, pooling and a matrix
/// product; input x [N, 2, 6, 6], output y [N, 3].
ModelBuilder smallNet();

} // namespace sinter::test

#endif // SINTER_TEST_COMPILER_IMPORT_MODELBUILDER_H
