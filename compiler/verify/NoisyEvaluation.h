//===- NoisyEvaluation.h - evaluation with rounding errors ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// How far may two evaluations of one program differ? Monte Carlo arithmetic
// (D. S. Parker, "Monte Carlo Arithmetic: exploiting randomness in
// floating-point arithmetic", UCLA CSD-970002, 1997) measures it: the program
// is evaluated several times in float64, each computed number off by a random
// part of a rounding of its element type. What the results then differ by is
// the effect of rounding on this program and these inputs, conditioning
// included. The bounds of the checks in this folder are multiples of it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_NOISYEVALUATION_H
#define SINTER_COMPILER_VERIFY_NOISYEVALUATION_H

#include "ir/eval/Evaluate.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <optional>

namespace sinter::compiler {

/// The random errors of one evaluation.
struct Noise {
  uint64_t seed;
  /// The largest error of a number, in roundings of its element type.
  double roundings = 1;
  /// Whether operands are off, too: sums of numbers that cancel have an error
  /// that depends on the size of these numbers.
  bool onOperands = false;
};

/// The values of the arguments and ops of an evaluation, those of the first run
/// of each function. Values in the bodies of scans are not kept.
struct KnownValues {
  llvm::DenseMap<mlir::Value, ir::Tensor> values;
  int64_t bytesLeft = int64_t(2) << 30;

  void keep(mlir::Value value, const ir::Tensor &tensor);
};

struct EvaluationOptions {
  ir::Rounding rounding = ir::Rounding::none;
  std::optional<Noise> noise;
  /// Casts between floats for which this holds round nothing; null: none.
  std::function<bool(mlir::Operation *cast)> isExactCast;
  /// Called with the results of each op, in order; the ops in the body of a
  /// fusion come before the fusion.
  std::function<void(mlir::Operation *op, llvm::ArrayRef<ir::Tensor> results)>
      observe;
  /// Gets the values; null: none.
  KnownValues *record = nullptr;
  /// Values of another evaluation. An op whose operands are as they were there
  /// is not evaluated again, unless `differs` holds for it. Null: none.
  const KnownValues *known = nullptr;
  std::function<bool(mlir::Operation *op)> differs;
};

/// The relative error of rounding to a float type.
double unitRoundoff(mlir::Type element);

/// Whether the op copies numbers or has few different results, so that it
/// rounds nothing.
bool isExact(mlir::Operation *op);

/// The operands of the terminator of `block` for its arguments. Fails with an
/// error on an op that cannot be evaluated.
mlir::FailureOr<llvm::SmallVector<ir::Tensor>>
evaluate(mlir::Block &block, llvm::ArrayRef<ir::Tensor> arguments,
         const EvaluationOptions &options);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_NOISYEVALUATION_H
