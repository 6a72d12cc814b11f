//===- CpuProbe.cpp - measures one core of this CPU -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The loops are in assembly, so that what is measured is the instruction named
// and not what a compiler makes of it. Arithmetic: independent chains, as many
// as hide the latency of an instruction. Caches: loads of all bytes of a block
// of half a cache's size, and stores to them. Memory: the same after the block
// was flushed from all caches, because a last cache may be larger than what a
// probe can fill; writes by non-temporal stores, which bypass the caches.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuProbe.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/base/BlockSignals.h"
#include "runtime/base/CpuFeatures.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <system_error>
#include <thread>

using namespace sinter::rt;

#if defined(__x86_64__)
namespace {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Two vectors of operands. In every number format the products stay finite and
/// away from denormal numbers, which some CPUs compute slowly.
struct Operands {
  alignas(64) uint32_t factor[16], term[16];
  Operands() {
    std::fill_n(factor, 16, 0x38003800u);
    std::fill_n(term, 16, 0x3f803f80u);
  }
};

// Twelve chains: %0 counts the rounds, %1 points to Operands; registers 12 and
// 13 hold them.
#define SINTER_EACH(OP)                                                        \
  OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define SINTER_CHAINS(BEGIN, FIRST, OP, END)                                   \
  __asm__ volatile(                                                            \
      BEGIN SINTER_EACH(FIRST) "1:\n" SINTER_EACH(OP) "subq $1, %0\n"          \
                                                      "jnz 1b\n" END           \
      : "+r"(rounds)                                                           \
      : "r"(&operands)                                                         \
      : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",        \
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13")
constexpr int chains = 12;

#define SINTER_ZMM "vmovaps (%1), %%zmm12\nvmovaps 64(%1), %%zmm13\n"
#define SINTER_YMM "vmovaps (%1), %%ymm12\nvmovaps 64(%1), %%ymm13\n"
#define SINTER_XMM "movaps (%1), %%xmm12\nmovaps 64(%1), %%xmm13\n"
#define SINTER_SET_ZMM(i) "vmovaps %%zmm13, %%zmm" #i "\n"
#define SINTER_SET_YMM(i) "vmovaps %%ymm13, %%ymm" #i "\n"
#define SINTER_SET_XMM(i) "movaps %%xmm13, %%xmm" #i "\n"
#define SINTER_LEAVE "vzeroupper\n"

void fp32Sse(int64_t rounds, const Operands &operands) {
#define SINTER_OP(i) "mulps %%xmm12, %%xmm" #i "\naddps %%xmm13, %%xmm" #i "\n"
  SINTER_CHAINS(SINTER_XMM, SINTER_SET_XMM, SINTER_OP, "");
#undef SINTER_OP
}

__attribute__((target("avx,fma"))) void fp32Fma(int64_t rounds,
                                                const Operands &operands) {
#define SINTER_OP(i) "vfmadd213ps %%ymm13, %%ymm12, %%ymm" #i "\n"
  SINTER_CHAINS(SINTER_YMM, SINTER_SET_YMM, SINTER_OP, SINTER_LEAVE);
#undef SINTER_OP
}

__attribute__((target("avx512f"))) void fp32Avx512(int64_t rounds,
                                                   const Operands &operands) {
#define SINTER_OP(i) "vfmadd213ps %%zmm13, %%zmm12, %%zmm" #i "\n"
  SINTER_CHAINS(SINTER_ZMM, SINTER_SET_ZMM, SINTER_OP, SINTER_LEAVE);
#undef SINTER_OP
}

__attribute__((target("avx512f"))) void bf16Dot(int64_t rounds,
                                                const Operands &operands) {
#define SINTER_OP(i) "vdpbf16ps %%zmm13, %%zmm12, %%zmm" #i "\n"
  SINTER_CHAINS(SINTER_ZMM, SINTER_SET_ZMM, SINTER_OP, SINTER_LEAVE);
#undef SINTER_OP
}

__attribute__((target("avx512f"))) void fp16Avx512(int64_t rounds,
                                                   const Operands &operands) {
#define SINTER_OP(i) "vfmadd213ph %%zmm13, %%zmm12, %%zmm" #i "\n"
  SINTER_CHAINS(SINTER_ZMM, SINTER_SET_ZMM, SINTER_OP, SINTER_LEAVE);
#undef SINTER_OP
}

__attribute__((target("avx512f"))) void int8Avx512(int64_t rounds,
                                                   const Operands &operands) {
#define SINTER_OP(i) "vpdpbusd %%zmm13, %%zmm12, %%zmm" #i "\n"
  SINTER_CHAINS(SINTER_ZMM, SINTER_SET_ZMM, SINTER_OP, SINTER_LEAVE);
#undef SINTER_OP
}

__attribute__((target("avx"))) void int8Avx(int64_t rounds,
                                            const Operands &operands) {
#define SINTER_OP(i) "%{vex%} vpdpbusd %%ymm13, %%ymm12, %%ymm" #i "\n"
  SINTER_CHAINS(SINTER_YMM, SINTER_SET_YMM, SINTER_OP, SINTER_LEAVE);
#undef SINTER_OP
}

/// Six products of tiles of 16 rows of 64 bytes: %0 counts the rounds, %1
/// points to the configuration, %2 to a tile, %3 is the bytes of a row.
#define SINTER_TILES(OP)                                                       \
  alignas(64) uint8_t config[64] = {1}, tile[16 * 64];                         \
  for (int i = 0; i < 8; ++i) {                                                \
    config[16 + 2 * i] = 64;                                                   \
    config[48 + i] = 16;                                                       \
  }                                                                            \
  for (int i = 0; i < 16; ++i)                                                 \
    std::memcpy(tile + 64 * i, operands.term, 64);                             \
  __asm__ volatile("ldtilecfg (%1)\n"                                          \
                   "tilezero %%tmm0\ntilezero %%tmm1\ntilezero %%tmm2\n"       \
                   "tilezero %%tmm3\ntilezero %%tmm4\ntilezero %%tmm5\n"       \
                   "tileloadd (%2,%3,1), %%tmm6\n"                             \
                   "tileloadd (%2,%3,1), %%tmm7\n"                             \
                   "1:\n" OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) "subq $1, %0\n"  \
                                                              "jnz 1b\n"       \
                                                              "tilerelease\n"  \
                   : "+r"(rounds)                                              \
                   : "r"(config), "r"(tile), "r"(int64_t(64))                  \
                   : "memory", "cc")
constexpr int tileChains = 6;

void bf16Tiles(int64_t rounds, const Operands &operands) {
#define SINTER_OP(i) "tdpbf16ps %%tmm7, %%tmm6, %%tmm" #i "\n"
  SINTER_TILES(SINTER_OP);
#undef SINTER_OP
}

void int8Tiles(int64_t rounds, const Operands &operands) {
#define SINTER_OP(i) "tdpbusd %%tmm7, %%tmm6, %%tmm" #i "\n"
  SINTER_TILES(SINTER_OP);
#undef SINTER_OP
}

/// Of several loops for one rate, the first that the CPU can run is measured.
struct Arithmetic {
  CpuRate rate;
  const char *features; // that it needs, for checkCpuFeatures
  void (*run)(int64_t rounds, const Operands &operands);
  double operations; // of a round
  int64_t rounds;    // some 50 us of them
};

constexpr int64_t vectorRounds = 12000, tileRounds = 1500;

const Arithmetic arithmetic[] = {
    {CpuRate::Fp32, "+avx512f", fp32Avx512, chains * 32, vectorRounds},
    {CpuRate::Fp32, "+avx,+fma", fp32Fma, chains * 16, vectorRounds},
    {CpuRate::Fp32, "+sse2", fp32Sse, chains * 8, vectorRounds},
    {CpuRate::Bf16, "+avx512f,+avx512bf16", bf16Dot, chains * 64, vectorRounds},
    {CpuRate::Bf16Tiles, "+amx-tile,+amx-bf16", bf16Tiles, tileChains * 16384,
     tileRounds},
    {CpuRate::Fp16, "+avx512f,+avx512fp16", fp16Avx512, chains * 64,
     vectorRounds},
    {CpuRate::Int8, "+avx512f,+avx512vnni", int8Avx512, chains * 128,
     vectorRounds},
    {CpuRate::Int8, "+avx,+avxvnni", int8Avx, chains * 64, vectorRounds},
    {CpuRate::Int8Tiles, "+amx-tile,+amx-int8", int8Tiles, tileChains * 32768,
     tileRounds},
};

bool usesTiles(const Arithmetic &loop) {
  return loop.rate == CpuRate::Bf16Tiles || loop.rate == CpuRate::Int8Tiles;
}

//===----------------------------------------------------------------------===//
// Caches and memory
//===----------------------------------------------------------------------===//

constexpr int64_t stepBytes = 512;      // of a round of the loops below
constexpr int64_t blockBytes = 8 << 20; // a multiple of it

// %0 and %1 are addresses, %2 counts down the bytes. OP(n) handles the n-th
// piece of PIECE bytes.
#define SINTER_MOVE(OP, PIECE, END)                                            \
  __asm__ volatile("1:\n" OP(0 * PIECE) OP(1 * PIECE) OP(2 * PIECE)            \
                       OP(3 * PIECE) OP(4 * PIECE) OP(5 * PIECE) OP(6 * PIECE) \
                           OP(7 * PIECE) "addq $8*" #PIECE ", %0\n"            \
                                         "addq $8*" #PIECE ", %1\n"            \
                                         "subq $8*" #PIECE ", %2\n"            \
                                         "jnz 1b\n" END                        \
                   : "+r"(from), "+r"(to), "+r"(bytes)                         \
                   :                                                           \
                   : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3")

using Move = void (*)(const uint8_t *from, uint8_t *to, int64_t bytes);

#define SINTER_READ(at) "vmovups " #at "(%0), %%zmm0\n"
#define SINTER_STORE(at) "vmovups %%zmm0, " #at "(%1)\n"
#define SINTER_FILL(at) "vmovntps %%zmm0, " #at "(%1)\n"
#define SINTER_COPY(at) SINTER_READ(at) SINTER_FILL(at)
__attribute__((target("avx512f"))) void readAvx512(const uint8_t *from,
                                                   uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_READ, 64, "vzeroupper\n");
}
__attribute__((target("avx512f"))) void
storeAvx512(const uint8_t *from, uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_STORE, 64, "vzeroupper\n");
}
__attribute__((target("avx512f"))) void fillAvx512(const uint8_t *from,
                                                   uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_FILL, 64, "vzeroupper\nsfence\n");
}
__attribute__((target("avx512f"))) void copyAvx512(const uint8_t *from,
                                                   uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_COPY, 64, "vzeroupper\nsfence\n");
}
#undef SINTER_READ
#undef SINTER_STORE
#undef SINTER_FILL

#define SINTER_READ(at) "vmovups " #at "(%0), %%ymm0\n"
#define SINTER_STORE(at) "vmovups %%ymm0, " #at "(%1)\n"
#define SINTER_FILL(at) "vmovntps %%ymm0, " #at "(%1)\n"
__attribute__((target("avx"))) void readAvx(const uint8_t *from, uint8_t *to,
                                            int64_t bytes) {
  SINTER_MOVE(SINTER_READ, 32, "vzeroupper\n");
}
__attribute__((target("avx"))) void storeAvx(const uint8_t *from, uint8_t *to,
                                             int64_t bytes) {
  SINTER_MOVE(SINTER_STORE, 32, "vzeroupper\n");
}
__attribute__((target("avx"))) void fillAvx(const uint8_t *from, uint8_t *to,
                                            int64_t bytes) {
  SINTER_MOVE(SINTER_FILL, 32, "vzeroupper\nsfence\n");
}
__attribute__((target("avx"))) void copyAvx(const uint8_t *from, uint8_t *to,
                                            int64_t bytes) {
  SINTER_MOVE(SINTER_COPY, 32, "vzeroupper\nsfence\n");
}
#undef SINTER_READ
#undef SINTER_STORE
#undef SINTER_FILL

#define SINTER_READ(at) "movups " #at "(%0), %%xmm0\n"
#define SINTER_STORE(at) "movups %%xmm0, " #at "(%1)\n"
#define SINTER_FILL(at) "movntps %%xmm0, " #at "(%1)\n"
void readSse(const uint8_t *from, uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_READ, 16, "");
}
void storeSse(const uint8_t *from, uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_STORE, 16, "");
}
void fillSse(const uint8_t *from, uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_FILL, 16, "sfence\n");
}
void copySse(const uint8_t *from, uint8_t *to, int64_t bytes) {
  SINTER_MOVE(SINTER_COPY, 16, "sfence\n");
}

struct Moves {
  const char *features;
  Move read, store, fill, copy;
};
const Moves moves[] = {
    {"+avx512f", readAvx512, storeAvx512, fillAvx512, copyAvx512},
    {"+avx", readAvx, storeAvx, fillAvx, copyAvx},
    {"+sse2", readSse, storeSse, fillSse, copySse},
};

/// Removes a block from all caches.
void flush(const uint8_t *block, int64_t bytes) {
  constexpr int64_t lineBytes = 64;
  // Flushes by clflush run one after another, those by clflushopt at once.
  const bool atOnce = checkCpuFeatures("+clflushopt").ok();
  for (int64_t i = 0; i < bytes; i += lineBytes)
    if (atOnce)
      __asm__ volatile("clflushopt (%0)" ::"r"(block + i) : "memory");
    else
      __asm__ volatile("clflush (%0)" ::"r"(block + i) : "memory");
  __asm__ volatile("mfence" ::: "memory");
}

//===----------------------------------------------------------------------===//
// The measurement
//===----------------------------------------------------------------------===//

/// In seconds. The thread's own time would not do: Linux subtracts from it what
/// the host has stolen before, so that work in a virtual machine can seem
/// faster than it is.
double now() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

/// The rate of `amount` done by `work`, unless `to` is better already.
template <typename Work>
void improve(std::optional<double> &to, double amount, Work work) {
  double begin = now();
  work();
  double rate = amount / std::max(now() - begin, 1e-9);
  to = std::max(to.value_or(0), rate);
}

void measureArithmetic(CpuRates &rates) {
  const Operands operands;
  std::vector<const Arithmetic *> loops;
  for (const Arithmetic &loop : arithmetic) {
    bool isKnown =
        std::any_of(loops.begin(), loops.end(), [&](const Arithmetic *other) {
          return other->rate == loop.rate;
        });
    if (!isKnown && checkCpuFeatures(loop.features).ok() &&
        (!usesTiles(loop) || requestTileRegisters()))
      loops.push_back(&loop);
  }
  // The first ones also bring the core to its full clock.
  constexpr int turns = 12;
  for (int i = 0; i < turns; ++i)
    for (const Arithmetic *loop : loops)
      improve(rates[loop->rate],
              loop->operations * static_cast<double>(loop->rounds),
              [&] { loop->run(loop->rounds, operands); });
}

/// Reads `bytes` of `block` again and again, which are in a cache but for the
/// first time, and then writes them.
void measureCache(CpuRates &rates, CpuRate reads, CpuRate writes,
                  const Moves &with, uint8_t *block, uint64_t cacheBytes) {
  const int64_t bytes =
      std::min(static_cast<int64_t>(cacheBytes), blockBytes) & -stepBytes;
  if (bytes == 0)
    return;
  const int64_t passes = std::max<int64_t>(1, (2 << 20) / bytes);
  constexpr int turns = 6;
  for (auto [rate, move] :
       {std::pair{reads, with.read}, std::pair{writes, with.store}}) {
    move(block, block, bytes);
    for (int turn = 0; turn < turns; ++turn)
      improve(rates[rate], static_cast<double>(passes * bytes), [&] {
        for (int64_t pass = 0; pass < passes; ++pass)
          move(block, block, bytes);
      });
  }
}

void measureMemory(CpuRates &rates, const CpuId &cpu) {
  Result<AlignedBlock> from =
      AlignedBlock::allocate(blockBytes, "a measurement");
  Result<AlignedBlock> to = AlignedBlock::allocate(blockBytes, "a measurement");
  if (!from.ok() || !to.ok())
    return;
  const Moves &with = *std::find_if(
      std::begin(moves), std::prev(std::end(moves)),
      [](const Moves &own) { return checkCpuFeatures(own.features).ok(); });
  // Pages that were never written are all one page of zeros.
  std::memset(from->data(), 1, blockBytes);
  std::memset(to->data(), 1, blockBytes);
  measureCache(rates, CpuRate::L1, CpuRate::L1Fill, with, from->data(),
               cpu.l1Bytes / 2);
  measureCache(rates, CpuRate::L2, CpuRate::L2Fill, with, from->data(),
               cpu.l2Bytes / 2);
  // Beyond level 2, but well inside level 3, which other cores use too.
  if (const uint64_t bytes = std::min(4 * cpu.l2Bytes, cpu.l3Bytes / 2);
      bytes >= 2 * cpu.l2Bytes)
    measureCache(rates, CpuRate::L3, CpuRate::L3Fill, with, from->data(),
                 bytes);
  constexpr int turns = 2;
  for (int turn = 0; turn < turns; ++turn) {
    flush(from->data(), blockBytes);
    improve(rates[CpuRate::Memory], blockBytes,
            [&] { with.read(from->data(), to->data(), blockBytes); });
    flush(to->data(), blockBytes);
    improve(rates[CpuRate::MemoryFill], blockBytes,
            [&] { with.fill(from->data(), to->data(), blockBytes); });
    flush(from->data(), blockBytes);
    improve(rates[CpuRate::MemoryCopy], 2 * blockBytes,
            [&] { with.copy(from->data(), to->data(), blockBytes); });
  }
}

void measure(CpuRates &rates, const CpuId &cpu) {
  measureArithmetic(rates);
  measureMemory(rates, cpu);
}

} // namespace
#else
static void measure(CpuRates &, const CpuId &) {}
#endif

static std::string today() {
  const std::time_t time = std::time(nullptr);
  std::tm parts;
  char text[16] = "";
  if (::gmtime_r(&time, &parts))
    std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

CpuRates sinter::rt::probeCpu(const CpuId &cpu) {
  CpuRates rates;
  rates.source = "measured on " + today();
  // In a thread of its own: the caller's tile registers may be in use.
  try {
    BlockSignals block;
    std::thread([&] { measure(rates, cpu); }).join();
  } catch (const std::system_error &) {
    rates.source = "not measured: the system starts no thread";
  }
  return rates;
}
