//===- Interfaces.td - what passes may ask of an op -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_INTERFACES_TD
#define SINTER_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Sinter_EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    The reference meaning of an op, used by folding, bisection and tests, never by
    compiled programs. Written for clarity, computed in float64 and int64.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the results from `operands` (one tensor per operand, of its shape).
      Each float result is rounded to its element type afterwards by the caller when
      exact storage is wanted. Fails, with an error on the op, only where the meaning is
      undefined for these values (an index out of range).
    }], "::mlir::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::sinter::ir::Tensor>":$operands,
           "::llvm::SmallVectorImpl<::sinter::ir::Tensor> &":$results)>
  ];
}

def Sinter_CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op whose meaning is a composition of ops of the compact set. Targets that have a
    better whole keep it; elsewhere it is decomposed when placed.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the composition before the op and returns the values that equal its
      results, in order. Does not erase the op.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>
  ];
}

//===----------------------------------------------------------------------===//
// What passes ask; an op without the interface is taken to answer "no"
//===----------------------------------------------------------------------===//

def Sinter_IndexMapOpInterface : OpInterface<"IndexMapOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op each element of whose result is made from one element of an operand, at an affine function of the
    result's index. Kernels are nests of such ops.
  }];
  let methods = [
    InterfaceMethod<[{
      The index of operand number `operand` that the op reads to compute its result at `index`; nullopt where
      that is not one affine element. For reductions `reducedLoops` has the loop of each reduced dimension, in
      order. By default, as for elementwise ops, the same index.
    }], "::std::optional<::sinter::ir::IndexVector>", "mapIndex",
      (ins "unsigned":$operand, "::llvm::ArrayRef<::sinter::ir::Index>":$index,
           "::llvm::ArrayRef<unsigned>":$reducedLoops), "", [{
        auto type = ::llvm::cast<::mlir::RankedTensorType>($_op->getOperand(operand).getType());
        if (type.getRank() != static_cast<int64_t>(index.size()))
          return ::std::nullopt;
        return ::sinter::ir::IndexVector(index);
      }]>
  ];
}

def Sinter_ElementCostOpInterface : OpInterface<"ElementCostOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op that is so cheap that a kernel may compute an element again for each use. See `elementCost`.
  }];
  let methods = [
    InterfaceMethod<"What an element costs; by default as much as a load.", "::sinter::ir::ElementCost",
      "getElementCost", (ins), "", "return ::sinter::ir::ElementCost::load;">
  ];
}

def Sinter_LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op that can work on channels-last values (N spatial.. C) as well as on channels-first ones. See `carriedLayout`.
  }];
  let methods = [
    InterfaceMethod<[{
      Which operands, and whether the result, may change to channels-last together. By default all, if the result has
      channels.
    }], "::sinter::ir::CarriedLayout", "getCarriedLayout", (ins), "",
      "return ::sinter::ir::carryAll($_op);">
  ];
}

def Sinter_RowsOpInterface : OpInterface<"RowsOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op of which it is known how rows of a batch go through it. One without the interface mixes rows. See
    passes/RowDependence.h.
  }];
  let methods = [
    InterfaceMethod<[{
      Where the results have their rows, given where each operand has them (nullopt: it is the same for each
      batch); nullopt where rows are mixed. At least one operand has rows. By default, as for elementwise ops, where
      the operands have them, if they agree.
    }], "::std::optional<::sinter::ir::RowDim>", "getResultRows",
      (ins "::llvm::ArrayRef<::std::optional<::sinter::ir::RowDim>>":$operands, "int64_t":$batch), "",
      "return ::sinter::ir::commonRows(operands);">
  ];
}

// For ops whose answer is not the default: declares the method, which is defined beside the ops of the family or in
// ops/IndexMaps.cpp, ops/Layouts.cpp and ops/Rows.cpp.
def Sinter_IndexMap : DeclareOpInterfaceMethods<Sinter_IndexMapOpInterface, ["mapIndex"]>;
def Sinter_ElementCost : DeclareOpInterfaceMethods<Sinter_ElementCostOpInterface, ["getElementCost"]>;
def Sinter_CarriedLayout : DeclareOpInterfaceMethods<Sinter_LayoutOpInterface, ["getCarriedLayout"]>;
def Sinter_ResultRows : DeclareOpInterfaceMethods<Sinter_RowsOpInterface, ["getResultRows"]>;
// The default answer of ElementCostOpInterface.
defvar Sinter_CheapAsLoad = Sinter_ElementCostOpInterface;

//===----------------------------------------------------------------------===//
// What the fuse phase makes
//===----------------------------------------------------------------------===//

def Sinter_FusionOpInterface : OpInterface<"FusionOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    A region of the graph that becomes one command: `sinter.kernel` or `sinter.library_call`. The body's arguments are
    the operands; `sinter.yield` gives the results.
  }];
  let methods = [
    InterfaceMethod<"The values that the body reads.", "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"The values that the body computes.", "::mlir::ResultRange", "getOutputs">,
    InterfaceMethod<"The region, of one block.", "::mlir::Region &", "getBody">
  ];
}

def Sinter_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    What code is generated for: `sinter.kernel`, and the `exec.kernel` that is made of equal ones.
    `verifyKernel` (ir/Kernel.h) checks what code generators rely on.
  }];
  let methods = [
    InterfaceMethod<"How the kernel is organized.", "::sinter::ir::KernelKind", "getKind">,
    InterfaceMethod<"The loops and where results lie in them; null for kinds that need none.",
                    "::sinter::ir::DomainAttr", "getDomainAttr">,
    InterfaceMethod<"The region, of one block.", "::mlir::Region &", "getBody">
  ];
}

#endif // SINTER_IR_INTERFACES_TD
