//===- SimDnnGraph.h - an operation graph of cuDNN --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMDNNGRAPH_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMDNNGRAPH_H

#include "backends/cuda/library/DnnApi.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sinter::sim {

/// A descriptor: the values that were set, by attribute.
struct DnnObject {
  struct Value {
    int type = 0;
    int64_t count = 0;
    std::vector<uint8_t> bytes;
    std::vector<std::shared_ptr<DnnObject>> objects; // for descriptors
  };
  int type = 0;
  bool finalized = false;
  std::map<int, Value> values;
  uint32_t engine = 0; // for a configuration from the heuristics

  bool has(int attribute) const { return values.count(attribute) > 0; }
  template <typename T> T one(int attribute, T fallback) const;
  template <typename T> std::vector<T> list(int attribute) const;
  const DnnObject *object(int attribute) const {
    auto found = values.find(attribute);
    return found == values.end() ? nullptr : found->second.objects[0].get();
  }
};

struct SimTensor {
  int64_t id = 0;
  int32_t type = 0;
  std::vector<int64_t> dims, strides;
  int64_t alignment = 16;
  bool isVirtual = false, isByValue = false;

  int64_t elements() const;
  uint64_t elementBytes() const;
  /// The number of bytes from the first through the last.
  uint64_t extentBytes() const;
  /// The ranges [begin, end) of bytes of a tensor at `address`, ascending,
  /// without the gaps between its rows.
  std::vector<std::pair<uintptr_t, uintptr_t>> runsAt(uintptr_t address) const;
  bool operator==(const SimTensor &) const = default;
};

/// Reads a finalized tensor descriptor.
SimTensor readTensor(const DnnObject &object);

struct SimOperation {
  int kind = 0; // dnn::DescriptorType of the operation
  int32_t mode = 0, computeType = 0;
  std::vector<int64_t> inputs;     // ids of tensors
  int64_t output = 0, squares = 0; // `squares`: only for statistics
  std::vector<int64_t> strides, dilations, prePads, postPads;
  double lower = 0, upper = 0, swishBeta = 1;
  bool hasUpper = false, propagatesNan = false;
  int64_t axis = 0;

  std::vector<int64_t> results() const {
    return squares ? std::vector{output, squares} : std::vector{output};
  }
};

struct SimDnnGraph {
  std::map<int64_t, SimTensor> tensors;
  std::vector<SimOperation> operations; // sorted: operands before their users

  /// Empty, or the violated rule. `graph` is an operation graph.
  std::string read(const DnnObject &graph);
  /// The engines' name for the graph: "CONV_FORWARD", "CONV_ADD_BIAS_ACT",
  /// "SCALE_BIAS_ADD_RELU_CONV_STATS", "SDPA_FWD"; empty: no engine computes
  /// it.
  std::string pattern() const;

  /// Empty, or the rule that the tensors' addresses violate.
  std::string checkAddresses(const std::map<int64_t, void *> &addresses) const;
  /// `roundsOperands`: convolutions round fp32 operands to tf32.
  /// `isUnordered`: sums have other last bits in each call.
  void compute(const std::map<int64_t, void *> &addresses, bool roundsOperands,
               bool isUnordered) const;

private:
  std::string addTensor(const DnnObject *object, int64_t &id);
  std::string addOperation(const DnnObject &object);
  std::string sort();
  bool isConvolution(const SimOperation &operation) const;
  bool isChannelsLast(int64_t id) const;
};

/// Checks one descriptor at its finalization: empty, or the violated rule.
std::string checkObject(const DnnObject &object);

template <typename T> T DnnObject::one(int attribute, T fallback) const {
  auto found = values.find(attribute);
  if (found != values.end() && found->second.bytes.size() >= sizeof(T))
    __builtin_memcpy(&fallback, found->second.bytes.data(), sizeof(T));
  return fallback;
}

template <typename T> std::vector<T> DnnObject::list(int attribute) const {
  auto found = values.find(attribute);
  if (found == values.end())
    return {};
  std::vector<T> result(found->second.bytes.size() / sizeof(T));
  for (size_t i = 0; i < result.size(); ++i)
    __builtin_memcpy(&result[i], &found->second.bytes[i * sizeof(T)],
                     sizeof(T));
  return result;
}

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMDNNGRAPH_H
