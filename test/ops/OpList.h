//===- OpList.h - every op as cases that tests share ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One list, several uses: gradients against finite differences, compiled values
// against the reference evaluation, and speed. A case is an op on operands of
// fixed shapes; it becomes `func.func @main(operands) -> results` with drawn
// inputs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_OPS_OPLIST_H
#define SINTER_TEST_OPS_OPLIST_H

#include "passes/ValueBuilder.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace sinter::test {

/// An element type by name; Float is the case's own, chosen when the case is
/// built.
enum class Element { Float, I1, I8, I32, I64, UI8 };

/// How one operand is drawn: uniformly from [low, high), integers likewise.
struct Operand {
  std::vector<int64_t> shape;
  double low = -2, high = 2;
  Element element = Element::Float;
};

struct OpCase {
  using Build = std::function<mlir::SmallVector<mlir::Value>(
      passes::ValueBuilder &, mlir::ValueRange operands)>;
  std::string name; // "sinter.softmax 3x5 axis=1": the op's name comes first
  std::vector<Operand> operands;
  Build build;

  /// The op's name, up to the first space.
  llvm::StringRef op() const { return llvm::StringRef(name).split(' ').first; }
};

/// "3x5"; "scalar" without dimensions.
std::string shapeText(const std::vector<int64_t> &shape);
/// The operand's type with `floatType` for Element::Float.
mlir::RankedTensorType operandType(const Operand &operand,
                                   mlir::Type floatType);

/// All cases of all ops; sizes 1, 0 and primes among them.
std::vector<OpCase> allCases();

/// A module with @main for the case; `floatType` belongs to a context with the
/// sinter and func dialects loaded.
mlir::OwningOpRef<mlir::ModuleOp> buildModule(const OpCase &opCase,
                                              mlir::Type floatType);
/// Inputs of @main: the same for equal seeds, on every machine.
std::vector<ir::Tensor> drawInputs(const OpCase &opCase, mlir::Type floatType,
                                   uint64_t seed);

// The families, in OpList<Family>.cpp.
void addElementwiseCases(std::vector<OpCase> &cases);
void addLinearCases(std::vector<OpCase> &cases);
void addReduceCases(std::vector<OpCase> &cases);
void addShapeCases(std::vector<OpCase> &cases);
void addGatherCases(std::vector<OpCase> &cases);
void addNormCases(std::vector<OpCase> &cases);
void addControlCases(std::vector<OpCase> &cases);

} // namespace sinter::test

#endif // SINTER_TEST_OPS_OPLIST_H
