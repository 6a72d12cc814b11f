//===- CpuFeatures.cpp - this CPU's features by LLVM's names --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Bits: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuFeatures.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace sinter::rt;

#if defined(__x86_64__)
namespace {

enum Register : uint8_t { EAX, EBX, ECX, EDX };

/// Register state that the operating system must save for a feature to work.
enum SavedState : uint8_t { None, Ymm, Zmm, Tile };

struct Feature {
  const char *name; // LLVM's
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  SavedState needs;
};

constexpr uint32_t extended = 0x80000001, extended8 = 0x80000008;

const Feature knownFeatures[] = {
    {"cx8", 1, 0, EDX, 8, None},
    {"cmov", 1, 0, EDX, 15, None},
    {"mmx", 1, 0, EDX, 23, None},
    {"fxsr", 1, 0, EDX, 24, None},
    {"sse", 1, 0, EDX, 25, None},
    {"sse2", 1, 0, EDX, 26, None},
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Ymm},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"crc32", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"xsave", 1, 0, ECX, 27, None},
    {"avx", 1, 0, ECX, 28, Ymm},
    {"f16c", 1, 0, ECX, 29, Ymm},
    {"rdrnd", 1, 0, ECX, 30, None},
    {"sahf", extended, 0, ECX, 0, None},
    {"lzcnt", extended, 0, ECX, 5, None},
    {"sse4a", extended, 0, ECX, 6, None},
    {"prfchw", extended, 0, ECX, 8, None},
    {"xop", extended, 0, ECX, 11, Ymm},
    {"lwp", extended, 0, ECX, 15, None},
    {"fma4", extended, 0, ECX, 16, Ymm},
    {"tbm", extended, 0, ECX, 21, None},
    {"mwaitx", extended, 0, ECX, 29, None},
    {"64bit", extended, 0, EDX, 29, None},
    {"clzero", extended8, 0, EBX, 0, None},
    {"rdpru", extended8, 0, EBX, 4, None},
    {"wbnoinvd", extended8, 0, EBX, 9, None},
    {"fsgsbase", 7, 0, EBX, 0, None},
    {"sgx", 7, 0, EBX, 2, None},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Ymm},
    {"bmi2", 7, 0, EBX, 8, None},
    {"invpcid", 7, 0, EBX, 10, None},
    {"rtm", 7, 0, EBX, 11, None},
    {"avx512f", 7, 0, EBX, 16, Zmm},
    {"evex512", 7, 0, EBX, 16, Zmm},
    {"avx512dq", 7, 0, EBX, 17, Zmm},
    {"rdseed", 7, 0, EBX, 18, None},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, Zmm},
    {"clflushopt", 7, 0, EBX, 23, None},
    {"clwb", 7, 0, EBX, 24, None},
    {"avx512cd", 7, 0, EBX, 28, Zmm},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Zmm},
    {"avx512vl", 7, 0, EBX, 31, Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Zmm},
    {"pku", 7, 0, ECX, 4, None},
    {"waitpkg", 7, 0, ECX, 5, None},
    {"avx512vbmi2", 7, 0, ECX, 6, Zmm},
    {"shstk", 7, 0, ECX, 7, None},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Ymm},
    {"vpclmulqdq", 7, 0, ECX, 10, Ymm},
    {"avx512vnni", 7, 0, ECX, 11, Zmm},
    {"avx512bitalg", 7, 0, ECX, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Zmm},
    {"rdpid", 7, 0, ECX, 22, None},
    {"kl", 7, 0, ECX, 23, None},
    {"cldemote", 7, 0, ECX, 25, None},
    {"movdiri", 7, 0, ECX, 27, None},
    {"movdir64b", 7, 0, ECX, 28, None},
    {"enqcmd", 7, 0, ECX, 29, None},
    {"uintr", 7, 0, EDX, 5, None},
    {"avx512vp2intersect", 7, 0, EDX, 8, Zmm},
    {"serialize", 7, 0, EDX, 14, None},
    {"tsxldtrk", 7, 0, EDX, 16, None},
    {"pconfig", 7, 0, EDX, 18, None},
    {"amx-bf16", 7, 0, EDX, 22, Tile},
    {"avx512fp16", 7, 0, EDX, 23, Zmm},
    {"amx-tile", 7, 0, EDX, 24, Tile},
    {"amx-int8", 7, 0, EDX, 25, Tile},
    {"sha512", 7, 1, EAX, 0, Ymm},
    {"sm3", 7, 1, EAX, 1, Ymm},
    {"sm4", 7, 1, EAX, 2, Ymm},
    {"raoint", 7, 1, EAX, 3, None},
    {"avxvnni", 7, 1, EAX, 4, Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Zmm},
    {"cmpccxadd", 7, 1, EAX, 7, None},
    {"amx-fp16", 7, 1, EAX, 21, Tile},
    {"hreset", 7, 1, EAX, 22, None},
    {"avxifma", 7, 1, EAX, 23, Ymm},
    {"avxvnniint8", 7, 1, EDX, 4, Ymm},
    {"avxneconvert", 7, 1, EDX, 5, Ymm},
    {"amx-complex", 7, 1, EDX, 8, Tile},
    {"avxvnniint16", 7, 1, EDX, 10, Ymm},
    {"prefetchi", 7, 1, EDX, 14, None},
    {"usermsr", 7, 1, EDX, 15, None},
    {"xsaveopt", 0xd, 1, EAX, 0, None},
    {"xsavec", 0xd, 1, EAX, 1, None},
    {"xsaves", 0xd, 1, EAX, 3, None},
    {"ptwrite", 0x14, 0, EBX, 4, None},
    {"widekl", 0x19, 0, EBX, 2, None},
};

/// Words in LLVM's feature strings that only guide its choices.
bool isTuningHint(std::string_view name) {
  for (std::string_view prefix :
       {"fast-", "slow-", "prefer-", "tuning", "false-deps-", "no-bypass-",
        "allow-light-", "inline-asm-", "harden-", "retpoline", "lvi-"})
    if (name.starts_with(prefix))
      return true;
  for (std::string_view exact :
       {"x87", "nopl", "ermsb", "fsrm", "64bit-mode", "vzeroupper",
        "macrofusion", "branchfusion", "idivl-to-divb", "idivq-to-divl",
        "sbb-dep-breaking", "pad-short-functions", "use-glm-div-sqrt-costs"})
    if (name == exact)
      return true;
  return false;
}

bool readCpuid(uint32_t leaf, uint32_t subleaf, uint32_t (&regs)[4]) {
  // This checks the highest basic or extended leaf first.
  if (!__get_cpuid_count(leaf, subleaf, &regs[EAX], &regs[EBX], &regs[ECX],
                         &regs[EDX]))
    return false;
  // Leaf 7 says in EAX how many subleaves it has.
  if (leaf == 7 && subleaf > 0) {
    uint32_t first[4];
    __cpuid_count(7, 0, first[EAX], first[EBX], first[ECX], first[EDX]);
    return subleaf <= first[EAX];
  }
  return true;
}

/// XCR0: which register state the operating system saves.
uint64_t savedStates() {
  uint32_t regs[4];
  if (!readCpuid(1, 0, regs) || !(regs[ECX] >> 27 & 1)) // OSXSAVE
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool hasFeature(const Feature &feature, uint64_t saved) {
  uint32_t regs[4];
  if (!readCpuid(feature.leaf, feature.subleaf, regs) ||
      !(regs[feature.reg] >> feature.bit & 1))
    return false;
  constexpr uint64_t ymm = 0x6, zmm = 0xe6, tile = 0x60006;
  uint64_t needed = feature.needs == Ymm    ? ymm
                    : feature.needs == Zmm  ? zmm
                    : feature.needs == Tile ? tile
                                            : 0;
  return (saved & needed) == needed;
}

bool hasFeature(std::string_view name, uint64_t saved) {
  const Feature *found =
      std::find_if(std::begin(knownFeatures), std::end(knownFeatures),
                   [&](const Feature &f) { return name == f.name; });
  return found != std::end(knownFeatures) && hasFeature(*found, saved);
}

} // namespace

Status sinter::rt::checkCpuFeatures(const char *features) {
  std::string_view rest = features ? features : "";
  uint64_t saved = savedStates();
  std::string missing;
  while (!rest.empty()) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (word.empty() || word[0] == '-')
      continue;
    if (word[0] == '+')
      word.remove_prefix(1);
    if (isTuningHint(word) || hasFeature(word, saved))
      continue;
    missing += missing.empty() ? "" : ", ";
    missing += word;
  }
  if (missing.empty())
    return {};
  return {SINTER_DEVICE_FAILED,
          "this CPU (" + cpuModelName() + ") lacks " + missing +
              ", which the program was compiled for; compile with an --mcpu "
              "that this machine supports"};
}

std::vector<std::string> sinter::rt::cpuFeatures() {
  std::vector<std::string> names;
  uint64_t saved = savedStates();
  for (const Feature &feature : knownFeatures)
    if (hasFeature(feature, saved))
      names.push_back(feature.name);
  return names;
}

std::string sinter::rt::cpuModelName() {
  uint32_t regs[12] = {};
  for (uint32_t i = 0; i < 3; ++i)
    if (!__get_cpuid(0x80000002 + i, &regs[4 * i], &regs[4 * i + 1],
                     &regs[4 * i + 2], &regs[4 * i + 3]))
      return "unknown";
  char text[sizeof(regs) + 1] = {};
  std::memcpy(text, regs, sizeof(regs));
  std::string name(text);
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name.empty() ? "unknown" : name;
}

/// arch_prctl(2), ARCH_REQ_XCOMP_PERM of Linux.
bool sinter::rt::requestTileRegisters() {
#if defined(__linux__)
  constexpr int requestPermission = 0x1023, tileData = 18;
  return ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

#else

Status sinter::rt::checkCpuFeatures(const char *features) {
  if (!features || !*features)
    return {};
  return {SINTER_DEVICE_FAILED,
          "the program was compiled for an x86-64 CPU, which this is not"};
}

std::vector<std::string> sinter::rt::cpuFeatures() { return {}; }

std::string sinter::rt::cpuModelName() { return "unknown"; }

bool sinter::rt::requestTileRegisters() { return false; }

#endif
