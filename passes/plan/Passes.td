//===- Passes.td - passes of the plan phase -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_PASSES_TD
#define SINTER_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMemory : Pass<"sinter-plan-memory", "::mlir::ModuleOp"> {
  let summary = "order of commands, place of every buffer: functions of fusions become exec programs";
  let description = [{
    Takes the order with least live memory of several, lets results take the place of operands, writes
    new values of states onto the old ones where no reader comes later, and shares one arena among
    the rest. Equal fusions become one `exec.kernel`, equal constants one `exec.constant`.
  }];
  let dependentDialects = ["::sinter::exec::ExecDialect"];
}

#endif // SINTER_PASSES_PLAN_PASSES_TD
