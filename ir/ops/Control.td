//===- Control.td - repetition --------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_CONTROL_TD
#define SINTER_IR_OPS_CONTROL_TD

include "Attrs.td"
include "Interfaces.td"
include "mlir/IR/RegionKindInterface.td"

// Operands and results that scan and scan_call share.
class Sinter_ScanBase<string mnemonic, list<Trait> traits>
    : Sinter_Op<mnemonic, !listconcat([Pure, AttrSizedOperandSegments], traits)> {
  let results = (outs Variadic<Sinter_Tensor>:$outputs);
  let hasVerifier = 1;
  code scanMethods = [{
    /// The operands are stacks, then initial values, then whole operands. The
    /// arguments of the body have the same numbers.
    unsigned numStacks() { return getStacks().size(); }
    unsigned numCarried() { return getInitial().size(); }
    unsigned firstCarried() { return numStacks(); }
    unsigned firstWhole() { return numStacks() + numCarried(); }
    bool isStack(unsigned number) { return number < numStacks(); }
    bool isCarried(unsigned number) {
      return number >= firstCarried() && number < firstWhole();
    }
    /// The slice of the stacks that trip `trip` has.
    int64_t sliceOfTrip(int64_t trip) {
      return getReverse() ? static_cast<int64_t>(getTrips()) - 1 - trip : trip;
    }
    /// The carried values after the last trip.
    ::mlir::ResultRange getLast() {
      return getOutputs().take_front(getInitial().size());
    }
    /// One slice of each trip.
    ::mlir::ResultRange getStacked() {
      return getOutputs().drop_front(getInitial().size());
    }
  }];
}

def Sinter_ScanOp : Sinter_ScanBase<"scan", [IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>]> {
  let summary = "repeat a body a fixed number of times";
  let description = [{
    Runs the body `trips` times, one trip after the other. The arguments of the body are, in order: slice t of each
    operand in `stacks` (without its first dimension), the carried values, and the operands in `whole`, which are the
    same in each trip. The carried values of the first trip are the operands in `initial`; those of a later trip are what the
    trip before it yielded. `sinter.yield` gives the carried values for the next trip, and then one slice for each
    stacked result.

    The results are the carried values after the last trip, and then the stacked results, whose slice t was yielded with
    slice t of the operands. With `reverse`, the first trip has the last slice, and the last trip slice 0.

    C1: `trips` is 1 or more. C2: the first dimension of each operand in `stacks` is `trips`. C3: the arguments of the body
    have the types of the slices, of the operands in `initial`, and of those in `whole`. C4: the body yields the types of the
    operands in `initial`, and then those of the slices of the stacked results, whose first dimension is `trips`.
    ```mlir
    // %sum = the sum over all rows, %sums = the sums up to each row
    %sum, %sums = sinter.scan trips 4 stacks(%xs) initial(%zero) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
    ^bb0(%x: tensor<8xf32>, %before: tensor<8xf32>):
      %after = sinter.add %before, %x : tensor<8xf32>
      sinter.yield %after, %after : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$trips, UnitAttr:$reverse, Variadic<Sinter_Tensor>:$stacks,
                       Variadic<Sinter_Tensor>:$initial, Variadic<Sinter_Tensor>:$whole);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `trips` $trips (`reverse` $reverse^)? `stacks` `(` $stacks `)` `initial` `(` $initial `)` `whole` `(` $whole `)` attr-dict
    `:` functional-type(operands, $outputs) $body
  }];
  let extraClassDeclaration = scanMethods # [{
    /// Whether a whole operand with this value is copied into the body, so that
    /// what is computed from it folds there: splats and small constants.
    static bool copiesIntoBody(::mlir::ElementsAttr value) {
      return value.isSplat() || value.getNumElements() <= 16;
    }
  }];
}

def Sinter_ScanCallOp : Sinter_ScanBase<"scan_call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a scan whose body is a function";
  let description = [{
    The meaning of `sinter.scan`, with the private function `body` as the body. The fuse phase makes it, so that what
    becomes of the body is planned once, as a program of its own.

    C1: `body` names a function without a caller beside this op; its arguments and results have the types that C3 and C4 of
    `sinter.scan` give. C2: C1 and C2 of `sinter.scan`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, I64Attr:$trips, UnitAttr:$reverse, Variadic<Sinter_Tensor>:$stacks,
                       Variadic<Sinter_Tensor>:$initial, Variadic<Sinter_Tensor>:$whole);
  let assemblyFormat = [{
    $body `trips` $trips (`reverse` $reverse^)? `stacks` `(` $stacks `)` `initial` `(` $initial `)` `whole` `(` $whole `)`
    attr-dict `:` functional-type(operands, $outputs)
  }];
  let extraClassDeclaration = scanMethods;
}

#endif // SINTER_IR_OPS_CONTROL_TD
