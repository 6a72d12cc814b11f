//===- RestoreRecurrent.cpp - packed weights of recurrent layers ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Restoration.h"

#include <cstring>

using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace sinter::compiler {
namespace {

/// Block j of ONNX's weights is block order[j] of PyTorch's: iofc from ifgo,
/// zrh from rzn.
llvm::ArrayRef<int> gateOrder(const NodeProto &node) {
  static const int lstm[] = {0, 3, 1, 2}, gru[] = {1, 0, 2}, rnn[] = {0};
  if (node.op_type() == "LSTM")
    return lstm;
  if (node.op_type() == "GRU")
    return gru;
  return rnn;
}

class LayerRestorer {
public:
  LayerRestorer(Restoration &restoration, const RecurrentLayer &layer)
      : r(restoration), layer(layer),
        order(gateOrder(r.graph.node(layer.node))) {}

  bool run() {
    const NodeProto &node = r.graph.node(layer.node);
    for (int input : {1, 2, 3})
      if (input < node.input_size() && !node.input(input).empty() &&
          !restore(input, *r.tensors[node.input(input)]))
        return false;
    return true;
  }

private:
  /// `packed` holds the weights of all directions, with biases side by side.
  bool restore(int input, const TensorProto &packed) {
    std::optional<TensorData> data = r.read(packed);
    if (!data)
      return false;
    bool isBias = input == 3;
    int64_t directions = layer.weights.size() / layer.perDirection;
    Shape shape(data->type.getShape());
    int64_t blocks = int64_t(order.size()) * (isBias ? 2 : 1);
    if (shape.size() != (isBias ? 2 : 3) || shape[0] != directions ||
        shape[1] % blocks)
      return r.invalid(r.where(layer.node) + ": input " +
                       quoted(packed.name()) + " has the shape " +
                       shownShape(shape));
    int32_t type = dataTypeOf(data->type.getElementType());
    size_t bytes = data->bytes.data.size() / directions;
    Shape own(shape.begin() + 1, shape.end());
    own[0] /= isBias ? 2 : 1;
    Shape single(shape);
    single[0] = 1;
    std::vector<std::string> parts;
    for (int64_t d = 0; d < directions; ++d) {
      llvm::ArrayRef<char> mine = data->bytes.data.slice(d * bytes, bytes);
      const SignatureEntry *const *weights =
          &layer.weights[d * layer.perDirection];
      std::vector<std::string> values;
      for (int i :
           isBias ? std::vector<int>{2, 3} : std::vector<int>{input - 1}) {
        size_t size = bytes / (isBias ? 2 : 1);
        if (!addWeights(*weights[i], mine.take_front(size), own, type))
          return false;
        mine = mine.drop_front(size);
        values.push_back(ordered(*weights[i]));
      }
      std::string base = weights[isBias ? 2 : input - 1]->target;
      parts.push_back(r.edit.reshape(r.edit.concat(values, base + "/both"),
                                     single, base + "/packed"));
    }
    r.edit.setInput(layer.node, input,
                    r.edit.concat(parts, parts.front() + "/directions"));
    return true;
  }

  /// Makes `entry` an initializer, from its blocks in ONNX's order.
  bool addWeights(const SignatureEntry &entry, llvm::ArrayRef<char> bytes,
                  Ints shape, int32_t type) {
    auto [place, isNew] =
        r.initializers.try_emplace(entry.placeholder, nullptr);
    if (!isNew || (place->second = r.ownTensor(entry)))
      return true;
    if (!r.checkFree(entry))
      return false;
    std::string own(bytes.size(), '\0');
    size_t block = bytes.size() / order.size();
    for (size_t j = 0; j < order.size(); ++j)
      std::memcpy(&own[order[j] * block], &bytes[j * block], block);
    place->second =
        &r.edit.addTensor(entry.target, shape, type, std::move(own));
    return true;
  }

  /// The value of `entry` with its blocks in ONNX's order.
  std::string ordered(const SignatureEntry &entry) {
    if (order.size() == 1)
      return entry.target;
    std::vector<std::string> blocks =
        r.edit.split(entry.target, order.size(), entry.target + "/gates");
    std::vector<std::string> values;
    for (int i : order)
      values.push_back(blocks[i]);
    return r.edit.concat(values, entry.target + "/ordered");
  }

  Restoration &r;
  const RecurrentLayer &layer;
  llvm::ArrayRef<int> order;
};

} // namespace

bool restoreLayers(Restoration &restoration) {
  for (const RecurrentLayer &layer : restoration.found.layers)
    if (!LayerRestorer(restoration, layer).run())
      return false;
  return true;
}

} // namespace sinter::compiler
