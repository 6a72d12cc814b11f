//===- Fiber.cpp - stacks that threads of the simulated device run on -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Fiber.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define SINTER_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SINTER_SIM_ASAN 1
#endif
#endif
#ifdef SINTER_SIM_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sinter::sim {
namespace {

constexpr size_t kGuardBytes = 4096;
#ifdef SINTER_SIM_ASAN
constexpr size_t kStackBytes = 256 << 10; // instrumented frames are larger
#else
constexpr size_t kStackBytes = 64 << 10;
#endif

} // namespace

// %rdi: where to store the old stack pointer; %rsi: the new one. A new fiber
// begins in the second function, with main in %r13 and its argument in %r12.
extern "C" void sinter_sim_switch_stack(void **from, void *to);
extern "C" void sinter_sim_begin_fiber();
asm(R"(
.text
.p2align 4
.hidden sinter_sim_switch_stack
.globl sinter_sim_switch_stack
.type sinter_sim_switch_stack, @function
sinter_sim_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sinter_sim_switch_stack, .-sinter_sim_switch_stack
.p2align 4
.hidden sinter_sim_begin_fiber
.globl sinter_sim_begin_fiber
.type sinter_sim_begin_fiber, @function
sinter_sim_begin_fiber:
  movq %r12, %rdi
  call *%r13
  ud2
.size sinter_sim_begin_fiber, .-sinter_sim_begin_fiber
)");

void switchContext(Context &from, Context &to) {
#ifdef SINTER_SIM_ASAN
  void *fakeStack = nullptr;
  __sanitizer_start_switch_fiber(&fakeStack, to.stackBase, to.stackBytes);
  sinter_sim_switch_stack(&from.stackPointer, to.stackPointer);
  __sanitizer_finish_switch_fiber(fakeStack, nullptr, nullptr);
#else
  sinter_sim_switch_stack(&from.stackPointer, to.stackPointer);
#endif
}

void enterFiber() {
#ifdef SINTER_SIM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void useOwnStack(Context &context) {
#ifdef SINTER_SIM_ASAN
  pthread_attr_t attributes;
  void *base = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return;
  pthread_attr_getstack(&attributes, &base, &context.stackBytes);
  pthread_attr_destroy(&attributes);
  context.stackBase = base;
#else
  (void)context;
#endif
}

FiberPool::~FiberPool() {
  for (const std::unique_ptr<Context> &fiber : all_)
    munmap(static_cast<char *>(const_cast<void *>(fiber->stackBase)) -
               kGuardBytes,
           kGuardBytes + kStackBytes);
}

void FiberPool::begin(Context &fiber) {
#ifdef SINTER_SIM_ASAN
  // The stack may have frames that were left without returning.
  __asan_unpoison_memory_region(fiber.stackBase, fiber.stackBytes);
#endif
  auto *top = reinterpret_cast<void **>(
      static_cast<char *>(const_cast<void *>(fiber.stackBase)) + kStackBytes -
      fiber.shiftBytes);
  void **at = top;
  *--at = reinterpret_cast<void *>(&sinter_sim_begin_fiber);
  *--at = nullptr;                         // rbp
  *--at = nullptr;                         // rbx
  *--at = argument_;                       // r12
  *--at = reinterpret_cast<void *>(main_); // r13
  *--at = nullptr;                         // r14
  *--at = nullptr;                         // r15
  fiber.stackPointer = at;
}

Context *FiberPool::take() {
  if (!free_.empty()) {
    Context *fiber = free_.back();
    free_.pop_back();
    return fiber;
  }
  void *memory =
      mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  mprotect(memory, kGuardBytes, PROT_NONE);
  auto fiber = std::make_unique<Context>();
  fiber->stackBase = static_cast<char *>(memory) + kGuardBytes;
  fiber->stackBytes = kStackBytes;
  // If all stacks began at the same offset in a page, they would compete for
  // the same cache lines.
  fiber->shiftBytes = all_.size() * 320 % 4096;
  begin(*fiber);
  all_.push_back(std::move(fiber));
  return all_.back().get();
}

void FiberPool::reset() {
  free_.clear();
  for (const std::unique_ptr<Context> &fiber : all_) {
    begin(*fiber);
    free_.push_back(fiber.get());
  }
}

} // namespace sinter::sim
