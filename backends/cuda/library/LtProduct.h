//===- LtProduct.h - one matrix product of cuBLASLt -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTPRODUCT_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTPRODUCT_H

#include "backends/cuda/library/LtAlgorithms.h"
#include "backends/cuda/library/LtContext.h"

#include <span>
#include <vector>

namespace sinter::cuda {

/// Whether the auxiliary matrix of an epilogue holds bits.
inline bool hasBits(uint32_t epilogue) {
  return epilogue & (lt::epilogueRelu | 8u);
}

/// The operands of one call; null where the plan has none. C is D if nothing is
/// added.
struct LtAddresses {
  uint8_t *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  uint8_t *bias = nullptr, *aux = nullptr;
};

/// The operands of call number `call` of a plan. D is slice `dSlice`.
LtAddresses addressesOf(const LtPlan &plan, uint32_t dSlice,
                        void *const *buffers, int64_t call);

/// The alignments that the operands have in all calls of a plan.
LtAlignments alignmentsOf(const LtPlan &plan, const sinter_command &command);

/// The descriptors of a plan's product and the algorithm that computes it. Used
/// for each call of the plan.
class LtProduct {
public:
  /// `context` must outlive the product; the plan is not empty.
  LtProduct(const LtContext &context, LtPlan plan);
  LtProduct(const LtProduct &) = delete;
  LtProduct &operator=(const LtProduct &) = delete;
  ~LtProduct();

  /// Makes the descriptors and looks for algorithms. Having found none is not
  /// an error; see hasAlgorithm().
  rt::Status prepare(const LtAlignments &alignments,
                     const LibraryOptions &options);
  bool hasAlgorithm() const { return isStored_ || !candidates_.empty(); }
  /// SINTER_UNSUPPORTED with one line that says what was asked for.
  rt::Status noAlgorithm() const;

  const LtPlan &plan() const { return plan_; }
  /// What run() needs in any way that may be selected.
  uint64_t workspaceBytes() const { return workspaceLimit_; }
  /// Queues one call. Allocates nothing.
  rt::Status run(const LtAddresses &at, uint8_t *workspace, lt::Stream stream);

  /// As those of rt::LibraryCall.
  int alternatives();
  void select(int index) { chosen_ = candidates_[static_cast<size_t>(index)]; }
  void choose(std::span<const double> leastUs);

  /// "cublasLt 64x48x32 NN, algorithm 1 tile 0 (1 of 4), workspace 4096".
  std::string description() const;

private:
  struct Candidate {
    lt::Algo algo{};
    uint64_t workspaceBytes = 0;
  };
  /// A number in the type of alpha and beta.
  union Scale {
    float f;
    double d;
    int32_t i;
    Scale(double value, int32_t type);
  };

  rt::Status check(const char *function, int status) const {
    return status == lt::statusSuccess ? rt::Status()
                                       : context_.error(function, status);
  }
  template <typename T> rt::Status setDesc(int attribute, const T &value) {
    return check(
        "MatmulDescSetAttribute",
        api_.matmulDescSetAttribute(desc_, attribute, &value, sizeof(T)));
  }
  template <typename T>
  rt::Status setPreference(int attribute, const T &value) {
    return check("MatmulPreferenceSetAttribute",
                 api_.matmulPreferenceSetAttribute(preference_, attribute,
                                                   &value, sizeof(T)));
  }
  rt::Status makeLayout(lt::Layout &layout, const LtLayout &from);
  rt::Status makeDesc();
  rt::Status setPreferences(const LibraryOptions &options);
  rt::Status findCandidates(const LibraryOptions &options);
  bool adopt(const std::string &stored);
  bool isCompared() const {
    return !isStored_ && cache_ && candidates_.size() > 1;
  }

  const LtContext &context_;
  const lt::Api &api_;
  const LtPlan plan_;
  Scale alpha_, beta_;
  lt::Desc desc_ = nullptr;
  lt::Layout a_ = nullptr, b_ = nullptr, d_ = nullptr;
  lt::Preference preference_ = nullptr;
  LtAlignments alignments_{};
  std::vector<Candidate> candidates_; // the heuristics' best first
  Candidate chosen_;
  uint64_t allowedBytes_ = 0; // of workspace
  /// The workspace of candidates: first what is allowed, then what is
  /// requested.
  uint64_t workspaceLimit_ = 0;
  std::shared_ptr<PlanCache> cache_; // null: nothing is compared
  std::string problem_;
  bool isStored_ = false; // the choice is stored, by this or another process
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTPRODUCT_H
