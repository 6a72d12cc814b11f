/* What a CUDA kernel reaches when it runs on the simulated device.
 *
 * Code for one CUDA thread (sinter_sim_kernel) gets the address of a
 * sinter_sim_functions: first the thread's own numbers and memory, then the
 * functions that CUDA's instructions became. The simulated device owns the
 * struct, one for each of its workers; generated code only reads it. The code
 * needs no symbol, so it is the same in memory and in an executable.
 *
 * `site` is the number of the instruction in the kernel's table of sites: it
 * says where threads meet, and error messages name the instruction by it.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#ifndef SINTER_SIM_H
#define SINTER_SIM_H

#include "sinter/kernel.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The table of a kernel --------------------------------------------------
 */

typedef enum sinter_sim_site_kind {
  /* A barrier of the block, a wait for cp.async or for earlier launches; can be
   * left out. */
  SINTER_SIM_BARRIER = 1,
  SINTER_SIM_WARP,      /* threads of a warp meet */
  SINTER_SIM_PREDICATE, /* a test that guards an index; can be forced */
  SINTER_SIM_ACCESS,    /* a load, store or atomic operation */
  SINTER_SIM_TRAP       /* a trap, an assertion, a division */
} sinter_sim_site_kind;

typedef struct sinter_sim_site {
  uint32_t kind;    /* sinter_sim_site_kind */
  uint32_t number;  /* among the sites of its kind, from 0 */
  const char *text; /* the instruction */
  /* Number, from 1, of the kernel's buffer from which the address of this
   * access, or of this copy's source, is computed; 0: several or none. */
  uint32_t buffer;
  uint32_t reserved;
} sinter_sim_site;

typedef enum sinter_sim_kernel_flags {
  SINTER_SIM_CHECKED = 1, /* accesses are reported */
  SINTER_SIM_MUTABLE = 2, /* predicates are reported and can be forced */
  SINTER_SIM_ATOMICS = 4  /* it has atomic operations on global memory */
} sinter_sim_kernel_flags;

typedef struct sinter_sim_kernel_info {
  uint64_t sizeofInfo;
  const char *name;
  const sinter_sim_site *sites;
  uint32_t numSites;
  uint32_t numBuffers;
  uint32_t staticSharedBytes; /* a multiple of 16; dynamic memory follows */
  uint32_t numMeetings;       /* sites where threads wait for each other */
  uint32_t flags;             /* sinter_sim_kernel_flags */
  uint32_t reserved;
} sinter_sim_kernel_info;

/* ---- Operands of the functions ----------------------------------------------
 */

typedef enum sinter_sim_shuffle {
  SINTER_SIM_SHUFFLE_UP = 1,
  SINTER_SIM_SHUFFLE_DOWN,
  SINTER_SIM_SHUFFLE_BFLY,
  SINTER_SIM_SHUFFLE_IDX
} sinter_sim_shuffle;

/* For votes, barriers with a value, and redux. */
typedef enum sinter_sim_combine {
  SINTER_SIM_ALL = 1,
  SINTER_SIM_ANY,
  SINTER_SIM_UNIFORM,
  SINTER_SIM_BALLOT,
  SINTER_SIM_COUNT,
  SINTER_SIM_ADD,
  SINTER_SIM_MIN,
  SINTER_SIM_MAX,
  SINTER_SIM_UMIN,
  SINTER_SIM_UMAX,
  SINTER_SIM_AND,
  SINTER_SIM_OR,
  SINTER_SIM_XOR
} sinter_sim_combine;

typedef enum sinter_sim_access {
  SINTER_SIM_WRITE = 1,     /* else a read */
  SINTER_SIM_ATOMIC = 2,    /* with WRITE: reads too */
  SINTER_SIM_READONLY = 4,  /* a read through the path for constant data */
  SINTER_SIM_FENCE = 8,     /* no access: a fence for the whole device */
  SINTER_SIM_PARAMETER = 16 /* a read of the array of buffers' addresses */
} sinter_sim_access;

typedef enum sinter_sim_fault {
  SINTER_SIM_FAULT_TRAP = 1,
  SINTER_SIM_FAULT_ASSERT,
  SINTER_SIM_FAULT_DIVISION,
  SINTER_SIM_FAULT_ALIGNMENT,
  SINTER_SIM_FAULT_UNREACHABLE
} sinter_sim_fault;

typedef enum sinter_sim_rounding {
  SINTER_SIM_NEAREST = 0,
  SINTER_SIM_TO_ZERO,
  SINTER_SIM_DOWN,
  SINTER_SIM_UP
} sinter_sim_rounding;

typedef enum sinter_sim_math {
  /* one operand */
  SINTER_SIM_EXP2 = 1,
  SINTER_SIM_LOG2,
  SINTER_SIM_SIN,
  SINTER_SIM_COS,
  SINTER_SIM_TANH,
  SINTER_SIM_RSQRT,
  SINTER_SIM_SQRT,
  SINTER_SIM_RECIPROCAL,
  SINTER_SIM_FLOOR,
  SINTER_SIM_CEIL,
  SINTER_SIM_TRUNC,
  SINTER_SIM_ROUND_AWAY, /* halves away from zero */
  SINTER_SIM_ROUND_EVEN, /* halves to even */
  /* two */
  SINTER_SIM_FADD,
  SINTER_SIM_FMUL,
  SINTER_SIM_FDIV,
  /* three */
  SINTER_SIM_FMA
} sinter_sim_math;

typedef enum sinter_sim_half {
  SINTER_SIM_F16 = 1,
  SINTER_SIM_BF16
} sinter_sim_half;

/* D = A * B + C of one warp, as PTX's mma.sync lays out its fragments. */
typedef enum sinter_sim_mma {
  SINTER_SIM_MMA_M16N8K4_TF32 = 1,
  SINTER_SIM_MMA_M16N8K8_TF32,
  SINTER_SIM_MMA_M16N8K8_BF16,
  SINTER_SIM_MMA_M16N8K16_BF16,
  SINTER_SIM_MMA_M16N8K8_F16,  /* f32 sums */
  SINTER_SIM_MMA_M16N8K16_F16, /* f32 sums */
  SINTER_SIM_MMA_M16N8K16_S8,
  SINTER_SIM_MMA_M16N8K32_S8
} sinter_sim_mma;

#define SINTER_SIM_WAIT_ALL 0xffffffffu

/* ---- The functions ----------------------------------------------------------
 */

struct sinter_sim_functions {
  uint64_t sizeofFunctions;

  /* Of the thread that is being started. Its code reads them first, before the
   * next thread's replace them. */
  uint32_t threadId[3], blockId[3], blockDim[3], gridDim[3];
  uint32_t dynamicSharedBytes, reserved;
  uint8_t *shared; /* the block's shared memory: static part, dynamic part */

  /* A kernel that is called with null buffers calls this and nothing else. */
  void (*describe)(const sinter_sim_functions *self,
                   const sinter_sim_kernel_info *info);

  /* Ends the launch; does not return. `kind` is a sinter_sim_fault. */
  void (*fault)(const sinter_sim_functions *self, uint32_t site, uint32_t kind);
  /* Before an access of [address, address + sizeBytes). */
  void (*access)(const sinter_sim_functions *self, uint32_t site,
                 const void *address, uint64_t sizeBytes, uint32_t alignment,
                 uint32_t flags);
  /* Returns `value`, or `forced` if this predicate is the one to force. */
  uint32_t (*predicate)(const sinter_sim_functions *self, uint32_t site,
                        uint32_t value, uint32_t forced);
  /* Lets other threads run while this one spins on memory. */
  void (*yield)(const sinter_sim_functions *self);

  /* Barrier `barrier` of the block; `count` threads, 0: all. */
  void (*barrier)(const sinter_sim_functions *self, uint32_t site,
                  uint32_t barrier, uint32_t count);
  /* Barrier 0, and COUNT, ALL or ANY of the threads' values. */
  uint32_t (*barrierReduce)(const sinter_sim_functions *self, uint32_t site,
                            uint32_t combine, uint32_t value);

  /* Threads named in `mask` meet at the same site. */
  void (*warpSync)(const sinter_sim_functions *self, uint32_t site,
                   uint32_t mask);
  /* Bit 32: whether the lane was in range. */
  uint64_t (*shuffle)(const sinter_sim_functions *self, uint32_t site,
                      uint32_t mode, uint32_t mask, uint32_t value,
                      uint32_t lane, uint32_t clamp);
  uint32_t (*vote)(const sinter_sim_functions *self, uint32_t site,
                   uint32_t combine, uint32_t mask, uint32_t value);
  uint32_t (*reduce)(const sinter_sim_functions *self, uint32_t site,
                     uint32_t combine, uint32_t mask, uint32_t value);
  /* Lanes with this lane's value. ALL: all lanes and bit 32 if all values are
   * equal, else 0. */
  uint64_t (*match)(const sinter_sim_functions *self, uint32_t site,
                    uint32_t combine, uint32_t mask, uint64_t value);
  uint32_t (*activeMask)(const sinter_sim_functions *self);

  /* ldmatrix: `count` 8x8 matrices of 16 bits, the lane's row at `address`. */
  void (*loadMatrix)(const sinter_sim_functions *self, uint32_t site,
                     uint32_t count, uint32_t isTransposed, const void *address,
                     uint32_t *result);
  /* `operands`: registers of A, of B, of C. `kind` is a sinter_sim_mma. */
  void (*mma)(const sinter_sim_functions *self, uint32_t site, uint32_t kind,
              const uint32_t *operands, uint32_t *result);

  /* cp.async: bytes beyond `sourceBytes` are zeros. */
  void (*copyAsync)(const sinter_sim_functions *self, uint32_t site, void *to,
                    const void *from, uint32_t sizeBytes, uint32_t sourceBytes);
  void (*copyCommit)(const sinter_sim_functions *self);
  /* Waits until at most `pending` groups are unfinished; SINTER_SIM_WAIT_ALL:
   * until every copy is done. */
  void (*copyWait)(const sinter_sim_functions *self, uint32_t site,
                   uint32_t pending);

  /* Waits for the launches before this one on its stream. */
  void (*launchWait)(const sinter_sim_functions *self, uint32_t site);

  uint64_t (*clock)(const sinter_sim_functions *self);

  /* Arithmetic that x86 lacks; `op` is a sinter_sim_math, `rounding` a
   * sinter_sim_rounding. */
  float (*mathF32)(uint32_t op, uint32_t rounding, float a, float b, float c);
  double (*mathF64)(uint32_t op, uint32_t rounding, double a, double b,
                    double c);
  /* `format` is a sinter_sim_half; to 16 bits, rounded once. */
  float (*widen)(uint32_t format, uint32_t bits);
  uint32_t (*narrow)(uint32_t format, uint32_t rounding, double value);
  /* a * b + c of 16-bit values, rounded once. */
  uint32_t (*fmaHalf)(uint32_t format, uint32_t a, uint32_t b, uint32_t c);
};

#ifdef __cplusplus
}
#endif
#endif /* SINTER_SIM_H */
