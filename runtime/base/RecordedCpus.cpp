//===- RecordedCpus.cpp - CPUs that code is compiled for by name ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Sources. Clock, cores, L3, channels and speed of memory (GB/s = channels x 8
// bytes x GT/s): the makers' product pages of the part.
//
// Intel: "Intel 64 and IA-32 Architectures Optimization Reference Manual",
// sections on each microarchitecture.
// - Haswell: two FMA units of 256 bits, two loads of 32 bytes, 64 bytes from
//   L2.
// - Skylake server and later: two FMA units of 512 bits, two loads of 64 bytes.
// - VNNI in both units: 64 x 2 operations each.
// - Sapphire Rapids: AMX has 1024 operations of bf16 and 2048 of int8 in a
//   cycle; AVX512-FP16 has twice the lanes of fp32. vdpbf16ps has half the
//   rate of fp32, as the probe measured it: a core completes one (32
//   multiply-adds) every two cycles.
//
// AMD: "Software Optimization Guide" for family 17h models 30h and later, 19h
// (Zen 3, Zen 4) and 1Ah (Zen 5).
// - Zen 2 and 3: two FMA units of 256 bits, two loads of 32 bytes, 32 bytes
//   from L2.
// - Zen 4: the same units; an instruction of 512 bits takes two of them.
//   vdpbf16ps and vpdpbusd have the same rate in instructions as FMA, with two
//   and four times the operations.
// - Zen 5 (server): units, loads and the path to L2 have twice the width.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/RecordedCpus.h"

#include <string>

using namespace sinter::rt;

// clang-format off
static const RecordedCpu cpus[] = {
  // name, level, part, cores, GHz, fp32, bf16, tiles, fp16, int8, tiles, L1, L2, GB/s, L3
  {"haswell", "x86-64-v3", "Xeon E5-2690 v3", 12, 2.6, 32, 0, 0, 0, 0, 0, 64, 64, 68.3, 30},
  {"skylake-avx512", "x86-64-v4", "Xeon Platinum 8180", 28, 2.5, 64, 0, 0, 0, 0, 0, 128, 64, 128, 38.5},
  {"cascadelake", "x86-64-v4", "Xeon Platinum 8280", 28, 2.7, 64, 0, 0, 0, 256, 0, 128, 64, 140.8, 38.5},
  {"icelake-server", "x86-64-v4", "Xeon Platinum 8380", 40, 2.3, 64, 0, 0, 0, 256, 0, 128, 64, 204.8, 60},
  {"sapphirerapids", "x86-64-v4", "Xeon Platinum 8480+", 56, 2.0, 64, 32, 1024, 128, 256, 2048, 128, 64, 307.2, 105},
  {"znver2", "x86-64-v3", "EPYC 7742", 64, 2.25, 32, 0, 0, 0, 0, 0, 64, 32, 204.8, 256},
  {"znver3", "x86-64-v3", "EPYC 7763", 64, 2.45, 32, 0, 0, 0, 0, 0, 64, 32, 204.8, 256},
  {"znver4", "x86-64-v4", "EPYC 9654", 96, 2.4, 32, 64, 0, 0, 128, 0, 64, 32, 460.8, 384},
  {"znver5", "x86-64-v4", "EPYC 9755", 128, 2.7, 64, 128, 0, 0, 256, 0, 128, 64, 576, 512},
};
// clang-format on

std::span<const RecordedCpu> sinter::rt::recordedCpus() { return cpus; }

const RecordedCpu *sinter::rt::recordedCpu(std::string_view name) {
  for (const RecordedCpu &cpu : cpus)
    if (name == cpu.name)
      return &cpu;
  return nullptr;
}

CpuRates RecordedCpu::rates() const {
  CpuRates rates;
  rates.source = std::string("recorded for ") + name + " (" + part + ")";
  for (auto [rate, perCycle] : {std::pair{CpuRate::Fp32, fp32},
                                {CpuRate::Bf16, bf16},
                                {CpuRate::Bf16Tiles, bf16Tiles},
                                {CpuRate::Fp16, fp16},
                                {CpuRate::Int8, int8},
                                {CpuRate::Int8Tiles, int8Tiles},
                                {CpuRate::L1, l1Bytes},
                                {CpuRate::L2, l2Bytes}})
    if (perCycle)
      rates[rate] = perCycle * clockGHz * 1e9;
  rates[CpuRate::Memory] = memoryGBps * 1e9 / cores;
  return rates;
}
