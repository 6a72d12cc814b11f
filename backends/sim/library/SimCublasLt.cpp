//===- SimCublasLt.cpp - a cuBLASLt that checks and computes by loops -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimCublasLt.h"
#include "backends/sim/library/SimLtProblem.h"
#include "backends/sim/library/SimLtRefusal.h"
#include "backends/sim/library/SimMemory.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>

using namespace sinter;
using namespace sinter::sim;
namespace lt = sinter::cuda::lt;

namespace {

enum class Kind { Handle, Desc, Layout, Preference };

/// An object that the library hands out.
struct Object {
  Kind kind;
  LtOperation operation;
  LtMatrix matrix;
  uint64_t maxWorkspaceBytes = 0;
  uint32_t alignment[4] = {256, 256, 256, 256}; // A, B, C, D
};

/// All live objects by address, so that a stale pointer is found without
/// reading from it.
class Objects {
public:
  Object *make(Kind kind) {
    auto object = std::make_unique<Object>();
    object->kind = kind;
    Object *address = object.get();
    std::lock_guard lock(mutex_);
    objects_.emplace(address, std::move(object));
    return address;
  }
  Object *find(const void *address, Kind kind) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(address);
    return found != objects_.end() && found->second->kind == kind
               ? found->second.get()
               : nullptr;
  }
  bool destroy(const void *address, Kind kind) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(address);
    if (found == objects_.end() || found->second->kind != kind)
      return false;
    objects_.erase(found);
    return true;
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return objects_.size();
  }

private:
  std::mutex mutex_;
  std::map<const void *, std::unique_ptr<Object>> objects_;
};

Objects &objects() {
  static Objects all;
  return all;
}

thread_local std::string lastErrorText;

int fail(int status, std::string text) {
  lastErrorText = std::move(text);
  return status;
}
int invalid(std::string text) {
  return fail(lt::statusInvalidValue, std::move(text));
}

const char *lastError() {
  return lastErrorText.empty() ? nullptr : lastErrorText.c_str();
}

constexpr const char *kindNames[] = {"handle", "matmul descriptor",
                                     "matrix layout", "preference"};

template <typename T> int create(T *to, Kind kind) {
  if (!to)
    return invalid("nowhere to put the object");
  *to = reinterpret_cast<T>(objects().make(kind));
  return lt::statusSuccess;
}

int destroy(const void *object, Kind kind) {
  if (objects().destroy(object, kind))
    return lt::statusSuccess;
  return invalid(std::string("this is not a live ") +
                 kindNames[static_cast<int>(kind)]);
}

Object *find(const void *address, Kind kind) {
  Object *object = objects().find(address, kind);
  if (!object)
    lastErrorText =
        std::string("this is not a live ") + kindNames[static_cast<int>(kind)];
  return object;
}

/// The value of an attribute, if it has the size of its type.
template <typename T>
int store(T &to, const void *value, size_t sizeBytes, int attribute) {
  if (!value || sizeBytes != sizeof(T))
    return invalid("attribute " + std::to_string(attribute) + " has " +
                   std::to_string(sizeof(T)) + " bytes, not " +
                   std::to_string(sizeBytes));
  std::memcpy(&to, value, sizeof(T));
  return lt::statusSuccess;
}

int unknownAttribute(int attribute) {
  return invalid("there is no attribute " + std::to_string(attribute));
}

size_t getVersion() { return 130100; }
int createHandle(lt::Handle *handle) { return create(handle, Kind::Handle); }
int destroyHandle(lt::Handle handle) { return destroy(handle, Kind::Handle); }

int createDesc(lt::Desc *desc, int computeType, int scaleType) {
  int status = create(desc, Kind::Desc);
  if (status != lt::statusSuccess)
    return status;
  Object *object = find(*desc, Kind::Desc);
  object->operation.computeType = computeType;
  object->operation.scaleType = scaleType;
  return status;
}
int destroyDesc(lt::Desc desc) { return destroy(desc, Kind::Desc); }

int setDesc(lt::Desc desc, int attribute, const void *value, size_t sizeBytes) {
  Object *object = find(desc, Kind::Desc);
  if (!object)
    return lt::statusInvalidValue;
  LtOperation &op = object->operation;
  auto to = [&](auto &field) {
    return store(field, value, sizeBytes, attribute);
  };
  switch (attribute) {
  case lt::descComputeType:
    return to(op.computeType);
  case lt::descScaleType:
    return to(op.scaleType);
  case lt::descPointerMode:
    return to(op.pointerMode);
  case lt::descTransA:
    return to(op.transA);
  case lt::descTransB:
    return to(op.transB);
  case lt::descEpilogue:
    return to(op.epilogue);
  case lt::descBiasPointer:
    return to(op.bias);
  case lt::descBiasBatchStride:
    return to(op.biasBatchStride);
  case lt::descBiasDataType:
    return to(op.biasType);
  case lt::descAuxPointer:
    return to(op.aux);
  case lt::descAuxLd:
    return to(op.auxLd);
  case lt::descAuxBatchStride:
    return to(op.auxBatchStride);
  case lt::descAuxDataType:
    return to(op.auxType);
  default:
    return unknownAttribute(attribute);
  }
}

int createLayout(lt::Layout *layout, int type, uint64_t rows, uint64_t cols,
                 int64_t ld) {
  int status = create(layout, Kind::Layout);
  if (status != lt::statusSuccess)
    return status;
  LtMatrix &matrix = find(*layout, Kind::Layout)->matrix;
  matrix.type = type;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.ld = ld;
  matrix.order = 0;
  return status;
}
int destroyLayout(lt::Layout layout) { return destroy(layout, Kind::Layout); }

int setLayout(lt::Layout layout, int attribute, const void *value,
              size_t sizeBytes) {
  Object *object = find(layout, Kind::Layout);
  if (!object)
    return lt::statusInvalidValue;
  LtMatrix &matrix = object->matrix;
  auto to = [&](auto &field) {
    return store(field, value, sizeBytes, attribute);
  };
  switch (attribute) {
  case lt::layoutType:
    return to(matrix.type);
  case lt::layoutOrder:
    return to(matrix.order);
  case lt::layoutRows:
    return to(matrix.rows);
  case lt::layoutCols:
    return to(matrix.cols);
  case lt::layoutLd:
    return to(matrix.ld);
  case lt::layoutBatchCount:
    return to(matrix.batch);
  case lt::layoutBatchStride:
    return to(matrix.batchStride);
  default:
    return unknownAttribute(attribute);
  }
}

int createPreference(lt::Preference *preference) {
  return create(preference, Kind::Preference);
}
int destroyPreference(lt::Preference preference) {
  return destroy(preference, Kind::Preference);
}
int setPreference(lt::Preference preference, int attribute, const void *value,
                  size_t sizeBytes) {
  Object *object = find(preference, Kind::Preference);
  if (!object)
    return lt::statusInvalidValue;
  uint32_t schemes = 0;
  switch (attribute) {
  case lt::prefMaxWorkspaceBytes:
    return store(object->maxWorkspaceBytes, value, sizeBytes, attribute);
  case lt::prefReductionSchemes:
    return store(schemes, value, sizeBytes, attribute);
  case lt::prefMinAlignmentA:
  case lt::prefMinAlignmentB:
  case lt::prefMinAlignmentC:
  case lt::prefMinAlignmentD:
    return store(object->alignment[attribute - lt::prefMinAlignmentA], value,
                 sizeBytes, attribute);
  default:
    return unknownAttribute(attribute);
  }
}

/// The contents of our algorithms: {mark, the problem's hash, workspace,
/// alignments (two words), number from 1}.
constexpr uint64_t algoMark = 0x53494e5445524c54u;
/// The workspaces of the algorithms, in the order of the heuristics. All
/// compute the same.
constexpr uint64_t algoWorkspaces[] = {4096, 0, 16384, 1024};

constexpr const char *refusedText = "this combination is to be refused";

int readProblem(LtProblem &problem, lt::Desc desc, lt::Layout a, lt::Layout b,
                lt::Layout c, lt::Layout d) {
  Object *operation = find(desc, Kind::Desc);
  if (!operation)
    return lt::statusInvalidValue;
  problem.operation = operation->operation;
  std::pair<LtMatrix *, lt::Layout> layouts[] = {
      {&problem.a, a}, {&problem.b, b}, {&problem.c, c}, {&problem.d, d}};
  for (auto [matrix, layout] : layouts) {
    Object *object = find(layout, Kind::Layout);
    if (!object)
      return lt::statusInvalidValue;
    *matrix = object->matrix;
  }
  std::string broken = problem.check();
  return broken.empty() ? int(lt::statusSuccess) : invalid(broken);
}

int getHeuristic(lt::Handle handle, lt::Desc desc, lt::Layout a, lt::Layout b,
                 lt::Layout c, lt::Layout d, lt::Preference preference,
                 int requested, lt::HeuristicResult *results, int *returned) {
  Object *wishes = find(preference, Kind::Preference);
  if (!find(handle, Kind::Handle) || !wishes)
    return lt::statusInvalidValue;
  if (requested < 1 || !results || !returned)
    return invalid("no place for results");
  LtProblem problem;
  int status = readProblem(problem, desc, a, b, c, d);
  if (status != lt::statusSuccess)
    return status;
  *returned = 0;
  // The vendor's library answers in either way.
  if (isRefused(problem))
    return problem.hash() % 2 ? int(lt::statusSuccess)
                              : fail(lt::statusNotSupported, refusedText);
  uint64_t number = 0;
  for (uint64_t workspace : algoWorkspaces) {
    ++number;
    if (workspace > wishes->maxWorkspaceBytes || *returned == requested)
      continue;
    lt::HeuristicResult &result = results[(*returned)++];
    result = {};
    result.algo.data[0] = algoMark;
    result.algo.data[1] = problem.hash();
    result.algo.data[2] = workspace;
    std::memcpy(&result.algo.data[3], wishes->alignment,
                sizeof(wishes->alignment));
    result.algo.data[5] = number;
    result.workspaceBytes = workspace;
    result.waves = 1;
  }
  return lt::statusSuccess;
}

int checkAlgo(lt::Handle handle, lt::Desc desc, lt::Layout a, lt::Layout b,
              lt::Layout c, lt::Layout d, const lt::Algo *algo,
              lt::HeuristicResult *result) {
  if (!find(handle, Kind::Handle))
    return lt::statusInvalidValue;
  if (!algo || !result)
    return invalid("no algorithm, or no place for the result");
  LtProblem problem;
  int status = readProblem(problem, desc, a, b, c, d);
  if (status != lt::statusSuccess)
    return status;
  if (algo->data[0] != algoMark || algo->data[1] != problem.hash())
    return fail(lt::statusNotSupported, "the algorithm is for another problem");
  if (isRefused(problem))
    return fail(lt::statusNotSupported, refusedText);
  *result = {};
  result->algo = *algo;
  result->workspaceBytes = algo->data[2];
  result->waves = 1;
  return lt::statusSuccess;
}

int getAlgoConfig(const lt::Algo *algo, int attribute, void *value,
                  size_t sizeBytes, size_t *writtenBytes) {
  if (!algo || algo->data[0] != algoMark)
    return invalid("this is not an algorithm");
  if (!value || sizeBytes != sizeof(int32_t))
    return invalid("the configuration has 4 bytes");
  int32_t answer = attribute == lt::algoSplitK ? 1
                   : attribute == lt::algoId
                       ? static_cast<int32_t>(algo->data[5])
                       : 0;
  std::memcpy(value, &answer, sizeof(answer));
  if (writtenBytes)
    *writtenBytes = sizeof(answer);
  return lt::statusSuccess;
}

int matmul(lt::Handle handle, lt::Desc desc, const void *alpha, const void *a,
           lt::Layout aLayout, const void *b, lt::Layout bLayout,
           const void *beta, const void *c, lt::Layout cLayout, void *d,
           lt::Layout dLayout, const lt::Algo *algo, void *workspace,
           size_t workspaceBytes, lt::Stream) {
  if (!find(handle, Kind::Handle))
    return lt::statusInvalidValue;
  if (!alpha || !beta)
    return invalid("alpha or beta is null");
  LtProblem problem;
  int status = readProblem(problem, desc, aLayout, bLayout, cLayout, dLayout);
  if (status != lt::statusSuccess)
    return status;
  if (!algo || algo->data[0] != algoMark)
    return invalid("this is not an algorithm from a heuristic");
  if (algo->data[1] != problem.hash())
    return invalid("the algorithm was chosen for another problem");
  if (isRefused(problem))
    return fail(lt::statusNotSupported, refusedText);
  if (workspaceBytes < algo->data[2] || (algo->data[2] && !workspace))
    return invalid("the algorithm needs a workspace of " +
                   std::to_string(algo->data[2]) + " bytes but is given " +
                   std::to_string(workspace ? workspaceBytes : 0));
  if (reinterpret_cast<uintptr_t>(workspace) % 16)
    return invalid("the workspace is not aligned to 16 bytes");
  uint32_t alignment[4];
  std::memcpy(alignment, &algo->data[3], sizeof(alignment));
  const void *addresses[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (alignment[i] == 0 ||
        reinterpret_cast<uintptr_t>(addresses[i]) % alignment[i])
      return invalid(
          std::string("matrix ") + "ABCD"[i] + " is less aligned than the " +
          std::to_string(alignment[i]) + " bytes that the heuristic was given");
  double zero = 0;
  bool readsC =
      std::memcmp(beta, &zero, problem.d.type == lt::f64 ? 8 : 4) != 0;
  if (std::string broken = problem.checkAddresses(a, b, c, d, readsC);
      !broken.empty())
    return invalid(broken);
  if (workspaceBytes && !isLibraryMemory(workspace, workspaceBytes))
    return invalid("the workspace does not lie in memory of the device");
  if (workspace) // no data of the caller may be there
    std::memset(workspace, 0xa5, workspaceBytes);
  problem.compute(alpha, a, b, beta, c, d);
  return lt::statusSuccess;
}

} // namespace

size_t sinter::sim::ltLiveObjects() { return objects().size(); }

const lt::Api &sinter::sim::ltApi() {
  static const lt::Api api = [] {
    lt::Api table{};
    table.getVersion = getVersion;
    table.create = createHandle;
    table.destroy = destroyHandle;
    table.matmulDescCreate = createDesc;
    table.matmulDescDestroy = destroyDesc;
    table.matmulDescSetAttribute = setDesc;
    table.matrixLayoutCreate = createLayout;
    table.matrixLayoutDestroy = destroyLayout;
    table.matrixLayoutSetAttribute = setLayout;
    table.matmulPreferenceCreate = createPreference;
    table.matmulPreferenceDestroy = destroyPreference;
    table.matmulPreferenceSetAttribute = setPreference;
    table.matmulAlgoGetHeuristic = getHeuristic;
    table.matmulAlgoCheck = checkAlgo;
    table.matmulAlgoConfigGetAttribute = getAlgoConfig;
    table.matmul = matmul;
    table.lastError = lastError;
    return table;
  }();
  return api;
}
