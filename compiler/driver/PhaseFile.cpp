//===- PhaseFile.cpp - compiling what --stop-after wrote ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/PhaseFile.h"

#include "ir/Dialect.h"
#include "ir/exec/Exec.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static bool hasFunction(mlir::ModuleOp module, StringRef name) {
  return module.lookupSymbol<mlir::func::FuncOp>(name) != nullptr;
}

static bool isFused(mlir::ModuleOp module) {
  return module
      .walk([](ir::FusionOpInterface) { return mlir::WalkResult::interrupt(); })
      .wasInterrupted();
}

static std::string whyNotPlaced(mlir::ModuleOp module, const Options &options,
                                llvm::ArrayRef<passes::ProgramDevice> devices) {
  llvm::SmallVector<StringRef> placed = ir::deviceNames(module);
  if (placed.empty())
    return "";
  bool areThere = llvm::all_of(placed, [&](StringRef name) {
    return llvm::any_of(devices, [&](const passes::ProgramDevice &device) {
      return device.name == name;
    });
  });
  std::string list = llvm::join(placed, ",");
  std::string already = "is already placed on " + list + ": ";
  if (!options.placeRules.empty() || !options.allowCpu.empty())
    return already + (options.placeRules.empty() ? "--allow-cpu" : "--place") +
           " applies only to the model";
  return areThere ? ""
                  : already + "continue with --target=" + list +
                        ", or give the model";
}

static std::string isPast(StringRef what, StringRef phase) {
  return ("is already " + what +
          "; give the model, or a file of a phase before '" + phase +
          "' (sinter-opt --phase=PHASE continues from here)")
      .str();
}

bool compiler::isPlannedModule(mlir::ModuleOp module) {
  return !module.getOps<exec::ProgramOp>().empty();
}

std::string
compiler::whyNotContinued(mlir::ModuleOp module, const Options &options,
                          llvm::ArrayRef<passes::ProgramDevice> devices,
                          const Phase &last) {
  auto reaches = [&](StringRef phase) {
    return phaseIndex(last) >= phaseIndex(*findPhase(phase));
  };
  if (isPlannedModule(module))
    return isPast("planned", "plan");
  bool isTraining = !hasFunction(module, SINTER_ENTRY_MAIN) &&
                    (hasFunction(module, SINTER_ENTRY_STEP) ||
                     hasFunction(module, SINTER_ENTRY_APPLY));
  if (isTraining && (reaches("train") || options.train.enabled))
    return isPast("a training program", "train");
  if ((reaches("train") || options.train.enabled) && isFused(module))
    return isPast("fused", "fuse");
  if (reaches("place"))
    return whyNotPlaced(module, options, devices);
  return "";
}
