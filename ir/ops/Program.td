//===- Program.td - state and transfers -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_PROGRAM_TD
#define SINTER_IR_OPS_PROGRAM_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_StateOp : Sinter_Op<"state", [Symbol,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a tensor that lives from one run to the next";
  let description = [{
    A state is declared once, by name. A function refers to it by the attribute `sinter.state = @name` on
    an argument (the value before the run) and on a result (the value after it). No pass changes its ONNX
    name, element type or bytes, nor the shape that files have. Without `init` a state starts as zeros. `reason` says why a
    parameter of the model is trained or not; `aliases` are other names of the same tensor.

    A state of role rounded is the parameter `of`, rounded to 16 bits. No file holds it: the function @refresh
    computes it from the parameter, and so does every function that computes a new value of the parameter. It
    may have more rows than the parameter (elements of dimension 0); these are zero. A result for such a state
    has the rows of the parameter, and the others keep their zeros.

    A state with `part_of`, the type of the whole, is divided over the replicas of the program: it is one part of the
    elements of the whole, in order, and replica r has part r. The parts have equal sizes; elements beyond the whole are
    zero. Files and `init` hold the whole. A state of role rounded of a divided parameter has the rounded whole: functions
    gather its parts, and @refresh, which runs on one replica alone, does not compute it.

    C1: a state of role slot has `slot` (a name); `of` (the parameter, if it belongs to one) is only allowed
    with roles slot, accum and rounded, and `slot` with slot and accum. C2: `of` names a parameter.
    C3: `init`, if present, has the type of the whole state. C4: a state of role rounded has `of`, whose elements are
    f32, and no `init`; its elements are f16 or bf16, and its shape is that of `of`, or has more rows. C5: a state with
    `part_of` is of role slot or param, and has one dimension, the element type of the whole and no more elements.
    ```mlir
    sinter.state @w : tensor<4x8xf32> {role = #sinter<role param>, trainable, onnx = "fc.weight"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, Sinter_StateRoleAttr:$role,
                       OptionalAttr<ElementsAttr>:$init, UnitAttr:$trainable,
                       OptionalAttr<StrAttr>:$slot, OptionalAttr<FlatSymbolRefAttr>:$of,
                       OptionalAttr<StrAttr>:$onnx, OptionalAttr<StrAttr>:$reason,
                       OptionalAttr<StrArrayAttr>:$aliases, OptionalAttr<TypeAttr>:$part_of);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type that files have.
    ::mlir::RankedTensorType getWholeType();
  }];
}

def Sinter_CopyOp : Sinter_Op<"copy", [Pure, Sinter_Transfer, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>, Sinter_NotDifferentiable, Sinter_LayoutOpInterface, Sinter_RowsOpInterface]> {
  let summary = "the value of x on another device";
  let description = [{
    Transfers x to the device with this number in `sinter.devices` of the module. The place phase inserts
    copies wherever data crosses devices; no other op has operands on two devices. Constants and control
    fields are on every device.

    C1: `device` is the number of a device.
    ```mlir
    %y = sinter.copy %x to 0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, I64Attr:$device);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `to` $device attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sinter_AfterOp : Sinter_Op<"after", [Pure, Sinter_Alias, TypesMatchWith<"the result has the type of x", "x", "result", "$_self">,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>, Sinter_NotDifferentiable]> {
  let summary = "x, for readers that run after other values are computed";
  let description = [{
    The value of x. A command that reads the result runs after the commands that compute `values`. Thus large
    values that are needed one after the other are not computed all at once. The fuse phase inserts it.

    C1: there is at least one operand besides x.
    ```mlir
    %y = sinter.after %x, %a : tensor<4x8xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, Variadic<Sinter_Tensor>:$values);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `,` $values attr-dict `:` type($x) `,` type($values)";
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_PROGRAM_TD
