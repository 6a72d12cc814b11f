//===- RunDiff.cpp - what differs between two runs ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/run/RunDiff.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/run/RunReport.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

/// As the log has it.
static std::string wholeNumber(double value) { return numberText(value, 9); }

static void compare(SeriesDifference &series, int64_t step, double a,
                    double b) {
  const bool isInA = a != kMissing, isInB = b != kMissing;
  series.onlyInA += isInA && !isInB;
  series.onlyInB += isInB && !isInA;
  if (!isInA || !isInB)
    return;
  ++series.numCompared;
  if (a == b || (!std::isfinite(a) && !std::isfinite(b)))
    return;
  double relative = std::numeric_limits<double>::infinity();
  if (std::isfinite(a) && std::isfinite(b))
    relative = std::abs(a - b) / std::max(std::abs(a), std::abs(b));
  if (series.numDifferent++ == 0) {
    series.firstStep = step;
    series.firstA = a;
    series.firstB = b;
  }
  if (relative > series.largest) {
    series.largest = relative;
    series.largestStep = step;
    series.largestA = a;
    series.largestB = b;
  }
}

static SeriesDifference diffColumns(const Run &a, const Run &b,
                                    StepField field) {
  SeriesDifference series;
  series.name = keyOf(field).str();
  const std::vector<double> &left = a.log.column(field),
                            &right = b.log.column(field);
  auto at = [](const std::vector<double> &column, size_t i) {
    return column.empty() ? kMissing : column[i];
  };
  for (size_t i = 0, j = 0; i < a.log.steps.size() && j < b.log.steps.size();) {
    const int64_t own = a.log.steps[i], other = b.log.steps[j];
    if (own == other)
      compare(series, own, at(left, i), at(right, j));
    i += own <= other;
    j += other <= own;
  }
  return series;
}

/// By step; of several evaluations after a step, the last ones.
static SeriesDifference diffEvaluations(const Run &a, const Run &b,
                                        StringRef name,
                                        double RunEvaluation::*field) {
  SeriesDifference series;
  series.isOfEvaluations = true;
  series.name = name.str();
  std::map<int64_t, double> other;
  for (const RunEvaluation &evaluation : b.log.evaluations)
    other[evaluation.step] = evaluation.*field;
  std::map<int64_t, double> own;
  for (const RunEvaluation &evaluation : a.log.evaluations)
    own[evaluation.step] = evaluation.*field;
  for (auto [step, value] : own) {
    auto found = other.find(step);
    compare(series, step, value,
            found == other.end() ? kMissing : found->second);
  }
  for (auto [step, value] : other)
    if (!own.count(step))
      compare(series, step, kMissing, value);
  return series;
}

static int64_t countOnlyIn(const Run &a, const Run &b) {
  std::vector<int64_t> only;
  std::set_difference(a.log.steps.begin(), a.log.steps.end(),
                      b.log.steps.begin(), b.log.steps.end(),
                      std::back_inserter(only));
  return static_cast<int64_t>(only.size());
}

bool RunDifference::isSameNumbers() const {
  return stepsOnlyInA == 0 && stepsOnlyInB == 0 &&
         llvm::all_of(series, [](const SeriesDifference &each) {
           return each.numDifferent == 0 && !each.onlyInA && !each.onlyInB;
         });
}

RunDifference compiler::diffRuns(const Run &a, const Run &b) {
  RunDifference difference;
  auto add = [&](SeriesDifference series) {
    if (series.numCompared > 0 || series.onlyInA > 0 || series.onlyInB > 0)
      difference.series.push_back(std::move(series));
  };
  for (StepField field :
       {StepField::Loss, StepField::LearningRate, StepField::GradientNorm,
        StepField::WeightNorm, StepField::LossScale, StepField::SkippedSteps})
    add(diffColumns(a, b, field));
  add(diffEvaluations(a, b, "eval loss", &RunEvaluation::loss));
  add(diffEvaluations(a, b, "accuracy", &RunEvaluation::accuracy));
  difference.stepsOnlyInA = countOnlyIn(a, b);
  difference.stepsOnlyInB = countOnlyIn(b, a);
  std::map<std::string, std::string> left = a.settings(), right = b.settings();
  difference.hasSettings = !left.empty() && !right.empty();
  if (!difference.hasSettings)
    return difference;
  std::map<std::string, RunDifference::Setting> all;
  for (auto &[name, value] : left)
    all[name].a = value;
  for (auto &[name, value] : right)
    all[name].b = value;
  for (auto &[name, setting] : all) {
    // Checkpoints do not say where their run computed.
    const bool isUnknown =
        name == "device" && (!setting.a.has_value() || !setting.b.has_value());
    if (setting.a == setting.b || isUnknown)
      continue;
    setting.name = name;
    difference.settings.push_back(std::move(setting));
  }
  return difference;
}

void compiler::printRunDifference(const RunDifference &difference,
                                  llvm::raw_ostream &os) {
  size_t width = 0;
  for (const SeriesDifference &series : difference.series)
    width = std::max(width, series.name.size());
  for (const SeriesDifference &series : difference.series) {
    const char *noun = series.isOfEvaluations ? " evaluations" : " steps";
    for (auto [count, side] : {std::pair{series.onlyInA, "first"},
                               std::pair{series.onlyInB, "second"}})
      if (count > 0)
        os << llvm::left_justify(series.name, width) << "  of " << count << noun
           << " is only in the " << side << " run\n";
    if (series.numCompared == 0)
      continue;
    os << llvm::left_justify(series.name, width) << "  ";
    if (series.numDifferent == 0) {
      os << "the same in all " << series.numCompared << noun << "\n";
      continue;
    }
    os << "differs in " << series.numDifferent << " of " << series.numCompared
       << noun << ", first at step " << series.firstStep << ": "
       << wholeNumber(series.firstA) << ", " << wholeNumber(series.firstB);
    if (std::isfinite(series.largest))
      os << "; relatively at most " << numberText(series.largest, 3);
    else
      os << "; only one is finite";
    os << ", at step " << series.largestStep << ": "
       << wholeNumber(series.largestA) << ", " << wholeNumber(series.largestB)
       << "\n";
  }
  if (difference.series.empty())
    os << "the runs have no step in common\n";
  for (auto [count, side] : {std::pair{difference.stepsOnlyInA, "first"},
                             std::pair{difference.stepsOnlyInB, "second"}})
    if (count > 0)
      os << count << " steps are only in the " << side << " run\n";
  if (!difference.hasSettings)
    os << "settings are not compared: a run has neither checkpoints nor the "
          "records of --log-stats\n";
  else if (difference.settings.empty())
    os << "the same settings\n";
  auto text = [](const std::optional<std::string> &value) {
    return value ? shown(*value) : std::string("(not set)");
  };
  for (const RunDifference::Setting &setting : difference.settings)
    os << shown(setting.name) << ": " << text(setting.a) << " -> "
       << text(setting.b) << "\n";
}

json::Object compiler::runDifferenceJson(const RunDifference &difference) {
  auto number = [](double value) {
    return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
  };
  json::Object series;
  for (const SeriesDifference &each : difference.series) {
    json::Object object{{"compared", each.numCompared},
                        {"different", each.numDifferent},
                        {"only_in_a", each.onlyInA},
                        {"only_in_b", each.onlyInB}};
    if (each.numDifferent > 0) {
      object["first"] = json::Object{{"step", each.firstStep},
                                     {"a", number(each.firstA)},
                                     {"b", number(each.firstB)}};
      object["largest"] = json::Object{{"step", each.largestStep},
                                       {"relative", number(each.largest)},
                                       {"a", number(each.largestA)},
                                       {"b", number(each.largestB)}};
    }
    series[each.name] = std::move(object);
  }
  auto text = [](const std::optional<std::string> &value) {
    return value ? json::Value(utf8(*value)) : json::Value(nullptr);
  };
  json::Value settings = nullptr;
  if (difference.hasSettings) {
    json::Array facts;
    for (const RunDifference::Setting &setting : difference.settings)
      facts.push_back(json::Object{{"name", utf8(setting.name)},
                                   {"a", text(setting.a)},
                                   {"b", text(setting.b)}});
    settings = std::move(facts);
  }
  return json::Object{{"same", difference.hasSettings || !difference.empty()
                                   ? json::Value(difference.empty())
                                   : json::Value(nullptr)},
                      {"same_numbers", difference.isSameNumbers()},
                      {"series", std::move(series)},
                      {"steps_only_in_a", difference.stepsOnlyInA},
                      {"steps_only_in_b", difference.stepsOnlyInB},
                      {"settings", std::move(settings)}};
}
