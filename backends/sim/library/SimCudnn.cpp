//===- SimCudnn.cpp - a cuDNN that checks and computes by loops -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimCudnn.h"
#include "backends/sim/library/SimDnnGraph.h"
#include "backends/sim/library/SimDnnText.h"
#include "backends/sim/library/SimMemory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace sinter;
using namespace sinter::sim;
namespace dnn = sinter::cuda::dnn;

namespace {

thread_local std::string lastErrorText;

int fail(int status, std::string text) {
  lastErrorText = std::move(text);
  return status;
}

/// All live descriptors and handles, by address.
class Objects {
public:
  DnnObject *make(int type) {
    auto object = std::make_shared<DnnObject>();
    object->type = type;
    DnnObject *address = object.get();
    std::lock_guard lock(mutex_);
    objects_.emplace(address, std::move(object));
    return address;
  }
  std::shared_ptr<DnnObject> find(const void *address) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(address);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool destroy(const void *address) {
    std::lock_guard lock(mutex_);
    return objects_.erase(address) > 0;
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return objects_.size();
  }

private:
  std::mutex mutex_;
  std::map<const void *, std::shared_ptr<DnnObject>> objects_;
};

Objects &objects() {
  static Objects all;
  return all;
}

constexpr int handleType = -1;

/// An attribute of a descriptor, and its type.
struct Attribute {
  int descriptor, attribute, type;
};
constexpr Attribute attributes[] = {
    {dnn::pointwiseDesc, dnn::pointwiseMode, dnn::typePointwiseMode},
    {dnn::pointwiseDesc, dnn::pointwiseMathPrecision, dnn::typeDataType},
    {dnn::pointwiseDesc, dnn::pointwiseNanPropagation, dnn::typeNanPropagation},
    {dnn::pointwiseDesc, dnn::pointwiseReluLower, dnn::typeDouble},
    {dnn::pointwiseDesc, dnn::pointwiseReluUpper, dnn::typeDouble},
    {dnn::pointwiseDesc, dnn::pointwiseSwishBeta, dnn::typeDouble},
    {dnn::pointwiseDesc, dnn::pointwiseAxis, dnn::typeInt64},
    {dnn::convolutionDesc, dnn::convComputeType, dnn::typeDataType},
    {dnn::convolutionDesc, dnn::convMode, dnn::typeConvMode},
    {dnn::convolutionDesc, dnn::convDilations, dnn::typeInt64},
    {dnn::convolutionDesc, dnn::convStrides, dnn::typeInt64},
    {dnn::convolutionDesc, dnn::convPostPads, dnn::typeInt64},
    {dnn::convolutionDesc, dnn::convPrePads, dnn::typeInt64},
    {dnn::convolutionDesc, dnn::convSpatialDims, dnn::typeInt64},
    {dnn::engineHeuristicDesc, dnn::heuristicMode, dnn::typeHeuristicMode},
    {dnn::engineHeuristicDesc, dnn::heuristicGraph, dnn::typeDescriptor},
    {dnn::devicePropDesc, dnn::devicePropHandle, dnn::typeHandle},
    {dnn::executionPlanDesc, dnn::planHandle, dnn::typeHandle},
    {dnn::executionPlanDesc, dnn::planJson, dnn::typeChar},
    {dnn::executionPlanDesc, dnn::planEngineConfig, dnn::typeDescriptor},
    {dnn::opConvForward, dnn::forwardConv, dnn::typeDescriptor},
    {dnn::opConvForward, dnn::forwardW, dnn::typeDescriptor},
    {dnn::opConvForward, dnn::forwardX, dnn::typeDescriptor},
    {dnn::opConvForward, dnn::forwardY, dnn::typeDescriptor},
    {dnn::opConvInputGrad, dnn::inputGradConv, dnn::typeDescriptor},
    {dnn::opConvInputGrad, dnn::inputGradW, dnn::typeDescriptor},
    {dnn::opConvInputGrad, dnn::inputGradDx, dnn::typeDescriptor},
    {dnn::opConvInputGrad, dnn::inputGradDy, dnn::typeDescriptor},
    {dnn::opConvFilterGrad, dnn::filterGradConv, dnn::typeDescriptor},
    {dnn::opConvFilterGrad, dnn::filterGradDw, dnn::typeDescriptor},
    {dnn::opConvFilterGrad, dnn::filterGradX, dnn::typeDescriptor},
    {dnn::opConvFilterGrad, dnn::filterGradDy, dnn::typeDescriptor},
    {dnn::opPointwise, dnn::opPointwiseDesc, dnn::typeDescriptor},
    {dnn::opPointwise, dnn::opPointwiseX, dnn::typeDescriptor},
    {dnn::opPointwise, dnn::opPointwiseB, dnn::typeDescriptor},
    {dnn::opPointwise, dnn::opPointwiseY, dnn::typeDescriptor},
    {dnn::opPointwise, dnn::opPointwiseT, dnn::typeDescriptor},
    {dnn::operationGraphDesc, dnn::graphHandle, dnn::typeHandle},
    {dnn::operationGraphDesc, dnn::graphOps, dnn::typeDescriptor},
    {dnn::tensorDesc, dnn::tensorAlignment, dnn::typeInt64},
    {dnn::tensorDesc, dnn::tensorDataType, dnn::typeDataType},
    {dnn::tensorDesc, dnn::tensorDims, dnn::typeInt64},
    {dnn::tensorDesc, dnn::tensorStrides, dnn::typeInt64},
    {dnn::tensorDesc, dnn::tensorId, dnn::typeInt64},
    {dnn::tensorDesc, dnn::tensorIsVirtual, dnn::typeBoolean},
    {dnn::tensorDesc, dnn::tensorIsByValue, dnn::typeBoolean},
    {dnn::variantPackDesc, dnn::packIds, dnn::typeInt64},
    {dnn::variantPackDesc, dnn::packPointers, dnn::typePointer},
    {dnn::variantPackDesc, dnn::packWorkspace, dnn::typePointer},
    {dnn::matmulDesc, dnn::matmulComputeType, dnn::typeDataType},
    {dnn::opMatmul, dnn::opMatmulA, dnn::typeDescriptor},
    {dnn::opMatmul, dnn::opMatmulB, dnn::typeDescriptor},
    {dnn::opMatmul, dnn::opMatmulC, dnn::typeDescriptor},
    {dnn::opMatmul, dnn::opMatmulDesc, dnn::typeDescriptor},
    {dnn::reductionDesc, dnn::reductionOperator, dnn::typeReductionOperator},
    {dnn::reductionDesc, dnn::reductionComputeType, dnn::typeDataType},
    {dnn::opReduction, dnn::opReductionX, dnn::typeDescriptor},
    {dnn::opReduction, dnn::opReductionY, dnn::typeDescriptor},
    {dnn::opReduction, dnn::opReductionDesc, dnn::typeDescriptor},
    {dnn::opGenStats, dnn::genStatsMode, dnn::typeGenStatsMode},
    {dnn::opGenStats, dnn::genStatsMathPrecision, dnn::typeDataType},
    {dnn::opGenStats, dnn::genStatsX, dnn::typeDescriptor},
    {dnn::opGenStats, dnn::genStatsSum, dnn::typeDescriptor},
    {dnn::opGenStats, dnn::genStatsSquares, dnn::typeDescriptor},
    {dnn::opReshape, dnn::opReshapeX, dnn::typeDescriptor},
    {dnn::opReshape, dnn::opReshapeY, dnn::typeDescriptor},
};

/// Whether it is alpha or beta of a convolution: fp32, or fp64 with fp64.
bool isScale(int attribute) {
  switch (attribute) {
  case dnn::forwardAlpha:
  case dnn::forwardBeta:
  case dnn::inputGradAlpha:
  case dnn::inputGradBeta:
  case dnn::filterGradAlpha:
  case dnn::filterGradBeta:
    return true;
  default:
    return false;
  }
}

size_t elementBytes(int type) {
  switch (type) {
  case dnn::typeBoolean:
  case dnn::typeChar:
    return 1;
  case dnn::typeInt64:
  case dnn::typeDouble:
  case dnn::typePointer:
  case dnn::typeHandle:
  case dnn::typeDescriptor:
    return 8;
  default:
    return 4;
  }
}

size_t getVersion() { return 91900; }

int createHandle(dnn::Handle *handle) {
  *handle = reinterpret_cast<dnn::Handle>(objects().make(handleType));
  return dnn::statusSuccess;
}
int destroyHandle(dnn::Handle handle) {
  return objects().destroy(handle)
             ? int(dnn::statusSuccess)
             : fail(dnn::statusBadParam, "this is not a live handle");
}
int setStream(dnn::Handle handle, dnn::Stream) {
  return objects().find(handle)
             ? int(dnn::statusSuccess)
             : fail(dnn::statusBadParam, "this is not a live handle");
}

const char *getErrorString(int status) {
  return status == dnn::statusSuccess ? "CUDNN_STATUS_SUCCESS"
         : status / 1000 == 2         ? "CUDNN_STATUS_BAD_PARAM"
         : status / 1000 == 3         ? "CUDNN_STATUS_NOT_SUPPORTED"
                                      : "CUDNN_STATUS_INTERNAL_ERROR";
}

void getLastErrorString(char *text, size_t sizeBytes) {
  if (!sizeBytes)
    return;
  std::strncpy(text, lastErrorText.c_str(), sizeBytes - 1);
  text[sizeBytes - 1] = '\0';
}

int createDescriptor(int type, dnn::Desc *desc) {
  if (type < 0 || type > 43)
    return fail(4003, "there is no descriptor of type " + std::to_string(type));
  *desc = objects().make(type);
  return dnn::statusSuccess;
}

int destroyDescriptor(dnn::Desc desc) {
  return objects().destroy(desc)
             ? int(dnn::statusSuccess)
             : fail(dnn::statusBadParam, "this is not a live descriptor");
}

int setAttribute(dnn::Desc desc, int attribute, int type, int64_t count,
                 const void *values) {
  std::shared_ptr<DnnObject> object = objects().find(desc);
  if (!object)
    return fail(dnn::statusBadParam, "this is not a live descriptor");
  if (object->finalized)
    return fail(dnn::statusBadParam, "the descriptor is finalized");
  std::string name = "attribute " + std::to_string(attribute) +
                     " of descriptors of type " + std::to_string(object->type);
  auto known = std::find_if(
      std::begin(attributes), std::end(attributes), [&](const Attribute &row) {
        return row.descriptor == object->type && row.attribute == attribute;
      });
  bool scale =
      isScale(attribute) && (type == dnn::typeFloat || type == dnn::typeDouble);
  if (known == std::end(attributes) && !scale)
    return fail(dnn::statusBadParam, "there is no " + name);
  if (!scale && known->type != type)
    return fail(dnn::statusBadParamAttributeType,
                name + " has type " + std::to_string(known->type) + ", not " +
                    std::to_string(type));
  if (count < 1 || !values)
    return fail(dnn::statusBadParam, name + " is given no values");
  DnnObject::Value value;
  value.type = type;
  value.count = count;
  const auto *bytes = static_cast<const uint8_t *>(values);
  value.bytes.assign(bytes,
                     bytes + static_cast<size_t>(count) * elementBytes(type));
  if (type == dnn::typeDescriptor)
    for (int64_t i = 0; i < count; ++i) {
      std::shared_ptr<DnnObject> part =
          objects().find(static_cast<const dnn::Desc *>(values)[i]);
      if (!part)
        return fail(dnn::statusBadParam, name + " is not a live descriptor");
      if (!part->finalized)
        return fail(dnn::statusBadParamNotFinalized,
                    name + " is not finalized");
      value.objects.push_back(std::move(part));
    }
  if (type == dnn::typeHandle &&
      !objects().find(*static_cast<const dnn::Handle *>(values)))
    return fail(dnn::statusBadParam, name + " is not a live handle");
  object->values[attribute] = std::move(value);
  return dnn::statusSuccess;
}

SimDnnGraph graphOf(const DnnObject &graph) {
  SimDnnGraph result;
  // The graph was finalized, so no rule is violated.
  (void)result.read(graph);
  return result;
}

constexpr int64_t workspaceBytes = 4096;
/// The notes of the engines in the order of the heuristics. The first engine is
/// the fastest and least exact.
constexpr uint32_t engineNotes[] = {1u << dnn::noteTensorCore |
                                        1u << dnn::noteDownConverts |
                                        1u << dnn::noteNondeterministic,
                                    1u << dnn::noteTensorCore, 0};
constexpr int64_t numEngines = 3;

int getHeuristics(const DnnObject &object, int64_t requested, int64_t *count,
                  void *values) {
  std::string pattern = graphOf(*object.object(dnn::heuristicGraph)).pattern();
  *count = pattern.empty() ? 0 : numEngines;
  for (int64_t i = 0; values && i < std::min(requested, *count); ++i) {
    std::shared_ptr<DnnObject> config =
        objects().find(static_cast<dnn::Desc *>(values)[i]);
    if (!config || config->type != dnn::engineConfigDesc)
      return fail(dnn::statusBadParam, "results go into engine configurations");
    config->engine = static_cast<uint32_t>(i);
    config->values[dnn::heuristicGraph] = object.values.at(dnn::heuristicGraph);
    config->finalized = true;
  }
  return dnn::statusSuccess;
}

/// A text with the zero at its end.
int getText(const std::string &text, int64_t requested, int64_t *count,
            void *values) {
  *count = static_cast<int64_t>(text.size()) + 1;
  if (values)
    std::memcpy(values, text.c_str(),
                static_cast<size_t>(std::min(requested, *count)));
  return dnn::statusSuccess;
}

int getAttribute(dnn::Desc desc, int attribute, int type, int64_t requested,
                 int64_t *count, void *values) {
  std::shared_ptr<DnnObject> object = objects().find(desc);
  if (!object || !count)
    return fail(dnn::statusBadParam, "this is not a live descriptor");
  if (!object->finalized)
    return fail(dnn::statusBadParamNotFinalized,
                "the descriptor is not finalized");
  if (object->type == dnn::engineHeuristicDesc &&
      attribute == dnn::heuristicResults && type == dnn::typeDescriptor)
    return getHeuristics(*object, requested, count, values);
  if (object->type == dnn::engineConfigDesc && attribute == dnn::configEngine &&
      type == dnn::typeDescriptor && requested == 1) {
    std::shared_ptr<DnnObject> engine =
        objects().find(*static_cast<dnn::Desc *>(values));
    if (!engine || engine->type != dnn::engineDesc)
      return fail(dnn::statusBadParam, "an engine goes into an engine");
    engine->engine = object->engine;
    engine->finalized = true;
    *count = 1;
    return dnn::statusSuccess;
  }
  if (object->type == dnn::engineDesc &&
      attribute == dnn::engineNumericalNotes &&
      type == dnn::typeNumericalNote) {
    *count = 0;
    for (int32_t note = 0; note < dnn::noteCount; ++note)
      if (engineNotes[object->engine] >> note & 1 && *count < requested)
        static_cast<int32_t *>(values)[(*count)++] = note;
    return dnn::statusSuccess;
  }
  if (object->type == dnn::executionPlanDesc &&
      attribute == dnn::planWorkspace && type == dnn::typeInt64 &&
      requested == 1) {
    *static_cast<int64_t *>(values) = workspaceBytes;
    *count = 1;
    return dnn::statusSuccess;
  }
  if (object->type == dnn::executionPlanDesc && attribute == dnn::planJson &&
      type == dnn::typeChar)
    return getText(writeObject(*object->object(dnn::planEngineConfig)),
                   requested, count, values);
  if (object->type == dnn::devicePropDesc && attribute == dnn::devicePropJson &&
      type == dnn::typeChar)
    return getText(R"({"deviceVer":900,"deviceName":"a simulated device"})",
                   requested, count, values);
  return fail(dnn::statusNotSupported,
              "attribute " + std::to_string(attribute) +
                  " of descriptors of type " + std::to_string(object->type) +
                  " cannot be queried here");
}

int finalize(dnn::Desc desc) {
  std::shared_ptr<DnnObject> object = objects().find(desc);
  if (!object)
    return fail(dnn::statusBadParam, "this is not a live descriptor");
  if (object->finalized)
    return fail(dnn::statusBadParam, "the descriptor is finalized twice");
  if (std::string broken = checkObject(*object); !broken.empty())
    return fail(dnn::statusBadParam, broken);
  if (object->type == dnn::engineHeuristicDesc &&
      (!object->has(dnn::heuristicGraph) || !object->has(dnn::heuristicMode)))
    return fail(dnn::statusBadParam, "heuristics need a graph and a mode");
  if (object->type == dnn::devicePropDesc &&
      !object->has(dnn::devicePropHandle))
    return fail(dnn::statusBadParam, "a device's properties need a handle");
  if (object->type == dnn::executionPlanDesc && object->has(dnn::planJson)) {
    const std::vector<char> text = object->list<char>(dnn::planJson);
    std::shared_ptr<DnnObject> config =
        readObject(std::string(text.begin(), text.end()));
    SimDnnGraph graph;
    if (!config || config->type != dnn::engineConfigDesc ||
        config->engine >= numEngines || !config->has(dnn::heuristicGraph) ||
        !graph.read(*config->object(dnn::heuristicGraph)).empty())
      return fail(dnn::statusBadParam, "this is not the text of a plan");
    DnnObject::Value &value = object->values[dnn::planEngineConfig];
    value.type = dnn::typeDescriptor;
    value.count = 1;
    value.objects = {std::move(config)};
  }
  if (object->type == dnn::executionPlanDesc &&
      (!object->has(dnn::planEngineConfig) || !object->has(dnn::planHandle)))
    return fail(dnn::statusBadParam, "a plan needs a configuration, a handle");
  object->finalized = true;
  return dnn::statusSuccess;
}

/// An engine with tensor cores rounds operands of fp32 to tf32.
bool roundsOperands(const SimDnnGraph &graph, uint32_t engine) {
  bool narrow = false;
  for (const auto &[id, tensor] : graph.tensors)
    narrow |= tensor.type == dnn::f16 || tensor.type == dnn::bf16;
  return !narrow && engineNotes[engine] >> dnn::noteTensorCore & 1;
}

bool isUnordered(uint32_t engine) {
  return engineNotes[engine] >> dnn::noteNondeterministic & 1;
}

int execute(dnn::Handle handle, dnn::Desc planAt, dnn::Desc packAt) {
  std::shared_ptr<DnnObject> plan = objects().find(planAt),
                             pack = objects().find(packAt);
  if (!objects().find(handle))
    return fail(dnn::statusBadParam, "this is not a live handle");
  if (!plan || !pack || plan->type != dnn::executionPlanDesc ||
      pack->type != dnn::variantPackDesc || !plan->finalized ||
      !pack->finalized)
    return fail(dnn::statusBadParamNotFinalized,
                "a finalized plan and variant pack are expected");
  const DnnObject &config = *plan->object(dnn::planEngineConfig);
  SimDnnGraph graph = graphOf(*config.object(dnn::heuristicGraph));
  auto *workspace = pack->one<uint8_t *>(dnn::packWorkspace, nullptr);
  if (!workspace)
    return fail(dnn::statusBadParam, "the plan's workspace of " +
                                         std::to_string(workspaceBytes) +
                                         " bytes is not given");
  if (reinterpret_cast<uintptr_t>(workspace) % 16)
    return fail(dnn::statusBadParam,
                "the workspace is not aligned to 16 bytes");
  if (!isLibraryMemory(workspace, workspaceBytes))
    return fail(dnn::statusBadParam,
                "the workspace does not lie in memory of the device");
  std::map<int64_t, void *> addresses;
  auto ids = pack->list<int64_t>(dnn::packIds);
  auto pointers = pack->list<void *>(dnn::packPointers);
  for (size_t i = 0; i < ids.size(); ++i)
    addresses[ids[i]] = pointers[i];
  if (std::string broken = graph.checkAddresses(addresses); !broken.empty())
    return fail(dnn::statusBadParam, broken);
  std::memset(workspace, 0xa5, workspaceBytes);
  graph.compute(addresses, roundsOperands(graph, config.engine),
                isUnordered(config.engine));
  return dnn::statusSuccess;
}

} // namespace

size_t sinter::sim::dnnLiveObjects() { return objects().size(); }

const dnn::Api &sinter::sim::dnnApi() {
  static const dnn::Api api = [] {
    dnn::Api table{};
    table.getVersion = getVersion;
    table.create = createHandle;
    table.destroy = destroyHandle;
    table.setStream = setStream;
    table.getErrorString = getErrorString;
    table.getLastErrorString = getLastErrorString;
    table.backendCreateDescriptor = createDescriptor;
    table.backendDestroyDescriptor = destroyDescriptor;
    table.backendSetAttribute = setAttribute;
    table.backendGetAttribute = getAttribute;
    table.backendFinalize = finalize;
    table.backendExecute = execute;
    return table;
  }();
  return api;
}
