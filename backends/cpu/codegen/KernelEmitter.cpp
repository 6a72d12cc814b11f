//===- KernelEmitter.cpp - one exec.kernel as a function ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A kernel is one or several parts (a loop nest, or a solo kernel) with
// consecutive ranges of tiles. The function of kernel.h loads the addresses of
// the buffers and passes them to an inner function as arguments, which are
// `noalias` if nothing shares the buffer.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/KernelEmitter.h"
#include "backends/cpu/codegen/LoopMapping.h"
#include "backends/cpu/codegen/SoloKernels.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace sinter::cpu {

namespace {

/// A part with tiles; `emit` emits tiles [begin, end).
struct Part {
  int64_t tiles;
  std::function<void(OpBuilder &, Location, Value begin, Value end,
                     ArrayRef<Value> inputs, ArrayRef<Value> outputs)>
      emit;
  SmallVector<codegen::PartBuffers, 1> buffers;
};

/// Nothing if there is no mapping.
std::optional<Part> mapPart(const codegen::KernelPart &part, int64_t lanes) {
  if (part.nest) {
    auto loops = std::make_shared<LoopNest>(*part.nest, lanes);
    return Part{loops->tiles(),
                [loops, nest = part.nest](
                    OpBuilder &builder, Location loc, Value begin, Value end,
                    ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
                  loops->emit(builder, loc, begin, end, inputs, outputs);
                },
                part.buffers};
  }
  std::shared_ptr<SoloKernel> solo = SoloKernel::create(part.solo, lanes);
  if (!solo)
    return std::nullopt;
  return Part{solo->tiles(),
              [solo](OpBuilder &builder, Location loc, Value begin, Value end,
                     ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
                solo->emit(builder, loc, begin, end, inputs, outputs);
              },
              part.buffers};
}

/// Emits a function before `kernel` for a part that occurs several times. Its
/// arguments are the buffers, the first tile and the end of the tiles.
LLVM::LLVMFuncOp emitCommon(OpBuilder &builder, LLVM::LLVMFuncOp kernel,
                            unsigned kernelInputs, Part &part) {
  OpBuilder::InsertionGuard guard(builder);
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  auto module = kernel->getParentOfType<ModuleOp>();
  size_t numInputs = part.buffers.front().inputs.size(),
         numBuffers = numInputs + part.buffers.front().outputs.size();
  SmallVector<Type> types(numBuffers, LLVM::LLVMPointerType::get(context));
  types.append(2, builder.getI64Type());
  unsigned number = llvm::range_size(module.getOps<LLVM::LLVMFuncOp>());
  builder.setInsertionPoint(kernel);
  auto function = builder.create<LLVM::LLVMFuncOp>(
      loc, (kernel.getSymName() + "_part" + Twine(number)).str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types),
      LLVM::Linkage::Internal);
  function.setPassthroughAttr(builder.getStrArrayAttr({"noinline"}));
  // An argument is noalias only if that holds for all buffers passed for it.
  for (size_t i = 0; i < numBuffers; ++i) {
    bool isAlone =
        llvm::all_of(part.buffers, [&](const codegen::PartBuffers &buffers) {
          unsigned argument =
              i < numInputs ? buffers.inputs[i]
                            : kernelInputs + buffers.outputs[i - numInputs];
          return bool(kernel.getArgAttr(
              argument, LLVM::LLVMDialect::getNoAliasAttrName()));
        });
    if (isAlone)
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
  }
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  part.emit(builder, loc, entry->getArgument(numBuffers),
            entry->getArgument(numBuffers + 1),
            SmallVector<Value>(entry->getArguments().take_front(numInputs)),
            SmallVector<Value>(entry->getArguments().slice(
                numInputs, numBuffers - numInputs)));
  builder.create<LLVM::ReturnOp>(loc, ValueRange{});
  return function;
}

} // namespace

FailureOr<int64_t> emitKernel(exec::KernelOp kernel, ModuleOp module,
                              int64_t lanes) {
  MLIRContext *context = kernel.getContext();
  Location loc = UnknownLoc::get(context);
  Block &body = kernel.getBody().front();
  unsigned numInputs = body.getNumArguments();
  unsigned numOutputs = kernel.getYielded().size();

  std::vector<Part> parts;
  for (const codegen::KernelPart &kernelPart : codegen::kernelParts(kernel)) {
    std::optional<Part> part = mapPart(kernelPart, lanes);
    if (!part)
      return kernel->emitError("the CPU has no mapping for kernels of kind ")
             << ir::stringifyKernelKind(kernel.getKind());
    parts.push_back(std::move(*part));
  }

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type(), none = LLVM::LLVMVoidType::get(context);
  SmallVector<Type> innerTypes(numInputs + numOutputs, pointer);
  innerTypes.append({i64, i64});
  auto inner = builder.create<LLVM::LLVMFuncOp>(
      loc, (kernel.getSymName() + "_tiles").str(),
      LLVM::LLVMFunctionType::get(none, innerTypes), LLVM::Linkage::Internal);
  SmallVector<bool> shared(numInputs + numOutputs, false);
  passes::forEachInPlacePair(kernel, [&](unsigned input, unsigned output) {
    shared[input] = shared[numInputs + output] = true;
  });
  for (auto [number, isShared] : llvm::enumerate(shared))
    if (!isShared)
      inner.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(),
                       builder.getUnitAttr());

  Block *entry = inner.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value begin = entry->getArgument(numInputs + numOutputs);
  Value end = entry->getArgument(numInputs + numOutputs + 1);
  int64_t tiles = 0;
  auto number = [&](int64_t value) {
    return builder.create<arith::ConstantIntOp>(loc, value, 64).getResult();
  };
  size_t numParts = 0;
  for (const Part &part : parts)
    numParts += part.buffers.size();
  for (Part &part : parts) {
    if (part.tiles == 0)
      continue;
    LLVM::LLVMFuncOp common;
    if (part.buffers.size() > 1)
      common = emitCommon(builder, inner, numInputs, part);
    for (const codegen::PartBuffers &buffers : part.buffers) {
      Value first = begin, last = end;
      if (numParts > 1) {
        first = builder.create<arith::MaxSIOp>(loc, begin, number(tiles));
        last = builder.create<arith::MinSIOp>(loc, end,
                                              number(tiles + part.tiles));
        first = builder.create<arith::SubIOp>(loc, first, number(tiles));
        last = builder.create<arith::SubIOp>(loc, last, number(tiles));
        last = builder.create<arith::MaxSIOp>(loc, last, first);
      }
      SmallVector<Value> inputs, outputs;
      for (unsigned input : buffers.inputs)
        inputs.push_back(entry->getArgument(input));
      for (unsigned output : buffers.outputs)
        outputs.push_back(entry->getArgument(numInputs + output));
      if (buffers.shiftBytes)
        for (Value &output : outputs)
          output =
              builder.create<LLVM::GEPOp>(loc, pointer, builder.getI8Type(),
                                          output, number(buffers.shiftBytes));
      if (common) {
        SmallVector<Value> operands(inputs);
        llvm::append_range(operands, outputs);
        operands.append({first, last});
        builder.create<LLVM::CallOp>(loc, common, operands);
      } else {
        part.emit(builder, loc, first, last, inputs, outputs);
      }
      tiles += part.tiles;
    }
  }
  builder.create<LLVM::ReturnOp>(loc, ValueRange{});

  builder.setInsertionPointToEnd(module.getBody());
  auto outer = builder.create<LLVM::LLVMFuncOp>(
      loc, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(none, {pointer, i64, i64}));
  entry = outer.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < numInputs + numOutputs; ++i) {
    Value slot = builder.create<LLVM::GEPOp>(
        loc, pointer, pointer, entry->getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    arguments.push_back(builder.create<LLVM::LoadOp>(loc, pointer, slot));
  }
  arguments.append({entry->getArgument(1), entry->getArgument(2)});
  builder.create<LLVM::CallOp>(loc, inner, arguments);
  builder.create<LLVM::ReturnOp>(loc, ValueRange{});
  return tiles;
}

} // namespace sinter::cpu
