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
/// A pipe whose reader is slow holds the run up for a second at most; a record
/// of which it took only a part is completed before the next one. If the path
/// leads to another file than the open one, or to none (it was removed, renamed
/// or unmounted), the log continues at the path.
class LogFile {
public:
  LogFile() = default;
  ~LogFile();
  LogFile(const LogFile &) = delete;
  LogFile &operator=(const LogFile &) = delete;

  /// Opens `path` to append with further `flags` of open(), and locks it:
  /// SINTER_INVALID if another process has it open. Waits, with a note,
  /// for a reader of a pipe; SINTER_INTERRUPTED if a stop is requested
  /// meanwhile.
  Status open(const std::string &path, int flags);
  /// Whether `path` is the file of standard output or error. Then open()
  /// writes to that stream, and neither truncates nor overwrites the file.
  static bool isStandardStream(const std::string &path);
  int descriptor() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  /// Closes the file; a record of which a pipe took only a part is completed
  /// if the reader takes the rest within a second.
  void close();
  /// Warns about the first record of a gap that is lost, and about its end.
  void append(std::string_view record);
  /// ", 12 records of log.json are lost"; empty if none is.
  std::string lostText() const;

private:
  bool writePending();
  bool openAgainIfGone();
  void lose(const char *why);

  std::string path_;
  std::string pending_; // the rest of a record of which a pipe took a part
  int fd_ = -1;
  int64_t numLost_ = 0;
  bool isFailing_ = false;
  bool isStream_ = false; // a standard stream
  bool isCut_ = false;    // ends with a part of a record
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_LOGFILE_H
