//===- Program.h - a loaded artifact --------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Owns what an artifact needs to run: a device, the arena, the state block, the
// control block, scratch, and one Executor per entry. The C interface of
// sinter.h is a thin layer over this class. Used by one thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_PROGRAM_H
#define SINTER_RUNTIME_EXEC_PROGRAM_H

#include "runtime/exec/Executor.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::rt {

class Program {
public:
  /// Checks `artifact` (which must outlive the program) and makes it ready on
  /// `device`; states have their initial values.
  static Result<std::unique_ptr<Program>>
  create(const sinter_artifact &artifact, std::unique_ptr<Device> device);
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const sinter_artifact &artifact() const { return *artifact_; }
  Device &device() { return *device_; }

  /// As sinter_program_run.
  Status run(const char *entry, const sinter_control *control,
             const void *const *inputs, void *const *outputs);

  /// The bytes of state `index`; null when there is no such state or it is
  /// empty.
  uint8_t *state(uint32_t index);

  /// The prepared entry called `name`, or null.
  Executor *find(const char *name);

  /// Receives the time of every command from now on; null ends that. The caller
  /// keeps ownership.
  void setProfileSink(ProfileSink *sink) { profile_ = sink; }

private:
  Program() = default;
  Status load();
  Result<uint8_t *> allocate(uint64_t sizeBytes, const char *purpose);

  const sinter_artifact *artifact_ = nullptr;
  std::unique_ptr<Device> device_;
  std::vector<void *> allocations_;
  MemoryMap memory_;
  uint8_t *control_ = nullptr;
  std::vector<Executor> executors_;
  ProfileSink *profile_ = nullptr;
};

} // namespace sinter::rt

/// The handle of sinter.h.
struct sinter_program {
  std::unique_ptr<sinter::rt::Program> program;
};

#endif // SINTER_RUNTIME_EXEC_PROGRAM_H
