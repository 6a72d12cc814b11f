//===- OneCommand.h - an artifact with one command, for tests ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_ONECOMMAND_H
#define SINTER_TEST_RUNTIME_ONECOMMAND_H

#include "backends/cpu/device/CpuDevice.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/exec/Program.h"
#include "test/runtime/Calls.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace sinter::test {

/// Deterministic values in [-1, 1].
inline std::vector<float> someValues(int64_t count, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = seed * 2654435761u + 12345u;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

/// Equal byte for byte, whatever the values.
inline bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

/// Adds a post-op to those of a contraction of two operands. It reads the next
/// slice, if it reads one.
template <class Params>
void addPostOp(Params &p, uint32_t kind, float alpha = 0, float beta = 0) {
  uint32_t slice = 2;
  for (uint32_t i = 0; i < p.numPostOps; ++i)
    slice += p.postOps[i].kind == SINTER_POST_BIAS ||
             p.postOps[i].kind == SINTER_POST_ADD;
  p.postOps[p.numPostOps++] = {kind, slice, alpha, beta};
}

/// The kinds that every device has.
inline constexpr uint32_t commonPostOps[] = {
    SINTER_POST_BIAS,     SINTER_POST_ADD,       SINTER_POST_RELU,
    SINTER_POST_GELU_ERF, SINTER_POST_GELU_TANH, SINTER_POST_SIGMOID,
    SINTER_POST_TANH,     SINTER_POST_CLIP,      SINTER_POST_SCALE,
    SINTER_POST_SWISH,    SINTER_POST_HARD_SWISH};
/// Adds a post-op of one of them, with some parameters.
template <class Params> void addCommonPostOp(Params &p, uint32_t kind) {
  kind == SINTER_POST_CLIP    ? addPostOp(p, kind, -0.5f, 0.75f)
  : kind == SINTER_POST_SCALE ? addPostOp(p, kind, 1.75f)
                              : addPostOp(p, kind);
}

/// A contraction whose operands are fp32 inputs of the entry "main", except
/// that operand 1 may be a constant, and that a post-op may read the result
/// itself.
class OneCommand {
public:
  explicit OneCommand(const sinter_command &call) : command_(call) {}

  /// Adds the next operand; the result is added last, by run().
  void operand(std::vector<float> values) {
    operands_.push_back(std::move(values));
    isResult_.push_back(false);
  }
  /// Makes the result's memory before the run the next operand.
  void resultAsOperand() {
    operands_.push_back({});
    isResult_.push_back(true);
  }
  void constantFilter() { constant_ = true; }
  /// Adds the operands of `postOps` and returns them; those of ADD are the
  /// result itself, which is `before`, if `addResult` is set.
  std::vector<std::vector<float>>
  postOperands(std::span<const sinter_post_op> postOps, int64_t biasSize,
               const std::vector<float> &before, bool addResult) {
    std::vector<std::vector<float>> values(postOps.size());
    for (uint32_t i = 0; i < postOps.size(); ++i)
      if (postOps[i].kind == SINTER_POST_BIAS) {
        values[i] = someValues(biasSize, 4 + i);
        operand(values[i]);
      } else if (postOps[i].kind == SINTER_POST_ADD) {
        values[i] =
            addResult ? before
                      : someValues(static_cast<int64_t>(before.size()), 4 + i);
        addResult ? resultAsOperand() : operand(values[i]);
      }
    return values;
  }

  /// Runs with `threads` threads; `result` has the contents of the result's
  /// memory before and after. Also sets `status`, and `description` to what the
  /// library chose.
  void run(int threads, std::vector<float> &result) {
    using namespace sinter::rt;
    std::vector<sinter_slice> slices;
    std::vector<int64_t> dims;
    std::vector<const void *> addresses;
    Result<AlignedBlock> constants =
        AlignedBlock::allocate(constant_ ? 4 * operands_[1].size() : 0, "c");
    REQUIRE(constants.ok());
    for (size_t i = 0; i < operands_.size(); ++i) {
      uint64_t bytes = 4 * operands_[i].size();
      if (isResult_[i]) {
        slices.push_back({SINTER_SPACE_OUTPUT, 0, 0, 4 * result.size()});
      } else if (i == 1 && constant_) {
        if (bytes)
          std::memcpy(constants->data(), operands_[i].data(), bytes);
        slices.push_back({SINTER_SPACE_CONSTANT, 0, 0, bytes});
      } else {
        slices.push_back({SINTER_SPACE_INPUT,
                          static_cast<uint32_t>(addresses.size()), 0, bytes});
        dims.push_back(static_cast<int64_t>(operands_[i].size()));
        addresses.push_back(operands_[i].data());
      }
    }
    slices.push_back({SINTER_SPACE_OUTPUT, 0, 0, 4 * result.size()});
    std::vector<sinter_tensor_desc> inputs;
    for (const int64_t &dim : dims)
      inputs.push_back(
          {"x", &dim, 4 * static_cast<uint64_t>(dim), SINTER_F32, 1});
    auto size = static_cast<int64_t>(result.size());
    sinter_tensor_desc output{"y", &size, 4 * result.size(), SINTER_F32, 1};

    command_.slices = slices.data();
    command_.numSlices = static_cast<uint32_t>(slices.size());
    command_.numReads = command_.numSlices - 1;
    sinter_entry entry{};
    entry.name = "main";
    entry.inputs = inputs.data();
    entry.numInputs = static_cast<uint32_t>(inputs.size());
    entry.outputs = &output;
    entry.numOutputs = 1;
    entry.commands = &command_;
    entry.numCommands = 1;
    sinter_artifact artifact = emptyArtifact();
    artifact.workspaces = &workspaceBytes;
    artifact.entries = &entry;
    artifact.numEntries = 1;
    artifact.constants = constants->data();
    artifact.constantsBytes = constants->sizeBytes();

    auto device = cpu::createCpuDevice(threads);
    REQUIRE(device.ok());
    auto program = Program::create(artifact, std::move(*device));
    INFO(program.status().message());
    status = program.status();
    if (!program.ok())
      return;
    description = (*program)->find("main")->describe(0);
    scratchBytes =
        (*program)->places()[0].allocatedBytes - sizeof(sinter_control);
    void *outputs[] = {result.data()};
    Status ran = (*program)->run("main", nullptr, addresses.data(), outputs);
    INFO(ran.message());
    REQUIRE(ran.ok());
  }

  /// The result with one thread; two and three give the same bits.
  std::vector<float> runOnThreads(const std::vector<float> &before) {
    std::vector<float> result = before;
    run(1, result);
    INFO(status.message());
    REQUIRE(status.ok());
    for (int threads : {2, 3}) {
      std::vector<float> other = before;
      run(threads, other);
      REQUIRE(sameBits(result, other));
    }
    return result;
  }

  /// A valid artifact with nothing in it.
  static sinter_artifact emptyArtifact() {
    sinter_artifact artifact{};
    artifact.magic = SINTER_ABI_MAGIC;
    artifact.major = SINTER_ABI_MAJOR;
    artifact.minor = SINTER_ABI_MINOR;
    artifact.sizeofArtifact = sizeof(sinter_artifact);
    artifact.sizeofCommand = sizeof(sinter_command);
    artifact.sizeofState = sizeof(sinter_state_desc);
    artifact.name = "test";
    artifact.buildId = "0";
    artifact.manifest = "{}";
    artifact.target = "cpu";
    artifact.cpuFeatures = "";
    static const uint64_t plenty = 64u << 20;
    artifact.workspaces = &plenty;
    return artifact;
  }

  uint64_t workspaceBytes = 64u << 20; // available to the call
  std::string description;
  rt::Status status;
  uint64_t scratchBytes = 0; // used by the call

private:
  sinter_command command_;
  std::vector<std::vector<float>> operands_;
  std::vector<bool> isResult_;
  bool constant_ = false;
};

/// The meaning of a post-op in double precision.
inline double postOpReference(const sinter_post_op &op, double x,
                              double operand) {
  switch (op.kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
    return x + operand;
  case SINTER_POST_RELU:
    return x < 0 ? 0 : x;
  case SINTER_POST_GELU_ERF:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case SINTER_POST_GELU_TANH:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case SINTER_POST_SIGMOID:
    return 1 / (1 + std::exp(-x));
  case SINTER_POST_TANH:
    return std::tanh(x);
  case SINTER_POST_CLIP:
    return std::min(std::max(x, double(op.alpha)), double(op.beta));
  case SINTER_POST_SWISH:
    return x / (1 + std::exp(-x));
  case SINTER_POST_HARD_SWISH:
    return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
  default:
    return x * op.alpha;
  }
}

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_ONECOMMAND_H
