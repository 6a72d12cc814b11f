//===- EpilogueKernelTest.cpp - the CUDA kernels for epilogues ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The device code that becomes PTX runs on the simulated device, and is
// compared with the loops that the stand-in for cuBLASLt uses.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/device/EpilogueKernel.h"
#include "backends/sim/device/SimDevice.h"
#include "backends/sim/library/SimLtEpilogue.h"
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

/// A kernel whose structure is passed by its address.
std::unique_ptr<SimKernel> load(const char *name) {
  std::ifstream file(SINTER_DEVICE_IR "/EpilogueKernel.ll");
  std::stringstream text;
  text << file.rdbuf();
  std::string byAddress = std::regex_replace(
      text.str(), std::regex("byval\\([^)]*\\) align 8"), "");
  auto kernel = SimKernel::fromText(byAddress, name, SimOptions());
  INFO(kernel->error());
  REQUIRE(kernel->code());
  return kernel;
}

template <class Args>
void run(SimKernel &kernel, const Args &args, uint32_t blocks, uint32_t blockX,
         uint32_t blockY, uint64_t seed) {
  std::vector<uint8_t> bytes(sizeof(args));
  std::memcpy(bytes.data(), &args, sizeof(args));
  Launch launch = kernel.launch({rangeOf(bytes)}, blocks, blockX);
  launch.block[1] = blockY;
  EngineOptions options;
  options.seed = seed;
  Engine engine(options);
  CHECK(engine.launch(launch, nullptr).message() == "");
}

/// Memory of a simulated device, which the loops require.
class Memory {
public:
  static constexpr uint64_t numBytes = 256 << 10;

  explicit Memory(rt::Device &device) : device_(device) {
    auto address = device.allocate(numBytes, "a test");
    REQUIRE(address.ok());
    bytes_ = static_cast<uint8_t *>(*address);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory() { device_.free(bytes_); }

  /// The same bytes for the same seed. The top bit of each exponent is 0, so
  /// that values are below 2 in all types.
  void fill(uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    for (uint64_t i = 0; i < numBytes; ++i) {
      state = state * 1664525u + 1013904223u;
      bytes_[i] = static_cast<uint8_t>(state >> 24);
      if (i % 2)
        bytes_[i] = static_cast<uint8_t>((bytes_[i] & 0x81) | 0x3a);
    }
  }
  /// Part `index` of 32 KiB.
  template <class T> T *part(int index) {
    return reinterpret_cast<T *>(bytes_ + (index << 15));
  }
  bool operator==(const Memory &other) const {
    return std::memcmp(bytes_, other.bytes_, numBytes) == 0;
  }

private:
  rt::Device &device_;
  uint8_t *bytes_ = nullptr;
};

/// What the kernel and the loops compute on.
struct Memories {
  std::unique_ptr<rt::Device> owner = std::move(*createSimDevice(0, {}));
  Memory device{*owner}, host{*owner};
  void fill(uint32_t seed) {
    device.fill(seed);
    host.fill(seed);
  }
};

float valueOf(const void *from, int32_t type, int64_t index) {
  return loadElement<HostMachine>(from, type, index);
}

constexpr int32_t allTypes[] = {lt::f32, lt::f16, lt::bf16};
constexpr uint32_t allEpilogues[] = {2,   4,   6,   32,  36,  130, 134,
                                     136, 152, 160, 164, 192, 208};

LtEpilogueArgs argsOf(Memory &memory, int32_t type, uint32_t epilogue,
                      int64_t m, int64_t n, int64_t batch) {
  LtEpilogueArgs args{};
  args.m = m;
  args.n = n;
  args.batch = batch;
  args.product = memory.part<float>(0);
  args.productLd = m + 1;
  args.productStride = (m + 1) * n;
  args.d = memory.part<uint8_t>(2);
  if (epilogue % 4 == 0) {
    args.c = memory.part<uint8_t>(4);
    args.beta = -0.75f;
  }
  args.ld = m + 3;
  args.stride = (m + 3) * n;
  if (epilogue & lt::epilogueBias)
    args.bias = memory.part<uint8_t>(5);
  args.biasStride = m;
  if (epilogue & ltAuxBit)
    args.aux = memory.part<uint8_t>(6);
  args.auxLd = (m + 127) / 128 * 128;
  args.auxStride = args.auxLd * n;
  args.type = type;
  args.epilogue = epilogue;
  args.keepsResults = (epilogue & ltBiasGradBit) != 0;
  return args;
}

} // namespace

TEST_CASE("kernels for epilogues compute what the loops do") {
  auto kernel = load(epilogueKernelName);
  struct Shape {
    int64_t m, n, batch;
  };
  Memories memories;
  auto &[owner, device, host] = memories;
  uint32_t seed = 0;
  for (int32_t type : allTypes)
    for (uint32_t epilogue : allEpilogues)
      for (auto [m, n, batch] :
           {Shape{1, 1, 1}, Shape{37, 70, 1}, Shape{9, 5, 3}}) {
        CAPTURE(type, epilogue, m, n, batch);
        memories.fill(++seed);
        LtEpilogueArgs args = argsOf(device, type, epilogue, m, n, batch);
        // Fewer blocks than tiles: a block loops.
        run(*kernel, args, m == 37 ? 2 : 1, epilogueTileRows, epilogueBlockRows,
            seed);
        REQUIRE(createLtKernels()
                    ->apply(argsOf(host, type, epilogue, m, n, batch), nullptr)
                    .ok());
        if (!(epilogue & (lt::epilogueGelu | ltGeluGradBit))) {
          REQUIRE(device == host);
          continue;
        }
        // Their exp2 may differ in the last bit.
        double rounding = type == lt::f32 ? 0 : type == lt::f16 ? 1e-3 : 8e-3;
        for (int64_t i = 0; i < args.stride * batch; ++i) {
          double found = valueOf(device.part<void>(2), type, i),
                 expected = valueOf(host.part<void>(2), type, i);
          REQUIRE(std::abs(found - expected) <=
                  1e-6 + rounding * std::abs(expected));
        }
        // What is stored beside D does not depend on it.
        REQUIRE(std::memcmp(device.part<uint8_t>(4), host.part<uint8_t>(4),
                            size_t(4) << 15) == 0);
      }
}

TEST_CASE("kernels for sums add in the order of the loops") {
  auto kernel = load(sumKernelName);
  Memories memories;
  auto &[owner, device, host] = memories;
  uint32_t seed = 0;
  for (int32_t type : allTypes)
    for (int64_t lines : {1, 33, 70})
      for (int64_t terms : {1, 16, 53})
        for (bool isAlongTerms : {false, true})
          for (int piece = 0; piece < 4; ++piece) {
            CAPTURE(type, lines, terms, isAlongTerms, piece);
            memories.fill(++seed);
            auto argsOf = [&](Memory &memory) {
              LtSumArgs args{};
              args.lines = lines;
              args.terms = terms;
              args.values = memory.part<void>(0);
              args.lineStride = isAlongTerms ? terms + 1 : 1;
              args.termStride = isAlongTerms ? 1 : lines + 2;
              args.isFirst = piece < 2;
              if (piece > 0)
                args.running = memory.part<float>(2);
              if (piece % 3 == 0)
                args.to = memory.part<void>(3);
              args.type = type;
              args.toType = allTypes[seed % 3];
              return args;
            };
            run(*kernel, argsOf(device), lines > 64 ? 2 : 1,
                sumTileLines * ltSumLanes, 1, seed);
            REQUIRE(createLtKernels()->sum(argsOf(host), nullptr).ok());
            REQUIRE(device == host);
          }
}
