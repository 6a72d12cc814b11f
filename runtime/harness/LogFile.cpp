//===- LogFile.cpp - a log that may lose records --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/LogFile.h"

#include "runtime/base/File.h"
#include "runtime/harness/Signals.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace sinter::rt;

LogFile::~LogFile() { close(); }

void LogFile::close() {
  if (fd_ < 0)
    return;
  (void)writePending();
  ::close(std::exchange(fd_, -1));
}

/// The standard stream whose regular file is `path`; -1 if there is none.
static int streamOf(const std::string &path) {
  struct stat named, stream;
  if (::stat(path.c_str(), &named) != 0 || !S_ISREG(named.st_mode))
    return -1;
  for (int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (::fstat(fd, &stream) == 0 && stream.st_dev == named.st_dev &&
        stream.st_ino == named.st_ino)
      return fd;
  return -1;
}

bool LogFile::isStandardStream(const std::string &path) {
  return streamOf(path) >= 0;
}

static bool isRegular(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

/// Takes the lock of the open file for as long as it is open; false if another
/// one has it. A pipe has none, nor have some file systems.
static bool takeLock(int fd) {
  return !isRegular(fd) || ::flock(fd, LOCK_EX | LOCK_NB) == 0 ||
         errno != EWOULDBLOCK;
}

Status LogFile::open(const std::string &path, int flags) {
  path_ = path;
  if (int stream = streamOf(path); stream >= 0) {
    isStream_ = true;
    fd_ = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
    return fd_ >= 0 ? Status() : fileError(path, errno);
  }
  // Without O_NONBLOCK the open and each write would wait for a reader, however
  // long that takes.
  const bool truncates = flags & O_TRUNC; // once it is locked
  flags &= ~O_TRUNC;
  flags |= O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  for (int tries = 0;; ++tries) {
    fd_ = ::open(path.c_str(), flags, 0666);
    if (fd_ >= 0) {
      Status status;
      if (!takeLock(fd_))
        status = Status::invalid(path + ": another run writes to it");
      else if (truncates && isRegular(fd_) && ::ftruncate(fd_, 0) != 0)
        status = fileError(path, errno);
      if (!status.ok())
        ::close(std::exchange(fd_, -1));
      return status;
    }
    if (errno != ENXIO) // no reader of the pipe
      return fileError(path, errno);
    if (stopRequested())
      return Status(SINTER_INTERRUPTED,
                    path + ": interrupted while it waited for a reader");
    if (tries == 10)
      std::fprintf(stderr, "note: %s: waiting for a reader of the pipe\n",
                   path.c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// write(), after a wait of at most `timeoutMs` for a pipe that is full.
static ssize_t writeRecord(int fd, std::string_view record, int timeoutMs) {
  ssize_t count = ::write(fd, record.data(), record.size());
  if (count >= 0 || errno != EAGAIN || timeoutMs == 0)
    return count;
  pollfd waiting = {fd, POLLOUT, 0};
  (void)::poll(&waiting, 1, timeoutMs);
  return ::write(fd, record.data(), record.size());
}

/// Whether nothing is left of a record of which a pipe took a part.
bool LogFile::writePending() {
  if (pending_.empty())
    return true;
  ssize_t count = writeRecord(fd_, pending_, isFailing_ ? 0 : 1000);
  if (count > 0)
    pending_.erase(0, static_cast<size_t>(count));
  if (count < 0 && errno == EPIPE) {
    lose(std::strerror(EPIPE));
    pending_.clear(); // the next reader begins with a whole record
  }
  return pending_.empty();
}

void LogFile::lose(const char *why) {
  ++numLost_;
  if (!isFailing_)
    std::fprintf(stderr, "warning: %s: %s; new records are lost\n",
                 path_.c_str(), why);
  isFailing_ = true;
}

/// Opens the log again if its path does not lead to the open file any more.
/// False with errno set if that fails.
bool LogFile::openAgainIfGone() {
  struct stat held, named;
  if (isStream_ || ::fstat(fd_, &held) != 0 || !S_ISREG(held.st_mode))
    return true;
  const bool isThere = ::stat(path_.c_str(), &named) == 0;
  if (isThere ? named.st_dev == held.st_dev && named.st_ino == held.st_ino
              : errno != ENOENT && errno != ENOTDIR)
    return true;
  if (Status made = makeDirectories(parentDirectory(path_)); !made.ok()) {
    errno = made.systemError();
    return false;
  }
  int fd = ::open(path_.c_str(),
                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0)
    return false;
  if (!takeLock(fd)) {
    ::close(fd);
    errno = EWOULDBLOCK;
    return false;
  }
  ::close(std::exchange(fd_, fd));
  std::fprintf(stderr,
               isThere ? "warning: %s: is another file than before; the log "
                         "continues in it, without the older records\n"
                       : "warning: %s: was removed or renamed during the run; "
                         "it was created again, without the older records\n",
               path_.c_str());
  return true;
}

void LogFile::append(std::string_view record) {
  if (fd_ < 0)
    return;
  if (!openAgainIfGone())
    return lose(std::strerror(errno));
  if (!writePending())
    return lose(std::strerror(EAGAIN));
  ssize_t count = writeRecord(fd_, record, isFailing_ ? 0 : 1000);
  if (count > 0 && count < static_cast<ssize_t>(record.size())) {
    // A partial record would corrupt what comes after it.
    struct stat info;
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
      pending_ = record.substr(static_cast<size_t>(count));
      return;
    }
    if (::ftruncate(fd_, info.st_size - count) == 0 &&
        ::lseek(fd_, -count, SEEK_CUR) >= 0) // for a stream without O_APPEND
      return lose(std::strerror(ENOSPC));
    lose(std::strerror(errno));
    std::fprintf(stderr, "warning: %s: the log ends here\n", path_.c_str());
    ::close(std::exchange(fd_, -1));
    isCut_ = true;
    return;
  }
  if (count < 0)
    return lose(std::strerror(errno));
  if (isFailing_)
    std::fprintf(stderr, "warning: %s: logging continues%s\n", path_.c_str(),
                 lostText().c_str());
  isFailing_ = false;
}

std::string LogFile::lostText() const {
  if (isCut_ || !pending_.empty())
    return ", " + path_ + " is cut short";
  if (numLost_ == 0)
    return {};
  std::string count = std::to_string(numLost_);
  return ", " + count + " record" + (numLost_ > 1 ? "s" : "") + " of " + path_ +
         (numLost_ > 1 ? " are" : " is") + " lost";
}
