//===- KernelEmitter.cpp - one exec.kernel as a CUDA kernel ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The parts of a kernel lie one after the other in the grid. A part that is
// there several times, on different buffers, has one code; its blocks choose
// their buffers by their number. The parts of later stages have no blocks of
// their own: the block that is done last with the first stage does their work,
// one block's after the other.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/KernelEmitter.h"
#include "backends/cuda/codegen/BlockPart.h"
#include "passes/FusionInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace sinter::cuda {

namespace {

struct PlacedPart {
  std::unique_ptr<BlockPart> part;
  SmallVector<codegen::PartBuffers, 1> buffers;
  int64_t firstBlock, blocks; // of one time that the part is there

  int64_t times() const { return static_cast<int64_t>(buffers.size()); }
};

std::unique_ptr<BlockPart> mapPart(const codegen::KernelPart &part) {
  if (!part.nest) {
    for (auto *create : {createScanPart, createSortPart})
      if (std::unique_ptr<BlockPart> shared = create(part.solo))
        return shared;
    return createUnitPart(part.solo);
  }
  if (part.nest->contraction)
    return createContractionPart(part.nest);
  return hasSharedRows(*part.nest)      ? createRowPart(part.nest)
         : hasSharedColumns(*part.nest) ? createColumnPart(part.nest)
         : hasSharedArg(*part.nest)     ? createArgPart(part.nest)
         : isTransposed(*part.nest)     ? createTransposePart(part.nest)
                                        : createLoopPart(part.nest);
}

class KernelBody {
public:
  /// The kernel's parameters are `numRead` buffers and then those that it
  /// writes; the parts do not know of a ticket that is the last one read.
  KernelBody(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp kernel,
             unsigned numInputs, unsigned numRead, int64_t blockThreads)
      : b(builder), loc(loc), kernel(kernel), numInputs(numInputs),
        numRead(numRead), blockThreads(blockThreads) {
    block = b.create<NVVM::BlockIdXOp>(loc, b.getI32Type());
    thread = b.create<NVVM::ThreadIdXOp>(loc, b.getI32Type());
  }

  /// Emits the choice among `parts` by the block's number: halves of them at a
  /// time.
  void emit(ArrayRef<PlacedPart> parts) {
    if (parts.size() <= 1)
      return parts.empty() ? void() : emitOne(parts.front());
    size_t half = parts.size() / 2;
    Value isFirst = b.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, block,
        b.create<arith::ConstantIntOp>(loc, parts[half].firstBlock, 32));
    auto choice = b.create<scf::IfOp>(loc, isFirst, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    emit(parts.take_front(half));
    b.setInsertionPointToStart(choice.elseBlock());
    emit(parts.drop_front(half));
  }

  /// Emits the later stages, behind the first one, which has `blocks` blocks.
  void emitLater(ArrayRef<std::vector<PlacedPart>> stages, int64_t blocks) {
    Threads threads(b, loc, kernel, blockThreads, block, thread);
    threads.afterOthers();
    Value isLast;
    if (blocks > 1)
      isLast = takesLastTicket(threads, blocks);
    else
      threads.barrier(); // the only block is the last one
    threads.when(isLast, [&] {
      for (const std::vector<PlacedPart> &stage : stages) {
        if (&stage != &stages.front())
          threads.barrier();
        for (const PlacedPart &placed : stage)
          emitAlone(placed);
      }
    });
  }

private:
  /// True in all threads of the block that is done last, which then see what
  /// all blocks have written. The barrier before, a fence, the ticket, another
  /// fence and the barrier behind it order the one after the other.
  Value takesLastTicket(Threads &threads, int64_t blocks) {
    Type i32 = b.getI32Type();
    Value shared = threads.beginExchange(i32, 1, /*isRepeated=*/false);
    Value ticket = kernel.getArgument(numInputs);
    auto fence = [&] {
      b.create<LLVM::CallIntrinsicOp>(
          loc, TypeRange{}, StringRef("llvm.nvvm.membar.gl"), ValueRange{});
    };
    auto change = [&](LLVM::AtomicBinOp kind, int64_t value) -> Value {
      return b.create<LLVM::AtomicRMWOp>(loc, kind, ticket,
                                         threads.number(value),
                                         LLVM::AtomicOrdering::monotonic);
    };
    threads.when(threads.isLess(thread, 1), [&] {
      fence();
      Value mine = change(LLVM::AtomicBinOp::add, 1);
      b.create<LLVM::StoreOp>(loc, mine, shared);
      threads.when(threads.isAtLeast(mine, blocks - 1), [&] {
        change(LLVM::AtomicBinOp::xchg, 0);
        fence();
      });
    });
    threads.barrier();
    return threads.isAtLeast(b.create<LLVM::LoadOp>(loc, i32, shared),
                             blocks - 1);
  }

  /// Emits all blocks of a part, one after the other, in every block that gets
  /// here.
  void emitAlone(const PlacedPart &placed) {
    int64_t blocks = placed.blocks * placed.times();
    auto number = [&](int64_t value) -> Value {
      return b.create<arith::ConstantIntOp>(loc, value, 32);
    };
    if (blocks == 1)
      return emitBlock(placed, number(0), /*isAlone=*/true);
    auto loop = b.create<scf::ForOp>(loc, number(0), number(blocks), number(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitBlock(placed, loop.getInductionVar(), /*isAlone=*/true);
  }

  void emitOne(const PlacedPart &placed) {
    Value own = block;
    if (placed.firstBlock > 0)
      own = b.create<arith::SubIOp>(
          loc, block,
          b.create<arith::ConstantIntOp>(loc, placed.firstBlock, 32));
    emitBlock(placed, own, /*isAlone=*/false);
  }

  /// Emits what block `own` of the part's does. `isAlone`: the threads did the
  /// work of other blocks before.
  void emitBlock(const PlacedPart &placed, Value own, bool isAlone) {
    SmallVector<Value> buffers = buffersAt(placed, 0);
    if (placed.times() > 1) {
      auto blocks = b.create<arith::ConstantIntOp>(loc, placed.blocks, 32);
      Value time = b.create<arith::DivUIOp>(loc, own, blocks);
      own = b.create<arith::RemUIOp>(loc, own, blocks);
      // What all of them have in common, as a learning rate, is no choice.
      SmallVector<unsigned> places;
      for (unsigned place = 0; place < buffers.size(); ++place)
        for (size_t other = 1; other < placed.buffers.size(); ++other)
          if (bufferAt(placed, other, place) != buffers[place]) {
            places.push_back(place);
            break;
          }
      SmallVector<Value> chosen =
          choose(placed, places, time, 0, placed.buffers.size());
      for (auto [place, value] : llvm::zip_equal(places, chosen))
        buffers[place] = value;
    }
    // A part with one block knows it.
    if (placed.blocks == 1)
      own = b.create<arith::ConstantIntOp>(loc, 0, 32);
    Threads threads(b, loc, kernel, blockThreads, own, thread);
    if (isAlone)
      threads.afterOthers();
    ArrayRef<Value> all = buffers;
    size_t numIn = placed.buffers.front().inputs.size();
    placed.part->emit(threads, all.take_front(numIn), all.drop_front(numIn));
  }

  /// Of the inputs and then the outputs.
  Value bufferAt(const PlacedPart &placed, size_t time, unsigned place) {
    const codegen::PartBuffers &buffers = placed.buffers[time];
    unsigned numIn = buffers.inputs.size();
    unsigned number = place < numIn
                          ? buffers.inputs[place]
                          : numInputs + buffers.outputs[place - numIn];
    return kernel.getArgument(
        number < numInputs ? number : number - numInputs + numRead);
  }
  SmallVector<Value> buffersAt(const PlacedPart &placed, size_t time) {
    SmallVector<Value> buffers;
    const codegen::PartBuffers &own = placed.buffers[time];
    for (unsigned i = 0, count = own.inputs.size() + own.outputs.size();
         i < count; ++i)
      buffers.push_back(bufferAt(placed, time, i));
    return buffers;
  }

  /// What lies at `places` in time number `time`, one of [begin, end): halves
  /// of them at a time.
  SmallVector<Value> choose(const PlacedPart &placed, ArrayRef<unsigned> places,
                            Value time, size_t begin, size_t end) {
    SmallVector<Value> buffers;
    for (unsigned place : places)
      buffers.push_back(bufferAt(placed, begin, place));
    if (end - begin == 1 || places.empty())
      return buffers;
    size_t middle = begin + (end - begin) / 2;
    Value isFirst = b.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, time,
        b.create<arith::ConstantIntOp>(loc, middle, 32));
    auto choice = b.create<scf::IfOp>(loc, ValueRange(buffers).getTypes(),
                                      isFirst, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    b.create<scf::YieldOp>(loc, choose(placed, places, time, begin, middle));
    b.setInsertionPointToStart(choice.elseBlock());
    b.create<scf::YieldOp>(loc, choose(placed, places, time, middle, end));
    return SmallVector<Value>(choice.getResults());
  }

  OpBuilder &b;
  Location loc;
  LLVM::LLVMFuncOp kernel;
  unsigned numInputs, numRead;
  int64_t blockThreads;
  Value block, thread;
};

} // namespace

LogicalResult emitKernel(exec::KernelOp kernel, ModuleOp module) {
  MLIRContext *context = kernel.getContext();
  Location loc = UnknownLoc::get(context);
  Block &body = kernel.getBody().front();
  unsigned numInputs = body.getNumArguments();
  unsigned numOutputs = kernel.getYielded().size();

  std::vector<std::vector<PlacedPart>> stages;
  int64_t blockThreads = kWarpThreads;
  for (const std::vector<codegen::KernelPart> &kernelParts :
       codegen::kernelStages(kernel)) {
    std::vector<PlacedPart> &parts = stages.emplace_back();
    for (const codegen::KernelPart &kernelPart : kernelParts) {
      std::unique_ptr<BlockPart> part = mapPart(kernelPart);
      if (!part)
        return kernel->emitError("CUDA has no mapping for fusions of kind ")
               << kernel.getKind();
      blockThreads = std::max(blockThreads, part->threads());
      parts.push_back({std::move(part), kernelPart.buffers, 0, 0});
    }
  }
  int64_t blocks = 0; // of the first stage
  for (std::vector<PlacedPart> &parts : stages) {
    int64_t end = 0;
    for (PlacedPart &placed : parts) {
      placed.firstBlock = end;
      placed.blocks = placed.part->blocks(blockThreads);
      end += placed.blocks * placed.times();
      if (end > std::numeric_limits<int32_t>::max())
        return kernel->emitError(
            "has more blocks of threads than a grid may have");
    }
    llvm::erase_if(parts, [](const PlacedPart &p) { return p.blocks == 0; });
    if (&parts == &stages.front())
      blocks = std::max<int64_t>(end, 1);
  }

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  unsigned numRead = numInputs + kernel.isStaged();
  SmallVector<Type> types(numRead + numOutputs,
                          LLVM::LLVMPointerType::get(context));
  auto function = builder.create<LLVM::LLVMFuncOp>(
      loc, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function->setAttr(
      NVVM::NVVMDialect::getMaxntidAttrName(),
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(blockThreads), 1, 1}));
  SmallVector<bool> shared(numRead + numOutputs, false);
  passes::forEachInPlacePair(kernel, [&](unsigned input, unsigned output) {
    shared[input] = shared[numRead + output] = true;
  });
  // All of this LLVM would find out, in time quadratic in their number.
  SmallVector<Attribute> attributes;
  for (auto [number, isShared] : llvm::enumerate(shared)) {
    NamedAttrList own;
    own.set(LLVM::LLVMDialect::getNoCaptureAttrName(), builder.getUnitAttr());
    if (number < numInputs)
      own.set(LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    if (!isShared)
      own.set(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    attributes.push_back(own.getDictionary(context));
  }
  function.setAllArgAttrs(attributes);

  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  KernelBody kernelBody(builder, loc, function, numInputs, numRead,
                        blockThreads);
  kernelBody.emit(stages.front());
  if (stages.size() > 1)
    kernelBody.emitLater(ArrayRef(stages).drop_front(), blocks);
  builder.create<LLVM::ReturnOp>(loc, ValueRange{});
  kernel.setGrid(ArrayRef<int64_t>{blocks, 1, 1});
  kernel.setBlock(ArrayRef<int64_t>{blockThreads, 1, 1});
  return success();
}

} // namespace sinter::cuda
