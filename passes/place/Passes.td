//===- Passes.td - passes of the place phase -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_PASSES_TD
#define SINTER_PASSES_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeComposites : Pass<"sinter-decompose-composites", "::mlir::ModuleOp"> {
  let summary = "Replace composites by what they are composed of";
  let description = [{
    Softmax, normalisations, gelu, attention, losses and update rules become ops of the
    compact set, except where the target keeps them whole.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of ops, without dialect, that stay">,
  ];
}

def PlaceOps : Pass<"sinter-place-ops", "::mlir::ModuleOp"> {
  let summary = "give every op a device; decompose the composites that its target does not keep";
  let description = [{
    Needs targets: tools that have them register the pass with the devices that a program may span. Nodes go
    where a rule says, where they are supported and fit, and else to the first device, or to that of their
    neighbours when this saves copies. Gradients follow their nodes, updates their parameters. Data crosses
    by `sinter.copy`. What a target does not support is one error with every op, its nodes and the reason.
  }];
  let constructor = "::sinter::passes::createPlaceOps({}, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    ListOption<"rules", "rule", "std::string", "REGEX=DEVICE: nodes whose name matches run there; the last rule counts">,
    Option<"allowCpu", "allow-cpu", "std::string", "\"\"",
           "regular expression of nodes that may run on the CPU when their device cannot">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0",
           "bytes that a GPU may hold; 0: any number">,
    ListOption<"memoryReserves", "memory-reserve", "int64_t",
               "bytes of these, by device, that are kept for what the estimate of values leaves out">,
    Option<"log", "log", "bool", "false", "keep the regions in the module for a single device, too">,
    Option<"policy", "policy", "std::string", "\"fp32\"",
           "of the precision phase: composites that will have 16-bit operands are kept for it">,
    Option<"onOneDevice", "on-one-device", "std::string", "\"\"",
           "the flag that only a program on one device can have: spanning several is an error">,
  ];
}

def SplitDevices : Pass<"sinter-split-devices", "::mlir::ModuleOp"> {
  let summary = "Give each part of a program that runs on one device a function of its own";
  let description = [{
    A program whose values are on several devices becomes calls and `sinter.copy`s: the ops of one device
    between two copies are a private function, with the number of its device. Nothing for programs on one
    device.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

#endif // SINTER_PASSES_PLACE_PASSES_TD
