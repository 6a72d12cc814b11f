//===- Retarget.h - CUDA kernels as code for x86-64 -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Turns the optimised module of one kernel, the same that the NVPTX backend
// gets, into a function that does the work of one CUDA thread
// (sinter_sim_kernel). Address spaces become one and shared memory becomes an
// arena. Operations that only a GPU has (thread numbers, barriers, shuffles,
// matrix products) become calls through the table of sinter/sim.h. Arithmetic
// that x86 does differently (conversions that overflow, minima of zeros and
// NaN) is emitted with PTX's results.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_CODEGEN_RETARGET_H
#define SINTER_BACKENDS_SIM_CODEGEN_RETARGET_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>

namespace sinter::sim {

struct SimOptions {
  unsigned optLevel = 2;         // of the x86 pipeline
  bool isChecked = false;        // reports every access: bounds, races
  bool isMutable = false;        // predicates can be forced: the mutation check
  bool textOnly = false;         // LLVM IR instead of an object
  llvm::StringRef features = ""; // of the x86-64 machine; "": the baseline
};

/// A relocatable ELF file that defines the kernel's name as a
/// sinter_sim_kernel, or with textOnly its LLVM IR. `kernelModule` has one
/// kernel whose parameters are pointers, and is not changed. Fails with one
/// line that names what the simulated device does not support. Thread-safe for
/// modules of different contexts.
llvm::Expected<std::string> compileForSim(const llvm::Module &kernelModule,
                                          const SimOptions &options);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_RETARGET_H
