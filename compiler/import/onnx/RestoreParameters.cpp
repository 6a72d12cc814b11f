//===- RestoreParameters.cpp - which parts of a model are trained ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/RestoreParameters.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Restoration.h"

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

bool isFrozen(const ImportOptions &options, llvm::StringRef name) {
  return !options.freeze.empty() && matches(options.freeze, name);
}

bool mayTrain(const ImportOptions &options, llvm::StringRef name) {
  if (isFrozen(options, name))
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

//===----------------------------------------------------------------------===//
// The state of a restoration
//===----------------------------------------------------------------------===//

std::string listedNames(const std::vector<std::string> &names) {
  constexpr size_t kMostNames = 4;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i)
    text += (i ? ", " : "") + quoted(names[i]);
  if (names.size() > kMostNames)
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

Restoration::Restoration(OnnxModel &model, const Signature &signature,
                         const ImportOptions &options, ImportErrors &errors)
    : model(model), graph(model.proto().graph()), signature(signature),
      options(options), errors(errors), file(shown(model.path(), 512)),
      edit(model.mutableProto()) {
  llvm::StringSet<> read;
  for (const auto &output : graph.output())
    read.insert(output.name());
  live = findLive(graph.node(), read);
  llvm::StringMap<bool> floats;
  for (const TensorProto &tensor : graph.initializer()) {
    if (!isFloatData(tensor.data_type()))
      continue;
    tensors[tensor.name()] = &tensor;
    floats[tensor.name()] =
        llvm::any_of(tensor.dims(), [](int64_t size) { return size != 1; });
  }
  found = findParameterUses(graph, signature, floats, live);
}

bool Restoration::invalid(const std::string &text) {
  errors.invalid(file + ": " + text);
  return false;
}

std::string Restoration::advice(bool weightsHelp) const {
  std::string text = "; export it with optimize=False";
  if (weightsHelp && !parameters)
    text += ", give the module's weights by --parameters=FILE,";
  return text + " or train the file as it stands with "
                "--allow-rewritten-parameters";
}

std::string Restoration::where(int node) const {
  return "node " + quoted(nodeLabel(graph.node(node), node)) + " (" +
         shown(graph.node(node).op_type()) + ")";
}

std::optional<TensorData> Restoration::read(const TensorProto &tensor) {
  std::string why;
  ReadFailure failure = ReadFailure::None;
  std::optional<TensorData> data =
      readTensor(model, tensor, &context, why, failure);
  if (!data)
    invalid("initializer " + quoted(tensor.name()) + ": " + why);
  return data;
}

const TensorProto *Restoration::ownTensor(const SignatureEntry &entry) const {
  return tensors.lookup(entry.target);
}

bool Restoration::checkFree(const SignatureEntry &entry) {
  return !edit.has(entry.target) ||
         invalid("the name of parameter " + quoted(entry.target) +
                 " is that of another value");
}

llvm::StringSet<> Restoration::present() const {
  llvm::StringSet<> placeholders(found.inBodies);
  for (const auto &restored : initializers)
    placeholders.insert(restored.getKey());
  for (const ParameterUse &use : found.uses)
    if (use.entry)
      placeholders.insert(use.entry->placeholder);
  for (const RecurrentLayer &layer : found.layers)
    for (const SignatureEntry *entry : layer.weights)
      placeholders.insert(entry->placeholder);
  for (const ParameterAlias &alias : found.aliases)
    placeholders.insert(alias.entry->placeholder);
  return placeholders;
}

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

bool Restoration::addFromFile(const SignatureEntry &entry) {
  const ParameterFile::Tensor *tensor = parameters->find(entry.target);
  const TensorProto *&place = initializers[entry.placeholder];
  if (!place)
    place = &edit.addTensor(
        entry.target, tensor->shape, tensor->dataType,
        std::string(tensor->bytes.data(), tensor->bytes.size()));
  return true;
}

namespace {

std::string copied(llvm::ArrayRef<char> bytes) {
  return std::string(bytes.data(), bytes.size());
}

class Restorer {
public:
  explicit Restorer(Restoration &restoration)
      : r(restoration), options(r.options) {}

  bool run() {
    if (!checkInputs(r))
      return false;
    if (r.parameters && (!checkParameterFile(r) || !unfoldBatchNorms(r)))
      return false;
    if (!unfoldConstants(r) || !checkLost(r))
      return false;
    warnOfDifferences(r);
    if (!restoreUses() || !restoreLayers(r))
      return false;
    noteFolded();
    noteHeld();
    r.edit.apply();
    assignRoles();
    return true;
  }

private:
  using Kind = ParameterUse::Kind;

  //===--------------------------------------------------------------------===//
  // Uses
  //===--------------------------------------------------------------------===//

  /// Adds initializer `tensor` in the layout of the module. Null after an
  /// error.
  const TensorProto *fromLayout(const SignatureEntry &entry,
                                const TensorProto &tensor,
                                ParameterLayout layout) {
    if (layout == ParameterLayout::Same)
      return &r.edit.addTensor(entry.target, tensor);
    std::optional<TensorData> data = r.read(tensor);
    if (!data)
      return nullptr;
    Shape shape(data->type.getShape());
    int64_t width = ir::elementSizeBytes(data->type.getElementType());
    int32_t type = dataTypeOf(data->type.getElementType());
    auto misfit = [&](const char *what) {
      r.invalid("initializer " + quoted(tensor.name()) + " is not " + what +
                " parameter " + quoted(entry.target));
      return nullptr;
    };
    if (layout == ParameterLayout::Transposed) {
      if (shape.size() < 2)
        return misfit("a matrix, but stands for the transpose of");
      std::string bytes = transposed(data->bytes.data, shape, width);
      std::swap(shape[shape.size() - 2], shape.back());
      return &r.edit.addTensor(entry.target, shape, type, std::move(bytes));
    }
    Shape kept;
    for (int64_t size : shape)
      if (size != 1)
        kept.push_back(size);
    if (kept.size() > 1)
      return misfit("a vector, but stands for");
    if (kept.empty())
      kept.push_back(1);
    return &r.edit.addTensor(entry.target, kept, type,
                             copied(data->bytes.data));
  }

  /// The initializer that holds `entry`, made from `tensor` if there is none.
  const TensorProto *initializerOf(const SignatureEntry &entry,
                                   const TensorProto &tensor,
                                   ParameterLayout layout) {
    auto [place, isNew] =
        r.initializers.try_emplace(entry.placeholder, nullptr);
    if (!isNew)
      return place->second;
    const TensorProto *own = r.ownTensor(entry);
    if (!own && r.checkFree(entry))
      own = fromLayout(entry, tensor, layout);
    return r.initializers[entry.placeholder] = own;
  }

  /// The value of `entry` in `layout`. If that is not the module's layout, a
  /// node at the front computes it.
  std::string valueIn(const SignatureEntry &entry, const TensorProto &initial,
                      ParameterLayout layout, const TensorProto &original) {
    if (layout == ParameterLayout::Same)
      return entry.target;
    std::string &value = values_[{entry.placeholder, original.name()}];
    if (!value.empty())
      return value;
    if (layout == ParameterLayout::UnitDims)
      return value = r.edit.reshape(
                 entry.target,
                 Shape(original.dims().begin(), original.dims().end()),
                 entry.target + "/reshaped");
    Shape permutation;
    for (int64_t i = 0; i < initial.dims_size(); ++i)
      permutation.push_back(i);
    std::swap(permutation.back(), permutation[permutation.size() - 2]);
    return value = r.edit.transpose(entry.target, permutation,
                                    entry.target + "/transposed");
  }

  const std::string &literalOf(const std::string &name) {
    std::string &literal = literals_[name];
    if (literal.empty()) {
      literal = r.edit.freshName(name + "/literal");
      r.edit.addTensor(literal, *r.tensors[name]);
    }
    return literal;
  }

  bool restoreUses() {
    for (const ParameterUse &use : r.found.uses) {
      const NodeProto &node = r.graph.node(use.node);
      if (use.kind == Kind::Dropped) {
        if (!restoreDropped(use, node))
          return false;
        continue;
      }
      // A constant that equals a parameter may have the parameter's name.
      if (use.kind == Kind::Constant || use.kind == Kind::Folded)
        if (const std::string &name = node.input(use.input);
            r.signature.byTarget(name))
          r.edit.setInput(use.node, use.input, literalOf(name));
      if (use.kind != Kind::State)
        continue;
      const TensorProto &original = *r.tensors[node.input(use.input)];
      const TensorProto *initial =
          initializerOf(*use.entry, original, use.layout);
      if (!initial || !checkEqual(use, *initial, original))
        return false;
      r.edit.setInput(use.node, use.input,
                      valueIn(*use.entry, *initial, use.layout, original));
    }
    return true;
  }

  /// Checks that the copy at an input equals the parameter's own values.
  bool checkEqual(const ParameterUse &use, const TensorProto &initial,
                  const TensorProto &original) {
    if (&initial == &original || options.allowRewritten)
      return true;
    auto key = std::make_pair(initial.name(), original.name());
    if (!compared_.insert(key).second)
      return true;
    std::optional<TensorData> a = r.read(initial), b = r.read(original);
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
    return r.invalid(r.where(use.node) + ": its input " +
                     quoted(original.name()) + " should be parameter " +
                     quoted(use.entry->target) + ", but has other values" +
                     r.advice());
  }

  /// Restores a bias of zeros that the exporter left out.
  bool restoreDropped(const ParameterUse &use, const NodeProto &node) {
    auto weight = r.tensors.find(node.input(1));
    if (weight == r.tensors.end() || weight->second->dims_size() < 2)
      return r.invalid(r.where(use.node) + ": the exporter removed its bias " +
                       quoted(use.entry->target) + r.advice());
    const TensorProto &tensor = *weight->second;
    int64_t groups = 1;
    bool isTransposed = node.op_type() == "ConvTranspose";
    if (node.op_type() == "Gemm")
      isTransposed = intOf(node, "transB", 0) == 0;
    else
      groups = intOf(node, "group", 1);
    int64_t size = isTransposed ? tensor.dims(1) * groups : tensor.dims(0);
    auto [place, isNew] =
        r.initializers.try_emplace(use.entry->placeholder, nullptr);
    if (isNew && !(place->second = r.ownTensor(*use.entry))) {
      if (!r.checkFree(*use.entry))
        return false;
      int64_t width =
          ir::elementSizeBytes(elementTypeOf(tensor.data_type(), &r.context));
      place->second =
          &r.edit.addTensor(use.entry->target, {size}, tensor.data_type(),
                            std::string(size * width, '\0'));
    }
    r.edit.setInput(use.node, use.input, use.entry->target);
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
  // Roles
  //===--------------------------------------------------------------------===//

  /// The names of folded constants, before inputs change.
  void noteFolded() {
    for (const ParameterUse &use : r.found.uses)
      if (use.kind == Kind::Folded || use.kind == Kind::Unclear)
        computed_.insert(r.graph.node(use.node).input(use.input));
  }

  /// Collects the names that are not states.
  void noteHeld() {
    for (const auto &name : computed_)
      r.model.held.push_back(name.getKey().str());
    llvm::StringSet<> present = r.present();
    for (const SignatureEntry &entry : r.signature.entries())
      if (!present.contains(entry.placeholder))
        r.model.held.push_back(entry.target);
  }

  void assignRoles() {
    using Role = InitializerRole::Kind;
    std::vector<std::string> held;
    for (const TensorProto &tensor : r.graph.initializer()) {
      if (!isFloatData(tensor.data_type()))
        continue;
      InitializerRole &role = r.model.roles[tensor.name()];
      const SignatureEntry *entry = r.signature.byTarget(tensor.name());
      bool isTrained = r.hasLost && options.allowRewritten &&
                       computed_.contains(tensor.name());
      if (isTrained && !(entry && entry->isParameter())) {
        role = {Role::Parameter,
                "stands for parameters that the exporter folded",
                {}};
      } else if (entry && entry->isParameter()) {
        role = {Role::Parameter, "a parameter of the module", {}};
        for (const ParameterAlias &alias : r.found.aliases)
          if (alias.of == entry)
            role.aliases.push_back(alias.entry->target);
      } else if (entry && entry->kind == SignatureEntry::Kind::Buffer) {
        // A buffer that the module does not save becomes a constant.
        role = {entry->isPersistent ? Role::Buffer : Role::Constant,
                "a buffer of the module",
                {}};
      } else if (computed_.contains(tensor.name())) {
        role = {Role::Constant, "computed by the exporter", {}};
        held.push_back(tensor.name());
      } else {
        role = {Role::Constant, "a constant of the program", {}};
      }
      if (role.kind != Role::Parameter && isAskedFor(options, tensor.name()))
        role = {Role::Parameter, "--trainable names it", {}};
    }
    if (!held.empty())
      r.errors.warn(r.file + ": held constant, since the exporter computed " +
                    (held.size() > 1 ? "them: " : "it: ") + listedNames(held) +
                    "; --trainable=REGEX trains matching tensors");
  }

  Restoration &r;
  const ImportOptions &options;
  llvm::StringSet<> computed_; // constants that the exporter computed
  std::map<std::pair<std::string, std::string>, std::string> values_;
  std::set<std::pair<std::string, std::string>> compared_;
  std::map<std::string, std::string> literals_; // by a parameter's name
};

} // namespace

bool restoreParameters(OnnxModel &model, const ImportOptions &options,
                       ImportErrors &errors) {
  ModelIndex index;
  if (!checkModel(model, index, errors))
    return false;
  restoreDropout(model);
  std::unique_ptr<ParameterFile> parameters;
  if (!options.parameters.empty()) {
    std::string why;
    parameters = ParameterFile::open(options.parameters, why);
    if (!parameters) {
      errors.invalid("--parameters=" + shown(options.parameters, 512) + ": " +
                     why);
      return false;
    }
  }
  if (std::optional<Signature> signature =
          Signature::read(model.proto().graph())) {
    Restoration restoration(model, *signature, options, errors);
    restoration.parameters = std::move(parameters);
    return Restorer(restoration).run();
  }
  if (parameters) {
    errors.invalid(shown(model.path(), 512) +
                   ": --parameters needs a model whose exporter wrote its "
                   "signature (torch.onnx.export with dynamo=True)");
    return false;
  }
  assignRolesByUse(model, options, errors);
  return errors.empty();
}

} // namespace sinter::compiler
