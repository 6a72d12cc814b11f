//===- RestoreFolded.cpp - what an exporter folded, by its parameters -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A file of the module's weights tells what the model does not: which constant
// is made of which parameter. Only what moves elements is undone, by comparing
// them, and BatchNormalizations, by computing again what the exporter did.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/Restoration.h"
#include "compiler/import/onnx/Text.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {
namespace {

using Kind = ParameterUse::Kind;
using FileTensor = ParameterFile::Tensor;

//===----------------------------------------------------------------------===//
// Batch normalisations
//===----------------------------------------------------------------------===//

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
                       " do not give those that it was folded into");
    for (const SignatureEntry *entry : parts)
      r.addFromFile(*entry);
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
                             {before, parts[0]->target, parts[1]->target,
                              parts[2]->target, parts[3]->target},
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
  /// False where the call or the file lacks something.
  bool findParts() {
    std::optional<FxCall> call = readFxCall(node);
    llvm::StringRef op = node.op_type();
    if (!call || call->target.find("batch_norm") == std::string::npos ||
        !(op == "Conv" || op == "ConvTranspose" || op == "Gemm") ||
        node.input_size() < 2)
      return false;
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
      if (!entry || !isFloat(entry))
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

  /// Folds once more and compares.
  bool isWhatWasFolded() {
    auto original = r.tensors.find(node.input(1));
    if (original == r.tensors.end())
      return false;
    std::optional<TensorData> data = r.read(*original->second);
    const FileTensor &own = *r.parameters->find(weight->target);
    if (!data || llvm::ArrayRef<int64_t>(own.shape) != data->type.getShape() ||
        own.shape.size() < 2 || !data->type.getElementType().isF32())
      return false;
    size_t axis = node.op_type() == "ConvTranspose" ? 1 : 0;
    size_t channels = floats(parts[0]).size();
    if (size_t(own.shape[axis]) != channels)
      return false;
    for (const SignatureEntry *part : parts)
      if (floats(part).size() != channels)
        return false;
    size_t inner = 1;
    for (size_t i = axis + 1; i < own.shape.size(); ++i)
      inner *= own.shape[i];
    llvm::ArrayRef<float> folded(
        reinterpret_cast<const float *>(data->bytes.data.data()),
        data->bytes.data.size() / sizeof(float));
    double worst = 0, largest = 0;
    for (size_t i = 0; i < folded.size(); ++i) {
      size_t c = i / inner % channels;
      double scale = floats(parts[0])[c] /
                     std::sqrt(double(floats(parts[3])[c]) + epsilon);
      worst = std::max(worst, std::abs(floats(weight)[i] * scale - folded[i]));
      largest = std::max(largest, std::abs(double(folded[i])));
    }
    return worst <= 1e-4 * largest && isBiasWhatWasFolded(channels);
  }

  /// (bias - mean) * scale + shift, of zeros where there is none.
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
    double worst = 0, largest = 1e-2;
    for (size_t c = 0; c < channels; ++c) {
      double scale = floats(parts[0])[c] /
                     std::sqrt(double(floats(parts[3])[c]) + epsilon);
      double before = bias ? floats(bias)[c] : 0;
      double value =
          (before - floats(parts[2])[c]) * scale + floats(parts[1])[c];
      worst = std::max(worst, std::abs(value - folded[c]));
      largest = std::max(largest, std::abs(value));
    }
    return worst <= 1e-4 * largest;
  }

  Restoration &r;
  int index;
  const NodeProto &node;
  std::vector<const SignatureEntry *> parts; // scale, bias, mean, variance
  const SignatureEntry *weight = nullptr, *bias = nullptr;
  double momentum = 0, epsilon = 0;
};

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// How a constant is made of a parameter's elements.
struct Way {
  enum class Kind { Reshape, Expand, Transpose, Rows, Elements } kind;
  std::vector<int64_t> indices; // of Rows and Elements
};

/// The elements of one tensor as bits.
class Elements {
public:
  Elements(llvm::ArrayRef<char> bytes, int64_t width)
      : bytes(bytes), width(width) {}
  size_t size() const { return bytes.size() / width; }
  llvm::StringRef at(size_t i, size_t count = 1) const {
    return {bytes.data() + i * width, count * width};
  }
  bool areEqual() const {
    for (size_t i = 1; i < size(); ++i)
      if (at(i) != at(0))
        return false;
    return true;
  }

private:
  llvm::ArrayRef<char> bytes;
  int64_t width;
};

bool isTransposed(const Elements &from, Ints shape, const Elements &to,
                  Ints toShape) {
  if (shape[0] != toShape[1] || shape[1] != toShape[0] || shape[0] == 1 ||
      shape[1] == 1)
    return false;
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t column = 0; column < shape[1]; ++column)
      if (from.at(row * shape[1] + column) != to.at(column * shape[0] + row))
        return false;
  return true;
}

bool isExpanded(const Elements &from, Ints shape, const Elements &to,
                Ints toShape) {
  if (shape.size() > toShape.size())
    return false;
  size_t offset = toShape.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && shape[i] != toShape[offset + i])
      return false;
  for (size_t i = 0; i < to.size(); ++i) {
    size_t rest = i, source = 0, stride = 1;
    for (size_t dim = toShape.size(); dim-- > 0;) {
      size_t coordinate = rest % toShape[dim];
      rest /= toShape[dim];
      if (dim < offset)
        continue;
      source += shape[dim - offset] == 1 ? 0 : coordinate * stride;
      stride *= shape[dim - offset];
    }
    if (from.at(source) != to.at(i))
      return false;
  }
  return true;
}

/// The pieces of `size` elements of `from` that those of `to` are; nothing
/// where one is not there, or more than once.
std::optional<std::vector<int64_t>>
findPieces(const Elements &from, const Elements &to, size_t size) {
  llvm::StringMap<int64_t> places;
  for (size_t i = 0; i + size <= from.size(); i += size)
    if (!places.try_emplace(from.at(i, size), i / size).second)
      places[from.at(i, size)] = -1;
  std::vector<int64_t> indices;
  for (size_t i = 0; i + size <= to.size(); i += size) {
    auto found = places.find(to.at(i, size));
    if (found == places.end() || found->second < 0)
      return std::nullopt;
    indices.push_back(found->second);
  }
  return indices;
}

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
    int32_t dataType;
    Shape shape;
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
    bool isLost; // in no initializer of its own
  };

  /// Parameters of the parameter file, and those that the model itself has.
  void findSources() {
    llvm::StringSet<> there = r.present();
    for (const SignatureEntry &entry : r.signature.entries()) {
      const FileTensor *given =
          r.parameters ? r.parameters->find(entry.target) : nullptr;
      if (given) {
        bool isLost = entry.isParameter() && !there.contains(entry.placeholder);
        sources.push_back({&entry, given->dataType, given->shape, given->bytes,
                           nullptr, isLost});
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
        sources.push_back({&entry, dataTypeOf(data->type.getElementType()),
                           Shape(data->type.getShape()), data->bytes.data,
                           data->bytes.owner, false});
    }
  }

  void restore(ParameterUse &use, const std::string &name,
               const TensorData &data) {
    struct Candidate {
      const SignatureEntry *entry;
      Way way;
    };
    std::vector<Candidate> candidates;
    for (const Source &source : sources)
      if (std::optional<Way> way = wayOf(source, data, use))
        candidates.push_back({source.entry, std::move(*way)});
    if (candidates.size() > 1) {
      // The module whose call reads the constant has the parameter.
      llvm::erase_if(candidates, [&](const Candidate &candidate) {
        return !isInModule(*candidate.entry, use.node);
      });
    }
    if (candidates.size() != 1 || !candidates.front().entry->isParameter())
      return;
    auto &[entry, way] = candidates.front();
    if (r.parameters && r.parameters->find(entry->target))
      r.addFromFile(*entry);
    else
      r.initializers[entry->placeholder] = r.ownTensor(*entry);
    std::string &value = values[{entry->placeholder, name}];
    if (value.empty())
      value = make(*entry, way, Shape(data.type.getShape()));
    r.edit.setInput(use.node, use.input, value);
    use.kind = Kind::Restored;
  }

  std::optional<Way> wayOf(const Source &from, const TensorData &to,
                           const ParameterUse &use) {
    int64_t width = ir::elementSizeBytes(to.type.getElementType());
    if (from.dataType != dataTypeOf(to.type.getElementType()) ||
        !isMoved(use.value))
      return std::nullopt;
    Elements source(from.bytes, width), target(to.bytes.data, width);
    if (!source.size() || !target.size())
      return std::nullopt;
    // Equal elements say nothing: the names of modules and calls have to.
    bool isPlain = source.areEqual();
    if (isPlain && (!from.isLost || !isInModule(*from.entry, use.node)))
      return std::nullopt;
    // Most constants are of no parameter.
    if (!isPlain && !contains(source, target.at(0), width))
      return std::nullopt;
    ArrayRef<int64_t> shape = to.type.getShape();
    bool isTurned = llvm::is_contained({"t", "transpose", "permute", "mT", "T"},
                                       operationOf(use.value));
    if (from.shape.size() == 2 && shape.size() == 2 &&
        isTransposed(source, from.shape, target, shape))
      return Way{Way::Kind::Transpose, {}};
    if (from.bytes == to.bytes.data && !isTurned)
      return Way{Way::Kind::Reshape, {}};
    if (isExpanded(source, from.shape, target, shape))
      return Way{Way::Kind::Expand, {}};
    if (isPlain)
      return std::nullopt;
    if (from.shape.size() == 2 && !shape.empty() &&
        shape.back() == from.shape[1])
      if (auto rows = findPieces(source, target, from.shape[1]))
        return Way{Way::Kind::Rows, std::move(*rows)};
    if (auto elements = findPieces(source, target, 1))
      return Way{Way::Kind::Elements, std::move(*elements)};
    return std::nullopt;
  }

  static bool contains(const Elements &elements, llvm::StringRef element,
                       int64_t width) {
    for (size_t i = 0; i < elements.size(); ++i)
      if (std::memcmp(elements.at(i).data(), element.data(), width) == 0)
        return true;
    return false;
  }

  /// Whether the call that `node` came from is of the module that has `entry`.
  bool isInModule(const SignatureEntry &entry, int node) {
    llvm::StringRef target = entry.target;
    size_t dot = target.rfind('.');
    return modulePath(r.graph.node(node)) ==
           (dot == llvm::StringRef::npos ? "" : target.take_front(dot));
  }

  std::string make(const SignatureEntry &entry, const Way &way, Ints shape) {
    switch (way.kind) {
    case Way::Kind::Reshape:
      return r.edit.reshape(entry.target, shape, entry.target + "/reshaped");
    case Way::Kind::Expand:
      return r.edit.expand(entry.target, shape, entry.target + "/expanded");
    case Way::Kind::Transpose:
      return r.edit.transpose(entry.target, {1, 0},
                              entry.target + "/transposed");
    case Way::Kind::Rows:
      return r.edit.gather(entry.target, way.indices, shape.drop_back(),
                           entry.target + "/rows");
    case Way::Kind::Elements:
      break;
    }
    std::string flat =
        r.edit.reshape(entry.target, {-1}, entry.target + "/flat");
    return r.edit.gather(flat, way.indices, shape, entry.target + "/elements");
  }

  /// A parameter that nothing names and whose values another one has is that
  /// one, under a second name.
  void findAliases() {
    // The exporter may have merged two equal modules that are not shared.
    if (!r.found.vanished.empty())
      return;
    for (const SignatureEntry *entry : lost) {
      if (r.initializers.contains(entry->placeholder) ||
          r.found.mentioned.contains(entry->placeholder))
        continue;
      const FileTensor &own = *r.parameters->find(entry->target);
      if (Elements(own.bytes, 1).areEqual())
        continue;
      for (const SignatureEntry &other : r.signature.entries()) {
        const FileTensor *tensor = r.parameters->find(other.target);
        if (!r.found.mentioned.contains(other.placeholder) || !tensor ||
            tensor->shape != own.shape || tensor->bytes != own.bytes)
          continue;
        r.found.aliases.push_back({entry, &other});
        break;
      }
    }
  }

  Restoration &r;
  std::vector<Source> sources;
  std::vector<const SignatureEntry *> lost;
  std::map<std::pair<std::string, std::string>, std::string> values;
};

} // namespace

bool unfoldBatchNorms(Restoration &restoration) {
  for (int i = 0; i < restoration.graph.node_size(); ++i)
    if (restoration.live[i] && hasFoldedBatchNorm(restoration.graph.node(i)) &&
        !BatchNormUnfolder(restoration, i).run())
      return false;
  return true;
}

bool unfoldConstants(Restoration &restoration) {
  return ConstantUnfolder(restoration).run();
}

} // namespace sinter::compiler
