//===- Kernel.td - regions that become one command ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The fuse phase creates these ops. They are the interface between it, the plan
// phase and the code generators.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_KERNEL_TD
#define SINTER_IR_OPS_KERNEL_TD

include "Attrs.td"
include "Interfaces.td"
include "mlir/IR/RegionKindInterface.td"

class Sinter_RegionOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure, IsolatedFromAbove, SingleBlock, Sinter_FusionOpInterface],
                                      traits)> {
  let results = (outs Variadic<Sinter_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def Sinter_KernelOp : Sinter_RegionOp<"kernel", [Sinter_KernelOpInterface]> {
  let summary = "a region that becomes one generated kernel";
  let description = [{
    The arguments of the body are the operands, and `sinter.yield` gives the results. `kind` says how the
    generated code is organized, `domain` which loops it runs.

    | kind | body |
    |---|---|
    | `loop` | elementwise ops and ops that are index maps, element by element |
    | `reduce` | reductions over the reduced loops, and ops that use their results |
    | `concat` | one `concat`; each operand is computed by loops of its own |
    | `scatter`, `window_grad`, `scan`, `sort` | one op: a scatter, `reduce_window_grad`, `cumulative` or `cumulative_parts`, `top_k` |
    | `matmul`, `conv` | one contraction, views of its operands, and elementwise ops after it |
    | `multi` | kernels that are independent of each other |
    | `staged` | kernels that run in order; each may read results of earlier ones, and is little work for one block |
    | `persistent` | the same, but all blocks of a GPU compute each of the kernels, and wait for each other in between |
    | `rows` | kernels that run in order: each block computes one row of all of them, and keeps what only they read |

    C1: body arguments have the operands' types. C2: yielded values have the results' types.
    C3: kinds loop, reduce, matmul and conv have a domain, the others none.
    C4: the domain has a view for each result; a dimension of another size than 1 is a loop of that size.
    C5: a result extends over all loops, or over all that are not reduced. C6: only kind reduce has reduced loops and
    reductions. C7: kinds matmul and conv have one contraction. C8: kind concat yields one concat.
    C9: the kinds of one op have only that op, and yield each of its results.
    C10: kinds multi, staged and persistent consist of kernels (staged and persistent: at least two), which read body
    arguments (staged and persistent: also results of earlier kernels), and yield each of their results once; a
    persistent one may also have aliases of such results.
    C11: kind rows consists of kernels, at least two, and aliases of their results. It yields results once or not at all,
    and each of the last kernel's. The rows of a tensor are equal, consecutive stretches of its elements; a kernel reads
    only row i of what another one computed to compute its own row i.
    ```mlir
    %y = sinter.kernel loop(%x) over <[8] views [(d0) -> (d0)]> : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %b = sinter.relu %a : tensor<8xf32>
      sinter.yield %b : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, Sinter_KernelKindAttr:$kind,
                       OptionalAttr<Sinter_DomainAttr>:$domain);
  let assemblyFormat = [{
    $kind `(` $inputs `)` (`over` $domain^)? attr-dict `:` functional-type($inputs, $outputs) $body
  }];
}

def Sinter_LibraryCallOp : Sinter_RegionOp<"library_call"> {
  let summary = "a region that becomes one call of a library";
  let description = [{
    The body is one contraction or attention, with views and casts of its operands, and with the ops that the
    library applies to its result or whose results it keeps. The body says what the whole call computes.

    C1: body arguments have the operands' types. C2: yielded values have the results' types.
    C3: the body has one `dot_general` (matmul), convolution (conv) or attention or its gradient (attention).
    ```mlir
    %y = sinter.library_call matmul(%a, %b) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32> {
    ^bb0(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>):
      %z = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      sinter.yield %z : tensor<4x2xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, Sinter_LibraryCallKindAttr:$kind);
  let assemblyFormat = "$kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
}

// Tests for exec.kernel by name, since the exec dialect depends on this one.
def Sinter_YieldParent : PredOpTrait<"it is in a kernel, a library call or a scan", CPred<[{
  ($_op.getParentOp() && (isa<FusionOpInterface, ScanOp>($_op.getParentOp()) ||
      $_op.getParentOp()->getName().getStringRef() == "exec.kernel"))}]>>;

def Sinter_YieldOp : Sinter_Op<"yield", [Pure, Terminator, Sinter_YieldParent]> {
  let summary = "the results of the body of a kernel, library call or scan";
  let arguments = (ins Variadic<Sinter_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // SINTER_IR_OPS_KERNEL_TD
