//===- Fusion.h - what the passes of the fuse phase share -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSION_H
#define SINTER_PASSES_FUSE_FUSION_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// True when `use` is by the function's return, for the new value of a state.
bool isNewState(mlir::OpOperand &use);

/// A kernel that reads no more elements than this costs little but its launch.
constexpr int64_t kSmallElements = 16384;

/// The elements that `fusion` reads.
int64_t elementsRead(ir::KernelOp fusion);

/// One kernel has no more buffers than this: their addresses are its
/// parameters, of which CUDA takes 32,764 bytes.
constexpr unsigned kMostBuffers = 4000;

/// Builds, at the builder's insertion point, a kernel of copies of `members`
/// (definitions before uses) that yields `results`, whose other uses then take
/// the kernel's results. The members stay, to be erased by the caller; the
/// kernel's location names them all. `domain` is for the kinds that have one.
ir::KernelOp buildKernel(mlir::OpBuilder &builder, ir::KernelKind kind,
                         llvm::ArrayRef<mlir::Operation *> members,
                         llvm::ArrayRef<mlir::Value> results,
                         ir::DomainAttr domain = {});
/// The same for a library call.
ir::LibraryCallOp buildLibraryCall(mlir::OpBuilder &builder,
                                   ir::LibraryCallKind kind,
                                   llvm::ArrayRef<mlir::Operation *> members,
                                   llvm::ArrayRef<mlir::Value> results);

/// The parts of `fusion`, if it is of `kind`, which has parts, as fusions of
/// their own before it, whose results take the place of its own; it is erased.
/// Another one is its only part.
void unpackKernel(ir::KernelOp fusion, ir::KernelKind kind,
                  llvm::SmallVectorImpl<mlir::Operation *> &parts);

/// Puts kernels of kinds loop, reduce and multi, independent of each other,
/// into one of kind multi at the builder's insertion point, which lies after
/// all of their operands and before all of their users. They are erased.
ir::KernelOp mergeKernels(mlir::OpBuilder &builder,
                          llvm::ArrayRef<ir::KernelOp> fusions);

using KernelRun = llvm::SmallVector<ir::KernelOp>;

/// `fusions` in runs that are small enough for one kernel each: one run where
/// that does, else about twice as many as there must be, which are the same
/// kernel as far as fusions that are the same allow it: the update of a deep
/// model is made once for several layers of it.
std::vector<KernelRun> kernelRuns(llvm::ArrayRef<ir::KernelOp> fusions);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSION_H
