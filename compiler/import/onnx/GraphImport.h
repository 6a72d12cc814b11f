//===- GraphImport.h - building @main from a checked model ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One object per import. It walks the nodes of the main graph in order, looks
// up names, and inlines model-local functions and subgraphs into the single
// block of @main. It folds shape arithmetic as it goes, so that the next node
// finds constants.
//
// An unsupported node poisons its outputs; its readers are skipped, and all
// unsupported nodes are reported together at the end. An invalid node ends
// the import.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_GRAPHIMPORT_H
#define SINTER_COMPILER_IMPORT_ONNX_GRAPHIMPORT_H

#include "compiler/import/onnx/Fold.h"
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/InputShapes.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/TensorReader.h"
#include "ir/Intervals.h"

#include <onnx/onnx_pb.h>

#include <map>

namespace sinter::compiler {

/// The state inside one function call (or the main graph).
struct Frame {
  const Opsets *opsets;
  /// Values of the attributes that the function's nodes refer to.
  llvm::StringMap<const ::onnx::AttributeProto *> attributes;
  /// Prefix of node names in locations and messages: the caller's label and
  /// '/'.
  std::string prefix;
};

/// The names of one graph, subgraph or function body.
struct Scope {
  /// The enclosing graph; null for the main graph and for function bodies.
  Scope *parent = nullptr;
  /// A null value stands for the output of an unsupported node.
  llvm::StringMap<mlir::Value> values;
  llvm::StringMap<const ::onnx::TensorProto *> initializers;
  llvm::StringMap<const ::onnx::SparseTensorProto *> sparseInitializers;
  /// Inputs of a function that its caller omits.
  llvm::StringSet<> absent;
  /// Names that live nodes, or the graph's outputs, read.
  llvm::StringSet<> read;
};

class GraphImport {
public:
  GraphImport(std::shared_ptr<const OnnxModel> model,
              const ImportOptions &options, mlir::MLIRContext *context,
              ImportErrors &errors);

  /// Null after error lines.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  // For import functions.
  const ImportOptions &options() const { return options_; }
  const OnnxModel &model() const { return *model_; }
  const BoundInputs &boundInputs() const { return bound_; }
  const Registry &registry() const { return registry_; }
  std::optional<ir::Tensor> constantOf(mlir::Value value);
  /// Builds `tensor` as a constant; null after node.fail().
  mlir::Value makeConstant(NodeImport &node, const ::onnx::TensorProto &tensor);
  mlir::Value makeConstant(NodeImport &node,
                           const ::onnx::SparseTensorProto &tensor);
  /// Builds `body` at the end of the block for `inputs` (in the order of its
  /// inputs). Returns false after node.fail(); a null output is poisoned. The
  /// call may fold away values that the caller built before, other than
  /// constants.
  bool importBody(NodeImport &node, const ::onnx::GraphProto &body,
                  mlir::ValueRange inputs,
                  llvm::SmallVectorImpl<mlir::Value> &outputs);
  /// Calls `build`, which imports `body` as that of a scan. If it returns
  /// false, or the trips must differ in their random numbers, undoes what it
  /// built and reported, and returns false. A body is tried once: the import of
  /// bodies in each other would take time exponential in their depth.
  bool tryScan(const ::onnx::GraphProto &body,
               llvm::function_ref<bool()> build);
  /// Until popRange(), the elements of `value` are known to lie in [low, high].
  void pushRange(mlir::Value value, int64_t low, int64_t high) {
    ranges_.push_back({value, {double(low), double(high)}});
  }
  void popRange() { ranges_.pop_back(); }
  /// The number of nodes in `body`, subgraphs included.
  static int64_t countNodes(const ::onnx::GraphProto &body);
  void warn(const std::string &text);
  /// For NodeImport::checkIndices().
  bool checkIndices(NodeImport &node, mlir::Value indices, int64_t lower,
                    int64_t upper);
  /// Until popGuard(), the results of what importBody() builds matter only if
  /// `condition`, a bool that an earlier node computed, equals `taken`.
  void pushGuard(mlir::Value condition, bool taken) {
    guards_.push_back({condition, taken});
  }
  void popGuard() { guards_.pop_back(); }
  /// The argument of @main that holds the control of this name, a tensor<i64>.
  mlir::Value control(llvm::StringRef name);
  /// Takes `elements` from the budget of sequence elements; false if it is
  /// exhausted.
  bool takeSequence(int64_t elements) {
    return (sequenceBudget_ -= elements) >= 0;
  }
  /// A number that distinguishes the random ops of a program.
  int64_t nextRandomId() { return randomIds_++; }

private:
  using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

  bool buildMain();
  bool addStates(const ::onnx::GraphProto &graph, llvm::ArrayRef<bool> live);
  bool addOutputs(const ::onnx::GraphProto &graph);
  /// Adds the results of the index checks to `results` and their descriptions
  /// to `checks`; nothing if there are no checks. False after an error line.
  bool addIndexChecks(llvm::SmallVectorImpl<mlir::Value> &results,
                      mlir::ArrayAttr &checks);
  /// Fills `nodes_` if somebody reads details; before removeDead().
  void listNodes(const ::onnx::GraphProto &graph, llvm::ArrayRef<bool> live);
  /// Reports the nodes that no op comes from.
  void explainGone();
  /// Declares the states that are used, drops the others, names the controls.
  void finishArguments();
  bool importNodes(const Nodes &nodes, llvm::ArrayRef<bool> live, Scope &scope,
                   const Frame &frame);
  bool importNode(const ::onnx::NodeProto &node, size_t index, Scope &scope,
                  const Frame &frame);
  bool callFunction(NodeImport &node, const ::onnx::FunctionProto &function,
                    llvm::StringRef label);
  void declareInitializers(const ::onnx::GraphProto &graph, Scope &scope);
  /// Nothing when an initializer cannot be read (an error line says so).
  std::optional<mlir::Value> lookup(Scope &scope, llvm::StringRef name);
  void findUnknown(const Nodes &nodes, llvm::StringRef prefix,
                   llvm::StringSet<> &visited);
  bool poisonsSubgraph(const ::onnx::NodeProto &node, Scope &scope);
  void noteUnsupported(const ::onnx::NodeProto &node, llvm::StringRef label,
                       const std::string &why);
  void reportUnsupported();
  /// Folds and verifies what was appended since the last call; maps `values`.
  bool settle(llvm::MutableArrayRef<mlir::Value> values);
  bool isGraphOutput(llvm::StringRef name) const;
  bool checkDeclaredType(const ::onnx::NodeProto &node, llvm::StringRef label,
                         llvm::StringRef output, mlir::Value value);
  /// Whether the sizes that the file declares for a value are those of `value`.
  bool hasDeclaredShape(llvm::StringRef name, mlir::Value value) const;
  /// Warns if those of a graph output are not.
  void checkDeclaredShape(llvm::StringRef output, mlir::Value value);
  void removeDead();
  bool invalid(const std::string &text);

  std::shared_ptr<const OnnxModel> model_;
  const ImportOptions &options_;
  mlir::MLIRContext *context_;
  ImportErrors &errors_;
  std::string file_;
  ModelIndex index_;
  Registry registry_;
  BoundInputs bound_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp main_;
  mlir::OpBuilder builder_;
  Folder folder_;
  /// The last op of @main that is settled; null at the beginning.
  mlir::Operation *settled_ = nullptr;
  /// Bytes that dense forms of sparse tensors may still take.
  int64_t sparseBudget_ = int64_t(1) << 28;
  /// Elements that sequences may still take. This bounds loops that append.
  int64_t sequenceBudget_ = int64_t(1) << 24;
  int64_t expandedNodes_ = 0, randomIds_ = 0;
  llvm::StringMap<mlir::Value> controls_;
  struct IndexCheck {
    mlir::Value indices, fault; // the operand and result of an index_fault
    std::string node;
    int64_t lower, upper;
  };
  std::vector<IndexCheck> indexChecks_;
  llvm::SmallVector<std::pair<mlir::Value, bool>> guards_;
  llvm::SmallVector<std::pair<mlir::Value, ir::Interval>> ranges_;
  /// Bodies that tryScan() has refused.
  llvm::DenseSet<const ::onnx::GraphProto *> notScans_;
  /// Argument of @main -> the state it holds.
  struct State {
    std::string name;
    mlir::ElementsAttr init;
    const InitializerRole *role;
  };
  llvm::DenseMap<mlir::Value, State> states_;
  llvm::StringMap<const ::onnx::TypeProto::Tensor *> declared_;
  /// The first node of the main graph with an output whose declared shape is
  /// not the one it has: "node 'label' (Operator)".
  std::string misdeclared_;
  /// A node of the main graph.
  struct MainNode {
    std::string label;
    bool isLive, isConstant; // read; all that is read of it is constant
  };
  std::vector<MainNode> nodes_;
  /// The scope of the main graph while it is imported.
  Scope *scope_ = nullptr;
  /// (operator, reason) -> node labels.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      unsupported_;
};

/// Whether each of `nodes` is read. `read` holds the graph's outputs when
/// called and all names that are read on return.
std::vector<bool>
findLive(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
         llvm::StringSet<> &read);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_GRAPHIMPORT_H
