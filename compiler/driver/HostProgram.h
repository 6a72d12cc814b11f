//===- HostProgram.h - a program that calibration runs ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Calibration makes programs that return values of the user's program, and runs
// them in float32 on this machine's CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_HOSTPROGRAM_H
#define SINTER_COMPILER_DRIVER_HOSTPROGRAM_H

#include "compiler/driver/Driver.h"
#include "compiler/emit/Jit.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::compiler {

/// Makes `values` the results of `main`, as outputs "r0", "r1", ... Its index
/// checks stay.
void returnValues(mlir::func::FuncOp main, llvm::ArrayRef<mlir::Value> values);

/// Compiles `module`, which has @main, from phase `first` on; the module
/// changes. Null after a failure, whose exit code is in `code`; `problem` has
/// what was not reported.
std::unique_ptr<Jit> compileForHost(mlir::ModuleOp module,
                                    const Options &options, const Phase &first,
                                    llvm::ArrayRef<TargetFactory> targets,
                                    ExitCode &code, std::string &problem);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_HOSTPROGRAM_H
