//===- Passes.td - passes of the simplify phase ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_PASSES_TD
#define SINTER_PASSES_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldConstants : Pass<"sinter-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Evaluate ops whose operands are all constants";
  let description = [{
    One walk in program order, within a budget of bytes. Broadcasts and iotas of more than 1 KiB
    stay ops, and so do ops whose folding would only make the program's constants larger.
  }];
  let options = [
    Option<"maxOpBytes", "max-op-bytes", "int64_t", "64 << 20",
           "most bytes that an operand or the results of one op may have">,
    Option<"maxTotalBytes", "max-total-bytes", "int64_t", "256 << 20",
           "most bytes that all results may have together">,
  ];
}

def SimplifyAlgebra : Pass<"sinter-simplify-algebra", "::mlir::ModuleOp"> {
  let summary = "Replace ops by cheaper ones of equal value, merge equal ops, remove dead ones";
  let description = [{
    Applies every folder and canonicalizer of the dialect, patterns on numbers, shapes, gathers and
    contractions, and common subexpression elimination, until nothing changes. An op that replaces
    others gets their node names. A program that is differentiated later needs `keep-derivatives`:
    relu(x) has the value of max(x, 0), but at 0 its derivative is 0, and that of max(x, 0) is 1/2.
  }];
  let options = [
    Option<"keepDerivatives", "keep-derivatives", "bool", "false",
           "apply only rewrites that preserve derivatives, too">,
  ];
}

def NarrowProducts : Pass<"sinter-narrow-products", "::mlir::ModuleOp"> {
  let summary = "Multiply values that are quantised to 8 bits as integers";
  let description = [{
    A dot_general of two values (q - zero point) * scale, with 8-bit q, becomes one of the codes q in
    int32, corrections for the zero points, and one multiplication by both scales. So does a dot_general
    of int32 values q - zero point. Zero points and scales must not vary along the contracted dimensions.
    The int32 sums are exact; those of float32 would round. The same holds for a conv; its input has one zero
    point, with which it is padded, and one scale; its filter may have one of each for every output channel.

    A dot_general of at most 16 rows of floats with a matrix of weights (q - zero point) * scale, whose q have
    at most 8 bits and whose scales are those of blocks of at least 8 weights of a column, becomes one whose
    weights are computed from a constant of codes, two in a byte if all fit 4 bits. The constant has the attribute
    `sinter.unfolded`: the ops on it are not folded, and a call of the library multiplies by the codes.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def QuantizeContractions : Pass<"sinter-quantize-contractions", "::mlir::ModuleOp"> {
  let summary = "Quantise contractions of constant weights to 8 bits";
  let description = [{
    The input of a dot_general or conv of float32 becomes unsigned codes of 8 bits, with one scale and zero
    point, if a range is given for the op. Its weights become signed codes with one scale for each output
    channel. Both are written as quantisation and dequantisation in float32. The attribute `sinter.precision`
    of the module has the precision of each op, with the reason. For inference only.
  }];
  let constructor = "::sinter::passes::createQuantizeContractions()";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"keepFp32", "keep-fp32", "std::string", "\"\"", "regular expression for nodes that stay float32">,
    ListOption<"ranges", "ranges", "std::string",
               "FUNCTION/NODE/OP/NUMBER=LOW:HIGH, the range of the input of an op">,
  ];
}

def UnrollScans : Pass<"sinter-unroll-scans", "::mlir::ModuleOp"> {
  let summary = "Replace short scans by their trips";
  let description = [{
    The trips follow each other: each reads its slices of the stacks, and the slices of a stacked
    result are concatenated. Of scans in each other's bodies, at most the longest one stays. A scan
    of more than 4096 trips that may not stay is an error.
  }];
  let options = [
    Option<"maxTrips", "max-trips", "int64_t", "8",
           "most trips of a scan that is replaced; -1: any number">,
  ];
}

#endif // SINTER_PASSES_SIMPLIFY_PASSES_TD
