//===- LtMatmul.cpp - matrix products by cuBLASLt -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtMatmul.h"
#include "backends/cuda/library/LtProduct.h"

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

/// A result without elements.
class EmptyCall : public LibraryCall {
public:
  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &, int) override { return {}; }
  Status run(void *const *, const CallContext &) override { return {}; }
  std::string description() const override { return "matmul without work"; }
};

/// A product whose epilogue the library applies.
class LtMatmulCall : public LibraryCall {
public:
  LtMatmulCall(const LtContext &context, LtPlan plan, uint32_t dSlice)
      : product_(context, std::move(plan)), dSlice_(dSlice) {}

  LtProduct &product() { return product_; }

  uint64_t sharedBytes() const override { return product_.workspaceBytes(); }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &scratch, int) override {
    workspace_ = scratch.shared;
    return {};
  }
  Status run(void *const *buffers, const CallContext &context) override;
  int alternatives() override { return product_.alternatives(); }
  void select(int index) override { product_.select(index); }
  void choose(std::span<const double> leastUs) override {
    product_.choose(leastUs);
  }
  std::string description() const override { return product_.description(); }

private:
  LtProduct product_;
  const uint32_t dSlice_;
  uint8_t *workspace_ = nullptr;
};

} // namespace

Status LtMatmulCall::run(void *const *buffers, const CallContext &context) {
  auto stream = static_cast<lt::Stream>(
      context.stream ? context.stream->native() : nullptr);
  const LtPlan &plan = product_.plan();
  for (int64_t call = 0, calls = plan.calls(); call < calls; ++call)
    SINTER_RETURN_IF_ERROR(product_.run(
        addressesOf(plan, dSlice_, buffers, call), workspace_, stream));
  return {};
}

/// Whether the library's epilogue may make 0 of NaN: cuBLASLt documents its
/// ReLU as max(x, 0) and says nothing of NaN.
static bool mayDropNan(const LtPlan &plan) {
  return plan.epilogue & lt::epilogueRelu;
}

/// Prepares what `reason` makes necessary.
static Result<std::unique_ptr<LibraryCall>>
fallBack(const LtContext &context, const LtPlan &plan,
         const sinter_command &command, const LibraryOptions &options,
         LtFallbacks &fallbacks, const Status &reason) {
  // What fails then is a consequence.
  auto because = [&](const Status &status) {
    return status.code() == SINTER_UNSUPPORTED
               ? Status(SINTER_UNSUPPORTED,
                        reason.message() +
                            "; without the epilogue: " + status.message())
               : status;
  };
  if (!fallbacks.openKernels)
    return because({SINTER_UNSUPPORTED, "this device has no kernels for it"});
  Result<LtKernels *> kernels = fallbacks.openKernels();
  if (!kernels.ok())
    return because(kernels.status());
  auto call = prepareLtFallback(context, plan, command, options, **kernels);
  if (!call.ok())
    return because(call.status());
  return call;
}

Result<std::unique_ptr<LibraryCall>> sinter::cuda::prepareLtMatmul(
    const LtContext &context, const sinter_command &command,
    const LibraryOptions &options, LtFallbacks &fallbacks) {
  LtPlan plan = LtPlan::make(*command.matmul.params);
  if (!plan.refusal.empty())
    return Status(SINTER_UNSUPPORTED, plan.refusal);
  if (plan.empty)
    return std::unique_ptr<LibraryCall>(std::make_unique<EmptyCall>());
  ++fallbacks.numProducts;
  if (options.keepsNan && mayDropNan(plan)) {
    Status reason(SINTER_UNSUPPORTED,
                  context.version() + " may make 0 of NaN in a ReLU");
    auto keeping = fallBack(context, plan, command, options, fallbacks, reason);
    if (keeping.ok() || keeping.status().code() != SINTER_UNSUPPORTED)
      return keeping;
    if (fallbacks.numHidingNan++ == 0)
      fallbacks.firstHidingNan = keeping.status().message();
  }
  LtAlignments alignments = alignmentsOf(plan, command);
  auto call =
      std::make_unique<LtMatmulCall>(context, plan, command.numSlices - 1);
  SINTER_RETURN_IF_ERROR(call->product().prepare(alignments, options));
  if (call->product().hasAlgorithm())
    return std::unique_ptr<LibraryCall>(std::move(call));
  Status reason = call->product().noAlgorithm();
  if (plan.epilogue == lt::epilogueDefault || !fallbacks.openKernels)
    return reason;
  auto fallback = fallBack(context, plan, command, options, fallbacks, reason);
  if (fallback.ok() && fallbacks.numFallbacks++ == 0)
    fallbacks.firstReason = reason.message();
  return fallback;
}
