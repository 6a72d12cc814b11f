//===- CApi.cpp - the C interface of sinter.h -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// No exception leaves this layer: the standard library's bad_alloc becomes
// SINTER_OUT_OF_MEMORY.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Program.h"

#include "runtime/base/FloatMode.h"
#include "runtime/collective/SpanningGroup.h"
#include "runtime/device/Registry.h"
#include "sinter/sinter.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>

using namespace sinter::rt;

static thread_local std::string lastError;

static sinter_status report(const Status &status) {
  if (!status.ok())
    lastError = status.message();
  return status.code();
}

template <typename Function> static sinter_status guarded(Function &&function) {
  FloatMode mode;
  try {
    return report(function());
  } catch (const std::bad_alloc &) {
    return report({SINTER_OUT_OF_MEMORY, "out of memory"});
  } catch (const std::exception &error) {
    return report(Status::failed(error.what()));
  }
}

/// Calls `function` unless another thread is in such a call of `program`.
template <typename Function>
static Status alone(sinter_program &program, Function &&function) {
  if (program.isBusy.exchange(true, std::memory_order_acquire))
    return {SINTER_BUSY, "another thread is using the program; each thread "
                         "needs one of its own"};
  struct Release {
    std::atomic<bool> &flag;
    ~Release() { flag.store(false, std::memory_order_release); }
  } release{program.isBusy};
  return function();
}

const char *sinter_last_error(void) { return lastError.c_str(); }

sinter_status sinter_program_create(const sinter_artifact *artifact,
                                    const char *device, int32_t threads,
                                    sinter_program **program) {
  return guarded([&]() -> Status {
    if (!program)
      return Status::invalid("the address for the program handle is null");
    *program = nullptr;
    if (!artifact)
      return Status::invalid("the artifact is null");
    DeviceOptions options;
    options.threads = threads;
    Result<std::unique_ptr<Program>> loaded =
        Program::create(*artifact, std::string(device ? device : ""), options);
    if (!loaded.ok())
      return loaded.status();
    *program = new sinter_program{std::move(*loaded)};
    return {};
  });
}

sinter_status sinter_group_name(const char *device, uint8_t *group) {
  return guarded([&]() -> Status {
    if (!device || !group)
      return Status::invalid("the device or the address for the group is null");
    return linkedDevices().nameGroup(device, GroupRequest(), group);
  });
}

sinter_status sinter_program_join(sinter_program *program,
                                  const sinter_rank *rank) {
  return guarded([&]() -> Status {
    if (!program || !rank)
      return Status::invalid("the program or the rank is null");
    return alone(*program, [&] { return program->program->join(*rank); });
  });
}

sinter_status sinter_program_warm_up(sinter_program *program) {
  return guarded([&]() -> Status {
    if (!program)
      return Status::invalid("the program is null");
    return alone(*program, [&] { return program->program->warmUp(); });
  });
}

void sinter_program_destroy(sinter_program *program) { delete program; }

const sinter_artifact *sinter_program_artifact(const sinter_program *program) {
  return program ? &program->program->source() : nullptr;
}

sinter_status sinter_program_run(sinter_program *program, const char *entry,
                                 const sinter_control *control,
                                 const void *const *inputs,
                                 void *const *outputs) {
  return guarded([&]() -> Status {
    if (!program)
      return Status::invalid("the program is null");
    return alone(*program, [&] {
      return program->program->run(entry, control, inputs, outputs);
    });
  });
}

sinter_status sinter_program_input_memory(sinter_program *program,
                                          const char *entry, void **inputs) {
  return guarded([&]() -> Status {
    if (!program || !entry || !inputs)
      return Status::invalid("the program, the entry or the address for the "
                             "inputs is null");
    return alone(*program, [&]() -> Status {
      Result<std::span<void *const>> memory =
          program->program->inputMemory(entry);
      if (memory.ok())
        std::copy(memory->begin(), memory->end(), inputs);
      return memory.status();
    });
  });
}

void *sinter_program_state(sinter_program *program, uint32_t index) {
  return program ? program->program->state(index) : nullptr;
}

sinter_status sinter_program_read_state(sinter_program *program, uint32_t index,
                                        void *to) {
  return guarded([&]() -> Status {
    if (!program)
      return Status::invalid("the program is null");
    return alone(*program,
                 [&] { return program->program->readState(index, to); });
  });
}

sinter_status sinter_program_write_state(sinter_program *program,
                                         uint32_t index, const void *from) {
  return guarded([&]() -> Status {
    if (!program)
      return Status::invalid("the program is null");
    return alone(*program,
                 [&] { return program->program->writeState(index, from); });
  });
}
