//===- ArtifactChecks.h - is this artifact safe to walk? --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The program loader runs these checks before it trusts an artifact: afterwards
// every index, slice, stride and shape in the tables is within bounds, so a
// corrupt or foreign table causes one error line, never a crash. Only code
// addresses cannot be checked.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_ARTIFACTCHECKS_H
#define SINTER_RUNTIME_EXEC_ARTIFACTCHECKS_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <string>

namespace sinter::rt {

/// Checks everything in `artifact`. Errors are SINTER_INVALID and name the
/// table entry.
Status checkArtifact(const sinter_artifact &artifact);

/// Checks `artifact` and those chained to it, and that all are one program for
/// different targets.
Status checkArtifacts(const sinter_artifact &artifact);

/// The artifact of a checked chain for devices of `kind`; else SINTER_INVALID:
/// "the program was compiled for cpu and sim; it cannot run on `device`".
Result<const sinter_artifact *> artifactFor(const sinter_artifact &artifact,
                                            const std::string &kind,
                                            const std::string &device);

/// Checks one command of `entry`; `artifact`'s own tables must have been
/// checked. Errors do not name the command: the caller adds that as a prefix.
Status checkCommand(const sinter_artifact &artifact, const sinter_entry &entry,
                    const sinter_command &command);

/// Checks, after the commands, that one AWAIT follows each COLLECTIVE.
Status checkWaits(const sinter_entry &entry);

/// Whether `command`, which was checked, is in a chain that goes on after it.
inline bool isChainedToNext(const sinter_command &command) {
  return command.numSlices && command.numReads < command.numSlices &&
         command.slices[command.numSlices - 1].space == SINTER_SPACE_CHAIN;
}
/// Checks, after the commands, that those of a chain follow each other.
Status checkChains(const sinter_artifact &artifact, const sinter_entry &entry);

/// Whether devices of `kind` ("cpu", "cuda", "sim") can run the kernel.
bool hasCodeFor(const sinter_artifact &artifact,
                const sinter_kernel_desc &kernel, const char *kind);

/// Check a library call's parameters and operand extents against its slices.
Status checkMatmul(const sinter_command &command);
Status checkConv(const sinter_command &command);
Status checkAttention(const sinter_command &command);

/// Bytes of one element, or 0 for a number that is not a sinter_dtype.
uint64_t dtypeBytes(uint32_t dtype);
/// "f32", "i64", ...; "dtype 99" for a number that is not a sinter_dtype.
std::string dtypeName(uint32_t dtype);

/// "launch", "matmul", ...; of a COLLECTIVE its op: "all_reduce", ...;
/// "unknown" for a number that is not a sinter_command_kind or
/// sinter_collective_op.
const char *commandName(const sinter_command &command);

/// a * b and a + b of nonnegative numbers; false if int64 cannot hold them.
inline bool multiplyInto(int64_t a, int64_t b, int64_t &result) {
  return !__builtin_mul_overflow(a, b, &result);
}
inline bool addInto(int64_t a, int64_t b, int64_t &result) {
  return !__builtin_add_overflow(a, b, &result);
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_ARTIFACTCHECKS_H
