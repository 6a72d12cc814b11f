/* slow_fsync.c - makes saves slow, so that a process can be killed in each
 * phase.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception.
 *
 * To be preloaded: fsync() first waits for 50 ms.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd) {
  const struct timespec delay = {0, 50000000};
  nanosleep(&delay, NULL);
  return (int)syscall(SYS_fsync, fd);
}
