//===- CollectiveArrays.h - arrays of replicas, for tests -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Random arrays of all replicas, and what a collective should make of them.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_COLLECTIVEARRAYS_H
#define SINTER_TEST_RUNTIME_COLLECTIVEARRAYS_H

#include "backends/common/device/ReplicaSum.h"
#include "runtime/collective/Communicator.h"
#include "runtime/data/ElementType.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace sinter::test {

inline constexpr uint32_t collectiveOps[] = {
    SINTER_ALL_REDUCE, SINTER_REDUCE_SCATTER, SINTER_ALL_GATHER};

class CollectiveArrays {
public:
  /// `elements` are those of a replica's part, if replicas have parts.
  CollectiveArrays(uint32_t op, uint32_t dtype, uint32_t replicas,
                   std::vector<uint64_t> elements)
      : op_(op), dtype_(dtype), elements_(std::move(elements)), from_(replicas),
        to_(replicas), buffers_(replicas) {
    if (op != SINTER_ALL_REDUCE)
      for (uint64_t &count : elements_)
        count *= replicas;
    std::mt19937 random(replicas * 100 + op);
    for (uint32_t r = 0; r < replicas; ++r) {
      for (size_t i = 0; i < elements_.size(); ++i) {
        from_[r].push_back(
            randomArray(random, what().readElements(i, replicas)));
        to_[r].push_back(
            emptyArray(what().writtenElements(i, replicas) * bytes()));
      }
      for (auto *side : {&from_, &to_})
        for (Array &array : (*side)[r])
          buffers_[r].push_back(array.data());
    }
    expected_ = to_;
    for (size_t i = 0; i < elements_.size(); ++i)
      expect(i);
  }

  CollectiveArrays(CollectiveArrays &&) = default;

  rt::Collective what() const { return {op_, dtype_, elements_}; }
  /// As Communicator::run has them.
  void *const *buffers(uint32_t replica) const {
    return buffers_[replica].data();
  }
  /// Sums in place.
  void useOneSide() {
    for (auto &buffers : buffers_)
      for (size_t i = 0; i < elements_.size(); ++i) {
        auto *to = static_cast<uint8_t *>(buffers[elements_.size() + i]);
        std::copy_n(static_cast<const uint8_t *>(buffers[i]),
                    elements_[i] * bytes(), to);
        buffers[i] = to;
      }
  }
  /// Whether all replicas have got the expected bits, and nothing else was
  /// written.
  bool areDone() const { return to_ == expected_; }

private:
  using Array = std::vector<uint8_t>;
  using Arrays = std::vector<std::vector<Array>>; // by replica, then by number

  uint64_t bytes() const { return rt::elementBytes(dtype_); }

  /// Memory behind it tells of writes beyond the end.
  static Array emptyArray(uint64_t bytes) { return Array(bytes + 16, 0xa5); }

  Array randomArray(std::mt19937 &random, uint64_t count) const {
    std::normal_distribution<float> normal(0, 100);
    Array array(count * bytes());
    auto fill = [&](auto value) {
      for (uint64_t i = 0; i < count; ++i) {
        rt::fromFloat(std::ldexp(normal(random), int(random() % 20) - 10),
                      value);
        std::memcpy(array.data() + i * bytes(), &value, bytes());
      }
    };
    switch (dtype_) {
    case SINTER_F32:
      fill(float());
      break;
    case SINTER_F16:
      fill(rt::Half());
      break;
    case SINTER_BF16:
      fill(rt::Bfloat());
      break;
    default:
      for (uint8_t &byte : array)
        byte = static_cast<uint8_t>(random());
    }
    return array;
  }

  void expect(size_t i) {
    const auto replicas = static_cast<uint32_t>(from_.size());
    Array whole;
    if (op_ == SINTER_ALL_GATHER) {
      for (const auto &arrays : from_)
        whole.insert(whole.end(), arrays[i].begin(), arrays[i].end());
    } else {
      whole.resize(elements_[i] * bytes());
      std::vector<const void *> sources;
      for (const auto &arrays : from_)
        sources.push_back(arrays[i].data());
      plain::sumReplicas(dtype_, sources, {whole.data()}, 0, elements_[i]);
    }
    const uint64_t written = what().writtenElements(i, replicas) * bytes();
    for (uint32_t r = 0; r < replicas; ++r) {
      const auto begin =
          whole.begin() +
          static_cast<int64_t>(op_ == SINTER_REDUCE_SCATTER ? r * written : 0);
      std::copy_n(begin, written, expected_[r][i].begin());
    }
  }

  uint32_t op_, dtype_;
  std::vector<uint64_t> elements_;
  Arrays from_, to_, expected_;
  std::vector<std::vector<void *>> buffers_;
};

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_COLLECTIVEARRAYS_H
