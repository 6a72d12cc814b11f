//===- Progress.cpp - the progress display of a run -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Progress.h"

#include <cstdio>
#include <unistd.h>

using namespace sinter::rt;

std::string sinter::rt::durationText(double seconds) {
  char text[48];
  long long whole = static_cast<long long>(seconds + 0.5);
  if (seconds < 59.95)
    std::snprintf(text, sizeof(text), "%.1f s", seconds);
  else if (whole < 3600)
    std::snprintf(text, sizeof(text), "%lld min %02lld s", whole / 60,
                  whole % 60);
  else
    std::snprintf(text, sizeof(text), "%lld h %02lld min", whole / 3600,
                  whole % 3600 / 60);
  return text;
}

Progress::Progress(const Options &options)
    : options_(options), terminal_(::isatty(::fileno(options.out)) == 1),
      begin_(Clock::now()), lastShown_(begin_),
      lastShownStep_(options.firstStep) {}

void Progress::clearBar() {
  if (barShown_)
    std::fputs("\r\033[K", options_.out);
  barShown_ = false;
}

void Progress::note(const std::string &line) {
  if (options_.quiet)
    return;
  clearBar();
  std::fprintf(options_.out, "%s\n", line.c_str());
  std::fflush(options_.out);
}

void Progress::warn(const std::string &line) {
  clearBar();
  std::fflush(options_.out);
  std::fprintf(stderr, "%s\n", line.c_str());
}

std::string Progress::describe(int64_t step, Clock::time_point now) {
  double elapsed = std::chrono::duration<double>(now - begin_).count();
  double sinceShown = std::chrono::duration<double>(now - lastShown_).count();
  double done = static_cast<double>(step - options_.firstStep);
  double speed = sinceShown > 0 ? double(step - lastShownStep_) *
                                      double(options_.batch) / sinceShown
                                : 0;
  double left =
      done > 0 ? elapsed / done * double(options_.totalSteps - step) : 0;
  if (lossCount_ > 0)
    lossShown_ = lossSum_ / double(lossCount_);
  int64_t epoch = (step - 1) / options_.batchesPerEpoch + 1;
  char text[160];
  std::snprintf(text, sizeof(text),
                "step %lld/%lld  epoch %lld  loss %.4f%s  %.0f examples/s  "
                "%s left",
                static_cast<long long>(step),
                static_cast<long long>(options_.totalSteps),
                static_cast<long long>(epoch), lossShown_, accuracy_.c_str(),
                speed, durationText(left).c_str());
  lastShown_ = now;
  lastShownStep_ = step;
  lossSum_ = 0;
  lossCount_ = 0;
  return text;
}

void Progress::step(int64_t step, float loss) {
  lossSum_ += loss;
  ++lossCount_;
  if (options_.quiet)
    return;
  Clock::time_point now = Clock::now();
  auto interval = terminal_ ? std::chrono::milliseconds(200)
                            : std::chrono::milliseconds(10000);
  if (now - lastShown_ < interval)
    return;
  std::string text = describe(step, now);
  if (!terminal_)
    return note(text);
  constexpr int width = 20;
  int filled = static_cast<int>(step * width /
                                std::max<int64_t>(options_.totalSteps, 1));
  std::string bar(static_cast<size_t>(filled), '=');
  bar.resize(width, ' ');
  std::fprintf(options_.out, "\r\033[K[%s] %s", bar.c_str(), text.c_str());
  std::fflush(options_.out);
  barShown_ = true;
}

void Progress::evaluated(int64_t step, const Evaluation &evaluation) {
  if (evaluation.hasAccuracy) {
    char text[40];
    std::snprintf(text, sizeof(text), "  accuracy %.2f %%",
                  100 * evaluation.accuracy());
    accuracy_ = text;
  }
  note("step " + std::to_string(step) + ": " + evaluationText(evaluation));
}

void Progress::finish() {
  clearBar();
  std::fflush(options_.out);
}
