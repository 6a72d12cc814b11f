//===- RolesByUse.cpp - parameters of a file that does not name them ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An initializer is certainly a parameter only if its uses show it: a weight of
// a product of data, of a convolution or a recurrent layer, a table indexed by
// data, a scale or bias of a normalisation, or a vector with a human-given name
// that scales or shifts data. Other candidates are decided by their values and
// listed in a warning.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/RestoreParameters.h"
#include "compiler/import/onnx/TensorReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {
namespace {

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// What an input proves about a constant, from the weakest to the strongest.
enum class Evidence {
  None,
  Operand,   // of another node; may be a parameter or not
  Vector,    // a factor or summand of data along one dimension
  Weight,    // of a product, convolution, normalisation or table
  Constant,  // a use that parameters do not have
  Statistic, // of a batch normalisation
};

struct Finding {
  Evidence evidence = Evidence::None;
  std::string reason;
  void take(const Finding &other) {
    if (other.evidence > evidence)
      *this = other;
  }
};

bool isAnyOf(llvm::StringRef op, std::initializer_list<llvm::StringRef> list) {
  return llvm::is_contained(list, op);
}

/// Whether an exporter made up the name.
bool isGenerated(llvm::StringRef name) {
  static const llvm::Regex expression(
      "^(onnx::[A-Za-z]+_[0-9]+|[0-9]+|val_[0-9]+|_v_[0-9]+|const_.*)$|"
      "Constant_");
  return expression.match(name);
}

bool isComparison(llvm::StringRef op) {
  return isAnyOf(op,
                 {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"});
}

/// What the input of a node that depends on data proves about the constant at
/// that input. `otherIsData`: the node's other input depends on data.
Finding findingOf(const NodeProto &node, int input, bool otherIsData,
                  bool isVector) {
  llvm::StringRef op = node.op_type();
  auto weight = [&](const char *what) {
    return Finding{Evidence::Weight, what};
  };
  if (isAnyOf(op, {"Conv", "ConvTranspose", "FusedConv"}) && input >= 1)
    return weight(input == 1 ? "the filter of a convolution"
                             : "the bias of a convolution");
  if (isAnyOf(op, {"Gemm", "FusedGemm"}))
    return weight(input == 2 ? "the bias of a product"
                             : "the weight of a product");
  if (isAnyOf(op, {"MatMul", "FusedMatMul"}) && input == 1)
    return weight("the weight of a product");
  if (isAnyOf(op, {"LSTM", "GRU", "RNN"})) {
    if (input == 5 || input == 6)
      return isGenerated(node.input(input))
                 ? Finding{Evidence::Constant,
                           "the initial state of a recurrent layer"}
                 : Finding{Evidence::Operand, ""};
    return weight("the weight of a recurrent layer");
  }
  if (op == "BatchNormalization")
    return input >= 3 ? Finding{Evidence::Statistic,
                                "a running statistic of a BatchNormalization"}
                      : weight("the scale or bias of a normalisation");
  if (isAnyOf(op, {"LayerNormalization", "InstanceNormalization",
                   "GroupNormalization", "RMSNormalization",
                   "SimplifiedLayerNormalization", "SkipLayerNormalization",
                   "SkipSimplifiedLayerNormalization"}) &&
      input >= 1)
    return weight("the scale or bias of a normalisation");
  if (isAnyOf(op, {"Attention", "EmbedLayerNormalization"}) && input >= 1 &&
      node.domain() == "com.microsoft")
    return weight("the weight of a fused layer");
  if (isAnyOf(op, {"BiasGelu", "FastGelu", "BiasSplitGelu"}) && input == 1)
    return weight("the bias of an activation");
  if (op == "Gather" && input == 0)
    return otherIsData ? weight("a table indexed by data")
                       : Finding{Evidence::Operand, ""};
  if (op == "PRelu" && input == 1)
    return weight("the slope of an activation");
  if (op == "Einsum")
    return weight("the weight of a product");
  if (isComparison(op))
    return {Evidence::Constant, "compared with data"};
  if (isAnyOf(op, {"Add", "Sub", "Mul", "Div"}) && isVector)
    return {Evidence::Vector, op == "Add" || op == "Sub"
                                  ? "the bias of an activation"
                                  : "the scale of an activation"};
  if (isAnyOf(op, {"Dropout", "Clip", "Pad", "Resize", "QuantizeLinear",
                   "DequantizeLinear"}) &&
      input >= 1)
    return {Evidence::Constant, "a setting of a node"};
  return {Evidence::Operand, ""};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether the values are evenly spaced, like a grid or knots.
bool isProgression(llvm::ArrayRef<double> values) {
  if (values.size() < 4 || values[0] == values[1])
    return false;
  double step = values[1] - values[0];
  for (size_t i = 1; i < values.size(); ++i)
    if (std::abs(values[i] - values[i - 1] - step) > 1e-4 * std::abs(step))
      return false;
  return true;
}

/// Whether all pairs of elements are a sine and a cosine of one angle. A pair
/// is two neighbours, or the same position in both halves of a row of `width`.
bool isSinusoid(llvm::ArrayRef<double> values, int64_t width) {
  if (width < 2 || width % 2 || values.size() < 4)
    return false;
  auto allPairs = [&](int64_t distance, int64_t step) {
    for (size_t row = 0; row + width <= values.size(); row += width)
      for (int64_t i = 0; i < width / 2; ++i) {
        double a = values[row + i * step],
               b = values[row + i * step + distance];
        if (std::abs(a * a + b * b - 1) > 1e-3)
          return false;
      }
    return true;
  };
  return allPairs(1, 2) || allPairs(width / 2, 1);
}

} // namespace

/// All values are checked for those of a mask, and only the first ones for the
/// rest.
ValueCheck checkValues(const TensorData &data) {
  constexpr int64_t kChunk = 1 << 14;
  ValueCheck check;
  Type element = data.type.getElementType();
  int64_t count = data.type.getNumElements(),
          width = ir::elementSizeBytes(element);
  std::vector<double> first;
  std::optional<double> finite;
  check.isMask = true;
  for (int64_t at = 0; at < count; at += kChunk) {
    auto type = RankedTensorType::get({std::min(kChunk, count - at)}, element);
    ir::Tensor chunk =
        ir::Tensor::fromBytes(type, data.bytes.data.data() + at * width);
    if (!at)
      first.assign(chunk.floats.begin(), chunk.floats.end());
    for (double value : chunk.floats) {
      check.areEqual &= value == first[0];
      if (!std::isfinite(value) || value < -1e4)
        check.mask = "it holds values that are not finite or below -1e4";
      else
        check.isMask &= value == finite.value_or(value), finite = value;
    }
  }
  check.isMask &= !check.mask.empty();
  if (!check.mask.empty() || first.size() < 4)
    return check;
  // Initial values of a parameter are random or all equal.
  std::vector<double> sorted(first);
  std::sort(sorted.begin(), sorted.end());
  size_t distinct = std::unique(sorted.begin(), sorted.end()) - sorted.begin();
  int64_t row = data.type.getRank() ? data.type.getShape().back() : 1;
  if (distinct > 1 && distinct <= first.size() / 2)
    check.computed = "most of its values occur several times";
  else if (isProgression(first))
    check.computed = "its values are evenly spaced";
  else if (isSinusoid(first, row))
    check.computed = "its values are sines and cosines";
  return check;
}

namespace {

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

class RoleFinder {
public:
  RoleFinder(OnnxModel &model, const ImportOptions &options,
             ImportErrors &errors)
      : model_(model), graph_(model.proto().graph()), options_(options),
        errors_(errors), file_(shown(model.path(), 512)) {}

  void run() {
    findData();
    for (const TensorProto &tensor : graph_.initializer())
      if (isFloatData(tensor.data_type()) && read_.contains(tensor.name()))
        decideAll(tensor);
    if (!folded_.empty() && !options_.allowRewritten) {
      errors_.invalid(
          file_ + ": the exporter computed the weights " +
          listedNames(folded_) +
          " of convolutions or products from parameters that the file does not "
          "have (a folded BatchNormalization?); export it with "
          "training=TrainingMode.PRESERVE and do_constant_folding=False, or "
          "train the file as it stands with --allow-rewritten-parameters");
      return;
    }
    if (!trained_.empty())
      errors_.warn(file_ + ": trained, though the file does not say whether " +
                   (trained_.size() > 1 ? "they are parameters: "
                                        : "it is a parameter: ") +
                   listedNames(trained_) +
                   "; --freeze=REGEX keeps matching tensors constant");
    if (!parted_.empty())
      errors_.warn(file_ +
                   ": trained as parameters of their own, though they "
                   "have the values of others: " +
                   listedNames(parted_) +
                   "; the exporter's TrainingMode.TRAINING tells copies from "
                   "shared parameters");
    if (!held_.empty())
      errors_.warn(
          file_ +
          ": held constant, though the file does not say "
          "whether " +
          (held_.size() > 1 ? "they are parameters: " : "it is a parameter: ") +
          listedNames(held_) + "; --trainable=REGEX trains matching tensors");
  }

private:
  using Role = InitializerRole::Kind;

  /// Finds the values that depend on what callers feed, and the readers of each
  /// value.
  void findData() {
    llvm::StringSet<> constants;
    for (const TensorProto &tensor : graph_.initializer()) {
      constants.insert(tensor.name());
      names_.insert(tensor.name());
    }
    for (const auto &input : graph_.input())
      if (!constants.contains(input.name()))
        data_.insert(input.name());
    for (const auto &output : graph_.output())
      read_.insert(output.name());
    std::vector<bool> live = findLive(graph_.node(), read_);
    llvm::SmallVector<bool> liveBits(live.begin(), live.end());
    copies_ = initializerCopies(graph_, liveBits);
    for (const auto &[name, copies] : copies_)
      names_.insert(copies.begin(), copies.end());
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!live[i])
        continue;
      const NodeProto &node = graph_.node(i);
      // Bodies read values of the enclosing graph without listing them.
      bool isData = llvm::any_of(node.attribute(), [](const auto &attribute) {
        return attribute.has_g();
      });
      isData |= llvm::StringRef(node.op_type()).starts_with("Random") ||
                node.op_type() == "Bernoulli" ||
                node.op_type() == "Multinomial";
      for (const std::string &input : node.input())
        isData |= data_.contains(input);
      addUses(node, isData);
      for (const AttributeProto &attribute : node.attribute())
        if (attribute.has_g())
          addBody(attribute.g());
    }
  }
  void addUses(const NodeProto &node, bool isData) {
    for (int input = 0; input < node.input_size(); ++input)
      users_[node.input(input)].push_back({&node, input});
    if (isData)
      for (const std::string &output : node.output())
        data_.insert(output);
  }
  /// Everything that a body computes counts as data.
  void addBody(const GraphProto &body) {
    for (const auto &input : body.input())
      data_.insert(input.name());
    for (const NodeProto &node : body.node()) {
      addUses(node, node.op_type() != "Constant");
      for (const AttributeProto &attribute : node.attribute())
        if (attribute.has_g())
          addBody(attribute.g());
    }
  }

  bool isData(const NodeProto &node) const {
    return llvm::any_of(node.output(), [&](const std::string &output) {
      return data_.contains(output);
    });
  }

  /// What the uses of the constant `name` prove, including uses of values that
  /// are computed from it alone.
  Finding uses(const std::string &name, bool isVector, int depth = 0) {
    Finding found;
    if (depth > 64)
      return found;
    for (auto [user, input] : users_[name]) {
      const NodeProto &node = *user;
      if (isData(node)) {
        bool otherIsData = node.input_size() > 1 &&
                           data_.contains(node.input(input == 0 ? 1 : 0));
        found.take(findingOf(node, input, otherIsData, isVector));
        continue;
      }
      // The operands are the angles of a table of positions.
      if (isAnyOf(node.op_type(), {"Sin", "Cos"})) {
        found.take({Evidence::Constant, "the angles of a table"});
        continue;
      }
      if (isAnyOf(node.op_type(),
                  {"Shape", "Size", "ConstantOfShape", "CastLike"}) &&
          !(node.op_type() == "CastLike" && input == 0))
        continue;
      for (const std::string &output : node.output())
        if (!output.empty() && !separate_.contains(output))
          found.take(uses(output, isVector, depth + 1));
    }
    return found;
  }

  /// Decides the role of the initializer and of its copies that are separate
  /// parameters.
  void decideAll(const TensorProto &tensor) {
    std::string why;
    ReadFailure failure = ReadFailure::None;
    std::optional<TensorData> data =
        readTensor(model_, tensor, &context_, why, failure);
    if (!data)
      return; // the import will report the reason
    ValueCheck values = checkValues(*data);
    std::vector<std::string> own, aliases;
    if (auto copies = copies_.find(tensor.name()); copies != copies_.end())
      for (const std::string &copy : copies->second)
        (values.areEqual || isParted(tensor.name(), copy) ? own : aliases)
            .push_back(copy);
    for (const std::string &copy : own)
      separate_.insert(copy);
    for (const std::string &copy : own) {
      decide(copy, data->type, values, tensor.name());
      findScopeAliases(copy, model_.roles[copy]);
      if (!values.areEqual)
        doubt(parted_, copy);
    }
    decide(tensor.name(), data->type, values, tensor.name());
    InitializerRole &role = model_.roles[tensor.name()];
    for (std::string &alias : aliases)
      if (!isGenerated(alias))
        role.aliases.push_back(std::move(alias));
    findScopeAliases(tensor.name(), role);
    findPadding(tensor.name(), *data);
  }

  /// TorchScript names nodes after modules: /head/MatMul. If a module without
  /// submodules reads a parameter of another module, it has the parameter under
  /// a name of its own.
  void findScopeAliases(const std::string &name, InitializerRole &role) {
    auto [module, leaf] = llvm::StringRef(name).rsplit('.');
    if (role.kind != Role::Parameter || leaf.empty() || !isTorchScript())
      return;
    for (const Use &use : users_[name]) {
      std::string scope = scopeOf(*use.node);
      std::string alias = scope + "." + leaf.str();
      if (scope.empty() || scope == module || !isLeafScope(scope) ||
          names_.contains(alias) || llvm::is_contained(role.aliases, alias))
        continue;
      role.aliases.push_back(std::move(alias));
    }
  }
  static std::string scopeOf(const NodeProto &node) {
    llvm::StringRef path = node.name();
    if (!path.consume_front("/") || path.find('/') == llvm::StringRef::npos)
      return "";
    std::string scope = path.rsplit('/').first.str();
    std::replace(scope.begin(), scope.end(), '/', '.');
    return scope;
  }
  bool isLeafScope(const std::string &scope) const {
    return llvm::none_of(graph_.node(), [&](const NodeProto &node) {
      return llvm::StringRef(scopeOf(node)).starts_with(scope + ".");
    });
  }

  /// TorchScript's exporter gives a tensor that two modules share one name. It
  /// marks two parameters of equal values by an Identity from one name to the
  /// other. Other exporters write an Identity for a shared parameter.
  bool isParted(llvm::StringRef name, llvm::StringRef copy) const {
    return isTorchScript() && !isGenerated(name) && !isGenerated(copy);
  }
  bool isTorchScript() const {
    return model_.proto().producer_name() == "pytorch";
  }

  /// In a table indexed by data, the only row of zeros is the padding row.
  void findPadding(const std::string &name, const TensorData &data) {
    InitializerRole &role = model_.roles[name];
    bool isTable = llvm::any_of(users_[name], [&](auto use) {
      const NodeProto &node = *use.node;
      return node.op_type() == "Gather" && use.input == 0 &&
             node.input_size() > 1 && data_.contains(node.input(1));
    });
    if (role.kind != Role::Parameter || !isTable || data.type.getRank() != 2)
      return;
    int64_t rows = data.type.getShape()[0];
    size_t bytes = data.bytes.data.size() / std::max<int64_t>(rows, 1);
    for (int64_t row = 0; row < rows; ++row) {
      if (llvm::any_of(data.bytes.data.slice(row * bytes, bytes),
                       [](char byte) { return byte != 0; }))
        continue;
      if (role.paddingRow) { // several rows of zeros prove nothing
        role.paddingRow.reset();
        return;
      }
      role.paddingRow = row;
    }
    if (role.paddingRow && mayTrain(options_, name))
      errors_.warn(file_ + ": row " + std::to_string(*role.paddingRow) +
                   " of the table " + quoted(name) +
                   " is zero: it is treated as a padding row, which gets no "
                   "gradient");
  }

  /// `listed` is the name of the initializer that holds the values.
  void decide(const std::string &name, RankedTensorType type,
              const ValueCheck &values, const std::string &listed) {
    int64_t wide =
        llvm::count_if(type.getShape(), [](int64_t size) { return size != 1; });
    bool isScalar = type.getRank() == 0;
    Finding found = uses(name, wide <= 1);
    InitializerRole &role = model_.roles[name];
    role = {Role::Constant, found.reason, {}};
    bool isGiven = isAskedFor(options_, name);
    if (found.evidence == Evidence::Statistic) {
      role.kind = Role::Buffer;
    } else if (isGiven) {
      role = {Role::Parameter, "--trainable names it", {}};
    } else if (!values.mask.empty()) {
      role.reason = values.mask;
    } else if (found.evidence == Evidence::None) {
      role.reason = "no node that depends on data uses it";
    } else if (found.evidence == Evidence::Constant) {
    } else if (isScalar) {
      role.reason = "a scalar";
      if (!isGenerated(name))
        doubt(held_, name);
    } else if (found.evidence == Evidence::Weight) {
      role.kind = Role::Parameter;
      static const llvm::Regex computed("^onnx::(Conv|ConvTranspose|Gemm)_");
      if (computed.match(name) && mayTrain(options_, name))
        folded_.push_back(name);
    } else if (isBeforeParameter(listed)) {
      role = {Role::Parameter, "listed before a parameter of its module", {}};
    } else if (!values.computed.empty()) {
      role.reason = values.computed;
      doubt(held_, name);
    } else {
      role.kind = Role::Parameter;
      bool isSure = found.evidence == Evidence::Vector && !isGenerated(name);
      if (!isSure)
        role.reason = "an operand of data";
      if (!isSure || !isConventional(name))
        doubt(trained_, name); // it may be a buffer
    }
  }

  /// Whether the name is one that modules give their parameters.
  static bool isConventional(llvm::StringRef name) {
    llvm::StringRef leaf = name.rsplit('.').second;
    return leaf == "weight" || leaf == "bias";
  }

  /// TorchScript lists the parameters of a module before its buffers. So any
  /// tensor listed before a certain parameter of the same module is a
  /// parameter.
  bool isBeforeParameter(llvm::StringRef name) {
    if (!isTorchScript() || isGenerated(name))
      return false;
    llvm::StringRef module = name.rsplit('.').first;
    bool isBehind = false;
    for (const TensorProto &tensor : graph_.initializer()) {
      llvm::StringRef other = tensor.name();
      if (other == name) {
        isBehind = true;
        continue;
      }
      if (!isBehind || !name.contains('.') || !other.contains('.') ||
          other.rsplit('.').first != module || !isFloatData(tensor.data_type()))
        continue;
      int64_t wide =
          llvm::count_if(tensor.dims(), [](int64_t size) { return size != 1; });
      Evidence evidence = uses(tensor.name(), wide <= 1).evidence;
      if (evidence == Evidence::Weight ||
          (evidence == Evidence::Vector && looksDrawn(tensor)))
        return true;
    }
    return false;
  }

  bool looksDrawn(const TensorProto &tensor) {
    std::string why;
    ReadFailure failure = ReadFailure::None;
    std::optional<TensorData> data =
        readTensor(model_, tensor, &context_, why, failure);
    if (!data)
      return false;
    ValueCheck values = checkValues(*data);
    return values.mask.empty() && values.computed.empty();
  }

  /// Lists a doubtful name, unless the user's options decide it.
  void doubt(std::vector<std::string> &list, const std::string &name) {
    if (options_.trainable.empty() && mayTrain(options_, name))
      list.push_back(name);
  }

  OnnxModel &model_;
  const GraphProto &graph_;
  const ImportOptions &options_;
  ImportErrors &errors_;
  std::string file_;
  MLIRContext context_{MLIRContext::Threading::DISABLED};
  llvm::StringSet<> data_, read_, separate_, names_;
  std::map<std::string, std::vector<std::string>> copies_;
  struct Use {
    const NodeProto *node;
    int input;
  };
  std::map<std::string, std::vector<Use>> users_;
  std::vector<std::string> folded_, trained_, held_, parted_;
};

} // namespace

void assignRolesByUse(OnnxModel &model, const ImportOptions &options,
                      ImportErrors &errors) {
  RoleFinder(model, options, errors).run();
}

} // namespace sinter::compiler
