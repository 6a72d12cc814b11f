//===- CpuLibrary.cpp - contractions of the CPU ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuLibrary.h"

#include "backends/cpu/device/ByteCall.h"
#include "backends/cpu/device/ConvChain.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/FilePages.h"

#include <new>
#include <span>

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

class CpuLibrary : public Library {
public:
  std::string version() const override { return oneDnnVersion(); }

  LibraryCallResult prepare(const sinter_command &command,
                            const CallMeans &means) override {
    return guarded<LibraryCallResult>(means, [&] {
      LibraryCallResult call = command.kind == SINTER_CMD_CONV
                                   ? prepareConv(command, means.constants)
                               : command.kind == SINTER_CMD_ATTENTION
                                   ? prepareAttention(command)
                                   : prepareMatmul(command, means.constants);
      releaseConstants(command, means.constants);
      return call;
    });
  }

  Result<std::unique_ptr<LibraryChain>>
  prepareChain(std::span<const sinter_command> commands,
               const CallMeans &means) override {
    using Chain = Result<std::unique_ptr<LibraryChain>>;
    return guarded<Chain>(means, [&] {
      Chain chain =
          prepareConvChain(commands, means, [&](const sinter_command &part) {
            return prepareConv(part, means.constants);
          });
      for (const sinter_command &command : commands)
        releaseConstants(command, means.constants);
      return chain;
    });
  }

private:
  /// Calls `prepare`, which may throw.
  template <typename Prepared, typename Prepare>
  Prepared guarded(const CallMeans &means, Prepare prepare) {
    // The library chooses algorithms by the number of threads it may use.
    OneThreadScope oneThread;
    try {
      context_.reserve(means.threads);
      context_.workspaceBytes = means.workspaceBytes;
      context_.threads = means.threads;
      context_.constantBytes = means.constantBytes;
      return prepare();
    } catch (const dnnl::error &error) {
      return unsupported(std::string("oneDNN cannot prepare it: ") +
                         error.what());
    } catch (const std::bad_alloc &) {
      return Status(SINTER_OUT_OF_MEMORY,
                    "out of memory while a contraction was prepared");
    }
  }

  /// Almost all calls have packed their weights by now.
  static void releaseConstants(const sinter_command &command,
                               const uint8_t *constants) {
    constexpr uint64_t worthReleasing = 64 << 10;
    for (const sinter_slice &slice :
         std::span(command.slices, command.numSlices))
      if (const auto *address = constantAddress(slice, constants);
          address && slice.sizeBytes >= worthReleasing)
        rt::releaseFilePages(
            {reinterpret_cast<const uint8_t *>(address), slice.sizeBytes});
  }

  static Status checkPostOps(const sinter_command &command,
                             std::span<const sinter_post_op> postOps) {
    const bool isOfBytes = byteSigns(command).has_value();
    for (const sinter_post_op &op : postOps) {
      const sinter_post_op_traits *traits = sinter_post_op_row(op.kind);
      const bool isForBytes =
          traits && traits->scope == SINTER_POST_SCOPE_BYTES;
      if (isForBytes ? !isOfBytes : !hasPostOp(op.kind))
        return unsupported(
            "post-op " +
            (traits ? std::string(traits->name) : std::to_string(op.kind)) +
            " is not supported on the CPU");
    }
    return {};
  }

  LibraryCallResult prepareMatmul(const sinter_command &command,
                                  const uint8_t *constants) {
    const auto &params = *command.matmul.params;
    SINTER_RETURN_IF_ERROR(
        checkPostOps(command, {params.postOps, params.numPostOps}));
    const bool byLoops = command.matmul.way == SINTER_BY_LOOPS;
    if (params.weights.bits)
      return prepareCodedProduct(context_, command, constants,
                                 byLoops ? matmulByLoops : prepareFloatMatmul,
                                 byLoops);
    if (!byLoops) {
      LibraryCallResult rows = prepareRowProduct(context_, command, constants);
      if (!rows.ok() || *rows)
        return rows;
    }
    LibraryCallResult bytes = prepareByteProduct(context_, command, constants);
    if (!bytes.ok() || *bytes)
      return bytes;
    if (isSixteenBit(params.dtype) &&
        (params.outDtype == params.dtype || params.outDtype == SINTER_F32)) {
      if (byLoops)
        return prepareWidened(context_, command, constants, matmulByLoops);
      LibraryCallResult product =
          prepareBfloatProduct(context_, command, constants);
      if (!product.ok() || *product)
        return product;
      return prepareWidened(context_, command, constants, prepareFloatMatmul);
    }
    if (!byLoops && params.dtype == SINTER_F32 && params.outDtype == SINTER_F32)
      return prepareFloatMatmul(context_, command, constants);
    return preparePlainMatmul(command);
  }

  static LibraryCallResult matmulByLoops(OneDnnContext &,
                                         const sinter_command &command,
                                         const uint8_t *) {
    return preparePlainMatmul(command);
  }
  static LibraryCallResult
  convByLoops(OneDnnContext &, const sinter_command &command, const uint8_t *) {
    return preparePlainConv(command);
  }

  static LibraryCallResult prepareFloatConv(OneDnnContext &context,
                                            const sinter_command &command,
                                            const uint8_t *constants) {
    const auto &params = *command.conv.params;
    if (params.direction == SINTER_CONV_FILTER_GRAD)
      return prepareOneDnnFilterGrad(context, command);
    if (isPointwiseProduct(params)) {
      LibraryCallResult product = preparePointwise(context, command, constants);
      if (!product.ok() || *product)
        return product;
    }
    if (command.conv.way == SINTER_BY_FAST_LIBRARY) {
      LibraryCallResult fast = prepareWinogradConv(context, command, constants);
      if (!fast.ok() || *fast)
        return fast;
    }
    LibraryCallResult window = prepareFloatWindow(context, command, constants);
    if (!window.ok() || *window)
      return window;
    LibraryCallResult taps = prepareFloatTaps(context, command, constants);
    if (!taps.ok() || *taps)
      return taps;
    return prepareOneDnnConv(context, command, constants);
  }

  LibraryCallResult prepareConv(const sinter_command &command,
                                const uint8_t *constants) {
    const auto &params = *command.conv.params;
    SINTER_RETURN_IF_ERROR(
        checkPostOps(command, {params.postOps, params.numPostOps}));
    if (params.filterLayout == SINTER_CHANNELS_LAST)
      return unsupported("filters with channels last are not supported on the "
                         "CPU");
    const bool byLoops = command.conv.way == SINTER_BY_LOOPS;
    uint32_t outDtype = params.outDtype ? params.outDtype : params.dtype;
    if (isSixteenBit(params.dtype) &&
        (outDtype == params.dtype || outDtype == SINTER_F32)) {
      if (byLoops)
        return prepareWidened(context_, command, constants, convByLoops);
      LibraryCallResult window =
          prepareBfloatWindow(context_, command, constants);
      if (!window.ok() || *window)
        return window;
      LibraryCallResult depthwise =
          prepareBfloatDepthwise(context_, command, constants);
      if (!depthwise.ok() || *depthwise)
        return depthwise;
      LibraryCallResult native =
          prepareBfloatConv(context_, command, constants);
      if (!native.ok() || *native)
        return native;
      return prepareWidened(context_, command, constants, prepareFloatConv);
    }
    LibraryCallResult bytes = prepareByteWindow(context_, command, constants);
    if (!bytes.ok() || *bytes)
      return bytes;
    bytes = prepareByteDepthwise(context_, command, constants);
    if (!bytes.ok() || *bytes)
      return bytes;
    if (outDtype == SINTER_I32)
      return preparePlainConv(command);
    if (outDtype != params.dtype)
      return unsupported("no CPU convolution takes dtype " +
                         std::to_string(params.dtype) + " to dtype " +
                         std::to_string(outDtype));
    if (byLoops || params.dtype != SINTER_F32)
      return preparePlainConv(command);
    return prepareFloatConv(context_, command, constants);
  }

  OneDnnContext context_;
};

} // namespace

LibraryCallResult sinter::cpu::prepareFloatMatmul(OneDnnContext &context,
                                                  const sinter_command &command,
                                                  const uint8_t *constants) {
  LibraryCallResult product = prepareFloatProduct(context, command, constants);
  if (!product.ok() || *product)
    return product;
  return prepareOneDnnMatmul(context, command, constants);
}

Result<std::unique_ptr<Library>> sinter::cpu::createCpuLibrary() {
  try {
    return std::unique_ptr<Library>(std::make_unique<CpuLibrary>());
  } catch (const dnnl::error &error) {
    return Status(SINTER_DEVICE_FAILED,
                  std::string("cannot initialize oneDNN: ") + error.what());
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
