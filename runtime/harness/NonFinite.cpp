//===- NonFinite.cpp - where a NaN or an infinity comes from --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/NonFinite.h"

#include "runtime/base/Float16.h"
#include "runtime/data/ElementType.h"
#include "runtime/exec/ArtifactPlaces.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

using namespace sinter::rt;

//===----------------------------------------------------------------------===//
// Arrays of floats
//===----------------------------------------------------------------------===//

template <typename T, typename Convert>
static FloatSummary summarizeAs(const void *data, uint64_t sizeBytes,
                                Convert &&convert) {
  FloatSummary summary;
  summary.count = sizeBytes / sizeof(T);
  bool hasFinite = false;
  for (uint64_t i = 0; i < summary.count; ++i) {
    T stored;
    std::memcpy(&stored, static_cast<const uint8_t *>(data) + i * sizeof(T),
                sizeof(T));
    const double value = convert(stored);
    if (std::isfinite(value)) {
      summary.least = hasFinite ? std::min(summary.least, value) : value;
      summary.greatest = hasFinite ? std::max(summary.greatest, value) : value;
      hasFinite = true;
      continue;
    }
    summary.kinds |= std::isnan(value) ? FloatSummary::NaN
                     : value > 0       ? FloatSummary::Infinity
                                       : FloatSummary::MinusInfinity;
    if (summary.numBad++ == 0)
      summary.firstBad = i;
  }
  return summary;
}

FloatSummary sinter::rt::summarize(uint32_t dtype, const void *data,
                                   uint64_t sizeBytes) {
  switch (dtype) {
  case SINTER_F16:
    return summarizeAs<uint16_t>(data, sizeBytes, [](uint16_t bits) {
      return double(toFloat(Half{bits}));
    });
  case SINTER_BF16:
    return summarizeAs<uint16_t>(data, sizeBytes, [](uint16_t bits) {
      return double(toFloat(Bfloat{bits}));
    });
  case SINTER_F32:
    return summarizeAs<float>(data, sizeBytes,
                              [](float value) { return double(value); });
  default:
    return summarizeAs<double>(data, sizeBytes,
                               [](double value) { return value; });
  }
}

const char *sinter::rt::kindText(uint8_t kinds) {
  return kinds & FloatSummary::NaN        ? "NaN"
         : kinds & FloatSummary::Infinity ? "infinity"
                                          : "-infinity";
}

std::string sinter::rt::rangeText(const FloatSummary &summary) {
  char text[120];
  if (summary.numBad == summary.count)
    std::snprintf(text, sizeof(text), "none of %llu finite",
                  static_cast<unsigned long long>(summary.count));
  else if (summary.numBad)
    std::snprintf(text, sizeof(text),
                  "%llu of %llu not finite, the others from %g to %g",
                  static_cast<unsigned long long>(summary.numBad),
                  static_cast<unsigned long long>(summary.count), summary.least,
                  summary.greatest);
  else
    std::snprintf(text, sizeof(text), "from %g to %g", summary.least,
                  summary.greatest);
  return text;
}

//===----------------------------------------------------------------------===//
// Injection
//===----------------------------------------------------------------------===//

static bool readNumber(std::string_view text, int64_t least, int64_t &number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() &&
         number >= least;
}

/// "7", "6.1" or "6.1, trip 2".
static bool readCommand(std::string_view text, ScanTrip &command) {
  constexpr std::string_view kTrip = ", trip ";
  int64_t number = 0, inBody = 0;
  const size_t point = text.find('.');
  command.isInScan = point != std::string_view::npos;
  if (!readNumber(text.substr(0, point), 0, number) || number >= SINTER_NONE)
    return false;
  if (command.isInScan) {
    text.remove_prefix(point + 1);
    const size_t trip = text.find(kTrip);
    if (!readNumber(text.substr(0, trip), 0, inBody) || inBody >= SINTER_NONE ||
        (trip != std::string_view::npos &&
         !readNumber(text.substr(trip + kTrip.size()), 0, command.trip)))
      return false;
  }
  command.command = static_cast<uint32_t>(number);
  command.inBody = static_cast<uint32_t>(inBody);
  return true;
}

Result<Injection> sinter::rt::parseInjection(const std::string &text) {
  Injection injection;
  const size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0 ||
      !readNumber(std::string_view(text).substr(at + 1), 1, injection.step))
    return Status::invalid("'" + text +
                           "': expected NODE@STEP or ENTRY:COMMAND@STEP, steps "
                           "from 1");
  --injection.step;
  injection.node = text.substr(0, at);
  const size_t colon = injection.node.rfind(':');
  if (colon != std::string::npos &&
      readCommand(std::string_view(injection.node).substr(colon + 1),
                  injection.command)) {
    injection.entry = injection.node.substr(0, colon);
    injection.node.clear();
  }
  return injection;
}

/// Whether `node` is one of the comma-separated names in `label`.
static bool isOf(std::string_view label, std::string_view node) {
  while (true) {
    const size_t comma = label.find(',');
    std::string_view name = label.substr(0, comma);
    while (name.starts_with(' '))
      name.remove_prefix(1);
    if (name == node)
      return true;
    if (comma == std::string_view::npos)
      return false;
    label.remove_prefix(comma + 1);
  }
}

bool NonFiniteFinder::isMeant(uint32_t entry, uint32_t command) const {
  const sinter_entry &within = artifact_->entries[entry];
  if (!injection_->node.empty())
    return isOf(within.commands[command].label, injection_->node);
  return injection_->entry == within.name &&
         injection_->command.number() == trips_[entry][command].number();
}

//===----------------------------------------------------------------------===//
// The finder
//===----------------------------------------------------------------------===//

bool Finding::isBefore(const Finding &other) const {
  if (overflows != other.overflows)
    return overflows;
  return std::pair(position, replica) <
         std::pair(other.position, other.replica);
}

Result<NonFiniteFinder>
NonFiniteFinder::create(const sinter_artifact &artifact,
                        const sinter_artifact &source,
                        const std::optional<Injection> &injection) {
  if (!artifact.sliceDtypes)
    return Status::invalid("the program does not list the types of its values");
  NonFiniteFinder finder;
  finder.artifact_ = &artifact;
  finder.injection_ = injection;
  uint64_t slices = 0;
  bool isThere = !injection;
  for (uint32_t i = 0; i < artifact.numEntries; ++i) {
    const sinter_entry &entry = artifact.entries[i];
    std::vector<uint64_t> &first = finder.firstSlice_.emplace_back();
    finder.trips_.push_back(tripsOf(source.entries[i]));
    for (uint32_t j = 0; j < entry.numCommands; ++j) {
      const sinter_command &command = entry.commands[j];
      first.push_back(slices);
      slices += command.numSlices;
      if (isThere || !finder.isMeant(i, j))
        continue;
      for (uint32_t k = command.numReads; k < command.numSlices; ++k)
        isThere |= isFloatType(finder.dtypeOf(i, j, k));
    }
  }
  if (!isThere)
    return Status::invalid(
        "--inject-nonfinite: no command of the program "
        "computes floats of '" +
        (injection->node.empty()
             ? injection->entry + ":" + injection->command.number()
             : injection->node) +
        "'");
  return finder;
}

uint32_t NonFiniteFinder::dtypeOf(uint32_t entry, uint32_t command,
                                  uint32_t slice) const {
  return artifact_->sliceDtypes[firstSlice_[entry][command] + slice];
}

void NonFiniteFinder::beginStep(int64_t step) {
  step_ = step;
  isInjected_ = false;
  seen_.clear();
  finding_.reset();
  numRan_ = 0;
  overflows_ = false;
}

/// Reads the slice's bytes into `bytes_`.
Status NonFiniteFinder::read(const RanCommand &command, uint32_t slice) {
  const sinter_slice &what =
      command.entry.commands[command.index].slices[slice];
  bytes_.resize(what.sizeBytes);
  SINTER_RETURN_IF_ERROR(command.device.download(
      command.stream, bytes_.data(), command.buffers[slice], what.sizeBytes));
  return command.device.synchronize(command.stream);
}

Status NonFiniteFinder::inject(const RanCommand &command) {
  const auto entry = static_cast<uint32_t>(&command.entry - artifact_->entries);
  const sinter_command &what = command.entry.commands[command.index];
  for (uint32_t k = what.numReads; k < what.numSlices; ++k) {
    const uint32_t dtype = dtypeOf(entry, command.index, k);
    if (!isFloatType(dtype) || what.slices[k].sizeBytes == 0)
      continue;
    // All bits set are a NaN in every format.
    const uint64_t ones = ~uint64_t(0);
    isInjected_ = true;
    SINTER_RETURN_IF_ERROR(command.device.upload(
        command.stream, command.buffers[k], &ones, elementBytes(dtype)));
    return command.device.synchronize(command.stream);
  }
  return {};
}

Status NonFiniteFinder::ran(const RanCommand &command) {
  const auto entry = static_cast<uint32_t>(&command.entry - artifact_->entries);
  const sinter_command &what = command.entry.commands[command.index];
  ++numRan_;
  if (injection_ && !isInjected_ && injection_->step == step_ &&
      std::strcmp(command.entry.name, SINTER_ENTRY_REFRESH) != 0 &&
      isMeant(entry, command.index))
    SINTER_RETURN_IF_ERROR(inject(command));
  for (uint32_t k = what.numReads; k < what.numSlices; ++k) {
    const uint32_t dtype = dtypeOf(entry, command.index, k);
    if (!isFloatType(dtype))
      continue;
    SINTER_RETURN_IF_ERROR(read(command, k));
    FloatSummary made = summarize(dtype, bytes_.data(), bytes_.size());
    if (!made.kinds)
      continue;
    const Made where{entry, command.index, k};
    Result<bool> isOver = isOverflow(command, k, made.kinds);
    if (!isOver.ok())
      return isOver.status();
    if (*isOver && !overflows_) { // whatever came before is its consequence
      overflows_ = true;
      SINTER_RETURN_IF_ERROR(describe(command, k, made));
    }
    if (*isOver)
      continue;
    seen_[where] |= made.kinds;
    auto known = own_.find(where);
    const bool isKnown =
        known != own_.end() && (made.kinds & ~known->second) == 0;
    if (!isKnown && !finding_)
      SINTER_RETURN_IF_ERROR(describe(command, k, made));
  }
  return {};
}

/// Whether the slice is a rounded weight and `kinds` are in nothing that the
/// command read.
Result<bool> NonFiniteFinder::isOverflow(const RanCommand &command,
                                         uint32_t slice, uint8_t kinds) {
  const auto entry = static_cast<uint32_t>(&command.entry - artifact_->entries);
  const sinter_command &what = command.entry.commands[command.index];
  if (what.slices[slice].space != SINTER_SPACE_STATE ||
      !isRounded(artifact_->states[what.slices[slice].index]))
    return false;
  for (uint32_t k = 0; k < what.numReads; ++k) {
    const uint32_t dtype = dtypeOf(entry, command.index, k);
    if (!isFloatType(dtype) || what.slices[k].sizeBytes == 0)
      continue;
    SINTER_RETURN_IF_ERROR(read(command, k));
    kinds &= ~summarize(dtype, bytes_.data(), bytes_.size()).kinds;
  }
  return kinds != 0;
}

/// A persistent kernel hides all values between its nodes.
static bool isPersistentKernel(const sinter_artifact &artifact,
                               const char *name) {
  const auto manifest =
      nlohmann::json::parse(artifact.manifest, nullptr, false);
  if (!manifest.is_object())
    return false;
  auto kernels = manifest.find("kernels");
  if (kernels == manifest.end() || !kernels->is_object())
    return false;
  auto kind = kernels->find(name);
  return kind != kernels->end() && *kind == "persistent";
}

Status NonFiniteFinder::describe(const RanCommand &command, uint32_t slice,
                                 const FloatSummary &made) {
  const auto entry = static_cast<uint32_t>(&command.entry - artifact_->entries);
  const sinter_command &what = command.entry.commands[command.index];
  std::string text = std::string("'") + what.label + "' made " +
                     kindText(made.kinds) + " (element " +
                     std::to_string(made.firstBad) + " of " +
                     std::to_string(made.count) + "; " + rangeText(made) +
                     "), command " + trips_[entry][command.index].number() +
                     " of entry '" + command.entry.name + "'";
  if (what.kind == SINTER_CMD_LAUNCH) {
    const char *kernel = artifact_->kernels[what.launch.kernel].name;
    text += std::string(", kernel ") + kernel;
    if (isPersistentKernel(*artifact_, kernel))
      text += ", which computes all of these nodes (a program compiled with "
              "--persistent-kernel=off names the one)";
  }
  // What it read, unless it has overwritten it.
  std::string reads;
  for (uint32_t k = 0; k < what.numReads; ++k) {
    const uint32_t dtype = dtypeOf(entry, command.index, k);
    const sinter_slice &source = what.slices[k];
    bool isWritten = false;
    for (uint32_t j = what.numReads; j < what.numSlices; ++j)
      isWritten |= command.buffers[j] == command.buffers[k];
    if (!isFloatType(dtype) || isWritten || source.sizeBytes == 0)
      continue;
    SINTER_RETURN_IF_ERROR(read(command, k));
    reads += (reads.empty() ? "" : "; ") +
             rangeText(summarize(dtype, bytes_.data(), bytes_.size()));
  }
  position_ = numRan_ - 1;
  finding_ = text + (reads.empty() ? "" : "; it read values " + reads);
  return {};
}

void NonFiniteFinder::learn() {
  for (const auto &[where, kinds] : seen_)
    own_[where] |= kinds;
}
