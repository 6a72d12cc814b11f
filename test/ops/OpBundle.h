//===- OpBundle.h - many small functions, compiled as one -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compiling one module of hundreds of ops is fast; compiling hundreds of
// modules is slow. A bundle is a module whose @main does the work of many
// functions side by side; each keeps its name, its arguments and its results.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_OPS_OPBUNDLE_H
#define SINTER_TEST_OPS_OPBUNDLE_H

#include "ir/eval/Evaluate.h"
#include "test/compiled/CompiledModule.h"

#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace sinter::test {

/// One function of a bundle.
struct BundlePart {
  std::string name; // in reports of failures
  std::vector<ir::Tensor> inputs;
  std::vector<ir::Tensor> reference; // by evaluation
  std::vector<ir::Tensor> compiled;  // after run(); empty when it failed
};

class OpBundle {
public:
  /// `mcpu` is one that this machine has; `optLevel` is as -O.
  explicit OpBundle(mlir::MLIRContext *context, std::string mcpu = "native",
                    std::optional<unsigned> optLevel = {});

  /// The target of bundles: $SINTER_TEST_TARGET, or the CPU.
  static std::string testTarget();

  /// Copies the body of `function` and evaluates it for `inputs`: in float64
  /// throughout, or rounded according to `rounding`. False on failure.
  bool add(std::string name, mlir::func::FuncOp function,
           std::vector<ir::Tensor> inputs, ir::Rounding rounding);

  /// Compiles and runs everything. Returns one line per failure. If the whole
  /// is refused, compiles the parts one by one to find those that fail.
  std::vector<std::string> run();

  std::vector<BundlePart> parts;

private:
  mlir::OwningOpRef<mlir::ModuleOp> build(size_t first, size_t last);
  bool runRange(size_t first, size_t last, std::string &why);

  mlir::MLIRContext *context;
  CompileSettings settings;
  mlir::OwningOpRef<mlir::ModuleOp> functions; // one per part, in order
};

} // namespace sinter::test

#endif // SINTER_TEST_OPS_OPBUNDLE_H
