//===- ArtifactFacts.h - words and numbers of an artifact -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the reports about artifacts share: names of enumerators, sums over
// devices, the work of contractions.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_ARTIFACTFACTS_H
#define SINTER_COMPILER_INSPECT_ARTIFACTFACTS_H

#include "compiler/inspect/JsonText.h"
#include "runtime/base/ByteRanges.h"
#include "sinter/abi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

inline llvm::ArrayRef<sinter_entry> entries(const sinter_artifact &artifact) {
  return {artifact.entries, artifact.numEntries};
}
/// A command as reports show it.
struct ShownCommand : sinter_command {
  uint32_t index = 0;  // in the table; of the body of a scan that of the scan
  int64_t inBody = -1; // in the body of a scan
  int64_t trips = 1;   // how often a run runs it
  bool isInScan() const { return inBody >= 0; }
  /// "3", or "3.1" in a body.
  std::string number() const;
};
/// The commands of an entry. Those in the body of a scan follow it, each once.
std::vector<ShownCommand> commands(const sinter_entry &entry);
inline llvm::ArrayRef<sinter_image> images(const sinter_artifact &artifact) {
  return {artifact.images, artifact.numImages};
}

/// "float32".
const char *dtypeName(uint32_t dtype);
/// "launch", "matmul", ...; of a collective its op: "all_reduce", ...
const char *commandName(const sinter_command &command);
/// Whether it sends a message or waits for one: links bound its time, not
/// memory.
inline bool isMessage(const sinter_command &command) {
  return command.kind == SINTER_CMD_COLLECTIVE ||
         command.kind == SINTER_CMD_AWAIT;
}
/// "arena", "state", ...
const char *spaceName(uint32_t space);
/// "param", "buffer", ...
const char *roleName(uint32_t role);
/// "cubin" or "PTX".
const char *imageKind(const sinter_image &image);
/// "float32 [2, 3]".
std::string typeText(const sinter_tensor_desc &tensor);
/// Of the place with this number: "cpu", "sim:1".
std::string deviceName(const sinter_artifact &artifact, int64_t place);
/// The name of the kernel that a launch runs; of other commands their kind.
llvm::StringRef targetName(const sinter_artifact &artifact,
                           const sinter_command &command);

/// The bytes that library calls may use as workspace, for each place.
std::vector<uint64_t> workspaces(const sinter_artifact &artifact);
/// Arena bytes of each place, and their sum.
std::vector<uint64_t> arenas(const sinter_artifact &artifact,
                             const sinter_entry &entry);
uint64_t arenaBytes(const sinter_artifact &artifact, const sinter_entry &entry);
/// "3.0 KiB", or for several devices "3.0 KiB (sim:0 1.0 KiB, cpu 2.0 KiB)".
std::string arenaText(const sinter_artifact &artifact,
                      const sinter_entry &entry);
/// How many states the replicas divide.
uint32_t numDivided(const sinter_artifact &artifact);
/// The bytes of the blocks that hold the states of one replica, summed over all
/// places.
uint64_t stateBytes(const sinter_artifact &artifact);

/// The bytes that commands read and write.
class CommandBytes {
public:
  explicit CommandBytes(const sinter_artifact &artifact);
  /// Of one trip.
  rt::AccessedBytes of(const sinter_command &command) const;

private:
  std::vector<std::vector<rt::AccessLimit>> limits_; // by kernel
};

/// Whether it counts as a contraction: products, convolutions and attention.
bool isContraction(uint32_t kind);
/// Whether loops of the runtime compute the contraction, and no library does.
bool isByLoops(const sinter_command &command);
/// The dtype in which a contraction multiplies.
uint32_t contractionDtype(const sinter_command &command);

/// The manifest; empty if it is not a JSON object.
llvm::json::Object manifestOf(const sinter_artifact &artifact);

/// The CPU that a program was compiled for, as --mcpu names it; `machine` if
/// that is the CPU of the machine that compiled it.
std::string cpuOf(const sinter_artifact &artifact, const std::string &machine);

/// What a table of the manifest says of a kernel; null if nothing. In a file
/// for several targets, the kernels of all but the first end in "_TARGET", in
/// the manifest they do not.
const llvm::json::Value *kernelEntry(const llvm::json::Object *table,
                                     const sinter_artifact &artifact,
                                     llvm::StringRef kernel);
/// The same for a table of texts; `otherwise` if it says nothing.
std::string kernelText(const llvm::json::Object *table,
                       const sinter_artifact &artifact, llvm::StringRef kernel,
                       llvm::StringRef otherwise);

/// The floating-point operations of one launch of a kernel or one library call.
struct KernelFlops {
  std::map<std::string, double> contractions; // by dtype
  double other = 0;
  double total() const;
  KernelFlops &operator+=(const KernelFlops &more);
  KernelFlops &operator*=(double times);
};
/// Of a library call: its contraction, and what its post-ops compute, counted
/// as passes/Flops.h counts ops. Zero for other commands.
KernelFlops callFlops(const sinter_command &command);
/// Of each kernel by its name; empty if the manifest does not say.
std::map<std::string, KernelFlops> kernelFlops(const sinter_artifact &artifact);

/// Of each command of an entry, in all its trips: of a launch those of its
/// kernel.
std::vector<KernelFlops> commandFlops(const sinter_artifact &artifact,
                                      const sinter_entry &entry);

/// Of a run: what the body of a scan has counts in each trip, the scan itself
/// does not.
struct EntryTotals {
  double flops = 0;      // of contractions, in libraries and in kernels
  double otherFlops = 0; // of all else in kernels, and of post-ops
  unsigned commands = 0, launches = 0;
  unsigned calls = 0;     // of libraries, or of loops of the runtime
  unsigned loopCalls = 0; // those of loops
  llvm::SetVector<uint32_t> kernels;
  std::map<std::string, double> flopsByDtype; // of contractions
};
EntryTotals total(const sinter_artifact &artifact, const sinter_entry &entry);

llvm::json::Object jsonTensor(const sinter_tensor_desc &tensor);
llvm::json::Array jsonTensors(llvm::ArrayRef<sinter_tensor_desc> tensors);
/// The names of nodes in a command's label.
llvm::json::Array jsonNodes(llvm::StringRef label);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_ARTIFACTFACTS_H
