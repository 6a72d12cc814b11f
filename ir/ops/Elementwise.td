//===- Elementwise.td - elementwise ops -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_ELEMENTWISE_TD
#define SINTER_IR_OPS_ELEMENTWISE_TD

include "Attrs.td"
include "Interfaces.td"

/// Element i of the result is computed from elements i of the operands, and from nothing else.
class Sinter_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure, Sinter_IndexMapOpInterface, Sinter_LayoutOpInterface,
        Sinter_RowsOpInterface, DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>], traits,
        // Last: its error messages say less than those of other traits.
        [Elementwise])>;

/// y[i] = f(x[i]), of the same type.
class Sinter_UnaryOp<string mnemonic, Type tensor, string summary_, list<Trait> traits = []>
    : Sinter_ElementwiseOp<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let summary = summary_;
  let description = "C1: `x` and the result have the same type.\n\n"
      "```mlir\n%y = sinter." # mnemonic # " %x : tensor<4xf32>\n```";
  let arguments = (ins tensor:$x);
  let results = (outs tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}
/// z[i] = f(x[i], y[i]), of the same type.
class Sinter_BinaryOp<string mnemonic, Type tensor, string summary_,
                      list<Trait> traits = []>
    : Sinter_ElementwiseOp<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let summary = summary_;
  let description = "C1: `lhs`, `rhs` and the result have the same type.\n\n"
      "```mlir\n%z = sinter." # mnemonic # " %x, %y : tensor<4xf32>\n```";
  let arguments = (ins tensor:$lhs, tensor:$rhs);
  let results = (outs tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Sinter_AbsOp : Sinter_UnaryOp<"abs", Sinter_NumberTensor, "|x|; the lowest integer stays itself",
    [Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_NegOp : Sinter_UnaryOp<"neg", Sinter_NumberTensor, "-x; integers wrap",
    [Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_SignOp : Sinter_UnaryOp<"sign", Sinter_NumberTensor, "-1, 0 or 1; NaN stays NaN",
    [Sinter_ZeroGradient]>;
def Sinter_ExpOp : Sinter_UnaryOp<"exp", Sinter_FloatTensor, "e^x">;
def Sinter_Expm1Op : Sinter_UnaryOp<"expm1", Sinter_FloatTensor, "e^x - 1, accurate near 0">;
def Sinter_LogOp : Sinter_UnaryOp<"log", Sinter_FloatTensor, "natural logarithm">;
def Sinter_Log1pOp : Sinter_UnaryOp<"log1p", Sinter_FloatTensor, "log(1 + x), accurate near 0">;
def Sinter_SqrtOp : Sinter_UnaryOp<"sqrt", Sinter_FloatTensor, "square root, correctly rounded">;
def Sinter_RsqrtOp : Sinter_UnaryOp<"rsqrt", Sinter_FloatTensor, "1 / sqrt(x)">;
def Sinter_TanhOp : Sinter_UnaryOp<"tanh", Sinter_FloatTensor, "hyperbolic tangent",
    [Sinter_PrecisionInfer]>;
def Sinter_SigmoidOp : Sinter_UnaryOp<"sigmoid", Sinter_FloatTensor, "1 / (1 + e^-x)",
    [Sinter_PrecisionInfer]>;
def Sinter_ErfOp : Sinter_UnaryOp<"erf", Sinter_FloatTensor, "error function">;
def Sinter_SinOp : Sinter_UnaryOp<"sin", Sinter_FloatTensor, "sine">;
def Sinter_CosOp : Sinter_UnaryOp<"cos", Sinter_FloatTensor, "cosine">;
def Sinter_TanOp : Sinter_UnaryOp<"tan", Sinter_FloatTensor, "tangent">;
def Sinter_AsinOp : Sinter_UnaryOp<"asin", Sinter_FloatTensor, "arc sine">;
def Sinter_AcosOp : Sinter_UnaryOp<"acos", Sinter_FloatTensor, "arc cosine">;
def Sinter_AtanOp : Sinter_UnaryOp<"atan", Sinter_FloatTensor, "arc tangent">;
def Sinter_SinhOp : Sinter_UnaryOp<"sinh", Sinter_FloatTensor, "hyperbolic sine">;
def Sinter_CoshOp : Sinter_UnaryOp<"cosh", Sinter_FloatTensor, "hyperbolic cosine">;
def Sinter_AsinhOp : Sinter_UnaryOp<"asinh", Sinter_FloatTensor, "inverse hyperbolic sine">;
def Sinter_AcoshOp : Sinter_UnaryOp<"acosh", Sinter_FloatTensor, "inverse hyperbolic cosine">;
def Sinter_AtanhOp : Sinter_UnaryOp<"atanh", Sinter_FloatTensor, "inverse hyperbolic tangent">;
def Sinter_FloorOp : Sinter_UnaryOp<"floor", Sinter_FloatTensor, "largest integer not above x",
    [Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_CeilOp : Sinter_UnaryOp<"ceil", Sinter_FloatTensor, "smallest integer not below x",
    [Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_RoundOp : Sinter_UnaryOp<"round", Sinter_FloatTensor, "nearest integer, halves to even",
    [Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_ReluOp : Sinter_UnaryOp<"relu", Sinter_NumberTensor,
    "max(x, 0); NaN stays NaN; the gradient at 0 is 0",
    [Sinter_ChoosesElements, Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_NotOp : Sinter_UnaryOp<"not", Sinter_BoolTensor, "logical negation",
    [Sinter_CheapAsLoad, Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_BitNotOp : Sinter_UnaryOp<"bit_not", Sinter_IntTensor, "all bits inverted",
    [Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_StopGradientOp : Sinter_UnaryOp<"stop_gradient", Sinter_Tensor,
    "x; differentiation treats it as a constant",
    [Sinter_ChoosesElements, Sinter_PrecisionInfer, Sinter_CheapAsLoad, Sinter_ZeroGradient]> {
  let hasFolder = 1;
}

def Sinter_GeluOp : Sinter_ElementwiseOp<"gelu", [SameOperandsAndResultType, Sinter_PrecisionInfer,
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    form erf: `x * (1 + erf(x / sqrt(2))) / 2`;
    form tanh: `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2`.

    C1: `x` and the result have the same type.
    ```mlir
    %y = sinter.gelu erf %x : tensor<4xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_GeluFormAttr:$form);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$form $x attr-dict `:` type($result)";
}

def Sinter_GeluGradOp : Sinter_ElementwiseOp<"gelu_grad",
    [SameOperandsAndResultType, Sinter_PrecisionInfer,
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>]> {
  let summary = "gradient of gelu";
  let description = [{
    `grad * gelu'(x)`, where `gelu'` is the derivative of `sinter.gelu` in the same form.

    C1: `grad`, `x` and the result have the same type.
    ```mlir
    %dx = sinter.gelu_grad tanh %dy, %x : tensor<4xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$grad, Sinter_FloatTensor:$x, Sinter_GeluFormAttr:$form);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$form $grad `,` $x attr-dict `:` type($result)";
}

def Sinter_AddOp : Sinter_BinaryOp<"add", Sinter_NumberTensor, "x + y; integers wrap",
    [Commutative, Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_SubOp : Sinter_BinaryOp<"sub", Sinter_NumberTensor, "x - y; integers wrap",
    [Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_MulOp : Sinter_BinaryOp<"mul", Sinter_NumberTensor, "x * y; integers wrap",
    [Commutative, Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_DivOp : Sinter_BinaryOp<"div", Sinter_NumberTensor,
    "x / y; integers round toward zero, n / 0 = 0, and the lowest integer / -1 is itself",
    [Sinter_CheaperByConstant]> {
  let hasFolder = 1;
}
def Sinter_PowOp : Sinter_BinaryOp<"pow", Sinter_NumberTensor,
    "x^y; integers wrap, and a negative integer exponent gives the quotient 1 / x^-y rounded toward zero",
    [Sinter_CheaperByConstant]> {
  let hasFolder = 1;
}
def Sinter_MaxOp : Sinter_BinaryOp<"max", Sinter_NumberTensor, "the greater, with -0 < +0; NaN if either is NaN",
    [Sinter_ChoosesElements, Commutative, Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_MinOp : Sinter_BinaryOp<"min", Sinter_NumberTensor, "the smaller, with -0 < +0; NaN if either is NaN",
    [Sinter_ChoosesElements, Commutative, Sinter_PrecisionInfer, Sinter_CheapAsLoad]> {
  let hasFolder = 1;
}
def Sinter_ModOp : Sinter_BinaryOp<"mod", Sinter_NumberTensor,
    "remainder with the sign of the divisor (Python's %); n mod 0 = 0 for integers",
    [Sinter_CheaperByConstant]>;
def Sinter_RemOp : Sinter_BinaryOp<"rem", Sinter_NumberTensor,
    "remainder with the sign of the dividend (C's fmod); n rem 0 = 0 for integers",
    [Sinter_CheaperByConstant]>;
def Sinter_AndOp : Sinter_BinaryOp<"and", Sinter_TensorOf<AnyTypeOf<[Sinter_Int, I1]>>, "bitwise and",
    [Commutative, Sinter_CheapAsLoad, Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_OrOp : Sinter_BinaryOp<"or", Sinter_TensorOf<AnyTypeOf<[Sinter_Int, I1]>>, "bitwise or",
    [Commutative, Sinter_CheapAsLoad, Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_XorOp : Sinter_BinaryOp<"xor", Sinter_TensorOf<AnyTypeOf<[Sinter_Int, I1]>>, "bitwise exclusive or",
    [Commutative, Sinter_CheapAsLoad, Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_ShiftLeftOp : Sinter_BinaryOp<"shift_left", Sinter_IntTensor,
    "x << y; 0 if y is not less than the width", [Sinter_CheaperByConstant, Sinter_ZeroGradient]> {
  let hasFolder = 1;
}
def Sinter_ShiftRightOp : Sinter_BinaryOp<"shift_right", Sinter_IntTensor,
    "x >> y, logical for unsigned and arithmetic for signed; all sign bits if y is not less than the width", [Sinter_CheaperByConstant, Sinter_ZeroGradient]> {
  let hasFolder = 1;
}

def Sinter_CompareOp : Sinter_ElementwiseOp<"compare",
    [SameTypeOperands, Sinter_InferType, Sinter_CheapAsLoad, Sinter_ZeroGradient]> {
  let summary = "the truth value of a comparison";
  let description = [{
    Comparisons with NaN are false, except `ne`, which is true.

    C1: operands have the same type. C2: the result has their shape and element type i1.
    ```mlir
    %c = sinter.compare lt %x, %y : tensor<4xf32>
    ```
  }];
  let arguments = (ins Sinter_CompareKindAttr:$kind, Sinter_Tensor:$lhs, Sinter_Tensor:$rhs);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Sinter_IsNanOp : Sinter_ElementwiseOp<"is_nan", [Sinter_InferType, Sinter_ZeroGradient]> {
  let summary = "true where x is NaN";
  let description = "C1: the result has the shape of `x` and element type i1.\n\n"
      "```mlir\n%c = sinter.is_nan %x : tensor<4xf32>\n```";
  let arguments = (ins Sinter_FloatTensor:$x);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Sinter_WhereOp : Sinter_ElementwiseOp<"where", [Sinter_ChoosesElements, Sinter_PrecisionInfer,
    AllTypesMatch<["lhs", "rhs", "result"]>, Sinter_CheapAsLoad]> {
  let summary = "lhs where the condition holds, else rhs";
  let description = [{
    C1: `lhs`, `rhs` and the result have the same type. C2: `condition` has their shape.
    ```mlir
    %z = sinter.where %c, %x, %y : tensor<4xf32>
    ```
  }];
  let arguments = (ins Sinter_BoolTensor:$condition, Sinter_Tensor:$lhs, Sinter_Tensor:$rhs);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($result)";
  let hasFolder = 1;
}

def Sinter_CastOp : Sinter_ElementwiseOp<"cast", [Sinter_CheapAsLoad]> {
  let summary = "the same value in another element type";
  let description = [{
    A float is rounded to the nearest float, ties to even. A float becomes an integer by truncation
    toward zero and saturation at the bounds of the type; NaN becomes 0. A narrower integer keeps the low
    bits. Anything becomes i1 by `x != 0`; i1 becomes 0 or 1.

    C1: operand and result have the same shape.
    ```mlir
    %y = sinter.cast %x : tensor<4xf32> -> tensor<4xi32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

#endif // SINTER_IR_OPS_ELEMENTWISE_TD
