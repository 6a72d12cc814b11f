//===- KernelEmitter.cpp - one exec.kernel as a function ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A kernel is one or several parts (a loop nest, or a solo kernel) with
// consecutive ranges of tiles. The function of kernel.h loads the buffers'
// addresses and calls an inner one that has them as arguments, where `noalias`
// can be said of those that nothing shares.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/KernelEmitter.h"
#include "backends/cpu/codegen/LoopMapping.h"
#include "backends/cpu/codegen/SoloKernels.h"
#include "passes/FusionInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace sinter::cpu {

namespace fusion_kind = passes::fusion_kind;
using passes::FusionDomain;
using passes::Index;
using passes::IndexVector;

namespace {

/// Something with tiles: emits [begin, end) of them.
struct Part {
  int64_t tiles;
  std::function<void(OpBuilder &, Location, Value begin, Value end)> emit;
};

class KernelBuilder {
public:
  KernelBuilder(int64_t lanes) : lanes(lanes) {}

  /// Adds the parts of a fusion whose block arguments and results lie at these
  /// pointers, given by their numbers among the kernel's.
  LogicalResult addParts(Operation *fusion, ArrayRef<unsigned> inputs,
                         ArrayRef<unsigned> outputs);

  SmallVector<Part> parts;
  SmallVector<Value> inputPointers, outputPointers; // set before emitting

private:
  void addNest(std::shared_ptr<LoopNest> nest, SmallVector<unsigned> inputs,
               SmallVector<unsigned> outputs) {
    int64_t tiles = nest->tiles();
    parts.push_back({tiles, [=, this](OpBuilder &builder, Location loc,
                                      Value begin, Value end) {
                       nest->emit(builder, loc, begin, end,
                                  pick(inputPointers, inputs),
                                  pick(outputPointers, outputs));
                     }});
  }
  static SmallVector<Value> pick(ArrayRef<Value> pointers,
                                 ArrayRef<unsigned> numbers) {
    SmallVector<Value> chosen;
    for (unsigned number : numbers)
      chosen.push_back(pointers[number]);
    return chosen;
  }
  int64_t lanes;
};

LogicalResult KernelBuilder::addParts(Operation *fusion,
                                      ArrayRef<unsigned> inputs,
                                      ArrayRef<unsigned> outputs) {
  Block &body = fusion->getRegion(0).front();
  StringRef kind = fusion->getAttrOfType<StringAttr>("kind").getValue();
  Operation *yield = body.getTerminator();
  SmallVector<unsigned> inputNumbers(inputs), outputNumbers(outputs);

  if (kind == fusion_kind::kMulti) {
    for (auto part : body.getOps<ir::FusionOp>()) {
      SmallVector<unsigned> partInputs, partOutputs;
      for (Value input : part.getInputs())
        partInputs.push_back(inputs[cast<BlockArgument>(input).getArgNumber()]);
      for (Value output : part.getOutputs())
        for (OpOperand &use : output.getUses())
          partOutputs.push_back(outputs[use.getOperandNumber()]);
      if (failed(addParts(part, partInputs, partOutputs)))
        return failure();
    }
    return success();
  }
  if (kind == fusion_kind::kLoop || kind == fusion_kind::kReduce) {
    FusionDomain domain = FusionDomain::read(fusion);
    std::vector<Root> roots;
    for (auto [number, value] : llvm::enumerate(yield->getOperands())) {
      const IndexVector &view = domain.views[number];
      roots.push_back({value, view, ir::tensorType(value), view, nullptr,
                       static_cast<unsigned>(number)});
    }
    addNest(std::make_shared<LoopNest>(body, domain, roots, lanes),
            inputNumbers, outputNumbers);
    return success();
  }
  if (kind == fusion_kind::kConcat) {
    auto concat = yield->getOperand(0).getDefiningOp<ir::ConcatOp>();
    int64_t offset = 0;
    for (Value operand : concat.getInputs()) {
      RankedTensorType type = ir::tensorType(operand);
      FusionDomain domain;
      IndexVector read;
      for (auto [dim, size] : llvm::enumerate(type.getShape())) {
        domain.sizes.push_back(size);
        read.push_back(size == 1 ? Index::fixed(0) : Index::loop(dim));
      }
      IndexVector write = read;
      write[concat.getAxis()] = write[concat.getAxis()].plus(offset);
      offset += type.getDimSize(concat.getAxis());
      std::vector<Root> roots{
          {operand, read, concat.getType(), write, nullptr, 0}};
      addNest(std::make_shared<LoopNest>(body, domain, roots, lanes),
              inputNumbers, outputNumbers);
    }
    return success();
  }
  std::shared_ptr<SoloKernel> solo = SoloKernel::create(&body.front(), lanes);
  if (!solo)
    return fusion->emitError("the CPU has no mapping for fusions of kind ")
           << kind;
  parts.push_back(
      {solo->tiles(), [=, this, &body](OpBuilder &builder, Location loc,
                                       Value begin, Value end) {
         // The op's operands are block arguments, its results what is yielded,
         // in any order.
         Operation *op = &body.front();
         SmallVector<Value> operands, results(op->getNumResults());
         for (Value operand : op->getOperands())
           operands.push_back(
               inputPointers
                   [inputNumbers[cast<BlockArgument>(operand).getArgNumber()]]);
         for (auto [number, value] : llvm::enumerate(yield->getOperands()))
           results[cast<OpResult>(value).getResultNumber()] =
               outputPointers[outputNumbers[number]];
         solo->emit(builder, loc, begin, end, operands, results);
       }});
  return success();
}

} // namespace

FailureOr<int64_t> emitKernel(exec::KernelOp kernel, ModuleOp module,
                              int64_t lanes) {
  MLIRContext *context = kernel.getContext();
  Location loc = UnknownLoc::get(context);
  Block &body = kernel.getBody().front();
  unsigned numInputs = body.getNumArguments();
  unsigned numOutputs = kernel.getYielded().size();

  KernelBuilder kernelBuilder(lanes);
  if (failed(kernelBuilder.addParts(
          kernel, llvm::to_vector(llvm::seq<unsigned>(0, numInputs)),
          llvm::to_vector(llvm::seq<unsigned>(0, numOutputs)))))
    return failure();

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type(), none = LLVM::LLVMVoidType::get(context);
  SmallVector<Type> innerTypes(numInputs + numOutputs, pointer);
  innerTypes.append({i64, i64});
  auto inner = builder.create<LLVM::LLVMFuncOp>(
      loc, (kernel.getSymName() + "_tiles").str(),
      LLVM::LLVMFunctionType::get(none, innerTypes), LLVM::Linkage::Internal);
  SmallVector<bool> shared(numInputs + numOutputs, false);
  for (unsigned input = 0; input < numInputs; ++input)
    for (unsigned output = 0; output < numOutputs; ++output)
      if (passes::mayRunInPlace(kernel, input, output))
        shared[input] = shared[numInputs + output] = true;
  for (auto [number, isShared] : llvm::enumerate(shared))
    if (!isShared)
      inner.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(),
                       builder.getUnitAttr());

  Block *entry = inner.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  for (unsigned i = 0; i < numInputs; ++i)
    kernelBuilder.inputPointers.push_back(entry->getArgument(i));
  for (unsigned i = 0; i < numOutputs; ++i)
    kernelBuilder.outputPointers.push_back(entry->getArgument(numInputs + i));
  Value begin = entry->getArgument(numInputs + numOutputs);
  Value end = entry->getArgument(numInputs + numOutputs + 1);
  int64_t tiles = 0;
  auto number = [&](int64_t value) {
    return builder.create<arith::ConstantIntOp>(loc, value, 64).getResult();
  };
  for (Part &part : kernelBuilder.parts) {
    if (part.tiles == 0)
      continue;
    Value first = begin, last = end;
    if (kernelBuilder.parts.size() > 1) {
      first = builder.create<arith::MaxSIOp>(loc, begin, number(tiles));
      last =
          builder.create<arith::MinSIOp>(loc, end, number(tiles + part.tiles));
      first = builder.create<arith::SubIOp>(loc, first, number(tiles));
      last = builder.create<arith::SubIOp>(loc, last, number(tiles));
      last = builder.create<arith::MaxSIOp>(loc, last, first);
    }
    part.emit(builder, loc, first, last);
    tiles += part.tiles;
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
