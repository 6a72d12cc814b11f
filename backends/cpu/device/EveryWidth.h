//===- EveryWidth.h - loops in the widest registers -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_EVERYWIDTH_H
#define SINTER_BACKENDS_CPU_DEVICE_EVERYWIDTH_H

/// In front of a function: compiles it for several widths of registers; the
/// program uses the widest that the CPU has. For loops whose data is in a
/// core's cache, where the width matters. With AVX2 there are fused
/// multiply-adds, too: x86-64-v3.
#if defined(__x86_64__)
#define SINTER_EVERY_WIDTH                                                     \
  __attribute__((target_clones("avx512f", "arch=x86-64-v3", "default")))
#else
#define SINTER_EVERY_WIDTH
#endif

#endif // SINTER_BACKENDS_CPU_DEVICE_EVERYWIDTH_H
