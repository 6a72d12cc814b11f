//===- JsonLog.cpp - --log-json: one object a line ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/JsonLog.h"

#include "runtime/base/File.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::rt;

JsonLog::~JsonLog() {
  if (fd_ >= 0)
    ::close(fd_);
}

Status JsonLog::create(const std::string &path) {
  path_ = path;
  fd_ = ::open(path.c_str(),
               O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  return fd_ < 0 ? fileError(path, errno) : Status();
}

/// How much of `log` belongs to the first `step` steps.
static size_t keptBytes(std::string_view log, int64_t step, bool evaluated) {
  constexpr std::string_view stepKey = "{\"step\":", evalKey = "{\"eval\":";
  size_t kept = 0;
  int64_t lastStep = 0;
  while (true) {
    size_t end = log.find('\n', kept);
    if (end == std::string_view::npos)
      return kept; // whatever follows is a torn line
    std::string_view line = log.substr(kept, end - kept);
    if (line.starts_with(stepKey)) {
      int64_t number = 0;
      auto [last, error] = std::from_chars(line.data() + stepKey.size(),
                                           line.data() + line.size(), number);
      if (error != std::errc() || number > step)
        return kept;
      lastStep = number;
    } else if (!line.starts_with(evalKey) || (lastStep == step && !evaluated)) {
      return kept;
    }
    kept = end + 1;
  }
}

Status JsonLog::resume(const std::string &path, int64_t step, bool evaluated) {
  struct stat info;
  // A pipe or a device holds nothing to go on with.
  if (::stat(path.c_str(), &info) != 0 ||
      (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return create(path);
  Result<std::vector<uint8_t>> bytes = readFile(path);
  if (!bytes.ok())
    return bytes.status();
  std::string_view text(reinterpret_cast<const char *>(bytes->data()),
                        bytes->size());
  path_ = path;
  fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(
                                      keptBytes(text, step, evaluated))) != 0)
    return fileError(path, errno);
  return {};
}

void JsonLog::write(const std::string &line) {
  if (fd_ < 0)
    return;
  ssize_t count = ::write(fd_, line.data(), line.size());
  if (count == static_cast<ssize_t>(line.size()))
    return;
  std::fprintf(stderr, "warning: %s: %s; the log ends here\n", path_.c_str(),
               count < 0 ? std::strerror(errno) : "no space left");
  ::close(fd_);
  fd_ = -1;
}

std::string sinter::rt::jsonNumber(double value) {
  if (!std::isfinite(value))
    return "null";
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

/// The shortest text that gives the same float again, or null.
static std::string shortest(float value) {
  if (!std::isfinite(value))
    return "null";
  char text[40];
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return error == std::errc() ? std::string(text, end) : "null";
}

void JsonLog::step(int64_t step, int64_t epoch, float loss, float lr,
                   const std::optional<Scale> &scale) {
  std::string scaling;
  if (scale)
    scaling = ",\"loss_scale\":" + shortest(scale->scale) +
              ",\"skipped_steps\":" + std::to_string(scale->skipped);
  if (fd_ >= 0)
    write("{\"step\":" + std::to_string(step) + ",\"epoch\":" +
          std::to_string(epoch) + ",\"loss\":" + jsonNumber(loss) +
          ",\"lr\":" + shortest(lr) + scaling + "}\n");
}

void JsonLog::evaluation(int64_t epoch, const Evaluation &evaluation) {
  if (fd_ >= 0)
    write(
        "{\"eval\":true,\"epoch\":" + std::to_string(epoch) + ",\"accuracy\":" +
        (evaluation.hasAccuracy ? jsonNumber(evaluation.accuracy()) : "null") +
        ",\"loss\":" + jsonNumber(evaluation.loss) + "}\n");
}
