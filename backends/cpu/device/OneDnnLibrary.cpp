//===- OneDnnLibrary.cpp - contractions of the CPU ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnLibrary.h"

#include <new>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

Status unsupported(std::string message) {
  return {SINTER_UNSUPPORTED, std::move(message)};
}

bool isSixteenBit(uint32_t dtype) {
  return dtype == SINTER_BF16 || dtype == SINTER_F16;
}

class OneDnnLibrary : public Library {
public:
  std::string version() const override { return oneDnnVersion(); }

  LibraryCallResult prepare(const sinter_command &command,
                            const uint8_t *constants, int threads) override {
    // The library chooses algorithms by the number of threads it may use.
    OneThreadScope oneThread;
    try {
      context_.reserve(threads);
      return command.kind == SINTER_CMD_CONV
                 ? prepareConv(command, constants)
                 : prepareMatmul(command, constants);
    } catch (const dnnl::error &error) {
      return unsupported(std::string("oneDNN cannot prepare it: ") +
                         error.what());
    } catch (const std::bad_alloc &) {
      return Status(SINTER_OUT_OF_MEMORY,
                    "out of memory while a contraction was prepared");
    }
  }

private:
  LibraryCallResult prepareMatmul(const sinter_command &command,
                                  const uint8_t *constants) {
    const auto &params = *static_cast<const sinter_matmul *>(command.params);
    for (uint32_t i = 0; i < params.numPostOps; ++i)
      if (params.postOps[i].kind > SINTER_POST_HARD_SWISH)
        return unsupported("post-op " + std::to_string(params.postOps[i].kind) +
                           " is not there on the CPU");
    if (isSixteenBit(params.dtype) || isSixteenBit(params.outDtype))
      return unsupported("16-bit matmul is not supported on the CPU yet");
    if (params.dtype == SINTER_F32 && params.outDtype == SINTER_F32)
      return prepareOneDnnMatmul(context_, command, constants);
    return preparePlainMatmul(command);
  }

  LibraryCallResult prepareConv(const sinter_command &command,
                                const uint8_t *constants) {
    const auto &params = *static_cast<const sinter_conv *>(command.params);
    if (params.filterLayout == SINTER_CHANNELS_LAST)
      return unsupported("filters with channels last are not supported on the "
                         "CPU");
    if (isSixteenBit(params.dtype))
      return unsupported("16-bit convolution is not supported on the CPU yet");
    if (params.dtype != SINTER_F32)
      return preparePlainConv(command);
    if (params.direction == SINTER_CONV_FILTER_GRAD)
      return prepareOneDnnFilterGrad(context_, command);
    if (isPointwiseProduct(params))
      return preparePointwise(context_, command, constants);
    return prepareOneDnnConv(context_, command, constants);
  }

  OneDnnContext context_;
};

} // namespace

Result<std::unique_ptr<Library>> sinter::cpu::createOneDnnLibrary() {
  try {
    return std::unique_ptr<Library>(std::make_unique<OneDnnLibrary>());
  } catch (const dnnl::error &error) {
    return Status(SINTER_DEVICE_FAILED,
                  std::string("oneDNN does not start: ") + error.what());
  }
}

const float *sinter::cpu::constantAddress(const sinter_slice &slice,
                                          const uint8_t *constants) {
  if (slice.space != SINTER_SPACE_CONSTANT || !constants)
    return nullptr;
  return reinterpret_cast<const float *>(constants + slice.offsetBytes);
}

bool sinter::cpu::overlaps(const sinter_slice &a, const sinter_slice &b) {
  return a.space == b.space && a.index == b.index &&
         a.offsetBytes < b.offsetBytes + b.sizeBytes &&
         b.offsetBytes < a.offsetBytes + a.sizeBytes;
}
