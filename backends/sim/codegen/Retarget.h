//===- Retarget.h - CUDA kernels as code for x86-64 -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The very module of one kernel that goes to the NVPTX backend, after its
// optimisation, becomes a function that does what one CUDA thread does
// (sinter_sim_kernel): address spaces become one, shared memory an arena, and
// what only a GPU has (thread numbers, barriers, shuffles, matrix products)
// calls through the table of sinter/sim.h. Where x86 computes otherwise than
// PTX (conversions that overflow, minima of zeros and NaN), the code says what
// PTX does.
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
  bool isChecked = false;        // every access is reported: bounds, races
  bool isMutable = false;        // predicates can be forced: the mutation check
  bool textOnly = false;         // LLVM IR in place of an object
  llvm::StringRef features = ""; // of the x86-64 machine; "": the baseline
};

/// A relocatable ELF file that defines the kernel's name as a
/// sinter_sim_kernel, or with textOnly its LLVM IR. `kernelModule` holds one
/// kernel of pointers and is not changed. Fails with one line that names what
/// the simulated device does not have. Thread-safe for modules of different
/// contexts.
llvm::Expected<std::string> compileForSim(const llvm::Module &kernelModule,
                                          const SimOptions &options);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_RETARGET_H
