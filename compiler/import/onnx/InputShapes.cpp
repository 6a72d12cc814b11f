//===- InputShapes.cpp - binding the open dimensions of inputs ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/InputShapes.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/TensorReader.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

using namespace mlir;

namespace sinter::compiler {

namespace {

class Binder {
public:
  Binder(const OnnxModel &model, const ImportOptions &options,
         MLIRContext *context, ImportErrors &errors)
      : model_(model), options_(options), context_(context), errors_(errors),
        inputs_(onnxInputs(model)), file_(shown(model.path(), 512)) {}

  std::optional<BoundInputs> run() {
    if (!checkKinds() || !checkOptionNames() || !bindFromOptions())
      return std::nullopt;
    for (const OnnxInput &input : inputs_)
      if (!bindInput(input))
        return std::nullopt;
    if (!open_.empty()) {
      reportOpen();
      return std::nullopt;
    }
    return std::move(bound_);
  }

private:
  bool invalid(const std::string &text) {
    errors_.invalid(file_ + ": " + text);
    return false;
  }

  /// Only tensors can be inputs of a program.
  bool checkKinds() {
    llvm::StringSet<> initializers;
    for (const auto &tensor : model_.proto().graph().initializer())
      initializers.insert(tensor.name());
    bool areTensors = true;
    for (const auto &info : model_.proto().graph().input()) {
      if (initializers.contains(info.name()) || info.type().has_tensor_type())
        continue;
      const char *kind = info.type().has_sequence_type()   ? "a sequence"
                         : info.type().has_optional_type() ? "an optional value"
                         : info.type().has_map_type()      ? "a map"
                         : info.type().has_sparse_tensor_type()
                             ? "a sparse tensor"
                             : nullptr;
      if (!kind)
        return invalid("input " + quoted(info.name()) + " has no type");
      errors_.unsupported(file_ + ": input " + quoted(info.name()) + " is " +
                          kind + ", which is not supported; only tensors are");
      areTensors = false;
    }
    return areTensors;
  }

  bool checkOptionNames() {
    llvm::StringSet<> names, symbols;
    for (const OnnxInput &input : inputs_) {
      names.insert(input.name);
      if (input.dims)
        for (const OnnxInput::Dim &dim : *input.dims)
          if (!dim.symbol.empty())
            symbols.insert(dim.symbol);
    }
    for (const auto &entry : options_.dims)
      if (!symbols.contains(entry.getKey()))
        return invalid("--dim=" + shown(entry.getKey()) +
                       ": no input has a dimension of that name" +
                       listed(symbols));
    for (const auto &entry : options_.shapes)
      if (!names.contains(entry.getKey()))
        return invalid("--shape=" + shown(entry.getKey()) +
                       ": the model has no input of that name" + listed(names));
    return true;
  }

  static std::string listed(const llvm::StringSet<> &names) {
    std::vector<std::string> sorted;
    for (const auto &entry : names)
      sorted.push_back(quoted(entry.getKey()));
    llvm::sort(sorted);
    std::string text;
    for (size_t i = 0; i < sorted.size() && i < 16; ++i)
      text += (i ? ", " : "; it has ") + sorted[i];
    return text;
  }

  bool bind(const std::string &symbol, int64_t size, const std::string &from) {
    if (size < 1)
      return invalid(from + ": the size " + std::to_string(size) +
                     " is not positive");
    auto [entry, isNew] = bound_.dims.try_emplace(symbol, size);
    if (!isNew && entry->second != size)
      return invalid(from + ": dimension " + quoted(symbol) +
                     " is bound to both " + std::to_string(entry->second) +
                     " and " + std::to_string(size));
    return true;
  }

  /// Binds every symbol for which an option gives the size.
  bool bindFromOptions() {
    for (const auto &entry : options_.dims)
      if (!bind(entry.getKey().str(), entry.getValue(),
                "--dim=" + shown(entry.getKey())))
        return false;
    if (options_.batch && *options_.batch < 1)
      return invalid("--batch=" + std::to_string(*options_.batch) +
                     ": the size is not positive");
    for (const OnnxInput &input : inputs_) {
      if (!input.dims || options_.constantInputs.contains(input.name))
        continue;
      auto shape = options_.shapes.find(input.name);
      if (shape != options_.shapes.end()) {
        if (!bindShape(input, shape->second))
          return false;
        continue;
      }
      if (options_.batch && !input.dims->empty() &&
          !input.dims->front().symbol.empty() &&
          !bind(input.dims->front().symbol, *options_.batch, "--batch"))
        return false;
    }
    return true;
  }

  bool bindShape(const OnnxInput &input, ArrayRef<int64_t> shape) {
    std::string option = "--shape=" + shown(input.name);
    if (shape.size() != input.dims->size())
      return invalid(option + ": the input has rank " +
                     std::to_string(input.dims->size()) + ", not " +
                     std::to_string(shape.size()));
    for (auto [dim, size] : llvm::zip_equal(*input.dims, shape)) {
      if (!dim.symbol.empty() && !bind(dim.symbol, size, option))
        return false;
      if (dim.size && *dim.size != size)
        return invalid(option + ": the input is declared with the fixed size " +
                       std::to_string(*dim.size) + ", not " +
                       std::to_string(size) +
                       " (--batch changes leading dimensions)");
    }
    if (options_.batch && !shape.empty() && shape.front() != *options_.batch)
      return invalid(option +
                     " contradicts --batch=" + std::to_string(*options_.batch));
    return true;
  }

  bool bindInput(const OnnxInput &input) {
    std::string where = "input " + quoted(input.name);
    Type element = elementTypeOf(input.dataType, context_);
    if (!element) {
      std::string text = file_ + ": " + where + " has the element type " +
                         dataTypeName(input.dataType);
      if (input.dataType == 0)
        errors_.invalid(text);
      else
        errors_.unsupported(text + ", which is not supported");
      return false;
    }
    auto constant = options_.constantInputs.find(input.name);
    if (constant != options_.constantInputs.end()) {
      RankedTensorType type = constant->second.type();
      if (type.getElementType() != element)
        return invalid(where + ": the value given has another element type");
      bound_.inputs.push_back({input.name, type});
      return true;
    }

    SmallVector<int64_t> shape;
    auto option = options_.shapes.find(input.name);
    if (option != options_.shapes.end()) {
      shape = option->second;
    } else if (!input.dims) {
      return invalid(where + " has no declared shape; give it with --shape=" +
                     shown(input.name) + "=...");
    } else {
      for (size_t i = 0; i < input.dims->size(); ++i)
        shape.push_back(sizeOf(input, i));
    }
    if (shape.size() > 32)
      return invalid(where + " has rank " + std::to_string(shape.size()) +
                     "; at most 32 is supported");
    int64_t bytes = 8;
    for (int64_t size : shape)
      if (size < 0 ||
          llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes) ||
          bytes > (int64_t(1) << 40))
        return invalid(where + " has the impossible shape " +
                       shownShape(shape));
    bound_.inputs.push_back(
        {input.name, RankedTensorType::get(shape, element)});
    return true;
  }

  /// The size of dimension `i`, or 1 after noting that it is open.
  int64_t sizeOf(const OnnxInput &input, size_t i) {
    const OnnxInput::Dim &dim = (*input.dims)[i];
    if (dim.size) {
      if (i == 0 && options_.batch && *dim.size != *options_.batch) {
        bound_.exportedBatch = *dim.size;
        return *options_.batch;
      }
      return *dim.size;
    }
    if (!dim.symbol.empty()) {
      auto known = bound_.dims.find(dim.symbol);
      if (known != bound_.dims.end())
        return known->second;
    } else if (i == 0 && options_.batch) {
      return *options_.batch;
    }
    open_.push_back({input.name, dim.symbol, i});
    return 1;
  }

  void reportOpen() {
    std::string text;
    bool onlyLeading = true, allNamed = true;
    llvm::StringSet<> seen;
    for (size_t i = 0; i < open_.size(); ++i) {
      const Open &open = open_[i];
      onlyLeading &= open.index == 0;
      allNamed &= !open.symbol.empty();
      if (!open.symbol.empty() && !seen.insert(open.symbol).second)
        continue;
      if (seen.size() > 16)
        continue;
      text += (text.empty() ? "" : ", ") +
              (open.symbol.empty() ? "dimension " + std::to_string(open.index)
                                   : quoted(open.symbol)) +
              " of input " + quoted(open.input);
    }
    std::string first = shown(open_.front().symbol, 32);
    std::string advice =
        onlyLeading ? "--batch=N"
        : allNamed  ? "--dim=" + first + "=N"
                    : "--shape=" + shown(open_.front().input, 32) + "=...";
    invalid("open dimensions: " + text + "; bind them, for example with " +
            advice);
  }

  struct Open {
    std::string input, symbol;
    size_t index;
  };

  const OnnxModel &model_;
  const ImportOptions &options_;
  MLIRContext *context_;
  ImportErrors &errors_;
  std::vector<OnnxInput> inputs_;
  std::string file_;
  BoundInputs bound_;
  std::vector<Open> open_;
};

} // namespace

std::optional<BoundInputs> bindInputs(const OnnxModel &model,
                                      const ImportOptions &options,
                                      MLIRContext *context,
                                      ImportErrors &errors) {
  return Binder(model, options, context, errors).run();
}

} // namespace sinter::compiler
