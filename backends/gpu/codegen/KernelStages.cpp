//===- KernelStages.cpp - the blocks of a kernel --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/KernelStages.h"
#include "passes/fuse/FusionInfo.h"

#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;

namespace sinter::gpu {

namespace {

std::unique_ptr<BlockPart> mapPart(const codegen::KernelPart &part,
                                   const Intrinsics &intrinsics) {
  if (!part.chain.empty())
    return createRowsPart(part);
  if (!part.nest) {
    for (auto *create : {createScanPart, createSortPart, createWindowPart})
      if (std::unique_ptr<BlockPart> shared = create(part.solo))
        return shared;
    return createUnitPart(part.solo);
  }
  if (part.nest->contraction)
    return createContractionPart(part.nest, intrinsics);
  return hasSharedRows(*part.nest)      ? createRowPart(part.nest)
         : hasSharedColumns(*part.nest) ? createColumnPart(part.nest)
         : hasSharedArg(*part.nest)     ? createArgPart(part.nest)
         : isTransposed(*part.nest)     ? createTransposePart(part.nest)
                                        : createLoopPart(part.nest);
}

/// Joins each stage of a persistent kernel to the one before, if each of its
/// parts reads of that one only rows that a single block computes: then that
/// block computes the part for these rows, after a barrier of its own.
class StageJoiner {
public:
  StageJoiner(exec::KernelOp kernel, int64_t blockThreads)
      : kernel(kernel), blockThreads(blockThreads),
        numInputs(kernel.getBody().front().getNumArguments()) {}

  std::vector<Stage> join(std::vector<Stage> stages) {
    std::vector<Stage> joined;
    for (Stage &stage : stages) {
      if (joined.empty() || !findLeaders(joined.back(), stage)) {
        joined.push_back(std::move(stage));
        continue;
      }
      for (auto [part, leader] : llvm::zip_equal(stage.parts, leaders)) {
        part.workers = workersFor(part, *leader);
        part.blocks = part.part->blocks(part.workers);
        part.together = leader->blocks == 1
                            ? part.blocks
                            : rowsOf(*leader)->perBlock /
                                  part.part->blockRows(part.workers)->perBlock;
        leader->next.push_back(std::move(part));
      }
    }
    return joined;
  }

private:
  /// Finds, for each part of `stage`, the part of `before` whose blocks compute
  /// the rows that it reads.
  bool findLeaders(Stage &before, const Stage &stage) {
    leaders.clear();
    for (const PlacedPart &part : stage.parts) {
      PlacedPart *leader = leaderOf(part, before);
      if (!leader || overwrites(part, before, stage))
        return false;
      leaders.push_back(leader);
    }
    return !leaders.empty();
  }

  std::optional<BlockRows> rowsOf(const PlacedPart &part) const {
    return part.part->blockRows(blockThreads);
  }

  PlacedPart *leaderOf(const PlacedPart &part, Stage &before) const {
    if (part.times() > 1)
      return nullptr;
    PlacedPart *leader = nullptr;
    for (auto [number, buffer] : llvm::enumerate(part.buffers.front().inputs)) {
      if (buffer < numInputs)
        continue;
      for (PlacedPart &first : before.parts) {
        Access access = accessTo(first, buffer - numInputs);
        if (access == Access::none)
          continue;
        if (access == Access::any || (leader && leader != &first) ||
            !part.part->readsOwnRows(number))
          return nullptr;
        leader = &first;
      }
    }
    return leader && workersFor(part, *leader) > 0 ? leader : nullptr;
  }

  /// The most threads of a block for which a block of `leader` has the rows of
  /// whole blocks of `part`; 0: there are none.
  int64_t workersFor(const PlacedPart &part, const PlacedPart &leader) const {
    BlockRows computed = *rowsOf(leader);
    for (int64_t workers = blockThreads; workers >= kWarpThreads;
         workers =
             static_cast<int64_t>(llvm::bit_floor(uint64_t(workers - 1)))) {
      std::optional<BlockRows> rows = part.part->blockRows(workers);
      if (rows && rows->count == computed.count &&
          (leader.blocks == 1 || computed.perBlock % rows->perBlock == 0))
        return workers;
    }
    return 0;
  }

  enum class Access { none, ownRows, any };

  /// How `first`, or a part after it, writes result number `result` of the
  /// kernel.
  Access accessTo(const PlacedPart &first, unsigned result) const {
    auto within = [&](const PlacedPart &part) {
      for (const codegen::PartBuffers &buffers : part.buffers)
        for (auto [number, output] : llvm::enumerate(buffers.outputs))
          if (output == result)
            return first.times() == 1 && buffers.shiftBytes == 0 &&
                           rowsOf(first) && part.part->writesOwnRows(number)
                       ? Access::ownRows
                       : Access::any;
      return Access::none;
    };
    Access access = within(first);
    for (const PlacedPart &part : first.next)
      access = std::max(access, within(part));
    return access;
  }

  /// Whether a result of `part` may take the place of a buffer that other parts
  /// of the joined stage read.
  bool overwrites(const PlacedPart &part, const Stage &before,
                  const Stage &stage) const {
    auto isRead = [&](unsigned input, ArrayRef<PlacedPart> parts,
                      auto &self) -> bool {
      return llvm::any_of(parts, [&](const PlacedPart &other) {
        return (&other != &part &&
                llvm::any_of(other.buffers,
                             [&](const codegen::PartBuffers &buffers) {
                               return llvm::is_contained(buffers.inputs, input);
                             })) ||
               self(input, other.next, self);
      });
    };
    for (unsigned input = 0; input < numInputs; ++input)
      if (isRead(input, before.parts, isRead) ||
          isRead(input, stage.parts, isRead))
        for (unsigned output : part.buffers.front().outputs)
          if (passes::mayRunInPlace(kernel, input, output))
            return true;
    return false;
  }

  exec::KernelOp kernel;
  int64_t blockThreads;
  unsigned numInputs;
  SmallVector<PlacedPart *> leaders;
};

} // namespace

FailureOr<std::vector<Stage>> mapStages(exec::KernelOp kernel,
                                        const Intrinsics &intrinsics,
                                        bool hasWideCounts,
                                        int64_t &blockThreads) {
  std::vector<Stage> stages;
  blockThreads = kWarpThreads;
  for (const std::vector<codegen::KernelPart> &kernelParts :
       codegen::kernelStages(kernel)) {
    std::vector<PlacedPart> &parts = stages.emplace_back().parts;
    for (const codegen::KernelPart &kernelPart : kernelParts) {
      std::unique_ptr<BlockPart> part = mapPart(kernelPart, intrinsics);
      if (!part) {
        kernel->emitError("GPUs have no mapping for kernels of kind ")
            << ir::stringifyKernelKind(kernel.getKind());
        return failure();
      }
      blockThreads = std::max(blockThreads, part->threads());
      bool isWide = part->reach() >= (hasWideCounts ? 1 : kFar);
      parts.push_back({std::move(part), kernelPart.buffers, isWide});
    }
  }
  for (Stage &stage : stages) {
    for (PlacedPart &placed : stage.parts) {
      placed.workers = placed.part->workers(blockThreads);
      placed.firstBlock = stage.blocks;
      placed.blocks = placed.part->blocks(blockThreads);
      stage.blocks += placed.blocks * placed.times();
      if (stage.blocks > std::numeric_limits<int32_t>::max()) {
        kernel->emitError("has more blocks of threads than a grid may have");
        return failure();
      }
    }
    llvm::erase_if(stage.parts,
                   [](const PlacedPart &p) { return p.blocks == 0; });
  }
  if (kernel.getKind() == ir::KernelKind::persistent)
    return StageJoiner(kernel, blockThreads).join(std::move(stages));
  return stages;
}

} // namespace sinter::gpu
