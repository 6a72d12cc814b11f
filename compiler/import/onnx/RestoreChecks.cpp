//===- RestoreChecks.cpp - what an exported file does not tell ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Derivation.h"
#include "compiler/import/onnx/Restoration.h"
#include "compiler/import/onnx/RestoreParameters.h"

#include "llvm/ADT/STLExtras.h"

#include <onnx/onnx_pb.h>

using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {

using Kind = ParameterUse::Kind;

/// If an exporter gave a parameter the name of an input, the file does not tell
/// which of the two a node reads.
bool checkInputs(Restoration &r) {
  for (const auto &input : r.graph.input())
    if (r.tensors.contains(input.name()) && r.signature.byTarget(input.name()))
      return r.invalid("input " + quoted(input.name()) +
                       " has the name of a parameter; export it with other "
                       "input_names");
  return true;
}

/// Tensors in both the model and the parameter file must be equal.
bool checkParameterFile(Restoration &r) {
  if (!r.signature.entries().empty() &&
      llvm::none_of(r.signature.entries(), [&](const SignatureEntry &entry) {
        return r.parameters->find(entry.target);
      }))
    return r.invalid(shown(r.parameters->path(), 512) +
                     " has none of the model's parameters, such as " +
                     quoted(r.signature.entries().front().target));
  for (const SignatureEntry &entry : r.signature.entries()) {
    const ParameterFile::Tensor *given = r.parameters->find(entry.target);
    const TensorProto *own = r.ownTensor(entry);
    if (!given || !own || r.found.folded.contains(entry.target))
      continue;
    std::optional<TensorData> data = r.read(*own);
    if (!data)
      return false;
    if (llvm::ArrayRef<int64_t>(given->shape) != data->type.getShape() ||
        given->bytes != data->bytes.data)
      return r.invalid("parameter " + quoted(entry.target) +
                       " has other values in " +
                       shown(r.parameters->path(), 512) +
                       ", which should be the weights that were exported");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Parameters that are in no initializer
//===----------------------------------------------------------------------===//

namespace {

class LossCheck {
public:
  explicit LossCheck(Restoration &restoration)
      : r(restoration), options(r.options), present(r.present()) {}

  bool run() {
    return checkBatchNorms() && checkClear() && checkReplaced() &&
           checkParameters() && checkFolded();
  }

private:
  bool checkClear() {
    if (options.allowRewritten)
      return true;
    if (!r.found.detached.empty())
      return r.invalid("the exporter removed " + listedNames(r.found.detached) +
                       ", through which no gradient flows" + r.advice(false));
    if (!r.found.unclearInBodies.empty())
      return r.invalid(
          "bodies of nodes read " + listedNames(r.found.unclearInBodies) +
          ", which the exporter may have computed from parameters" +
          r.advice());
    for (int i = 0; i < r.graph.node_size(); ++i) {
      std::optional<FxCall> call =
          r.live[i] ? readFxCall(r.graph.node(i)) : std::nullopt;
      if (call && call->target == "aten.embedding" &&
          call->arguments.size() > 3 && call->arguments[3].text == "True")
        return r.invalid(r.where(i) + ": scale_grad_by_freq is not supported");
    }
    for (const ParameterUse &use : r.found.uses)
      if (use.kind == Kind::Unclear)
        return r.invalid(
            r.where(use.node) + ": the exporter computed its input " +
            quoted(r.graph.node(use.node).input(use.input)) +
            " from parameters, but the file does not tell how" + r.advice());
    return true;
  }

  /// Equal operations that the exporter merged may have had separate
  /// parameters. An operation without effect may have a parameter that is still
  /// 0 or 1.
  bool checkReplaced() {
    if (options.allowRewritten)
      return true;
    if (!r.found.merged.empty())
      return r.invalid("the exporter computes " + listedNames(r.found.merged) +
                       " by operations of equal parameters, which would be "
                       "trained as one" +
                       r.advice(false));
    if (!r.found.skipped.empty())
      return r.invalid("the exporter left out " + listedNames(r.found.skipped) +
                       ", which changed nothing so far and may depend on "
                       "parameters" +
                       r.advice(false));
    return true;
  }

  /// The file lacks the entries of folded BatchNormalizations.
  bool checkBatchNorms() {
    for (int i = 0; i < r.graph.node_size(); ++i) {
      if (!r.live[i] || !hasFoldedBatchNorm(r.graph.node(i)))
        continue;
      std::vector<std::string> lost;
      bool isTrained = !options.freezeBatchNorm;
      if (std::optional<FxCall> call = readFxCall(r.graph.node(i)))
        for (const std::string &value : call->values)
          if (const SignatureEntry *entry = r.signature.byPlaceholder(value)) {
            inBatchNorms.insert(entry->placeholder);
            if (entry->isParameter())
              lost.push_back(entry->target);
          }
      if (r.unfolded.count(i))
        continue;
      for (const std::string &name : lost)
        isTrained |= mayTrain(options, name);
      for (const std::string &input : r.graph.node(i).input())
        isTrained |= r.tensors.contains(input) && mayTrain(options, input);
      if (isTrained && !options.allowRewritten)
        return r.invalid(r.where(i) +
                         ": the exporter folded a BatchNormalization into it, "
                         "whose " +
                         (lost.empty() ? "running statistics"
                                       : "parameters " + listedNames(lost)) +
                         " the file does not have" + r.advice());
    }
    return true;
  }

  bool isLost(const SignatureEntry &entry) const {
    return entry.isParameter() && !present.contains(entry.placeholder) &&
           !inBatchNorms.contains(entry.placeholder);
  }

  /// Checks parameters of the module that do not have their own initializer.
  bool checkParameters() {
    std::vector<std::string> mentioned, others;
    for (const SignatureEntry &entry : r.signature.entries()) {
      if (!isLost(entry) || !mayTrain(options, entry.target))
        continue;
      (r.found.mentioned.contains(entry.placeholder) ? mentioned : others)
          .push_back(entry.target);
    }
    std::vector<std::string> folded;
    for (const ParameterUse &use : r.found.uses) {
      if (use.kind != Kind::Folded)
        continue;
      const std::string &name = r.graph.node(use.node).input(use.input);
      if (!llvm::is_contained(folded, name))
        folded.push_back(name);
    }
    r.hasLost = !mentioned.empty() || !inBatchNorms.empty() ||
                (!others.empty() && !folded.empty());
    if (options.allowRewritten)
      return true;
    if (!mentioned.empty())
      return r.invalid("the exporter removed the uses of the parameters " +
                       listedNames(mentioned) + r.advice());
    if (!others.empty() && !folded.empty())
      return r.invalid("the parameters " + listedNames(others) +
                       " are not in the file, which has constants that the "
                       "exporter computed: " +
                       listedNames(folded) + r.advice());
    if (!others.empty() && !r.found.vanished.empty())
      return r.invalid("the parameters " + listedNames(others) +
                       " are not in the file, and the exporter removed "
                       "operations whose results it names: " +
                       listedNames(r.found.vanished) + r.advice());
    if (!others.empty())
      r.errors.warn(
          r.file + ": the parameters " + listedNames(others) +
          " of the module are not in the file: nothing uses them, or they are "
          "other names of tensors (--parameters=FILE would tell)");
    return true;
  }

  /// A constant that the exporter computed may also depend on a parameter that
  /// the file has. Tables, masks and values made of literals do not.
  bool checkFolded() {
    if (options.allowRewritten)
      return true;
    // If the file lacks frozen parameters, a constant may come from those.
    bool hasHeld =
        llvm::any_of(r.signature.entries(), [&](const SignatureEntry &entry) {
          return isLost(entry) && !mayTrain(options, entry.target);
        });
    std::vector<std::string> doubtful;
    for (const ParameterUse &use : r.found.uses) {
      const NodeProto &node = r.graph.node(use.node);
      if (use.kind != Kind::Folded || hasFoldedBatchNorm(node))
        continue;
      const std::string &name = node.input(use.input);
      bool isHeld =
          isFrozen(options, name) || (hasHeld && !mayTrain(options, name));
      if (isHeld || llvm::is_contained(doubtful, name) ||
          isMadeOfNumbers(use.value))
        continue;
      std::optional<TensorData> data = r.read(*r.tensors[name]);
      if (!data)
        return false;
      if (!isTable(use, name, *data))
        doubtful.push_back(name);
    }
    return doubtful.empty() ||
           r.invalid("the exporter computed the constants " +
                     listedNames(doubtful) +
                     ", which may depend on parameters; --freeze=REGEX keeps "
                     "matching tensors constant" +
                     r.advice());
  }

  /// Whether the values are those of a table, not of parameters.
  bool isTable(const ParameterUse &use, const std::string &name,
               const TensorData &data) {
    // It has the name and the values of a parameter.
    const SignatureEntry *named = r.signature.byTarget(name);
    if (named && named->isParameter())
      return false;
    // Values computed from parameters may also repeat.
    llvm::StringRef operation = operationOf(use.value);
    if (isProduct(use.value) || operation.contains("conv") ||
        operation.contains("norm"))
      return false;
    ValueCheck values = checkValues(data);
    if (values.isMask)
      return true;
    if (operation == "tril" || operation == "triu")
      return false; // it may be of literal ones or of a parameter of ones
    if (!values.areEqual)
      return !values.computed.empty();
    return isMoved(use.value) && (isAttentionMask(use) || !isOfParameter(data));
  }

  /// Whether it is an attention's mask. There, equal values mask nothing.
  bool isAttentionMask(const ParameterUse &use) {
    std::optional<FxCall> call = readFxCall(r.graph.node(use.node));
    return call && call->target == "aten.scaled_dot_product_attention" &&
           call->arguments.size() > 3 &&
           llvm::is_contained(call->arguments[3].values, use.value);
  }

  /// Whether all elements of some parameter equal the element that `data`
  /// repeats.
  bool isOfParameter(const TensorData &data) {
    int64_t width = ir::elementSizeBytes(data.type.getElementType());
    llvm::ArrayRef<char> element = data.bytes.data.take_front(width);
    for (const SignatureEntry &entry : r.signature.entries()) {
      const TensorProto *tensor = r.ownTensor(entry);
      if (!entry.isParameter() || !tensor || !mayTrain(options, entry.target))
        continue;
      std::string why;
      ReadFailure failure = ReadFailure::None;
      std::optional<TensorData> own =
          readTensor(r.model, *tensor, &r.context, why, failure);
      if (!own || own->type.getElementType() != data.type.getElementType())
        continue;
      TensorView view{tensor->data_type(), own->type.getShape(),
                      own->bytes.data};
      if (view.width() && own->bytes.data.take_front(width) == element &&
          view.areEqual())
        return true;
    }
    return false;
  }

  Restoration &r;
  const ImportOptions &options;
  llvm::StringSet<> present; // entries, by placeholder
  llvm::StringSet<> inBatchNorms;
};

} // namespace

bool checkLost(Restoration &restoration) {
  return LossCheck(restoration).run();
}

//===----------------------------------------------------------------------===//
// Differences to PyTorch's training
//===----------------------------------------------------------------------===//

/// The exporter omits the dropout of an attention's probabilities.
static void warnOfDropout(Restoration &r) {
  std::set<std::string> present;
  std::vector<std::string> missing;
  for (int i = 0; i < r.graph.node_size(); ++i) {
    std::optional<FxCall> call =
        r.live[i] ? readFxCall(r.graph.node(i)) : std::nullopt;
    if (!call || call->target != "aten.scaled_dot_product_attention" ||
        call->arguments.size() < 5)
      continue;
    double probability = 0;
    if (llvm::StringRef(call->arguments[4].text).getAsDouble(probability) ||
        probability == 0)
      continue;
    if (r.graph.node(i).op_type() == "Dropout")
      present.insert(call->result);
    else if (!llvm::is_contained(missing, call->result))
      missing.push_back(call->result);
  }
  llvm::erase_if(missing, [&](const std::string &call) {
    return present.count(call) != 0;
  });
  if (!missing.empty())
    r.errors.warn(r.file + ": the exporter left out the dropout inside " +
                  listedNames(missing) +
                  ": training does not drop there (optimize=False keeps it)");
}

/// Training updates no buffers but the running statistics of
/// BatchNormalizations.
static void warnOfBuffers(Restoration &r) {
  llvm::StringSet<> statistics;
  for (const ParameterUse &use : r.found.uses)
    if (use.entry && r.graph.node(use.node).op_type() == "BatchNormalization")
      statistics.insert(use.entry->target);
  for (int i = 0; i < r.graph.node_size(); ++i)
    if (r.live[i] && hasFoldedBatchNorm(r.graph.node(i)))
      if (std::optional<FxCall> call = readFxCall(r.graph.node(i)))
        for (const std::string &value : call->values)
          if (const SignatureEntry *entry = r.signature.byPlaceholder(value))
            statistics.insert(entry->target);
  std::vector<std::string> kept;
  for (const std::string &name : r.signature.changed())
    if (!statistics.contains(name) &&
        !llvm::StringRef(name).ends_with("num_batches_tracked"))
      kept.push_back(name);
  if (!kept.empty())
    r.errors.warn(r.file + ": the module changes the buffers " +
                  listedNames(kept) + " as it runs; training here does not");
}

void warnOfDifferences(Restoration &restoration) {
  warnOfDropout(restoration);
  warnOfBuffers(restoration);
}

} // namespace sinter::compiler
