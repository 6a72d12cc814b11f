//===- CodedProduct.cpp - products with weights of 4 or 8 bits ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A few rows multiply the codes. With many rows, by loops, or on a CPU without
// AVX2, the weights become float32 at load, and the product is that of float32.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/RowPanels.h"

#include <vector>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

class DecodedCall : public LibraryCall {
public:
  DecodedCall(OneDnnContext &context, const sinter_command &command,
              const coded_panels::Source &source)
      : command_(command), params_(*command.matmul.params),
        slices_(command.slices, command.slices + command.numSlices),
        addresses_(command.numSlices) {
    params_.weights = {};
    command_.matmul.params = &params_;
    command_.matmul.dtypeOfB = 0;
    command_.slices = slices_.data();
    const uint64_t count = static_cast<uint64_t>(source.depth) *
                           static_cast<uint64_t>(source.columns);
    // Only B may be packed further.
    for (uint32_t i = 0; i < command.numSlices; ++i)
      if (slices_[i].space == SINTER_SPACE_CONSTANT) {
        slices_[i].space = SINTER_SPACE_INPUT;
        slices_[i].index = SINTER_NONE - 1 - i;
      }
    slices_[1] = {SINTER_SPACE_CONSTANT, 0, 0, count * sizeof(float)};
    weights_ = context.packed.make(count * sizeof(float), [&](uint8_t *bytes) {
      auto *to = reinterpret_cast<float *>(bytes);
      for (int64_t k = 0; k < source.depth; ++k)
        for (int64_t column = 0; column < source.columns; ++column)
          *to++ = coded_panels::weightAt(source, k, column);
    });
  }

  Status prepare(OneDnnContext &context, PrepareCall prepareFloat) {
    LibraryCallResult inner = prepareFloat(context, command_, weights_.get());
    if (!inner.ok())
      return inner.status();
    inner_ = std::move(*inner);
    return {};
  }

  uint64_t sharedBytes() const override { return inner_->sharedBytes(); }
  uint64_t perWorkerBytes() const override { return inner_->perWorkerBytes(); }
  Status bind(const Scratch &scratch, int threads) override {
    return inner_->bind(scratch, threads);
  }
  Status run(void *const *buffers, const CallContext &context) override {
    std::copy(buffers, buffers + command_.numSlices, addresses_.begin());
    addresses_[1] = weights_.get();
    return inner_->run(addresses_.data(), context);
  }
  std::string description() const override {
    return inner_->description() + ", weights decoded at load";
  }

private:
  sinter_command command_; // of the float32 call
  sinter_matmul params_;
  std::vector<sinter_slice> slices_;
  std::vector<void *> addresses_;
  PackedBytes weights_;
  std::unique_ptr<LibraryCall> inner_;
};

} // namespace

LibraryCallResult sinter::cpu::prepareCodedProduct(
    OneDnnContext &context, const sinter_command &command,
    const uint8_t *constants, PrepareCall prepareFloat, bool byLoops) {
  const sinter_matmul &params = *command.matmul.params;
  const sinter_coded_weights &weights = params.weights;
  auto constant = [&](uint32_t slice) {
    return constantAddress(command.slices[slice], constants);
  };
  const coded_panels::Source source{
      weights,
      command.matmul.dtypeOfB,
      reinterpret_cast<const uint8_t *>(constant(1)),
      weights.scales ? constant(weights.scales) : nullptr,
      weights.zeros ? constant(weights.zeros) : nullptr,
      params.k,
      params.n};
  if (!source.codes || (weights.scales && !source.scales) ||
      (weights.zeros && !source.zeros))
    return Status(SINTER_UNSUPPORTED,
                  "coded weights that are not constants are not supported");
  if (!byLoops) {
    LibraryCallResult rows = prepareCodedRowProduct(context, command, source);
    if (!rows.ok() || *rows)
      return rows;
  }
  auto call = std::make_unique<DecodedCall>(context, command, source);
  SINTER_RETURN_IF_ERROR(call->prepare(context, prepareFloat));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
