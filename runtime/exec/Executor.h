//===- Executor.h - one entry of a program, ready to run ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// At load, every slice of every command becomes an address in one table; what
// changes from run to run (the host's inputs and outputs) is a short list of
// patches. A run writes the patches and walks the commands. What must stay
// true: run() allocates nothing, takes no lock and throws nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_EXECUTOR_H
#define SINTER_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/device/Device.h"
#include "runtime/exec/Profile.h"

#include <memory>
#include <vector>

namespace sinter::rt {

/// Where the spaces of a program lie.
struct MemoryMap {
  uint8_t *arena = nullptr;
  uint8_t *states = nullptr;
  const uint8_t *constants = nullptr;
  const uint8_t *control = nullptr;
};

class Executor {
public:
  /// Prepares `entry` of `artifact`, both checked. Fails when the library
  /// cannot do a contraction, naming the command's label.
  static Result<Executor> create(const sinter_artifact &artifact,
                                 const sinter_entry &entry, Device &device,
                                 const MemoryMap &memory);

  const sinter_entry &entry() const { return *entry_; }

  /// What the prepared calls of this entry want.
  uint64_t sharedScratchBytes() const;
  uint64_t perWorkerScratchBytes() const;
  /// Must be called once, before the first run.
  Status bind(const Scratch &scratch);

  /// Runs all commands. `inputs` and `outputs` as for sinter_program_run.
  Status run(const void *const *inputs, void *const *outputs,
             ProfileSink *profile);

  /// What the library chose for command `index`; empty for other commands.
  std::string describe(uint32_t index) const;

private:
  struct Step {
    uint32_t kind;
    uint32_t firstBuffer; // in buffers_
    union {
      sinter_cpu_kernel kernel; // LAUNCH
      LibraryCall *call;        // MATMUL, CONV
      uint64_t sizeBytes;       // COPY, FILL
    };
    int64_t tiles;
  };
  struct Patch {
    uint32_t buffer; // in buffers_
    uint32_t index;  // of the input or output
    uint64_t offsetBytes;
  };

  Status runStep(const Step &step);

  const sinter_entry *entry_ = nullptr;
  Device *device_ = nullptr;
  std::vector<Step> steps_;
  std::vector<void *> buffers_;
  std::vector<Patch> inputPatches_, outputPatches_;
  std::vector<std::unique_ptr<LibraryCall>> calls_; // null but for contractions
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_EXECUTOR_H
