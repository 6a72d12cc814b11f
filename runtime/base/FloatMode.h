//===- FloatMode.h - rounding and denormals of threads ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_FLOATMODE_H
#define SINTER_RUNTIME_BASE_FLOATMODE_H

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sinter::rt {

/// While this lives, the thread rounds to nearest, keeps denormals, and no
/// floating-point exception traps, whatever the host program has set: results
/// must not depend on which thread computes them. Threads that it starts
/// inherit the mode.
class FloatMode {
public:
#if defined(__x86_64__)
  FloatMode() : before_(_mm_getcsr()) {
    if (isChanged())
      _mm_setcsr(standard);
  }
  ~FloatMode() {
    if (isChanged())
      _mm_setcsr(before_);
  }
#else
  FloatMode() = default;
#endif
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

private:
#if defined(__x86_64__)
  /// All but the bits that say which exceptions have occurred.
  static constexpr unsigned standard = 0x1f80, flags = 0x3f;
  bool isChanged() const { return (before_ & ~flags) != standard; }

  const unsigned before_;
#endif
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_FLOATMODE_H
