//===- KernelView.h - one kernel of a program -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_KERNELVIEW_H
#define SINTER_COMPILER_INSPECT_KERNELVIEW_H

#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/Cubin.h"
#include "compiler/inspect/InstructionCounts.h"
#include "compiler/inspect/MachinePeaks.h"

#include <optional>

namespace sinter::compiler {

/// A kernel with the commands that launch it, or one other command. Bytes are
/// those of one launch.
struct KernelView {
  std::string name, kind, target;
  const sinter_kernel_desc *kernel = nullptr; // null: a library call or copy
  std::vector<std::string> nodes; // as in labels; each once, in order
  std::vector<std::pair<std::string, size_t>> commands; // entry and number
  std::string reads, writes; // "float32 64 B, float32 64 B"
  double bytesRead = 0, bytesWritten = 0;
  KernelFlops flops;

  // What is known of its code.
  std::string code; // in the requested form
  std::optional<InstructionCounts> counts;
  const char *countedIn = ""; // "x86 code", "PTX", "SASS"
  std::optional<CubinResources> resources;

  /// Whether the kernel computes a part of `node` or of its gradient. "grad(A)"
  /// means the gradient alone. A name may have commas.
  bool computes(llvm::StringRef node) const;
  BestTime best(const MachinePeaks &peaks) const;
};

/// All kernels of `artifact` that a command launches, in order.
std::vector<KernelView> kernelViews(const sinter_artifact &artifact);

/// Every command of `artifact` that reads or writes and is not a launch.
std::vector<KernelView> callViews(const sinter_artifact &artifact);

/// Those whose name is `name`, that compute a node of that name, whose name has
/// it as a part, or that compute a node with it as a part: the first of these
/// that any kernel fits. The kind of a library call, such as "conv", is a part
/// of the names of all its calls.
std::vector<KernelView> findKernels(llvm::ArrayRef<KernelView> views,
                                    llvm::StringRef name);

void printKernel(const KernelView &view, const MachinePeaks &peaks,
                 llvm::raw_ostream &os);
llvm::json::Object kernelJson(const KernelView &view,
                              const MachinePeaks &peaks);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_KERNELVIEW_H
