//===- Run.cpp - a training run: its log and its checkpoints --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/run/Run.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/CheckpointReport.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static constexpr uint64_t kLookedAtBytes = 256;

static bool isLogFile(StringRef file) {
  if (!fs::is_regular_file(file))
    return false;
  auto begin = llvm::MemoryBuffer::getFileSlice(file, kLookedAtBytes, 0);
  return begin && RunLog::isOne((*begin)->getBuffer());
}

static bool hasLogName(StringRef file) {
  return llvm::is_contained({".json", ".jsonl", ".log", ".txt"},
                            path::extension(file));
}

/// What a folder has, sorted by name.
static std::vector<std::string> entriesOf(StringRef folder) {
  std::vector<std::string> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error))
    entries.push_back(it->path());
  llvm::sort(entries);
  return entries;
}

/// The number of a checkpoint's folder; nothing for other names, and for a
/// folder without a manifest.
static std::optional<int64_t> checkpointStep(StringRef folder) {
  StringRef name = path::filename(folder);
  int64_t step = 0;
  llvm::SmallString<128> manifest(folder);
  path::append(manifest, "manifest.json");
  if (!name.consume_front("step-") || name.getAsInteger(10, step) || step < 0 ||
      !fs::exists(manifest))
    return std::nullopt;
  return step;
}

static bool hasCheckpoints(StringRef folder) {
  return llvm::any_of(entriesOf(folder), [](const std::string &entry) {
    return checkpointStep(entry).has_value();
  });
}

/// The --out directory: the folder itself, or the only one in it; "" if there
/// is none.
static std::string checkpointsIn(StringRef folder) {
  if (hasCheckpoints(folder))
    return folder.str();
  std::vector<std::string> found;
  for (const std::string &entry : entriesOf(folder))
    if (fs::is_directory(entry) && hasCheckpoints(entry))
      found.push_back(entry);
  return found.size() == 1 ? found.front() : "";
}

static std::vector<std::string> logsIn(StringRef folder) {
  std::vector<std::string> logs;
  for (const std::string &entry : entriesOf(folder))
    if (hasLogName(entry) && isLogFile(entry))
      logs.push_back(entry);
  return logs;
}

/// "run.json" beside "run"; "" if there is none.
static std::string logBeside(StringRef folder) {
  StringRef stem = folder.rtrim('/');
  for (StringRef ending : {".json", ".jsonl", ".log"})
    if (std::string file = (stem + ending).str(); isLogFile(file))
      return file;
  return "";
}

/// The --out directory that the log names, which may be relative to the folder
/// where the trainer ran; "" if there is none.
static std::string checkpointsOf(const RunLog &log, StringRef logPath) {
  const json::Object *start = log.start();
  std::optional<StringRef> out = start ? start->getString("out") : std::nullopt;
  if (!out)
    return "";
  llvm::SmallString<128> beside(path::parent_path(logPath));
  path::append(beside, path::filename(out->rtrim('/')));
  for (StringRef folder : {*out, StringRef(beside)})
    if (fs::is_directory(folder) && hasCheckpoints(folder))
      return folder.str();
  return "";
}

bool Run::hasLog(StringRef path) {
  return isLogFile(path) ||
         (fs::is_directory(path) && !checkpointStep(path) &&
          (!logsIn(path).empty() || !logBeside(path).empty()));
}

bool Run::isOne(StringRef path) {
  return hasLog(path) ||
         (fs::is_directory(path) && !checkpointsIn(path).empty());
}

static llvm::Error problem(StringRef file, const llvm::Twine &what) {
  return llvm::createStringError(shown(file, 512) + ": " + what);
}

llvm::Expected<Run> Run::read(StringRef path) {
  Run run;
  run.path = path.str();
  run.title = path::filename(path.rtrim('/')).str();
  if (!fs::exists(path))
    return problem(path, "No such file or directory");
  if (fs::is_directory(path)) {
    std::vector<std::string> logs = logsIn(path);
    if (logs.size() > 1)
      return problem(
          path, "has several logs (" + shown(path::filename(logs[0])) + ", " +
                    shown(path::filename(logs[1])) +
                    (logs.size() > 2 ? ", ..." : "") + "); give one of them");
    run.logPath = logs.empty() ? logBeside(path) : logs.front();
    run.checkpoints = checkpointsIn(path);
    if (run.logPath.empty() && run.checkpoints.empty())
      return problem(path, "has neither a log of --log-json nor checkpoints");
  } else if (fs::is_regular_file(path)) {
    run.logPath = path.str();
  } else {
    return problem(path, "is neither a regular file nor a folder");
  }
  if (!run.logPath.empty()) {
    auto text = llvm::MemoryBuffer::getFile(run.logPath, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
    if (!text)
      return problem(run.logPath, text.getError().message());
    if (llvm::Error error = run.log.read((*text)->getBuffer()))
      return problem(run.logPath, llvm::toString(std::move(error)));
    if (run.checkpoints.empty())
      run.checkpoints = checkpointsOf(run.log, run.logPath);
  }
  if (!run.checkpoints.empty()) {
    for (const std::string &entry : entriesOf(run.checkpoints))
      if (std::optional<int64_t> step = checkpointStep(entry))
        run.savedSteps.push_back(*step);
    auto checkpoint = CheckpointSummary::read(run.checkpoints);
    if (!checkpoint)
      return checkpoint.takeError();
    run.manifest = std::move(checkpoint->manifest);
  }
  for (const RunEvent &event : run.log.events)
    if (event.kind == RunEvent::Kind::Saved)
      run.savedSteps.push_back(event.step);
  llvm::sort(run.savedSteps);
  run.savedSteps.erase(llvm::unique(run.savedSteps), run.savedSteps.end());
  return run;
}

//===----------------------------------------------------------------------===//
// What follows from them
//===----------------------------------------------------------------------===//

static std::string textOf(const json::Value &value) {
  if (std::optional<StringRef> text = value.getAsString())
    return text->str();
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

std::map<std::string, std::string> Run::settings() const {
  std::map<std::string, std::string> settings;
  const json::Object *start = log.start();
  const json::Object &source = start ? *start : manifest;
  auto addAll = [&](StringRef key, StringRef prefix) {
    if (const json::Object *members = source.getObject(key))
      for (const auto &[name, value] : *members)
        settings[(prefix + StringRef(name)).str()] = textOf(value);
  };
  addAll("options", "option ");
  addAll("recipe", "recipe ");
  addAll("data", "data ");
  settings.erase("data modifiedNs");
  for (auto [name, logKey, manifestKey] :
       {std::tuple{"model", "model", "model"},
        std::tuple{"build", "build_id", "buildId"},
        std::tuple{"batch", "batch", "batch"},
        std::tuple{"rows", "rows", "rows"}, std::tuple{"seed", "seed", "seed"},
        std::tuple{"steps", "total_steps", "totalSteps"},
        std::tuple{"device", "device", ""}})
    if (const json::Value *value = source.get(start ? logKey : manifestKey))
      settings[name] = textOf(*value);
  return settings;
}

std::optional<int64_t> Run::number(StringRef logKey,
                                   StringRef manifestKey) const {
  const json::Object *start = log.start();
  if (std::optional<int64_t> value =
          start ? start->getInteger(logKey) : std::nullopt)
    return value;
  return manifest.getInteger(manifestKey);
}

/// The number of the run, from 0, that each step belongs to: the trainer was
/// started again in between.
static std::vector<size_t> segmentsOf(const RunLog &log) {
  std::vector<int64_t> begins;
  for (const RunEvent &event : log.events)
    if (event.kind == RunEvent::Kind::Start)
      begins.push_back(event.step);
  llvm::sort(begins);
  std::vector<size_t> segments;
  for (int64_t step : log.steps)
    segments.push_back(llvm::lower_bound(begins, step) - begins.begin());
  return segments;
}

/// A later time than the one before it; a clock may be set back.
static bool isLater(double time, double before) {
  return std::isfinite(time) && time != kMissing && before != kMissing &&
         time > before;
}

std::vector<double> Run::elapsed() const {
  const std::vector<double> &times = log.column(StepField::Time);
  std::vector<double> elapsed;
  const std::vector<size_t> segments = segmentsOf(log);
  double total = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    if (i > 0 && segments[i] == segments[i - 1] &&
        isLater(times[i], times[i - 1]))
      total += times[i] - times[i - 1];
    elapsed.push_back(total);
  }
  return elapsed;
}

std::vector<double> Run::throughput() const {
  constexpr double kLeastSeconds = 0.1;
  const std::vector<double> &times = log.column(StepField::Time);
  const std::vector<double> seconds = elapsed();
  const std::vector<size_t> segments = segmentsOf(log);
  const double perStep = static_cast<double>(batch().value_or(1));
  std::vector<double> rates;
  size_t from = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    if (i > 0 && segments[i] != segments[i - 1])
      from = i;
    while (from + 1 < i && seconds[i] - seconds[from + 1] >= kLeastSeconds)
      ++from;
    const double passed = seconds[i] - seconds[from];
    rates.push_back(passed > 0
                        ? static_cast<double>(log.steps[i] - log.steps[from]) *
                              perStep / passed
                        : kMissing);
  }
  return rates;
}

std::vector<size_t> Run::skipped() const {
  const std::vector<double> &counts = log.column(StepField::SkippedSteps);
  std::vector<size_t> places;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > (i > 0 && counts[i - 1] != kMissing ? counts[i - 1] : 0))
      places.push_back(i);
  return places;
}

std::vector<std::string> Run::missingNotes() const {
  std::vector<std::string> notes;
  constexpr size_t kMostParts = 3;
  for (auto [first, last] : llvm::ArrayRef(log.missing).take_front(kMostParts))
    notes.push_back(
        first == last ? "step " + std::to_string(first) + " is not in this log"
                      : "steps " + std::to_string(first) + " to " +
                            std::to_string(last) + " are not in this log");
  if (log.missing.size() > kMostParts)
    notes.push_back("in all, " + std::to_string(log.numMissing) + " steps in " +
                    std::to_string(log.missing.size()) +
                    " parts are not in this log");
  return notes;
}

std::vector<std::string> Run::notes() const {
  std::vector<std::string> notes;
  auto plural = [](int64_t count, StringRef noun) {
    return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
  };
  if (logPath.empty())
    notes.push_back("has no log of --log-json, only checkpoints");
  if (log.isCut)
    notes.push_back("the last line is incomplete: the run is still writing it, "
                    "or was killed");
  if (log.numOtherLines > 0)
    notes.push_back(
        plural(log.numOtherLines, "line") +
        (log.numOtherLines == 1 ? " is not a record" : " are not records") +
        " (first: line " + std::to_string(log.firstOtherLine) + ")");
  llvm::append_range(notes, missingNotes());
  for (const RunEvent &event : log.events)
    if (event.kind == RunEvent::Kind::Rewind)
      notes.push_back(event.text + "; the later records count");
  if (!log.steps.empty() && log.column(StepField::Time).empty())
    notes.push_back("has no times and no memory: they need --log-stats of the "
                    "trainer");
  if (!log.steps.empty() && log.column(StepField::GradientNorm).empty())
    notes.push_back("has no norms of gradient and weights: they need a "
                    "trainer compiled with --log-norms");
  if (!log.steps.empty() && !savedSteps.empty() &&
      savedSteps.back() > log.steps.back())
    notes.push_back("the checkpoint of step " +
                    std::to_string(savedSteps.back()) +
                    " is newer than the log");
  return notes;
}

std::string Run::endText() const {
  const int64_t last = !log.steps.empty()   ? log.steps.back()
                       : savedSteps.empty() ? 0
                                            : savedSteps.back();
  std::optional<int64_t> total = totalSteps();
  auto text = [&](int64_t step) {
    return "step " + std::to_string(step) +
           (total ? " of " + std::to_string(*total) : "");
  };
  if (const RunEvent *end = log.end())
    return shown(end->text) + " at " + text(end->step);
  const std::string at = text(last);
  if (log.start())
    return "running, or killed, at " + at;
  return "at " + at + "; the log does not say how it ended";
}
