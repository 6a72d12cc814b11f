//===- JsonLog.cpp - --log-json: one object per line ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/JsonLog.h"

#include "runtime/base/File.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::rt;

Status JsonLog::create(const std::string &path) {
  return file_.open(path, O_CREAT | O_TRUNC);
}

namespace {

/// The part of a log that belongs to the first steps.
struct KeptPart {
  size_t numBytes = 0;
  int64_t numMissing = 0; // records of steps after its first one
};

} // namespace

static KeptPart keptPart(std::string_view log, int64_t step, bool evaluated) {
  constexpr std::string_view stepKey = "{\"step\":", evalKey = "{\"eval\":";
  KeptPart kept;
  int64_t lastStep = 0;
  for (size_t end; (end = log.find('\n', kept.numBytes)) != log.npos;
       kept.numBytes = end + 1) {
    std::string_view line = log.substr(kept.numBytes, end - kept.numBytes);
    if (line.starts_with(evalKey) && lastStep == step && !evaluated)
      break;
    if (!line.starts_with(stepKey))
      continue; // also what somebody else wrote
    line.remove_prefix(stepKey.size());
    while (line.starts_with(' '))
      line.remove_prefix(1);
    int64_t number = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), number).ec !=
        std::errc())
      continue;
    if (number > step)
      break;
    if (lastStep > 0)
      kept.numMissing += std::max<int64_t>(number - lastStep - 1, 0);
    lastStep = number;
  }
  // Whatever follows the last line is a torn one.
  kept.numMissing += step - lastStep;
  return kept;
}

Status JsonLog::resume(const std::string &path, int64_t step, bool evaluated) {
  struct stat info;
  // A pipe or a device holds no log to continue, and what is in the file of a
  // standard stream is not the log's alone.
  if (LogFile::isStandardStream(path) || ::stat(path.c_str(), &info) != 0 ||
      (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return create(path);
  Result<std::vector<uint8_t>> bytes = readFile(path);
  if (!bytes.ok())
    return bytes.status();
  std::string_view text(reinterpret_cast<const char *>(bytes->data()),
                        bytes->size());
  SINTER_RETURN_IF_ERROR(file_.open(path, 0));
  const KeptPart kept = keptPart(text, step, evaluated);
  if (kept.numMissing > 0)
    std::fprintf(
        stderr, "warning: %s: has no records of %lld of the steps up to %lld\n",
        path.c_str(), static_cast<long long>(kept.numMissing),
        static_cast<long long>(step));
  return ::ftruncate(file_.descriptor(), static_cast<off_t>(kept.numBytes)) == 0
             ? Status()
             : fileError(path, errno);
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
  if (file_.isOpen())
    file_.append("{\"step\":" + std::to_string(step) + ",\"epoch\":" +
                 std::to_string(epoch) + ",\"loss\":" + jsonNumber(loss) +
                 ",\"lr\":" + shortest(lr) + scaling + "}\n");
}

void JsonLog::evaluation(int64_t epoch, const Evaluation &evaluation) {
  if (file_.isOpen())
    file_.append(
        "{\"eval\":true,\"epoch\":" + std::to_string(epoch) + ",\"accuracy\":" +
        (evaluation.hasAccuracy ? jsonNumber(evaluation.accuracy()) : "null") +
        ",\"loss\":" + jsonNumber(evaluation.loss) + "}\n");
}
