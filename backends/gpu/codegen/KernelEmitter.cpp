//===- KernelEmitter.cpp - one exec.kernel as a GPU kernel ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The parts of a kernel are consecutive ranges of blocks of the grid. The code
// of a part that occurs several times, on different buffers, is emitted once;
// its blocks choose their buffers by their block number. If it occurs many
// times, the kernel's parameters are one array that is indexed, so that the
// code does not grow with their number. The parts of later stages have no
// blocks of their own: the block that finishes the first stage last does the
// work of all their blocks in sequence.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/KernelEmitter.h"
#include "backends/gpu/codegen/BlockPart.h"
#include "passes/Target.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace sinter::gpu {

namespace {

struct PlacedPart {
  std::unique_ptr<BlockPart> part;
  SmallVector<codegen::PartBuffers, 1> buffers;
  bool isWide;                // counts are 64 bits
  int64_t firstBlock, blocks; // of one occurrence of the part

  int64_t times() const { return static_cast<int64_t>(buffers.size()); }
};

/// A part that occurs more often than this reads its buffers from an array.
/// Otherwise it chooses among parameters, whose aliasing LLVM knows.
constexpr int64_t kMostChosen = 8;

/// A kernel's parameters: `numRead` buffers that it reads, of which the last
/// may be the ticket counter, and then those that it writes.
struct Parameters {
  unsigned numInputs, numRead, numOutputs;
  bool isArray; // one parameter: an array of all buffers

  unsigned count() const { return numRead + numOutputs; }
  /// The position of buffer number `buffer`; outputs follow the inputs.
  unsigned placeOf(unsigned buffer) const {
    return buffer < numInputs ? buffer : buffer - numInputs + numRead;
  }
};

std::unique_ptr<BlockPart> mapPart(const codegen::KernelPart &part,
                                   const Intrinsics &intrinsics) {
  if (!part.nest) {
    for (auto *create : {createScanPart, createSortPart})
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

class KernelBody {
public:
  KernelBody(const Intrinsics &intrinsics, OpBuilder &builder, Location loc,
             LLVM::LLVMFuncOp kernel, const Parameters &parameters,
             int64_t blockThreads)
      : intrinsics(intrinsics), b(builder), loc(loc), kernel(kernel),
        parameters(parameters), blockThreads(blockThreads) {
    block = intrinsics.blockId(b, loc);
    thread = intrinsics.threadId(b, loc);
  }

  /// Emits a binary search for the block's part among `parts`.
  void emit(ArrayRef<PlacedPart> parts) {
    if (parts.size() <= 1)
      return parts.empty() ? void() : emitOne(parts.front());
    size_t half = parts.size() / 2;
    Value isFirst = b.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, block, number(parts[half].firstBlock));
    auto choice = b.create<scf::IfOp>(loc, isFirst, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    emit(parts.take_front(half));
    b.setInsertionPointToStart(choice.elseBlock());
    emit(parts.drop_front(half));
  }

  /// Emits the later stages, after the first one, which has `blocks` blocks.
  void emitLater(ArrayRef<std::vector<PlacedPart>> stages, int64_t blocks) {
    Threads threads(intrinsics, b, loc, kernel, blockThreads, block, thread);
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
  /// True in all threads of the block that finishes last, which then see what
  /// all blocks have written. That order comes from the barrier before, a
  /// fence, the ticket, another fence and the barrier after it.
  Value takesLastTicket(Threads &threads, int64_t blocks) {
    Type i32 = b.getI32Type();
    Value shared = threads.beginExchange(i32, 1, /*isRepeated=*/false);
    Value ticket = parameter(place(parameters.numInputs));
    auto fence = [&] { intrinsics.deviceFence(b, loc); };
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

  void emitOne(const PlacedPart &placed) {
    Value own = block;
    if (placed.firstBlock > 0)
      own = b.create<arith::SubIOp>(loc, block, number(placed.firstBlock));
    emitBlock(placed, own, /*isAlone=*/false);
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
    SmallVector<Value> buffers = buffersAt(placed, time);
    // With one block per occurrence, its number is always 0.
    if (placed.blocks == 1)
      own = number(0);
    Threads threads(intrinsics, b, loc, kernel, blockThreads, own, thread,
                    placed.isWide);
    if (isAlone)
      threads.afterOthers();
    ArrayRef<Value> all = buffers;
    size_t numIn = placed.buffers.front().inputs.size();
    placed.part->emit(threads, all.take_front(numIn), all.drop_front(numIn));
  }

  /// For one occurrence: the positions of the part's inputs and outputs among
  /// the parameters, and the distance of its writes from the first
  /// occurrence's.
  using Row = SmallVector<int64_t>;

  Row rowOf(const codegen::PartBuffers &buffers) const {
    Row row;
    for (unsigned input : buffers.inputs)
      row.push_back(parameters.placeOf(input));
    for (unsigned output : buffers.outputs)
      row.push_back(parameters.placeOf(parameters.numInputs + output));
    row.push_back(buffers.shiftBytes);
    return row;
  }

  /// The buffers of occurrence number `time`: inputs, then outputs.
  SmallVector<Value> buffersAt(const PlacedPart &placed, Value time) {
    std::vector<Row> rows;
    for (const codegen::PartBuffers &buffers : placed.buffers)
      rows.push_back(rowOf(buffers));
    // A buffer that all occurrences share, such as a learning rate, is not
    // chosen.
    size_t numBuffers = rows[0].size() - 1;
    SmallVector<Value> chosen(rows[0].size());
    SmallVector<unsigned> columns;
    for (unsigned i = 0; i < rows[0].size(); ++i)
      if (llvm::all_of(rows, [&](auto &row) { return row[i] == rows[0][i]; }))
        chosen[i] = i < numBuffers ? place(rows[0][i]) : Value();
      else
        columns.push_back(i);
    if (!columns.empty()) {
      SmallVector<bool> arePlaces = llvm::map_to_vector(
          columns, [&](unsigned i) { return i < numBuffers; });
      for (Row &row : rows)
        row = llvm::map_to_vector(columns, [&](unsigned i) { return row[i]; });
      for (auto [i, value] : llvm::zip_equal(
               columns, choose(rows, arePlaces, evenRuns(rows), time)))
        chosen[i] = value;
    }
    SmallVector<Value> buffers;
    for (Value place : ArrayRef(chosen).drop_back())
      buffers.push_back(parameter(place));
    if (Value shift = chosen.back())
      for (Value &output :
           MutableArrayRef(buffers).take_back(placed.buffers[0].outputs.size()))
        output = b.create<LLVM::GEPOp>(loc, output.getType(), b.getI8Type(),
                                       output, shift);
    return buffers;
  }

  /// The first rows of runs of `rows` in which each number grows evenly, and
  /// the end. Without an array positions cannot be computed: each row is a run.
  std::vector<size_t> evenRuns(ArrayRef<Row> rows) const {
    std::vector<size_t> runs{0};
    for (size_t i = 1; i < rows.size(); ++i) {
      bool goesOn = parameters.isArray;
      if (goesOn && i - runs.back() > 1)
        for (size_t k = 0; k < rows[i].size(); ++k)
          goesOn &=
              rows[i][k] - rows[i - 1][k] == rows[i - 1][k] - rows[i - 2][k];
      if (!goesOn)
        runs.push_back(i);
    }
    runs.push_back(rows.size());
    return runs;
  }

  /// Emits a binary search of `runs` for the values in row number `time`.
  SmallVector<Value> choose(ArrayRef<Row> rows, ArrayRef<bool> arePlaces,
                            ArrayRef<size_t> runs, Value time) {
    if (runs.size() == 2)
      return step(rows.slice(runs[0], runs[1] - runs[0]), arePlaces, runs[0],
                  time);
    size_t half = (runs.size() - 1) / 2;
    Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                            time, number(runs[half]));
    SmallVector<Type> types;
    for (bool isPlace : arePlaces)
      types.push_back(isPlace ? place(0).getType() : b.getI32Type());
    auto choice =
        b.create<scf::IfOp>(loc, types, isFirst, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    b.create<scf::YieldOp>(
        loc, choose(rows, arePlaces, runs.take_front(half + 1), time));
    b.setInsertionPointToStart(choice.elseBlock());
    b.create<scf::YieldOp>(
        loc, choose(rows, arePlaces, runs.drop_front(half), time));
    return SmallVector<Value>(choice.getResults());
  }

  /// The same for `rows` of one run, which begins at row `first`.
  SmallVector<Value> step(ArrayRef<Row> rows, ArrayRef<bool> arePlaces,
                          size_t first, Value time) {
    SmallVector<Value> values;
    if (rows.size() == 1) {
      for (auto [value, isPlace] : llvm::zip_equal(rows[0], arePlaces))
        values.push_back(isPlace ? place(value) : number(value));
      return values;
    }
    Value steps = b.create<arith::SubIOp>(loc, time, number(first));
    for (auto [from, next] : llvm::zip_equal(rows[0], rows[1])) {
      Value ahead = b.create<arith::MulIOp>(loc, steps, number(next - from));
      values.push_back(b.create<arith::AddIOp>(loc, ahead, number(from)));
    }
    return values;
  }

  /// Parameter number `i`: its index if the parameters are an array, else the
  /// parameter itself.
  Value place(unsigned i) {
    return parameters.isArray ? number(i) : Value(kernel.getArgument(i));
  }
  /// The buffer's address at `place`. Code chooses indices, not addresses: LLVM
  /// then sees that the array is only read, and reads it without a copy.
  Value parameter(Value place) {
    if (!parameters.isArray)
      return place;
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value address = b.create<LLVM::GEPOp>(loc, pointer, pointer,
                                          kernel.getArgument(0), place,
                                          /*inbounds=*/true);
    return b.create<LLVM::LoadOp>(loc, pointer, address);
  }
  Value number(int64_t value) {
    return b.create<arith::ConstantIntOp>(loc, value, 32);
  }

  const Intrinsics &intrinsics;
  OpBuilder &b;
  Location loc;
  LLVM::LLVMFuncOp kernel;
  Parameters parameters;
  int64_t blockThreads;
  Value block, thread;
};

/// Sets attributes of the pointers. LLVM could derive them, but in time
/// quadratic in their number.
void describePointers(OpBuilder &builder, exec::KernelOp kernel,
                      const Parameters &parameters, LLVM::LLVMFuncOp function) {
  SmallVector<bool> shared(parameters.count(), false);
  passes::forEachInPlacePair(kernel, [&](unsigned input, unsigned output) {
    shared[input] = shared[parameters.numRead + output] = true;
  });
  SmallVector<Attribute> attributes;
  for (auto [number, isShared] : llvm::enumerate(shared)) {
    NamedAttrList own;
    own.set(LLVM::LLVMDialect::getNoCaptureAttrName(), builder.getUnitAttr());
    if (number < parameters.numInputs)
      own.set(LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    if (!isShared)
      own.set(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    attributes.push_back(own.getDictionary(builder.getContext()));
  }
  function.setAllArgAttrs(attributes);
}

/// The array is passed by value and is constant for the grid, so it is read
/// without a copy. The bytes of a launch's parameters are the same either way.
void describeArray(const Intrinsics &intrinsics, OpBuilder &builder, Type array,
                   LLVM::LLVMFuncOp function) {
  NamedAttrList own;
  own.set(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(array));
  own.set(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(8));
  own.set(LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  intrinsics.describeArray(own, builder.getContext());
  function.setArgAttrs(0, own.getAttrs());
}

LLVM::LLVMFuncOp buildFunction(const Intrinsics &intrinsics, OpBuilder &builder,
                               exec::KernelOp kernel,
                               const Parameters &parameters,
                               int64_t blockThreads) {
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> types(parameters.isArray ? 1 : parameters.count(), pointer);
  auto function = builder.create<LLVM::LLVMFuncOp>(
      UnknownLoc::get(context), kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  intrinsics.describeKernel(function, blockThreads);
  if (parameters.isArray)
    describeArray(intrinsics, builder,
                  LLVM::LLVMArrayType::get(pointer, parameters.count()),
                  function);
  else
    describePointers(builder, kernel, parameters, function);
  return function;
}

} // namespace

LogicalResult emitKernel(exec::KernelOp kernel, ModuleOp module,
                         const Intrinsics &intrinsics, bool hasWideCounts) {
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
      std::unique_ptr<BlockPart> part = mapPart(kernelPart, intrinsics);
      if (!part)
        return kernel->emitError("GPUs have no mapping for kernels of kind ")
               << ir::stringifyKernelKind(kernel.getKind());
      blockThreads = std::max(blockThreads, part->threads());
      bool isWide = part->reach() >= (hasWideCounts ? 1 : kFar);
      parts.push_back({std::move(part), kernelPart.buffers, isWide, 0, 0});
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
  Parameters parameters{numInputs, numInputs + kernel.isStaged(), numOutputs,
                        /*isArray=*/false};
  for (const std::vector<PlacedPart> &parts : stages)
    for (const PlacedPart &placed : parts)
      parameters.isArray |= placed.times() > kMostChosen;
  LLVM::LLVMFuncOp function =
      buildFunction(intrinsics, builder, kernel, parameters, blockThreads);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  if (intrinsics.waitForLaunches(builder, loc))
    kernel->setAttr(passes::kWaitsAttr, builder.getUnitAttr());
  KernelBody kernelBody(intrinsics, builder, loc, function, parameters,
                        blockThreads);
  kernelBody.emit(stages.front());
  if (stages.size() > 1)
    kernelBody.emitLater(ArrayRef(stages).drop_front(), blocks);
  builder.create<LLVM::ReturnOp>(loc, ValueRange{});
  kernel.setGrid(ArrayRef<int64_t>{blocks, 1, 1});
  kernel.setBlock(ArrayRef<int64_t>{blockThreads, 1, 1});
  return success();
}

} // namespace sinter::gpu
