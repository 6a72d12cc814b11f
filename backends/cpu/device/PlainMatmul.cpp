//===- PlainMatmul.cpp - products by loops --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// ONNX defines MatMul for dtypes that no library here multiplies, and fp32 sums
// of libraries depend on the machine. Tiles of C are independent. Within a
// tile, B is packed and each sum runs over k in order.
//
//===----------------------------------------------------------------------===//

#include "backends/common/device/PlainProduct.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>
#include <array>
#include <type_traits>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

using plain::tileCols;
using plain::tileRows;

/// Sums of integers wrap, which C++ allows only for unsigned types. Narrow
/// types would be promoted to int.
template <typename T>
using Sum =
    std::conditional_t<std::is_floating_point_v<T>, T,
                       std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

/// B has elements InB.
template <typename In, typename Out, typename InB = In>
class PlainMatmulCall : public LibraryCall {
public:
  explicit PlainMatmulCall(const sinter_command &command)
      : command_(command), params_(*command.matmul.params) {}

  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override {
    return sizeof(Sum<Out>) * (tileRows * tileCols + plain::packedElements);
  }

  Status bind(const Scratch &scratch, int) override {
    scratch_ = scratch;
    return {};
  }

  Status run(void *const *buffers, const CallContext &context) override {
    int64_t matrices = 1;
    for (uint32_t i = 0; i < params_.batchRank; ++i)
      matrices *= params_.batch[i];
    int64_t rowTiles = (params_.m + tileRows - 1) / tileRows;
    int64_t colTiles = (params_.n + tileCols - 1) / tileCols;
    context.parallelFor(matrices * rowTiles * colTiles, 1,
                        [&](int worker, int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            runTile(buffers, worker, i / (rowTiles * colTiles),
                                    i / colTiles % rowTiles * tileRows,
                                    i % colTiles * tileCols);
                        });
    return {};
  }

  std::string description() const override {
    return "matmul by loops, no library";
  }

private:
  void runTile(void *const *buffers, int worker, int64_t matrix, int64_t m0,
               int64_t n0) const {
    const sinter_matmul &p = params_;
    int64_t aOffset = m0 * p.aStrideM, bOffset = n0 * p.bStrideN;
    int64_t cOffset = m0 * p.cStrideM + n0 * p.cStrideN;
    for (int i = static_cast<int>(p.batchRank) - 1; i >= 0; --i) {
      int64_t index = matrix % p.batch[i];
      matrix /= p.batch[i];
      aOffset += index * p.aBatchStrides[i];
      bOffset += index * p.bBatchStrides[i];
      cOffset += index * p.cBatchStrides[i];
    }
    const In *a = static_cast<const In *>(buffers[0]) + aOffset;
    const InB *b = static_cast<const InB *>(buffers[1]) + bOffset;
    Out *c = static_cast<Out *>(buffers[command_.numSlices - 1]) + cOffset;
    int64_t rows = std::min(tileRows, p.m - m0);
    int64_t cols = std::min(tileCols, p.n - n0);

    auto *sums = reinterpret_cast<Sum<Out> *>(scratch_.perWorker +
                                              static_cast<uint64_t>(worker) *
                                                  scratch_.perWorkerStride);
    plain::sumTile(plain::TileOperand<In>{a, p.aStrideM, p.aStrideK},
                   plain::TileOperand<InB>{b, p.bStrideN, p.bStrideK}, rows,
                   cols, p.k, sums, sums + tileRows * tileCols, [](auto value) {
                     return static_cast<Sum<Out>>(static_cast<Out>(value));
                   });
    if constexpr (std::is_same_v<Out, float>)
      applyPostOps({p.postOps, p.numPostOps}, {sums, rows, cols, tileCols, 1},
                   operands(buffers, n0, cOffset).data());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        c[i * p.cStrideM + j * p.cStrideN] =
            finish(buffers, static_cast<Out>(sums[i * tileCols + j]), n0 + j,
                   cOffset + i * p.cStrideM + j * p.cStrideN);
  }

  /// The operands of the post-ops of a tile.
  std::array<PostOpOperand, SINTER_MAX_POST_OPS>
  operands(void *const *buffers, int64_t col, int64_t cOffset) const {
    std::array<PostOpOperand, SINTER_MAX_POST_OPS> result;
    for (uint32_t i = 0; i < params_.numPostOps; ++i) {
      const sinter_post_op &op = params_.postOps[i];
      if (!readsOperand(op))
        continue;
      const auto *address = static_cast<const float *>(buffers[op.slice]);
      result[i] = op.kind == SINTER_POST_BIAS
                      ? PostOpOperand{address + col, 0, 1}
                      : PostOpOperand{address + cOffset, params_.cStrideM,
                                      params_.cStrideN};
    }
    return result;
  }

  Out finish(void *const *buffers, Out value, int64_t col,
             int64_t cOffset) const {
    if constexpr (std::is_same_v<Out, float>)
      return value; // done for the whole tile
    for (uint32_t i = 0; i < params_.numPostOps; ++i) {
      const sinter_post_op &op = params_.postOps[i];
      if (op.kind == SINTER_POST_RELU) {
        value = value <= Out(0) ? Out(0) : value;
        continue;
      }
      const auto *operand = static_cast<const Out *>(buffers[op.slice]);
      Out other = operand[op.kind == SINTER_POST_BIAS ? col : cOffset];
      value = static_cast<Out>(static_cast<Sum<Out>>(value) +
                               static_cast<Sum<Out>>(other));
    }
    return value;
  }

  const sinter_command &command_;
  const sinter_matmul &params_;
  Scratch scratch_;
};

template <typename In, typename Out, typename InB = In>
LibraryCallResult make(const sinter_command &command) {
  return std::unique_ptr<LibraryCall>(
      std::make_unique<PlainMatmulCall<In, Out, InB>>(command));
}

} // namespace

LibraryCallResult
sinter::cpu::preparePlainMatmul(const sinter_command &command) {
  const auto &params = *command.matmul.params;
  if (params.dtype == SINTER_F32 && params.outDtype == SINTER_F32)
    return make<float, float>(command);
  for (uint32_t i = 0; i < params.numPostOps; ++i)
    if (const uint32_t kind = params.postOps[i].kind;
        kind != SINTER_POST_BIAS && kind != SINTER_POST_ADD &&
        kind != SINTER_POST_RELU)
      return Status(SINTER_UNSUPPORTED,
                    "only bias, add and relu may follow a matmul that is not "
                    "fp32");
  if (const uint32_t dtypeOfB = command.matmul.dtypeOfB;
      dtypeOfB && dtypeOfB != params.dtype)
    return params.dtype == SINTER_I8 ? make<int8_t, int32_t, uint8_t>(command)
                                     : make<uint8_t, int32_t, int8_t>(command);
  if (params.dtype == params.outDtype)
    switch (params.dtype) {
    case SINTER_F64:
      return make<double, double>(command);
    case SINTER_I8:
      return make<int8_t, int8_t>(command);
    case SINTER_U8:
      return make<uint8_t, uint8_t>(command);
    case SINTER_I16:
      return make<int16_t, int16_t>(command);
    case SINTER_U16:
      return make<uint16_t, uint16_t>(command);
    case SINTER_I32:
      return make<int32_t, int32_t>(command);
    case SINTER_U32:
      return make<uint32_t, uint32_t>(command);
    case SINTER_I64:
      return make<int64_t, int64_t>(command);
    case SINTER_U64:
      return make<uint64_t, uint64_t>(command);
    default:
      break;
    }
  if (params.dtype == SINTER_I8 && params.outDtype == SINTER_I32)
    return make<int8_t, int32_t>(command);
  if (params.dtype == SINTER_U8 && params.outDtype == SINTER_I32)
    return make<uint8_t, int32_t>(command);
  return Status(SINTER_UNSUPPORTED, "no CPU matmul multiplies dtype " +
                                        std::to_string(params.dtype) +
                                        " into dtype " +
                                        std::to_string(params.outDtype));
}
