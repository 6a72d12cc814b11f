//===- KeepInitializers.h - names of constants in drivers -------*- C++ -*-===//
//-*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_KEEPINITIALIZERS_H
#define SINTER_PASSES_KEEPINITIALIZERS_H

#include "ir/Dialect.h"
#include "ir/Locations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

/// The initializers of the constants of a function. The driver moves constants
/// to the front, or replaces them by equal ones, and then forgets their
/// locations.
class KeepInitializers {
public:
  explicit KeepInitializers(mlir::func::FuncOp function) : function(function) {
    function.walk([&](ir::ConstantOp constant) {
      ir::collectInitializers(constant.getLoc(), parts[constant.getValue()]);
    });
  }
  void restore() {
    function.walk([&](ir::ConstantOp constant) {
      auto found = parts.find(constant.getValue());
      if (found != parts.end() && !found->second.empty() &&
          mlir::isa<mlir::UnknownLoc>(constant.getLoc()))
        constant->setLoc(mlir::FusedLoc::get(function.getContext(),
                                             found->second.getArrayRef()));
    });
  }

private:
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Attribute, llvm::SmallSetVector<mlir::Location, 4>>
      parts;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_KEEPINITIALIZERS_H
