//===- InputMemory.cpp - memory for a program's inputs --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Program.h"

using namespace sinter::rt;

Result<std::span<void *const>> Program::inputMemory(const char *name) {
  Executor *executor = find(name);
  if (!executor)
    return Status::invalid(std::string("the program has no entry '") + name +
                           "'");
  for (const InputMemory &memory : inputMemory_)
    if (memory.executor == executor)
      return std::span<void *const>(memory.inputs);
  const sinter_entry &entry = executor->entry();
  Result<std::optional<InputBlock>> block = allocateInputs(name);
  if (!block.ok())
    return block.status();
  InputMemory memory{executor, std::move(*block), {}};
  if (memory.block) {
    memory.inputs = memory.block->inputs();
  } else { // what reads the inputs reads them where they are
    Result<void *> address = device().allocateHost(
        offsetInBlock(entry.inputs, entry.numInputs), "inputs");
    if (!address.ok())
      return address.status();
    if (*address)
      hostAllocations_.push_back({&device(), *address});
    for (uint32_t i = 0; i < entry.numInputs; ++i)
      memory.inputs.push_back(static_cast<uint8_t *>(*address) +
                              offsetInBlock(entry.inputs, i));
  }
  inputMemory_.push_back(std::move(memory));
  return std::span<void *const>(inputMemory_.back().inputs);
}
