//===- Culprit.h - the op whose value is wrong ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_CULPRIT_H
#define SINTER_COMPILER_VERIFY_CULPRIT_H

#include "compiler/verify/ProgramValues.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace sinter::compiler {

struct Culprit {
  std::string op;    // "sinter.mul"; "": none was found
  std::string nodes; // names of ONNX nodes, separated by commas
  std::string text;  // value and reference of an element, if there are any
  /// Whether it has the elements of a value of `before` in another order.
  bool isReordered = false;
};

/// Finds where the numbers of a program begin to differ from those of another
/// one: ops of `after`, on a path to a result that differs from the result of
/// the same name of `before`, whose operands are values of `before` but whose
/// result is none. Values are compared as numbers. The programs may be of two
/// contexts.
class CulpritSearch {
public:
  CulpritSearch(mlir::ModuleOp before, mlir::ModuleOp after)
      : before_(before), after_(after) {}

  /// Computes the values of all ops. Fails with an error if a program cannot be
  /// evaluated.
  mlir::LogicalResult evaluate(ProgramInputs &inputsBefore,
                               ProgramInputs &inputsAfter);
  /// Such ops, in the order of the program. If there is none, but a result is
  /// the value of another op, that op. `anyOrder` ignores the order of
  /// elements, for programs that transpose.
  std::vector<Culprit> find(bool anyOrder);

  /// The names in `before` of nodes that have another one in `after`.
  std::map<std::string, std::string> namesBefore;

private:
  /// The values of arguments and of all ops, those in fusions included.
  struct Values {
    llvm::DenseMap<mlir::Value, ir::Tensor> tensors;
    std::vector<mlir::Value> order;

    mlir::LogicalResult evaluate(mlir::ModuleOp module, ProgramInputs &inputs);
  };
  /// The elements of a value, and the largest magnitude of those that are
  /// finite.
  struct Elements {
    std::vector<double> numbers;
    double largest = 0;

    Elements(const ir::Tensor &tensor, bool isSorted);
    bool isClose(const Elements &other) const;
  };
  using ElementsBySize = std::map<int64_t, std::vector<Elements>>;
  /// What find() knows of the two programs.
  struct Search;

  ElementsBySize elementsBefore(bool isSorted) const;
  mlir::Value counterpart(mlir::func::FuncOp function, unsigned index);
  void visitResults(mlir::func::FuncOp function, Search &search);
  void visit(mlir::Value value, Search &search);
  bool isExplained(mlir::Value value, const ElementsBySize &known,
                   bool isSorted) const;
  Culprit describe(mlir::Operation *op);

  mlir::ModuleOp before_, after_;
  Values good_, bad_;
};

/// The first op that such a search finds.
Culprit findCulprit(mlir::ModuleOp before, mlir::ModuleOp after,
                    ProgramInputs &inputs, bool anyOrder);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_CULPRIT_H
