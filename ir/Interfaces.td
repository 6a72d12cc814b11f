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
    The reference meaning of an op, used by folding, bisection and tests, but never by
    compiled programs. It is written for clarity and computed in float64 and int64.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the results from `operands` (one tensor per operand, of its shape). A caller
      that needs the stored values rounds float results to their element type afterwards.
      Fails with an error on the op only if the meaning is undefined for these values (an
      index out of range).
    }], "::mlir::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::sinter::ir::Tensor>":$operands,
           "::llvm::SmallVectorImpl<::sinter::ir::Tensor> &":$results)>
  ];
}

def Sinter_CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op whose meaning is a composition of ops of the compact set. A target that implements
    the whole better keeps it; for other targets the place phase decomposes it.
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
// What passes ask; an op without the interface counts as answering "no"
//===----------------------------------------------------------------------===//

def Sinter_IndexMapOpInterface : OpInterface<"IndexMapOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op that computes each element of its result from one element of an operand, whose index is an affine function
    of the index of the result. Kernels are nests of such ops.
  }];
  let methods = [
    InterfaceMethod<[{
      The index at which the op reads operand number `operand` to compute its result at `index`; nullopt if
      that is not one affine index. For reductions `reducedLoops` has the loop of each reduced dimension, in
      order. The default is that of elementwise ops: the same index.
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
    An op so cheap that a kernel may compute an element again for each use. See `elementCost`.
  }];
  let methods = [
    InterfaceMethod<"The cost of an element; by default that of a load.", "::sinter::ir::ElementCost",
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
      The operands that may change to channels-last together, and whether the result may. By default all of them, if
      the result has channels.
    }], "::sinter::ir::CarriedLayout", "getCarriedLayout", (ins), "",
      "return ::sinter::ir::carryAll($_op);">
  ];
}

def Sinter_RowsOpInterface : OpInterface<"RowsOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op for which it is known how the rows of a batch pass through it. An op without the interface counts as mixing
    rows. See passes/RowDependence.h.
  }];
  let methods = [
    InterfaceMethod<[{
      The dimension in which the results have their rows, given that of each operand (nullopt: the operand is the same
      for every batch); nullopt if rows are mixed. At least one operand has rows. The default is that of elementwise
      ops: the dimension of the operands, if they agree.
    }], "::std::optional<::sinter::ir::RowDim>", "getResultRows",
      (ins "::llvm::ArrayRef<::std::optional<::sinter::ir::RowDim>>":$operands, "int64_t":$batch), "",
      "return ::sinter::ir::commonRows(operands);">
  ];
}

def Sinter_SoloKernelOpInterface : OpInterface<"SoloKernelOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op that becomes a kernel on its own, because its loops are not those of its result. Others are fused.
  }];
  let methods = [
    InterfaceMethod<"The kind of the kernel.", "::sinter::ir::KernelKind", "getKernelKind">
  ];
}

// For ops whose answer is not the default: declares the method. Definitions are beside the ops of the family, or in
// ops/IndexMaps.cpp, ops/Layouts.cpp, ops/Rows.cpp and ops/SoloKernels.cpp.
def Sinter_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op that all replicas of a program do together, in the same order. Operand k and result k are one array of a message;
    all operands of an op travel in one.
  }];
  let methods = [
    InterfaceMethod<"The arrays of this replica.", "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"What they become, one for each.", "::mlir::ResultRange", "getOutputs">,
    InterfaceMethod<"The axis of the mesh along which the replicas lie.", "::sinter::ir::MeshAxis", "getAxis">,
    InterfaceMethod<"How many there are along it.", "uint64_t", "getReplicas">
  ];
}

def Sinter_IndexMap : DeclareOpInterfaceMethods<Sinter_IndexMapOpInterface, ["mapIndex"]>;
def Sinter_ElementCost : DeclareOpInterfaceMethods<Sinter_ElementCostOpInterface, ["getElementCost"]>;
def Sinter_CarriedLayout : DeclareOpInterfaceMethods<Sinter_LayoutOpInterface, ["getCarriedLayout"]>;
def Sinter_ResultRows : DeclareOpInterfaceMethods<Sinter_RowsOpInterface, ["getResultRows"]>;
def Sinter_SoloKernel : DeclareOpInterfaceMethods<Sinter_SoloKernelOpInterface>;
// The default answer of ElementCostOpInterface.
defvar Sinter_CheapAsLoad = Sinter_ElementCostOpInterface;

//===----------------------------------------------------------------------===//
// What the fuse phase creates
//===----------------------------------------------------------------------===//

def Sinter_FusionOpInterface : OpInterface<"FusionOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    A region of the graph that becomes one command: `sinter.kernel` or `sinter.library_call`. The arguments of the
    body are the operands, and `sinter.yield` gives the results.
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
    An op for which code is generated: `sinter.kernel`, and the `exec.kernel` that is made of equal ones.
    `verifyKernel` (ir/Kernel.h) checks what code generators rely on.
  }];
  let methods = [
    InterfaceMethod<"How the kernel is organized.", "::sinter::ir::KernelKind", "getKind">,
    InterfaceMethod<"The loops and the positions of results in them; null for kinds without a domain.",
                    "::sinter::ir::DomainAttr", "getDomainAttr">,
    InterfaceMethod<"The region, of one block.", "::mlir::Region &", "getBody">
  ];
}

#endif // SINTER_IR_INTERFACES_TD
