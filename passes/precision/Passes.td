//===- Passes.td - passes of the precision phase --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PRECISION_PASSES_TD
#define SINTER_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignPrecision : Pass<"sinter-assign-precision", "::mlir::ModuleOp"> {
  let summary = "Round the operands of contractions, and the values between contractions, to 16 bits";
  let description = [{
    With bf16 and fp16, the operands of contractions are rounded, and so are values that are stored between
    contractions. All arithmetic stays float32. States, the loss, statistics, long sums and the result of the
    output layer stay float32. With tf32, contractions are marked. The attribute `sinter.precision` of the
    module has the precision of each op, with the reason.
  }];
  let constructor = "::sinter::passes::createAssignPrecision(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"policy", "policy", "std::string", "\"fp32\"", "fp32, tf32, bf16 or fp16">,
    Option<"keepFp32", "keep-fp32", "std::string", "\"\"", "regular expression for nodes that stay float32">,
    ListOption<"overrides", "overrides", "std::string",
               "FUNCTION/NODE/OP/NUMBER=PRECISION, as in a precision plan">,
  ];
}

#endif // SINTER_PASSES_PRECISION_PASSES_TD
