//===- Passes.td - passes of the remat phase ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_PASSES_TD
#define SINTER_PASSES_REMAT_PASSES_TD

include "mlir/Pass/PassBase.td"

def Rematerialize : Pass<"sinter-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Compute values again instead of keeping them, until the arena fits into a limit";
  let description = [{
    A value that is computed before the point where most memory is live, and read after it, need not be
    kept: its fusion is cloned right before the value is read again. Cheap fusions are cloned first, then
    contractions within longer and longer segments of the forward pass, and no more than needed to fit.
    Updates of states are divided so that gradients can be freed early.

    Before that, and also without a limit, a training step may spend a share of its time on saving
    memory: the values are computed again that save the most memory within that time. Results have the same bits.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::exec::ExecDialect"];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", "0", "bytes that a program may use on its device; 0: no limit">,
    Option<"workspaceBytes", "workspace", "int64_t", "0", "bytes of these that library calls may use">,
    Option<"workspaces", "workspaces", "int64_t", "1", "how many times library calls may use them">,
    Option<"hasOwnMemory", "own-memory", "bool", "false", "inputs are copied to the device">,
    Option<"spareTime", "spare-time", "double", "0", "share of a training step's time that may be spent on saving memory without a limit">,
  ];
}

#endif // SINTER_PASSES_REMAT_PASSES_TD
