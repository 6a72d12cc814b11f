//===- GraphImport.cpp - building @main from a checked model --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Values.h"
#include "ir/Locations.h"

#include "mlir/IR/Verifier.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace sinter::compiler {

/// The number of nodes that functions, branches and loops may expand to.
static constexpr int64_t kMaxNodes = 500000;
// An operator with any number of operands becomes one op per operand.
static constexpr int kMaxOperands = 65536;

GraphImport::GraphImport(std::shared_ptr<const OnnxModel> model,
                         const ImportOptions &options, MLIRContext *context,
                         ImportErrors &errors)
    : model_(std::move(model)), options_(options), context_(context),
      errors_(errors), file_(shown(model_->path(), 512)), builder_(context) {
  context->loadDialect<ir::SinterDialect, func::FuncDialect>();
}

bool GraphImport::invalid(const std::string &text) {
  errors_.invalid(file_ + ": " + text);
  return false;
}

void GraphImport::warn(const std::string &text) {
  errors_.warn(file_ + ": " + text);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Adds every name that the subgraphs of `node` read, including their own
/// names.
static void collectReads(const NodeProto &node, llvm::StringSet<> &read);

static void collectReads(const GraphProto &graph, llvm::StringSet<> &read) {
  for (const NodeProto &node : graph.node()) {
    for (const std::string &input : node.input())
      read.insert(input);
    collectReads(node, read);
  }
  for (const auto &output : graph.output())
    read.insert(output.name());
}

static void collectReads(const NodeProto &node, llvm::StringSet<> &read) {
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      collectReads(attribute.g(), read);
    for (const GraphProto &graph : attribute.graphs())
      collectReads(graph, read);
  }
}

std::vector<bool>
findLive(const google::protobuf::RepeatedPtrField<NodeProto> &nodes,
         llvm::StringSet<> &read) {
  std::vector<bool> live(nodes.size());
  for (int i = nodes.size(); i-- > 0;) {
    const NodeProto &node = nodes.Get(i);
    live[i] = llvm::any_of(node.output(), [&](const std::string &output) {
      return !output.empty() && read.contains(output);
    });
    if (!live[i])
      continue;
    for (const std::string &input : node.input())
      read.insert(input);
    collectReads(node, read);
  }
  return live;
}

void GraphImport::declareInitializers(const GraphProto &graph, Scope &scope) {
  for (const auto &tensor : graph.initializer())
    scope.initializers[tensor.name()] = &tensor;
  for (const auto &tensor : graph.sparse_initializer())
    scope.sparseInitializers[tensor.values().name()] = &tensor;
}

std::optional<Value> GraphImport::lookup(Scope &scope, llvm::StringRef name) {
  for (Scope *at = &scope; at; at = at->parent) {
    auto value = at->values.find(name);
    if (value != at->values.end())
      return value->second;
    std::string why;
    ReadFailure failure = ReadFailure::None;
    std::optional<TensorData> data;
    auto dense = at->initializers.find(name);
    auto sparse = at->sparseInitializers.find(name);
    if (dense != at->initializers.end())
      data = readTensor(*model_, *dense->second, context_, why, failure);
    else if (sparse != at->sparseInitializers.end())
      data = readSparseTensor(*model_, *sparse->second, context_, sparseBudget_,
                              why, failure);
    else
      continue;
    if (!data) {
      std::string text = "initializer " + quoted(name) + ": " + why;
      if (failure == ReadFailure::Unsupported)
        errors_.unsupported(file_ + ": " + text);
      else
        invalid(text);
      return std::nullopt;
    }
    Location loc =
        ir::initializerLocation(builder_.getContext(), shown(name, 256));
    Value constant = builder_.create<ir::ConstantOp>(
        loc, data->type, toAttr(model_, *data, name));
    at->values[name] = constant;
    return constant;
  }
  invalid("value " + quoted(name) + " is not defined");
  return std::nullopt;
}

std::optional<ir::Tensor> GraphImport::constantOf(Value value) {
  ElementsAttr attr;
  if (!value)
    return std::nullopt;
  if (auto constant = value.getDefiningOp<ir::ConstantOp>()) {
    attr = constant.getValue();
  } else {
    auto state = states_.find(value);
    if (state == states_.end())
      return std::nullopt;
    attr = state->second.init;
  }
  // Larger constants are not shapes, axes or tables.
  if (ir::tensorType(value).getNumElements() > (1 << 22))
    return std::nullopt;
  FailureOr<ir::Tensor> tensor = ir::Tensor::fromAttr(attr);
  return failed(tensor) ? std::nullopt
                        : std::optional<ir::Tensor>(std::move(*tensor));
}

//===----------------------------------------------------------------------===//
// Unsupported operators
//===----------------------------------------------------------------------===//

/// What else to say of an operator that is not supported anywhere.
static llvm::StringRef adviceFor(llvm::StringRef name) {
  static constexpr llvm::StringLiteral random[] = {
      "Bernoulli",        "Multinomial",   "RandomNormal",
      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  if (!llvm::is_contained(random, name))
    return "";
  return "; random numbers are supported only with --train, in Dropout, "
         "Dropout2d and stochastic depth as PyTorch's exporter writes them; "
         "for inference, export the model in eval() mode";
}

void GraphImport::noteUnsupported(const NodeProto &node, llvm::StringRef label,
                                  const std::string &why) {
  std::string name = node.domain().empty() || node.domain() == "ai.onnx"
                         ? node.op_type()
                         : node.domain() + "." + node.op_type();
  std::vector<std::string> &labels = unsupported_[{name, why}];
  labels.push_back(label.str());
}

void GraphImport::reportUnsupported() {
  for (const auto &[key, labels] : unsupported_) {
    std::string text = file_ + ": operator " + shown(key.first) +
                       " is not supported" +
                       (key.second.empty() ? "" : " here: " + key.second) +
                       " (node" + (labels.size() > 1 ? "s" : "");
    for (size_t i = 0; i < labels.size() && i < 5; ++i)
      text += (i ? ", " : " ") + quoted(labels[i]);
    if (labels.size() > 5)
      text += " and " + std::to_string(labels.size() - 5) + " more";
    text += ")";
    if (key.second.empty())
      text += adviceFor(key.first);
    errors_.unsupported(text);
  }
}

void GraphImport::findUnknown(const Nodes &nodes, llvm::StringRef prefix,
                              llvm::StringSet<> &visited) {
  for (int i = 0; i < nodes.size(); ++i) {
    const NodeProto &node = nodes.Get(i);
    std::string label = prefix.str() + nodeLabel(node, i);
    llvm::StringRef domain = canonicalDomain(node.domain());
    std::string key = functionKey(domain, node.op_type());
    auto function = index_.functions.find(key);
    if (function != index_.functions.end()) {
      if (visited.insert(key).second)
        findUnknown(function->second->node(), label + "/", visited);
    } else if (!registry_.find(domain, node.op_type())) {
      noteUnsupported(node, label, "");
    }
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        findUnknown(attribute.g().node(), prefix, visited);
  }
}

bool GraphImport::poisonsSubgraph(const NodeProto &node, Scope &scope) {
  llvm::StringSet<> read;
  collectReads(node, read);
  for (const auto &entry : read)
    for (Scope *at = &scope; at; at = at->parent) {
      auto value = at->values.find(entry.getKey());
      if (value == at->values.end())
        continue;
      if (!value->second)
        return true;
      break;
    }
  return false;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool GraphImport::importNodes(const Nodes &nodes, llvm::ArrayRef<bool> live,
                              Scope &scope, const Frame &frame) {
  for (int i = 0; i < nodes.size(); ++i)
    if (live[i] && !importNode(nodes.Get(i), i, scope, frame))
      return false;
  return true;
}

bool GraphImport::settle(llvm::MutableArrayRef<Value> values) {
  Block &block = main_.getBody().front();
  DenseMap<Value, Value> replaced;
  Operation *op = settled_ ? settled_->getNextNode()
                           : (block.empty() ? nullptr : &block.front());
  while (op) {
    if (failed(mlir::verify(op, /*verifyRecursively=*/false)))
      return false;
    Operation *next = op->getNextNode();
    folder_.fold(op, replaced);
    settled_ = next ? next->getPrevNode() : &block.back();
    op = next;
  }
  auto follow = [&](Value &value) {
    if (auto found = replaced.find(value); found != replaced.end())
      value = found->second;
  };
  for (Value &value : values)
    follow(value);
  for (IndexCheck &check : indexChecks_) {
    follow(check.indices);
    follow(check.fault);
  }
  return true;
}

bool GraphImport::isGraphOutput(llvm::StringRef name) const {
  return llvm::any_of(model_->proto().graph().output(),
                      [&](const auto &info) { return info.name() == name; });
}

bool GraphImport::checkDeclaredType(const NodeProto &node,
                                    llvm::StringRef label,
                                    llvm::StringRef output, Value value) {
  const ::onnx::TypeProto::Tensor *found = declared_.lookup(output);
  int32_t declared = found ? found->elem_type() : 0;
  int32_t actual = dataTypeOf(ir::tensorType(value).getElementType());
  if (!declared || actual == declared)
    return true;
  return invalid("node " + quoted(label) + " (" + shown(node.op_type()) +
                 "): output " + quoted(output) + " is declared as " +
                 dataTypeName(declared) + ", but is " + dataTypeName(actual));
}

/// The size that is declared for a dimension; nothing if it is open.
static std::optional<int64_t>
declaredSize(const ::onnx::TensorShapeProto::Dimension &dim) {
  // Some exporters write -1 for an open size.
  if (!dim.has_dim_value() || dim.dim_value() < 0)
    return std::nullopt;
  return dim.dim_value();
}

bool GraphImport::hasDeclaredShape(llvm::StringRef name, Value value) const {
  const ::onnx::TypeProto::Tensor *declared = declared_.lookup(name);
  if (!declared || !declared->has_shape())
    return true;
  llvm::ArrayRef<int64_t> shape = ir::tensorType(value).getShape();
  return declared->shape().dim_size() == int(shape.size()) &&
         llvm::all_of_zip(declared->shape().dim(), shape,
                          [](const auto &dim, int64_t size) {
                            return declaredSize(dim).value_or(size) == size;
                          });
}

void GraphImport::checkDeclaredShape(llvm::StringRef output, Value value) {
  // With --batch, the sizes of the file are those of another batch.
  if (bound_.exportedBatch || hasDeclaredShape(output, value))
    return;
  std::string declared;
  for (const auto &dim : declared_.lookup(output)->shape().dim()) {
    if (!declared.empty())
      declared += ", ";
    if (declared.size() > 400) {
      declared += "...";
      break;
    }
    std::optional<int64_t> size = declaredSize(dim);
    declared += size                      ? std::to_string(*size)
                : dim.dim_param().empty() ? std::string("?")
                                          : shown(dim.dim_param(), 32);
  }
  warn("output " + quoted(output) + " is declared as [" + declared +
       "], but is " + shownShape(ir::tensorType(value).getShape()) +
       (misdeclared_.empty()
            ? ""
            : "; " + misdeclared_ +
                  " is the first whose declared shape differs"));
}

bool GraphImport::importNode(const NodeProto &node, size_t index, Scope &scope,
                             const Frame &frame) {
  std::string label = frame.prefix + nodeLabel(node, index);
  std::string where =
      "node " + quoted(label) + " (" + shown(node.op_type()) + "): ";
  if (&scope != scope_ && ++expandedNodes_ > kMaxNodes)
    return invalid(where + "functions and loops expand to more than " +
                   std::to_string(kMaxNodes) + " nodes");
  auto poison = [&] {
    for (const std::string &output : node.output())
      if (!output.empty())
        scope.values[output] = Value();
    return true;
  };

  if (node.input_size() > kMaxOperands) {
    noteUnsupported(node, label,
                    "more than " + std::to_string(kMaxOperands) + " operands");
    return poison();
  }
  llvm::StringRef domain = canonicalDomain(node.domain());
  // A copy of an initializer that became a separate state (addStates).
  if (options_.train && &scope == scope_ && node.op_type() == "Identity" &&
      domain.empty() && node.output_size() == 1 &&
      scope.values.contains(node.output(0)))
    return true;
  auto function = index_.functions.find(functionKey(domain, node.op_type()));
  const OpRow *row = nullptr;
  int64_t version = 0;
  if (function == index_.functions.end()) {
    auto imported = frame.opsets->find(domain);
    if (imported == frame.opsets->end())
      return invalid(where + "the model imports no operator set of domain " +
                     quoted(domain.empty() ? "ai.onnx" : domain));
    version = imported->second;
    row = registry_.find(domain, node.op_type());
    if (!row) {
      noteUnsupported(node, label, "");
      return poison();
    }
    if (version > *newestOpset(domain)) {
      noteUnsupported(node, label,
                      "of operator set " + std::to_string(version) + "; " +
                          std::to_string(*newestOpset(domain)) +
                          " is the newest known");
      return poison();
    }
    if (version < row->since || version >= row->before) {
      bool isEarly = version < row->since;
      return invalid(
          where + "the operator " +
          (isEarly
               ? "exists from operator set " + std::to_string(row->since)
               : "was removed in operator set " + std::to_string(row->before)) +
          "; the model imports " + std::to_string(version));
    }
  }

  Location loc = NameLoc::get(builder_.getStringAttr(shown(label, 256)));
  NodeImport import(*this, scope, frame, node, version, builder_, loc);
  int numInputs = node.input_size();
  while (numInputs > 0 && node.input(numInputs - 1).empty())
    --numInputs;
  for (int i = 0; i < numInputs; ++i) {
    if (node.input(i).empty() || scope.absent.contains(node.input(i))) {
      import.addInput({});
      continue;
    }
    std::optional<Value> value = lookup(scope, node.input(i));
    if (!value)
      return false;
    if (!*value)
      return poison();
    import.addInput(*value);
  }
  if (poisonsSubgraph(node, scope))
    return poison();
  for (size_t i = 0; row && !row->takesAny && i < import.numInputs(); ++i) {
    Value value = import.inputs_[i];
    if (!value || isTensor(value))
      continue;
    const OpRow *open = isOpen(value) && domain.empty()
                            ? registry_.findOpen(row->name)
                            : nullptr;
    if (open) {
      row = open;
      break;
    }
    std::string why =
        "input " + quoted(node.input(int(i))) + " is " + describe(value);
    if (!isOpen(value))
      return invalid(where + why + "; it must be a tensor");
    noteUnsupported(node, label, why);
    return poison();
  }

  std::string diagnostic;
  ScopedDiagnosticHandler handler(context_, [&](Diagnostic &d) {
    if (diagnostic.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      diagnostic = d.str();
    return success();
  });
  size_t errorsBefore = errors_.lines().size();
  if (row) {
    for (int i = 0; i < row->minInputs; ++i)
      if (!import.has(i))
        return invalid(where + "required input " + std::to_string(i) +
                       " is missing");
    if (numInputs > row->maxInputs)
      return invalid(where + "has " + std::to_string(numInputs) +
                     " inputs; at most " + std::to_string(row->maxInputs) +
                     " are allowed");
    if (node.output_size() > row->maxOutputs)
      return invalid(where + "has " + std::to_string(node.output_size()) +
                     " outputs; at most " + std::to_string(row->maxOutputs) +
                     " are allowed");
    Type narrow =
        isMadeOfSeveral(domain, row->name) ? import.widenInputs() : Type();
    row->import(import);
    if (narrow)
      import.narrowResults(narrow);
  } else {
    callFunction(import, *function->second, label);
  }
  if (!import.failed() && !import.isPoisoned_)
    if (std::optional<std::string> unread = import.findUnread())
      import.unsupported(
          *unread + (row ? " of operator set " + std::to_string(version) : ""));

  if (errors_.lines().size() != errorsBefore)
    return false;
  if (import.isUnsupported() || import.isPoisoned_) {
    // Constants stay, because names may be bound to them.
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(main_.getBody().front()))) {
      if (&op == settled_)
        break;
      if (!isa<ir::ConstantOp>(op) && op.use_empty())
        op.erase();
    }
  }
  if (import.isPoisoned_)
    return poison();
  std::string why = import.message().empty() ? diagnostic : import.message();
  if (import.isUnsupported()) {
    noteUnsupported(node, label, why);
    return poison();
  }
  std::string hint;
  if (bound_.exportedBatch)
    hint = " (exported for batch " + std::to_string(bound_.exportedBatch) +
           "; --batch=" + std::to_string(*options_.batch) +
           " may not fit this node)";
  if (import.failed())
    return invalid(where + why + hint);
  if (!settle(import.results_))
    return invalid(where + diagnostic + hint);
  for (const std::string &warning : import.warnings_)
    warn(where + warning);

  for (int i = 0; i < node.output_size(); ++i) {
    const std::string &output = node.output(i);
    if (output.empty())
      continue;
    Value value =
        size_t(i) < import.results_.size() ? import.results_[i] : Value();
    if (value && !isTensor(value)) {
      // Only tensors can be graph outputs.
      if (&scope == scope_ && isGraphOutput(output)) {
        noteUnsupported(node, label,
                        "graph output " + quoted(output) + " is " +
                            describe(value));
        value = Value();
      }
    } else if (value && !scope.parent && frame.prefix.empty()) {
      if (!checkDeclaredType(node, label, output, value))
        return false;
      if (misdeclared_.empty() && !hasDeclaredShape(output, value))
        misdeclared_ =
            "node " + quoted(label) + " (" + shown(node.op_type()) + ")";
    } else if (!value && row && scope.read.contains(output)) {
      noteUnsupported(node, label, "output " + quoted(output));
    }
    scope.values[output] = value;
  }
  return true;
}

} // namespace sinter::compiler
