//===- ConvChainMember.h - one convolution of a chain -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CONVCHAINMEMBER_H
#define SINTER_BACKENDS_CPU_DEVICE_CONVCHAINMEMBER_H

#include "backends/cpu/device/ConvChain.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace sinter::cpu {

/// Rows of an image.
struct Rows {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
  bool isEmpty() const { return begin >= end; }
};

/// One convolution of a chain.
class ChainMember {
  static constexpr int64_t floatBytes = 4;

public:
  explicit ChainMember(const sinter_command &command)
      : command_(command), params_(*command.conv.params),
        inputRowBytes_(floatBytes * params_.inputDims[1] * params_.channels),
        resultRowBytes_(floatBytes * params_.outputDims[1] * params_.filters) {}

  const sinter_conv &params() const { return params_; }
  const sinter_command &command() const { return command_; }
  int64_t inputRowBytes() const { return inputRowBytes_; }
  int64_t resultRowBytes() const { return resultRowBytes_; }
  int64_t resultRows() const { return params_.outputDims[0]; }
  int64_t windowHeight() const {
    return (params_.kernel[0] - 1) * params_.dilations[0] + 1;
  }
  double flopsOfRow() const {
    return 2.0 * static_cast<double>(params_.outputDims[1] * params_.filters) *
           static_cast<double>(params_.channels / params_.groups *
                               params_.kernel[0] * params_.kernel[1]);
  }

  /// Whether bands of it can be computed, with the bits of the whole.
  bool fits(bool isLast) const;
  /// Whether `next` reads the result in the same shape.
  bool isReadBy(const ChainMember &next) const;
  /// The rows of the input within the windows of `result`.
  Rows inputRows(Rows result) const;

  /// Makes the call for `result`, if there is none that can compute it.
  rt::Status preparePart(Rows result, const PrepareMember &prepare);
  /// Whether each part is worth a call. Those of a few points may also be
  /// computed in another way, which rounds otherwise.
  bool hasLargeParts() const {
    constexpr int64_t leastPoints = 32;
    return std::ranges::all_of(parts_, [](const auto &each) {
      const int64_t *dims = each.second.params.outputDims;
      return dims[0] * dims[1] >= leastPoints;
    });
  }
  uint64_t partBytes() const;
  /// Whether each part needs only scratch of a worker.
  bool isLocal() const;
  rt::Status bind(const rt::Scratch &scratch, int threads);
  std::string description() const;

  /// Computes `result` of image `image`. `input` is the first row that it
  /// needs, `to` its own first row; `buffers` are the member's own.
  rt::Status run(Rows result, int64_t image, const void *input, void *to,
                 void *const *buffers, const rt::CallContext &context) const;

private:
  /// The convolution on some rows of an image.
  struct Part {
    sinter_conv params;
    sinter_command command;
    std::unique_ptr<rt::LibraryCall> call;
  };
  /// Rows of the result, padding before and after the input.
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  Key keyOf(Rows result) const;
  /// The rows of the windows, which may begin before the input and end after.
  Rows windowRows(Rows result) const;

  const sinter_command &command_;
  const sinter_conv &params_;
  const int64_t inputRowBytes_, resultRowBytes_;
  std::map<Key, Part> parts_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CONVCHAINMEMBER_H
