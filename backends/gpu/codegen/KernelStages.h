//===- KernelStages.h - the blocks of a kernel ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Gives each part of a kernel a mapping, and each mapping its blocks.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_KERNELSTAGES_H
#define SINTER_BACKENDS_GPU_CODEGEN_KERNELSTAGES_H

#include "backends/gpu/codegen/BlockPart.h"
#include "ir/exec/Exec.h"

namespace sinter::gpu {

struct PlacedPart {
  std::unique_ptr<BlockPart> part;
  llvm::SmallVector<codegen::PartBuffers, 1> buffers;
  bool isWide;                        // counts are 64 bits
  int64_t workers = 0;                // threads of a block
  int64_t firstBlock = 0, blocks = 0; // of one occurrence of the part
  /// Parts that a block computes after its block of this one, in order, with a
  /// barrier before each: they read the rows that it has just written.
  std::vector<PlacedPart> next{};
  int64_t together = 1; // blocks of a `next` part, for each of the first part

  int64_t times() const { return static_cast<int64_t>(buffers.size()); }
};

/// Parts that blocks compute side by side.
struct Stage {
  std::vector<PlacedPart> parts;
  int64_t blocks = 0;
};

/// Chooses the mappings of the parts of `kernel`. `blockThreads` becomes the
/// threads of a block. The stages of a persistent kernel are as few as
/// possible, since all blocks wait for each other between them: a stage that
/// reads only rows, each computed by one block of the stage before, is part of
/// that one. Reports an error and fails if a part has no mapping or a grid
/// cannot have that many blocks. `hasWideCounts`: as in passes::CodeGenOptions.
mlir::FailureOr<std::vector<Stage>> mapStages(exec::KernelOp kernel,
                                              const Intrinsics &intrinsics,
                                              bool hasWideCounts,
                                              int64_t &blockThreads);

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_KERNELSTAGES_H
