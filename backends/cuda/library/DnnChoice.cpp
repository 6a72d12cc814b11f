//===- DnnChoice.cpp - which engine of cuDNN computes a graph -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnChoice.h"
#include "backends/cuda/library/PlanCache.h"

#include <cstring>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

class Writer {
public:
  std::string text;

  void add(const char *name, int64_t value) {
    text += std::string(" ") + name + std::to_string(value);
  }
  void add(const char *name, const std::vector<int64_t> &values) {
    text += std::string(" ") + name;
    for (int64_t value : values)
      text += std::to_string(value) + ",";
  }
  void add(const char *name, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    add(name, int64_t(bits));
  }
  void add(const DnnTensor &tensor) {
    text += " {";
    add("t", int64_t(tensor.type));
    add("d", tensor.dims);
    add("s", tensor.strides);
    add("a", tensor.alignment);
    add("v", int64_t(tensor.isVirtual));
    // The address, or a number's value, belongs to the call and is left out.
    add("n", int64_t(tensor.isByValue));
    text += " }";
  }
  void add(const DnnOperation &operation) {
    text += " (";
    add("k", int64_t(operation.kind));
    add("m", int64_t(operation.mode));
    add("o", {operation.x, operation.w, operation.t, operation.y});
    add("s", operation.strides);
    add("d", operation.dilations);
    add("p", operation.prePads);
    add("q", operation.postPads);
    if (operation.hasUpper)
      add("u", operation.upper);
    add("a", operation.axis);
    add("c", int64_t(operation.mathType));
    if (operation.mode == dnn::reluForward)
      text += " nan"; // is passed on
    text += " )";
  }
};

/// One line that names everything that a plan depends on, except the device.
std::string textOf(const DnnContext &context, const DnnGraph &graph,
                   const LibraryOptions &options) {
  Writer writer;
  writer.text = context.version() + "; graph";
  writer.add("compute=", int64_t(graph.computeType));
  writer.add("tf32=", int64_t(graph.allowsTf32));
  for (const DnnTensor &tensor : graph.tensors)
    writer.add(tensor);
  for (const DnnOperation &operation : graph.operations)
    writer.add(operation);
  writer.text += " workspace=" + std::to_string(options.maxWorkspaceBytes);
  writer.add("deterministic=", int64_t(options.deterministic));
  return writer.text;
}

} // namespace

Result<DnnChoice> DnnChoice::make(const DnnContext &context,
                                  const DnnGraph &graph,
                                  const LibraryOptions &options) {
  DnnChoice choice(context, graph, options);
  if (options.cache) {
    choice.problem_ = textOf(context, graph, options);
    if (std::optional<std::string> stored =
            options.cache->find(choice.problem_)) {
      if (choice.adopt(*stored))
        return choice;
      options.cache->discard(choice.problem_);
    }
  }
  Result<DnnPlan> first = DnnPlan::build(context, graph, options);
  if (!first.ok())
    return first.status();
  choice.plans_.push_back(std::move(*first));
  // A choice by measured time must not differ from process to process.
  if (!options.cache || !options.cache->isWritable())
    return choice;
  choice.isCompared_ = context.handle() && choice.plan().candidates() > 1;
  if (!choice.isCompared_)
    choice.store(0);
  return choice;
}

uint64_t DnnChoice::scratchBytes() const {
  if (isCompared_)
    return options_.maxWorkspaceBytes;
  return plan().scratchOffset() + graph_->scratchBytes;
}

std::string DnnChoice::origin() const {
  if (compared_)
    return "the fastest of " + std::to_string(compared_) + " engines";
  if (plan().candidates() == 0)
    return "a stored plan";
  return "1 of " + std::to_string(plan().candidates()) + " engines";
}

bool DnnChoice::adopt(const std::string &json) {
  Result<DnnPlan> plan = DnnPlan::reload(*context_, json);
  if (!plan.ok() ||
      plan->scratchOffset() + graph_->scratchBytes > options_.maxWorkspaceBytes)
    return false;
  plans_.clear();
  plans_.push_back(std::move(*plan));
  selected_ = 0;
  return true;
}

void DnnChoice::store(size_t index) {
  // An engine whose plan has no text is looked up again in each process.
  Result<std::string> json = plans_[index].json();
  std::optional<std::string> counts;
  if (json.ok())
    counts = options_.cache->store(problem_, *json);
  // If another process stored its choice first, use that. A plan that cannot be
  // stored is not chosen by time.
  if (counts && *counts != *json && adopt(*counts))
    return;
  const bool isStored = counts && *counts == *json;
  compared_ =
      isStored && plans_.size() > 1 ? static_cast<int>(plans_.size()) : 0;
  std::swap(plans_.front(), plans_[isStored ? index : 0]);
  plans_.erase(plans_.begin() + 1, plans_.end());
  selected_ = 0;
}

int DnnChoice::alternatives() {
  if (!isCompared_)
    return 0;
  isCompared_ = false;
  // An equal call may have chosen before this one.
  if (std::optional<std::string> stored = options_.cache->find(problem_);
      stored && adopt(*stored))
    return 0;
  Result<std::vector<DnnPlan>> several =
      DnnPlan::buildSeveral(*context_, *graph_, options_, maxDnnCandidates);
  if (several.ok())
    plans_ = std::move(*several);
  if (plans_.size() == 1)
    store(0);
  return plans_.size() > 1 ? static_cast<int>(plans_.size()) : 0;
}

void DnnChoice::choose(std::span<const double> leastUs) {
  store(static_cast<size_t>(fastest(leastUs)));
}
