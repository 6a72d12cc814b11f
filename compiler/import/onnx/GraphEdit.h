//===- GraphEdit.h - changes of a model's main graph ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Collects new initializers, nodes and inputs and applies them all at the end,
// so that the indices of nodes do not change while the graph is analyzed.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_GRAPHEDIT_H
#define SINTER_COMPILER_IMPORT_ONNX_GRAPHEDIT_H

#include "compiler/import/onnx/Emit.h"

#include "llvm/ADT/StringSet.h"

#include <onnx/onnx_pb.h>

#include <map>

namespace sinter::compiler {

class GraphEdit {
public:
  explicit GraphEdit(::onnx::ModelProto &model);

  /// Whether a value of this name exists.
  bool has(llvm::StringRef name) const { return names_.contains(name); }
  std::string freshName(const std::string &base);

  /// Adds an initializer of row-major `bytes`. It replaces an initializer of
  /// the graph with the same name. The reference is valid until apply().
  ::onnx::TensorProto &addTensor(const std::string &name, Ints shape,
                                 int32_t type, std::string bytes);
  /// The same for a copy of `tensor`.
  ::onnx::TensorProto &addTensor(const std::string &name,
                                 const ::onnx::TensorProto &tensor);
  std::string addInts(const std::string &base, Ints values, Ints shape);

  /// Adds a node before all nodes of the graph and after those added earlier.
  /// It has the name of its output.
  ::onnx::NodeProto &addNode(const std::string &op,
                             const std::vector<std::string> &inputs,
                             const std::string &output);
  /// Adds a node after node `index`.
  ::onnx::NodeProto &addNodeBehind(int index, const std::string &op,
                                   const std::vector<std::string> &inputs,
                                   const std::string &output);
  static void setInt(::onnx::NodeProto &node, const std::string &name,
                     int64_t value);
  static void setInts(::onnx::NodeProto &node, const std::string &name,
                      Ints values);
  static void setFloat(::onnx::NodeProto &node, const std::string &name,
                       float value);

  // These compute values by nodes before the graph's own. Each returns the name
  // of its result.
  std::string reshape(const std::string &value, Ints shape,
                      const std::string &base);
  std::string expand(const std::string &value, Ints shape,
                     const std::string &base);
  std::string transpose(const std::string &value, Ints permutation,
                        const std::string &base);
  std::string concat(const std::vector<std::string> &values,
                     const std::string &base);
  std::string gather(const std::string &value, Ints indices, Ints shape,
                     const std::string &base);
  /// The norms of `value` over the dimensions where `shape` has size 1.
  std::string reduceL2(const std::string &value, Ints shape,
                       const std::string &base);
  /// `count` equal parts along the first dimension.
  std::vector<std::string> split(const std::string &value, size_t count,
                                 const std::string &base);

  /// Makes node `index` read `value` at `input`; "" for no operand.
  void setInput(int index, int input, const std::string &value) {
    inputs_.push_back({index, input, value});
  }
  void setOutput(int index, const std::string &value) {
    outputs_[index] = value;
  }
  /// Applies all changes and drops float initializers that nothing reads any
  /// more. The indices of the graph's nodes grow by the number of nodes that
  /// were added before them.
  void apply();

private:
  struct NewInput {
    int node, input;
    std::string value;
  };
  int64_t opset() const;

  ::onnx::ModelProto &model_;
  ::onnx::GraphProto &graph_;
  llvm::StringSet<> names_, replaced_;
  google::protobuf::RepeatedPtrField<::onnx::TensorProto> tensors_;
  google::protobuf::RepeatedPtrField<::onnx::NodeProto> front_;
  std::map<int, google::protobuf::RepeatedPtrField<::onnx::NodeProto>> behind_;
  std::vector<NewInput> inputs_;
  std::map<int, std::string> outputs_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_GRAPHEDIT_H
