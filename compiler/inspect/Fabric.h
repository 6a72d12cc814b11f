//===- Fabric.h - what connects the processes of a job ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The time of a message from latencies and rates of links (the alpha-beta model
// of Hockney, 1994).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_FABRIC_H
#define SINTER_COMPILER_INSPECT_FABRIC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// What connects processes. Each has one replica.
struct Fabric {
  struct Link {
    int64_t processes = 0; // that it connects; 0: all
    double latencyUs = 0;
    double bytesPerUs = 0; // of one process, in each direction
  };
  std::string name;
  /// The innermost first, as within a host, between hosts. Each connects a
  /// multiple of the processes of the one before; the last connects all.
  std::vector<Link> links;
  /// What a process copies and sums itself in a microsecond; 0: that takes no
  /// time of the message.
  double copyBytesPerUs = 0;
  /// Each process sends to its neighbour alone, as NCCL does; else to all
  /// others at once, as trainers on CPUs do.
  bool isRing = false;

  /// Fails with what is wrong in the object, in one line.
  static llvm::Expected<Fabric> read(const llvm::json::Object &object);
  /// Over which links a message of `world` processes goes.
  llvm::ArrayRef<Link> linksFor(int64_t world) const;
};

/// The time of one message among `world` processes, in us. `op`: of
/// sinter_collective_op; `bytes`: of the whole arrays.
double messageUs(const Fabric &fabric, uint32_t op, uint64_t bytes,
                 int64_t world);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_FABRIC_H
