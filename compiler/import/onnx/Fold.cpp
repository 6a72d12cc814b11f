//===- Fold.cpp - folds shape arithmetic at import ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Fold.h"

using namespace mlir;

namespace sinter::compiler {

/// Tensors of more integers or floats than this are data, not shapes.
static constexpr int64_t kMaxInts = 1 << 16, kMaxFloats = 256;

static bool isSmall(Value v) {
  RankedTensorType type = ir::tensorType(v);
  int64_t limit = isa<FloatType>(type.getElementType()) ? kMaxFloats : kMaxInts;
  return type.getNumElements() <= limit;
}

/// The elements that the evaluation of `op` reads and writes, saturated.
static double costOf(Operation *op) {
  double cost = 0;
  for (Type type : op->getOperandTypes())
    cost += double(cast<RankedTensorType>(type).getNumElements());
  for (Type type : op->getResultTypes())
    cost += double(cast<RankedTensorType>(type).getNumElements());
  if (auto scan = dyn_cast<ir::ScanOp>(op))
    for (Operation &inner : scan.getBody().front())
      cost += double(scan.getTrips()) * costOf(&inner);
  return cost;
}

/// Whether `op` makes a bias: floats, or integers that are added to what is not
/// known. It stays a broadcast: the op that adds it reads the vector.
static bool makesBias(Operation *op) {
  if (!isa<ir::BroadcastOp>(op))
    return false;
  Value result = op->getResult(0);
  if (isa<FloatType>(ir::tensorType(result).getElementType()))
    return true;
  auto sum = result.hasOneUse() ? dyn_cast<ir::AddOp>(*result.user_begin())
                                : ir::AddOp();
  return sum && !llvm::all_of(sum->getOperands(), [&](Value operand) {
           return operand == result || operand.getDefiningOp<ir::ConstantOp>();
         });
}

bool Folder::fold(Operation *op, DenseMap<Value, Value> &replaced) {
  auto evaluate = dyn_cast<ir::EvaluateOpInterface>(op);
  if (!evaluate || isa<ir::ConstantOp>(op) ||
      !llvm::all_of(op->getResults(), isSmall) || makesBias(op))
    return false;
  llvm::SmallVector<ir::Tensor> operands, results;
  for (Value operand : op->getOperands())
    if (!operand.getDefiningOp<ir::ConstantOp>() || !isSmall(operand))
      return false;
  const double cost = costOf(op);
  if (cost > double(budget_))
    return false;
  budget_ -= int64_t(cost);
  for (Value operand : op->getOperands()) {
    FailureOr<ir::Tensor> tensor = ir::Tensor::fromAttr(
        operand.getDefiningOp<ir::ConstantOp>().getValue());
    if (failed(tensor))
      return false;
    operands.push_back(std::move(*tensor));
  }
  // An op without a value for these operands stays. The importer does not
  // report it.
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(evaluate.evaluate(operands, results)))
    return false;

  OpBuilder b(op);
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results)) {
    tensor.roundToStorage();
    Value constant = b.create<ir::ConstantOp>(op->getLoc(), result.getType(),
                                              tensor.toAttr("folded"));
    replaced[result] = constant;
    result.replaceAllUsesWith(constant);
  }
  op->erase();
  return true;
}

} // namespace sinter::compiler
