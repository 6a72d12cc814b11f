//===- Attrs.td - enumerations of the sinter dialect ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_ATTRS_TD
#define SINTER_IR_ATTRS_TD

include "Dialect.td"

class Sinter_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::sinter::ir";
  let genSpecializedAttr = 0;
}
class Sinter_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<Sinter_Dialect, info, mnemonic>;

def Sinter_CompareKind : Sinter_Enum<"CompareKind", "how two values are compared", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Sinter_CompareKindAttr : Sinter_EnumAttr<Sinter_CompareKind, "compare">;

def Sinter_ReduceKind : Sinter_Enum<"ReduceKind", "how elements are combined", [
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
  I32EnumAttrCase<"slot", 2>, I32EnumAttrCase<"accum", 3>]>;
def Sinter_StateRoleAttr : Sinter_EnumAttr<Sinter_StateRole, "role">;

#endif // SINTER_IR_ATTRS_TD
