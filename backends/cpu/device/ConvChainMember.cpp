//===- ConvChainMember.cpp - one convolution of a chain -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvChainMember.h"
#include "backends/cpu/device/ConvPlan.h"

#include <array>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

bool ChainMember::fits(bool isLast) const {
  const sinter_conv &p = params_;
  if (command_.conv.way == SINTER_BY_LOOPS || p.dtype != SINTER_F32 ||
      (p.outDtype && p.outDtype != SINTER_F32) || !isForwardImageConv(p) ||
      p.batch < 1 || p.channels < 1 || p.outputDims[0] < 1 ||
      p.outputDims[1] < 1 ||
      // Each window has a row of the input.
      p.padsLow[0] >= windowHeight() || p.padsHigh[0] >= windowHeight() ||
      command_.slices[1].space != SINTER_SPACE_CONSTANT)
    return false;
  // Others may be computed by another algorithm for a band than for an image,
  // with another order of sums.
  const bool isPointwise = p.kernel[0] == 1 && p.kernel[1] == 1,
             isDepthwise = p.groups == p.channels && p.groups == p.filters;
  if (!isDepthwise && !(isPointwise && p.groups == 1))
    return false;
  return std::ranges::all_of(
      std::span(p.postOps, p.numPostOps), [&](const sinter_post_op &op) {
        const sinter_post_op_traits *traits = sinter_post_op_row(op.kind);
        return traits->slice == SINTER_POST_SLICE_NONE ||
               (traits->slice == SINTER_POST_SLICE_READ &&
                (traits->extent == SINTER_POST_EXTENT_COLUMN ||
                 (traits->extent == SINTER_POST_EXTENT_RESULT && isLast)));
      });
}

bool ChainMember::isReadBy(const ChainMember &next) const {
  const sinter_conv &p = params_, &q = next.params_;
  return p.batch == q.batch && p.filters == q.channels &&
         std::equal(p.outputDims, p.outputDims + 2, q.inputDims);
}

Rows ChainMember::windowRows(Rows result) const {
  const int64_t begin = result.begin * params_.strides[0] - params_.padsLow[0];
  return {begin,
          begin + (result.count() - 1) * params_.strides[0] + windowHeight()};
}

Rows ChainMember::inputRows(Rows result) const {
  const Rows rows = windowRows(result);
  return {std::max<int64_t>(rows.begin, 0),
          std::min(rows.end, params_.inputDims[0])};
}

ChainMember::Key ChainMember::keyOf(Rows result) const {
  const Rows rows = windowRows(result);
  return {result.count(), std::max<int64_t>(0, -rows.begin),
          std::max<int64_t>(0, rows.end - params_.inputDims[0])};
}

Status ChainMember::preparePart(Rows result, const PrepareMember &prepare) {
  auto [at, isNew] = parts_.try_emplace(keyOf(result));
  if (!isNew)
    return {};
  Part &part = at->second;
  part.params = params_;
  part.params.batch = 1;
  part.params.inputDims[0] = inputRows(result).count();
  std::tie(part.params.outputDims[0], part.params.padsLow[0],
           part.params.padsHigh[0]) = at->first;
  part.command = command_;
  part.command.conv.params = &part.params;
  auto call = prepare(part.command);
  if (!call.ok())
    return call.status();
  part.call = std::move(*call);
  return {};
}

uint64_t ChainMember::partBytes() const {
  uint64_t bytes = 0;
  for (const auto &[key, part] : parts_)
    bytes = std::max(bytes, part.call->perWorkerBytes());
  return bytes;
}

bool ChainMember::isLocal() const {
  return std::ranges::all_of(parts_, [](const auto &each) {
    return each.second.call->sharedBytes() == 0;
  });
}

Status ChainMember::bind(const Scratch &scratch, int threads) {
  for (auto &[key, part] : parts_)
    SINTER_RETURN_IF_ERROR(part.call->bind(scratch, threads));
  return {};
}

std::string ChainMember::description() const {
  return parts_.begin()->second.call->description();
}

Status ChainMember::run(Rows result, int64_t image, const void *input, void *to,
                        void *const *buffers,
                        const CallContext &context) const {
  constexpr size_t mostSlices = 3 + SINTER_MAX_POST_OPS;
  std::array<void *, mostSlices> addresses;
  const uint32_t count = command_.numSlices;
  std::copy_n(buffers, count, addresses.begin());
  addresses[0] = const_cast<void *>(input);
  addresses[count - 1] = to;
  const int64_t offset =
      (image * resultRows() + result.begin) * resultRowBytes_;
  for (uint32_t i = 0; i < params_.numPostOps; ++i)
    if (const sinter_post_op &op = params_.postOps[i];
        sinter_post_op_row(op.kind)->extent == SINTER_POST_EXTENT_RESULT)
      addresses[op.slice] = static_cast<uint8_t *>(buffers[op.slice]) + offset;
  return parts_.at(keyOf(result)).call->run(addresses.data(), context);
}
