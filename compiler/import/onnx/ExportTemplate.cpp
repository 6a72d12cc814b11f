//===- ExportTemplate.cpp - the ONNX file that a trainer exports ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ExportTemplate.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/TensorReader.h"
#include "ir/Dialect.h"

#include "llvm/ADT/StringSet.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {

/// The largest file that a reader with protobuf's limit can parse.
static constexpr uint64_t kMaxFileBytes = INT32_MAX;

//===----------------------------------------------------------------------===//
// Wire format
//===----------------------------------------------------------------------===//

static void appendVarint(std::string &bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes += char(value | 0x80);
  bytes += char(value);
}

/// Appends the header of a field with a length-delimited value of `sizeBytes`.
static void appendHead(std::string &bytes, int field, uint64_t sizeBytes) {
  appendVarint(bytes, uint64_t(field) << 3 | 2);
  appendVarint(bytes, sizeBytes);
}

//===----------------------------------------------------------------------===//
// Inference mode
//===----------------------------------------------------------------------===//

namespace {
/// The opset versions that apply to a list of nodes.
struct Versions {
  int64_t onnx = 0;

  template <class Imports> explicit Versions(const Imports &imports) {
    for (const auto &entry : imports)
      if (canonicalDomain(entry.domain()).empty())
        onnx = entry.version();
  }
};
} // namespace

static void dropAttribute(NodeProto &node, llvm::StringRef name) {
  for (int i = node.attribute_size(); i-- > 0;)
    if (llvm::StringRef(node.attribute(i).name()) == name)
      node.mutable_attribute()->DeleteSubrange(i, 1);
}

/// Collects the names of outputs that exist only in training.
static void switchToInference(NodeProto &node, const Versions &versions,
                              llvm::StringSet<> &dropped) {
  if (!canonicalDomain(node.domain()).empty())
    return;
  if (node.op_type() == "BatchNormalization") {
    dropAttribute(node, "training_mode");
    for (int i = 1; i < node.output_size(); ++i)
      if (!node.output(i).empty())
        dropped.insert(node.output(i));
    if (node.output_size() > 1)
      node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
  } else if (node.op_type() == "Dropout" && versions.onnx >= 12 &&
             node.input_size() > 2) {
    // Without the input, training_mode is false.
    node.mutable_input()->DeleteSubrange(2, node.input_size() - 2);
    if (node.input(1).empty())
      node.mutable_input()->DeleteSubrange(1, 1);
  }
}

template <class Nodes>
static void switchToInference(Nodes *nodes, const Versions &versions,
                              llvm::StringSet<> &dropped) {
  for (NodeProto &node : *nodes) {
    switchToInference(node, versions, dropped);
    for (AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        switchToInference(attribute.mutable_g()->mutable_node(), versions,
                          dropped);
      for (GraphProto &graph : *attribute.mutable_graphs())
        switchToInference(graph.mutable_node(), versions, dropped);
    }
  }
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

namespace {

class TemplateBuilder {
public:
  TemplateBuilder(const OnnxModel &model, ModuleOp program,
                  ImportErrors &errors)
      : model_(model), errors_(errors) {
    for (auto state : program.getOps<ir::StateOp>())
      if (StringAttr name = state.getOnnxAttr())
        states_[name.getValue()] = state;
  }

  std::vector<ExportPiece> run() {
    ModelProto head;
    GraphProto graph;
    copyModel(head);
    copyGraph(graph);
    Versions versions(head.opset_import());
    llvm::StringSet<> dropped;
    switchToInference(graph.mutable_node(), versions, dropped);
    for (auto &function : *head.mutable_functions())
      switchToInference(function.mutable_node(),
                        function.opset_import_size()
                            ? Versions(function.opset_import())
                            : versions,
                        dropped);
    dropUnused(graph, dropped);
    replaceCopies(graph);
    // Before version 4, initializers also had to be inputs; the new ones are
    // not.
    head.set_ir_version(std::max<int64_t>(head.ir_version(), 4));
    if (!addInitializers())
      return {};

    std::string graphBytes = graph.SerializeAsString();
    uint64_t total = graphBytes.size() + initializerBytes_;
    std::string begin = head.SerializeAsString();
    appendHead(begin, ModelProto::kGraphFieldNumber, total);
    begin += graphBytes;
    if (begin.size() + initializerBytes_ > kMaxFileBytes) {
      errors_.invalid(
          shown(model_.path(), 512) +
          ": with its weights the exported model would exceed the 2 GiB that "
          "an ONNX file may have");
      return {};
    }
    if (pieces_.back().bytes.empty() && pieces_.size() > 1)
      pieces_.pop_back();
    pieces_.front().bytes = begin + pieces_.front().bytes;
    return std::move(pieces_);
  }

private:
  /// Everything but the graph.
  void copyModel(ModelProto &to) {
    const ModelProto &from = model_.proto();
    to.set_ir_version(from.ir_version());
    *to.mutable_opset_import() = from.opset_import();
    to.set_producer_name(from.producer_name());
    to.set_producer_version(from.producer_version());
    if (from.has_domain())
      to.set_domain(from.domain());
    if (from.has_model_version())
      to.set_model_version(from.model_version());
    if (from.has_doc_string())
      to.set_doc_string(from.doc_string());
    *to.mutable_metadata_props() = from.metadata_props();
    *to.mutable_functions() = from.functions();
    to.mutable_unknown_fields()->MergeFrom(from.unknown_fields());
  }

  /// Everything but the initializers.
  void copyGraph(GraphProto &to) {
    const GraphProto &from = model_.proto().graph();
    *to.mutable_node() = from.node();
    to.set_name(from.name());
    if (from.has_doc_string())
      to.set_doc_string(from.doc_string());
    *to.mutable_sparse_initializer() = from.sparse_initializer();
    *to.mutable_input() = from.input();
    *to.mutable_output() = from.output();
    *to.mutable_value_info() = from.value_info();
    *to.mutable_quantization_annotation() = from.quantization_annotation();
    to.mutable_unknown_fields()->MergeFrom(from.unknown_fields());
  }

  /// Removes graph outputs that exist only in training, and nodes that are then
  /// unused.
  void dropUnused(GraphProto &graph, const llvm::StringSet<> &dropped) {
    if (dropped.empty())
      return;
    for (int i = graph.output_size(); i-- > 0;)
      if (dropped.contains(graph.output(i).name()))
        graph.mutable_output()->DeleteSubrange(i, 1);
    llvm::StringSet<> missing(dropped);
    std::vector<bool> keeps(graph.node_size(), true);
    for (int i = 0; i < graph.node_size(); ++i) {
      const NodeProto &node = graph.node(i);
      keeps[i] = llvm::none_of(node.input(), [&](const std::string &input) {
        return missing.contains(input);
      });
      if (!keeps[i])
        for (const std::string &output : node.output())
          missing.insert(output);
    }
    eraseNodes(graph, keeps);
    for (int i = graph.output_size(); i-- > 0;)
      if (missing.contains(graph.output(i).name()))
        graph.mutable_output()->DeleteSubrange(i, 1);
  }

  static void eraseNodes(GraphProto &graph, const std::vector<bool> &keeps) {
    google::protobuf::RepeatedPtrField<NodeProto> kept;
    for (int i = 0; i < graph.node_size(); ++i)
      if (keeps[i])
        kept.Add()->Swap(graph.mutable_node(i));
    graph.mutable_node()->Swap(&kept);
  }

  /// Replaces each Identity whose output became a separate state with an
  /// initializer.
  void replaceCopies(GraphProto &graph) {
    llvm::StringSet<> initializers;
    for (const auto &tensor : model_.proto().graph().initializer())
      initializers.insert(tensor.name());
    std::vector<bool> keeps(graph.node_size(), true);
    for (int i = 0; i < graph.node_size(); ++i) {
      const NodeProto &node = graph.node(i);
      if (node.op_type() != "Identity" || node.output_size() != 1 ||
          !states_.contains(node.output(0)) ||
          initializers.contains(node.output(0)))
        continue;
      keeps[i] = false;
      addState(node.output(0), states_[node.output(0)], nullptr);
    }
    eraseNodes(graph, keeps);
  }

  bool addInitializers() {
    for (const TensorProto &tensor : model_.proto().graph().initializer()) {
      auto state = states_.find(tensor.name());
      if (state != states_.end())
        addState(tensor.name(), state->second, &tensor);
      else if (!addLiteral(tensor))
        return false;
    }
    return true;
  }

  /// Adds a TensorProto whose last field, raw_data, is a state's bytes.
  void addState(const std::string &name, ir::StateOp state,
                const TensorProto *original) {
    RankedTensorType type = state.getWholeType();
    TensorProto header;
    for (int64_t size : type.getShape())
      header.add_dims(size);
    header.set_data_type(dataTypeOf(type.getElementType()));
    header.set_name(name);
    if (original && original->has_doc_string())
      header.set_doc_string(original->doc_string());
    std::string tensor = header.SerializeAsString();
    uint64_t sizeBytes =
        type.getNumElements() * ir::elementSizeBytes(type.getElementType());
    appendHead(tensor, TensorProto::kRawDataFieldNumber, sizeBytes);
    std::string bytes;
    appendHead(bytes, GraphProto::kInitializerFieldNumber,
               tensor.size() + sizeBytes);
    addBytes(bytes + tensor);
    pieces_.push_back({"", state.getSymName().str()});
    pieces_.push_back({"", ""});
    initializerBytes_ += sizeBytes;
  }

  /// Adds an unchanged initializer; external data becomes part of the file.
  bool addLiteral(const TensorProto &tensor) {
    std::string bytes;
    if (tensor.data_location() != TensorProto::EXTERNAL) {
      std::string text = tensor.SerializeAsString();
      appendHead(bytes, GraphProto::kInitializerFieldNumber, text.size());
      addBytes(bytes + text);
      return true;
    }
    MLIRContext context(MLIRContext::Threading::DISABLED);
    std::string why;
    ReadFailure failure = ReadFailure::None;
    std::optional<TensorData> data =
        readTensor(model_, tensor, &context, why, failure);
    if (data && dataTypeOf(data->type.getElementType()) != tensor.data_type()) {
      why = "external data of type " + dataTypeName(tensor.data_type());
      data.reset();
    }
    if (!data) {
      errors_.invalid(shown(model_.path(), 512) + ": initializer " +
                      quoted(tensor.name()) + " cannot be exported: " + why);
      return false;
    }
    TensorProto copy;
    *copy.mutable_dims() = tensor.dims();
    copy.set_data_type(tensor.data_type());
    copy.set_name(tensor.name());
    copy.set_raw_data(data->bytes.data.data(), data->bytes.data.size());
    std::string text = copy.SerializeAsString();
    appendHead(bytes, GraphProto::kInitializerFieldNumber, text.size());
    addBytes(bytes + text);
    return true;
  }

  void addBytes(const std::string &bytes) {
    pieces_.back().bytes += bytes;
    initializerBytes_ += bytes.size();
  }

  const OnnxModel &model_;
  ImportErrors &errors_;
  llvm::StringMap<ir::StateOp> states_;
  std::vector<ExportPiece> pieces_ = {{"", ""}}; // bytes go to the last one
  uint64_t initializerBytes_ = 0;
};

} // namespace

std::vector<ExportPiece> makeExportTemplate(const OnnxModel &model,
                                            ModuleOp program,
                                            ImportErrors &errors) {
  return TemplateBuilder(model, program, errors).run();
}

} // namespace sinter::compiler
