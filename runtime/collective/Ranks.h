//===- Ranks.h - which process of a job this is -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Launchers (torchrun, srun, mpirun, Kubernetes) start the processes of a job
// and tell each its number in environment variables. One table maps all of them
// to the same facts.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_RANKS_H
#define SINTER_RUNTIME_COLLECTIVE_RANKS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sinter::rt {

/// What the command line says. Unset where it says nothing.
struct RankFlags {
  std::optional<int64_t> rank, world;
  std::string leader; // HOST:PORT
};

struct Ranks {
  uint32_t rank = 0, world = 1;
  /// The process's number among those of its host; `rank` if no variable says
  /// it.
  uint32_t localRank = 0;
  bool knowsLocalRank = false;
  /// Where rank 0 listens. "" and 0 with one process.
  std::string leaderHost;
  uint16_t leaderPort = 0;
  /// What the processes of one job, and no others, have in common; "" if
  /// nothing is known.
  std::string job;
  /// What the numbers come from: "torchrun (RANK, WORLD_SIZE)"; "" with one
  /// process that no launcher started.
  std::string source;
};

/// The value of an environment variable, or null.
using Environment = std::function<const char *(const char *name)>;

/// Who this process is. The command line comes first, then the innermost
/// launcher: torchrun may run under srun. SINTER_INVALID, naming what to add or
/// change, if something is missing, is not a number, or contradicts another
/// part of the same source or the command line. A world of 1 on the command
/// line is one process, whatever launcher has started it.
Result<Ranks> findRanks(const RankFlags &flags, const Environment &environment);

/// The variables that tell a process its number. Whoever starts processes with
/// numbers of their own removes them from their environment.
std::vector<const char *> launcherVariables();

/// A port that follows from a job's identity, outside the range from which
/// Linux takes ports for outgoing connections.
uint16_t portOfJob(const std::string &job);

/// The first host of Slurm's compressed list: "n01" of "n[01-04,07],x1".
std::string firstHostOf(const std::string &list);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_RANKS_H
