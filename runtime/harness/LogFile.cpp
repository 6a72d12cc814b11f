//===- LogFile.cpp - a log that may lose records --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/LogFile.h"

#include "runtime/base/File.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::rt;

LogFile::~LogFile() {
  if (fd_ >= 0)
    ::close(fd_);
}

Status LogFile::open(const std::string &path, int fd) {
  path_ = path;
  fd_ = fd;
  return fd_ < 0 ? fileError(path, errno) : Status();
}

void LogFile::append(std::string_view record) {
  if (fd_ < 0)
    return;
  ssize_t count = ::write(fd_, record.data(), record.size());
  if (count == static_cast<ssize_t>(record.size())) {
    if (isFailing_)
      std::fprintf(stderr, "warning: %s: logging continues%s\n", path_.c_str(),
                   lostText().c_str());
    isFailing_ = false;
    return;
  }
  const int error = count < 0 ? errno : ENOSPC;
  // A partial record would corrupt what comes after it.
  struct stat info;
  bool isWhole =
      count <= 0 || (::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode) &&
                     ::ftruncate(fd_, info.st_size - count) == 0);
  ++numLost_;
  if (!isFailing_ || !isWhole)
    std::fprintf(stderr, "warning: %s: %s; %s\n", path_.c_str(),
                 std::strerror(error),
                 isWhole ? "new records are lost" : "the log ends here");
  isFailing_ = true;
  if (isWhole)
    return;
  ::close(fd_);
  fd_ = -1;
}

std::string LogFile::lostText() const {
  if (numLost_ == 0)
    return {};
  std::string count = std::to_string(numLost_);
  return fd_ < 0
             ? ", " + path_ + " is cut short"
             : ", " + count + " record" + (numLost_ > 1 ? "s" : "") + " of " +
                   path_ + (numLost_ > 1 ? " are" : " is") + " lost";
}
