//===- Fiber.h - stacks of simulated threads --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A fiber has its own stack, with a page before it that faults. A switch saves
// the six registers that a call preserves; the floating-point modes are those
// of the worker. All fibers of a pool belong to one worker.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_FIBER_H
#define SINTER_BACKENDS_SIM_DEVICE_FIBER_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sinter::sim {

/// A target of switches: a fiber, or the worker itself.
struct Context {
  void *stackPointer = nullptr;
  // The stack, as AddressSanitizer needs it.
  const void *stackBase = nullptr;
  size_t stackBytes = 0;
  size_t shiftBytes = 0; // unused at the stack's upper end
};

/// Continues `to` where it stopped; returns when another switch goes to `from`.
void switchContext(Context &from, Context &to);

/// Must be the first call in every fiber's main.
void enterFiber();

/// Makes `context` that of the calling thread's own stack.
void useOwnStack(Context &context);

/// A pool of fibers that all run one function, which never returns.
class FiberPool {
public:
  using Main = void (*)(void *argument);

  FiberPool(Main main, void *argument) : main_(main), argument_(argument) {}
  FiberPool(const FiberPool &) = delete;
  FiberPool &operator=(const FiberPool &) = delete;
  ~FiberPool();

  /// A fiber that is at the beginning of `main` or was given back; null if the
  /// system has no memory.
  Context *take();
  /// Returns `fiber` to the pool; it waits inside `main` to be used again.
  void giveBack(Context *fiber) { free_.push_back(fiber); }
  /// Returns all fibers to the pool and to the beginning of `main`, whatever
  /// they were doing.
  void reset();

private:
  void begin(Context &fiber);

  Main main_;
  void *argument_;
  std::vector<std::unique_ptr<Context>> all_;
  std::vector<Context *> free_;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_FIBER_H
