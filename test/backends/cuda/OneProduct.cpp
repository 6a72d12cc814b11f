//===- OneProduct.cpp - one matrix product and its meaning, for tests -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneProduct.h"
#include "backends/common/device/Float16.h"
#include "backends/cuda/library/LtPlan.h"
#include "backends/sim/library/SimCublasLt.h"
#include "backends/sim/library/SimLibrary.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/exec/ArtifactChecks.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

using namespace sinter;
using namespace sinter::test;

namespace {

int64_t bytesOf(uint32_t dtype) {
  switch (dtype) {
  case SINTER_F64:
    return 8;
  case SINTER_F32:
  case SINTER_I32:
    return 4;
  case SINTER_F16:
  case SINTER_BF16:
    return 2;
  default:
    return 1;
  }
}

/// Half the distance of neighbours near 1.
double roundingOf(uint32_t dtype) {
  switch (dtype) {
  case SINTER_F64:
    return 0x1p-53;
  case SINTER_F32:
    return 0x1p-24;
  case SINTER_F16:
    return 0x1p-11;
  case SINTER_BF16:
    return 0x1p-8;
  default:
    return 0;
  }
}

template <typename T> T read(const uint8_t *bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

double load(uint32_t dtype, const uint8_t *bytes, int64_t index) {
  switch (dtype) {
  case SINTER_F64:
    return read<double>(bytes, index);
  case SINTER_F32:
    return read<float>(bytes, index);
  case SINTER_F16:
    return plain::toFloat(read<plain::Half>(bytes, index));
  case SINTER_BF16:
    return plain::toFloat(read<plain::Bfloat>(bytes, index));
  case SINTER_I32:
    return read<int32_t>(bytes, index);
  default:
    return read<int8_t>(bytes, index);
  }
}

template <typename T> void write(uint8_t *bytes, int64_t index, T value) {
  std::memcpy(bytes + index * int64_t(sizeof(T)), &value, sizeof(T));
}

void save(uint32_t dtype, uint8_t *bytes, int64_t index, double value) {
  switch (dtype) {
  case SINTER_F64:
    return write(bytes, index, value);
  case SINTER_F32:
    return write(bytes, index, static_cast<float>(value));
  case SINTER_F16: {
    plain::Half half;
    plain::fromFloat(static_cast<float>(value), half);
    return write(bytes, index, half);
  }
  case SINTER_BF16: {
    plain::Bfloat bfloat;
    plain::fromFloat(static_cast<float>(value), bfloat);
    return write(bytes, index, bfloat);
  }
  default:
    return write(bytes, index, static_cast<int8_t>(value * 100));
  }
}

bool isWritten(uint32_t kind) {
  return kind == SINTER_POST_STORE || kind == SINTER_POST_RELU_BITS ||
         kind == SINTER_POST_BIAS_GRAD;
}
bool isRead(uint32_t kind) {
  return kind == SINTER_POST_BIAS || kind == SINTER_POST_ADD ||
         kind == SINTER_POST_RELU_GRAD || kind == SINTER_POST_GELU_TANH_GRAD;
}
bool isBits(uint32_t kind) {
  return kind == SINTER_POST_RELU_BITS || kind == SINTER_POST_RELU_GRAD;
}

double geluTanhGrad(double x) {
  double c = std::sqrt(2 / M_PI), t = std::tanh(c * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
}

} // namespace

OneProduct::OneProduct(uint32_t dtype, uint32_t outDtype, int64_t m, int64_t n,
                       int64_t k) {
  params.dtype = dtype;
  params.outDtype = outDtype;
  params.m = m;
  params.n = n;
  params.k = k;
  params.aStrideM = k;
  params.bStrideK = params.cStrideM = n;
  params.aStrideK = params.bStrideN = params.cStrideN = 1;
}

OneProduct &OneProduct::transposeA() {
  params.aStrideM = 1;
  params.aStrideK = params.m;
  return *this;
}
OneProduct &OneProduct::transposeB() {
  params.bStrideK = 1;
  params.bStrideN = params.k;
  return *this;
}
OneProduct &OneProduct::transposeC() {
  params.cStrideM = 1;
  params.cStrideN = params.m;
  return *this;
}

OneProduct &OneProduct::batch(int64_t size, int64_t a, int64_t b, int64_t c) {
  uint32_t i = params.batchRank++;
  params.batch[i] = size;
  params.aBatchStrides[i] = a;
  params.bBatchStrides[i] = b;
  params.cBatchStrides[i] = c;
  return *this;
}

OneProduct &OneProduct::post(uint32_t kind, float alpha, float beta) {
  params.postOps[params.numPostOps++] = {kind, 0, alpha, beta};
  return *this;
}

int64_t OneProduct::extent(const int64_t *batchStrides, int64_t rows,
                           int64_t rowStride, int64_t cols,
                           int64_t colStride) const {
  int64_t last = (rows - 1) * rowStride + (cols - 1) * colStride;
  if (!rows || !cols)
    return 0;
  for (uint32_t i = 0; i < params.batchRank; ++i) {
    if (!params.batch[i])
      return 0;
    last += (params.batch[i] - 1) * batchStrides[i];
  }
  return last + 1;
}

/// Operands with values in [-1, 1], and where the slices of post-ops are.
void OneProduct::build() {
  sinter_matmul &p = params;
  int64_t c = extent(p.cBatchStrides, p.m, p.cStrideM, p.n, p.cStrideN);
  int64_t lines = p.m;
  for (uint32_t i = 0; i < p.batchRank; ++i)
    lines *= p.batch[i];
  operands_.clear();
  auto add = [&](uint32_t dtype, int64_t elements, bool random) {
    Operand operand{dtype, elements, {}, {}};
    operand.bytes.resize(static_cast<size_t>(elements * bytesOf(dtype)));
    uint32_t state = 12345u + 2654435761u * uint32_t(operands_.size() + 1);
    for (int64_t i = 0; i < elements; ++i) {
      state = state * 1664525u + 1013904223u;
      if (random && dtype != SINTER_BOOL)
        save(dtype, operand.bytes.data(), i, (state >> 8) / 8388608.0 - 1);
      else
        operand.bytes[i * bytesOf(dtype)] = static_cast<uint8_t>(state >> 24);
      operand.values.push_back(random && dtype != SINTER_BOOL
                                   ? load(dtype, operand.bytes.data(), i)
                                   : 0);
    }
    operands_.push_back(std::move(operand));
  };
  add(p.dtype, extent(p.aBatchStrides, p.m, p.aStrideM, p.k, p.aStrideK), true);
  add(p.dtype, extent(p.bBatchStrides, p.k, p.bStrideK, p.n, p.bStrideN), true);
  for (bool written : {false, true}) {
    if (written)
      numReads_ = static_cast<uint32_t>(operands_.size());
    for (uint32_t i = 0; i < p.numPostOps; ++i) {
      sinter_post_op &op = p.postOps[i];
      if (written ? !isWritten(op.kind) : !isRead(op.kind))
        continue;
      op.slice = static_cast<uint32_t>(operands_.size());
      bool vector =
          op.kind == SINTER_POST_BIAS || op.kind == SINTER_POST_BIAS_GRAD;
      if (isBits(op.kind))
        add(SINTER_BOOL, lines * cuda::reluBitsPerLine(p.n) / 8, true);
      else
        add(p.outDtype, vector ? p.n : c, true);
    }
  }
  add(p.outDtype, c, true);
  slices_.clear();
  for (size_t i = 0; i < operands_.size(); ++i)
    slices_.push_back(
        {uint32_t(i < numReads_ ? SINTER_SPACE_INPUT : SINTER_SPACE_OUTPUT),
         static_cast<uint32_t>(i), 0, operands_[i].bytes.size()});
}

void OneProduct::expect(int64_t element, double value, double magnitude,
                        const Operand &operand, const char *what) const {
  double found = load(operand.dtype, operand.bytes.data(), element);
  // Sums in the computing type, then one rounding to the result's.
  double sums = params.dtype == SINTER_F64
                    ? 0x1p-53
                    : (params.dtype == SINTER_I8 ? 0 : 0x1p-24);
  double allowed =
      sums * magnitude * 2 * std::sqrt(static_cast<double>(params.k) + 8) +
      roundingOf(operand.dtype) * std::abs(value) * 1.01;
  if (std::abs(found - value) <= allowed ||
      (std::isnan(value) && std::isnan(found)))
    return;
  CAPTURE(what, element, found, value, allowed);
  REQUIRE(std::abs(found - value) <= allowed);
}

void OneProduct::compare() const {
  const sinter_matmul &p = params;
  int64_t count = 1;
  for (uint32_t i = 0; i < p.batchRank; ++i)
    count *= p.batch[i];
  std::vector<double> sums(static_cast<size_t>(p.n)),
      sumMagnitudes(static_cast<size_t>(p.n));
  const Operand *sumOperand = nullptr;
  int64_t bitLine = cuda::reluBitsPerLine(p.n);
  for (int64_t batch = 0; batch < count; ++batch) {
    int64_t a0 = 0, b0 = 0, c0 = 0, rest = batch;
    for (int i = static_cast<int>(p.batchRank) - 1; i >= 0; --i) {
      int64_t at = rest % p.batch[i];
      rest /= p.batch[i];
      a0 += at * p.aBatchStrides[i];
      b0 += at * p.bBatchStrides[i];
      c0 += at * p.cBatchStrides[i];
    }
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double x = 0, magnitude = 1;
        for (int64_t l = 0; l < p.k; ++l) {
          double product =
              operands_[0].values[a0 + i * p.aStrideM + l * p.aStrideK] *
              operands_[1].values[b0 + l * p.bStrideK + j * p.bStrideN];
          x += product;
          magnitude += std::abs(product);
        }
        int64_t at = c0 + i * p.cStrideM + j * p.cStrideN;
        int64_t bit = (batch * p.m + i) * bitLine + j;
        bool gated = false;
        for (uint32_t o = 0; o < p.numPostOps; ++o) {
          const sinter_post_op &op = p.postOps[o];
          const Operand &operand = operands_[op.slice];
          switch (op.kind) {
          case SINTER_POST_BIAS:
            x += operand.values[j];
            break;
          case SINTER_POST_ADD:
            x += operand.values[at];
            break;
          case SINTER_POST_SCALE:
            x *= op.alpha;
            magnitude *= std::abs(op.alpha);
            break;
          case SINTER_POST_RELU:
          case SINTER_POST_CLIP:
            x = std::max(x, 0.0);
            break;
          case SINTER_POST_GELU_TANH:
            x = 0.5 * x *
                (1 +
                 std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
            break;
          case SINTER_POST_STORE:
            expect(at, x, magnitude, operand, "stored");
            break;
          case SINTER_POST_RELU_BITS:
            if (std::abs(x) > 1e-3 * magnitude)
              REQUIRE((operand.bytes[bit / 8] >> bit % 8 & 1) == (x > 0));
            x = std::max(x, 0.0);
            break;
          case SINTER_POST_RELU_GRAD:
            if (!(operand.bytes[bit / 8] >> bit % 8 & 1))
              x = 0, gated = true;
            break;
          case SINTER_POST_GELU_TANH_GRAD:
            x *= geluTanhGrad(operand.values[at]);
            break;
          case SINTER_POST_BIAS_GRAD:
            sumOperand = &operand;
            sums[j] += x;
            sumMagnitudes[j] += gated ? 0 : magnitude;
            break;
          default:
            FAIL("no meaning here");
          }
        }
        expect(at, x, magnitude, operands_.back(), "result");
      }
  }
  if (sumOperand)
    for (int64_t j = 0; j < p.n; ++j)
      expect(j, sums[j], sumMagnitudes[j] * 4, *sumOperand, "bias gradient");
}

std::string OneProduct::refusal() {
  build();
  sinter_command command{};
  command.kind = SINTER_CMD_MATMUL;
  command.slices = slices_.data();
  command.params = &params;
  command.label = "node";
  command.numSlices = static_cast<uint32_t>(slices_.size());
  command.numReads = numReads_;
  rt::Status valid = rt::checkMatmul(command);
  INFO(valid.message());
  REQUIRE(valid.ok());
  auto library = sim::createSimLibrary();
  auto call = library->prepare(command, nullptr, 1);
  if (call.ok())
    return {};
  REQUIRE(call.status().code() == SINTER_UNSUPPORTED);
  return call.status().message();
}

std::string OneProduct::check() {
  CAPTURE(params.dtype, params.outDtype, params.m, params.n, params.k,
          params.batchRank, params.numPostOps);
  REQUIRE(refusal() == "");
  std::string text;
  {
    auto library = sim::createSimLibrary();
    sinter_command command{};
    command.kind = SINTER_CMD_MATMUL;
    command.slices = slices_.data();
    command.params = &params;
    command.label = "node";
    command.numSlices = static_cast<uint32_t>(slices_.size());
    command.numReads = numReads_;
    auto call = library->prepare(command, nullptr, 1);
    REQUIRE(call.ok());
    std::vector<rt::AlignedBlock> blocks;
    std::vector<void *> buffers;
    for (const Operand &operand : operands_) {
      auto block = rt::AlignedBlock::allocate(operand.bytes.size() + 256, "t");
      REQUIRE(block.ok());
      auto begin = reinterpret_cast<uintptr_t>(block->data());
      auto *aligned = reinterpret_cast<uint8_t *>((begin + 255) / 256 * 256);
      if (!operand.bytes.empty())
        std::memcpy(aligned, operand.bytes.data(), operand.bytes.size());
      buffers.push_back(aligned);
      blocks.push_back(std::move(*block));
    }
    auto scratch = rt::AlignedBlock::allocate((*call)->sharedBytes(), "t");
    rt::Scratch bound;
    bound.shared = scratch->data();
    REQUIRE((*call)->bind(bound, 1).ok());
    rt::Status ran = (*call)->run(buffers.data(), rt::CallContext());
    INFO(ran.message());
    REQUIRE(ran.ok());
    for (size_t i = 0; i < operands_.size(); ++i) {
      std::vector<uint8_t> &bytes = operands_[i].bytes;
      bool same = bytes.empty() ||
                  std::memcmp(bytes.data(), buffers[i], bytes.size()) == 0;
      if (i < numReads_)
        REQUIRE(same);
      if (!bytes.empty())
        std::memcpy(bytes.data(), buffers[i], bytes.size());
    }
    text = (*call)->description();
  }
  REQUIRE(sim::ltLiveObjects() == 0);
  compare();
  return text;
}
