//===- EventLog.cpp - --tensorboard: scalars in TensorBoard's format ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/EventLog.h"

#include "runtime/base/File.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <vector>

using namespace sinter::rt;

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static constexpr std::array<uint32_t, 256> crcTable = [] {
  constexpr uint32_t kPolynomial = 0x82f63b78; // reflected
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ (value & 1 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}();

uint32_t sinter::rt::crc32c(std::span<const uint8_t> bytes) {
  uint32_t crc = ~0u;
  for (uint8_t byte : bytes)
    crc = crcTable[(crc ^ byte) & 0xff] ^ (crc >> 8);
  return ~crc;
}

template <typename Number>
static void appendNumber(std::string &bytes, Number number) {
  char raw[sizeof(Number)]; // little-endian, as every machine we run on
  std::memcpy(raw, &number, sizeof(number));
  bytes.append(raw, sizeof(raw));
}

static void appendChecksum(std::string &bytes, std::string_view of) {
  uint32_t crc =
      crc32c({reinterpret_cast<const uint8_t *>(of.data()), of.size()});
  // Masked, so that data which contains checksums can be checksummed.
  appendNumber<uint32_t>(bytes, ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

static std::string record(std::string_view data) {
  std::string bytes;
  appendNumber<uint64_t>(bytes, data.size());
  appendChecksum(bytes, std::string(bytes));
  bytes += data;
  appendChecksum(bytes, data);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Events: protocol buffers
//===----------------------------------------------------------------------===//

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5
};

static void appendVarint(std::string &bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

static void appendKey(std::string &bytes, uint32_t field, WireType type) {
  appendVarint(bytes, field << 3 | type);
}

static void appendBytes(std::string &bytes, uint32_t field,
                        std::string_view value) {
  appendKey(bytes, field, kBytes);
  appendVarint(bytes, value.size());
  bytes += value;
}

// Fields of Event.
static constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3,
                          kSummary = 5, kSessionLog = 7;
// Fields of Summary, of its Value, and of SessionLog, whose status START is 1.
static constexpr uint32_t kValue = 1, kTag = 1, kSimpleValue = 2, kStatus = 1;

static constexpr std::string_view kPrefix = "events.out.tfevents.";

/// The seconds in the name of the folder's last file; 0 if there is none.
static int64_t newestFile(const std::string &folder) {
  int64_t newest = 0;
  Result<std::vector<std::string>> names = listFiles(folder);
  if (!names.ok())
    return newest;
  for (const std::string &name : *names) {
    int64_t seconds = 0;
    if (name.starts_with(kPrefix) && name.ends_with(".sinter"))
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(),
                      seconds);
    newest = std::max(newest, seconds);
  }
  return newest;
}

Status EventLog::create(const std::string &folder, int64_t firstStep) {
  SINTER_RETURN_IF_ERROR(makeDirectories(folder));
  // TensorBoard reads files with "tfevents" in their names, sorted by name.
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  // Also after the clock was set back, the newest run's file is the last one.
  const int64_t seconds = std::max(now, newestFile(folder));
  for (int number = 0; !file_.isOpen(); ++number) {
    char name[80];
    std::snprintf(name, sizeof(name), "/%s%010lld.%03d.sinter", kPrefix.data(),
                  static_cast<long long>(seconds), number);
    const std::string path = folder + name;
    Status opened = file_.open(path, O_CREAT | O_EXCL);
    if (!opened.ok() && opened.systemError() != EEXIST)
      return opened;
  }
  std::string version;
  appendBytes(version, kFileVersion, "brain.Event:2");
  write(0, version);
  // What an earlier run wrote for this step and later ones is obsolete.
  std::string status, session;
  appendKey(status, kStatus, kVarint);
  appendVarint(status, 1);
  appendBytes(session, kSessionLog, status);
  write(firstStep, session);
  return {};
}

void EventLog::write(int64_t step, std::string_view field) {
  if (!file_.isOpen())
    return;
  std::string event;
  appendKey(event, kWallTime, kFixed64);
  appendNumber(event, std::chrono::duration<double>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count());
  if (step) {
    appendKey(event, kStep, kVarint);
    appendVarint(event, static_cast<uint64_t>(step));
  }
  event += field;
  file_.append(record(event));
}

void EventLog::scalars(int64_t step, std::span<const Scalar> values) {
  if (!file_.isOpen())
    return;
  std::string summary, field;
  for (const Scalar &scalar : values) {
    std::string value;
    appendBytes(value, kTag, scalar.tag);
    appendKey(value, kSimpleValue, kFixed32);
    appendNumber(value, scalar.value);
    appendBytes(summary, kValue, value);
  }
  appendBytes(field, kSummary, summary);
  write(step, field);
}

void EventLog::step(int64_t step, float loss, float lr,
                    const JsonLog::Details &details) {
  std::vector<Scalar> values = {{"train/loss", loss}, {"train/lr", lr}};
  if (const std::optional<JsonLog::Scale> &scale = details.scale) {
    values.push_back({"train/loss_scale", scale->scale});
    values.push_back(
        {"train/skipped_steps", static_cast<float>(scale->skipped)});
  }
  if (const std::optional<JsonLog::Norms> &norms = details.norms) {
    values.push_back({"train/grad_norm", norms->gradient});
    values.push_back({"train/weight_norm", norms->weights});
  }
  scalars(step, values);
}

void EventLog::evaluation(int64_t step, const Evaluation &evaluation) {
  if (evaluation.isEmpty())
    return;
  std::vector<Scalar> values = {
      {"eval/loss", static_cast<float>(evaluation.loss)}};
  if (evaluation.hasAccuracy)
    values.push_back(
        {"eval/accuracy", static_cast<float>(evaluation.accuracy())});
  scalars(step, values);
}
