//===- DividedStates.cpp - states that replicas divide --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/DividedStates.h"

#include "runtime/base/Float16.h"
#include "runtime/exec/ArtifactPlaces.h"

#include <algorithm>
#include <cstring>

using namespace sinter::rt;

std::vector<uint8_t> sinter::rt::partOf(const sinter_state_desc &state,
                                        std::span<const uint8_t> whole,
                                        uint64_t replica) {
  std::vector<uint8_t> part(state.partBytes, 0);
  const uint64_t begin =
                     std::min<uint64_t>(whole.size(), replica * part.size()),
                 end = std::min<uint64_t>(whole.size(), begin + part.size());
  std::copy(whole.begin() + static_cast<std::ptrdiff_t>(begin),
            whole.begin() + static_cast<std::ptrdiff_t>(end), part.begin());
  return part;
}

bool sinter::rt::isRoundedOfDivided(const sinter_artifact &artifact,
                                    uint32_t index) {
  const sinter_state_desc &state = artifact.states[index];
  return isRounded(state) && artifact.states[state.of].partBytes;
}

bool sinter::rt::isRefreshed(const sinter_artifact &artifact, uint32_t index) {
  return isRounded(artifact.states[index]) &&
         !isRoundedOfDivided(artifact, index);
}

template <typename Narrow>
static void roundAll(std::span<const uint8_t> whole, uint8_t *to) {
  for (size_t i = 0; i < whole.size() / sizeof(float); ++i) {
    float value = 0;
    std::memcpy(&value, whole.data() + i * sizeof(value), sizeof(value));
    Narrow narrow;
    fromFloat(value, narrow);
    std::memcpy(to + i * sizeof(narrow), &narrow, sizeof(narrow));
  }
}

std::vector<uint8_t> sinter::rt::roundedBytes(const sinter_state_desc &state,
                                              std::span<const uint8_t> whole) {
  // It may have more rows than the parameter.
  std::vector<uint8_t> bytes(state.tensor.sizeBytes, 0);
  whole = whole.first(
      std::min(whole.size(), bytes.size() / sizeof(Half) * sizeof(float)));
  if (state.tensor.dtype == SINTER_F16)
    roundAll<Half>(whole, bytes.data());
  else
    roundAll<Bfloat>(whole, bytes.data());
  return bytes;
}
