//===- SelfCheck.cpp - what `doctor` says about the CPU -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuDevice.h"

#include <algorithm>
#include <vector>

using namespace sinter;
using namespace sinter::rt;

/// C = A * B for small whole numbers, whose products fp32 holds exactly.
static Status tryMatmul(Device &device) {
  constexpr int64_t m = 33, n = 70, k = 65;
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (int64_t i = 0; i < m * k; ++i)
    a[i] = static_cast<float>(i % 7 - 3);
  for (int64_t i = 0; i < k * n; ++i)
    b[i] = static_cast<float>(i % 5 - 2);
  sinter_matmul params{};
  params.dtype = params.outDtype = SINTER_F32;
  params.m = m;
  params.n = n;
  params.k = k;
  params.aStrideM = k;
  params.bStrideK = params.cStrideM = n;
  params.aStrideK = params.bStrideN = params.cStrideN = 1;
  const sinter_slice slices[] = {
      {SINTER_SPACE_INPUT, 0, 0, sizeof(float) * m * k},
      {SINTER_SPACE_INPUT, 1, 0, sizeof(float) * k * n},
      {SINTER_SPACE_OUTPUT, 0, 0, sizeof(float) * m * n}};
  sinter_command command{};
  command.kind = SINTER_CMD_MATMUL;
  command.slices = slices;
  command.matmul.params = &params;
  command.label = "self check";
  command.numSlices = 3;
  command.numReads = 2;
  Result<Library *> library = device.library();
  if (!library.ok())
    return library.status();
  auto call =
      (*library)->prepare(command, {nullptr, device.threads(), UINT64_MAX});
  if (!call.ok())
    return call.status();

  Scratch scratch;
  scratch.perWorkerStride = ((*call)->perWorkerBytes() + 63) / 64 * 64;
  std::vector<uint8_t> shared((*call)->sharedBytes() + 64),
      perWorker(scratch.perWorkerStride *
                    static_cast<uint64_t>(device.threads()) +
                64);
  auto align = [](uint8_t *address) {
    return reinterpret_cast<uint8_t *>(
        (reinterpret_cast<uintptr_t>(address) + 63) & ~uintptr_t(63));
  };
  scratch.shared = align(shared.data());
  scratch.perWorker = align(perWorker.data());
  SINTER_RETURN_IF_ERROR((*call)->bind(scratch, device.threads()));
  void *buffers[] = {a.data(), b.data(), c.data()};
  Result<std::unique_ptr<Stream>> stream = device.createStream();
  if (!stream.ok())
    return stream.status();
  SINTER_RETURN_IF_ERROR(device.call(**stream, **call, buffers));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float expected = 0;
      for (int64_t l = 0; l < k; ++l)
        expected += a[i * k + l] * b[l * n + j];
      if (c[i * n + j] != expected)
        return {SINTER_DEVICE_FAILED,
                "the contraction library computes a wrong product on this CPU "
                "(element " +
                    std::to_string(i) + ", " + std::to_string(j) + " is " +
                    std::to_string(c[i * n + j]) + ", not " +
                    std::to_string(expected) + ")"};
    }
  return {};
}

Result<std::vector<std::string>> sinter::cpu::selfCheck() {
  Result<std::unique_ptr<Device>> device = createCpuDevice(0);
  if (!device.ok())
    return device.status();
  SINTER_RETURN_IF_ERROR(tryMatmul(**device));
  std::vector<std::string> lines = (*device)->report();
  lines.push_back("self check: a product with a known result is correct");
  return lines;
}
