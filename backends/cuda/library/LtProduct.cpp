//===- LtProduct.cpp - one matrix product of cuBLASLt ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtProduct.h"
#include "backends/cuda/library/PlanCache.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

LtAddresses sinter::cuda::addressesOf(const LtPlan &plan, uint32_t dSlice,
                                      void *const *buffers, int64_t call) {
  int64_t offsets[LtPlan::numOperands] = {}, rest = call;
  for (int i = plan.loopRank - 1; i >= 0; --i) {
    for (int x = 0; x < LtPlan::numOperands; ++x)
      offsets[x] += rest % plan.loop[i] * plan.loopStrides[i][x];
    rest /= plan.loop[i];
  }
  auto at = [&](uint32_t slice, int operand, int32_t type) -> uint8_t * {
    if (slice == noSlice)
      return nullptr;
    return static_cast<uint8_t *>(buffers[slice]) +
           offsets[operand] * static_cast<int64_t>(lt::elementBytes(type));
  };
  bool swapped = plan.aSlice == 0;
  int32_t out = plan.d.type;
  LtAddresses found;
  found.a = at(plan.aSlice, swapped ? LtPlan::A : LtPlan::B, plan.a.type);
  found.b = at(plan.bSlice, swapped ? LtPlan::B : LtPlan::A, plan.b.type);
  found.d = at(dSlice, LtPlan::D, out);
  found.c = plan.cSlice == noSlice ? found.d : at(plan.cSlice, LtPlan::D, out);
  found.bias = at(plan.biasSlice, LtPlan::Bias, out);
  if (plan.auxSlice != noSlice)
    found.aux = hasBits(plan.epilogue)
                    ? static_cast<uint8_t *>(buffers[plan.auxSlice]) +
                          offsets[LtPlan::Aux] / 8
                    : at(plan.auxSlice, LtPlan::Aux, out);
  return found;
}

LtAlignments sinter::cuda::alignmentsOf(const LtPlan &plan,
                                        const sinter_command &command) {
  auto alignment = [&](uint32_t slice, int operand, const LtLayout &layout) {
    uint64_t bytes = lt::elementBytes(layout.type),
             common = alignmentOf(command.slices[slice]);
    for (int i = 0; i < plan.loopRank; ++i)
      common = std::gcd(
          common, static_cast<uint64_t>(plan.loopStrides[i][operand]) * bytes);
    return static_cast<uint32_t>(common);
  };
  auto beside = [&](uint32_t slice, int operand) {
    return slice == noSlice ? 0 : alignment(slice, operand, plan.d);
  };
  bool swapped = plan.aSlice == 0;
  uint32_t dSlice = command.numSlices - 1;
  return {alignment(plan.aSlice, swapped ? LtPlan::A : LtPlan::B, plan.a),
          alignment(plan.bSlice, swapped ? LtPlan::B : LtPlan::A, plan.b),
          alignment(plan.cSlice == noSlice ? dSlice : plan.cSlice, LtPlan::D,
                    plan.d),
          alignment(dSlice, LtPlan::D, plan.d),
          beside(plan.biasSlice, LtPlan::Bias),
          beside(plan.auxSlice, LtPlan::Aux)};
}

LtProduct::Scale::Scale(double value, int32_t type) {
  if (type == lt::f64)
    d = value;
  else if (type == lt::i32)
    i = static_cast<int32_t>(value);
  else
    f = static_cast<float>(value);
}

LtProduct::LtProduct(const LtContext &context, LtPlan plan)
    : context_(context), api_(context.api()), plan_(std::move(plan)),
      alpha_(plan_.alpha, plan_.scaleType), beta_(plan_.beta, plan_.scaleType) {
}

LtProduct::~LtProduct() {
  if (desc_)
    api_.matmulDescDestroy(desc_);
  for (lt::Layout layout : {a_, b_, d_})
    if (layout)
      api_.matrixLayoutDestroy(layout);
  if (preference_)
    api_.matmulPreferenceDestroy(preference_);
}

Status LtProduct::makeLayout(lt::Layout &layout, const LtLayout &from) {
  SINTER_RETURN_IF_ERROR(check(
      "MatrixLayoutCreate",
      api_.matrixLayoutCreate(&layout, from.type,
                              static_cast<uint64_t>(from.rows),
                              static_cast<uint64_t>(from.cols), from.ld)));
  if (plan_.batch == 1)
    return {};
  SINTER_RETURN_IF_ERROR(
      check("MatrixLayoutSetAttribute",
            api_.matrixLayoutSetAttribute(layout, lt::layoutBatchCount,
                                          &plan_.batch, sizeof(int32_t))));
  return check("MatrixLayoutSetAttribute",
               api_.matrixLayoutSetAttribute(layout, lt::layoutBatchStride,
                                             &from.batchStride,
                                             sizeof(int64_t)));
}

Status LtProduct::makeDesc() {
  SINTER_RETURN_IF_ERROR(
      check("MatmulDescCreate",
            api_.matmulDescCreate(&desc_, plan_.computeType, plan_.scaleType)));
  SINTER_RETURN_IF_ERROR(setDesc(lt::descTransA, plan_.transA));
  SINTER_RETURN_IF_ERROR(setDesc(lt::descTransB, plan_.transB));
  if (plan_.epilogue == lt::epilogueDefault)
    return {};
  SINTER_RETURN_IF_ERROR(setDesc(lt::descEpilogue, plan_.epilogue));
  if (plan_.biasSlice != noSlice) {
    SINTER_RETURN_IF_ERROR(setDesc(lt::descBiasDataType, plan_.d.type));
    SINTER_RETURN_IF_ERROR(
        setDesc(lt::descBiasBatchStride, plan_.biasBatchStride));
  }
  if (plan_.auxSlice != noSlice) {
    SINTER_RETURN_IF_ERROR(setDesc(lt::descAuxLd, plan_.auxLd));
    SINTER_RETURN_IF_ERROR(
        setDesc(lt::descAuxBatchStride, plan_.auxBatchStride));
  }
  return {};
}

Status LtProduct::setPreferences(const LibraryOptions &options) {
  SINTER_RETURN_IF_ERROR(check("MatmulPreferenceCreate",
                               api_.matmulPreferenceCreate(&preference_)));
  SINTER_RETURN_IF_ERROR(
      setPreference(lt::prefMaxWorkspaceBytes, options.maxWorkspaceBytes));
  if (options.deterministic) {
    uint32_t schemes = lt::reductionComputeType | lt::reductionOutputType;
    SINTER_RETURN_IF_ERROR(setPreference(lt::prefReductionSchemes, schemes));
  }
  for (int i = 0; i < 4; ++i)
    SINTER_RETURN_IF_ERROR(
        setPreference(lt::prefMinAlignmentA + i, alignments_[size_t(i)]));

  // The heuristics look only at the alignment of these pointers.
  auto standIn = [](uint32_t alignment) {
    return reinterpret_cast<void *>(uintptr_t(alignment));
  };
  if (plan_.biasSlice != noSlice)
    SINTER_RETURN_IF_ERROR(
        setDesc(lt::descBiasPointer, standIn(alignments_[4])));
  if (plan_.auxSlice != noSlice)
    SINTER_RETURN_IF_ERROR(
        setDesc(lt::descAuxPointer, standIn(alignments_[5])));

  return {};
}

/// Uses a stored algorithm, if it computes this problem within the workspace
/// limit.
bool LtProduct::adopt(const std::string &stored) {
  std::optional<lt::Algo> algo = readAlgo(stored);
  lt::HeuristicResult result{};
  if (!algo || api_.matmulAlgoCheck(context_.handle(), desc_, a_, b_, d_, d_,
                                    &*algo, &result) != lt::statusSuccess)
    return false;
  if (result.state != lt::statusSuccess ||
      result.workspaceBytes > workspaceLimit_)
    return false;
  chosen_ = {*algo, result.workspaceBytes};
  isStored_ = true;
  return true;
}

Status LtProduct::findCandidates(const LibraryOptions &options) {
  allowedBytes_ = workspaceLimit_ = options.maxWorkspaceBytes;
  cache_ = options.cache;
  if (cache_) {
    problem_ = context_.version() + "; " + textOf(plan_, alignments_, options);
    if (std::optional<std::string> stored = cache_->find(problem_)) {
      if (adopt(*stored)) {
        workspaceLimit_ = chosen_.workspaceBytes;
        return {};
      }
      cache_->discard(problem_);
    }
    // A choice by measured time must not differ from process to process.
    if (!cache_->isWritable())
      cache_.reset();
  }
  lt::HeuristicResult results[maxLtCandidates] = {};
  int returned = 0;
  int status = api_.matmulAlgoGetHeuristic(context_.handle(), desc_, a_, b_, d_,
                                           d_, preference_, maxLtCandidates,
                                           results, &returned);
  // The vendor documents INVALID_VALUE for "an impossible configuration", which
  // may be an epilogue that does not exist. The plain product then shows
  // whether it was. Stand-ins give reasons, which are errors of ours.
  bool mayBeEpilogue = status == lt::statusInvalidValue && !api_.lastError &&
                       plan_.epilogue != lt::epilogueDefault;
  if (status != lt::statusSuccess && status != lt::statusNotSupported &&
      !mayBeEpilogue)
    return context_.error("MatmulAlgoGetHeuristic", status);
  if (status != lt::statusSuccess)
    returned = 0;
  for (int i = 0; i < returned; ++i)
    if (results[i].state == lt::statusSuccess &&
        results[i].workspaceBytes <= options.maxWorkspaceBytes)
      candidates_.push_back({results[i].algo, results[i].workspaceBytes});
  if (candidates_.empty())
    return {};
  chosen_ = candidates_.front();
  workspaceLimit_ = chosen_.workspaceBytes;
  if (isCompared())
    for (const Candidate &candidate : candidates_)
      workspaceLimit_ = std::max(workspaceLimit_, candidate.workspaceBytes);
  return {};
}

Status LtProduct::noAlgorithm() const {
  return {SINTER_UNSUPPORTED,
          context_.version() + " has no algorithm for this product of " +
              std::to_string(plan_.m) + "x" + std::to_string(plan_.n) + "x" +
              std::to_string(plan_.k) + " (epilogue " +
              std::to_string(plan_.epilogue) + ") in the " +
              std::to_string(allowedBytes_) +
              " bytes of scratch that --workspace promised"};
}

int LtProduct::alternatives() {
  if (!isCompared())
    return 0;
  // An equal call may have chosen before this one.
  if (std::optional<std::string> stored = cache_->find(problem_);
      stored && adopt(*stored))
    return 0;
  return static_cast<int>(candidates_.size());
}

void LtProduct::choose(std::span<const double> leastUs) {
  select(fastest(leastUs));
  std::optional<std::string> counts =
      cache_->store(problem_, textOf(chosen_.algo));
  // An algorithm that cannot be stored is not chosen by time. If another
  // process stored its choice first, that is used.
  if (!counts || !adopt(*counts))
    select(0);
}

Status LtProduct::prepare(const LtAlignments &alignments,
                          const LibraryOptions &options) {
  alignments_ = alignments;
  SINTER_RETURN_IF_ERROR(makeDesc());
  SINTER_RETURN_IF_ERROR(makeLayout(a_, plan_.a));
  SINTER_RETURN_IF_ERROR(makeLayout(b_, plan_.b));
  SINTER_RETURN_IF_ERROR(makeLayout(d_, plan_.d));
  SINTER_RETURN_IF_ERROR(setPreferences(options));
  return findCandidates(options);
}

Status LtProduct::run(const LtAddresses &at, uint8_t *workspace,
                      lt::Stream stream) {
  if (at.bias)
    SINTER_RETURN_IF_ERROR(
        setDesc(lt::descBiasPointer, static_cast<void *>(at.bias)));
  if (at.aux)
    SINTER_RETURN_IF_ERROR(
        setDesc(lt::descAuxPointer, static_cast<void *>(at.aux)));
  return check("Matmul",
               api_.matmul(context_.handle(), desc_, &alpha_, at.a, a_, at.b,
                           b_, &beta_, at.c, d_, at.d, d_, &chosen_.algo,
                           workspace, chosen_.workspaceBytes, stream));
}

std::string LtProduct::description() const {
  std::string text = "cublasLt " + std::to_string(plan_.m) + "x" +
                     std::to_string(plan_.n) + "x" + std::to_string(plan_.k);
  text += plan_.transA == lt::opT ? " T" : " N";
  text += plan_.transB == lt::opT ? "T" : "N";
  if (plan_.batch > 1)
    text += ", batch " + std::to_string(plan_.batch);
  if (plan_.calls() > 1)
    text += ", " + std::to_string(plan_.calls()) + " calls";
  if (plan_.epilogue != lt::epilogueDefault)
    text += ", epilogue " + std::to_string(plan_.epilogue);
  if (plan_.cSlice != noSlice)
    text += ", + C";
  auto config = [&](int attribute) {
    int32_t value = 0;
    size_t written = 0;
    api_.matmulAlgoConfigGetAttribute(&chosen_.algo, attribute, &value,
                                      sizeof(value), &written);
    return value;
  };
  text += ", algorithm " + std::to_string(config(lt::algoId)) + " tile " +
          std::to_string(config(lt::algoTile));
  if (int32_t pieces = config(lt::algoSplitK); pieces > 1)
    text += " split-k " + std::to_string(pieces);
  return text +
         (isStored_ ? " (timed)"
                    : " (1 of " + std::to_string(candidates_.size()) + ")") +
         ", workspace " + std::to_string(chosen_.workspaceBytes);
}
