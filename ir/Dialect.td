//===- Dialect.td - the sinter dialect ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The graph-level language: values are ranked tensors of static shape, ops are
// pure, state is declared by symbol. Included by every op family.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_DIALECT_TD
#define SINTER_IR_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Sinter_Dialect : Dialect {
  let name = "sinter";
  let cppNamespace = "::sinter::ir";
  let summary = "Neural-network graphs: tensors of static shape, one meaning per op";
  let description = [{
    Values are ranked tensors of static shape. Signless integers are signed;
    `ui8`..`ui64` are unsigned; `i1` is a truth value. No op has a side effect:
    state is declared by `sinter.state` and passed through function arguments and
    results that name it. Broadcasting is explicit (`sinter.broadcast`).

    Floating-point arithmetic follows IEEE 754, without contraction or reassociation.
    The exception are reductions: their order is a tree that is fixed by shape and
    kind.
  }];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let extraClassDeclaration = [{
    // One registration per op family, each in the family's source file.
    void registerElementwise();
    void registerLinear();
    void registerConv();
    void registerReduce();
    void registerShape();
    void registerNorm();
    void registerAttention();
    void registerLoss();
    void registerOptim();
    void registerRandom();
    void registerCollective();
    void registerControl();
    void registerProgram();
    void registerKernel();

    /// On arguments and results of functions: which state, input, output or
    /// control field it is.
    static constexpr llvm::StringLiteral kStateAttr = "sinter.state";
    static constexpr llvm::StringLiteral kInputAttr = "sinter.input";
    static constexpr llvm::StringLiteral kOutputAttr = "sinter.output";
    static constexpr llvm::StringLiteral kControlAttr = "sinter.control";
    /// On the one result that holds the findings of index checks, a
    /// tensor<k x 2 x i64>. Lists the checks in order, each {node, lower, upper},
    /// and in training programs {rows, stride} if the rows of the batch are known.
    static constexpr llvm::StringLiteral kIndexChecksAttr =
        "sinter.index_checks";
    static constexpr llvm::StringLiteral kModelNameAttr = "sinter.model";
    /// On a module: the names of the devices that its program spans, in order.
    /// Without it there is one device, which is chosen when the program runs.
    static constexpr llvm::StringLiteral kDevicesAttr = "sinter.devices";
    /// On a state or function: the number of its device; 0 without it.
    static constexpr llvm::StringLiteral kDeviceAttr = "sinter.device";
  }];
}

// Result types are inferred; a mismatch is reported in one line.
def Sinter_InferenceChecked : NativeOpTrait<"InferenceChecked"> {
  let cppNamespace = "::sinter::ir";
}
def Sinter_InferType : TraitList<[Sinter_InferenceChecked, InferTypeOpAdaptor]>;

// See ir/OpTraits.h.
class Sinter_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::sinter::ir";
}
def Sinter_PrecisionAllow : Sinter_Trait<"PrecisionAllow">;
def Sinter_PrecisionInfer : Sinter_Trait<"PrecisionInfer">;
def Sinter_Contraction : Sinter_Trait<"Contraction">;
def Sinter_View : Sinter_Trait<"View">;
def Sinter_ChoosesElements : Sinter_Trait<"ChoosesElements">;
def Sinter_CheaperByConstant : Sinter_Trait<"CheaperByConstant">;
def Sinter_Alias : Sinter_Trait<"Alias">;
def Sinter_Transfer : Sinter_Trait<"Transfer">;
def Sinter_ZeroGradient : Sinter_Trait<"ZeroGradient">;
def Sinter_NotDifferentiable : Sinter_Trait<"NotDifferentiable">;
def Sinter_OptimizerUpdate : Sinter_Trait<"OptimizerUpdate">;

class Sinter_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sinter_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Sinter_Float : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def Sinter_Signed : AnyTypeOf<[I8, I16, I32, I64], "signed integer">;
def Sinter_Unsigned : AnyTypeOf<[UI8, UI16, UI32, UI64], "unsigned integer">;
def Sinter_Int : AnyTypeOf<[Sinter_Signed, Sinter_Unsigned], "integer">;
def Sinter_Number : AnyTypeOf<[Sinter_Float, Sinter_Int], "number">;
def Sinter_Element : AnyTypeOf<[Sinter_Float, Sinter_Int, I1], "element">;

// The size in bytes of every tensor fits an int64, so no pass has to check for overflow.
class Sinter_TensorOf<Type element>
    : Type<And<[RankedTensorOf<[element]>.predicate, HasStaticShapePred,
                CPred<"::sinter::ir::hasBoundedSize($_self)">]>,
           element.summary # " tensor of static shape", "::mlir::RankedTensorType">;
def Sinter_Tensor : Sinter_TensorOf<Sinter_Element>;
def Sinter_FloatTensor : Sinter_TensorOf<Sinter_Float>;
def Sinter_IntTensor : Sinter_TensorOf<Sinter_Int>;
def Sinter_NumberTensor : Sinter_TensorOf<Sinter_Number>;
def Sinter_BoolTensor : Sinter_TensorOf<I1>;

#endif // SINTER_IR_DIALECT_TD
