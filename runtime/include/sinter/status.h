/* What functions that can fail return.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#ifndef SINTER_STATUS_H
#define SINTER_STATUS_H

/* The numbers up to 7, and 75, are the exit codes of the command-line tools. */
typedef enum sinter_status {
  SINTER_OK = 0,
  SINTER_FAILED = 1,  /* a run-time failure, I/O included */
  SINTER_INVALID = 2, /* a bad argument or unreadable input */
  SINTER_UNSUPPORTED = 3,
  SINTER_CONTRACT = 4,
  SINTER_MISMATCH = 5,
  SINTER_OUT_OF_MEMORY = 6,
  SINTER_DEVICE_FAILED = 7,
  SINTER_BUSY = 8, /* another thread is using the program */
  SINTER_INTERRUPTED = 75
} sinter_status;

#endif /* SINTER_STATUS_H */
