//===- SimReport.cpp - what simulated devices saw, as JSON ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimReport.h"

#include "nlohmann/json.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace sinter::sim {
namespace {

std::mutex reportsMutex;
std::map<std::string, std::vector<std::string>> &reports() {
  static auto *all = new std::map<std::string, std::vector<std::string>>;
  return *all;
}

} // namespace

void addToReport(const std::string &path, const std::string &device,
                 const LaunchReport &launch, const DropSites &sites) {
  nlohmann::ordered_json entry;
  entry["device"] = device;
  entry["kernel"] = launch.kernel;
  entry["grid"] = launch.grid;
  entry["block"] = launch.block;
  entry["threads"] = launch.threads;
  entry["barriers"] = launch.barriers;
  entry["shuffles"] = launch.shuffles;
  entry["races"] = launch.races;
  entry["barrierSites"] = {sites.firstBarrier, sites.numBarriers};
  entry["predicateSites"] = {sites.firstPredicate, sites.numPredicates};
  if (!sites.predicates.empty())
    entry["predicates"] = sites.predicates;
  std::string text = entry.dump();
  std::lock_guard lock(reportsMutex);
  reports()[path].push_back(std::move(text));
}

void addToReport(const std::string &path, const std::string &device,
                 const std::string &note) {
  nlohmann::ordered_json entry;
  entry["device"] = device;
  entry["note"] = note;
  std::string text = entry.dump();
  std::lock_guard lock(reportsMutex);
  reports()[path].push_back(std::move(text));
}

rt::Status writeReport(const std::string &path) {
  std::lock_guard lock(reportsMutex);
  std::string text = "[";
  for (const std::string &entry : reports()[path])
    text += (text.size() > 1 ? ",\n " : "") + entry;
  text += "]\n";
  std::FILE *file = std::fopen(path.c_str(), "w");
  bool isWritten =
      file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (file && std::fclose(file) != 0 && isWritten) {
    isWritten = false;
    error = errno;
  }
  if (isWritten)
    return {};
  return rt::Status::failed("cannot write the report " + path + ": " +
                            std::strerror(error));
}

} // namespace sinter::sim
