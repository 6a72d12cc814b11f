//===- Passes.td - passes of the precision phase -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PRECISION_PASSES_TD
#define SINTER_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignPrecision : Pass<"sinter-assign-precision", "::mlir::ModuleOp"> {
  let summary = "Round what contractions multiply, and what lies between them, to 16 bits";
  let description = [{
    bf16 and fp16: operands of contractions are rounded, and so are values that are stored between them;
    arithmetic is float32 everywhere. States, loss, statistics, long sums and the results of the output layer
    stay float32. tf32 marks contractions. The module's attribute `sinter.precision` has one reason per op.
  }];
  let constructor = "::sinter::passes::createAssignPrecision(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"policy", "policy", "std::string", "\"fp32\"", "fp32, tf32, bf16 or fp16">,
    Option<"keepFp32", "keep-fp32", "std::string", "\"\"", "regular expression of nodes that stay float32">,
    ListOption<"overrides", "overrides", "std::string", "FUNCTION/NODE/OP/NUMBER=PRECISION, as a plan has them">,
  ];
}

#endif // SINTER_PASSES_PRECISION_PASSES_TD
