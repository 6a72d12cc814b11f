//===- DeviceProgram.h - a compiled program on a device ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the checks need of the runtime, which the compiler does not include. The
// tools implement it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_DEVICEPROGRAM_H
#define SINTER_COMPILER_VERIFY_DEVICEPROGRAM_H

#include "sinter/abi.h"
#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sinter::compiler {

/// A command that has just run, after all that were reported before it.
struct ObservedCommand {
  const sinter_entry &entry;
  uint32_t index; // in the entry
  /// Copies the bytes of one of its slices, as they are now. Returns what went
  /// wrong, "" if nothing.
  std::function<std::string(uint32_t slice, std::vector<char> &bytes)> read;
};

/// Functions return what went wrong, "" if nothing.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  virtual std::string writeState(uint32_t state,
                                 const std::vector<char> &bytes) = 0;
  virtual std::string readState(uint32_t state, std::vector<char> &bytes) = 0;
  /// Runs an entry with the bytes of its inputs; `outputs` gets those of its
  /// outputs.
  virtual std::string run(const sinter_entry &entry,
                          const sinter_control &control,
                          llvm::ArrayRef<std::vector<char>> inputs,
                          std::vector<std::vector<char>> &outputs) = 0;
  /// If set, called after each command of a run, which then waits for each. An
  /// error ends the run.
  std::function<std::string(const ObservedCommand &command)> observe;
};

/// Loads `artifact`, which must outlive the program, on a device ("cpu",
/// "sim:0"). Null: `problem` says why.
using LoadProgram = std::function<std::unique_ptr<DeviceProgram>(
    const sinter_artifact &artifact, const std::string &device,
    std::string &problem)>;

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_DEVICEPROGRAM_H
