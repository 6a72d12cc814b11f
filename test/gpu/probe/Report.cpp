//===- Report.cpp - the cases of a probe ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/probe/Probe.h"

#include <cstdio>
#include <fstream>
#include <map>

using namespace sinter;
using namespace sinter::probe;

double Report::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Report::add(const std::string &name, const std::string &outcome,
                 const std::string &detail, nlohmann::ordered_json figures) {
  std::printf("%8.3f s  %-9s %s%s%s\n", seconds(), outcome.c_str(),
              name.c_str(), detail.empty() ? "" : ": ", detail.c_str());
  std::fflush(stdout);
  nlohmann::ordered_json entry = {{"name", name}, {"outcome", outcome}};
  if (!detail.empty())
    entry["detail"] = detail;
  if (figures.is_object())
    entry.update(figures);
  cases_.push_back(std::move(entry));
  outcomes_.push_back(outcome);
  if (outcome != "ok" && outcome != "not run" && firstError_.empty()) {
    firstError_ = name + ": " + outcome + (detail.empty() ? "" : ": ") + detail;
    std::fprintf(stderr, "%s\n", firstError_.c_str());
    std::fflush(stderr);
  }
}

void Report::skip(const std::string &name) {
  add(name, "not run", "no time left");
}

int Report::finish() const {
  std::map<std::string, int> counts;
  for (const std::string &outcome : outcomes_)
    ++counts[outcome];
  if (!options_.json.empty()) {
    nlohmann::ordered_json json = {
        {"probe", options_.name}, {"device", options_.device},
        {"seconds", seconds()},   {"missing", missing_},
        {"facts", facts},         {"cases", cases_}};
    using Handler = nlohmann::json::error_handler_t;
    std::ofstream(options_.json)
        << json.dump(1, ' ', false, Handler::replace) << "\n";
  }
  if (!missing_.empty()) {
    std::fprintf(stderr, "missing: %s\n", missing_.c_str());
    return ExitMissing;
  }
  std::string text = std::to_string(counts["ok"]) + " of " +
                     std::to_string(outcomes_.size()) + " cases ok";
  for (const auto &[outcome, count] : counts)
    if (outcome != "ok" && count)
      text += ", " + std::to_string(count) + " " + outcome;
  std::printf("%s\n", text.c_str());
  if (!firstError_.empty() || outcomes_.empty())
    return ExitFailed;
  return counts["not run"] ? ExitNoTime : ExitOk;
}
