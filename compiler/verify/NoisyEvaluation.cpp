//===- NoisyEvaluation.cpp - evaluation with rounding errors --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/NoisyEvaluation.h"
#include "ir/eval/Trips.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

double compiler::unitRoundoff(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type ? std::ldexp(1.0, -int(type.getFPMantissaWidth())) : 0;
}

bool compiler::isExact(Operation *op) {
  if (auto reduce = dyn_cast<ir::ReduceOp>(op))
    return reduce.getKind() == ir::ReduceKind::max ||
           reduce.getKind() == ir::ReduceKind::min;
  if (auto reduce = dyn_cast<ir::ReduceWindowOp>(op))
    return reduce.getKind() == ir::ReduceKind::max;
  return isa<ir::AbsOp, ir::ArgReduceOp, ir::BroadcastOp, ir::CeilOp,
             ir::ConcatOp, ir::ConstantOp, ir::CopyOp, ir::AfterOp, ir::FloorOp,
             ir::ModOp, ir::RemOp, ir::CompareOp, ir::GatherOp, ir::IotaOp,
             ir::GatherElementsOp, ir::GatherNdOp, ir::MaxOp, ir::MinOp,
             ir::NegOp, ir::PadOp, ir::ReluOp, ir::ReshapeOp, ir::ReverseOp,
             ir::RoundOp, ir::SignOp, ir::SliceOp, ir::StopGradientOp,
             ir::TopKOp, ir::TransposeOp, ir::WhereOp>(op);
}

/// A cast of floats rounds if the result is narrower.
static bool roundsNothing(Operation *op) {
  if (isExact(op))
    return true;
  auto cast = dyn_cast<ir::CastOp>(op);
  return cast && unitRoundoff(ir::tensorType(cast.getX()).getElementType()) >=
                     unitRoundoff(cast.getType().getElementType());
}

/// About how many terms each element of the result is a sum of.
static double termsOf(Operation *op) {
  auto count = [](Value value) {
    return static_cast<double>(
        std::max<int64_t>(1, ir::tensorType(value).getNumElements()));
  };
  if (ir::isContraction(op)) // (m k) (k n) / (m n) = k^2
    return std::sqrt(count(op->getOperand(0)) * count(op->getOperand(1)) /
                     count(op->getResult(0)));
  return ir::isReduction(op)
             ? count(op->getOperand(0)) / count(op->getResult(0))
             : 1;
}

/// Whether operands may be rounded to tf32: of a contraction, and of sums that
/// its library call adds up beside it.
static bool readsTf32(Operation *op) {
  if (op->hasAttr("tf32"))
    return true;
  auto call = dyn_cast<ir::LibraryCallOp>(op->getParentOp());
  return call && ir::isReduction(op) &&
         llvm::any_of(call.getBody().front(),
                      [](Operation &other) { return other.hasAttr("tf32"); });
}

/// The share of a rounding error that grows with the number of terms: partial
/// sums are rounded, and lanes and blocks add them in few levels.
static double growth(Operation *op) { return 1 + std::sqrt(termsOf(op)) / 16; }

void KnownValues::keep(Value value, const Tensor &tensor) {
  const auto bytes = static_cast<int64_t>(
      sizeof(double) * (tensor.floats.size() + tensor.ints.size()));
  if (bytes <= bytesLeft && values.try_emplace(value, tensor).second)
    bytesLeft -= bytes;
}

namespace {

class NoisyEvaluation {
public:
  explicit NoisyEvaluation(const EvaluationOptions &options)
      : options(options), random(options.noise ? options.noise->seed : 0) {}

  FailureOr<SmallVector<Tensor>> run(Block &block, ArrayRef<Tensor> arguments) {
    llvm::DenseMap<Value, Tensor> values;
    llvm::DenseSet<Value> asKnown; // they are as in options.known
    const bool keeps = options.record && !tripDepth,
               reuses = options.known && !tripDepth;
    llvm::DenseMap<Value, Operation *> lastUse;
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        lastUse[operand] = &op;
    for (auto [argument, value] :
         llvm::zip_equal(block.getArguments(), arguments))
      if (lastUse.contains(argument)) {
        values.try_emplace(argument, value);
        if (keeps)
          options.record->keep(argument, value);
        if (reuses && isKnownAs(argument, value))
          asKnown.insert(argument);
      }
    for (Operation &op : block) {
      SmallVector<Tensor> operands, results;
      const bool isAsKnown = reuses && !options.differs(&op) &&
                             llvm::all_of(op.getOperands(), [&](Value each) {
                               return asKnown.contains(each);
                             });
      if (isAsKnown)
        asKnown.insert(op.result_begin(), op.result_end());
      for (Value operand : op.getOperands())
        operands.push_back(values.find(operand)->second);
      for (Value operand : op.getOperands())
        if (lastUse.lookup(operand) == &op)
          values.erase(operand);
      if (op.hasTrait<OpTrait::IsTerminator>())
        return operands;
      if (!isAsKnown || !takeKnown(&op, results))
        if (failed(runOp(&op, operands, results)))
          return failure();
      if (keeps)
        for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
          options.record->keep(result, value);
      for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
        if (lastUse.contains(result))
          values.try_emplace(result, std::move(value));
    }
    return block.getParentOp()->emitError("has a body without a terminator");
  }

private:
  bool isKnownAs(Value value, const Tensor &tensor) const {
    auto found = options.known->values.find(value);
    return found != options.known->values.end() &&
           found->second.floats == tensor.floats &&
           found->second.ints == tensor.ints;
  }
  /// Takes the results of `op` from options.known; false if one is not there.
  bool takeKnown(Operation *op, SmallVectorImpl<Tensor> &results) const {
    for (Value result : op->getResults()) {
      auto found = options.known->values.find(result);
      if (found == options.known->values.end()) {
        results.clear();
        return false;
      }
      results.push_back(found->second);
    }
    return true;
  }

  LogicalResult runOp(Operation *op, SmallVectorImpl<Tensor> &operands,
                      SmallVectorImpl<Tensor> &results) {
    if (auto fusion = dyn_cast<ir::FusionOpInterface>(op)) {
      auto inner = run(fusion.getBody().front(), operands);
      if (failed(inner))
        return failure();
      results = std::move(*inner);
    } else if (isa<ir::ScanOp, ir::ScanCallOp>(op)) {
      if (failed(
              ir::evaluateTrips(op, operands, results,
                                [&](Block &body, ArrayRef<Tensor> arguments) {
                                  ++tripDepth;
                                  auto after = run(body, arguments);
                                  --tripDepth;
                                  return after;
                                })))
        return failure();
    } else {
      bool isNoisy = options.noise && !roundsNothing(op);
      if (isNoisy && options.noise->onOperands)
        for (Tensor &operand : operands)
          moveFractions(operand, op);
      if (auto cast = dyn_cast<ir::CastOp>(op);
          cast && operands[0].isFloat() &&
          isa<FloatType>(cast.getType().getElementType()) &&
          options.isExactCast && options.isExactCast(op)) {
        results.emplace_back(cast.getType()).floats = operands[0].floats;
      } else if (failed(
                     ir::evaluateOp(op, operands, results, options.rounding))) {
        return failure();
      }
      if (isNoisy)
        for (Tensor &result : results)
          move(result);
    }
    if (options.observe)
      options.observe(op, results);
    return success();
  }

  double moved(double number, double rounding) {
    double part = double(random() >> 11) * 0x1p-52 - 1;
    return number * (1 + options.noise->roundings * rounding * part);
  }
  void move(Tensor &tensor) {
    double rounding = unitRoundoff(tensor.type().getElementType());
    for (double &number : tensor.floats)
      number = moved(number, rounding);
  }
  /// Integers stay: the exponent of a square, for example, was not rounded.
  void moveFractions(Tensor &tensor, Operation *op) {
    constexpr double kTf32 = 0x1p-11;
    const double rounding =
        growth(op) * std::max(unitRoundoff(tensor.type().getElementType()),
                              readsTf32(op) ? kTf32 : 0.0);
    for (double &number : tensor.floats)
      if (number != std::trunc(number))
        number = moved(number, rounding);
  }

  const EvaluationOptions &options;
  std::mt19937_64 random;
  unsigned tripDepth = 0; // of scans
};

} // namespace

FailureOr<SmallVector<Tensor>>
compiler::evaluate(Block &block, ArrayRef<Tensor> arguments,
                   const EvaluationOptions &options) {
  Operation *parent = block.getParentOp();
  if (arguments.size() != block.getNumArguments())
    return parent->emitError("takes ")
           << block.getNumArguments() << " arguments, got " << arguments.size();
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    if (argument.getType() != value.type())
      return parent->emitError("argument ")
             << argument.getArgNumber() << " has type " << argument.getType()
             << ", got " << value.type();
  return NoisyEvaluation(options).run(block, arguments);
}
