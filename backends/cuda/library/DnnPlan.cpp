//===- DnnPlan.cpp - operation graphs made executable by cuDNN ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnPlan.h"
#include "backends/cuda/library/DnnDescriptors.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

DnnDesc &DnnDesc::operator=(DnnDesc &&other) noexcept {
  std::swap(api_, other.api_);
  std::swap(desc_, other.desc_);
  return *this;
}

DnnDesc::~DnnDesc() {
  if (desc_)
    api_->backendDestroyDescriptor(desc_);
}

Result<std::unique_ptr<DnnContext>> DnnContext::create(const dnn::Api &api) {
  std::unique_ptr<DnnContext> context(new DnnContext(api));
  int status = api.create(&context->handle_);
  if (status != dnn::statusSuccess) {
    context->handle_ = nullptr;
    return context->error("cudnnCreate", status);
  }
  return context;
}

Result<std::unique_ptr<DnnContext>>
DnnContext::createDeviceless(const dnn::Api &api,
                             const std::string &deviceJson) {
  std::unique_ptr<DnnContext> context(new DnnContext(api));
  DnnMaker maker(*context);
  DnnDesc device = maker.make(dnn::devicePropDesc);
  maker.set(device, dnn::devicePropJson, dnn::typeChar,
            static_cast<int64_t>(deviceJson.size()), deviceJson.data());
  maker.finalize(device, "the device's properties");
  SINTER_RETURN_IF_ERROR(maker.status());
  context->device_ = std::move(device);
  return context;
}

DnnContext::~DnnContext() {
  device_ = DnnDesc();
  if (handle_)
    api_.destroy(handle_);
}

std::string DnnContext::version() const {
  size_t version = api_.getVersion();
  return "cuDNN " + std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// A descriptor's JSON text, without the zeros at its end.
static Result<std::string> textOf(const DnnContext &context,
                                  const DnnDesc &desc,
                                  dnn::Attribute attribute) {
  DnnMaker maker(context);
  int64_t size = maker.get(desc, attribute, dnn::typeChar, 0, nullptr);
  std::string text(static_cast<size_t>(std::max<int64_t>(size, 0)), '\0');
  if (size > 0)
    maker.get(desc, attribute, dnn::typeChar, size, text.data());
  SINTER_RETURN_IF_ERROR(maker.status());
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  return text;
}

Result<std::string> DnnContext::deviceJson() const {
  DnnMaker maker(*this);
  DnnDesc device = maker.make(dnn::devicePropDesc);
  maker.setOne(device, dnn::devicePropHandle, dnn::typeHandle, handle_);
  maker.finalize(device, "the device's properties");
  SINTER_RETURN_IF_ERROR(maker.status());
  return textOf(*this, device, dnn::devicePropJson);
}

Status DnnContext::error(const std::string &what, int status) const {
  char reason[512] = {};
  api_.getLastErrorString(reason, sizeof(reason));
  // One line, without the vendor's own newline.
  std::string words(reason);
  std::replace(words.begin(), words.end(), '\n', ' ');
  while (!words.empty() && words.back() == ' ')
    words.pop_back();
  return {status / 1000 == 3 ? SINTER_UNSUPPORTED : SINTER_DEVICE_FAILED,
          what + " failed: " + api_.getErrorString(status) + " (" +
              std::to_string(status) + ")" +
              (words.empty() ? "" : ": " + words)};
}

namespace {

/// An engine's numerical notes, as bits.
uint32_t notesOf(DnnMaker &maker, const DnnDesc &engine) {
  int32_t notes[dnn::noteCount] = {};
  int64_t count = maker.get(engine, dnn::engineNumericalNotes,
                            dnn::typeNumericalNote, dnn::noteCount, notes);
  uint32_t bits = 0;
  for (int64_t i = 0; i < std::min<int64_t>(count, dnn::noteCount); ++i)
    bits |= 1u << notes[i];
  return bits;
}

/// The engine of a configuration. The library reports it only with a handle.
DnnDesc engineOf(DnnMaker &maker, const DnnDesc &config) {
  DnnDesc engine = maker.make(dnn::engineDesc);
  dnn::Desc raw = engine.get();
  maker.get(config, dnn::configEngine, dnn::typeDescriptor, 1, &raw);
  return engine;
}

/// The engine of a plan without a handle: its number is in the plan's text.
DnnDesc engineOf(DnnMaker &maker, const DnnContext &context,
                 const DnnDesc &graph, const std::string &json) {
  DnnDesc engine = maker.make(dnn::engineDesc);
  size_t at = json.find("\"engineId\":");
  int64_t id = at == std::string::npos
                   ? -1
                   : std::strtoll(json.c_str() + at + 11, nullptr, 10);
  maker.setDesc(engine, dnn::engineGraph, graph.get());
  maker.setOne(engine, dnn::engineGlobalIndex, dnn::typeInt64, id);
  maker.setDesc(engine, dnn::engineDeviceProp, context.device());
  maker.finalize(engine, "an engine");
  return engine;
}

bool isWide(const DnnGraph &graph) {
  for (const DnnTensor &tensor : graph.tensors)
    if (tensor.type != dnn::f32 && tensor.type != dnn::f64)
      return false;
  return true;
}

/// fp32 means fp32: no inputs rounded to tf32 without permission, no sums in 16
/// bits.
bool isAllowed(uint32_t notes, const DnnGraph &graph,
               const LibraryOptions &options) {
  auto has = [&](dnn::NumericalNote note) { return notes >> note & 1; };
  if (options.deterministic && has(dnn::noteNondeterministic))
    return false;
  if (has(dnn::noteReducedReduction))
    return false;
  return !isWide(graph) || graph.allowsTf32 ||
         (!has(dnn::noteTensorCore) && !has(dnn::noteDownConverts));
}

/// The engine configurations that the heuristics offer, best first.
std::vector<DnnDesc> engineConfigs(DnnMaker &maker, const DnnContext &context,
                                   const DnnDesc &graph, int32_t mode) {
  DnnDesc heuristic = maker.make(dnn::engineHeuristicDesc);
  maker.setDesc(heuristic, dnn::heuristicGraph, graph.get());
  maker.setOne(heuristic, dnn::heuristicMode, dnn::typeHeuristicMode, mode);
  if (context.device())
    maker.setDesc(heuristic, dnn::heuristicDeviceProp, context.device());
  // If there is no engine for such a graph, that is not an error.
  std::vector<DnnDesc> configs;
  if (!maker.tryFinalize(heuristic))
    return configs;
  int64_t count = maker.get(heuristic, dnn::heuristicResults,
                            dnn::typeDescriptor, 0, nullptr);
  std::vector<dnn::Desc> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.push_back(maker.make(dnn::engineConfigDesc));
    raw.push_back(configs.back().get());
  }
  if (count)
    maker.get(heuristic, dnn::heuristicResults, dnn::typeDescriptor, count,
              raw.data());
  return configs;
}

} // namespace

Status DnnPlan::finish() {
  DnnMaker maker(*context_);
  int64_t bytes = 0;
  maker.get(plan_, dnn::planWorkspace, dnn::typeInt64, 1, &bytes);
  workspaceBytes_ = static_cast<uint64_t>(bytes);
  return maker.status();
}

Result<std::vector<DnnPlan>>
DnnPlan::buildSeveral(const DnnContext &context, const DnnGraph &graph,
                      const LibraryOptions &options, size_t most) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds longEnough(1);
  const Clock::time_point begin = Clock::now();
  DnnMaker maker(context);
  auto parts = std::make_shared<std::vector<DnnDesc>>();
  parts->push_back(maker.makeGraph(graph, *parts));
  SINTER_RETURN_IF_ERROR(maker.status());
  const DnnDesc &operations = parts->back();
  std::vector<DnnPlan> plans;
  int candidates = 0;
  uint64_t leastBytes = UINT64_MAX; // of engines that need too much
  Status failure;                   // of the last engine that was skipped
  auto isSkipped = [&](const Status &status) {
    if (!status.ok())
      failure = status;
    return !status.ok();
  };
  int32_t modes[] = {dnn::heuristicA, dnn::heuristicFallback};
  // Without a handle, notes are known only after a plan is compiled. For fp32,
  // most fast engines are not allowed, so try the fallback ones first.
  if (!context.handle() && isWide(graph) && graph.operations.size() > 1)
    std::swap(modes[0], modes[1]);
  for (int32_t mode : modes) {
    std::vector<DnnDesc> configs =
        engineConfigs(maker, context, operations, mode);
    SINTER_RETURN_IF_ERROR(maker.status());
    for (DnnDesc &config : configs) {
      // An engine of which a question fails is skipped, like one that does not
      // compute the graph.
      DnnMaker own(context);
      bool allowed =
          !context.handle() ||
          isAllowed(notesOf(own, engineOf(own, config)), graph, options);
      if (isSkipped(own.status()) || !allowed)
        continue;
      ++candidates;
      if (plans.size() == most ||
          (!plans.empty() && Clock::now() - begin > longEnough))
        continue;
      DnnPlan plan(context);
      plan.operations_ = parts;
      plan.plan_ = own.make(dnn::executionPlanDesc);
      own.setDesc(plan.plan_, dnn::planEngineConfig, config.get());
      if (context.handle())
        own.setOne(plan.plan_, dnn::planHandle, dnn::typeHandle,
                   context.handle());
      if (isSkipped(own.status()) || !own.tryFinalize(plan.plan_) ||
          isSkipped(plan.finish()))
        continue;
      if (!context.handle()) {
        Result<std::string> json = plan.json();
        if (isSkipped(json.status()))
          continue;
        DnnDesc engine = engineOf(own, context, operations, *json);
        allowed = isAllowed(notesOf(own, engine), graph, options);
        if (isSkipped(own.status()))
          continue;
        candidates -= !allowed;
      }
      const uint64_t bytes = plan.scratchOffset() + graph.scratchBytes;
      const bool fits = bytes <= options.maxWorkspaceBytes;
      if (allowed && !fits)
        leastBytes = std::min(leastBytes, bytes);
      if (!allowed || !fits)
        continue;
      plan.config_ = std::move(config);
      plans.push_back(std::move(plan));
    }
    if (!plans.empty())
      break;
  }
  for (DnnPlan &plan : plans)
    plan.candidates_ = candidates;
  const std::string what = std::to_string(graph.operations.size());
  if (plans.empty() && leastBytes != UINT64_MAX)
    return Status(SINTER_OUT_OF_MEMORY,
                  context.version() + " takes at least " +
                      std::to_string(leastBytes) +
                      " bytes of scratch for this graph of " + what +
                      " operations, more than the " +
                      std::to_string(options.maxWorkspaceBytes) +
                      " that it was promised; compile the program with "
                      "--workspace=" +
                      std::to_string(leastBytes));
  // The device's own failure is not a lack of engines.
  if (plans.empty() && failure.code() == SINTER_DEVICE_FAILED)
    return failure;
  if (plans.empty())
    return Status(
        SINTER_UNSUPPORTED,
        context.version() + " has no engine for this graph of " + what +
            " operations" +
            (failure.ok() ? "" : "; one was skipped: " + failure.message()));
  return plans;
}

Result<DnnPlan> DnnPlan::build(const DnnContext &context, const DnnGraph &graph,
                               const LibraryOptions &options) {
  Result<std::vector<DnnPlan>> plans = buildSeveral(context, graph, options, 1);
  if (!plans.ok())
    return plans.status();
  return std::move(plans->front());
}

Result<DnnPlan> DnnPlan::reload(const DnnContext &context,
                                const std::string &json) {
  DnnMaker maker(context);
  DnnPlan plan(context);
  plan.plan_ = maker.make(dnn::executionPlanDesc);
  maker.set(plan.plan_, dnn::planJson, dnn::typeChar,
            static_cast<int64_t>(json.size()), json.data());
  // Without a handle or a device, the library would crash.
  if (context.handle())
    maker.setOne(plan.plan_, dnn::planHandle, dnn::typeHandle,
                 context.handle());
  else
    maker.setDesc(plan.plan_, dnn::planDeviceProp, context.device());
  maker.finalize(plan.plan_, "an execution plan from its text");
  SINTER_RETURN_IF_ERROR(maker.status());
  SINTER_RETURN_IF_ERROR(plan.finish());
  return plan;
}

Result<std::string> DnnPlan::json() const {
  return textOf(*context_, plan_, dnn::planJson);
}

Status DnnPlan::execute(const std::vector<int64_t> &ids,
                        const std::vector<void *> &addresses, void *workspace,
                        dnn::Stream stream) const {
  const dnn::Api &api = context_->api();
  if (int status = api.setStream(context_->handle(), stream);
      status != dnn::statusSuccess)
    return context_->error("cudnnSetStream", status);
  DnnMaker maker(*context_);
  DnnDesc pack = maker.make(dnn::variantPackDesc);
  auto count = static_cast<int64_t>(ids.size());
  maker.set(pack, dnn::packIds, dnn::typeInt64, count, ids.data());
  maker.set(pack, dnn::packPointers, dnn::typePointer, count, addresses.data());
  maker.setOne(pack, dnn::packWorkspace, dnn::typePointer, workspace);
  maker.finalize(pack, "the addresses of a call");
  SINTER_RETURN_IF_ERROR(maker.status());
  int status = api.backendExecute(context_->handle(), plan_.get(), pack.get());
  return status == dnn::statusSuccess
             ? Status()
             : context_->error("cudnnBackendExecute", status);
}
