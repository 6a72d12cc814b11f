//===- DnnChoice.h - which engine of cuDNN computes a graph -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_DNNCHOICE_H
#define SINTER_BACKENDS_CUDA_LIBRARY_DNNCHOICE_H

#include "backends/cuda/library/DnnPlan.h"

#include <span>

namespace sinter::cuda {

/// The largest number of the heuristics' engines to compare.
inline constexpr size_t maxDnnCandidates = 8;

/// The execution plan of one graph: the plan that an earlier process stored, or
/// else the heuristics' first plan until the candidate engines are compared.
class DnnChoice {
public:
  /// `context` and `graph` must outlive it. Fails as DnnPlan::build does.
  static rt::Result<DnnChoice> make(const DnnContext &context,
                                    const DnnGraph &graph,
                                    const LibraryOptions &options);

  /// The plan that is currently used.
  const DnnPlan &plan() const { return plans_[selected_]; }
  /// The most workspace and scratch of the graph that any plan which may still
  /// be chosen needs.
  uint64_t scratchBytes() const;
  /// "a stored plan", "1 of 4 engines", "the fastest of 4 engines".
  std::string origin() const;

  /// Like the functions of rt::LibraryCall.
  int alternatives();
  void select(int index) { selected_ = static_cast<size_t>(index); }
  void choose(std::span<const double> leastUs);

private:
  DnnChoice(const DnnContext &context, const DnnGraph &graph,
            const LibraryOptions &options)
      : context_(&context), graph_(&graph), options_(options) {}
  /// Uses a stored plan, if the library accepts it and it fits.
  bool adopt(const std::string &json);
  /// Stores the plan at `index` and uses it, or the plan stored before it.
  void store(size_t index);

  const DnnContext *context_;
  const DnnGraph *graph_;
  LibraryOptions options_;
  std::string problem_;
  std::vector<DnnPlan> plans_; // several only while they are compared
  size_t selected_ = 0;
  bool isCompared_ = false; // plans will be compared later
  int compared_ = 0;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_DNNCHOICE_H
