//===- LtMatmul.cpp - matrix products by cuBLASLt -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtMatmul.h"
#include "backends/cuda/library/LtAlgorithms.h"
#include "backends/cuda/library/PlanCache.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

const char *statusName(int status) {
  switch (status) {
  case 1:
    return "NOT_INITIALIZED";
  case 3:
    return "ALLOC_FAILED";
  case 7:
    return "INVALID_VALUE";
  case 8:
    return "ARCH_MISMATCH";
  case 11:
    return "MAPPING_ERROR";
  case 13:
    return "EXECUTION_FAILED";
  case 14:
    return "INTERNAL_ERROR";
  case 15:
    return "NOT_SUPPORTED";
  case 16:
    return "LICENSE_ERROR";
  default:
    return "an unknown status";
  }
}

uint64_t elementBytes(int32_t type) {
  switch (type) {
  case lt::f64:
    return 8;
  case lt::f32:
  case lt::i32:
    return 4;
  case lt::f16:
  case lt::bf16:
    return 2;
  default:
    return 1;
  }
}

/// A number in the type of alpha and beta.
union Scale {
  float f;
  double d;
  int32_t i;
  Scale(double value, int32_t type) {
    if (type == lt::f64)
      d = value;
    else if (type == lt::i32)
      i = static_cast<int32_t>(value);
    else
      f = static_cast<float>(value);
  }
};

class LtMatmulCall : public LibraryCall {
public:
  LtMatmulCall(const LtContext &context, LtPlan plan)
      : context_(context), api_(context.api()), plan_(std::move(plan)),
        alpha_(plan_.alpha, plan_.scaleType),
        beta_(plan_.beta, plan_.scaleType) {}
  ~LtMatmulCall() override;

  Status prepare(const sinter_command &command, const LibraryOptions &options);

  uint64_t sharedBytes() const override { return workspaceLimit_; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &scratch, int) override {
    workspace_ = scratch.shared;
    return {};
  }
  Status run(void *const *buffers, const CallContext &context) override {
    return enqueue(buffers,
                   static_cast<lt::Stream>(
                       context.stream ? context.stream->native() : nullptr));
  }
  int alternatives() override;
  void select(int index) override {
    chosen_ = candidates_[static_cast<size_t>(index)];
  }
  void choose(std::span<const double> leastUs) override;
  std::string description() const override;

private:
  struct Candidate {
    lt::Algo algo{};
    uint64_t workspaceBytes = 0;
  };

  Status enqueue(void *const *buffers, lt::Stream stream);
  Status call(void *const *buffers, const int64_t *offsets, lt::Stream stream);
  Status check(const char *function, int status) const {
    return status == lt::statusSuccess ? Status()
                                       : context_.error(function, status);
  }
  template <typename T> Status setDesc(int attribute, const T &value) {
    return check(
        "MatmulDescSetAttribute",
        api_.matmulDescSetAttribute(desc_, attribute, &value, sizeof(T)));
  }
  template <typename T> Status setPreference(int attribute, const T &value) {
    return check("MatmulPreferenceSetAttribute",
                 api_.matmulPreferenceSetAttribute(preference_, attribute,
                                                   &value, sizeof(T)));
  }
  Status makeLayout(lt::Layout &layout, const LtLayout &from);
  Status makeDesc();
  Status setPreferences(const sinter_command &command,
                        const LibraryOptions &options);
  Status findCandidates(const LibraryOptions &options);
  bool adopt(const std::string &stored);
  bool isCompared() const {
    return !isStored_ && cache_ && candidates_.size() > 1;
  }
  uint32_t alignment(const sinter_slice &slice, int operand,
                     const LtLayout &layout) const;

  const LtContext &context_;
  const lt::Api &api_;
  const LtPlan plan_;
  Scale alpha_, beta_;
  uint32_t dSlice_ = 0;
  lt::Desc desc_ = nullptr;
  lt::Layout a_ = nullptr, b_ = nullptr, d_ = nullptr;
  lt::Preference preference_ = nullptr;
  LtAlignments alignments_{};
  std::vector<Candidate> candidates_; // the heuristics' best first
  Candidate chosen_;
  /// The workspace of candidates: first what is allowed, then what is
  /// requested.
  uint64_t workspaceLimit_ = 0;
  uint8_t *workspace_ = nullptr;
  std::shared_ptr<PlanCache> cache_; // null: nothing is compared
  std::string problem_;
  bool isStored_ = false; // the choice is stored, by this or another process
};

} // namespace

LtMatmulCall::~LtMatmulCall() {
  if (desc_)
    api_.matmulDescDestroy(desc_);
  for (lt::Layout layout : {a_, b_, d_})
    if (layout)
      api_.matrixLayoutDestroy(layout);
  if (preference_)
    api_.matmulPreferenceDestroy(preference_);
}

Status LtMatmulCall::makeLayout(lt::Layout &layout, const LtLayout &from) {
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

Status LtMatmulCall::makeDesc() {
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

/// The common alignment of all addresses at which calls read the operand.
uint32_t LtMatmulCall::alignment(const sinter_slice &slice, int operand,
                                 const LtLayout &layout) const {
  uint64_t bytes = elementBytes(layout.type), common = alignmentOf(slice);
  for (int i = 0; i < plan_.loopRank; ++i)
    common = std::gcd(
        common, static_cast<uint64_t>(plan_.loopStrides[i][operand]) * bytes);
  return static_cast<uint32_t>(common);
}

Status LtMatmulCall::setPreferences(const sinter_command &command,
                                    const LibraryOptions &options) {
  SINTER_RETURN_IF_ERROR(check("MatmulPreferenceCreate",
                               api_.matmulPreferenceCreate(&preference_)));
  SINTER_RETURN_IF_ERROR(
      setPreference(lt::prefMaxWorkspaceBytes, options.maxWorkspaceBytes));
  if (options.deterministic) {
    uint32_t schemes = lt::reductionComputeType | lt::reductionOutputType;
    SINTER_RETURN_IF_ERROR(setPreference(lt::prefReductionSchemes, schemes));
  }
  bool swapped = plan_.aSlice == 0;
  const sinter_slice *slices = command.slices;
  uint32_t a = alignment(slices[plan_.aSlice], swapped ? LtPlan::A : LtPlan::B,
                         plan_.a),
           b = alignment(slices[plan_.bSlice], swapped ? LtPlan::B : LtPlan::A,
                         plan_.b),
           d = alignment(slices[dSlice_], LtPlan::D, plan_.d),
           c = plan_.cSlice == noSlice
                   ? d
                   : alignment(slices[plan_.cSlice], LtPlan::D, plan_.d);
  auto beside = [&](uint32_t slice, int operand) {
    return slice == noSlice ? 0 : alignment(slices[slice], operand, plan_.d);
  };
  alignments_ = {a,
                 b,
                 c,
                 d,
                 beside(plan_.biasSlice, LtPlan::Bias),
                 beside(plan_.auxSlice, LtPlan::Aux)};
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
bool LtMatmulCall::adopt(const std::string &stored) {
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

Status LtMatmulCall::findCandidates(const LibraryOptions &options) {
  workspaceLimit_ = options.maxWorkspaceBytes;
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
  if (status != lt::statusSuccess && status != lt::statusNotSupported)
    return context_.error("MatmulAlgoGetHeuristic", status);
  for (int i = 0; i < returned; ++i)
    if (results[i].state == lt::statusSuccess &&
        results[i].workspaceBytes <= options.maxWorkspaceBytes)
      candidates_.push_back({results[i].algo, results[i].workspaceBytes});
  if (candidates_.empty())
    return {SINTER_UNSUPPORTED,
            context_.version() + " has no algorithm for this product of " +
                std::to_string(plan_.m) + "x" + std::to_string(plan_.n) + "x" +
                std::to_string(plan_.k) + " (epilogue " +
                std::to_string(plan_.epilogue) + ") in the " +
                std::to_string(options.maxWorkspaceBytes) +
                " bytes of scratch that --workspace promised"};
  chosen_ = candidates_.front();
  workspaceLimit_ = chosen_.workspaceBytes;
  if (isCompared())
    for (const Candidate &candidate : candidates_)
      workspaceLimit_ = std::max(workspaceLimit_, candidate.workspaceBytes);
  return {};
}

int LtMatmulCall::alternatives() {
  if (!isCompared())
    return 0;
  // An equal call may have chosen before this one.
  if (std::optional<std::string> stored = cache_->find(problem_);
      stored && adopt(*stored))
    return 0;
  return static_cast<int>(candidates_.size());
}

void LtMatmulCall::choose(std::span<const double> leastUs) {
  select(fastest(leastUs));
  std::optional<std::string> counts =
      cache_->store(problem_, textOf(chosen_.algo));
  // An algorithm that cannot be stored is not chosen by time. If another
  // process stored its choice first, that is used.
  if (!counts || !adopt(*counts))
    select(0);
}

Status LtMatmulCall::prepare(const sinter_command &command,
                             const LibraryOptions &options) {
  dSlice_ = command.numSlices - 1;
  if (plan_.empty)
    return {};
  SINTER_RETURN_IF_ERROR(makeDesc());
  SINTER_RETURN_IF_ERROR(makeLayout(a_, plan_.a));
  SINTER_RETURN_IF_ERROR(makeLayout(b_, plan_.b));
  SINTER_RETURN_IF_ERROR(makeLayout(d_, plan_.d));
  SINTER_RETURN_IF_ERROR(setPreferences(command, options));
  return findCandidates(options);
}

Status LtMatmulCall::call(void *const *buffers, const int64_t *offsets,
                          lt::Stream stream) {
  auto at = [&](uint32_t slice, int operand, int32_t type) {
    return static_cast<uint8_t *>(buffers[slice]) +
           offsets[operand] * static_cast<int64_t>(elementBytes(type));
  };
  bool swapped = plan_.aSlice == 0;
  int32_t out = plan_.d.type;
  void *d = at(dSlice_, LtPlan::D, out);
  if (plan_.biasSlice != noSlice) {
    void *bias = at(plan_.biasSlice, LtPlan::Bias, out);
    SINTER_RETURN_IF_ERROR(setDesc(lt::descBiasPointer, bias));
  }
  if (plan_.auxSlice != noSlice) {
    bool bits = plan_.epilogue & (lt::epilogueRelu | 8u);
    void *aux = bits ? static_cast<uint8_t *>(buffers[plan_.auxSlice]) +
                           offsets[LtPlan::Aux] / 8
                     : at(plan_.auxSlice, LtPlan::Aux, out);
    SINTER_RETURN_IF_ERROR(setDesc(lt::descAuxPointer, aux));
  }
  return check(
      "Matmul",
      api_.matmul(
          context_.handle(), desc_, &alpha_,
          at(plan_.aSlice, swapped ? LtPlan::A : LtPlan::B, plan_.a.type), a_,
          at(plan_.bSlice, swapped ? LtPlan::B : LtPlan::A, plan_.b.type), b_,
          &beta_,
          plan_.cSlice == noSlice ? d : at(plan_.cSlice, LtPlan::D, out), d_, d,
          d_, &chosen_.algo, workspace_, chosen_.workspaceBytes, stream));
}

Status LtMatmulCall::enqueue(void *const *buffers, lt::Stream stream) {
  if (plan_.empty)
    return {};
  int64_t calls = plan_.calls();
  for (int64_t index = 0; index < calls; ++index) {
    int64_t offsets[LtPlan::numOperands] = {}, rest = index;
    for (int i = plan_.loopRank - 1; i >= 0; --i) {
      for (int x = 0; x < LtPlan::numOperands; ++x)
        offsets[x] += rest % plan_.loop[i] * plan_.loopStrides[i][x];
      rest /= plan_.loop[i];
    }
    SINTER_RETURN_IF_ERROR(call(buffers, offsets, stream));
  }
  return {};
}

std::string LtMatmulCall::description() const {
  if (plan_.empty)
    return "matmul without work";
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

Result<std::unique_ptr<LtContext>> LtContext::create(const lt::Api &api) {
  std::unique_ptr<LtContext> context(new LtContext(api));
  int status = api.create(&context->handle_);
  if (status != lt::statusSuccess) {
    context->handle_ = nullptr;
    return context->error("Create", status);
  }
  return context;
}

LtContext::~LtContext() {
  if (handle_)
    api_.destroy(handle_);
}

std::string LtContext::version() const {
  size_t version = api_.getVersion();
  return "cuBLASLt " + std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Status LtContext::error(const char *function, int status) const {
  std::string text = std::string("cublasLt") + function +
                     " failed: " + statusName(status) + " (" +
                     std::to_string(status) + ")";
  if (const char *reason = api_.lastError ? api_.lastError() : nullptr)
    text += std::string(": ") + reason;
  return {SINTER_DEVICE_FAILED, text};
}

Result<std::unique_ptr<LibraryCall>>
sinter::cuda::prepareLtMatmul(const LtContext &context,
                              const sinter_command &command,
                              const LibraryOptions &options) {
  LtPlan plan = LtPlan::make(*command.matmul.params);
  if (!plan.refusal.empty())
    return Status(SINTER_UNSUPPORTED, plan.refusal);
  auto call = std::make_unique<LtMatmulCall>(context, std::move(plan));
  SINTER_RETURN_IF_ERROR(call->prepare(command, options));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
