//===- NvvmIntrinsics.cpp - NVIDIA's instructions for kernels -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/NvvmIntrinsics.h"
#include "backends/cuda/codegen/LaunchWaits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace sinter::cuda {
namespace {

using gpu::MatrixElement;

/// Calls the intrinsic llvm.nvvm.NAME; the NVVM dialect has no op for it, or
/// one with fewer types. `result` may be null: none.
Value call(OpBuilder &b, Location loc, const llvm::Twine &name, Type result,
           ValueRange operands) {
  auto op = b.create<LLVM::CallIntrinsicOp>(
      loc, result ? TypeRange{result} : TypeRange{},
      llvm::StringRef(("llvm.nvvm." + name).str()), operands);
  return result ? op.getResult(0) : Value();
}

Type structOf(OpBuilder &b, int64_t count, Type element) {
  return LLVM::LLVMStructType::getLiteral(b.getContext(),
                                          SmallVector<Type>(count, element));
}

class NvvmIntrinsics : public gpu::Intrinsics {
public:
  void describeKernel(LLVM::LLVMFuncOp function,
                      int64_t blockThreads) const override {
    Builder b(function.getContext());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                      b.getUnitAttr());
    function->setAttr(
        NVVM::NVVMDialect::getMaxntidAttrName(),
        b.getDenseI32ArrayAttr({static_cast<int32_t>(blockThreads), 1, 1}));
  }
  void describeArray(NamedAttrList &attributes,
                     MLIRContext *context) const override {
    attributes.set(NVVM::NVVMDialect::getGridConstantAttrName(),
                   UnitAttr::get(context));
  }
  unsigned globalSpace() const override { return 1; }
  unsigned sharedSpace() const override { return 3; }

  Value blockId(OpBuilder &b, Location loc) const override {
    return b.create<NVVM::BlockIdXOp>(loc, b.getI32Type());
  }
  Value threadId(OpBuilder &b, Location loc) const override {
    return b.create<NVVM::ThreadIdXOp>(loc, b.getI32Type());
  }
  Value gridBlocks(OpBuilder &b, Location loc) const override {
    return b.create<NVVM::GridDimXOp>(loc, b.getI32Type());
  }
  Value dynamicSharedBytes(OpBuilder &b, Location loc) const override {
    return b
        .create<LLVM::InlineAsmOp>(loc, TypeRange(b.getI32Type()), ValueRange(),
                                   "mov.u32 $0, %dynamic_smem_size;", "=r",
                                   /*has_side_effects=*/false,
                                   /*is_align_stack=*/false,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
        .getResult(0);
  }
  int64_t mostSharedBytes() const override { return 227 << 10; }
  void barrier(OpBuilder &b, Location loc) const override {
    b.create<NVVM::Barrier0Op>(loc);
  }
  /// The hardware has 16 barriers, of which number 0 is that of all threads.
  void partialBarrier(OpBuilder &b, Location loc,
                      int64_t threads) const override {
    auto number = [&](int64_t value) -> Value {
      return b.create<arith::ConstantIntOp>(loc, value, 32);
    };
    b.create<NVVM::BarrierOp>(loc, number(1), number(threads));
  }
  void deviceFence(OpBuilder &b, Location loc) const override {
    call(b, loc, "membar.gl", Type(), {});
  }
  /// The next launch may begin only after the wait: then at most two launches
  /// of a stream are on the device at a time.
  bool waitForLaunches(OpBuilder &b, Location loc) const override {
    for (llvm::StringRef text : {kWaitForLaunches, kLetNextLaunchBegin})
      b.create<LLVM::InlineAsmOp>(
          loc, TypeRange(), ValueRange(), text, "~{memory}",
          /*has_side_effects=*/true, /*is_align_stack=*/false,
          LLVM::AsmDialectAttr(), ArrayAttr());
    return true;
  }
  Value shuffleXor(OpBuilder &b, Location loc, Value word,
                   int64_t mask) const override {
    auto number = [&](int64_t value) -> Value {
      return b.create<arith::ConstantIntOp>(loc, value, 32);
    };
    return b.create<NVVM::ShflOp>(loc, word.getType(), number(-1), word,
                                  number(mask), number(gpu::kWarpThreads - 1),
                                  NVVM::ShflKind::bfly, UnitAttr());
  }

  bool roundsPairs() const override { return true; }
  Value roundPair(OpBuilder &b, Location loc, Type element, Value low,
                  Value high) const override {
    // The first operand becomes the upper half.
    Value pair = call(b, loc, element.isF16() ? "ff2f16x2.rn" : "ff2bf16x2.rn",
                      VectorType::get({2}, element), {high, low});
    return b.create<LLVM::BitcastOp>(loc, b.getI32Type(), pair);
  }

  /// Copies of 16 bytes bypass the L1 cache: no other block of the
  /// multiprocessor needs them soon.
  void copyAsync(OpBuilder &b, Location loc, Value to, Value from,
                 int64_t bytes, Value available) const override {
    std::string name = std::string("cp.async.") + (bytes == 16 ? "cg" : "ca") +
                       ".shared.global." + std::to_string(bytes);
    SmallVector<Value> operands{to, from};
    if (available) {
      name += ".s";
      operands.push_back(available);
    }
    call(b, loc, name, Type(), operands);
  }
  void endCopyGroup(OpBuilder &b, Location loc) const override {
    b.create<NVVM::CpAsyncCommitGroupOp>(loc);
  }
  void waitForCopies(OpBuilder &b, Location loc,
                     int64_t pending) const override {
    b.create<NVVM::CpAsyncWaitGroupOp>(loc, pending);
  }

  bool hasMatrices(MatrixElement) const override { return true; }
  SmallVector<Value> loadMatrices(OpBuilder &b, Location loc, Value address,
                                  bool isTransposed) const override {
    Value loaded = b.create<NVVM::LdMatrixOp>(
        loc, structOf(b, 4, b.getI32Type()), address, 4,
        isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row);
    SmallVector<Value> values;
    for (int64_t i = 0; i < 4; ++i)
      values.push_back(b.create<LLVM::ExtractValueOp>(loc, loaded, i));
    return values;
  }
  Value matrixOperand(OpBuilder &b, Location loc, MatrixElement element,
                      Value word) const override {
    switch (element) {
    case MatrixElement::Float16:
      return b.create<LLVM::BitcastOp>(
          loc, VectorType::get({2}, b.getF16Type()), word);
    case MatrixElement::Bfloat16:
      return word;
    case MatrixElement::Tf32:
      Value number = b.create<LLVM::BitcastOp>(loc, b.getF32Type(), word);
      return call(b, loc, "f2tf32.rna", b.getI32Type(), number);
    }
    llvm_unreachable("not an element of matrices");
  }
  void multiplyAdd(OpBuilder &b, Location loc, MatrixElement element,
                   ArrayRef<Value> rows, ArrayRef<Value> columns,
                   MutableArrayRef<Value> sums) const override {
    SmallVector<Value> operands(rows);
    llvm::append_range(operands, columns);
    llvm::append_range(operands, sums);
    Value product = call(b, loc, instruction(element),
                         structOf(b, sums.size(), b.getF32Type()), operands);
    for (auto [number, sum] : llvm::enumerate(sums))
      sum = b.create<LLVM::ExtractValueOp>(loc, product, number);
  }

private:
  static llvm::StringRef instruction(MatrixElement element) {
    switch (element) {
    case MatrixElement::Float16:
      return "mma.m16n8k16.row.col.f32.f32";
    case MatrixElement::Bfloat16:
      return "mma.m16n8k16.row.col.bf16";
    case MatrixElement::Tf32:
      return "mma.m16n8k8.row.col.tf32";
    }
    llvm_unreachable("not an element of matrices");
  }
};

} // namespace

const gpu::Intrinsics &nvvmIntrinsics() {
  static const NvvmIntrinsics intrinsics;
  return intrinsics;
}

} // namespace sinter::cuda
