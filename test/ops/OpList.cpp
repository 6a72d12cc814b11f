//===- OpList.cpp - every op as cases that tests share --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ops/OpList.h"

#include <cmath>

using namespace mlir;

namespace sinter::test {

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

RankedTensorType operandType(const Operand &operand, Type floatType) {
  MLIRContext *context = floatType.getContext();
  Type element = floatType;
  switch (operand.element) {
  case Element::Float:
    break;
  case Element::I1:
    element = IntegerType::get(context, 1);
    break;
  case Element::I8:
    element = IntegerType::get(context, 8);
    break;
  case Element::I32:
    element = IntegerType::get(context, 32);
    break;
  case Element::I64:
    element = IntegerType::get(context, 64);
    break;
  case Element::UI8:
    element = IntegerType::get(context, 8, IntegerType::Unsigned);
    break;
  }
  return RankedTensorType::get(operand.shape, element);
}

std::vector<OpCase> allCases() {
  std::vector<OpCase> cases;
  addElementwiseCases(cases);
  addLinearCases(cases);
  addReduceCases(cases);
  addShapeCases(cases);
  addGatherCases(cases);
  addNormCases(cases);
  addControlCases(cases);
  return cases;
}

OwningOpRef<ModuleOp> buildModule(const OpCase &opCase, Type floatType) {
  MLIRContext *context = floatType.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, opCase.name));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Type> inputs;
  for (const Operand &operand : opCase.operands)
    inputs.push_back(operandType(operand, floatType));
  auto function = builder.create<func::FuncOp>(
      loc, "main", builder.getFunctionType(inputs, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  passes::ValueBuilder values(builder, loc);
  SmallVector<Value> results = opCase.build(values, body->getArguments());
  builder.create<func::ReturnOp>(loc, results);
  function.setType(
      builder.getFunctionType(inputs, TypeRange(ValueRange(results))));
  for (auto [i, input] : llvm::enumerate(inputs))
    function.setArgAttr(i, ir::SinterDialect::kInputAttr,
                        builder.getStringAttr("x" + std::to_string(i)));
  for (size_t i = 0; i < results.size(); ++i)
    function.setResultAttr(i, ir::SinterDialect::kOutputAttr,
                           builder.getStringAttr("y" + std::to_string(i)));
  return module;
}

namespace {

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  /// Uniform in [0, 1).
  double next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

private:
  uint64_t state;
};

} // namespace

std::vector<ir::Tensor> drawInputs(const OpCase &opCase, Type floatType,
                                   uint64_t seed) {
  Random random(seed);
  std::vector<ir::Tensor> inputs;
  for (const Operand &operand : opCase.operands) {
    ir::Tensor tensor(operandType(operand, floatType));
    double range = operand.high - operand.low;
    for (double &value : tensor.floats)
      value = operand.low + range * random.next();
    for (int64_t &value : tensor.ints)
      value =
          static_cast<int64_t>(std::floor(operand.low + range * random.next()));
    tensor.roundToStorage();
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

} // namespace sinter::test
