//===- QuantizableOps.h - contractions of constant weights ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called by QuantizeContractions, and by the calibration that finds its ranges.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_QUANTIZABLEOPS_H
#define SINTER_PASSES_SIMPLIFY_QUANTIZABLEOPS_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace sinter::passes {

struct QuantizableOp {
  mlir::Operation *op;
  unsigned input = 0; // the operand that is not the weights
  std::string reason; // why it stays float32; "": it can be quantised
};

/// The contractions of floats in `function`, in order. Those with a node that
/// matches `keepFp32` ("": none) stay float32.
std::vector<QuantizableOp> quantizableOps(mlir::func::FuncOp function,
                                          llvm::StringRef keepFp32);

/// Rounds the operands of an op that can be quantised: its input to codes that
/// stand for [low, high], its weights to codes of each output channel.
void quantizeContraction(const QuantizableOp &found, double low, double high);

/// The tensor whose elements `value` has in another order or shape.
mlir::Value sameElements(mlir::Value value);

/// The node at which integers of 8 bits or less, other than an input, become
/// numbers: the program is quantised already. "" if there is none.
std::string quantizedNode(mlir::ModuleOp module);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_QUANTIZABLEOPS_H
