//===- Process.h - how a tool behaves as a process --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_PROCESS_H
#define SINTER_COMPILER_DRIVER_PROCESS_H

#include <cstdint>
#include <string>

namespace sinter::compiler {

/// To be called first in every tool: from then on, running out of memory and
/// LLVM's fatal errors end in one line and an exit code, and a reader that goes
/// away is an error of the write, not the end of the process. `tool` must be a
/// literal.
void prepareProcess(const char *tool);

/// While it lives, the process may take at most `bytes` more memory; asking for
/// more ends it with kExitUsage and the line "TOOL: error: WHY". For readers of
/// files that may ask for any amount.
class MemoryLimit {
public:
  MemoryLimit(uint64_t bytes, std::string why);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit &) = delete;

private:
  std::string why_;
  uint64_t before_ = 0;
  bool isSet_ = false;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_PROCESS_H
