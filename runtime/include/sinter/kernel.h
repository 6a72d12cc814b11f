/* What generated code is called with and what it may call.
 *
 * A CPU kernel computes tiles [tileBegin, tileEnd) of its launch. Tiles are
 * independent: any worker may take any range, in any order, at the same time.
 * `buffers[i]` is the address of slice i of the launch. A kernel calls nothing
 * but the C library's memory and fma functions, allocates nothing, and never
 * throws.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#ifndef SINTER_KERNEL_H
#define SINTER_KERNEL_H

#include <stdint.h>

typedef void (*sinter_cpu_kernel)(void *const *buffers, int64_t tileBegin,
                                  int64_t tileEnd);

/* What CUDA's instructions become on the simulated device: thread numbers,
 * barriers, shuffles. A table, so that generated code refers to no symbol. */
typedef struct sinter_sim_functions sinter_sim_functions;

/* What one thread of a CUDA kernel does on the simulated device. */
typedef void (*sinter_sim_kernel)(void *const *buffers,
                                  const sinter_sim_functions *functions);

#endif /* SINTER_KERNEL_H */
