//===- RunLog.cpp - the log of a training run -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/run/RunLog.h"

#include "sinter/program_names.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <cmath>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr StringRef kKeys[] = {"epoch",
                                      SINTER_OUTPUT_LOSS,
                                      "lr",
                                      SINTER_OUTPUT_LOSS_SCALE,
                                      SINTER_OUTPUT_SKIPPED_STEPS,
                                      SINTER_OUTPUT_GRADIENT_NORM,
                                      SINTER_OUTPUT_WEIGHT_NORM,
                                      "time",
                                      "host_peak_bytes"};
static_assert(std::size(kKeys) == kNumStepFields);
/// A run has fewer, and doubles hold all of them exactly.
static constexpr double kMostSteps = 1LL << 53;
static constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

StringRef compiler::keyOf(StepField field) {
  return kKeys[static_cast<size_t>(field)];
}

namespace {

using Values = std::array<double, kNumStepFields>;

/// Reads an object of numbers on one line, which is what most records are. JSON
/// has no NaN and no infinities; records have null, other writers NaN and
/// Infinity.
class NumberReader {
public:
  explicit NumberReader(StringRef text) : text_(text) {}

  /// Gives `take` each member. False if this is not such an object.
  bool read(llvm::function_ref<void(StringRef, double)> take) {
    if (!consume('{'))
      return false;
    do {
      std::optional<StringRef> key = readKey();
      std::optional<double> value = key ? readValue() : std::nullopt;
      if (!value)
        return false;
      take(*key, *value);
    } while (consume(','));
    return consume('}') && text_.trim().empty();
  }

private:
  bool consume(char c) {
    text_ = text_.ltrim();
    return text_.consume_front(StringRef(&c, 1));
  }
  std::optional<StringRef> readKey() {
    if (!consume('"'))
      return std::nullopt;
    auto [key, rest] = text_.split('"');
    text_ = rest;
    if (key.contains('\\') || !consume(':'))
      return std::nullopt;
    return key;
  }
  std::optional<double> readValue() {
    text_ = text_.ltrim();
    for (StringRef word : {"null", "NaN", "Infinity", "-Infinity"})
      if (text_.consume_front(word))
        return kNotFinite;
    double value = 0;
    auto [end, error] = std::from_chars(text_.begin(), text_.end(), value);
    if (error != std::errc())
      return std::nullopt;
    text_ = text_.drop_front(end - text_.begin());
    return value;
  }

  StringRef text_;
};

} // namespace

static std::optional<int64_t> stepNumber(double value, int64_t least) {
  if (!(value >= least && value < kMostSteps) || value != std::floor(value))
    return std::nullopt;
  return static_cast<int64_t>(value);
}

/// A number of a record: NaN for null, kMissing if it is not there.
static double numberOf(const json::Object &record, StringRef key) {
  const json::Value *value = record.get(key);
  if (!value)
    return kMissing;
  std::optional<double> number = value->getAsNumber();
  return number && std::isfinite(*number) ? *number : kNotFinite;
}

bool RunLog::isOne(StringRef text) {
  text = text.ltrim();
  if (!text.consume_front("{"))
    return false;
  text = text.ltrim();
  return llvm::any_of(
      std::initializer_list<StringRef>{"\"step\"", "\"eval\"", "\"start\""},
      [&](StringRef key) { return text.starts_with(key); });
}

void RunLog::addStep(int64_t step, const Values &values) {
  if (!steps.empty() && step <= steps.back()) {
    const size_t kept = llvm::lower_bound(steps, step) - steps.begin();
    numMadeAgain += static_cast<int64_t>(steps.size() - kept);
    events.push_back({RunEvent::Kind::Rewind,
                      step - 1,
                      kMissing,
                      "steps " + std::to_string(step) + " to " +
                          std::to_string(steps.back()) + " were made again",
                      {}});
    steps.resize(kept);
    for (std::vector<double> &column : columns_)
      column.resize(std::min(column.size(), kept));
    llvm::erase_if(evaluations, [&](const RunEvaluation &evaluation) {
      return evaluation.step >= step;
    });
    llvm::erase_if(events, [&](const RunEvent &event) {
      return event.kind == RunEvent::Kind::Saved && event.step >= step;
    });
  }
  steps.push_back(step);
  lastMade_ = step;
  for (auto [column, value] : llvm::zip_equal(columns_, values)) {
    if (value == kMissing && column.empty())
      continue;
    column.resize(steps.size() - 1, kMissing);
    column.push_back(value);
  }
}

bool RunLog::takeOther(const json::Object &record) {
  RunEvent event;
  event.time = numberOf(record, keyOf(StepField::Time));
  event.step = steps.empty() ? 0 : steps.back();
  if (record.get("eval")) {
    RunEvaluation evaluation;
    evaluation.step = event.step;
    evaluation.epoch =
        stepNumber(numberOf(record, keyOf(StepField::Epoch)), 0).value_or(0);
    evaluation.loss = numberOf(record, keyOf(StepField::Loss));
    evaluation.accuracy = numberOf(record, "accuracy");
    evaluations.push_back(evaluation);
    return true;
  }
  event.step = stepNumber(numberOf(record, "step"), 0).value_or(event.step);
  if (record.get("start")) {
    event.kind = RunEvent::Kind::Start;
    event.fields = record;
  } else if (record.get("saved")) {
    event.kind = RunEvent::Kind::Saved;
  } else if (std::optional<StringRef> how = record.getString("end")) {
    event.kind = RunEvent::Kind::End;
    event.text = how->str();
  } else {
    return false;
  }
  if (event.kind != RunEvent::Kind::Start)
    lastMade_ = std::max(lastMade_, event.step);
  events.push_back(std::move(event));
  return true;
}

/// Most records are steps, and are read without making an object.
bool RunLog::takeRecord(StringRef line) {
  Values values;
  values.fill(kMissing);
  double step = kMissing;
  const bool isFlat = NumberReader(line).read([&](StringRef key, double value) {
    if (key == "step")
      step = value;
    for (size_t i = 0; i < kNumStepFields; ++i)
      if (key == kKeys[i])
        values[i] = value;
  });
  if (isFlat) {
    std::optional<int64_t> number = stepNumber(step, 1);
    if (!number || values[static_cast<size_t>(StepField::Loss)] == kMissing)
      return false;
    addStep(*number, values);
    return true;
  }
  auto value = json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const json::Object *record = value->getAsObject();
  return record && takeOther(*record);
}

llvm::Error RunLog::read(StringRef text) {
  if (text.trim().empty())
    return llvm::createStringError("is empty: it has no record of a step");
  size_t number = 0, numRecords = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    StringRef line = text.take_front(end).trim();
    const bool isLast = end == StringRef::npos;
    text = isLast ? StringRef() : text.drop_front(end + 1);
    ++number;
    if (line.empty())
      continue;
    // Records do not nest deeply.
    if (line.count('{') + line.count('[') < 16 && takeRecord(line)) {
      ++numRecords;
      continue;
    }
    if (isLast) {
      isCut = true;
      continue;
    }
    if (numOtherLines++ == 0)
      firstOtherLine = number;
  }
  if (numRecords == 0)
    return llvm::createStringError(
        "has no record of a training run; expected the file of --log-json");
  int64_t before = 0;
  auto addMissing = [&](int64_t next) {
    if (next > before + 1)
      missing.emplace_back(before + 1, next - 1);
    numMissing += next - before - 1;
    before = next;
  };
  for (int64_t step : steps)
    addMissing(step);
  addMissing(lastMade_ + 1);
  for (std::vector<double> &column : columns_)
    if (!column.empty())
      column.resize(steps.size(), kMissing);
  return llvm::Error::success();
}

const json::Object *RunLog::start() const {
  for (const RunEvent &event : llvm::reverse(events))
    if (event.kind == RunEvent::Kind::Start)
      return &event.fields;
  return nullptr;
}

const RunEvent *RunLog::end() const {
  return !events.empty() && events.back().kind == RunEvent::Kind::End &&
                 (steps.empty() || events.back().step >= steps.back())
             ? &events.back()
             : nullptr;
}
