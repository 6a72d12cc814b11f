//===- OpFixture.cpp - shared by the tests of the op list -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ops/OpFixture.h"

#include "ir/eval/Evaluate.h"
#include "passes/ValueBuilder.h"
#include "passes/autodiff/Gradient.h"
#include "passes/place/DecomposeComposites.h"

#include "mlir/IR/Diagnostics.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::test {

TestContext::TestContext() {
  context.loadDialect<SinterDialect, func::FuncDialect>();
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });
}

std::string TestContext::takeDiagnostics() {
  return std::exchange(diagnostics, "");
}

func::FuncOp makeScalarLoss(func::FuncOp main, StringRef name, Type floatType) {
  if (!floatType)
    floatType = Float64Type::get(main.getContext());
  func::FuncOp loss = main.clone();
  loss.setName(name);
  OpBuilder builder(main);
  builder.insert(loss);
  Operation *terminator = loss.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  passes::ValueBuilder b(builder, main.getLoc());
  auto scalar = RankedTensorType::get({}, floatType);
  Value sum = b.splat(scalar, 0);
  for (Value result : terminator->getOperands()) {
    RankedTensorType type = tensorType(result);
    if (type.getElementType() != floatType)
      continue;
    unsigned index = loss.getNumArguments();
    loss.insertArgument(index, type, {}, main.getLoc());
    Value weighted = b.mul(result, loss.getArgument(index));
    sum = b.add(sum, b.sum(weighted, passes::firstDims(type.getRank())));
  }
  terminator->setOperands(sum);
  loss.removeResAttrsAttr();
  loss.setType(
      builder.getFunctionType(loss.getBody().getArgumentTypes(), scalar));
  return loss;
}

std::vector<Tensor> drawWeights(func::FuncOp loss, size_t count,
                                Type floatType) {
  OpCase weights{"weights", {}, {}};
  for (Type type : loss.getArgumentTypes().drop_front(count))
    weights.operands.push_back(
        {cast<RankedTensorType>(type).getShape().vec(), 0.5, 1.5});
  return drawInputs(weights, floatType, 2);
}

bool isDifferentiable(const OpCase &opCase, MLIRContext *context) {
  OperationName name(opCase.op(), context);
  return passes::gradientRuleKind(name) !=
             passes::GradientRuleKind::NotDifferentiable &&
         opCase.op() != "sinter.stop_gradient";
}

SmallVector<unsigned> floatOperands(const OpCase &opCase) {
  SmallVector<unsigned> numbers;
  for (auto [i, operand] : llvm::enumerate(opCase.operands))
    if (operand.element == Element::Float)
      numbers.push_back(i);
  return numbers;
}

LogicalResult returnGradients(func::FuncOp loss, ArrayRef<unsigned> wrt,
                              SmallVectorImpl<bool> &isNull) {
  Operation *terminator = loss.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  SmallVector<Value> arguments;
  for (unsigned i : wrt)
    arguments.push_back(loss.getArgument(i));
  auto grads = passes::gradients(builder, terminator->getOperand(0), arguments);
  if (failed(grads))
    return failure();
  for (auto [grad, argument] : llvm::zip_equal(*grads, arguments)) {
    isNull.push_back(!grad);
    if (!grad)
      grad = zerosLike(builder, loss.getLoc(), argument);
  }
  terminator->setOperands(*grads);
  loss.setType(builder.getFunctionType(loss.getBody().getArgumentTypes(),
                                       TypeRange(ValueRange(*grads))));
  return success();
}

std::vector<Tensor> evaluate(func::FuncOp function, ArrayRef<Tensor> inputs) {
  auto results = evaluateFunction(function, inputs);
  if (failed(results))
    return {};
  return std::vector<Tensor>(results->begin(), results->end());
}

std::string differenceBetween(func::FuncOp expected, func::FuncOp found,
                              ArrayRef<Tensor> operands) {
  constexpr double kBound = 1e-12;
  std::vector<Tensor> wanted = evaluate(expected, operands),
                      given = evaluate(found, operands);
  if (wanted.size() != expected.getNumResults() ||
      given.size() != wanted.size())
    return "a function is not evaluated";
  for (auto [number, pair] : llvm::enumerate(llvm::zip_equal(wanted, given))) {
    auto &[one, other] = pair;
    std::string where = "result " + std::to_string(number);
    if (one.ints != other.ints || one.floats.size() != other.floats.size())
      return where + " has other integers or another size";
    for (auto [x, y] : llvm::zip_equal(one.floats, other.floats))
      if (!std::isfinite(y) ||
          !(std::fabs(y - x) < kBound * (1 + std::fabs(x))))
        return where + " has " + std::to_string(y) + ", not " +
               std::to_string(x);
  }
  return "";
}

void decomposeAll(func::FuncOp function) {
  passes::decomposeComposites(function, [](Operation *) { return false; });
}

} // namespace sinter::test
