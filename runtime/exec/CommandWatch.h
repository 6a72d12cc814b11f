//===- CommandWatch.h - observes a run command by command -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_COMMANDWATCH_H
#define SINTER_RUNTIME_EXEC_COMMANDWATCH_H

#include "runtime/device/Device.h"

namespace sinter::rt {

/// A command that has just run, after all that were reported before it.
struct RanCommand {
  const sinter_entry &entry;
  uint32_t index;
  Device &device; // that holds its results
  Stream &stream;
  void *const *buffers; // the address of each of its slices
};

/// While a watch is installed, a program waits for each of its commands.
class CommandWatch {
public:
  virtual ~CommandWatch() = default;
  /// May read and write what the command wrote. An error ends the run. A sum
  /// over replicas is reported after it was awaited.
  virtual Status ran(const RanCommand &command) = 0;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_COMMANDWATCH_H
