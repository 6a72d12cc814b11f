//===- LtEpilogue.h - what cuBLASLt's epilogues compute ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The epilogues as functions of one element, for products whose epilogue
// cuBLASLt does not have. Kernels of ours call them on a GPU
// (backends/cuda/device/EpilogueKernel.cpp), loops on the simulated device. So
// this file includes nothing of the standard library beyond what a compiler
// brings. `Machine` has the conversions and exp2 of the machine that computes:
//   static float exp2(float x);          // relative error at most 2^-22
//   static float fromHalf(uint16_t), fromBfloat(uint16_t);
//   static uint16_t toHalf(float), toBfloat(float);    // to nearest even
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTEPILOGUE_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTEPILOGUE_H

#include "backends/cuda/library/LtApi.h"
#include "runtime/base/GeluForms.h"

namespace sinter::cuda {

/// D = epilogue(product + beta C) for column-major matrices, in float32 with
/// one rounding at the end. Counts and strides are in elements.
struct LtEpilogueArgs {
  int64_t m, n, batch;
  /// May be D, if D is float32. Otherwise beside D; results are then also
  /// stored there, unrounded, if `keepsResults`.
  float *product;
  int64_t productLd, productStride;
  /// C, D, the bias and an auxiliary matrix that does not hold bits have `type`
  /// (lt::DataType). C has D's strides; null: nothing is added.
  const void *c;
  void *d;
  int64_t ld, stride;
  const void *bias; // the epilogue's operand; null for a bias gradient
  int64_t biasStride;
  void *aux;
  int64_t auxLd, auxStride; // bits, if the epilogue has them
  float beta;
  int32_t type;
  uint32_t epilogue; // lt::Epilogue
  int32_t keepsResults;
};

/// Sums of lines: `to[i]` = the sum of values[i * lineStride + j * termStride]
/// over j, as a fixed tree of float32.
struct LtSumArgs {
  int64_t lines, terms;
  const void *values;
  int64_t lineStride, termStride;
  /// Where the sum so far is kept if it is made in several pieces; null: this
  /// is all.
  float *running;
  void *to;             // null: this is not the last piece
  int32_t type, toType; // lt::DataType
  int32_t isFirst;
};

/// The number of partial sums of a line: number p adds terms p, p + 16, ...
inline constexpr int ltSumLanes = 16;

/// Bits of an lt::Epilogue.
inline constexpr uint32_t ltReluGradBit = 8, ltBiasGradBit = 16,
                          ltGeluGradBit = 64, ltAuxBit = 128;

template <class Machine>
inline float loadElement(const void *from, int32_t type, int64_t index) {
  if (type == lt::f32)
    return static_cast<const float *>(from)[index];
  uint16_t bits = static_cast<const uint16_t *>(from)[index];
  return type == lt::f16 ? Machine::fromHalf(bits) : Machine::fromBfloat(bits);
}

template <class Machine>
inline void storeElement(void *to, int32_t type, int64_t index, float value) {
  if (type == lt::f32)
    static_cast<float *>(to)[index] = value;
  else
    static_cast<uint16_t *>(to)[index] =
        type == lt::f16 ? Machine::toHalf(value) : Machine::toBfloat(value);
}

/// tanh with an absolute error of at most 2e-7. Near 0, a minimax polynomial in
/// x^2 (Remez); elsewhere 1 - 2 / (1 + e^2x), whose error grows near 0.
template <class Machine> inline float tanhByExp2(float x) {
  float magnitude = __builtin_fabsf(x);
  if (magnitude < 0.6f) {
    float square = x * x;
    float tail = 0.0156404823f * square - 0.0522311069f;
    tail = tail * square + 0.133135214f;
    tail = tail * square - 0.33332622f;
    return x * (1.0f + square * tail);
  }
  constexpr float twoLog2e = 2.88539008f;
  float rest = 2.0f / (1.0f + Machine::exp2(magnitude * twoLog2e));
  return __builtin_copysignf(1.0f - rest, x);
}

/// A relu that keeps NaN.
inline float reluOf(float value) { return value <= 0.0f ? 0.0f : value; }

/// Element (i, j) of D in product `b` of the batch. Returns whether the operand
/// of a relu is positive, for storeMask().
template <class Machine>
inline bool applyEpilogue(const LtEpilogueArgs &args, int64_t i, int64_t j,
                          int64_t b) {
  int64_t at = i + j * args.ld + b * args.stride,
          productAt = i + j * args.productLd + b * args.productStride;
  float value = args.product[productAt];
  if (args.c)
    value += args.beta * loadElement<Machine>(args.c, args.type, at);
  if (args.bias)
    value +=
        loadElement<Machine>(args.bias, args.type, i + b * args.biasStride);
  const int64_t auxAt = i + j * args.auxLd + b * args.auxStride;
  const bool isPositive = value > 0.0f;
  if (args.epilogue & lt::epilogueRelu) {
    value = reluOf(value);
  } else if (args.epilogue & lt::epilogueGelu) {
    if (args.aux)
      storeElement<Machine>(args.aux, args.type, auxAt, value);
    value = rt::gelu::tanhFormOf(
        value, tanhByExp2<Machine>(rt::gelu::tanhArgument(value)));
  } else if (args.epilogue & ltReluGradBit) {
    auto *bytes = static_cast<const uint8_t *>(args.aux);
    if (!(bytes[auxAt / 8] >> (auxAt % 8) & 1))
      value = 0.0f;
  } else if (args.epilogue & ltGeluGradBit) {
    float x = loadElement<Machine>(args.aux, args.type, auxAt);
    value *= rt::gelu::tanhFormDerivativeOf(
        x, tanhByExp2<Machine>(rt::gelu::tanhArgument(x)));
  }
  storeElement<Machine>(args.d, args.type, at, value);
  if (args.keepsResults && args.product != args.d)
    args.product[productAt] = value;
  return isPositive;
}

/// Whether the caller must store what applyEpilogue() returns.
inline bool storesMask(const LtEpilogueArgs &args) {
  return (args.epilogue & lt::epilogueRelu) && args.aux;
}

/// Stores the bits of rows [i, i + 8); i is a multiple of 8. Bits beyond the
/// last row keep their values.
inline void storeMask(const LtEpilogueArgs &args, int64_t i, int64_t j,
                      int64_t b, unsigned bits) {
  uint8_t *byte = static_cast<uint8_t *>(args.aux) +
                  (i + j * args.auxLd + b * args.auxStride) / 8;
  unsigned kept =
      args.m - i >= 8 ? 0 : *byte & (0xffu << static_cast<int>(args.m - i));
  *byte = static_cast<uint8_t>(kept | (bits & 0xffu));
}

/// Partial sum `lane` of a line.
template <class Machine>
inline float partialSum(const LtSumArgs &args, int64_t line, int lane) {
  float sum = 0.0f;
  for (int64_t j = lane; j < args.terms; j += ltSumLanes)
    sum += loadElement<Machine>(args.values, args.type,
                                line * args.lineStride + j * args.termStride);
  return sum;
}

/// Adds the partial sums of a line in order, and stores the result.
template <class Machine>
inline void finishSum(const LtSumArgs &args, int64_t line,
                      const float *partials, int partialStride) {
  float sum = args.isFirst ? 0.0f : args.running[line];
  for (int lane = 0; lane < ltSumLanes; ++lane)
    sum += partials[lane * partialStride];
  if (args.to)
    storeElement<Machine>(args.to, args.toType, line, sum);
  else
    args.running[line] = sum;
}

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTEPILOGUE_H
