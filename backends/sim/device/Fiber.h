//===- Fiber.h - stacks of simulated threads --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A fiber has a stack of its own with a page before it that faults. A switch
// saves the six registers that a call preserves; the floating point modes are
// those of the worker. All fibers of a pool belong to one worker.
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

/// Something to switch to: a fiber, or the worker itself.
struct Context {
  void *stackPointer = nullptr;
  // What the address sanitizer wants to know of a stack.
  const void *stackBase = nullptr;
  size_t stackBytes = 0;
  size_t shiftBytes = 0; // unused at the stack's upper end
};

/// Goes on with `to` where it left; returns when somebody switches to `from`.
void switchContext(Context &from, Context &to);

/// Every fiber's main calls this first.
void enterFiber();

/// `context` becomes that of the calling thread's own stack.
void useOwnStack(Context &context);

/// A pool of fibers that all run one function, which never returns.
class FiberPool {
public:
  using Main = void (*)(void *argument);

  FiberPool(Main main, void *argument) : main_(main), argument_(argument) {}
  FiberPool(const FiberPool &) = delete;
  FiberPool &operator=(const FiberPool &) = delete;
  ~FiberPool();

  /// A fiber that is at the beginning of `main` or was given back; null when
  /// the system has no memory.
  Context *take();
  /// `fiber` waits inside `main` to be used again.
  void giveBack(Context *fiber) { free_.push_back(fiber); }
  /// Takes all fibers back, to the beginning of `main`, whatever they were
  /// doing.
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
