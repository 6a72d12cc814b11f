//===- OpTraits.h - what ops say about themselves ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Declared on the ops (Dialect.td) and read by passes. An op that says nothing
// has none of these properties. Elementwise is a trait of MLIR. Properties that
// depend on operands or attributes are interfaces (Interfaces.td).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPTRAITS_H
#define SINTER_IR_OPTRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace sinter::ir {

/// What 16-bit policies do with an op, read by the precision phase. All
/// arithmetic is float32; the classes say what is rounded to 16 bits on its way
/// through memory.
///   allow: its operands are rounded; it multiplies them exactly and sums in
///          float32 (contractions)
///   infer: its result may be rounded when it is stored: it moves elements, or
///          is as accurate as its operands are
///   deny:  neither (no trait): exponentials, logarithms, divisions, sums over
///          many elements, updates
template <class ConcreteOp>
class PrecisionAllow
    : public mlir::OpTrait::TraitBase<ConcreteOp, PrecisionAllow> {};
template <class ConcreteOp>
class PrecisionInfer
    : public mlir::OpTrait::TraitBase<ConcreteOp, PrecisionInfer> {};

/// Sums products of elements of two operands: `dot_general` and convolutions.
template <class ConcreteOp>
class Contraction : public mlir::OpTrait::TraitBase<ConcreteOp, Contraction> {};

/// The result is the operand under other sizes and strides: `reshape`,
/// `transpose`, `broadcast`, `slice`. See `isView`.
template <class ConcreteOp>
class View : public mlir::OpTrait::TraitBase<ConcreteOp, View> {};
/// The result is the bytes of the first operand, so that no code is needed:
/// `reshape`, `after`.
template <class ConcreteOp>
class Alias : public mlir::OpTrait::TraitBase<ConcreteOp, Alias> {};
/// Each element of the result is an element of an operand, or zero. Views and
/// `gather` do not have it: passes ask for them apart.
template <class ConcreteOp>
class ChoosesElements
    : public mlir::OpTrait::TraitBase<ConcreteOp, ChoosesElements> {};
/// The generated code is cheaper if the second operand is a known number, as a
/// division that becomes a multiplication.
template <class ConcreteOp>
class CheaperByConstant
    : public mlir::OpTrait::TraitBase<ConcreteOp, CheaperByConstant> {};

/// Moves values between devices or replicas, so it is a command of its own.
template <class ConcreteOp>
class Transfer : public mlir::OpTrait::TraitBase<ConcreteOp, Transfer> {};

/// The derivative is zero wherever it exists: steps, truth values, integers.
template <class ConcreteOp>
class ZeroGradient : public mlir::OpTrait::TraitBase<ConcreteOp, ZeroGradient> {
};
/// Differentiation through the op is an error.
template <class ConcreteOp>
class NotDifferentiable
    : public mlir::OpTrait::TraitBase<ConcreteOp, NotDifferentiable> {};

/// Computes the new value of a parameter and of its slots from the old values
/// and a gradient, so it runs on the device of these states.
template <class ConcreteOp>
class OptimizerUpdate
    : public mlir::OpTrait::TraitBase<ConcreteOp, OptimizerUpdate> {};

} // namespace sinter::ir

#endif // SINTER_IR_OPTRAITS_H
