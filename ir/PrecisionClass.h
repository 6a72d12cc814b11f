//===- PrecisionClass.h - what 16-bit policies do with an op ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Declared on the ops, read by the precision phase. All arithmetic is float32;
// the classes say what is rounded to 16 bits on its way through memory.
//   allow: its operands are rounded; it multiplies them exactly and sums in
//          float32 (contractions)
//   infer: what comes out of it may be rounded when it is stored: it moves
//          elements, or is as good as its operands are
//   deny:  neither (no trait): exponentials, logarithms, divisions, sums over
//          many elements, updates
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_PRECISIONCLASS_H
#define SINTER_IR_PRECISIONCLASS_H

#include "mlir/IR/OpDefinition.h"

namespace sinter::ir {

template <class ConcreteOp>
class PrecisionAllow
    : public mlir::OpTrait::TraitBase<ConcreteOp, PrecisionAllow> {};
template <class ConcreteOp>
class PrecisionInfer
    : public mlir::OpTrait::TraitBase<ConcreteOp, PrecisionInfer> {};

} // namespace sinter::ir

#endif // SINTER_IR_PRECISIONCLASS_H
