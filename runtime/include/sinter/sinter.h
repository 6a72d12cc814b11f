/* What a host program calls: load an artifact, run its entries.
 *
 * Every function that can fail returns a sinter_status; sinter_last_error() has
 * one line about the latest failure of the calling thread. The caller owns the
 * handles and releases them with the matching destroy function. Only one thread
 * at a time may use a program: a call from a second one returns SINTER_BUSY and
 * does nothing. Programs of one process share a thread pool.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#ifndef SINTER_SINTER_H
#define SINTER_SINTER_H

#include <stdint.h>

#include "sinter/abi.h"
#include "sinter/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinter_program sinter_program;

/* One line, valid until the calling thread's next sinter call. Never NULL. */
const char *sinter_last_error(void);

/* Checks the artifact (magic, version, CPU features), allocates its arena and
 * state (set to their initial values) and prepares library calls. `device` is
 * "cpu", "cuda:0" or "sim:0" and must be of the kind that the artifact was
 * compiled for (NULL: the first of that kind); `threads` 0 means one per
 * available core. */
sinter_status sinter_program_create(const sinter_artifact *artifact,
                                    const char *device, int32_t threads,
                                    sinter_program **program);
/* For use before the first run: runs all entries on inputs of zeros, so that
 * the first real run takes no longer than later ones, and then resets the
 * states to their initial values. */
sinter_status sinter_program_warm_up(sinter_program *program);
void sinter_program_destroy(sinter_program *program);

const sinter_artifact *sinter_program_artifact(const sinter_program *program);

/* Runs the entry named `entry`. `inputs[i]` and `outputs[i]` are host addresses
 * of dense row-major tensors as the entry describes them; they must not
 * overlap. `control` NULL means all zeros with validRows = INT64_MAX. Returns
 * when the outputs are written. */
sinter_status sinter_program_run(sinter_program *program, const char *entry,
                                 const sinter_control *control,
                                 const void *const *inputs,
                                 void *const *outputs);

/* inputs[i] gets the address of memory for input `i` of `entry`. A GPU copies
 * from there itself, so a run with these inputs copies nothing on the host. The
 * memory is aligned to 64 bytes, belongs to the program, is the same in each
 * call, and may change between runs. */
sinter_status sinter_program_input_memory(sinter_program *program,
                                          const char *entry, void **inputs);

/* Replicas: programs in one process that share the steps of a training program
 * compiled for several (sinter_training.replicas). One of them names a group
 * for a kind of device ("cuda:0" or "cuda"); then each joins it with a rank of
 * its own, on a thread of its own, and all make the same runs. Joining waits
 * for all of them. */
sinter_status sinter_group_name(const char *device,
                                uint8_t group[SINTER_GROUP_BYTES]);
sinter_status sinter_program_join(sinter_program *program,
                                  const sinter_rank *rank);

/* The current bytes of state `index`, owned by the program, valid between runs.
 * NULL if there is no such state, it is empty, or it is in a device's own
 * memory. */
void *sinter_program_state(sinter_program *program, uint32_t index);

/* Copy all bytes of state `index` out of the program and into it, whatever
 * memory holds them: sinter_held_bytes(). States of role ROUNDED come after all
 * others: the program computes them, and writing one is SINTER_INVALID, unless
 * replicas divide its parameter. Whoever writes such a parameter in all
 * replicas writes its rounding, too. */
sinter_status sinter_program_read_state(sinter_program *program, uint32_t index,
                                        void *to);
sinter_status sinter_program_write_state(sinter_program *program,
                                         uint32_t index, const void *from);

#ifdef __cplusplus
}
#endif
#endif /* SINTER_SINTER_H */
