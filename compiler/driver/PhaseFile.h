//===- PhaseFile.h - from which phase a file goes on ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What --stop-after wrote can be read again, and the phases run on it anew:
// those that are done find nothing left to do. That does not hold where a phase
// has settled what the flags of another run may ask for otherwise (the loss,
// the target, the precision). Such files are refused.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_PHASEFILE_H
#define SINTER_COMPILER_DRIVER_PHASEFILE_H

#include "compiler/Phases.h"
#include "compiler/options/Options.h"
#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::compiler {

/// Whether the module is a program of commands and buffers.
bool isPlannedModule(mlir::ModuleOp module);

/// Why the phases up to `last` cannot run on a module that a file holds, "" if
/// they can: it is a training program, fused or planned already, or placed on
/// devices that are not among `devices`, those of the program.
std::string whyNotContinued(mlir::ModuleOp module, const Options &options,
                            llvm::ArrayRef<passes::ProgramDevice> devices,
                            const Phase &last);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_PHASEFILE_H
