//===- KernelEmitter.cpp - one exec.kernel as a GPU kernel ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The parts of a kernel are consecutive ranges of blocks of the grid. The code
// of a part that occurs several times, on different buffers, is emitted once;
// its blocks choose their buffers by their block number (KernelParameters.h).
//
// In a staged kernel the parts of later stages have no blocks of their own: the
// block that finishes the first stage last does the work of all their blocks in
// sequence. In a persistent kernel each stage has blocks, as many as it needs;
// the blocks that the device runs share these evenly, and wait for each other
// before the next stage (KernelStages.h). No result depends on how many they
// are.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/KernelEmitter.h"
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/KernelParameters.h"
#include "backends/gpu/codegen/KernelStages.h"
#include "passes/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace sinter::gpu {

namespace {

class KernelBody {
public:
  KernelBody(const Intrinsics &intrinsics, OpBuilder &builder, Location loc,
             LLVM::LLVMFuncOp kernel, const KernelParameters &parameters,
             int64_t blockThreads)
      : intrinsics(intrinsics), b(builder), loc(loc), kernel(kernel),
        parameters(parameters), blockThreads(blockThreads) {
    block = intrinsics.blockId(b, loc);
    thread = intrinsics.threadId(b, loc);
  }

  /// Emits the work of the stage's block with this block's number.
  void emit(const Stage &stage) { emit(stage.parts, block); }

  /// Emits the later stages, after the first one, which has `blocks` blocks.
  void emitLater(ArrayRef<Stage> stages, int64_t blocks) {
    Threads threads(intrinsics, b, loc, kernel, blockThreads, block, thread);
    threads.afterOthers();
    Value isLast;
    if (blocks > 1)
      isLast = takesLastTicket(threads, blocks);
    else
      threads.barrier(); // the only block is the last one
    threads.when(isLast, [&] {
      for (const Stage &stage : stages) {
        if (&stage != &stages.front())
          threads.barrier();
        for (const PlacedPart &placed : stage.parts)
          emitAlone(placed);
      }
    });
  }

  /// Emits all stages of a persistent kernel. The ticket counts the blocks that
  /// have finished a stage, of all stages, and is 0 again at the end.
  void emitPersistent(ArrayRef<Stage> stages) {
    Threads threads(intrinsics, b, loc, kernel, blockThreads, block, thread);
    Value ticket = parameters.ticket(b, loc, kernel);
    Value gridBlocks = intrinsics.gridBlocks(b, loc);
    for (auto [finished, stage] : llvm::enumerate(stages)) {
      if (finished > 0)
        waitForGrid(threads, ticket, threads.mul(gridBlocks, finished));
      auto loop =
          b.create<scf::ForOp>(loc, block, number(stage.blocks), gridBlocks);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      threads.barrier(); // shared memory may be in use
      emit(stage.parts, loop.getInductionVar());
    }
    // When the last block arrives here, no block polls the ticket any more.
    threads.when(threads.isLess(thread, 1), [&] {
      Value mine = change(ticket, LLVM::AtomicBinOp::add, 1);
      Value all = threads.mul(gridBlocks, static_cast<int64_t>(stages.size()));
      Value isLast = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                             threads.add(mine, number(1)), all);
      threads.when(isLast, [&] { change(ticket, LLVM::AtomicBinOp::xchg, 0); });
    });
  }

private:
  Value change(Value ticket, LLVM::AtomicBinOp kind, int64_t value) {
    return b.create<LLVM::AtomicRMWOp>(loc, kind, ticket, number(value),
                                       LLVM::AtomicOrdering::monotonic);
  }

  /// Waits until `expected` (i32) blocks have come here, in all stages, and
  /// shows each what all of them have written. That order comes from the
  /// barrier before, a fence, the ticket, another fence and the barrier after
  /// it.
  void waitForGrid(Threads &threads, Value ticket, Value expected) {
    threads.barrier();
    threads.when(threads.isLess(thread, 1), [&] {
      intrinsics.deviceFence(b, loc);
      change(ticket, LLVM::AtomicBinOp::add, 1);
      Type i32 = b.getI32Type();
      b.create<scf::WhileOp>(
          loc, TypeRange(), ValueRange(),
          [&](OpBuilder &inner, Location, ValueRange) {
            Value count = inner.create<LLVM::LoadOp>(
                loc, i32, ticket, /*alignment=*/4, /*isVolatile=*/false,
                /*isNonTemporal=*/false, /*isInvariant=*/false,
                LLVM::AtomicOrdering::monotonic);
            Value isLess = inner.create<arith::CmpIOp>(
                loc, arith::CmpIPredicate::ult, count, expected);
            inner.create<scf::ConditionOp>(loc, isLess, ValueRange());
          },
          [&](OpBuilder &inner, Location, ValueRange) {
            inner.create<scf::YieldOp>(loc);
          });
      intrinsics.deviceFence(b, loc);
    });
    threads.barrier();
  }

  /// Emits a binary search for the part of block number `own` among `parts`.
  void emit(ArrayRef<PlacedPart> parts, Value own) {
    if (parts.size() <= 1)
      return parts.empty() ? void() : emitOne(parts.front(), own);
    size_t half = parts.size() / 2;
    Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, own,
                                            number(parts[half].firstBlock));
    auto choice = b.create<scf::IfOp>(loc, isFirst, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    emit(parts.take_front(half), own);
    b.setInsertionPointToStart(choice.elseBlock());
    emit(parts.drop_front(half), own);
  }

  /// True in all threads of the block that finishes last, which then see what
  /// all blocks have written. That order comes from the barrier before, a
  /// fence, the ticket, another fence and the barrier after it.
  Value takesLastTicket(Threads &threads, int64_t blocks) {
    Type i32 = b.getI32Type();
    Value shared = threads.beginExchange(i32, 1, /*isRepeated=*/false);
    Value ticket = parameters.ticket(b, loc, kernel);
    threads.when(threads.isLess(thread, 1), [&] {
      intrinsics.deviceFence(b, loc);
      Value mine = change(ticket, LLVM::AtomicBinOp::add, 1);
      b.create<LLVM::StoreOp>(loc, mine, shared);
      threads.when(threads.isAtLeast(mine, blocks - 1), [&] {
        change(ticket, LLVM::AtomicBinOp::xchg, 0);
        intrinsics.deviceFence(b, loc);
      });
    });
    threads.barrier();
    return threads.isAtLeast(b.create<LLVM::LoadOp>(loc, i32, shared),
                             blocks - 1);
  }

  /// Emits the work of all blocks of a part, in sequence, for every block that
  /// executes this code.
  void emitAlone(const PlacedPart &placed) {
    int64_t blocks = placed.blocks * placed.times();
    if (blocks == 1)
      return emitBlock(placed, number(0), /*isAlone=*/true);
    auto loop = b.create<scf::ForOp>(loc, number(0), number(blocks), number(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitBlock(placed, loop.getInductionVar(), /*isAlone=*/true);
  }

  void emitOne(const PlacedPart &placed, Value own) {
    if (placed.firstBlock > 0)
      own = b.create<arith::SubIOp>(loc, own, number(placed.firstBlock));
    emitBlock(placed, own, /*isAlone=*/false);
    for (const PlacedPart &next : placed.next)
      emitNext(next, own);
  }

  /// Emits the blocks of `next` that belong to block number `own` of the part
  /// before it.
  void emitNext(const PlacedPart &next, Value own) {
    Threads(intrinsics, b, loc, kernel, blockThreads, block, thread).barrier();
    if (next.together == 1)
      return emitBlock(next, own, /*isAlone=*/true);
    Value together = number(next.together);
    Value first = b.create<arith::MulIOp>(loc, own, together);
    Value end = b.create<arith::AddIOp>(loc, first, together);
    if (next.blocks % next.together != 0)
      end = b.create<arith::MinUIOp>(loc, end, number(next.blocks));
    auto loop = b.create<scf::ForOp>(loc, first, end, number(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitBlock(next, loop.getInductionVar(), /*isAlone=*/true);
  }

  /// Emits the work of the part's block number `own`. `isAlone`: the threads
  /// may have done the work of other blocks before.
  void emitBlock(const PlacedPart &placed, Value own, bool isAlone) {
    Value time;
    if (placed.times() > 1) {
      Value blocks = number(placed.blocks);
      time = b.create<arith::DivUIOp>(loc, own, blocks);
      own = b.create<arith::RemUIOp>(loc, own, blocks);
    }
    SmallVector<Value> buffers =
        parameters.buffersAt(b, loc, kernel, placed.buffers, time);
    // With one block per occurrence, its number is always 0.
    if (placed.blocks == 1)
      own = number(0);
    int64_t workers = placed.workers;
    Threads threads(intrinsics, b, loc, kernel, workers, own, thread,
                    placed.isWide, /*isPartOfBlock=*/workers < blockThreads);
    if (isAlone && workers < blockThreads)
      intrinsics.barrier(b, loc); // other threads may read an earlier exchange
    else if (isAlone)
      threads.afterOthers();
    ArrayRef<Value> all = buffers;
    size_t numIn = placed.buffers.front().inputs.size();
    threads.when(workers < blockThreads
                     ? threads.isLess(threads.thread, workers)
                     : Value(),
                 [&] {
                   placed.part->emit(threads, all.take_front(numIn),
                                     all.drop_front(numIn));
                 });
  }

  Value number(int64_t value) {
    return b.create<arith::ConstantIntOp>(loc, value, 32);
  }

  const Intrinsics &intrinsics;
  OpBuilder &b;
  Location loc;
  LLVM::LLVMFuncOp kernel;
  const KernelParameters &parameters;
  int64_t blockThreads;
  Value block, thread;
};

int64_t dynamicBytes(ArrayRef<Stage> stages, const Intrinsics &intrinsics) {
  int64_t bytes = 0;
  auto visit = [&](const PlacedPart &placed, auto &self) -> void {
    bytes =
        std::max(bytes, placed.part->dynamicBytes(intrinsics, placed.workers));
    for (const PlacedPart &next : placed.next)
      self(next, self);
  };
  for (const Stage &stage : stages)
    for (const PlacedPart &placed : stage.parts)
      visit(placed, visit);
  return bytes;
}

} // namespace

LogicalResult emitKernel(exec::KernelOp kernel, ModuleOp module,
                         const Intrinsics &intrinsics, bool hasWideCounts) {
  int64_t blockThreads = 0;
  FailureOr<std::vector<Stage>> stages =
      mapStages(kernel, intrinsics, hasWideCounts, blockThreads);
  if (failed(stages))
    return failure();
  bool isArray = false;
  int64_t mostBlocks = 1;
  for (const Stage &stage : *stages) {
    mostBlocks = std::max(mostBlocks, stage.blocks);
    for (const PlacedPart &placed : stage.parts)
      isArray |= placed.times() > kMostChosen;
  }

  Location loc = UnknownLoc::get(kernel.getContext());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  KernelParameters parameters(kernel, isArray);
  LLVM::LLVMFuncOp function =
      parameters.buildFunction(builder, kernel, intrinsics, blockThreads);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  if (intrinsics.waitForLaunches(builder, loc))
    kernel->setAttr(passes::kWaitsAttr, builder.getUnitAttr());
  KernelBody body(intrinsics, builder, loc, function, parameters, blockThreads);
  int64_t blocks = std::max<int64_t>(stages->front().blocks, 1);
  if (kernel.getKind() == ir::KernelKind::persistent) {
    blocks = mostBlocks;
    body.emitPersistent(*stages);
  } else {
    body.emit(stages->front());
    if (stages->size() > 1)
      body.emitLater(ArrayRef(*stages).drop_front(), blocks);
  }
  builder.create<LLVM::ReturnOp>(loc, ValueRange{});
  kernel.setGrid(ArrayRef<int64_t>{blocks, 1, 1});
  kernel.setBlock(ArrayRef<int64_t>{blockThreads, 1, 1});
  if (int64_t bytes = dynamicBytes(*stages, intrinsics))
    kernel.setShared(bytes);
  return success();
}

} // namespace sinter::gpu
