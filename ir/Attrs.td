//===- Attrs.td - attributes of the sinter dialect ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_ATTRS_TD
#define SINTER_IR_ATTRS_TD

include "Dialect.td"
include "mlir/IR/AttrTypeBase.td"

class Sinter_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::sinter::ir";
  let genSpecializedAttr = 0;
}
class Sinter_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<Sinter_Dialect, info, mnemonic>;

def Sinter_CompareKind : Sinter_Enum<"CompareKind", "how to compare two values", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Sinter_CompareKindAttr : Sinter_EnumAttr<Sinter_CompareKind, "compare">;

def Sinter_ReduceKind : Sinter_Enum<"ReduceKind", "how to combine elements", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>, I32EnumAttrCase<"max", 2>,
  I32EnumAttrCase<"min", 3>, I32EnumAttrCase<"all", 4>, I32EnumAttrCase<"any", 5>]>;
def Sinter_ReduceKindAttr : Sinter_EnumAttr<Sinter_ReduceKind, "reduce_kind">;

def Sinter_ScatterKind : Sinter_Enum<"ScatterKind", "what an update does to its element", [
  I32EnumAttrCase<"set", 0>, I32EnumAttrCase<"sum", 1>, I32EnumAttrCase<"prod", 2>,
  I32EnumAttrCase<"max", 3>, I32EnumAttrCase<"min", 4>]>;
def Sinter_ScatterKindAttr : Sinter_EnumAttr<Sinter_ScatterKind, "scatter_kind">;

def Sinter_GeluForm : Sinter_Enum<"GeluForm", "which definition of GELU", [
  I32EnumAttrCase<"erf", 0>, I32EnumAttrCase<"tanh", 1>]>;
def Sinter_GeluFormAttr : Sinter_EnumAttr<Sinter_GeluForm, "gelu_form">;

def Sinter_StateRole : Sinter_Enum<"StateRole", "what a state is for", [
  I32EnumAttrCase<"param", 0>, I32EnumAttrCase<"buffer", 1>,
  I32EnumAttrCase<"slot", 2>, I32EnumAttrCase<"accum", 3>,
  I32EnumAttrCase<"rounded", 4>]>;
def Sinter_StateRoleAttr : Sinter_EnumAttr<Sinter_StateRole, "role">;

def Sinter_MeshAxis : Sinter_Enum<"MeshAxis", "along which axis of the mesh of devices replicas meet", [
  I32EnumAttrCase<"data", 0>]>;
def Sinter_MeshAxisAttr : Sinter_EnumAttr<Sinter_MeshAxis, "mesh_axis">;

def Sinter_KernelKind : Sinter_Enum<"KernelKind", "how a generated kernel is organized", [
  I32EnumAttrCase<"loop", 0>, I32EnumAttrCase<"reduce", 1>, I32EnumAttrCase<"concat", 2>,
  I32EnumAttrCase<"scatter", 3>, I32EnumAttrCase<"window_grad", 4>, I32EnumAttrCase<"scan", 5>,
  I32EnumAttrCase<"sort", 6>, I32EnumAttrCase<"matmul", 7>, I32EnumAttrCase<"conv", 8>,
  I32EnumAttrCase<"multi", 9>, I32EnumAttrCase<"staged", 10>,
  I32EnumAttrCase<"persistent", 11>, I32EnumAttrCase<"rows", 12>]>;
def Sinter_KernelKindAttr : Sinter_EnumAttr<Sinter_KernelKind, "kernel_kind">;

def Sinter_LibraryCallKind : Sinter_Enum<"LibraryCallKind", "which function of a library is called", [
  I32EnumAttrCase<"matmul", 0>, I32EnumAttrCase<"conv", 1>, I32EnumAttrCase<"attention", 2>]>;
def Sinter_LibraryCallKindAttr : Sinter_EnumAttr<Sinter_LibraryCallKind, "library_call_kind">;

def Sinter_DomainAttr : AttrDef<Sinter_Dialect, "Domain"> {
  let mnemonic = "domain";
  let summary = "the iteration domain of a kernel, and the positions of its results in it";
  let description = [{
    `sizes` are the trip counts of the loops d0, d1, ..; `reduced` lists the loops that reductions run over.
    `views` has a map for each result, from the loops to the element that they compute: the index in each dimension is
    a loop, or 0 if the size is 1.

    C1: sizes are not negative. C2: `reduced` ascends and names loops. C3: each view maps all loops, without symbols, to
    distinct loops and zeros.
    ```mlir
    #sinter.domain<[1000, 200] reduced [0] views [(d0, d1) -> (d1)]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$sizes, ArrayRefParameter<"int64_t">:$reduced,
                        ArrayRefParameter<"::mlir::AffineMap">:$views);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // SINTER_IR_ATTRS_TD
