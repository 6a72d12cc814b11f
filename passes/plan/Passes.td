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

    With a gradient stream, the contractions that compute gradients of weights run on a stream of their own, beside the
    gradients of activations, and so does what depends on them. The compute stream should not wait for that stream
    only because it takes its bytes, so values are kept longer if the arena then grows by at most the given share.

    On the CPU, pointwise and depthwise float32 convolutions with constant filters form a chain if each but the last
    has a large result that only the next one reads, and this one comes next in the order. Such a result is in the
    space `chain`, not in the arena: the runtime computes the convolutions in bands of rows, and it stays in a cache.
    What the convolutions of a chain read lives until the last of them has run.

    On the CPU, a convolution that adds a tensor may write its result onto that tensor: of 16-bit floats, or a pointwise
    one of float32. Elsewhere, results of library calls have bytes of their own.
  }];
  let dependentDialects = ["::sinter::exec::ExecDialect"];
  let options = [
    Option<"gradientStream", "gradient-stream", "std::string", "\"off\"",
           "off: none; auto: for contractions that take longer than waiting; on: for all, or an error">,
    Option<"hasOwnMemory", "own-memory", "bool", "true", "a program that names no device is for one with streams, not for the CPU">,
    Option<"chains", "chains", "bool", "true", "convolutions may run together on the CPU; what they read lives longer then">,
    Option<"growth", "growth", "double", "0.03", "share by which the arena may grow">,
  ];
}

#endif // SINTER_PASSES_PLAN_PASSES_TD
