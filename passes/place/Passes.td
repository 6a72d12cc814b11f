//===- Passes.td - passes of the place phase ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_PASSES_TD
#define SINTER_PASSES_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeComposites : Pass<"sinter-decompose-composites", "::mlir::ModuleOp"> {
  let summary = "Replace composite ops by ops of the compact set";
  let description = [{
    Softmax, normalisations, gelu, attention, losses and update rules are replaced by their
    decompositions, and so are the composites in these. A stop_gradient is replaced by its operand, so
    the pass must come after differentiation. In the place phase `sinter-place-ops` does the same for
    the composites that a target does not keep.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of ops, without the dialect, that are not replaced">,
  ];
}

def PlaceOps : Pass<"sinter-place-ops", "::mlir::ModuleOp"> {
  let summary = "give every op a device; decompose the composites that its target does not keep";
  let description = [{
    Needs targets: tools that have some register the pass with the devices that a program may span. A node
    goes to the device that a rule names, else to the first device, or to that of its neighbours if this
    saves copies. A node that its device cannot run may go to the CPU; one that does not fit may go to
    the CPU or to the next GPU. Gradients follow their nodes, updates their parameters. Data crosses to
    another device by `sinter.copy`. One error lists all ops that their target does not support, with
    their nodes and the reasons.
  }];
  let constructor = "::sinter::passes::createPlaceOps({}, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    ListOption<"rules", "rule", "std::string",
               "REGEX=DEVICE: nodes whose name matches run on this device; the last matching rule counts">,
    Option<"allowCpu", "allow-cpu", "std::string", "\"\"",
           "regular expression for nodes that may run on the CPU if their device cannot run or hold them">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0",
           "bytes that each GPU may hold; 0: no limit">,
    ListOption<"memoryReserves", "memory-reserve", "int64_t",
               "by device: bytes of the limit to reserve for what the estimate of values leaves out">,
    Option<"log", "log", "bool", "false", "record the regions in the module even if there is only one device">,
    Option<"policy", "policy", "std::string", "\"fp32\"",
           "policy of the precision phase; composites that it will give 16-bit operands are kept for it">,
    Option<"onOneDevice", "on-one-device", "std::string", "\"\"",
           "a flag that only programs on one device support; spanning several is then an error that names it">,
  ];
}

def SplitDevices : Pass<"sinter-split-devices", "::mlir::ModuleOp"> {
  let summary = "Move each part of a program that runs on one device into a function of its own";
  let description = [{
    A program whose values are on several devices becomes calls and `sinter.copy`s: the ops of one device
    between two copies become a private function that carries the number of its device. A program on one
    device does not change.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

#endif // SINTER_PASSES_PLACE_PASSES_TD
