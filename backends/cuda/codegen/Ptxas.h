//===- Ptxas.h - NVIDIA's assembler of PTX ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// ptxas is a program of the CUDA toolkit. It turns PTX into a cubin: machine
// code for one architecture.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_PTXAS_H
#define SINTER_BACKENDS_CUDA_CODEGEN_PTXAS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::cuda {

class Ptxas {
public:
  /// Looks in $CUDA_HOME/bin if CUDA_HOME is set, else on PATH and in
  /// /usr/local/cuda/bin, for one that reads our PTX. If there is none, `why`
  /// says so in one line.
  static std::optional<Ptxas> find(std::string &why);

  /// "13.0.88".
  const std::string &version() const { return version_; }

  /// PTX, and the architecture to assemble it for.
  struct Job {
    unsigned arch;
    llvm::StringRef ptx;
  };
  /// Why assembling failed, in one line.
  struct Failure {
    std::string text;
    bool isRejected = false; // ptxas found an error in the PTX
  };
  /// The cubins of `jobs`, in their order; with a failure, none. Runs at most
  /// `processes` at a time. Equal PTX and an equal version give equal bytes.
  std::optional<std::vector<std::string>> assemble(llvm::ArrayRef<Job> jobs,
                                                   unsigned processes,
                                                   Failure &failure) const;

private:
  std::string path_, version_;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_PTXAS_H
