//===- Runner.h - something that computes outputs from inputs ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A model in memory and a compiled library look the same to sinter-run.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_RUNNER_H
#define SINTER_TOOLS_LIB_RUNNER_H

#include "runtime/base/Status.h"
#include "runtime/device/Ceilings.h"
#include "runtime/exec/Program.h"
#include "tools/lib/HostTensor.h"

#include <memory>
#include <span>
#include <string>

namespace sinter::tools {

class Runner {
public:
  virtual ~Runner() = default;

  /// The program; it lives as long as the runner.
  virtual const sinter_artifact &artifact() const = 0;
  virtual std::span<const sinter_tensor_desc> inputs() const = 0;
  virtual std::span<const sinter_tensor_desc> outputs() const = 0;
  virtual std::span<const sinter_state_desc> states() const = 0;
  virtual rt::Status readState(uint32_t index, void *to) = 0;
  virtual rt::Status writeState(uint32_t index, const void *from) = 0;
  virtual rt::Status run(const void *const *inputs, void *const *outputs) = 0;
  /// Memory for each input that a run reads without a copy on the host, which
  /// belongs to the runner. Nothing if a library has no such memory.
  virtual rt::Result<std::vector<void *>> inputMemory() = 0;

  /// Reports the time of every command to `sink` from now on; null ends that.
  /// Fails if the runner cannot be profiled.
  virtual rt::Status profile(rt::ProfileSink *sink) = 0;

  /// What its library chose for command `index` of what is profiled, as
  /// Executor::describe() says it; empty for other commands.
  virtual std::string describeCall(uint32_t) { return {}; }

  /// The limits of its device; zeros if they are unknown.
  virtual rt::Result<rt::Ceilings> ceilings() { return rt::Ceilings(); }
};

/// The current states of `runner`.
rt::Result<HostTensors> readStates(Runner &runner);

/// Runs "main" of `artifact`, which must outlive the runner. If `device` is "",
/// it is of the artifact's own kind.
rt::Result<std::unique_ptr<Runner>>
runArtifact(const sinter_artifact &artifact, const std::string &device,
            const rt::DeviceOptions &options);

/// Opens a library that sinterc made and runs it through its exported
/// functions. With another device than its default, or with options besides
/// threads, it runs in the runtime of this process.
rt::Result<std::unique_ptr<Runner>>
runLibrary(const std::string &path, const std::string &device,
           const rt::DeviceOptions &options);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_RUNNER_H
