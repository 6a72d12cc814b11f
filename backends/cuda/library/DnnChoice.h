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

/// How many of the heuristics' engines are compared.
inline constexpr size_t maxDnnCandidates = 8;

/// The execution plan of one graph: what an earlier start stored, or else the
/// heuristics' first, until the engines that compute it have been compared.
class DnnChoice {
public:
  /// `context` and `graph` must outlive it. Fails as DnnPlan::build does.
  static rt::Result<DnnChoice> make(const DnnContext &context,
                                    const DnnGraph &graph,
                                    const LibraryOptions &options);

  /// What computes now.
  const DnnPlan &plan() const { return plans_[selected_]; }
  /// Workspace and the graph's own scratch, of all that may come to compute.
  uint64_t scratchBytes() const;
  /// "a stored plan", "1 of 4 engines", "the fastest of 4 engines".
  std::string origin() const;

  /// As those of rt::LibraryCall.
  int alternatives();
  void select(int index) { selected_ = static_cast<size_t>(index); }
  void choose(std::span<const double> leastUs);

private:
  DnnChoice(const DnnContext &context, const DnnGraph &graph,
            const LibraryOptions &options)
      : context_(&context), graph_(&graph), options_(options) {}
  /// Takes a plan that was written down, if the library takes it and it fits.
  bool adopt(const std::string &json);
  /// Stores the plan at `index`, and takes what counts.
  void store(size_t index);

  const DnnContext *context_;
  const DnnGraph *graph_;
  LibraryOptions options_;
  std::string problem_;
  std::vector<DnnPlan> plans_; // one, but while they are compared
  size_t selected_ = 0;
  bool isCompared_ = false; // later
  int compared_ = 0;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_DNNCHOICE_H
