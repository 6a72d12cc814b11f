//===- RunReport.cpp - numbers of training runs ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/run/RunReport.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

std::string compiler::numberText(double value, int digits) {
  if (value == kMissing)
    return "-";
  if (!std::isfinite(value))
    return "not finite";
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

static std::string percentText(double value) {
  if (value == kMissing || !std::isfinite(value))
    return numberText(value);
  char text[40];
  std::snprintf(text, sizeof(text), "%.2f %%", 100 * value);
  return text;
}

static std::string bytesText(double bytes) {
  constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1024;
  char text[40];
  std::snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", bytes,
                kUnits[unit]);
  return text;
}

static std::string durationText(double seconds) {
  char text[40];
  const auto whole = static_cast<long long>(seconds);
  if (whole >= 3600)
    std::snprintf(text, sizeof(text), "%lld h %02lld min", whole / 3600,
                  whole / 60 % 60);
  else if (whole >= 60)
    std::snprintf(text, sizeof(text), "%lld min %02lld s", whole / 60,
                  whole % 60);
  else
    std::snprintf(text, sizeof(text), "%.1f s", seconds);
  return text;
}

ColumnSummary compiler::summarize(const Run &run,
                                  const std::vector<double> &column) {
  ColumnSummary summary;
  for (auto [step, value] : llvm::zip(run.log.steps, column)) {
    if (value == kMissing)
      continue;
    if (!std::isfinite(value)) {
      ++summary.numNotFinite;
      summary.endsNotFinite = step;
      continue;
    }
    summary.endsNotFinite = std::nullopt;
    const ColumnSummary::Point point = {step, value};
    if (summary.count++ == 0)
      summary.first = summary.least = summary.largest = point;
    summary.last = point;
    if (value < summary.least.value)
      summary.least = point;
    if (value > summary.largest.value)
      summary.largest = point;
  }
  return summary;
}

/// The evaluation with the lowest loss; null if no loss is finite.
static const RunEvaluation *bestLoss(const RunLog &log) {
  const RunEvaluation *best = nullptr;
  for (const RunEvaluation &each : log.evaluations)
    if (std::isfinite(each.loss) && each.loss != kMissing &&
        (!best || each.loss < best->loss))
      best = &each;
  return best;
}

static const RunEvaluation *bestAccuracy(const RunLog &log) {
  const RunEvaluation *best = nullptr;
  for (const RunEvaluation &each : log.evaluations)
    if (std::isfinite(each.accuracy) && each.accuracy != kMissing &&
        (!best || each.accuracy > best->accuracy))
      best = &each;
  return best;
}

/// How often the trainer was started again: by its start records, else by steps
/// that were made again.
static size_t numResumes(const RunLog &log) {
  size_t starts = 0, rewinds = 0;
  for (const RunEvent &event : log.events) {
    starts += event.kind == RunEvent::Kind::Start;
    rewinds += event.kind == RunEvent::Kind::Rewind;
  }
  return starts ? starts - 1 : rewinds;
}

/// The mean of all steps with times, evaluations and saves included.
static double meanThroughput(const Run &run) {
  const std::vector<double> seconds = run.elapsed();
  if (seconds.size() < 2 || !(seconds.back() > 0))
    return kMissing;
  return static_cast<double>(seconds.size() - 1) *
         static_cast<double>(run.batch().value_or(1)) / seconds.back();
}

static std::string rangeText(const ColumnSummary &summary) {
  if (summary.count == 0)
    return "-";
  return summary.least.value == summary.largest.value
             ? numberText(summary.least.value)
             : numberText(summary.least.value) + " to " +
                   numberText(summary.largest.value);
}

static std::string listText(llvm::ArrayRef<int64_t> steps) {
  constexpr size_t kMost = 4;
  std::string text;
  for (int64_t step : steps.take_front(kMost))
    text += (text.empty() ? "" : ", ") + std::to_string(step);
  return steps.size() > kMost
             ? text + ", ... (" + std::to_string(steps.size()) + ")"
             : text;
}

std::vector<std::pair<std::string, std::string>>
compiler::runFacts(const Run &run) {
  std::vector<std::pair<std::string, std::string>> facts;
  auto add = [&](StringRef name, const std::string &text) {
    facts.emplace_back(name.str(), text);
  };
  auto addStep = [&](StringRef name, const std::string &text, int64_t step) {
    add(name, text + " (step " + std::to_string(step) + ")");
  };
  const RunLog &log = run.log;
  const std::map<std::string, std::string> settings = run.settings();
  for (StringRef name : {"model", "device"})
    if (auto found = settings.find(name.str()); found != settings.end())
      add(name, shown(found->second));
  if (!log.steps.empty()) {
    std::string steps = std::to_string(log.steps.size());
    if (std::optional<int64_t> total = run.totalSteps())
      steps += " of " + std::to_string(*total);
    add("steps", steps);
    const std::vector<double> &epochs = log.column(StepField::Epoch);
    if (!epochs.empty() && std::isfinite(epochs.back()))
      add("epochs", std::to_string(static_cast<int64_t>(epochs.back()) + 1));
  }
  if (std::optional<int64_t> batch = run.batch())
    add("batch", std::to_string(*batch));
  add("ended", run.endText());
  if (!log.steps.empty()) {
    const ColumnSummary loss = summarize(run, log.column(StepField::Loss));
    if (loss.count > 0) {
      add("first loss", numberText(loss.first.value));
      if (loss.endsNotFinite)
        addStep("last loss", "not finite", *loss.endsNotFinite);
      addStep(loss.endsNotFinite ? "last finite loss" : "last loss",
              numberText(loss.last.value), loss.last.step);
      addStep("lowest loss", numberText(loss.least.value), loss.least.step);
    }
    add("losses not finite", std::to_string(loss.numNotFinite));
  }
  if (!log.evaluations.empty()) {
    const RunEvaluation &last = log.evaluations.back();
    addStep("last eval loss", numberText(last.loss), last.step);
    if (const RunEvaluation *best = bestLoss(log))
      addStep("lowest eval loss", numberText(best->loss), best->step);
    if (const RunEvaluation *best = bestAccuracy(log)) {
      addStep("last accuracy", percentText(last.accuracy), last.step);
      addStep("best accuracy", percentText(best->accuracy), best->step);
    }
  }
  for (auto [name, field] : {std::pair<StringRef, StepField>{
                                 "learning rate", StepField::LearningRate},
                             {"gradient norm", StepField::GradientNorm},
                             {"weight norm", StepField::WeightNorm},
                             {"loss scale", StepField::LossScale}})
    if (!log.column(field).empty())
      add(name, rangeText(summarize(run, log.column(field))));
  if (!log.column(StepField::SkippedSteps).empty())
    add("skipped steps", std::to_string(run.skipped().size()));
  if (const std::vector<double> seconds = run.elapsed(); !seconds.empty()) {
    add("time", durationText(seconds.back()));
    if (double rate = meanThroughput(run); rate != kMissing)
      add(run.batch() ? "rows/s" : "steps/s", numberText(std::round(rate)));
  }
  for (auto [name, key] :
       {std::pair{"arena", "arena_bytes"}, std::pair{"states", "state_bytes"}})
    if (std::optional<int64_t> bytes = run.number(key, key))
      add(name, bytesText(static_cast<double>(*bytes)));
  if (const ColumnSummary host =
          summarize(run, log.column(StepField::HostPeakBytes));
      host.count > 0)
    add("host memory (peak)", bytesText(host.largest.value));
  if (!log.steps.empty())
    add("resumes", std::to_string(numResumes(log)));
  if (!run.savedSteps.empty())
    add("checkpoints", listText(run.savedSteps));
  return facts;
}

void compiler::printRuns(llvm::ArrayRef<Run> runs, llvm::raw_ostream &os) {
  // Rows in the order of the run that has most of them first.
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> columns;
  std::vector<size_t> widths;
  size_t nameWidth = 0;
  for (const Run &run : runs) {
    auto &column = columns.emplace_back();
    size_t width = shown(run.title).size(), place = 0;
    for (auto &[name, text] : runFacts(run)) {
      auto found = llvm::find(names, name);
      if (found == names.end())
        found = names.insert(names.begin() + place, name);
      place = found - names.begin() + 1;
      column[name] = text;
      width = std::max(width, text.size());
      nameWidth = std::max(nameWidth, name.size());
    }
    widths.push_back(width);
  }
  auto printRow = [&](StringRef name,
                      llvm::function_ref<StringRef(size_t)> cell) {
    std::string line = name.str();
    size_t end = nameWidth;
    for (size_t i = 0; i < runs.size(); ++i) {
      line.resize(std::max(line.size(), end), ' ');
      line += "  " + cell(i).str();
      end += widths[i] + 2;
    }
    os << StringRef(line).rtrim() << "\n";
  };
  std::vector<std::string> titles;
  for (const Run &run : runs)
    titles.push_back(shown(run.title));
  printRow("run", [&](size_t i) -> StringRef { return titles[i]; });
  for (const std::string &name : names)
    printRow(name, [&](size_t i) -> StringRef {
      auto found = columns[i].find(name);
      return found == columns[i].end() ? "-" : StringRef(found->second);
    });
  for (const Run &run : runs)
    for (const std::string &note : run.notes())
      os << "note: " << (runs.size() > 1 ? shown(run.title) + ": " : "") << note
         << "\n";
}

//===----------------------------------------------------------------------===//
// Epochs
//===----------------------------------------------------------------------===//

namespace {
struct Mean {
  double sum = 0;
  size_t count = 0;
  void add(double value) {
    if (std::isfinite(value) && value != kMissing) {
      sum += value;
      ++count;
    }
  }
  double value() const { return count ? sum / double(count) : kMissing; }
};
} // namespace

static void printEpochsOf(const Run &run, llvm::raw_ostream &os) {
  const RunLog &log = run.log;
  const std::vector<double> &epochs = log.column(StepField::Epoch),
                            &losses = log.column(StepField::Loss),
                            &rates = log.column(StepField::LearningRate),
                            &norms = log.column(StepField::GradientNorm);
  os << "epoch      steps  mean loss  not finite         lr  gradient norm  "
        "eval loss   accuracy\n";
  for (size_t begin = 0, end; begin < log.steps.size(); begin = end) {
    Mean loss, norm;
    size_t numBad = 0;
    const double epoch = epochs.empty() ? 0 : epochs[begin];
    for (end = begin; end < log.steps.size() &&
                      (epochs.empty() || epochs[end] == epoch || end == begin);
         ++end) {
      loss.add(losses[end]);
      numBad += !std::isfinite(losses[end]);
      norm.add(norms.empty() ? kMissing : norms[end]);
    }
    // The last evaluation before the next epoch's steps.
    RunEvaluation eval;
    for (const RunEvaluation &each : log.evaluations)
      if (each.step >= log.steps[begin] && each.step <= log.steps[end - 1])
        eval = each;
    os << llvm::format(
        "%5lld %10zu %10s %11zu %10s %14s %10s %10s\n",
        static_cast<long long>(std::isfinite(epoch) ? epoch : 0), end - begin,
        numberText(loss.value()).c_str(), numBad,
        numberText(rates.empty() ? kMissing : rates[end - 1]).c_str(),
        numberText(norm.value()).c_str(), numberText(eval.loss).c_str(),
        percentText(eval.accuracy).c_str());
  }
}

void compiler::printEpochs(llvm::ArrayRef<Run> runs, llvm::raw_ostream &os) {
  for (const Run &run : runs) {
    if (runs.size() > 1)
      os << (&run == runs.begin() ? "" : "\n") << "run " << shown(run.title)
         << ":\n";
    printEpochsOf(run, os);
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value jsonNumber(double value) {
  return std::isfinite(value) && value != kMissing ? json::Value(value)
                                                   : json::Value(nullptr);
}

static json::Value summaryJson(const ColumnSummary &summary) {
  if (summary.count == 0 && summary.numNotFinite == 0)
    return nullptr;
  json::Object object{{"not_finite", summary.numNotFinite}};
  if (summary.count > 0)
    for (auto [name, point] :
         {std::pair{"first", summary.first}, std::pair{"last", summary.last},
          std::pair{"least", summary.least},
          std::pair{"largest", summary.largest}})
      object[name] = json::Object{{"step", point.step}, {"value", point.value}};
  // `last` is the last number, `last_finite` the one before those that are not.
  if (summary.endsNotFinite) {
    if (json::Value *last = object.get("last"))
      object["last_finite"] = std::move(*last);
    object["last"] =
        json::Object{{"step", *summary.endsNotFinite}, {"value", nullptr}};
  }
  return object;
}

static json::Value evaluationJson(const RunEvaluation *evaluation) {
  if (!evaluation)
    return nullptr;
  return json::Object{{"step", evaluation->step},
                      {"epoch", evaluation->epoch},
                      {"loss", jsonNumber(evaluation->loss)},
                      {"accuracy", jsonNumber(evaluation->accuracy)}};
}

json::Object compiler::runJson(const Run &run) {
  const RunLog &log = run.log;
  json::Object fields, settings;
  for (size_t i = 0; i < kNumStepFields; ++i) {
    const auto field = static_cast<StepField>(i);
    if (field != StepField::Epoch && field != StepField::Time &&
        field != StepField::SkippedSteps && !log.column(field).empty())
      fields[keyOf(field)] = summaryJson(summarize(run, log.column(field)));
  }
  for (auto &[name, value] : run.settings())
    settings[utf8(name)] = utf8(value);
  json::Array evaluations, skipped;
  for (const RunEvaluation &evaluation : log.evaluations)
    evaluations.push_back(evaluationJson(&evaluation));
  for (size_t place : run.skipped())
    skipped.push_back(log.steps[place]);
  const std::vector<double> seconds = run.elapsed();
  const RunEvent *end = log.end();
  auto optional = [](std::optional<int64_t> value) {
    return value ? json::Value(*value) : json::Value(nullptr);
  };
  return json::Object{
      {"path", utf8(run.path)},
      {"log", run.logPath.empty() ? json::Value(nullptr)
                                  : json::Value(utf8(run.logPath))},
      {"checkpoints", run.checkpoints.empty()
                          ? json::Value(nullptr)
                          : json::Value(utf8(run.checkpoints))},
      {"steps", log.steps.size()},
      {"last_step", log.steps.empty() ? json::Value(nullptr)
                                      : json::Value(log.steps.back())},
      {"total_steps", optional(run.totalSteps())},
      {"batch", optional(run.batch())},
      {"end", end ? json::Value(utf8(end->text)) : json::Value(nullptr)},
      {"fields", std::move(fields)},
      {"evaluations", std::move(evaluations)},
      {"best_loss", evaluationJson(bestLoss(log))},
      {"best_accuracy", evaluationJson(bestAccuracy(log))},
      {"seconds",
       seconds.empty() ? json::Value(nullptr) : json::Value(seconds.back())},
      {"rows_per_second",
       run.batch() ? jsonNumber(meanThroughput(run)) : json::Value(nullptr)},
      {"arena_bytes", optional(run.number("arena_bytes", "arena_bytes"))},
      {"state_bytes", optional(run.number("state_bytes", "state_bytes"))},
      {"resumes", numResumes(log)},
      {keyOf(StepField::SkippedSteps), std::move(skipped)},
      {"saved_steps", json::Array(run.savedSteps)},
      {"missing_steps", log.numMissing},
      {"replaced_records", log.numMadeAgain},
      {"other_lines", log.numOtherLines},
      {"is_cut", log.isCut},
      {"settings", std::move(settings)}};
}
