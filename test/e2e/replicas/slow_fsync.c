/* slow_fsync.c - makes saves slow, so that a process can be killed in each
 * phase.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception.
 *
 * To be preloaded: fsync() first waits for 50 ms, or for SLOW_FSYNC_MS.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd) {
  const char *given = getenv("SLOW_FSYNC_MS");
  const long ms = given ? atol(given) : 50;
  const struct timespec delay = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&delay, NULL);
  return (int)syscall(SYS_fsync, fd);
}
