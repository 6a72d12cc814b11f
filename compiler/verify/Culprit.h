//===- Culprit.h - the op whose value is wrong ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_CULPRIT_H
#define SINTER_COMPILER_VERIFY_CULPRIT_H

#include "compiler/verify/ProgramValues.h"

namespace sinter::compiler {

struct Culprit {
  std::string op;    // "sinter.mul"; "": none was found
  std::string nodes; // names of ONNX nodes, separated by commas
  std::string text;  // value and reference of an element, if there are any
};

/// The first op of `after`, on a path to a result that differs from that of
/// `before`, whose operands are values of `before` but whose result is none.
/// Values are compared as numbers; `anyOrder` ignores the order of elements,
/// for passes that transpose.
Culprit findCulprit(mlir::ModuleOp before, mlir::ModuleOp after,
                    ProgramInputs &inputs, bool anyOrder);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_CULPRIT_H
