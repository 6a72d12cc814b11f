//===- Node.h - one ONNX node while it is imported --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The argument of import functions: the node's inputs as values, its attributes
// (a wrong type is an error), what is known about inputs at compile time, and
// the builder (Emit). An import function sets outputs. On failure it gives the
// reason through fail() if the node breaks ONNX's rules, or unsupported() if it
// is legal but not supported.
//
// NodeImport records what an import function reads. A node is rejected if it
// has an attribute, input or wanted output that the function did not touch: it
// might change the result in a way that the function does not know.
// ignoreAttr() and ignoreInput() exempt what has no effect on the result.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_NODE_H
#define SINTER_COMPILER_IMPORT_ONNX_NODE_H

#include "compiler/import/onnx/Emit.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace sinter::compiler {

class GraphImport;
struct Frame;
struct Scope;

class NodeImport : public Emit {
public:
  NodeImport(GraphImport &graph, Scope &scope, const Frame &frame,
             const ::onnx::NodeProto &node, int64_t version,
             mlir::OpBuilder &builder, mlir::Location loc);

  const ::onnx::NodeProto &node;
  /// The version of the operator set of the node's domain.
  const int64_t version;

  // Inputs. Trailing absent inputs do not count. in(), inputs() and the
  // functions that call them count as reading an input; has() and
  // requireFloat() do not.
  size_t numInputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  /// Null when absent.
  mlir::Value in(size_t i) {
    ignoreInput(i);
    return i < inputs_.size() ? inputs_[i] : mlir::Value();
  }
  llvm::ArrayRef<mlir::Value> inputs() {
    readInputs_.set();
    return inputs_;
  }
  /// The input has no effect on the result.
  void ignoreInput(size_t i) {
    if (i < readInputs_.size())
      readInputs_.set(unsigned(i));
  }
  /// Puts another value in place of a present input.
  void replaceInput(size_t i, mlir::Value value) { inputs_[i] = value; }
  /// Converts 16-bit float inputs to float32 and returns the element type of
  /// the first of them; null if there is none.
  mlir::Type widenInputs();
  /// Rounds the float32 results to `element`, but for those of outFloat32().
  void narrowResults(mlir::Type element);
  /// Fails with a message unless input `i` has a float type.
  bool requireFloat(size_t i = 0);
  bool requireRank(size_t i, int64_t least);

  // Outputs.
  size_t numOutputs() const;
  /// Whether output `i` has a name that something reads.
  bool wants(size_t i) const;
  void out(size_t i, mlir::Value value);
  void out(mlir::Value value) { out(0, value); }
  /// A result that is float32 whatever the type of the inputs is.
  void outFloat32(size_t i, mlir::Value value) {
    float32Results_.insert(i);
    out(i, value);
  }

  // Attributes; absent ones give the default.
  bool hasAttr(llvm::StringRef name);
  int64_t attrInt(llvm::StringRef name, int64_t byDefault);
  std::optional<int64_t> attrInt(llvm::StringRef name);
  double attrFloat(llvm::StringRef name, double byDefault);
  std::string attrString(llvm::StringRef name, llvm::StringRef byDefault);
  std::optional<Shape> attrInts(llvm::StringRef name);
  std::optional<llvm::SmallVector<double>> attrFloats(llvm::StringRef name);
  std::optional<std::vector<std::string>> attrStrings(llvm::StringRef name);
  /// Null when absent.
  const ::onnx::TensorProto *attrTensor(llvm::StringRef name);
  const ::onnx::GraphProto *attrGraph(llvm::StringRef name);
  const ::onnx::AttributeProto *findAttr(llvm::StringRef name);
  /// The attribute has no effect on the result.
  void ignoreAttr(llvm::StringRef name) { readAttrs_.insert(name); }
  /// Describes an attribute or input that was not read, for a message; nothing
  /// if all were read.
  std::optional<std::string> findUnread() const;

  // What is known at compile time.
  std::optional<ir::Tensor> constantOf(mlir::Value value);
  std::optional<ir::Tensor> constantOf(size_t i) { return constantOf(in(i)); }
  /// Calls unsupported("input '<field>' must be known at compile time") if it
  /// is not known.
  std::optional<ir::Tensor> known(size_t i, llvm::StringRef field);
  /// An integer tensor of rank <= 1.
  std::optional<Shape> knownInts(size_t i, llvm::StringRef field);
  std::optional<int64_t> knownInt(size_t i, llvm::StringRef field);
  /// Axes, an attribute before version `inputSince` and input `i` since then.
  /// Nothing if absent or invalid (failed() tells which). Normalised to
  /// [0, rank), distinct, ascending.
  std::optional<Shape> axes(size_t i, int64_t inputSince, int64_t rank);
  /// The same for given values.
  std::optional<Shape> normalised(Ints axes, int64_t rank);

  /// Requires each of `indices`, of any integer type, to be in [lower, upper).
  /// Known indices are checked now, the others when the program runs. False
  /// after fail(). With an empty range, every index is out of bounds.
  bool checkIndices(mlir::Value indices, int64_t lower, int64_t upper);

  mlir::Value unsupported(std::string message) {
    if (!failed())
      isUnsupported_ = true;
    return fail(std::move(message));
  }
  bool isUnsupported() const { return isUnsupported_; }
  /// Adds a warning line, which names the node.
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  /// The outputs depend on an unsupported node, which has been reported.
  void poison() { isPoisoned_ = true; }

  GraphImport &graph() { return graph_; }
  Scope &scope() { return scope_; }
  const Frame &frame() const { return frame_; }
  llvm::ArrayRef<mlir::Value> results() const { return results_; }
  mlir::MLIRContext *context() { return b.getContext(); }
  std::string inputName(size_t i) const;
  std::string outputName(size_t i) const;

private:
  friend class GraphImport;

  GraphImport &graph_;
  Scope &scope_;
  const Frame &frame_;
  void addInput(mlir::Value value) {
    inputs_.push_back(value);
    readInputs_.resize(unsigned(inputs_.size()));
  }

  llvm::SmallVector<mlir::Value> inputs_, results_;
  llvm::SmallSet<size_t, 2> float32Results_;
  llvm::StringSet<> readAttrs_;
  llvm::SmallBitVector readInputs_;
  std::vector<std::string> warnings_;
  bool isUnsupported_ = false, isPoisoned_ = false;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_NODE_H
