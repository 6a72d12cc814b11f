//===- WarpCall.cpp - what the threads of a warp do together --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/WarpCall.h"

#include <algorithm>
#include <bit>

namespace sinter::sim {
namespace {

// shfl.sync as defined in the PTX manual: `clamp` holds the segment's mask in
// bits 8 to 12 and the bound in bits 0 to 4. A lane whose source is out of
// range keeps its own value.
int shuffle(WarpCall *const *lanes, uint32_t mask) {
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    WarpCall &call = *lanes[lane];
    int offset = int(call.lane & 31), bound = int(call.clamp & 31);
    int segment = int(call.clamp >> 8 & 31);
    int low = lane & segment, high = low | (bound & ~segment);
    int source = lane;
    bool isInRange = false;
    switch (call.mode) {
    case SINTER_SIM_SHUFFLE_UP:
      source = lane - offset;
      isInRange = source >= high;
      break;
    case SINTER_SIM_SHUFFLE_DOWN:
      source = lane + offset;
      isInRange = source <= high;
      break;
    case SINTER_SIM_SHUFFLE_BFLY:
      source = lane ^ offset;
      isInRange = source <= high;
      break;
    default:
      source = low | (offset & ~segment);
      isInRange = source <= high;
      break;
    }
    if (!isInRange)
      source = lane;
    if (!(mask >> source & 1))
      return lane;
    call.result = (lanes[source]->value & 0xffffffffu) |
                  (isInRange ? uint64_t(1) << 32 : 0);
  }
  return -1;
}

void vote(WarpCall *const *lanes, uint32_t mask) {
  uint32_t ballot = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1) && lanes[lane]->value)
      ballot |= 1u << lane;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    WarpCall &call = *lanes[lane];
    switch (call.mode) {
    case SINTER_SIM_ALL:
      call.result = ballot == mask;
      break;
    case SINTER_SIM_ANY:
      call.result = ballot != 0;
      break;
    case SINTER_SIM_UNIFORM:
      call.result = ballot == 0 || ballot == mask;
      break;
    default:
      call.result = ballot;
      break;
    }
  }
}

uint32_t combine(uint32_t op, uint32_t a, uint32_t b) {
  switch (op) {
  case SINTER_SIM_ADD:
    return a + b;
  case SINTER_SIM_MIN:
    return uint32_t(std::min(int32_t(a), int32_t(b)));
  case SINTER_SIM_MAX:
    return uint32_t(std::max(int32_t(a), int32_t(b)));
  case SINTER_SIM_UMIN:
    return std::min(a, b);
  case SINTER_SIM_UMAX:
    return std::max(a, b);
  case SINTER_SIM_AND:
    return a & b;
  case SINTER_SIM_OR:
    return a | b;
  default:
    return a ^ b;
  }
}

void reduce(WarpCall *const *lanes, uint32_t mask) {
  int first = std::countr_zero(mask);
  auto result = uint32_t(lanes[first]->value);
  for (int lane = first + 1; lane < 32; ++lane)
    if (mask >> lane & 1)
      result = combine(lanes[lane]->mode, result, uint32_t(lanes[lane]->value));
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      lanes[lane]->result = result;
}

void match(WarpCall *const *lanes, uint32_t mask) {
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint32_t equal = 0;
    for (int other = 0; other < 32; ++other)
      if ((mask >> other & 1) && lanes[other]->value == lanes[lane]->value)
        equal |= 1u << other;
    bool isAll = lanes[lane]->mode == SINTER_SIM_ALL;
    lanes[lane]->result = !isAll          ? equal
                          : equal == mask ? equal | uint64_t(1) << 32
                                          : 0;
  }
}

} // namespace

int computeWarp(WarpCall *const *lanes, uint32_t mask) {
  switch (lanes[std::countr_zero(mask)]->kind) {
  case WarpCall::Sync:
    return -1;
  case WarpCall::Shuffle:
    return shuffle(lanes, mask);
  case WarpCall::Vote:
    vote(lanes, mask);
    return -1;
  case WarpCall::Reduce:
    reduce(lanes, mask);
    return -1;
  case WarpCall::Match:
    match(lanes, mask);
    return -1;
  case WarpCall::LoadMatrix:
    computeLoadMatrix(lanes);
    return -1;
  case WarpCall::Mma:
    computeMma(lanes);
    return -1;
  }
  return -1;
}

} // namespace sinter::sim
