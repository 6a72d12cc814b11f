//===- Schedule.cpp - the learning rate of every step ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string_view>

using namespace sinter::rt;

double sinter::rt::decimalValue(float value) {
  char text[32];
  double number = value;
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  if (error == std::errc())
    std::from_chars(text, end, number);
  return number;
}

/// Parses the "N,G" of step:N,G.
static bool parseStep(std::string_view text, int64_t &period, double &factor) {
  const char *end = text.data() + text.size();
  auto [comma, error] = std::from_chars(text.data(), end, period);
  if (error != std::errc() || comma == end || *comma != ',' || period < 1)
    return false;
  auto [last, factorError] = std::from_chars(comma + 1, end, factor);
  return factorError == std::errc() && last == end && std::isfinite(factor) &&
         factor > 0;
}

Result<Schedule> Schedule::create(const std::string &text,
                                  const Options &options) {
  Schedule schedule;
  schedule.options_ = options;
  if (text == "constant") {
    schedule.kind_ = Kind::Constant;
  } else if (text == "linear") {
    schedule.kind_ = Kind::Linear;
  } else if (text == "cosine") {
    schedule.kind_ = Kind::Cosine;
  } else if (text == "one-cycle") {
    schedule.kind_ = Kind::OneCycle;
  } else if (text.starts_with("step:")) {
    schedule.kind_ = Kind::Step;
    if (!parseStep(std::string_view(text).substr(5), schedule.period_,
                   schedule.factor_))
      return Status::invalid("--lr-schedule=" + text +
                             ": expected step:N,G with N >= 1 steps and a "
                             "factor G > 0, such as step:1000,0.1");
  } else {
    return Status::invalid("--lr-schedule=" + text +
                           ": expected constant, step:N,G, linear, cosine or "
                           "one-cycle");
  }
  if (options.lrFinal && !usesFinal(text))
    return Status::invalid("--lr-final: has no meaning with --lr-schedule=" +
                           text);
  return schedule;
}

bool Schedule::usesFinal(const std::string &text) {
  return text == "linear" || text == "cosine" || text == "one-cycle";
}

double Schedule::oneCycle(int64_t step) const {
  double top = options_.lr, start = top / 25;
  double bottom = options_.lrFinal.value_or(start / 1e4);
  double total = static_cast<double>(options_.totalSteps);
  double rise =
      options_.warmupSteps > 0 ? double(options_.warmupSteps) : 0.3 * total;
  double riseEnd = rise - 1, fallEnd = total - 1;
  auto cosine = [](double from, double to, double part) {
    part = std::clamp(part, 0.0, 1.0);
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
  };
  double t = static_cast<double>(step);
  if (t <= riseEnd && riseEnd > 0)
    return cosine(start, top, t / riseEnd);
  if (fallEnd <= riseEnd) // no steps are left for the fall
    return top;
  return cosine(top, bottom, (t - riseEnd) / (fallEnd - riseEnd));
}

float Schedule::learningRate(int64_t step) const {
  double lr = options_.lr, last = options_.lrFinal.value_or(0);
  if (kind_ == Kind::OneCycle)
    return static_cast<float>(oneCycle(step));
  if (step < options_.warmupSteps)
    return static_cast<float>(lr * double(step + 1) /
                              double(options_.warmupSteps));
  double t = static_cast<double>(step - options_.warmupSteps);
  double fallSteps =
      static_cast<double>(options_.totalSteps - options_.warmupSteps - 1);
  double part = fallSteps > 0 ? std::min(t / fallSteps, 1.0) : 0;
  switch (kind_) {
  case Kind::Step:
    lr *= std::pow(factor_, std::floor(t / static_cast<double>(period_)));
    break;
  case Kind::Linear:
    lr += (last - lr) * part;
    break;
  case Kind::Cosine:
    lr = last + (lr - last) * (1 + std::cos(std::numbers::pi * part)) / 2;
    break;
  case Kind::Constant:
  case Kind::OneCycle:
    break;
  }
  return static_cast<float>(lr);
}
