//===- RunPage.cpp - training runs in the page ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/run/RunPage.h"

#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/run/RunReport.h"

#include <cmath>
#include <map>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

/// As many as the widest screen has pixels.
static constexpr size_t kMostBuckets = 4096;
/// The page has so many marks of a kind; more would be one line. It says how
/// many there are.
static constexpr size_t kMostMarks = 1000;

/// Six significant digits, which is more than a screen shows; the rest would
/// only make the page larger.
static json::Value rounded(double value, int digits = 6) {
  if (!std::isfinite(value) || value == kMissing)
    return nullptr;
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  const double shorter = std::strtod(text, nullptr);
  if (shorter == std::floor(shorter) && std::abs(shorter) < 1e15)
    return static_cast<int64_t>(shorter);
  return shorter;
}

namespace {

/// The buckets of one run.
class Buckets {
public:
  explicit Buckets(const Run &run)
      : run_(run),
        size_(std::max<size_t>(1, (run.log.steps.size() + kMostBuckets - 1) /
                                      kMostBuckets)) {}

  size_t size() const { return size_; }
  json::Object curve(const std::vector<double> &column) const;
  /// The value after the last step of each bucket.
  json::Array lastOf(const std::vector<double> &column, int digits) const;
  json::Array steps() const;

private:
  void forEach(llvm::function_ref<void(size_t begin, size_t end)> visit) const {
    const size_t count = run_.log.steps.size();
    for (size_t begin = 0; begin < count; begin += size_)
      visit(begin, std::min(begin + size_, count));
  }

  const Run &run_;
  size_t size_; // steps in a bucket
};

} // namespace

json::Object Buckets::curve(const std::vector<double> &column) const {
  json::Array mean, least, largest, bad;
  size_t number = 0;
  forEach([&](size_t begin, size_t end) {
    double sum = 0, low = 0, high = 0;
    int64_t count = 0, numBad = 0;
    for (size_t i = begin; i < end; ++i) {
      if (column[i] == kMissing)
        continue;
      if (!std::isfinite(column[i])) {
        ++numBad;
        continue;
      }
      low = count ? std::min(low, column[i]) : column[i];
      high = count ? std::max(high, column[i]) : column[i];
      sum += column[i];
      ++count;
    }
    const double none = kMissing;
    mean.push_back(rounded(count ? sum / double(count) : none));
    if (size_ > 1) {
      least.push_back(rounded(count ? low : none));
      largest.push_back(rounded(count ? high : none));
    }
    if (numBad > 0) {
      bad.push_back(number);
      bad.push_back(numBad);
    }
    ++number;
  });
  json::Object object{{"mean", std::move(mean)}};
  if (size_ > 1) {
    object["min"] = std::move(least);
    object["max"] = std::move(largest);
  }
  if (!bad.empty())
    object["bad"] = std::move(bad);
  return object;
}

json::Array Buckets::lastOf(const std::vector<double> &column,
                            int digits) const {
  json::Array values;
  forEach([&](size_t, size_t end) {
    values.push_back(rounded(column[end - 1], digits));
  });
  return values;
}

json::Array Buckets::steps() const {
  json::Array values;
  forEach(
      [&](size_t, size_t end) { values.push_back(run_.log.steps[end - 1]); });
  return values;
}

/// Steps with something to see: {"kind", "step", "text"}.
static json::Array marksOf(const Run &run, json::Object &counts) {
  json::Array marks;
  std::map<StringRef, int64_t> known;
  auto add = [&](StringRef kind, int64_t step, StringRef text) {
    if (size_t(known[kind]++) < kMostMarks)
      marks.push_back(
          json::Object{{"kind", kind}, {"step", step}, {"text", utf8(text)}});
  };
  bool isFirst = true;
  for (const RunEvent &event : run.log.events) {
    if (event.kind == RunEvent::Kind::Start && !isFirst)
      add("resume", event.step, "resumed");
    if (event.kind == RunEvent::Kind::Rewind)
      add("resume", event.step, event.text);
    isFirst &= event.kind != RunEvent::Kind::Start;
  }
  const std::vector<double> &losses = run.log.column(StepField::Loss);
  for (size_t i = 0; i < losses.size(); ++i)
    if (!std::isfinite(losses[i]))
      add("not finite", run.log.steps[i], "the loss is not finite");
  for (size_t place : run.skipped())
    add("skipped", run.log.steps[place],
        "skipped: gradients were not finite at this loss scale");
  for (int64_t step : run.savedSteps)
    add("checkpoint", step, "checkpoint");
  for (auto &[kind, count] : known)
    counts[kind] = count;
  return marks;
}

json::Object compiler::runPageJson(const Run &run) {
  const RunLog &log = run.log;
  const Buckets buckets(run);
  json::Object curves;
  auto add = [&](StringRef name, const std::vector<double> &column) {
    if (!column.empty())
      curves[name] = buckets.curve(column);
  };
  for (StepField field :
       {StepField::Loss, StepField::LearningRate, StepField::GradientNorm,
        StepField::WeightNorm, StepField::LossScale, StepField::HostPeakBytes})
    add(keyOf(field), log.column(field));
  add(run.batch() ? "rows_per_second" : "steps_per_second", run.throughput());
  json::Object counts;
  json::Array marks = marksOf(run, counts);
  json::Object object{
      {"title", utf8(run.title)},    {"steps", log.steps.size()},
      {"bucket", buckets.size()},    {"at", buckets.steps()},
      {"curves", std::move(curves)}, {"marks", std::move(marks)}};
  object["mark_counts"] = std::move(counts);
  if (const std::vector<double> &epochs = log.column(StepField::Epoch);
      !epochs.empty()) {
    // How far each step is in its epoch.
    std::vector<double> passed(epochs);
    if (std::optional<int64_t> perEpoch =
            run.number("batches_per_epoch", "batchesPerEpoch"))
      for (size_t i = 0; i < passed.size() && *perEpoch > 0; ++i)
        passed[i] = static_cast<double>(log.steps[i]) / double(*perEpoch);
    object["epochs"] = buckets.lastOf(passed, 9);
  }
  if (const std::vector<double> seconds = run.elapsed(); !seconds.empty())
    object["seconds"] = buckets.lastOf(seconds, 9);
  json::Array evaluations;
  for (const RunEvaluation &evaluation : log.evaluations)
    evaluations.push_back(json::Array{evaluation.step, rounded(evaluation.loss),
                                      rounded(evaluation.accuracy)});
  object["evaluations"] = std::move(evaluations);
  json::Array facts, notes;
  for (auto &[name, text] : runFacts(run))
    facts.push_back(json::Array{name, utf8(text)});
  for (const std::string &note : run.notes())
    notes.push_back(utf8(note));
  json::Object settings;
  for (auto &[name, value] : run.settings())
    settings[utf8(name)] = utf8(value);
  object["facts"] = std::move(facts);
  object["notes"] = std::move(notes);
  object["settings"] = std::move(settings);
  return object;
}
