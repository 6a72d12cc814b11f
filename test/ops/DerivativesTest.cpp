//===- DerivativesTest.cpp - values and gradients at special points -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Checks the table that make_derivatives.py made with PyTorch: operators, and
// functions as PyTorch's exporters write them, at ties, bounds, signed zeros,
// subnormals, large numbers, infinities and NaN. Each case is imported,
// simplified as before training and differentiated, then evaluated in float64
// and compiled in float32.
//
//===----------------------------------------------------------------------===//
#include "compiler/Phases.h"
#include "compiler/driver/Driver.h"
#include "compiler/import/onnx/Import.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/TensorReader.h"
#include "test/ops/DerivativeLists.h"
#include "test/ops/OpBundle.h"
#include "test/ops/OpFixture.h"
#include "tools/lib/Targets.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <catch2/catch.hpp>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

const char *const kFiles[] = {SINTER_DERIVATIVES "operators.onnx",
                              SINTER_DERIVATIVES "exported.onnx"};
// The cotangent that make_derivatives.py uses, repeated.
constexpr double kCotangent[] = {1.0, -2.0, 0.5, 3.0};
// Cases that are compiled together.
constexpr size_t kCasesPerModule = 24;

/// Allowed error relative to the largest number of a row: constants of the
/// graphs are float32, and PyTorch's numbers are rounded too.
constexpr double kOfLargest = 0x1p-18;
/// The same for operands near 1, relative to what cancels there, times a
/// cotangent.
constexpr double kEvaluated = 1e-9, kCompiled = 0x1p-20;
/// Float32 has no exponentials below its normal numbers.
constexpr double kTiny = 0x1p-119;

struct TableCase {
  std::string name;
  std::vector<std::string> operators;
  std::shared_ptr<compiler::OnnxModel> model; // this case alone
  std::map<std::string, Tensor> numbers;      // "x0", "y", "d032" ..
};

/// The cases of a file, in order.
std::vector<TableCase> readTable(const char *path, MLIRContext *context) {
  compiler::ImportErrors errors;
  std::shared_ptr<compiler::OnnxModel> whole =
      compiler::loadOnnxFile(path, errors);
  REQUIRE(whole);
  const ::onnx::GraphProto &graph = whole->proto().graph();
  std::vector<TableCase> cases;
  for (const ::onnx::ValueInfoProto &output : graph.output()) {
    TableCase &entry = cases.emplace_back();
    entry.name = StringRef(output.name()).rsplit('/').first.str();
    ::onnx::ModelProto own = whole->proto();
    own.mutable_graph()->Clear();
    own.mutable_graph()->set_name(entry.name);
    auto isOwn = [&](StringRef name) {
      return name.starts_with(entry.name + "/");
    };
    for (const ::onnx::NodeProto &node : graph.node())
      if (isOwn(node.name())) {
        *own.mutable_graph()->add_node() = node;
        entry.operators.push_back(node.op_type());
      }
    for (const ::onnx::ValueInfoProto &input : graph.input())
      if (isOwn(input.name()))
        *own.mutable_graph()->add_input() = input;
    *own.mutable_graph()->add_output() = output;
    for (const ::onnx::TensorProto &tensor : graph.initializer()) {
      if (isOwn(tensor.name()))
        *own.mutable_graph()->add_initializer() = tensor;
      auto [name, key] = StringRef(tensor.name()).split('#');
      if (name != entry.name || key.empty())
        continue;
      std::string why;
      compiler::ReadFailure failure;
      auto data = compiler::readTensor(*whole, tensor, context, why, failure);
      REQUIRE(data);
      entry.numbers.emplace(
          key.str(), Tensor::fromBytes(data->type, data->bytes.data.data()));
    }
    std::string bytes = own.SerializeAsString();
    entry.model = compiler::loadOnnxBytes({bytes.data(), bytes.size()},
                                          entry.name, errors);
    REQUIRE(entry.model);
  }
  return cases;
}

/// The input of the train phase: imported and simplified.
OwningOpRef<ModuleOp> importCase(const TableCase &entry, MLIRContext *context) {
  compiler::ImportErrors errors;
  compiler::ImportOptions importOptions;
  importOptions.train = true;
  OwningOpRef<ModuleOp> module =
      compiler::importOnnx(entry.model, importOptions, context, errors);
  if (!module)
    FAIL(entry.name << ": " << llvm::join(errors.lines(), "; "));
  compiler::Options options;
  options.train.enabled = true;
  options.targets = {"cpu"};
  auto target = compiler::createTarget(options, compiler::CompileState(options),
                                       tools::targets());
  compiler::PhaseContext phases{options, *target};
  PassManager passes(context);
  compiler::findPhase("simplify")->build(passes, phases);
  REQUIRE(succeeded(passes.run(*module)));
  return module;
}

bool isClose(double value, double expected, double allowed) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(expected) ? std::isnan(value) : value == expected;
  return std::fabs(value - expected) <= allowed;
}

/// The elements of `x` in the row, of `size`, of element `i`.
ArrayRef<double> rowOf(const Tensor &x, int64_t i, int64_t size) {
  return ArrayRef<double>(x.floats).slice(i / size * size, size);
}

/// A line for each number that differs from PyTorch's in float64 and, for
/// compiled code, also in float32. If PyTorch's gradient or an operand is NaN,
/// the gradient may be anything.
std::string difference(const TableCase &entry, const std::string &key,
                       const Tensor &found, bool isCompiled) {
  const Tensor &wide = entry.numbers.at(key);
  auto narrow = entry.numbers.find(key + "32");
  int64_t size = wide.rank() ? std::max<int64_t>(wide.shape().back(), 1) : 1;
  std::string text;
  for (int64_t i = 0; i < wide.size(); ++i) {
    double value = found.floats[i], expected = wide.floats[i], largest = 0;
    for (double number : rowOf(wide, i, size))
      if (std::isfinite(number))
        largest = std::max(largest, std::fabs(number));
    bool isNearOne = false, isNan = std::isnan(expected);
    std::string operands;
    for (const auto &[name, x] : entry.numbers)
      if (name[0] == 'x' && x.size() == wide.size())
        for (double number : rowOf(x, i, size)) {
          double magnitude = std::fabs(number);
          isNearOne |= magnitude >= 1e-3 && magnitude <= 1e5;
          isNan |= std::isnan(number);
          operands += llvm::formatv(" {0:e8}", number).str();
        }
    if (key != "y" && isNan)
      continue;
    double cancelled = isCompiled ? kCompiled : kEvaluated;
    double allowed = largest * kOfLargest + (isNearOne ? cancelled : 0) + kTiny;
    if (isCompiled)
      expected = static_cast<float>(expected);
    if (isClose(value, expected, allowed) ||
        (isCompiled && narrow != entry.numbers.end() &&
         isClose(value, narrow->second.floats[i], allowed)))
      continue;
    text += llvm::formatv("{0} {1} {2}[{3}]: {4:e8} instead of {5:e8} of{6}\n",
                          entry.name, isCompiled ? "compiled" : "evaluated",
                          key, i, value, expected, operands)
                .str();
  }
  return text;
}

/// The same without excused lines; an excuse that is not needed is an error.
std::string unexcused(const TableCase &entry, const std::string &key,
                      const Tensor &found, bool isCompiled) {
  std::string text = difference(entry, key, found, isCompiled);
  for (const DerivativeReason &row : derivativeReasons())
    if (row.name == entry.name && row.key == key)
      return text.empty() && row.isEverywhere
                 ? entry.name + " " + key + " needs no excuse\n"
                 : "";
  return text;
}

/// The functions of a case, each a part of `bundle`.
void addParts(OpBundle &bundle, const TableCase &entry, MLIRContext *context) {
  INFO(entry.name);
  OwningOpRef<ModuleOp> module = importCase(entry, context);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  Type f32 = Float32Type::get(context);
  std::vector<Tensor> inputs;
  SmallVector<unsigned> wrt;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    inputs.push_back(entry.numbers.at("x" + std::to_string(i)));
    wrt.push_back(i);
  }
  REQUIRE(bundle.add("the value of " + entry.name, main, inputs,
                     ir::Rounding::none));
  func::FuncOp grad = makeScalarLoss(main, "grad", f32);
  Tensor cotangent(
      cast<RankedTensorType>(grad.getArgumentTypes()[inputs.size()]));
  for (int64_t i = 0; i < cotangent.size(); ++i)
    cotangent.floats[i] = kCotangent[i % 4];
  inputs.push_back(std::move(cotangent));
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, wrt, isNull)));
  REQUIRE(bundle.add("the gradient of " + entry.name, grad, std::move(inputs),
                     ir::Rounding::none));
}

} // namespace

/// A line for each of `cases` that differs from PyTorch.
static std::string check(ArrayRef<TableCase> cases, MLIRContext *context,
                         std::optional<unsigned> optLevel) {
  OpBundle bundle(context, "native", optLevel);
  for (const TableCase &entry : cases)
    addParts(bundle, entry, context);
  std::string text;
  for (const std::string &failure : bundle.run())
    text += failure + "\n";
  for (auto [i, entry] : llvm::enumerate(cases))
    for (bool isCompiled : {false, true}) {
      const BundlePart &value = bundle.parts[2 * i],
                       &grad = bundle.parts[2 * i + 1];
      const auto &values = isCompiled ? value.compiled : value.reference;
      const auto &grads = isCompiled ? grad.compiled : grad.reference;
      if (!values.empty())
        text += unexcused(entry, "y", values[0], isCompiled);
      for (size_t k = 0; k < grads.size(); ++k)
        text += unexcused(entry, "d" + std::to_string(k), grads[k], isCompiled);
    }
  return text;
}

TEST_CASE("values and gradients are PyTorch's", "[derivatives]") {
  for (const char *file : kFiles) {
    TestContext context;
    std::vector<TableCase> cases = readTable(file, context.get());
    REQUIRE(cases.size() > kCasesPerModule);
    for (size_t first = 0; first < cases.size(); first += kCasesPerModule) {
      size_t count = std::min(kCasesPerModule, cases.size() - first);
      auto some = ArrayRef<TableCase>(cases).slice(first, count);
      CHECK(check(some, context.get(), {}) == "");
      CHECK(check(some, context.get(), 0) == "");
    }
  }
}

TEST_CASE("every operator of ONNX is in the table or says why not",
          "[derivatives]") {
  TestContext context;
  llvm::StringSet<> covered, excused;
  for (const TableCase &entry : readTable(kFiles[0], context.get()))
    covered.insert(entry.operators.begin(), entry.operators.end());
  for (const OperatorReason &row : operatorsWithoutRows())
    for (StringRef name : llvm::split(row.operators, ' '))
      excused.insert(name);
  llvm::StringSet<> known;
  compiler::Registry().forEach(
      [&](StringRef domain, const compiler::OpRow &row) {
        if (!domain.empty())
          return;
        known.insert(row.name);
        INFO(row.name.str());
        CHECK((covered.contains(row.name) || excused.contains(row.name)));
      });
  for (const auto &name : excused) {
    INFO(name.getKey().str());
    CHECK(known.contains(name.getKey()));
  }
}
