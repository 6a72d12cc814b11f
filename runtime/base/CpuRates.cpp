//===- CpuRates.cpp - how fast one core of a CPU is -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A file of the cache: "sinter cpu rates", the version of the probe, the CPU
// with its caches, the source, "NAME NUMBER" for each rate (each a line), and a
// hash of these lines.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuRates.h"
#include "runtime/base/CpuProbe.h"
#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/NumberText.h"
#include "runtime/base/UserCache.h"

#include <algorithm>
#include <iterator>
#include <unistd.h>

using namespace sinter::rt;

namespace {

const CpuRateTraits traits[] = {
    {CpuRate::Fp32, "fp32", "fp32", "GFLOP/s"},
    {CpuRate::Bf16, "bf16", "bf16 by vdpbf16ps", "GFLOP/s"},
    {CpuRate::Bf16Tiles, "bf16-tiles", "bf16 by AMX", "GFLOP/s"},
    {CpuRate::Fp16, "fp16", "fp16", "GFLOP/s"},
    {CpuRate::Int8, "int8", "int8 by vpdpbusd", "GOP/s"},
    {CpuRate::Int8Tiles, "int8-tiles", "int8 by AMX", "GOP/s"},
    {CpuRate::L1, "l1", "L1 reads", "GB/s"},
    {CpuRate::L1Fill, "l1-fill", "L1 writes", "GB/s"},
    {CpuRate::L2, "l2", "L2 reads", "GB/s"},
    {CpuRate::L2Fill, "l2-fill", "L2 writes", "GB/s"},
    {CpuRate::L3, "l3", "L3 reads", "GB/s"},
    {CpuRate::L3Fill, "l3-fill", "L3 writes", "GB/s"},
    {CpuRate::Memory, "memory", "memory reads", "GB/s"},
    {CpuRate::MemoryFill, "memory-fill", "memory writes", "GB/s"},
    {CpuRate::MemoryCopy, "memory-copy", "memory copies", "GB/s"},
};
static_assert(std::size(traits) == kCpuRates);

constexpr double fasterBy = 1.5, betterBy = 1.05;
constexpr uint64_t maxFileBytes = 64 << 10;

std::string headOf(const CpuId &cpu) {
  std::string line = cpu.text();
  for (uint64_t bytes : {cpu.l1Bytes, cpu.l2Bytes, cpu.l3Bytes})
    line += " " + std::to_string(bytes);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return "sinter cpu rates\nprobe " + std::to_string(cpuProbeVersion) + "\n" +
         line + "\n";
}

/// The part of `rest` before the next newline, which `rest` then follows.
std::optional<std::string_view> nextLine(std::string_view &rest) {
  size_t end = rest.find('\n');
  if (end == std::string_view::npos)
    return std::nullopt;
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return line;
}

/// Reads "NAME NUMBER".
bool readRate(std::string_view line, CpuRates &rates) {
  size_t space = line.find(' ');
  if (space == std::string_view::npos)
    return false;
  std::optional<double> value = readReal(line.substr(space + 1));
  if (!value || *value <= 0)
    return false;
  for (const CpuRateTraits &row : traits)
    if (line.substr(0, space) == row.name) {
      rates[row.rate] = *value;
      return true;
    }
  return false;
}

} // namespace

std::span<const CpuRateTraits> sinter::rt::cpuRateTraits() { return traits; }

double CpuRates::timesFp32(CpuRate rate) const {
  std::optional<double> fp32 = (*this)[CpuRate::Fp32], other = (*this)[rate];
  return fp32 && other ? *other / *fp32 : 0;
}

Bf16Unit sinter::rt::bf16Unit(const CpuRates &rates) {
  double tiles = rates.timesFp32(CpuRate::Bf16Tiles),
         dot = rates.timesFp32(CpuRate::Bf16);
  if (std::max(tiles, dot) < fasterBy)
    return Bf16Unit::Widened;
  return tiles >= dot ? Bf16Unit::Tiles : Bf16Unit::Dot;
}

const char *sinter::rt::nameOf(Bf16Unit unit) {
  return unit == Bf16Unit::Tiles ? "AMX"
         : unit == Bf16Unit::Dot ? "vdpbf16ps"
                                 : "fp32";
}

std::string CpuRateCache::pathOf(const CpuId &cpu) const {
  return folder_ + "/" + toHex(hash64(headOf(cpu))) + ".rates";
}

std::optional<CpuRates> CpuRateCache::find(const CpuId &cpu) const {
  if (folder_.empty() || ::access(pathOf(cpu).c_str(), R_OK) != 0)
    return std::nullopt;
  Result<std::vector<uint8_t>> bytes = readFile(pathOf(cpu), maxFileBytes);
  if (!bytes.ok())
    return std::nullopt;
  const std::string text(bytes->begin(), bytes->end()), head = headOf(cpu);
  constexpr size_t sealSize = 17; // 16 digits and a newline
  if (!text.starts_with(head) || text.size() < head.size() + sealSize)
    return std::nullopt;
  const std::string content = text.substr(0, text.size() - sealSize);
  if (text.substr(content.size()) != toHex(hash64(content)) + "\n")
    return std::nullopt;
  std::string_view rest = std::string_view(content).substr(head.size());
  CpuRates rates;
  std::optional<std::string_view> line = nextLine(rest);
  if (!line)
    return std::nullopt;
  rates.source = *line;
  while ((line = nextLine(rest)))
    if (!readRate(*line, rates))
      return std::nullopt;
  return rest.empty() ? std::optional(rates) : std::nullopt;
}

Status CpuRateCache::store(const CpuId &cpu, const CpuRates &rates) const {
  if (folder_.empty())
    return {SINTER_INVALID, "neither XDG_CACHE_HOME nor HOME names a folder"};
  SINTER_RETURN_IF_ERROR(makeUserFolder(folder_));
  std::string content = headOf(cpu) + rates.source + "\n";
  for (const CpuRateTraits &row : traits)
    if (rates[row.rate])
      content +=
          std::string(row.name) + " " + realText(*rates[row.rate]) + "\n";
  return writeFileAtomic(pathOf(cpu), content + toHex(hash64(content)) + "\n");
}

CpuRates sinter::rt::bestOf(const CpuRates &known, const CpuRates &fresh) {
  CpuRates best = known;
  for (size_t i = 0; i < kCpuRates; ++i) {
    const auto &from = fresh.perSecond[i];
    auto &to = best.perSecond[i];
    if (!from || (to && *from <= *to * betterBy))
      continue;
    to = from;
    best.source = fresh.source;
  }
  return best;
}

/// Stores what is missing in the cache; a folder that cannot be written is no
/// error.
static CpuRates measureAndStore(const CpuId &cpu, const CpuRateCache &cache,
                                const std::optional<CpuRates> &known) {
  CpuRates fresh = probeCpu(cpu);
  CpuRates best = known ? bestOf(*known, fresh) : fresh;
  if (!known || best.perSecond != known->perSecond)
    (void)cache.store(cpu, best);
  return best;
}

const CpuRates &sinter::rt::hostCpuRates() {
  static const CpuRates rates = [] {
    const CpuId cpu = hostCpuId();
    const CpuRateCache cache(userCacheFolder("cpu-rates"));
    std::optional<CpuRates> known = cache.find(cpu);
    return known ? *known : measureAndStore(cpu, cache, std::nullopt);
  }();
  return rates;
}

CpuRates sinter::rt::measureHostCpuAgain() {
  const CpuId cpu = hostCpuId();
  const CpuRateCache cache(userCacheFolder("cpu-rates"));
  return measureAndStore(cpu, cache, cache.find(cpu));
}
