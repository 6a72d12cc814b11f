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
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace sinter::rt;

const OutputKind &JsonLog::kind() {
  static const OutputKind kind = {
      "a log",
      {"{\"step\":", "{\"eval\":", "{\"start\":", "{\"saved\":", "{\"end\":"}};
  return kind;
}

Status JsonLog::create(const std::string &path) {
  return file_.open(path, O_CREAT | O_TRUNC);
}

namespace {

/// The part of a log that belongs to a run up to a position. It is read line by
/// line: a log may be larger than the memory.
class KeptPart {
public:
  explicit KeptPart(const JsonLog::Position &position) : position_(position) {}

  /// Whether `line`, of which the first bytes suffice, belongs to it.
  bool takes(std::string_view line);
  /// ": has no records of ..."; empty if none is missing.
  std::string missingText() const;
  /// "step 7 has the loss 0.5, not 0.25" if that tells another run; else empty.
  const std::string &otherText() const { return other_; }

private:
  void takeStep(int64_t step, int64_t epoch);

  JsonLog::Position position_;
  int64_t step_ = 0, epoch_ = 0; // of the last record; 0: there is none
  int64_t numEvaluations_ = 0;   // since then
  int64_t missingSteps_ = 0, missingEvaluations_ = 0;
  std::string other_;
};

} // namespace

/// The number after `key` in `line`; nothing if there is none.
template <typename Number>
static std::optional<Number> numberAfter(std::string_view line,
                                         std::string_view key) {
  const size_t at = line.find(key);
  if (at == line.npos)
    return std::nullopt;
  line.remove_prefix(at + key.size());
  while (line.starts_with(' '))
    line.remove_prefix(1);
  Number number = 0;
  return std::from_chars(line.data(), line.data() + line.size(), number).ec ==
                 std::errc()
             ? std::optional(number)
             : std::nullopt;
}

void KeptPart::takeStep(int64_t step, int64_t epoch) {
  if (step_ > 0) {
    const int64_t steps = std::max<int64_t>(step - step_, 0);
    missingSteps_ += std::max<int64_t>(steps - 1, 0);
    // Where an epoch's length changed, its number jumps in one step.
    const int64_t ended = std::min(epoch - epoch_, steps);
    missingEvaluations_ += std::max<int64_t>(ended - numEvaluations_, 0);
  }
  step_ = step;
  epoch_ = epoch;
  numEvaluations_ = 0;
}

bool KeptPart::takes(std::string_view line) {
  if (line.starts_with("{\"eval\":")) {
    if (step_ == position_.step && !position_.isEvaluated)
      return false;
    ++numEvaluations_;
    return true;
  }
  if (!line.starts_with("{\"step\":"))
    return true; // what somebody else wrote
  const std::optional<int64_t> step = numberAfter<int64_t>(line, "{\"step\":");
  if (!step)
    return true;
  if (*step > position_.step)
    return false;
  takeStep(*step, numberAfter<int64_t>(line, "\"epoch\":").value_or(epoch_));
  if (*step == position_.step && position_.loss) {
    const std::optional<float> loss = numberAfter<float>(line, "\"loss\":");
    if (loss != position_.loss)
      other_ = "step " + std::to_string(*step) + " has the loss " +
               (loss ? jsonNumber(*loss) : "null") + ", not " +
               jsonNumber(*position_.loss);
  }
  return true;
}

std::string KeptPart::missingText() const {
  const int64_t steps = missingSteps_ + position_.step - step_;
  int64_t evaluations = 0;
  if (position_.epochs) {
    // Those after the last record: of its epoch and later ones, and of the step
    // where the run ended within an epoch.
    int64_t after = *position_.epochs - epoch_;
    if (position_.isEvaluated ? position_.isInEpoch : !position_.isInEpoch)
      after += position_.isEvaluated ? 1 : -1;
    evaluations =
        missingEvaluations_ + std::max<int64_t>(after - numEvaluations_, 0);
  }
  const std::string last = std::to_string(position_.step),
                    count = std::to_string(evaluations);
  if (steps > 0)
    return ": has no records of " + std::to_string(steps) +
           " of the steps up to " + last +
           (evaluations > 0 ? " and of " + count + " of their evaluations"
                            : "");
  return evaluations > 0 ? ": has no records of " + count +
                               " of the evaluations up to step " + last
                         : "";
}

/// Gives `kept` the whole lines of the file that `fd` has open, and returns
/// where those that it takes end, in bytes.
static Result<uint64_t> takeLines(const std::string &path, int fd,
                                  KeptPart &kept) {
  constexpr size_t mostOfLine = 256;
  std::vector<char> block(1 << 20);
  std::string line; // its first bytes
  uint64_t end = 0, offset = 0;
  for (;;) {
    const ssize_t count =
        ::pread(fd, block.data(), block.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(path, errno);
    if (count == 0) // what follows the last line is a torn one
      return end;
    std::string_view rest(block.data(), static_cast<size_t>(count));
    while (!rest.empty()) {
      const size_t lineEnd = rest.find('\n');
      line += rest.substr(0, lineEnd).substr(0, mostOfLine - line.size());
      const size_t taken = lineEnd == rest.npos ? rest.size() : lineEnd + 1;
      offset += taken;
      rest.remove_prefix(taken);
      if (lineEnd == rest.npos)
        break;
      if (!kept.takes(line))
        return end;
      end = offset;
      line.clear();
    }
  }
}

Status JsonLog::resume(const std::string &path, const Position &position) {
  struct stat info;
  // A pipe or a device holds no log to continue, and what is in the file of a
  // standard stream is not the log's alone.
  if (LogFile::isStandardStream(path) || ::stat(path.c_str(), &info) != 0 ||
      (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return create(path);
  SINTER_RETURN_IF_ERROR(file_.open(path, 0)); // takes the lock
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    file_.close();
    return fileError(path, errno);
  }
  KeptPart kept(position);
  Result<uint64_t> end = takeLines(path, fd, kept);
  ::close(fd);
  if (end.ok() && !kept.otherText().empty())
    end = Status::invalid(path + ": is the log of another run (" +
                          kept.otherText() + "); name another file");
  if (!end.ok()) {
    file_.close();
    return end.status();
  }
  if (const std::string missing = kept.missingText(); !missing.empty())
    std::fprintf(stderr, "warning: %s%s\n", path.c_str(), missing.c_str());
  return ::ftruncate(file_.descriptor(), static_cast<off_t>(*end)) == 0
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

/// The members of every record with --log-stats.
static std::string statsText() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  char time[40];
  std::snprintf(time, sizeof(time), "%.4f",
                std::chrono::duration<double>(now).count());
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  constexpr int64_t kUnitBytes = 1024; // of ru_maxrss on Linux
  return ",\"time\":" + std::string(time) + ",\"host_peak_bytes\":" +
         std::to_string(int64_t(usage.ru_maxrss) * kUnitBytes);
}

void JsonLog::write(const std::string &members) {
  if (file_.isOpen())
    file_.append("{" + members + (hasStats_ ? statsText() : "") + "}\n");
}

void JsonLog::step(int64_t step, int64_t epoch, float loss, float lr,
                   const Details &details) {
  std::string more;
  if (const std::optional<Scale> &scale = details.scale)
    more = ",\"loss_scale\":" + shortest(scale->scale) +
           ",\"skipped_steps\":" + std::to_string(scale->skipped);
  if (const std::optional<Norms> &norms = details.norms)
    more += ",\"grad_norm\":" + jsonNumber(norms->gradient) +
            ",\"weight_norm\":" + jsonNumber(norms->weights);
  write("\"step\":" + std::to_string(step) +
        ",\"epoch\":" + std::to_string(epoch) +
        ",\"loss\":" + jsonNumber(loss) + ",\"lr\":" + shortest(lr) + more);
}

void JsonLog::evaluation(int64_t epoch, const Evaluation &evaluation) {
  write("\"eval\":true,\"epoch\":" + std::to_string(epoch) + ",\"accuracy\":" +
        (evaluation.hasAccuracy ? jsonNumber(evaluation.accuracy()) : "null") +
        ",\"loss\":" + jsonNumber(evaluation.loss));
}

void JsonLog::start(int64_t step, const std::string &fields) {
  if (hasStats_)
    write("\"start\":true,\"step\":" + std::to_string(step) + "," + fields);
}

void JsonLog::saved(int64_t step) {
  if (hasStats_)
    write("\"saved\":true,\"step\":" + std::to_string(step));
}

void JsonLog::end(int64_t step, const char *how) {
  if (hasStats_)
    write("\"end\":\"" + std::string(how) +
          "\",\"step\":" + std::to_string(step));
}
