//===- RestoreBatchNorm.cpp - folded batch normalisations -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Repeats the exporter's computation and compares the results. Only if they
// agree is the folding undone.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Restoration.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {
namespace {

using Kind = ParameterUse::Kind;
using FileTensor = ParameterFile::Tensor;

llvm::ArrayRef<float> floatsOf(const FileTensor &tensor) {
  return {reinterpret_cast<const float *>(tensor.bytes.data()),
          tensor.bytes.size() / sizeof(float)};
}

class BatchNormUnfolder {
public:
  BatchNormUnfolder(Restoration &restoration, int index)
      : r(restoration), index(index), node(r.graph.node(index)) {}

  bool run() {
    if (!findParts())
      return true;
    if (!isWhatWasFolded())
      return r.invalid(r.where(index) + ": the weights in " +
                       shown(r.parameters->path(), 512) +
                       " do not give the folded weights of the file");
    r.addFromFile(*weight);
    r.edit.setInput(index, 1, weight->target);
    if (bias)
      r.addFromFile(*bias);
    if (bias || node.input_size() > 2)
      r.edit.setInput(index, 2, bias ? bias->target : "");
    const std::string &output = node.output(0);
    std::string before = r.edit.freshName(output + "/normalized");
    r.edit.setOutput(index, before);
    NodeProto &norm =
        r.edit.addNodeBehind(index, "BatchNormalization",
                             {before, nameOf(kScale), nameOf(kShift),
                              nameOf(kMean), nameOf(kVariance)},
                             output);
    GraphEdit::setFloat(norm, "epsilon", float(epsilon));
    GraphEdit::setFloat(norm, "momentum", float(1 - momentum));
    for (ParameterUse &use : r.found.uses)
      if (use.node == index)
        use.kind = Kind::Restored;
    r.unfolded.insert(index);
    return true;
  }

private:
  enum Part { kScale, kShift, kMean, kVariance };

  /// False if the call or the file lacks a part.
  bool findParts() {
    std::optional<FxCall> call = readFxCall(node);
    llvm::StringRef op = node.op_type();
    if (!call || call->target.find("batch_norm") == std::string::npos ||
        !(op == "Conv" || op == "ConvTranspose" || op == "Gemm") ||
        node.input_size() < 2)
      return false;
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "group")
        groups = attribute.i();
    // (x, weight, bias, mean, var, [training,] momentum, epsilon, ...)
    size_t at = llvm::StringRef(call->target).contains("no_training") ? 5 : 6;
    if (call->arguments.size() < at + 2 ||
        llvm::StringRef(call->arguments[at].text).getAsDouble(momentum) ||
        llvm::StringRef(call->arguments[at + 1].text).getAsDouble(epsilon))
      return false;
    for (int i = 1; i <= 4; ++i) {
      const std::vector<std::string> &values = call->arguments[i].values;
      const SignatureEntry *entry =
          values.size() == 1 ? r.signature.byPlaceholder(values[0]) : nullptr;
      // A layer without weights scales by one and shifts by zero.
      bool isLiteral = values.empty() && i <= 2;
      if (!isLiteral && (!entry || !isFloat(entry)))
        return false;
      parts.push_back(entry);
    }
    weight = r.signature.byTarget(node.input(1));
    if (!weight || !isFloat(weight))
      return false;
    auto [module, leaf] = llvm::StringRef(weight->target).rsplit('.');
    bias = r.signature.byTarget((module + ".bias").str());
    if (bias &&
        (!bias->isParameter() || r.found.mentioned.contains(bias->placeholder)))
      bias = nullptr;
    return !bias || isFloat(bias);
  }
  bool isFloat(const SignatureEntry *entry) {
    const FileTensor *tensor = r.parameters->find(entry->target);
    return tensor && tensor->dataType == TensorProto::FLOAT;
  }
  llvm::ArrayRef<float> floats(const SignatureEntry *entry) {
    return floatsOf(*r.parameters->find(entry->target));
  }
  size_t numChannels() { return floats(parts[kVariance]).size(); }
  double partAt(Part part, size_t channel) {
    return parts[part] ? floats(parts[part])[channel] : part == kScale;
  }
  double factorAt(size_t channel) {
    return partAt(kScale, channel) /
           std::sqrt(partAt(kVariance, channel) + epsilon);
  }

  /// The name of the initializer with a part's values.
  std::string nameOf(Part part) {
    if (parts[part]) {
      r.addFromFile(*parts[part]);
      return parts[part]->target;
    }
    std::vector<float> values(numChannels(), part == kScale);
    std::string name = r.edit.freshName(node.output(0) + "/unit");
    r.edit.addTensor(name, {int64_t(values.size())}, TensorProto::FLOAT,
                     std::string(reinterpret_cast<const char *>(values.data()),
                                 values.size() * sizeof(float)));
    return name;
  }

  /// The output channel of element `index` of the weight.
  size_t channelOf(size_t element, Ints shape) {
    size_t inner = 1;
    for (int64_t size : shape.drop_front(2))
      inner *= size;
    size_t row = element / inner / shape[1],
           column = element / inner % shape[1];
    if (node.op_type() != "ConvTranspose")
      return row;
    // [inputs, outputs of a group, ...]
    return row / (shape[0] / groups) * shape[1] + column;
  }

  /// Folds the weight again and compares.
  bool isWhatWasFolded() {
    auto original = r.tensors.find(node.input(1));
    if (original == r.tensors.end())
      return false;
    std::optional<TensorData> data = r.read(*original->second);
    const FileTensor &own = *r.parameters->find(weight->target);
    if (!data || llvm::ArrayRef<int64_t>(own.shape) != data->type.getShape() ||
        own.shape.size() < 2 || !data->type.getElementType().isF32())
      return false;
    bool isTransposed = node.op_type() == "ConvTranspose";
    if (isTransposed && (groups < 1 || own.shape[0] % groups))
      return false;
    size_t channels = isTransposed ? own.shape[1] * groups : own.shape[0];
    for (const SignatureEntry *part : parts)
      if (part && floats(part).size() != channels)
        return false;
    llvm::ArrayRef<float> folded(
        reinterpret_cast<const float *>(data->bytes.data.data()),
        data->bytes.data.size() / sizeof(float));
    double worst = 0, largest = 0;
    for (size_t i = 0; i < folded.size(); ++i) {
      double scale = factorAt(channelOf(i, own.shape));
      worst = std::max(worst, std::abs(floats(weight)[i] * scale - folded[i]));
      largest = std::max(largest, std::abs(double(folded[i])));
    }
    return worst <= 1e-4 * largest && isBiasWhatWasFolded(channels);
  }

  /// Compares with (bias - mean) * scale + shift; a missing part counts as 0.
  bool isBiasWhatWasFolded(size_t channels) {
    std::vector<float> folded(channels, 0);
    if (node.input_size() > 2 && !node.input(2).empty()) {
      auto original = r.tensors.find(node.input(2));
      std::optional<TensorData> data;
      if (original != r.tensors.end())
        data = r.read(*original->second);
      if (!data || data->bytes.data.size() != channels * sizeof(float))
        return false;
      std::memcpy(folded.data(), data->bytes.data.data(),
                  data->bytes.data.size());
    }
    if (bias && floats(bias).size() != channels)
      return false;
    double worst = 0, largest = 1e-2;
    for (size_t c = 0; c < channels; ++c) {
      double before = bias ? floats(bias)[c] : 0;
      double value =
          (before - partAt(kMean, c)) * factorAt(c) + partAt(kShift, c);
      worst = std::max(worst, std::abs(value - folded[c]));
      largest = std::max(largest, std::abs(value));
    }
    return worst <= 1e-4 * largest;
  }

  Restoration &r;
  int index;
  const NodeProto &node;
  /// By Part; null if the module has no such part.
  std::vector<const SignatureEntry *> parts;
  const SignatureEntry *weight = nullptr, *bias = nullptr;
  double momentum = 0, epsilon = 0;
  int64_t groups = 1;
};

} // namespace

bool unfoldBatchNorms(Restoration &restoration) {
  for (int i = 0; i < restoration.graph.node_size(); ++i)
    if (restoration.live[i] && hasFoldedBatchNorm(restoration.graph.node(i)) &&
        !BatchNormUnfolder(restoration, i).run())
      return false;
  return true;
}

} // namespace sinter::compiler
