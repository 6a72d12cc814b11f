//===- RestoreConstants.cpp - constants computed from parameters ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Derivation.h"
#include "compiler/import/onnx/Restoration.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using ::onnx::TensorProto;

namespace sinter::compiler {
namespace {

using Kind = ParameterUse::Kind;
using FileTensor = ParameterFile::Tensor;

class ConstantUnfolder {
public:
  explicit ConstantUnfolder(Restoration &restoration) : r(restoration) {}

  bool run() {
    findSources();
    for (ParameterUse &use : r.found.uses) {
      if (use.kind != Kind::Folded ||
          hasFoldedBatchNorm(r.graph.node(use.node)))
        continue;
      const std::string &name = r.graph.node(use.node).input(use.input);
      std::optional<TensorData> data = r.read(*r.tensors[name]);
      if (!data)
        return false;
      restore(use, name, *data);
    }
    findAliases();
    return true;
  }

private:
  /// A parameter and its values.
  struct Source {
    const SignatureEntry *entry;
    Shape shape;
    int32_t dataType;
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
    bool isLost; // has no initializer of its own

    TensorView view() const { return {dataType, shape, bytes}; }
    /// The module that has the parameter.
    llvm::StringRef module() const {
      llvm::StringRef target = entry->target;
      return target.take_front(target.contains('.') ? target.rfind('.') : 0);
    }
  };

  /// Finds the parameters of the parameter file and those of the model itself.
  void findSources() {
    llvm::StringSet<> there = r.present();
    for (const SignatureEntry &entry : r.signature.entries()) {
      const FileTensor *given =
          r.parameters ? r.parameters->find(entry.target) : nullptr;
      if (given) {
        bool isLost = entry.isParameter() && !there.contains(entry.placeholder);
        if (!isLost || !findShared(entry))
          sources.push_back({&entry, Shape(given->shape), given->dataType,
                             given->bytes, nullptr, isLost});
        if (isLost)
          lost.push_back(&entry);
        continue;
      }
      const TensorProto *own = r.ownTensor(entry);
      if (!own || !entry.isParameter() || !there.contains(entry.placeholder) ||
          r.found.folded.contains(entry.target))
        continue;
      std::string why;
      ReadFailure failure = ReadFailure::None;
      std::optional<TensorData> data =
          readTensor(r.model, *own, &r.context, why, failure);
      if (data)
        sources.push_back({&entry, Shape(data->type.getShape()),
                           dataTypeOf(data->type.getElementType()),
                           data->bytes.data, data->bytes.owner, false});
    }
  }

  void restore(ParameterUse &use, const std::string &name,
               const TensorData &data) {
    TensorView constant{dataTypeOf(data.type.getElementType()),
                        data.type.getShape(), data.bytes.data};
    if (restoreNormalized(use, constant))
      return;
    struct Candidate {
      const Source *source;
      Derivation derivation;
    };
    std::vector<Candidate> candidates;
    for (const Source &source : sources)
      if (std::optional<Derivation> derivation =
              findDerivation(source.view(), constant, use.value))
        if (isLikely(source, *derivation, use))
          candidates.push_back({&source, std::move(*derivation)});
    if (candidates.size() > 1) {
      // Keep parameters of the module whose call reads the constant.
      llvm::erase_if(candidates, [&](const Candidate &candidate) {
        return !isInModule(*candidate.source, use.node);
      });
    }
    if (candidates.size() != 1)
      return;
    const auto &[source, derivation] = candidates.front();
    if (!source->entry->isParameter())
      return;
    std::string &value = values[{source->entry->placeholder, name}];
    if (value.empty())
      value =
          addDerivation(r.edit, nameOf(*source), derivation, constant.shape);
    replace(use, value);
  }

  /// If the values are not proof enough, the names of modules must agree.
  bool isLikely(const Source &source, const Derivation &derivation,
                const ParameterUse &use) {
    if (isProduct(use.value))
      return isBiasOfZeros(source);
    return !derivation.isPlain ||
           (source.isLost && isInModule(source, use.node));
  }

  /// If a product equals its bias, its input or its weight is zero. In the
  /// second case, the weight is trained too.
  bool isBiasOfZeros(const Source &bias) {
    bool hasWeight = false;
    for (const Source &weight : sources) {
      if (weight.shape.size() != 2 || weight.shape[0] != bias.shape[0] ||
          weight.module() != bias.module())
        continue;
      if (weight.view().areEqual())
        return false;
      hasWeight = true;
    }
    return hasWeight;
  }

  /// Undoes torch.nn.utils.parametrizations.weight_norm.
  bool restoreNormalized(ParameterUse &use, const TensorView &constant) {
    struct Pair {
      const Source *g, *v;
      bool isTransposed;
    };
    std::vector<Pair> pairs;
    std::string turned;
    if (constant.shape.size() == 2)
      turned = transposed(constant.bytes, constant.shape, constant.width());
    Shape turnedShape(llvm::reverse(constant.shape));
    TensorView turnedView{constant.dataType, turnedShape,
                          llvm::ArrayRef<char>(turned.data(), turned.size())};
    for (const Source &g : sources) {
      llvm::StringRef name = g.entry->target;
      if (!name.consume_back(".original0"))
        continue;
      for (const Source &v : sources) {
        if (v.entry->target != (name + ".original1").str())
          continue;
        if (isNormalizedWeight(g.view(), v.view(), constant))
          pairs.push_back({&g, &v, false});
        else if (!turned.empty() &&
                 isNormalizedWeight(g.view(), v.view(), turnedView))
          pairs.push_back({&g, &v, true});
      }
    }
    if (pairs.size() != 1)
      return false;
    const auto &[g, v, isTransposed] = pairs.front();
    std::string &value = values[{g->entry->placeholder, ""}];
    if (value.empty())
      value = addNormalizedWeight(r.edit, nameOf(*g), g->shape, nameOf(*v));
    replace(use, isTransposed
                     ? r.edit.transpose(value, {1, 0}, value + "/transposed")
                     : value);
    return true;
  }

  /// The name of the initializer for `source`.
  const std::string &nameOf(const Source &source) {
    const SignatureEntry &entry = *source.entry;
    if (r.parameters && r.parameters->find(entry.target))
      r.addFromFile(entry);
    else
      r.initializers[entry.placeholder] = r.ownTensor(entry);
    return entry.target;
  }

  void replace(ParameterUse &use, const std::string &value) {
    r.edit.setInput(use.node, use.input, value);
    use.kind = Kind::Restored;
  }

  /// Whether the call that `node` came from is in the module that owns
  /// `source`.
  bool isInModule(const Source &source, int node) {
    return modulePath(r.graph.node(node)) == source.module();
  }

  /// The entry that calls name and that the parameter file says is the same
  /// tensor.
  const SignatureEntry *findShared(const SignatureEntry &entry) {
    for (const SignatureEntry &other : r.signature.entries())
      if (&other != &entry && r.found.mentioned.contains(other.placeholder) &&
          r.parameters->areShared(entry.target, other.target))
        return &other;
    return nullptr;
  }

  /// A parameter that no call names, and whose values equal those of another,
  /// is a second name of that parameter.
  void findAliases() {
    for (const SignatureEntry *entry : lost)
      if (!r.initializers.contains(entry->placeholder) &&
          !r.found.mentioned.contains(entry->placeholder))
        if (const SignatureEntry *other = findAlias(*entry))
          r.found.aliases.push_back({entry, other});
  }
  const SignatureEntry *findAlias(const SignatureEntry &entry) {
    if (const SignatureEntry *other = findShared(entry))
      return other;
    const FileTensor &own = *r.parameters->find(entry.target);
    TensorView view{own.dataType, own.shape, own.bytes};
    // The exporter may have merged two modules that are equal but not shared.
    if (!r.found.vanished.empty() || view.areEqual())
      return nullptr;
    for (const SignatureEntry &other : r.signature.entries()) {
      const FileTensor *tensor = r.parameters->find(other.target);
      if (r.found.mentioned.contains(other.placeholder) && tensor &&
          tensor->shape == own.shape && tensor->bytes == own.bytes)
        return &other;
    }
    return nullptr;
  }

  Restoration &r;
  std::vector<Source> sources;
  std::vector<const SignatureEntry *> lost;
  std::map<std::pair<std::string, std::string>, std::string> values;
};

} // namespace

bool unfoldConstants(Restoration &restoration) {
  return ConstantUnfolder(restoration).run();
}

} // namespace sinter::compiler
