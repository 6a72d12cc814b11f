//===- Passes.td - passes of the plan phase -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_PASSES_TD
#define SINTER_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMemory : Pass<"sinter-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Choose the order of commands and the address of every buffer; write exec programs";
  let description = [{
    Makes an `exec.program` of each function of fusions. Tries several orders and takes the one with the
    smallest arena. A result takes the bytes of an operand that is read for the last time, if the kernel
    allows that. New values of states are written onto the old ones, if no reader comes later. All other
    values share one arena. Equal kernels become one `exec.kernel`, equal constants one `exec.constant`.
  }];
  let dependentDialects = ["::sinter::exec::ExecDialect"];
}

#endif // SINTER_PASSES_PLAN_PASSES_TD
