//===- RestoreParameters.cpp - what of a model is trained -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/RestoreParameters.h"
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/ParameterUses.h"
#include "compiler/import/onnx/TensorReader.h"
#include "compiler/import/onnx/Text.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Regex.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <map>
#include <set>

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {

static bool matches(const std::string &expression, llvm::StringRef name) {
  return llvm::Regex(expression).match(name);
}

bool mayTrain(const ImportOptions &options, llvm::StringRef name) {
  if (!options.freeze.empty() && matches(options.freeze, name))
    return false;
  return options.trainable.empty() || matches(options.trainable, name);
}

bool isAskedFor(const ImportOptions &options, llvm::StringRef name) {
  return !options.trainable.empty() && matches(options.trainable, name);
}

bool isFloatData(int32_t dataType) {
  return dataType == TensorProto::FLOAT || dataType == TensorProto::FLOAT16 ||
         dataType == TensorProto::BFLOAT16 || dataType == TensorProto::DOUBLE;
}

std::map<std::string, std::vector<std::string>>
initializerCopies(const GraphProto &graph, llvm::ArrayRef<bool> live) {
  llvm::StringSet<> initializers;
  for (const TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  std::map<std::string, std::vector<std::string>> copies;
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeProto &node = graph.node(i);
    if (live[i] && node.op_type() == "Identity" &&
        canonicalDomain(node.domain()).empty() && node.input_size() == 1 &&
        node.output_size() == 1 && initializers.contains(node.input(0)))
      copies[node.input(0)].push_back(node.output(0));
  }
  return copies;
}

namespace {

constexpr size_t kMostNames = 4;

/// "'a', 'b' and 3 more".
std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i)
    text += (i ? ", " : "") + quoted(names[i]);
  if (names.size() > kMostNames)
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

/// `bytes`, a row-major tensor of `shape`, with its last two dimensions
/// swapped.
std::string transposed(llvm::ArrayRef<char> bytes,
                       llvm::ArrayRef<int64_t> shape, int64_t width) {
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  std::string result(bytes.size(), '\0');
  int64_t matrix = rows * columns * width;
  for (int64_t base = 0; base < int64_t(bytes.size()); base += matrix)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(&result[base + (c * rows + r) * width],
                    &bytes[base + (r * columns + c) * width], width);
  return result;
}

std::string copied(llvm::ArrayRef<char> bytes) {
  return std::string(bytes.data(), bytes.size());
}

class Restorer {
public:
  Restorer(OnnxModel &model, const Signature &signature,
           const ImportOptions &options, ImportErrors &errors)
      : model_(model), graph_(*model.mutableProto().mutable_graph()),
        signature_(signature), options_(options), errors_(errors),
        file_(shown(model.path(), 512)) {
    for (const TensorProto &tensor : graph_.initializer()) {
      names_.insert(tensor.name());
      if (!isFloatData(tensor.data_type()))
        continue;
      tensors_[tensor.name()] = &tensor;
      int64_t count = 1; // no more than whether there are several counts
      for (int64_t size : tensor.dims())
        count = size == 1 ? count : 2;
      floats_[tensor.name()] = count;
    }
    for (const NodeProto &node : graph_.node())
      for (const std::string &output : node.output())
        names_.insert(output);
    for (const auto &input : graph_.input())
      names_.insert(input.name());
  }

  bool run() {
    llvm::StringSet<> read;
    for (const auto &output : graph_.output())
      read.insert(output.name());
    live_ = findLive(graph_.node(), read);
    found_ = findParameterUses(graph_, signature_, floats_, live_);
    if (!checkClear() || !checkBatchNorms() || !checkLost())
      return false;
    warnOfDropout();
    return restoreUses() && restoreLayers() && finish();
  }

private:
  using Kind = ParameterUse::Kind;

  bool invalid(const std::string &text) {
    errors_.invalid(file_ + ": " + text);
    return false;
  }
  std::string where(int node) const {
    return "node " + quoted(nodeLabel(graph_.node(node), node)) + " (" +
           shown(graph_.node(node).op_type()) + ")";
  }
  static constexpr const char *kAdvice =
      "; export it with optimize=False, or train the file as it stands with "
      "--allow-rewritten-parameters";

  //===--------------------------------------------------------------------===//
  // What cannot be restored
  //===--------------------------------------------------------------------===//

  bool checkClear() {
    if (options_.allowRewritten)
      return true;
    for (const ParameterUse &use : found_.uses)
      if (use.kind == Kind::Unclear)
        return invalid(where(use.node) + ": the exporter made its input " +
                       quoted(graph_.node(use.node).input(use.input)) +
                       " of parameters in a way that the file does not tell" +
                       kAdvice);
    return true;
  }

  /// The entries that a folded BatchNormalization had are not in the file.
  bool checkBatchNorms() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!live_[i] || rewriteRules(graph_.node(i)).find("FuseBatchNorm") ==
                           std::string::npos)
        continue;
      std::vector<std::string> lost;
      bool isTrained = !options_.freezeBatchNorm;
      if (std::optional<FxCall> call = readFxCall(graph_.node(i)))
        for (const std::string &value : call->values)
          if (const SignatureEntry *entry = signature_.byPlaceholder(value)) {
            folded_.insert(entry->placeholder);
            if (entry->isParameter())
              lost.push_back(entry->target);
          }
      for (const std::string &name : lost)
        isTrained |= mayTrain(options_, name);
      for (const std::string &input : graph_.node(i).input())
        isTrained |= floats_.contains(input) && mayTrain(options_, input);
      if (isTrained && !options_.allowRewritten)
        return invalid(where(i) +
                       ": the exporter folded a BatchNormalization into it, "
                       "whose parameters " +
                       listed(lost) + " the file does not have" + kAdvice);
    }
    return true;
  }

  /// Parameters of the module that no initializer is made of alone.
  bool checkLost() {
    llvm::StringSet<> there;
    for (const ParameterUse &use : found_.uses)
      if (use.entry)
        there.insert(use.entry->placeholder);
    for (const RecurrentLayer &layer : found_.layers)
      for (const SignatureEntry *entry : layer.weights)
        there.insert(entry->placeholder);
    for (const ParameterAlias &alias : found_.aliases)
      there.insert(alias.entry->placeholder);
    std::vector<std::string> mentioned, others;
    for (const SignatureEntry &entry : signature_.entries()) {
      if (!entry.isParameter() || there.contains(entry.placeholder) ||
          folded_.contains(entry.placeholder) ||
          !mayTrain(options_, entry.target))
        continue;
      (found_.mentioned.contains(entry.placeholder) ? mentioned : others)
          .push_back(entry.target);
    }
    std::vector<std::string> folded;
    for (const ParameterUse &use : found_.uses) {
      if (use.kind != Kind::Folded)
        continue;
      const std::string &name = graph_.node(use.node).input(use.input);
      if (!llvm::is_contained(folded, name))
        folded.push_back(name);
    }
    hasLost_ = !mentioned.empty() || (!others.empty() && !folded.empty());
    if (options_.allowRewritten)
      return true;
    if (!mentioned.empty())
      return invalid("the exporter removed what uses the parameters " +
                     listed(mentioned) + kAdvice);
    if (!others.empty() && !folded.empty())
      return invalid("the parameters " + listed(others) +
                     " are not in the file, which has constants that the "
                     "exporter computed: " +
                     listed(folded) + kAdvice);
    if (!others.empty() && !found_.vanished.empty())
      return invalid("the parameters " + listed(others) +
                     " are not in the file, and the exporter removed "
                     "operations whose results it names: " +
                     listed(found_.vanished) + kAdvice);
    if (!others.empty())
      errors_.warn(file_ + ": the parameters " + listed(others) +
                   " of the module are not in the file: nothing uses them");
    return true;
  }

  /// The exporter drops the dropout of an attention's probabilities.
  void warnOfDropout() {
    std::set<std::string> present;
    std::vector<std::string> missing;
    for (int i = 0; i < graph_.node_size(); ++i) {
      std::optional<FxCall> call =
          live_[i] ? readFxCall(graph_.node(i)) : std::nullopt;
      if (!call || call->target != "aten.scaled_dot_product_attention" ||
          call->arguments.size() < 5)
        continue;
      double probability = 0;
      if (llvm::StringRef(call->arguments[4].text).getAsDouble(probability) ||
          probability == 0)
        continue;
      if (graph_.node(i).op_type() == "Dropout")
        present.insert(call->result);
      else if (!llvm::is_contained(missing, call->result))
        missing.push_back(call->result);
    }
    llvm::erase_if(missing, [&](const std::string &call) {
      return present.count(call) != 0;
    });
    if (!missing.empty())
      errors_.warn(file_ + ": the exporter left out the dropout inside " +
                   listed(missing) +
                   ": training does not drop there (optimize=False keeps it)");
  }

  //===--------------------------------------------------------------------===//
  // Initial values
  //===--------------------------------------------------------------------===//

  std::optional<TensorData> read(const TensorProto &tensor) {
    std::string why;
    ReadFailure failure = ReadFailure::None;
    std::optional<TensorData> data =
        readTensor(model_, tensor, &context_, why, failure);
    if (!data)
      invalid("initializer " + quoted(tensor.name()) + ": " + why);
    return data;
  }

  TensorProto &addTensor(const std::string &name, Ints shape, int32_t type,
                         std::string bytes) {
    TensorProto &tensor = *added_.Add();
    tensor.set_name(name);
    for (int64_t size : shape)
      tensor.add_dims(size);
    tensor.set_data_type(type);
    tensor.set_raw_data(std::move(bytes));
    names_.insert(name);
    return tensor;
  }

  /// The initializer `name` in the layout of the module. Null after an error.
  TensorProto *fromLayout(const SignatureEntry &entry,
                          const TensorProto &tensor, ParameterLayout layout) {
    if (layout == ParameterLayout::Same) {
      TensorProto &copy = *added_.Add();
      copy = tensor;
      copy.set_name(entry.target);
      return &copy;
    }
    std::optional<TensorData> data = read(tensor);
    if (!data)
      return nullptr;
    Shape shape(data->type.getShape());
    int64_t width = ir::elementSizeBytes(data->type.getElementType());
    int32_t type = dataTypeOf(data->type.getElementType());
    if (layout == ParameterLayout::Transposed) {
      if (shape.size() < 2) {
        invalid("initializer " + quoted(tensor.name()) +
                " is not a matrix, but stands for the transpose of parameter " +
                quoted(entry.target));
        return nullptr;
      }
      std::string bytes = transposed(data->bytes.data, shape, width);
      std::swap(shape[shape.size() - 2], shape.back());
      return &addTensor(entry.target, shape, type, std::move(bytes));
    }
    Shape kept;
    for (int64_t size : shape)
      if (size != 1)
        kept.push_back(size);
    if (kept.size() > 1) {
      invalid("initializer " + quoted(tensor.name()) +
              " is not a vector, but stands for parameter " +
              quoted(entry.target));
      return nullptr;
    }
    if (kept.empty())
      kept.push_back(1);
    return &addTensor(entry.target, kept, type, copied(data->bytes.data));
  }

  /// The initializer that holds `entry`, made of `tensor` if there is none.
  TensorProto *initializerOf(const SignatureEntry &entry,
                             const TensorProto &tensor,
                             ParameterLayout layout) {
    auto [place, isNew] = initializers_.try_emplace(entry.placeholder, nullptr);
    if (!isNew)
      return place->second;
    TensorProto *own = ownTensor(entry);
    if (!own && checkFree(entry))
      own = fromLayout(entry, tensor, layout);
    return initializers_[entry.placeholder] = own;
  }

  /// The initializer that has the entry's name; null if there is none.
  TensorProto *ownTensor(const SignatureEntry &entry) {
    auto own = tensors_.find(entry.target);
    return own == tensors_.end() ? nullptr
                                 : const_cast<TensorProto *>(own->second);
  }
  bool checkFree(const SignatureEntry &entry) {
    return !names_.contains(entry.target) ||
           invalid("the name of parameter " + quoted(entry.target) +
                   " is that of another value");
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  std::string freshName(const std::string &base) {
    std::string name = base;
    for (int i = 1; !names_.insert(name).second; ++i)
      name = base + "_" + std::to_string(i);
    return name;
  }

  NodeProto &addNode(const std::string &op, const std::string &label,
                     const std::vector<std::string> &inputs,
                     const std::string &output) {
    NodeProto &node = *front_.Add();
    node.set_op_type(op);
    node.set_name(label);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return node;
  }
  static void setInts(NodeProto &node, const std::string &name, Ints values) {
    AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::INTS);
    for (int64_t value : values)
      attribute.add_ints(value);
  }
  static void setInt(NodeProto &node, const std::string &name, int64_t value) {
    AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(value);
  }

  std::string addShape(const std::string &base, Ints shape) {
    std::string name = freshName(base + "/shape");
    addTensor(name, {int64_t(shape.size())}, TensorProto::INT64,
              std::string(reinterpret_cast<const char *>(shape.data()),
                          shape.size() * sizeof(int64_t)));
    return name;
  }
  std::string reshape(const std::string &value, Ints shape,
                      const std::string &base) {
    std::string output = freshName(base);
    addNode("Reshape", output, {value, addShape(base, shape)}, output);
    return output;
  }

  /// The value that is `entry` in `layout`, computed by a node in front of the
  /// others where it is another layout than the module's.
  std::string valueIn(const SignatureEntry &entry, const TensorProto &initial,
                      ParameterLayout layout, const TensorProto &original) {
    if (layout == ParameterLayout::Same)
      return entry.target;
    std::string &value = values_[{entry.placeholder, original.name()}];
    if (!value.empty())
      return value;
    if (layout == ParameterLayout::UnitDims)
      return value =
                 reshape(entry.target,
                         Shape(original.dims().begin(), original.dims().end()),
                         entry.target + "/reshaped");
    value = freshName(entry.target + "/transposed");
    Shape permutation;
    for (int64_t i = 0; i < initial.dims_size(); ++i)
      permutation.push_back(i);
    std::swap(permutation.back(), permutation[permutation.size() - 2]);
    setInts(addNode("Transpose", value, {entry.target}, value), "perm",
            permutation);
    return value;
  }

  bool restoreUses() {
    for (const ParameterUse &use : found_.uses) {
      NodeProto &node = *graph_.mutable_node(use.node);
      if (use.kind == Kind::Dropped) {
        if (!restoreDropped(use, node))
          return false;
        continue;
      }
      if (use.kind != Kind::State)
        continue;
      const TensorProto &original = *tensors_[node.input(use.input)];
      TensorProto *initial = initializerOf(*use.entry, original, use.layout);
      if (!initial || !checkEqual(use, *initial, original))
        return false;
      inputs_.push_back({use.node, use.input,
                         valueIn(*use.entry, *initial, use.layout, original)});
    }
    return true;
  }

  /// The copy at an input must be what the parameter's own values give.
  bool checkEqual(const ParameterUse &use, const TensorProto &initial,
                  const TensorProto &original) {
    if (&initial == &original || options_.allowRewritten)
      return true;
    auto key = std::make_pair(initial.name(), original.name());
    if (!compared_.insert(key).second)
      return true;
    std::optional<TensorData> a = read(initial), b = read(original);
    if (!a || !b)
      return false;
    int64_t width = ir::elementSizeBytes(a->type.getElementType());
    std::string own =
        use.layout == ParameterLayout::Transposed && a->type.getRank() >= 2
            ? transposed(a->bytes.data, a->type.getShape(), width)
            : copied(a->bytes.data);
    if (a->type.getElementType() == b->type.getElementType() &&
        llvm::StringRef(own) ==
            llvm::StringRef(b->bytes.data.data(), b->bytes.data.size()))
      return true;
    return invalid(where(use.node) + ": its input " + quoted(original.name()) +
                   " should be parameter " + quoted(use.entry->target) +
                   ", but has other values" + kAdvice);
  }

  /// A bias of zeros that the exporter left out.
  bool restoreDropped(const ParameterUse &use, const NodeProto &node) {
    auto weight = tensors_.find(node.input(1));
    if (weight == tensors_.end() || weight->second->dims_size() < 2)
      return invalid(where(use.node) + ": the exporter removed its bias " +
                     quoted(use.entry->target) + kAdvice);
    const TensorProto &tensor = *weight->second;
    int64_t groups = 1;
    bool isTransposed = node.op_type() == "ConvTranspose";
    if (node.op_type() == "Gemm")
      isTransposed = intOf(node, "transB", 0) == 0;
    else
      groups = intOf(node, "group", 1);
    int64_t size = isTransposed ? tensor.dims(1) * groups : tensor.dims(0);
    auto [place, isNew] =
        initializers_.try_emplace(use.entry->placeholder, nullptr);
    if (isNew && !(place->second = ownTensor(*use.entry))) {
      if (!checkFree(*use.entry))
        return false;
      int64_t width =
          ir::elementSizeBytes(elementTypeOf(tensor.data_type(), &context_));
      place->second = &addTensor(use.entry->target, {size}, tensor.data_type(),
                                 std::string(size * width, '\0'));
    }
    inputs_.push_back({use.node, use.input, use.entry->target});
    return true;
  }
  static int64_t intOf(const NodeProto &node, llvm::StringRef name,
                       int64_t byDefault) {
    for (const AttributeProto &attribute : node.attribute())
      if (llvm::StringRef(attribute.name()) == name)
        return attribute.i();
    return byDefault;
  }

  //===--------------------------------------------------------------------===//
  // Recurrent layers
  //===--------------------------------------------------------------------===//

  /// Block j of ONNX's weights is block order[j] of PyTorch's: iofc of ifgo,
  /// zrh of rzn.
  static llvm::ArrayRef<int> gateOrder(const NodeProto &node) {
    static const int lstm[] = {0, 3, 1, 2}, gru[] = {1, 0, 2}, rnn[] = {0};
    if (node.op_type() == "LSTM")
      return lstm;
    if (node.op_type() == "GRU")
      return gru;
    return rnn;
  }

  /// Adds the initializer `entry` from one direction's part of packed weights.
  bool addGateWeights(const SignatureEntry &entry, llvm::ArrayRef<char> bytes,
                      Ints shape, int32_t type, llvm::ArrayRef<int> order) {
    auto [place, isNew] = initializers_.try_emplace(entry.placeholder, nullptr);
    if (!isNew || (place->second = ownTensor(entry)))
      return true;
    if (!checkFree(entry))
      return false;
    std::string ordered(bytes.size(), '\0');
    size_t block = bytes.size() / order.size();
    for (size_t j = 0; j < order.size(); ++j)
      std::memcpy(&ordered[order[j] * block], &bytes[j * block], block);
    place->second = &addTensor(entry.target, shape, type, std::move(ordered));
    return true;
  }

  /// The value of `entry` in ONNX's order of gates.
  std::string reordered(const SignatureEntry &entry,
                        llvm::ArrayRef<int> order) {
    if (order.size() == 1)
      return entry.target;
    std::string base = entry.target + "/gates";
    NodeProto &split =
        addNode("Split", freshName(base), {entry.target}, freshName(base));
    setInt(split, "axis", 0);
    for (size_t i = 1; i < order.size(); ++i)
      split.add_output(freshName(base));
    if (opset() >= 18)
      setInt(split, "num_outputs", order.size());
    std::vector<std::string> parts;
    for (int i : order)
      parts.push_back(split.output(i));
    std::string output = freshName(entry.target + "/ordered");
    setInt(addNode("Concat", output, parts, output), "axis", 0);
    return output;
  }
  int64_t opset() const {
    for (const auto &entry : model_.proto().opset_import())
      if (canonicalDomain(entry.domain()).empty())
        return entry.version();
    return 0;
  }

  bool restoreLayers() {
    for (const RecurrentLayer &layer : found_.layers) {
      const NodeProto node = graph_.node(layer.node);
      llvm::ArrayRef<int> order = gateOrder(node);
      size_t directions = layer.weights.size() / layer.perDirection;
      for (int input : {1, 2, 3}) {
        if (input >= node.input_size() || node.input(input).empty())
          continue;
        const TensorProto &packed = *tensors_[node.input(input)];
        std::optional<TensorData> data = read(packed);
        if (!data)
          return false;
        Shape shape(data->type.getShape());
        int64_t gates = order.size() * (input == 3 ? 2 : 1);
        if (shape.size() != (input == 3 ? 2 : 3) ||
            shape[0] != int64_t(directions) || shape[1] % gates)
          return invalid(where(layer.node) + ": input " +
                         quoted(packed.name()) + " has the shape " +
                         shownShape(shape));
        std::vector<std::string> parts;
        size_t bytes = data->bytes.data.size() / directions;
        int32_t type = dataTypeOf(data->type.getElementType());
        for (size_t d = 0; d < directions; ++d) {
          llvm::ArrayRef<char> mine = data->bytes.data.slice(d * bytes, bytes);
          const SignatureEntry *const *weights =
              &layer.weights[d * layer.perDirection];
          Shape own(shape.begin() + 1, shape.end());
          std::string value;
          if (input < 3) {
            if (!addGateWeights(*weights[input - 1], mine, own, type, order))
              return false;
            value = reordered(*weights[input - 1], order);
          } else {
            own[0] /= 2;
            if (!addGateWeights(*weights[2], mine.take_front(bytes / 2), own,
                                type, order) ||
                !addGateWeights(*weights[3], mine.drop_front(bytes / 2), own,
                                type, order))
              return false;
            value = freshName(weights[2]->target + "/both");
            std::vector<std::string> both{reordered(*weights[2], order),
                                          reordered(*weights[3], order)};
            setInt(addNode("Concat", value, both, value), "axis", 0);
          }
          Shape packedShape(shape);
          packedShape[0] = 1;
          parts.push_back(reshape(value, packedShape, value + "/packed"));
        }
        std::string value = parts.front();
        if (parts.size() > 1) {
          value = freshName(value + "/directions");
          setInt(addNode("Concat", value, parts, value), "axis", 0);
        }
        inputs_.push_back({layer.node, input, value});
      }
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // The end
  //===--------------------------------------------------------------------===//

  bool finish() {
    for (const NewInput &input : inputs_) {
      NodeProto &node = *graph_.mutable_node(input.node);
      while (node.input_size() <= input.input)
        node.add_input("");
      node.set_input(input.input, input.value);
    }
    numFront_ = front_.size();
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(&front_);
    for (NodeProto &node : *graph_.mutable_node())
      nodes.Add()->Swap(&node);
    graph_.mutable_node()->Swap(&nodes);

    llvm::StringSet<> read;
    for (const auto &output : graph_.output())
      read.insert(output.name());
    findLive(graph_.node(), read);
    google::protobuf::RepeatedPtrField<TensorProto> tensors;
    auto keep = [&](TensorProto &tensor) {
      if (read.contains(tensor.name()) || !isFloatData(tensor.data_type()))
        tensors.Add()->Swap(&tensor);
    };
    for (TensorProto &tensor : *graph_.mutable_initializer())
      keep(tensor);
    for (TensorProto &tensor : added_)
      keep(tensor);
    graph_.mutable_initializer()->Swap(&tensors);
    assignRoles();
    return true;
  }

  void assignRoles() {
    using Role = InitializerRole::Kind;
    std::vector<std::string> held;
    llvm::StringSet<> folded;
    for (const ParameterUse &use : found_.uses)
      if (use.kind == Kind::Folded || use.kind == Kind::Unclear)
        folded.insert(foldedName(use));
    for (const TensorProto &tensor : graph_.initializer()) {
      if (!isFloatData(tensor.data_type()))
        continue;
      InitializerRole &role = model_.roles[tensor.name()];
      const SignatureEntry *entry = signature_.byTarget(tensor.name());
      if (entry && entry->isParameter()) {
        role = {Role::Parameter, "a parameter of the module", {}};
        for (const ParameterAlias &alias : found_.aliases)
          if (alias.of == entry)
            role.aliases.push_back(alias.entry->target);
      } else if (entry && entry->kind == SignatureEntry::Kind::Buffer) {
        // A buffer that the module does not save is not saved here either.
        role = {entry->isPersistent ? Role::Buffer : Role::Constant,
                "a buffer of the module",
                {}};
      } else if (folded.contains(tensor.name())) {
        role = {Role::Constant, "computed by the exporter", {}};
        if (hasLost_ && options_.allowRewritten)
          role = {Role::Parameter,
                  "stands for parameters that the exporter folded",
                  {}};
        else
          held.push_back(tensor.name());
      } else {
        role = {Role::Constant, "a constant of the program", {}};
      }
      if (role.kind != Role::Parameter && isAskedFor(options_, tensor.name()))
        role = {Role::Parameter, "--trainable names it", {}};
    }
    if (!held.empty())
      errors_.warn(file_ + ": held constant, since the exporter computed " +
                   (held.size() > 1 ? "them: " : "it: ") + listed(held) +
                   "; --trainable=REGEX trains what it names");
  }
  const std::string &foldedName(const ParameterUse &use) const {
    return graph_.node(use.node + numFront_).input(use.input);
  }

  struct NewInput {
    int node, input;
    std::string value;
  };

  OnnxModel &model_;
  GraphProto &graph_;
  const Signature &signature_;
  const ImportOptions &options_;
  ImportErrors &errors_;
  std::string file_;
  MLIRContext context_{MLIRContext::Threading::DISABLED};
  llvm::StringMap<const TensorProto *> tensors_; // float initializers
  llvm::StringMap<int64_t> floats_; // whether one element, or several
  llvm::StringSet<> names_;
  std::vector<bool> live_;
  ParameterUses found_;
  llvm::StringSet<> folded_; // entries of folded BatchNormalizations
  bool hasLost_ = false;
  /// Placeholder -> initializer under the name of the module.
  llvm::StringMap<TensorProto *> initializers_;
  std::map<std::pair<std::string, std::string>, std::string> values_;
  std::set<std::pair<std::string, std::string>> compared_;
  google::protobuf::RepeatedPtrField<TensorProto> added_;
  google::protobuf::RepeatedPtrField<NodeProto> front_;
  std::vector<NewInput> inputs_;
  int numFront_ = 0;
};

} // namespace

bool restoreParameters(OnnxModel &model, const ImportOptions &options,
                       ImportErrors &errors) {
  ModelIndex index;
  if (!checkModel(model, index, errors))
    return false;
  if (std::optional<Signature> signature =
          Signature::read(model.proto().graph()))
    return Restorer(model, *signature, options, errors).run();
  assignRolesByUse(model, options, errors);
  return errors.empty();
}

} // namespace sinter::compiler
