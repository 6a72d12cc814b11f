//===- Node.h - one ONNX node while it is imported --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What an import function gets: the node's inputs as values, its attributes (a
// wrong type is an error), what is known of inputs at compile time, and the
// builder (Emit). It sets outputs; when it fails it says why, through fail()
// for input that breaks ONNX's rules and unsupported() for what is legal but
// not done.
//
// What an import function reads is recorded. A node with an attribute, input
// or wanted output that its function did not touch is refused: it may change
// the result in a way that the function does not know. What has no meaning for
// the result is named by ignoreAttr() and ignoreInput(), each with its reason.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_NODE_H
#define SINTER_COMPILER_IMPORT_ONNX_NODE_H

#include "compiler/import/onnx/Emit.h"

#include "llvm/ADT/SmallBitVector.h"
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
  /// Of the operator set of the node's domain.
  const int64_t version;

  // Inputs. Trailing absent ones do not count. Only in(), inputs() and what
  // calls them read an input; has() and the require functions do not.
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
  /// Of no meaning for the result.
  void ignoreInput(size_t i) {
    if (i < readInputs_.size())
      readInputs_.set(unsigned(i));
  }
  /// Another value in place of an input that is there.
  void replaceInput(size_t i, mlir::Value value) { inputs_[i] = value; }
  /// Makes the 16-bit inputs float32, if the first one is 16 bits wide; returns
  /// its element type then.
  mlir::Type widenInputs();
  /// Rounds the float32 results to `element`.
  void narrowResults(mlir::Type element);
  /// The type of input `i` is float; fails with a message otherwise.
  bool requireFloat(size_t i = 0);
  bool requireRank(size_t i, int64_t least);

  // Outputs.
  size_t numOutputs() const;
  /// Output `i` has a name that something reads.
  bool wants(size_t i) const;
  void out(size_t i, mlir::Value value);
  void out(mlir::Value value) { out(0, value); }

  // Attributes; the default where absent.
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
  /// Of no meaning for the result.
  void ignoreAttr(llvm::StringRef name) { readAttrs_.insert(name); }
  /// The attribute or input that nothing read, for a message; nothing when all
  /// were.
  std::optional<std::string> findUnread() const;

  // What is known at compile time.
  std::optional<ir::Tensor> constantOf(mlir::Value value);
  std::optional<ir::Tensor> constantOf(size_t i) { return constantOf(in(i)); }
  /// unsupported("input '<field>' must be known at compile time") where it is
  /// not.
  std::optional<ir::Tensor> known(size_t i, llvm::StringRef field);
  /// An integer tensor of rank <= 1.
  std::optional<Shape> knownInts(size_t i, llvm::StringRef field);
  std::optional<int64_t> knownInt(size_t i, llvm::StringRef field);
  /// Axes as attribute before `inputSince`, as input `i` from then on; nothing
  /// when absent (ask failed()). Normalised to [0, rank), distinct, ascending.
  std::optional<Shape> axes(size_t i, int64_t inputSince, int64_t rank);
  /// The same for given values.
  std::optional<Shape> normalised(Ints axes, int64_t rank);

  /// `indices` of any integer type, each of which must lie in [lower, upper):
  /// what is known is checked now, the rest when the program runs. False after
  /// fail(). An empty range holds no index.
  bool checkIndices(mlir::Value indices, int64_t lower, int64_t upper);

  mlir::Value unsupported(std::string message) {
    if (!failed())
      isUnsupported_ = true;
    return fail(std::move(message));
  }
  bool isUnsupported() const { return isUnsupported_; }
  /// The outputs depend on a node that is not supported, and was reported.
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
  llvm::StringSet<> readAttrs_;
  llvm::SmallBitVector readInputs_;
  bool isUnsupported_ = false, isPoisoned_ = false;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_NODE_H
