//===- LogFile.h - a log that may lose records ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_LOGFILE_H
#define SINTER_RUNTIME_HARNESS_LOGFILE_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace sinter::rt {

/// A file to which records are appended. A run outlives its logs: a record that
/// cannot be written is left out as a whole, and the next one is tried again.
/// A pipe whose reader is slow holds the run up for a second at most.
class LogFile {
public:
  LogFile() = default;
  ~LogFile();
  LogFile(const LogFile &) = delete;
  LogFile &operator=(const LogFile &) = delete;

  /// Opens `path` to append with further `flags` of open(). Waits, with a note,
  /// for a reader of a pipe; SINTER_INTERRUPTED if a stop is requested
  /// meanwhile.
  Status open(const std::string &path, int flags);
  int descriptor() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  /// Warns about the first record of a gap that is lost, and about its end.
  void append(std::string_view record);
  /// ", 12 records of log.json are lost"; empty if none is.
  std::string lostText() const;

private:
  std::string path_;
  int fd_ = -1;
  int64_t numLost_ = 0;
  bool isFailing_ = false;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_LOGFILE_H
