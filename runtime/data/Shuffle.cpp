//===- Shuffle.cpp - the order of rows by seed and epoch ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Shuffle.h"

#include <algorithm>
#include <bit>

using namespace sinter::rt;

namespace {
/// The finaliser of SplitMix64: each input bit changes each output bit with
/// probability close to a half.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
} // namespace

Permutation::Permutation(uint64_t seed, int64_t epoch, int64_t size)
    : size_(static_cast<uint64_t>(size)) {
  uint32_t bits = size_ > 1 ? std::bit_width(size_ - 1) : 1;
  leftBits_ = bits / 2;
  rightBits_ = bits - leftBits_;
  uint64_t key = mix(mix(seed) ^ static_cast<uint64_t>(epoch));
  for (uint64_t &roundKey : keys_)
    roundKey = key = mix(key);
}

int64_t Permutation::operator()(int64_t index) const {
  if (size_ <= 1)
    return 0;
  uint64_t value = static_cast<uint64_t>(index);
  do {
    // The halves may differ by one bit, so they swap widths in every round; the
    // number of rounds is even and the widths end as they began.
    uint32_t leftBits = leftBits_, rightBits = rightBits_;
    uint64_t left = value >> rightBits;
    uint64_t right = value & ((uint64_t(1) << rightBits) - 1);
    for (uint64_t key : keys_) {
      uint64_t next =
          (left ^ mix(key ^ right)) & ((uint64_t(1) << leftBits) - 1);
      left = right;
      right = next;
      uint32_t bits = leftBits;
      leftBits = rightBits;
      rightBits = bits;
    }
    value = left << rightBits | right;
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

int64_t RowOrder::firstOf(int64_t number) const {
  return number / microBatches % batchesPerEpoch() * batch +
         (part * microBatches + number % microBatches) * partRows();
}

int64_t RowOrder::validRows(int64_t number) const {
  return std::clamp<int64_t>(rows - firstOf(number), 0, partRows());
}

void RowOrder::rowsOf(int64_t number, int64_t *out) const {
  int64_t epoch = number / microBatches / batchesPerEpoch();
  const int64_t count = partRows(), first = firstOf(number);
  Permutation permutation(seed, epoch, rows);
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = std::min(first + i, rows - 1);
    out[i] = shuffle ? permutation(position) : position;
  }
}
