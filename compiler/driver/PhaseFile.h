//===- PhaseFile.h - compiling what --stop-after wrote ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The phases can run again on a file that --stop-after wrote: phases that are
// done find nothing left to do. That does not hold if a phase made a choice
// that the flags of the new run may contradict (the loss, the target, the
// precision). Such files are refused.
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

/// Why the phases up to `last` cannot run on a module from a file, "" if they
/// can. They cannot if it is a training program, is already fused or planned,
/// or is placed on devices that are not among `devices`, those of the program.
std::string whyNotContinued(mlir::ModuleOp module, const Options &options,
                            llvm::ArrayRef<passes::ProgramDevice> devices,
                            const Phase &last);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_PHASEFILE_H
