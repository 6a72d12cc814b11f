//===- StoredPlan.cpp - execution plans of cuDNN from start to start ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnPlan.h"
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
    // Where it lies is the call's, and so is a number's value.
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
    text += " )";
  }
};

/// One line that names everything a plan depends on, but for the device.
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

Result<DnnPlan> DnnPlan::obtain(const DnnContext &context,
                                const DnnGraph &graph,
                                const LibraryOptions &options) {
  if (!options.cache)
    return build(context, graph, options);
  PlanCache &cache = *options.cache;
  const std::string problem = textOf(context, graph, options);
  auto reloadFrom = [&](const std::string &json) {
    Result<DnnPlan> plan = reload(context, json);
    return plan.ok() && plan->scratchOffset() + graph.scratchBytes <=
                            options.maxWorkspaceBytes
               ? std::optional<DnnPlan>(std::move(*plan))
               : std::nullopt;
  };
  if (std::optional<std::string> stored = cache.find(problem)) {
    if (std::optional<DnnPlan> plan = reloadFrom(*stored))
      return std::move(*plan);
    cache.discard(problem);
  }
  Result<DnnPlan> plan = build(context, graph, options);
  if (!plan.ok() || !cache.isWritable())
    return plan;
  Result<std::string> json = plan->json();
  // An engine that cannot be written down is looked for at each start.
  if (!json.ok())
    return plan;
  std::optional<std::string> counts = cache.store(problem, *json);
  if (counts && *counts != *json)
    if (std::optional<DnnPlan> other = reloadFrom(*counts))
      return std::move(*other);
  return plan;
}
