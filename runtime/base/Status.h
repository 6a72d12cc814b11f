//===- Status.h - how the run tower reports failure -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A Status is success or {code, one line for the user}; a Result<T> is a T or a
// Status. The run tower throws nothing of its own. Codes are the exit codes of
// the tools (sinter/status.h).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_STATUS_H
#define SINTER_RUNTIME_BASE_STATUS_H

#include "sinter/status.h"

#include <optional>
#include <string>
#include <utility>

namespace sinter::rt {

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(sinter_status code, std::string message)
      : code_(code), message_(std::move(message)) {}

  static Status failed(std::string message) {
    return {SINTER_FAILED, std::move(message)};
  }
  static Status invalid(std::string message) {
    return {SINTER_INVALID, std::move(message)};
  }

  bool ok() const { return code_ == SINTER_OK; }
  sinter_status code() const { return code_; }
  /// One line, without a trailing newline; empty on success.
  const std::string &message() const { return message_; }

  /// The errno of the system call that failed; 0 where no call did.
  int systemError() const { return systemError_; }
  /// Whether this replica failed only because another one did, which knows why.
  bool isAboutOthers() const { return isAboutOthers_; }
  /// The same failure with another code or message.
  Status as(sinter_status code, std::string message) const {
    Status other(code, std::move(message));
    other.systemError_ = systemError_;
    other.isAboutOthers_ = isAboutOthers_;
    return other;
  }
  static Status ofSystem(sinter_status code, std::string message, int error) {
    Status status(code, std::move(message));
    status.systemError_ = error;
    return status;
  }
  static Status aboutOthers(sinter_status code, std::string message) {
    Status status(code, std::move(message));
    status.isAboutOthers_ = true;
    return status;
  }

private:
  sinter_status code_ = SINTER_OK;
  int systemError_ = 0;
  bool isAboutOthers_ = false;
  std::string message_;
};

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

} // namespace sinter::rt

/// Returns the Status of EXPR from the enclosing function if it is a failure.
#define SINTER_RETURN_IF_ERROR(EXPR)                                           \
  do {                                                                         \
    if (::sinter::rt::Status sinterStatus = (EXPR); !sinterStatus.ok())        \
      return sinterStatus;                                                     \
  } while (false)

#endif // SINTER_RUNTIME_BASE_STATUS_H
