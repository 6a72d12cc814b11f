//===- Fusion.h - what the passes of the fuse phase share -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSION_H
#define SINTER_PASSES_FUSION_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// True for contractions and convolutions: one library call each, or, where the
/// target generates them, the core of a kernel.
bool isLibraryOp(mlir::Operation *op);

/// True when all elements of the constant are equal.
bool isSplatConstant(ir::ConstantOp constant);

/// True when `use` is by the function's return, for the new value of a state.
bool isNewState(mlir::OpOperand &use);

/// A kernel that reads no more elements than this costs little but its launch.
constexpr int64_t kSmallElements = 16384;

/// The elements that `fusion` reads.
int64_t elementsRead(ir::FusionOp fusion);

/// One kernel has no more buffers than this: their addresses are its
/// parameters, of which CUDA takes 32,764 bytes.
constexpr unsigned kMostBuffers = 4000;

/// Builds, at the builder's insertion point, a fusion of copies of `members`
/// (definitions before uses) that yields `results`, whose other uses then take
/// the fusion's results. The members stay, to be erased by the caller; the
/// fusion's location names them all.
ir::FusionOp buildFusion(mlir::OpBuilder &builder, llvm::StringRef kind,
                         llvm::ArrayRef<mlir::Operation *> members,
                         llvm::ArrayRef<mlir::Value> results);

/// The parts of `fusion`, if it is of `kind`, which has parts, as fusions of
/// their own before it, whose results take the place of its own; it is erased.
/// Another one is its only part.
void unpackFusion(ir::FusionOp fusion, llvm::StringRef kind,
                  llvm::SmallVectorImpl<mlir::Operation *> &parts);

/// Puts fusions of kinds loop, reduce and multi, independent of each other,
/// into one of kind multi at the builder's insertion point, which lies after
/// all of their operands and before all of their users. They are erased.
ir::FusionOp mergeFusions(mlir::OpBuilder &builder,
                          llvm::ArrayRef<ir::FusionOp> fusions);

using FusionRun = llvm::SmallVector<ir::FusionOp>;

/// `fusions` in runs that are small enough for one kernel each: one run where
/// that does, else about twice as many as there must be, which are the same
/// kernel as far as fusions that are the same allow it: the update of a deep
/// model is made once for several layers of it.
std::vector<FusionRun> kernelRuns(llvm::ArrayRef<ir::FusionOp> fusions);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSION_H
