//===- Process.h - fatal errors and memory of a tool ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_BASE_PROCESS_H
#define SINTER_COMPILER_BASE_PROCESS_H

#include <cstdint>
#include <string>

namespace sinter::compiler {

/// Every tool calls this first. Afterwards, lack of memory and LLVM's fatal
/// errors end the process with one line and an exit code. If the reader of a
/// pipe goes away, the write fails instead of ending the process. `tool` must
/// be a string literal.
void prepareProcess(const char *tool);

/// During its lifetime the process may allocate at most `bytes` more memory;
/// allocating more ends it with kExitUsage and the line "TOOL: error: WHY". For
/// readers of files, which may ask for any amount.
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

#endif // SINTER_COMPILER_BASE_PROCESS_H
