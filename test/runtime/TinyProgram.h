//===- TinyProgram.h - a training program written by hand -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Softmax regression with momentum on rows x[1, 4] and labels in [0, 3),
// batch 8. Its step also adds noise made from the seed and the step, so that a
// resumed run with a wrong counter shows. Two kernels, each one tile.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_TINYPROGRAM_H
#define SINTER_TEST_RUNTIME_TINYPROGRAM_H

#include "sinter/abi.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tiny {

constexpr int64_t batch = 8, features = 4, classes = 3;

inline void logits(const float *x, const float *w, const float *b, float *out) {
  for (int c = 0; c < classes; ++c) {
    out[c] = b[c];
    for (int f = 0; f < features; ++f)
      out[c] += w[c * features + f] * x[f];
  }
}

/// Turns logits into probabilities; returns -log of the label's probability.
inline float softmaxLoss(float *z, int64_t label) {
  float top = z[0], sum = 0;
  for (int c = 1; c < classes; ++c)
    top = std::fmax(top, z[c]);
  float atLabel = z[label];
  for (int c = 0; c < classes; ++c)
    sum += z[c] = std::exp(z[c] - top);
  for (int c = 0; c < classes; ++c)
    z[c] /= sum;
  return std::log(sum) + top - atLabel;
}

/// Reads: x, labels, control, w, b, mw, mb. Writes: w, b, mw, mb, loss.
inline void stepKernel(void *const *buffers, int64_t, int64_t) {
  const float *x = static_cast<const float *>(buffers[0]);
  const int64_t *labels = static_cast<const int64_t *>(buffers[1]);
  sinter_control control;
  std::memcpy(&control, buffers[2], sizeof(control));
  float *w = static_cast<float *>(buffers[7]);
  float *b = static_cast<float *>(buffers[8]);
  float *mw = static_cast<float *>(buffers[9]);
  float *mb = static_cast<float *>(buffers[10]);
  float gradW[classes * features] = {}, gradB[classes] = {}, loss = 0;
  for (int64_t row = 0; row < batch; ++row) {
    float z[classes];
    logits(x + row * features, w, b, z);
    loss += softmaxLoss(z, labels[row]);
    for (int c = 0; c < classes; ++c) {
      float delta = (z[c] - (c == labels[row] ? 1 : 0)) / batch;
      gradB[c] += delta;
      for (int f = 0; f < features; ++f)
        gradW[c * features + f] += delta * x[row * features + f];
    }
  }
  uint64_t noise = static_cast<uint64_t>(control.seed * 1000003 + control.step);
  auto update = [&](float *value, float *momentum, const float *grad, int n) {
    for (int i = 0; i < n; ++i) {
      noise = noise * 6364136223846793005ull + 1442695040888963407ull;
      float random = static_cast<float>(noise >> 40) / (1 << 24) - 0.5f;
      momentum[i] = 0.9f * momentum[i] + grad[i] + 1e-3f * random +
                    control.weightDecay * value[i];
      value[i] -= control.lr * momentum[i];
    }
  };
  update(w, mw, gradW, classes * features);
  update(b, mb, gradB, classes);
  *static_cast<float *>(buffers[11]) = loss / batch;
}

/// Reads: x, labels, control, w, b. Writes the four sums.
inline void evalKernel(void *const *buffers, int64_t, int64_t) {
  const float *x = static_cast<const float *>(buffers[0]);
  const int64_t *labels = static_cast<const int64_t *>(buffers[1]);
  sinter_control control;
  std::memcpy(&control, buffers[2], sizeof(control));
  const float *w = static_cast<const float *>(buffers[3]);
  const float *b = static_cast<const float *>(buffers[4]);
  float sums[4] = {};
  for (int64_t row = 0; row < batch && row < control.validRows; ++row) {
    float z[classes];
    logits(x + row * features, w, b, z);
    sums[0] += softmaxLoss(z, labels[row]);
    sums[1] += 1;
    int best = 0;
    for (int c = 1; c < classes; ++c)
      best = z[c] > z[best] ? c : best;
    sums[2] += best == labels[row];
    sums[3] += 1;
  }
  for (int i = 0; i < 4; ++i)
    std::memcpy(buffers[5 + i], &sums[i], sizeof(float));
}

/// The artifact; constant, and the same object in every call.
inline const sinter_artifact &artifact() {
  static const int64_t xDims[] = {batch, 1, features}, labelDims[] = {batch};
  static const int64_t wDims[] = {classes, features}, bDims[] = {classes};
  static const sinter_tensor_desc inputs[] = {
      {"x", xDims, batch * features * 4, SINTER_F32, 3},
      {"labels", labelDims, batch * 8, SINTER_I64, 1}};
  static const sinter_tensor_desc stepOutputs[] = {
      {"loss", nullptr, 4, SINTER_F32, 0}};
  static const sinter_tensor_desc evalOutputs[] = {
      {"loss_sum", nullptr, 4, SINTER_F32, 0},
      {"loss_count", nullptr, 4, SINTER_F32, 0},
      {"correct", nullptr, 4, SINTER_F32, 0},
      {"correct_count", nullptr, 4, SINTER_F32, 0}};
  constexpr uint64_t wBytes = classes * features * 4, bBytes = classes * 4;
  static const sinter_state_desc states[] = {
      {{"fc.weight", wDims, wBytes, SINTER_F32, 2},
       SINTER_STATE_PARAM,
       1,
       nullptr,
       SINTER_NONE,
       0,
       0,
       0,
       0},
      {{"fc.bias", bDims, bBytes, SINTER_F32, 1},
       SINTER_STATE_PARAM,
       1,
       nullptr,
       SINTER_NONE,
       0,
       0,
       64,
       UINT64_MAX},
      {{"fc.weight.momentum", wDims, wBytes, SINTER_F32, 2},
       SINTER_STATE_SLOT,
       0,
       "momentum",
       0,
       0,
       0,
       128,
       UINT64_MAX},
      {{"fc.bias.momentum", bDims, bBytes, SINTER_F32, 1},
       SINTER_STATE_SLOT,
       0,
       "momentum",
       1,
       0,
       0,
       192,
       UINT64_MAX}};
  static const sinter_slice stepSlices[] = {
      {SINTER_SPACE_INPUT, 0, 0, batch * features * 4},
      {SINTER_SPACE_INPUT, 1, 0, batch * 8},
      {SINTER_SPACE_CONTROL, 0, 0, sizeof(sinter_control)},
      {SINTER_SPACE_STATE, 0, 0, wBytes},
      {SINTER_SPACE_STATE, 1, 0, bBytes},
      {SINTER_SPACE_STATE, 2, 0, wBytes},
      {SINTER_SPACE_STATE, 3, 0, bBytes},
      {SINTER_SPACE_STATE, 0, 0, wBytes},
      {SINTER_SPACE_STATE, 1, 0, bBytes},
      {SINTER_SPACE_STATE, 2, 0, wBytes},
      {SINTER_SPACE_STATE, 3, 0, bBytes},
      {SINTER_SPACE_OUTPUT, 0, 0, 4}};
  static const sinter_slice evalSlices[] = {
      {SINTER_SPACE_INPUT, 0, 0, batch * features * 4},
      {SINTER_SPACE_INPUT, 1, 0, batch * 8},
      {SINTER_SPACE_CONTROL, 0, 0, sizeof(sinter_control)},
      {SINTER_SPACE_STATE, 0, 0, wBytes},
      {SINTER_SPACE_STATE, 1, 0, bBytes},
      {SINTER_SPACE_OUTPUT, 0, 0, 4},
      {SINTER_SPACE_OUTPUT, 1, 0, 4},
      {SINTER_SPACE_OUTPUT, 2, 0, 4},
      {SINTER_SPACE_OUTPUT, 3, 0, 4}};
  static const sinter_command step = {
      SINTER_CMD_LAUNCH,  0,          0, 12, 7, 0, stepSlices,
      "fc, loss, update", {{1, 0, 0}}};
  static const sinter_command eval = {
      SINTER_CMD_LAUNCH, 0, 0, 9, 5, 0, evalSlices, "fc, loss", {{1, 1, 0}}};
  static const sinter_entry entries[] = {
      {"step", inputs, stepOutputs, &step, 2, 1, 1, 0, 0, 0, 0},
      {"eval", inputs, evalOutputs, &eval, 2, 4, 1, 0, 0, 0, 0}};
  static const sinter_kernel_desc kernels[] = {
      {"tiny_step", stepKernel, nullptr, {}, {}, 0, 12},
      {"tiny_eval", evalKernel, nullptr, {}, {}, 0, 9}};
  static const sinter_training training = {
      "sgd", "cross-entropy", 0.1f, 0, 0, 0, batch, classes, 0, 0, 0};
  alignas(64) static const float initial[classes * features] = {
      0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f,
      0.7f, -0.8f, 0.9f, 0.1f, -0.1f, 0.2f};
  static const uint8_t open[] = {'O', 'N', 'N', 'X', '<'}, close[] = {'>'};
  static const sinter_export_piece pieces[] = {{open, 5, 0, 0},
                                               {nullptr, wBytes, 0, 0},
                                               {nullptr, bBytes, 1, 0},
                                               {close, 1, 0, 0}};
  static const sinter_artifact artifact = {
      SINTER_ABI_MAGIC,
      SINTER_ABI_MAJOR,
      SINTER_ABI_MINOR,
      sizeof(sinter_artifact),
      sizeof(sinter_command),
      sizeof(sinter_state_desc),
      "tiny",
      "0123456789abcdef",
      "cpu",
      "{\"options\":{\"loss\":\"cross-entropy\"}}",
      "",
      states,
      entries,
      kernels,
      nullptr,
      pieces,
      &training,
      reinterpret_cast<const uint8_t *>(initial),
      sizeof(initial),
      256,
      4,
      2,
      2,
      4,
      0,
      0};
  return artifact;
}

/// The same for a GPU; a stand-in computes the kernels.
inline const sinter_artifact &cudaArtifact() {
  static const char ptx[] =
      ".version 7.0\n"
      ".entry tiny_step(.param .u64 a, .param .u64 b, .param .u64 c, .param "
      ".u64 d, .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h, "
      ".param .u64 i, .param .u64 j, .param .u64 k, .param .u64 l)\n"
      ".entry tiny_eval(.param .u64 a, .param .u64 b, .param .u64 c, .param "
      ".u64 d, .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h, "
      ".param .u64 i)\n";
  static const sinter_image image = {SINTER_IMAGE_PTX, 80,
                                     reinterpret_cast<const uint8_t *>(ptx),
                                     sizeof(ptx)};
  static const sinter_kernel_desc kernels[] = {
      {"tiny_step", nullptr, nullptr, {1, 1, 1}, {32, 1, 1}, 0, 12},
      {"tiny_eval", nullptr, nullptr, {1, 1, 1}, {32, 1, 1}, 0, 9}};
  static const sinter_artifact gpu = [] {
    sinter_artifact copy = artifact();
    copy.target = "cuda";
    copy.kernels = kernels;
    copy.images = &image;
    copy.numImages = 1;
    return copy;
  }();
  return gpu;
}

} // namespace tiny

#endif // SINTER_TEST_RUNTIME_TINYPROGRAM_H
