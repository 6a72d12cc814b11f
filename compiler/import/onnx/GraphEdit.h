//===- GraphEdit.h - changes of a model's main graph ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Collects new initializers, nodes and inputs, and applies them together in
// the end, so that positions of nodes stay what they were while the graph is
// looked at.
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

  /// Whether a value of this name is there.
  bool has(llvm::StringRef name) const { return names_.contains(name); }
  std::string freshName(const std::string &base);

  /// A new initializer of row-major `bytes`. One of the graph that has the same
  /// name gives way to it. The reference is valid until apply().
  ::onnx::TensorProto &addTensor(const std::string &name, Ints shape,
                                 int32_t type, std::string bytes);
  /// The same, a copy of `tensor`.
  ::onnx::TensorProto &addTensor(const std::string &name,
                                 const ::onnx::TensorProto &tensor);
  std::string addInts(const std::string &base, Ints values, Ints shape);

  /// A node in front of all that were there, behind those added before. Its
  /// name is that of its output.
  ::onnx::NodeProto &addNode(const std::string &op,
                             const std::vector<std::string> &inputs,
                             const std::string &output);
  /// A node behind node `index`.
  ::onnx::NodeProto &addNodeBehind(int index, const std::string &op,
                                   const std::vector<std::string> &inputs,
                                   const std::string &output);
  static void setInt(::onnx::NodeProto &node, const std::string &name,
                     int64_t value);
  static void setInts(::onnx::NodeProto &node, const std::string &name,
                      Ints values);
  static void setFloat(::onnx::NodeProto &node, const std::string &name,
                       float value);

  // Values computed by nodes in front; each gives the name of its result.
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

  /// Node `index` reads `value` at `input`; "" for no operand.
  void setInput(int index, int input, const std::string &value) {
    inputs_.push_back({index, input, value});
  }
  void setOutput(int index, const std::string &value) {
    outputs_[index] = value;
  }
  /// Applies everything. Float initializers that nothing reads any more are
  /// dropped. Afterwards node i is at i + numFront() at least.
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
