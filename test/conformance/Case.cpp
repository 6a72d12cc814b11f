//===- Case.cpp - one test of the ONNX backend suite ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/conformance/Case.h"
#include "test/conformance/DataSet.h"

#include "compiler/base/Text.h"
#include "compiler/import/onnx/Import.h"
#include "compiler/import/onnx/TensorReader.h"
#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <cmath>

using namespace mlir;
using namespace sinter::compiler;

namespace sinter::conformance {

namespace {

/// ONNX's tolerances for a backend.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool isClose(double actual, double expected, double relative) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) == std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual))
    return expected == actual;
  return std::abs(actual - expected) <=
         kAbsolute + relative * std::abs(expected);
}

/// The first difference; nothing if there is none.
std::optional<std::string> compare(const ir::Tensor &actual,
                                   const ir::Tensor &expected) {
  if (actual.type() != expected.type())
    return "is " + textOf(actual.type()) + " instead of " +
           textOf(expected.type());
  // Results of 16-bit types are compared in their own precision.
  Type element = actual.type().getElementType();
  double relative = element.isBF16() ? 1e-2 : kRelative;
  for (int64_t i = 0; i < actual.size(); ++i) {
    bool isEqual = actual.isFloat()
                       ? isClose(actual.floats[i], expected.floats[i], relative)
                       : actual.ints[i] == expected.ints[i];
    if (!isEqual)
      return "element " + std::to_string(i) + " is " +
             (actual.isFloat() ? std::to_string(actual.floats[i])
                               : std::to_string(actual.ints[i])) +
             " instead of " +
             (expected.isFloat() ? std::to_string(expected.floats[i])
                                 : std::to_string(expected.ints[i]));
  }
  return std::nullopt;
}

/// Whether @main returns the result of the index checks.
bool hasIndexChecks(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (main.getResultAttr(i, ir::SinterDialect::kIndexChecksAttr))
      return true;
  return false;
}

/// Whether `found`, rows of position + 1 and index, contains no index.
bool findsNone(const ir::Tensor &found) {
  for (size_t i = 0; i < found.ints.size(); i += 2)
    if (found.ints[i] != 0)
      return false;
  return true;
}

class Case {
public:
  Case(const std::string &folder, const RunFn &run)
      : folder_(folder), run_(run) {}

  Result run() {
    ImportErrors errors;
    model_ = loadOnnxFile(folder_ + "/model.onnx", errors);
    if (!model_)
      return failed(errors.lines().front());
    signature_ = onnxInputs(*model_);
    std::vector<DataSet> sets = readDataSets(folder_);
    if (sets.empty())
      return failed("there is no data");
    Outcome outcome = Outcome::Passed;
    for (const DataSet &files : sets) {
      Result result = runSet(files);
      if (result.outcome == Outcome::Failed)
        return result;
      if (result.outcome == Outcome::PassedBound)
        outcome = Outcome::PassedBound;
    }
    return {outcome, ""};
  }

private:
  Result failed(std::string why) { return {Outcome::Failed, std::move(why)}; }

  /// The import's errors without the file's name.
  std::string shortText(const ImportErrors &errors) {
    llvm::StringRef line = errors.lines().front();
    line.consume_front(folder_ + "/model.onnx: ");
    return line.str();
  }

  Result runSet(const DataSet &files) {
    ImportErrors errors;
    ImportOptions options;
    MLIRContext context(MLIRContext::Threading::DISABLED);
    // An error of the model says more than that its data is not a tensor.
    OwningOpRef<ModuleOp> module;
    std::vector<ir::Tensor> inputs;
    std::string why;
    bool areTensors = signature_.size() == files.inputs.size();
    for (size_t i = 0; areTensors && i < files.inputs.size(); ++i) {
      std::optional<ir::Tensor> tensor =
          parseTensor(*model_, files.inputs[i], &context, why);
      areTensors = tensor.has_value();
      if (!tensor)
        break;
      if (signature_[i].dims)
        for (const OnnxInput::Dim &dim : *signature_[i].dims)
          if (!dim.size)
            options.shapes[signature_[i].name].assign(tensor->shape().begin(),
                                                      tensor->shape().end());
      readAsBfloat16(*tensor, elementTypeOf(signature_[i].dataType, &context));
      inputs.push_back(std::move(*tensor));
    }
    module = importOnnx(model_, options, &context, errors);
    bool isBound = false;
    if (!module && areTensors &&
        errors.lines().front().find("known at compile time") !=
            std::string::npos) {
      isBound = true;
      errors = {};
      module = importBound(inputs, options, &context, errors);
    }
    if (!module)
      return failed(shortText(errors));
    if (!areTensors)
      return failed("its data cannot be read: " + why);

    std::vector<ir::Tensor> fed;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!options.constantInputs.contains(signature_[i].name))
        fed.push_back(inputs[i]);
    const bool checksIndices = hasIndexChecks(*module);
    std::optional<std::vector<ir::Tensor>> outputs = run_(*module, fed, why);
    if (!outputs)
      return failed("cannot run: " + why);
    // The evaluator returns what the checks found as an additional result.
    if (checksIndices && outputs->size() == files.outputs.size() + 1) {
      if (!findsNone(outputs->back()))
        return failed("an index in range is said to be out of it");
      outputs->pop_back();
    }
    if (outputs->size() != files.outputs.size())
      return failed("has " + std::to_string(outputs->size()) +
                    " outputs instead of " +
                    std::to_string(files.outputs.size()));
    for (size_t i = 0; i < outputs->size(); ++i) {
      std::optional<ir::Tensor> expected =
          parseTensor(*model_, files.outputs[i], &context, why);
      if (!expected)
        return failed("its data cannot be read: " + why);
      readAsBfloat16(*expected, (*outputs)[i].type().getElementType());
      if (std::optional<std::string> difference =
              compare((*outputs)[i], *expected))
        return failed("output " + std::to_string(i) + " " + *difference);
    }
    return {isBound ? Outcome::PassedBound : Outcome::Passed, ""};
  }

  /// Imports with as few inputs bound as necessary: shapes, axes, scales and
  /// conditions; never a tensor of data.
  OwningOpRef<ModuleOp> importBound(const std::vector<ir::Tensor> &inputs,
                                    ImportOptions &options,
                                    MLIRContext *context,
                                    ImportErrors &errors) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].isFloat() || inputs[i].rank() <= 1)
        options.constantInputs[signature_[i].name] = inputs[i];
    OwningOpRef<ModuleOp> module = importOnnx(model_, options, context, errors);
    for (size_t i = 0; module && i < inputs.size(); ++i) {
      ImportOptions fewer = options;
      ImportErrors ignored;
      if (!fewer.constantInputs.erase(signature_[i].name))
        continue;
      if (OwningOpRef<ModuleOp> without =
              importOnnx(model_, fewer, context, ignored)) {
        options = std::move(fewer);
        module = std::move(without);
      }
    }
    return module;
  }

  std::string folder_;
  const RunFn &run_;
  std::shared_ptr<const OnnxModel> model_;
  std::vector<OnnxInput> signature_;
};

} // namespace

Result runCase(const std::string &folder, const RunFn &run) {
  return Case(folder, run).run();
}

} // namespace sinter::conformance
