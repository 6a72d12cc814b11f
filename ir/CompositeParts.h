//===- CompositeParts.h - which node a part of a composite is ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A composite that was recognised in small ops stands for several nodes. Its
// location tells them apart: fused<"composite">[fused<"PART">[nodes], ..]. The
// recognisers write it; decompositions and gradient rules read it, so that each
// op that they make has the nodes of its own part. The location of any other
// composite, such as a node of the model that is one, is that of all its parts.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_COMPOSITEPARTS_H
#define SINTER_IR_COMPOSITEPARTS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include <utility>

namespace sinter::ir {

/// What an op within a composite computes. Its name in a location
/// is that of the enumerator.
enum class CompositePart {
  scores,     // attention: the product of queries and keys
  scale,      // attention: of the scores; norms: the factor of each element
  mask,       // attention: what is added to the scores, or replaces them
  softmax,    // attention: the softmax of the scores; itself a composite or not
  output,     // attention: the product of probabilities and values
  maximum,    // softmax: the greatest element
  shift,      // softmax: x - maximum
  power,      // softmax: exp of that
  sum,        // softmax: the sum of the powers; gelu: 1 + curve
  logarithm,  // log_softmax: of the sum, and its difference with the shift
  quotient,   // softmax: power / sum
  mean,       // norms
  centred,    // norms: x - mean
  square,     // norms: of the centred value
  variance,   // norms: the mean of the squares
  epsilon,    // norms: variance + epsilon
  deviation,  // norms: the root of that, or its reciprocal
  normalised, // norms: the centred value over the deviation
  bias,       // norms: the summand of each element
  argument,   // gelu: what erf or tanh is applied to
  curve,      // gelu: erf or tanh
  product,    // gelu: x / 2 times the sum
};

/// The location of a composite of `parts`, each of which may come several
/// times. If all are at one location, that one.
mlir::Location compositeLocation(
    mlir::MLIRContext *context,
    llvm::ArrayRef<std::pair<CompositePart, mlir::Location>> parts);

/// The location of one part of a composite at `location`, or of its gradient if
/// that is one. If `location` names no parts, or not this one, all of it.
mlir::Location partOfComposite(mlir::Location location, CompositePart part);

/// Where an op belongs that casts operand number `operand` of `op`: to the part
/// that reads it, if `op` is an attention or its gradient; else to all of `op`.
/// The same for a result, and the part that computes it.
mlir::Location operandLocation(mlir::Operation *op, unsigned operand);
mlir::Location resultLocation(mlir::Operation *op, unsigned result);

/// Whether `location` is that of a composite whose parts it tells apart.
bool namesParts(mlir::Location location);

} // namespace sinter::ir

#endif // SINTER_IR_COMPOSITEPARTS_H
