//===- RunCall.h - run a command by the CPU's library -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_RUNCALL_H
#define SINTER_TEST_RUNTIME_RUNCALL_H

#include "backends/cpu/device/CpuDevice.h"
#include "runtime/base/AlignedBlock.h"

#include <catch2/catch.hpp>

#include <string>

namespace sinter::test {

/// Prepares `command` and runs it once. `constants` as for Library::prepare.
/// Sets `description` to that of the call.
inline rt::Status runCall(const sinter_command &command, void *const *buffers,
                          int threads, const uint8_t *constants,
                          std::string &description) {
  auto device = cpu::createCpuDevice(threads);
  REQUIRE(device.ok());
  auto call = (*(*device)->library())->prepare(command, {constants, threads});
  if (!call.ok())
    return call.status();
  description = (*call)->description();
  rt::Scratch scratch;
  scratch.perWorkerStride = ((*call)->perWorkerBytes() + 63) / 64 * 64;
  auto shared = rt::AlignedBlock::allocate((*call)->sharedBytes(), "a test");
  auto mine = rt::AlignedBlock::allocate(
      scratch.perWorkerStride * static_cast<uint64_t>(threads), "a test");
  scratch.shared = shared->data();
  scratch.perWorker = mine->data();
  REQUIRE((*call)->bind(scratch, threads).ok());
  auto stream = (*device)->createStream();
  return (*device)->call(**stream, **call, buffers);
}

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_RUNCALL_H
