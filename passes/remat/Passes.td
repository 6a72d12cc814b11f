//===- Passes.td - passes of the remat phase ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_PASSES_TD
#define SINTER_PASSES_REMAT_PASSES_TD

include "mlir/Pass/PassBase.td"

def Rematerialize : Pass<"sinter-rematerialize", "::mlir::ModuleOp"> {
  let summary = "compute values again instead of keeping them, until the arena fits into a limit";
  let description = [{
    Clones fusions whose results wait over the place where most memory is live, right before the results
    are read again; updates of states are divided so that gradients die early. Cheap fusions first, then
    contractions within ever longer segments of the forward pass, and never more than fits the limit.
    Before that, and without a limit, a training step may be given a share of its time: what saves most
    memory in it is computed again. Results have the same bits.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::exec::ExecDialect"];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", "0", "bytes that a program may take on its device; 0: any number">,
    Option<"workspaceBytes", "workspace", "int64_t", "0", "how many of these library calls may take">,
    Option<"hasOwnMemory", "own-memory", "bool", "false", "inputs are copied to the device">,
    Option<"spareTime", "spare-time", "double", "0", "share of a training step's time for what no limit demands">,
  ];
}

#endif // SINTER_PASSES_REMAT_PASSES_TD
