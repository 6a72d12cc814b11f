//===- Fusion.h - what the passes of the fuse phase share -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSION_H
#define SINTER_PASSES_FUSE_FUSION_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// True when `use` returns the new value of a state from the function.
bool isNewState(mlir::OpOperand &use);

/// The value whose bytes `value` is.
mlir::Value withoutAliases(mlir::Value value);

/// A kernel that reads no more elements than this costs little more than its
/// launch.
constexpr int64_t kSmallElements = 16384;

/// The number of elements that `fusion` reads.
int64_t elementsRead(ir::KernelOp fusion);

/// The most buffers of one kernel. Their addresses are its parameters, of which
/// CUDA takes 32,764 bytes.
constexpr unsigned kMostBuffers = 4000;

/// Whether `ops` and `others`, which a pass would put into one kernel, become
/// one: a question to others (ir/Decisions.h).
bool becomeOneKernel(llvm::StringRef pass, llvm::StringRef what,
                     llvm::ArrayRef<mlir::Operation *> ops,
                     llvm::ArrayRef<mlir::Operation *> others);

/// Builds, at the builder's insertion point, a kernel of copies of `members`
/// (definitions before uses) that yields `results`. All uses of the results
/// outside of it are replaced. The caller erases the members. The location of
/// the kernel names them all. `domain` is for the kinds that have one.
ir::KernelOp buildKernel(mlir::OpBuilder &builder, ir::KernelKind kind,
                         llvm::ArrayRef<mlir::Operation *> members,
                         llvm::ArrayRef<mlir::Value> results,
                         ir::DomainAttr domain = {});
/// The same for a library call.
ir::LibraryCallOp buildLibraryCall(mlir::OpBuilder &builder,
                                   ir::LibraryCallKind kind,
                                   llvm::ArrayRef<mlir::Operation *> members,
                                   llvm::ArrayRef<mlir::Value> results);

/// If `fusion` is of `kind`, which has parts, replaces it by its parts as
/// kernels of their own and erases it. Otherwise `fusion` is its only part.
/// Appends to `parts`.
void unpackKernel(ir::KernelOp fusion, ir::KernelKind kind,
                  llvm::SmallVectorImpl<mlir::Operation *> &parts);

/// Merges kernels of kinds loop, reduce and multi that are independent of each
/// other into one of kind multi, and erases them. The insertion point must be
/// after all of their operands and before all of their users.
ir::KernelOp mergeKernels(mlir::OpBuilder &builder,
                          llvm::ArrayRef<ir::KernelOp> fusions);

using KernelRun = llvm::SmallVector<ir::KernelOp>;

/// Divides `fusions` into runs of which each is small enough for one kernel.
/// One run if that is possible; otherwise about twice as many as necessary, to
/// which equal fusions are dealt evenly. The runs then become equal kernels as
/// far as possible: the code of a deep model's update is generated once for
/// several layers.
std::vector<KernelRun> kernelRuns(llvm::ArrayRef<ir::KernelOp> fusions);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSION_H
