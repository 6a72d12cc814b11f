//===- DnnConv.cpp - convolutions by cuDNN --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnConv.h"
#include "backends/cuda/library/ConvPlan.h"
#include "backends/cuda/library/DnnChoice.h"

#include <optional>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

class DnnGraphCall : public LibraryCall {
public:
  DnnGraphCall(DnnGraph graph, std::string name, const sinter_command &command,
               const ZeroFill &zeroFill)
      : graph_(std::move(graph)), name_(std::move(name)), command_(command),
        zeroFill_(zeroFill) {}

  Status prepare(const DnnContext &context, const LibraryOptions &options);

  uint64_t sharedBytes() const override {
    return choice_ ? choice_->scratchBytes() : graph_.scratchBytes;
  }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &scratch, int) override {
    workspace_ = scratch.shared;
    return {};
  }
  Status run(void *const *buffers, const CallContext &context) override {
    return enqueue(buffers,
                   context.stream ? context.stream->native() : nullptr);
  }
  int alternatives() override { return choice_ ? choice_->alternatives() : 0; }
  void select(int index) override { choice_->select(index); }
  void choose(std::span<const double> leastUs) override {
    choice_->choose(leastUs);
  }
  std::string description() const override;

private:
  Status enqueue(void *const *buffers, void *stream);

  DnnGraph graph_;
  const std::string name_;
  const sinter_command &command_;
  const ZeroFill &zeroFill_;
  std::optional<DnnChoice> choice_; // empty: there is nothing to execute
  std::vector<int64_t> ids_;        // of the tensors with addresses
  std::vector<void *> addresses_;
  void *workspace_ = nullptr;
};

} // namespace

Status DnnGraphCall::prepare(const DnnContext &context,
                             const LibraryOptions &options) {
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    DnnTensor &tensor = graph_.tensors[i];
    if (tensor.isVirtual)
      continue;
    ids_.push_back(static_cast<int64_t>(i) + 1);
    addresses_.push_back(tensor.isByValue ? &tensor.value : nullptr);
    if (tensor.isByValue)
      continue;
    uint64_t offset =
        static_cast<uint64_t>(tensor.offset) * tensor.elementBytes();
    uint64_t alignment =
        tensor.isScratch ? 256 : alignmentOf(command_.slices[tensor.slice]);
    tensor.alignment = static_cast<int64_t>(
        std::gcd(std::gcd(alignment, uint64_t(16)), offset));
  }
  if (graph_.operations.empty())
    return {};
  Result<DnnChoice> choice = DnnChoice::make(context, graph_, options);
  if (!choice.ok())
    return choice.status();
  choice_ = std::move(*choice);
  return {};
}

Status DnnGraphCall::enqueue(void *const *buffers, void *stream) {
  uint32_t result = command_.numSlices - 1;
  if (graph_.zeroFirst)
    SINTER_RETURN_IF_ERROR(
        zeroFill_(buffers[result], command_.slices[result].sizeBytes, stream));
  if (!choice_)
    return {};
  const DnnPlan &plan = choice_->plan();
  for (size_t i = 0; i < ids_.size(); ++i) {
    const DnnTensor &tensor = graph_.tensors[static_cast<size_t>(ids_[i]) - 1];
    if (tensor.isByValue)
      continue;
    void *base = tensor.isScratch
                     ? static_cast<uint8_t *>(workspace_) + plan.scratchOffset()
                     : buffers[tensor.slice];
    addresses_[i] = static_cast<uint8_t *>(base) +
                    tensor.offset * static_cast<int64_t>(tensor.elementBytes());
  }
  return plan.execute(ids_, addresses_, workspace_, stream);
}

std::string DnnGraphCall::description() const {
  if (graph_.empty || (!choice_ && !graph_.zeroFirst))
    return name_ + " without work";
  if (!choice_)
    return name_ + " of zeros";
  return name_ + ", " + std::to_string(graph_.operations.size()) +
         " operations, " + choice_->origin() + ", workspace " +
         std::to_string(choice_->plan().workspaceBytes());
}

Result<std::unique_ptr<LibraryCall>> sinter::cuda::prepareDnnGraph(
    const DnnContext &context, const sinter_command &command, DnnGraph graph,
    const std::string &name, const LibraryOptions &options,
    const ZeroFill &zeroFill) {
  if (!graph.refusal.empty())
    return Status(SINTER_UNSUPPORTED, graph.refusal);
  auto call =
      std::make_unique<DnnGraphCall>(std::move(graph), name, command, zeroFill);
  SINTER_RETURN_IF_ERROR(call->prepare(context, options));
  return std::unique_ptr<LibraryCall>(std::move(call));
}

Result<std::unique_ptr<LibraryCall>> sinter::cuda::prepareDnnConv(
    const DnnContext &context, const sinter_command &command,
    const LibraryOptions &options, const ZeroFill &zeroFill) {
  const auto &params = *command.conv.params;
  static constexpr const char *names[] = {
      "", "cuDNN convolution", "cuDNN input gradient", "cuDNN filter gradient"};
  return prepareDnnGraph(context, command,
                         convGraph(params, command.numSlices - 1),
                         names[params.direction], options, zeroFill);
}
