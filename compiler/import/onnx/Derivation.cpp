//===- Derivation.cpp - how a constant comes from a parameter -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Derivation.h"
#include "compiler/import/onnx/ParameterUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>

using ::onnx::TensorProto;

namespace sinter::compiler {

//===----------------------------------------------------------------------===//
// Elements as bits
//===----------------------------------------------------------------------===//

int64_t TensorView::width() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count ? int64_t(bytes.size()) / count : 0;
}

namespace {

class Elements {
public:
  explicit Elements(const TensorView &tensor)
      : bytes_(tensor.bytes), width_(tensor.width()) {}
  size_t size() const { return width_ ? bytes_.size() / width_ : 0; }
  llvm::StringRef at(size_t i, size_t count = 1) const {
    return {bytes_.data() + i * width_, count * width_};
  }
  bool contains(llvm::StringRef element) const {
    for (size_t i = 0; i < size(); ++i)
      if (at(i) == element)
        return true;
    return false;
  }

private:
  llvm::ArrayRef<char> bytes_;
  int64_t width_;
};

} // namespace

bool TensorView::areEqual() const {
  Elements elements(*this);
  for (size_t i = 1; i < elements.size(); ++i)
    if (elements.at(i) != elements.at(0))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static bool isTransposed(const TensorView &from, const TensorView &to) {
  if (from.shape.size() != 2 || to.shape.size() != 2 ||
      from.shape[0] != to.shape[1] || from.shape[1] != to.shape[0] ||
      from.shape[0] == 1 || from.shape[1] == 1)
    return false;
  Elements source(from), target(to);
  for (int64_t row = 0; row < from.shape[0]; ++row)
    for (int64_t column = 0; column < from.shape[1]; ++column)
      if (source.at(row * from.shape[1] + column) !=
          target.at(column * from.shape[0] + row))
        return false;
  return true;
}

/// Broadcasts a tensor of `shape` to `wide` and calls `visit` with the indices
/// of each source and result element, until a call returns false. Returns false
/// then, and if the shapes do not broadcast.
template <typename Visit>
static bool visitExpanded(Ints shape, Ints wide, Visit visit) {
  if (shape.size() > wide.size())
    return false;
  size_t offset = wide.size() - shape.size(), count = 1;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && shape[i] != wide[offset + i])
      return false;
  for (int64_t size : wide)
    count *= size;
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i, source = 0, stride = 1;
    for (size_t dim = wide.size(); dim-- > 0;) {
      size_t coordinate = rest % wide[dim];
      rest /= wide[dim];
      if (dim < offset)
        continue;
      source += shape[dim - offset] == 1 ? 0 : coordinate * stride;
      stride *= shape[dim - offset];
    }
    if (!visit(source, i))
      return false;
  }
  return true;
}

static bool isExpanded(const TensorView &from, const TensorView &to) {
  Elements source(from), target(to);
  return visitExpanded(from.shape, to.shape, [&](size_t a, size_t b) {
    return source.at(a) == target.at(b);
  });
}

/// Splits both into pieces of `size` elements and returns, for each piece of
/// `to`, the index of the equal piece of `from`. Nothing if a piece has no
/// equal or several.
static std::optional<std::vector<int64_t>>
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

static bool isReordering(llvm::StringRef value) {
  // Exporters insert copies where elements were permuted.
  static const llvm::StringSet<> operations = {
      "clone",        "contiguous", "flip", "gather",     "index",
      "index_select", "roll",       "take", "unsafe_view"};
  return operations.contains(operationOf(value));
}

static std::optional<Derivation>
findMove(const TensorView &from, const TensorView &to, llvm::StringRef value) {
  using Move = Derivation::Move;
  Elements source(from), target(to);
  bool isPlain = from.areEqual();
  // If all elements are equal, their order is certain only for a vector, and
  // only if the last operation keeps the order.
  if (isPlain &&
      (llvm::count_if(from.shape, [](int64_t n) { return n != 1; }) > 1 ||
       isReordering(value)))
    return std::nullopt;
  // A quick check: most constants do not come from a parameter.
  if (!isPlain && !source.contains(target.at(0)))
    return std::nullopt;
  bool isTurned = llvm::is_contained({"t", "transpose", "permute", "mT", "T"},
                                     operationOf(value));
  auto move = [&](Move move, std::vector<int64_t> indices = {}) {
    return Derivation{nullptr, move, std::move(indices), isPlain};
  };
  if (isTransposed(from, to))
    return move(Move::Transpose);
  if (from.bytes == to.bytes && !isTurned)
    return move(Move::Reshape);
  if (isExpanded(from, to))
    return move(Move::Expand);
  if (isPlain)
    return std::nullopt;
  if (from.shape.size() == 2 && !to.shape.empty() &&
      to.shape.back() == from.shape[1])
    if (auto rows = findPieces(source, target, from.shape[1]))
      return move(Move::Rows, std::move(*rows));
  if (auto elements = findPieces(source, target, 1))
    return move(Move::Elements, std::move(*elements));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

struct ElementFunction {
  const char *operation; // the exporter's last operation
  double (*compute)(double);
  const char *ops[2]; // the nodes; an Add adds 1
};

static const ElementFunction kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, {"Exp"}},
    {"neg", [](double x) { return -x; }, {"Neg"}},
    {"neg", [](double x) { return -std::exp(x); }, {"Exp", "Neg"}},
    {"add", [](double x) { return 1 + x; }, {"Add"}},
    {"abs", [](double x) { return std::abs(x); }, {"Abs"}},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, {"Sigmoid"}},
    {"tanh", [](double x) { return std::tanh(x); }, {"Tanh"}},
    {"softplus",
     [](double x) { return std::log1p(std::exp(x)); },
     {"Softplus"}},
};

static double floatAt(const TensorView &tensor, size_t i) {
  float value;
  std::memcpy(&value, tensor.bytes.data() + i * sizeof(value), sizeof(value));
  return value;
}

/// Equal up to a few units in the last place of float32, by which kernels
/// differ.
static bool isNear(double value, double stored) {
  return std::abs(value - stored) <= 5e-7 * std::abs(stored);
}

static bool isComputed(const ElementFunction &function, const TensorView &from,
                       const TensorView &to, bool isSame) {
  auto compare = [&](size_t a, size_t b) {
    return isNear(function.compute(floatAt(from, a)), floatAt(to, b));
  };
  if (!isSame)
    return visitExpanded(from.shape, to.shape, compare);
  for (size_t i = 0; i < from.bytes.size() / sizeof(float); ++i)
    if (!compare(i, i))
      return false;
  return true;
}

/// With fewer distinct values, other functions may agree by chance: if w is all
/// zeros, exp(2 w) is exp(w).
static constexpr size_t kFewValues = 8;

static bool hasFewValues(const TensorView &tensor) {
  Elements elements(tensor);
  llvm::StringSet<> values;
  for (size_t i = 0; i < elements.size(); ++i)
    if (values.insert(elements.at(i)).second && values.size() >= kFewValues)
      return false;
  return true;
}

static std::optional<Derivation> findFunction(const TensorView &from,
                                              const TensorView &to,
                                              llvm::StringRef value) {
  if (from.dataType != TensorProto::FLOAT)
    return std::nullopt;
  std::optional<Derivation> found;
  bool isSame = from.bytes.size() == to.bytes.size();
  for (const ElementFunction &function : kFunctions) {
    // A move after the function hides the operation.
    if ((operationOf(value) != function.operation && !isMoved(value)) ||
        !isComputed(function, from, to, isSame))
      continue;
    if (found || hasFewValues(from))
      return std::nullopt;
    found = Derivation{&function,
                       isSame ? Derivation::Move::Reshape
                              : Derivation::Move::Expand,
                       {},
                       false};
  }
  return found;
}

std::optional<Derivation> findDerivation(const TensorView &parameter,
                                         const TensorView &constant,
                                         llvm::StringRef value) {
  if (parameter.dataType != constant.dataType || !parameter.width() ||
      !constant.width())
    return std::nullopt;
  if (isMoved(value))
    if (auto move = findMove(parameter, constant, value))
      return move;
  // A product with zeros gives its bias.
  if (isProduct(value)) {
    if (parameter.shape.size() == 1 && !parameter.areEqual() &&
        isExpanded(parameter, constant))
      return Derivation{nullptr, Derivation::Move::Expand, {}, false};
    return std::nullopt;
  }
  return findFunction(parameter, constant, value);
}

bool isProduct(llvm::StringRef value) {
  return operationOf(value) == "linear" || operationOf(value) == "addmm";
}

static std::string addScalar(GraphEdit &edit, float value,
                             const std::string &base) {
  std::string name = edit.freshName(base);
  edit.addTensor(
      name, {}, TensorProto::FLOAT,
      std::string(reinterpret_cast<const char *>(&value), sizeof(value)));
  return name;
}

static std::string addFunction(GraphEdit &edit, std::string value,
                               const ElementFunction &function,
                               const std::string &base) {
  for (llvm::StringRef op : function.ops) {
    if (op.empty())
      continue;
    std::vector<std::string> inputs = {value};
    if (op == "Add")
      inputs.push_back(addScalar(edit, 1, base + "/one"));
    value = edit.freshName(base + "/" + op.lower());
    edit.addNode(op.str(), inputs, value);
  }
  return value;
}

std::string addDerivation(GraphEdit &edit, const std::string &parameter,
                          const Derivation &derivation, Ints shape) {
  using Move = Derivation::Move;
  std::string value = parameter;
  if (derivation.function)
    value = addFunction(edit, value, *derivation.function, parameter);
  switch (derivation.move) {
  case Move::Reshape:
    return edit.reshape(value, shape, parameter + "/reshaped");
  case Move::Expand:
    return edit.expand(value, shape, parameter + "/expanded");
  case Move::Transpose:
    return edit.transpose(value, {1, 0}, parameter + "/transposed");
  case Move::Rows:
    return edit.gather(value, derivation.indices, shape.drop_back(),
                       parameter + "/rows");
  case Move::Elements:
    break;
  }
  std::string flat = edit.reshape(value, {-1}, parameter + "/flat");
  return edit.gather(flat, derivation.indices, shape, parameter + "/elements");
}

//===----------------------------------------------------------------------===//
// Normalized weights
//===----------------------------------------------------------------------===//

bool isNormalizedWeight(const TensorView &g, const TensorView &v,
                        const TensorView &constant) {
  if (g.dataType != TensorProto::FLOAT || v.dataType != g.dataType ||
      constant.dataType != g.dataType || !g.width() || !v.width() ||
      v.shape != constant.shape || g.shape.size() != v.shape.size() ||
      !llvm::is_contained(g.shape, 1))
    return false;
  std::vector<double> squares(g.bytes.size() / sizeof(float));
  if (!visitExpanded(g.shape, v.shape, [&](size_t norm, size_t i) {
        squares[norm] += floatAt(v, i) * floatAt(v, i);
        return true;
      }))
    return false;
  return visitExpanded(g.shape, v.shape, [&](size_t norm, size_t i) {
    double value = floatAt(g, norm) * floatAt(v, i) / std::sqrt(squares[norm]);
    // The exporter summed the squares in float32.
    return std::abs(value - floatAt(constant, i)) <= 1e-5 * std::abs(value);
  });
}

std::string addNormalizedWeight(GraphEdit &edit, const std::string &g,
                                Ints shapeOfG, const std::string &v) {
  std::string norm = edit.reduceL2(v, shapeOfG, v + "/norm");
  std::string scale = edit.freshName(g + "/scale"),
              weight = edit.freshName(v + "/normalized");
  edit.addNode("Div", {g, norm}, scale);
  edit.addNode("Mul", {v, scale}, weight);
  return weight;
}

} // namespace sinter::compiler
