//===- SimSettings.cpp - how a simulated device behaves -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimSettings.h"

#include <charconv>
#include <string_view>

namespace sinter::sim {
namespace {

bool readNumber(std::string_view text, uint64_t &number) {
  const char *end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last == end;
}

// "64MiB", "4096".
bool readSize(std::string_view text, uint64_t &bytes) {
  int shift = 0;
  for (auto [unit, bits] :
       {std::pair<std::string_view, int>{"KiB", 10}, {"MiB", 20}, {"GiB", 30}})
    if (text.ends_with(unit)) {
      shift = bits;
      text.remove_suffix(unit.size());
    }
  if (!readNumber(text, bytes) || bytes == 0 || bytes >> (63 - shift))
    return false;
  bytes <<= shift;
  return true;
}

bool readDrop(std::string_view text, Drop &drop) {
  size_t colon = text.find(':');
  std::string_view kind = text.substr(0, colon);
  uint64_t number = 0;
  if (colon == std::string_view::npos ||
      !readNumber(text.substr(colon + 1), number) || number > UINT32_MAX ||
      (kind != "barrier" && kind != "predicate"))
    return false;
  drop.kind = kind == "barrier" ? Drop::Barrier : Drop::Predicate;
  drop.number = uint32_t(number);
  return true;
}

bool readWord(std::string_view key, std::string_view value,
              SimSettings &settings) {
  if (key == "seed")
    return readNumber(value, settings.seed);
  if (key == "fail-alloc")
    return readNumber(value, settings.failAlloc);
  if (key == "fail-launch")
    return readNumber(value, settings.failLaunch);
  if (key == "ecc")
    return readNumber(value, settings.ecc);
  if (key == "memory")
    return readSize(value, settings.memoryBytes);
  auto readCount = [&](size_t begin, uint64_t &number) { // from 1
    return readNumber(value.substr(begin), number) && number > 0;
  };
  if (key == "drop" && value.starts_with("wait:"))
    return readCount(5, settings.dropWait);
  if (key == "drop" && value.starts_with("all-reduce:"))
    return readCount(11, settings.dropCollective);
  if (key == "drop")
    return readDrop(value, settings.drop);
  if (key == "refuse-epilogues") {
    auto refusals = readRefusals(value);
    if (refusals)
      settings.refusals = std::move(*refusals);
    return refusals.has_value();
  }
  if ((key != "report" && key != "plans") || value.empty())
    return false;
  (key == "report" ? settings.report : settings.plans) = value;
  return true;
}

} // namespace

rt::Result<SimSettings> readSettings(const rt::DeviceOptions &options,
                                     const char *environment) {
  SimSettings settings;
  std::string_view rest = environment ? environment : "";
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    size_t equals = word.find('=');
    if (equals == std::string_view::npos ||
        !readWord(word.substr(0, equals), word.substr(equals + 1), settings))
      return rt::Status::invalid(
          "SINTER_SIM: '" + std::string(word) +
          "' is not one of seed=N, report=FILE, "
          "drop=barrier:N|predicate:N|wait:N|all-reduce:N, "
          "memory=SIZE, fail-alloc=N, fail-launch=N, ecc=N, plans=FOLDER, "
          "refuse-epilogues=all|EPILOGUE:INPUT:OUTPUT+...");
  }
  settings.threads = options.threads;
  settings.syncLaunches = options.syncLaunches;
  if (options.memoryLimitBytes)
    settings.memoryBytes = options.memoryLimitBytes;
  if (options.simSeed)
    settings.seed = *options.simSeed;
  if (!options.simReport.empty())
    settings.report = options.simReport;
  if (!options.simDrop.empty() && !readDrop(options.simDrop, settings.drop))
    return rt::Status::invalid("'" + options.simDrop +
                               "' is not barrier:N or predicate:N");
  return settings;
}

} // namespace sinter::sim
