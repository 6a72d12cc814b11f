//===- OtherVendorTest.cpp - kernels for a GPU that is not NVIDIA's -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Implements the interface of intrinsics by ROCDL ops, and lowers kernels to
// the assembly of an AMD GPU. Nothing runs it: the test shows that the mappings
// need nothing but the interface. docs/add-a-device.md says what a backend
// adds.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/Lowering.h"
#include "ir/exec/Exec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"

#include <catch2/catch.hpp>

using namespace sinter;
using namespace mlir;

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
}

namespace {

class RocdlIntrinsics : public gpu::Intrinsics {
public:
  void describeKernel(LLVM::LLVMFuncOp function,
                      int64_t blockThreads) const override {
    Builder b(function.getContext());
    function->setAttr("rocdl.kernel", b.getUnitAttr());
    function->setAttr("rocdl.flat_work_group_size",
                      b.getStringAttr("1," + std::to_string(blockThreads)));
  }
  void describeArray(NamedAttrList &, MLIRContext *) const override {
    FAIL("kernels of many parts");
  }
  unsigned globalSpace() const override { return 1; }
  unsigned sharedSpace() const override { return 3; }

  Value blockId(OpBuilder &b, Location loc) const override {
    return b.create<ROCDL::BlockIdXOp>(loc, b.getI32Type());
  }
  Value threadId(OpBuilder &b, Location loc) const override {
    return b.create<ROCDL::ThreadIdXOp>(loc, b.getI32Type());
  }
  Value gridBlocks(OpBuilder &, Location) const override {
    FAIL("only a persistent kernel asks");
    return {};
  }
  Value dynamicSharedBytes(OpBuilder &, Location) const override {
    FAIL("only long rows ask");
    return {};
  }
  int64_t mostSharedBytes() const override { return 64 << 10; }
  void barrier(OpBuilder &b, Location loc) const override {
    b.create<ROCDL::BarrierOp>(loc);
  }
  void partialBarrier(OpBuilder &, Location, int64_t) const override {
    FAIL("only a persistent kernel has one");
  }
  void deviceFence(OpBuilder &b, Location loc) const override {
    b.create<LLVM::FenceOp>(loc, LLVM::AtomicOrdering::seq_cst, "agent");
  }
  bool waitForLaunches(OpBuilder &, Location) const override { return false; }
  bool roundsPairs() const override { return false; }
  Value roundPair(OpBuilder &, Location, Type, Value, Value) const override {
    FAIL("rounded by integer arithmetic");
    return {};
  }
  /// For waves of 32 lanes. The instruction numbers lanes by bytes.
  Value shuffleXor(OpBuilder &b, Location loc, Value word,
                   int64_t mask) const override {
    Type i32 = b.getI32Type();
    auto number = [&](int64_t value) -> Value {
      return b.create<arith::ConstantIntOp>(loc, value, 32);
    };
    Value lane =
        b.create<ROCDL::MbcntLoOp>(loc, i32, ValueRange{number(-1), number(0)});
    Value other = b.create<arith::XOrIOp>(loc, lane, number(mask));
    Value address = b.create<arith::MulIOp>(loc, other, number(4));
    Value bits = word.getType() == i32
                     ? word
                     : b.create<LLVM::BitcastOp>(loc, i32, word).getResult();
    Value got = b.create<ROCDL::DsBpermuteOp>(loc, i32, address, bits);
    return word.getType() == i32
               ? got
               : b.create<LLVM::BitcastOp>(loc, word.getType(), got)
                     .getResult();
  }

  // Without matrix instructions, the rest is not called.
  bool hasMatrices(gpu::MatrixElement) const override { return false; }
  void copyAsync(OpBuilder &, Location, Value, Value, int64_t,
                 Value) const override {
    FAIL("copies in the background");
  }
  void endCopyGroup(OpBuilder &, Location) const override {
    FAIL("copies in the background");
  }
  void waitForCopies(OpBuilder &, Location, int64_t) const override {
    FAIL("copies in the background");
  }
  SmallVector<Value> loadMatrices(OpBuilder &, Location, Value,
                                  bool) const override {
    FAIL("matrices");
    return {};
  }
  Value matrixOperand(OpBuilder &, Location, gpu::MatrixElement,
                      Value) const override {
    FAIL("matrices");
    return {};
  }
  void multiplyAdd(OpBuilder &, Location, gpu::MatrixElement, ArrayRef<Value>,
                   ArrayRef<Value>, MutableArrayRef<Value>) const override {
    FAIL("matrices");
  }
};

class Amd : public gpu::Vendor {
public:
  const gpu::Intrinsics &intrinsics() const override { return rocdl; }
  void loadDialects(MLIRContext &context) const override {
    DialectRegistry registry;
    registerROCDLDialectTranslation(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<ROCDL::ROCDLDialect>();
  }
  std::unique_ptr<llvm::TargetMachine> createMachine(unsigned arch,
                                                     unsigned) const override {
    std::string error, triple = "amdgcn-amd-amdhsa";
    const llvm::Target *target =
        llvm::TargetRegistry::lookupTarget(triple, error);
    return std::unique_ptr<llvm::TargetMachine>(
        target ? target->createTargetMachine(
                     triple, "gfx" + std::to_string(arch), "", {}, std::nullopt)
               : nullptr);
  }

private:
  RocdlIntrinsics rocdl;
};

/// The assembly of the kernels in `text`, joined.
std::string assemblyOf(const char *text, unsigned arch) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  MLIRContext context;
  context.loadDialect<ir::SinterDialect, exec::ExecDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  REQUIRE(module);
  Amd amd;
  auto kernels = gpu::lowerKernels(
      *module, amd, arch, passes::CodeGenOptions(),
      [&](llvm::Module &kernel, unsigned) -> std::optional<std::string> {
        std::unique_ptr<llvm::TargetMachine> machine =
            amd.createMachine(arch, 2);
        llvm::SmallVector<char, 0> bytes;
        llvm::raw_svector_ostream stream(bytes);
        llvm::legacy::PassManager emit;
        if (machine->addPassesToEmitFile(emit, stream, nullptr,
                                         llvm::CodeGenFileType::AssemblyFile))
          return std::nullopt;
        emit.run(kernel);
        return std::string(bytes.begin(), bytes.end());
      });
  REQUIRE(succeeded(kernels));
  std::string all;
  for (const std::string &kernel : kernels->front())
    all += kernel;
  return all;
}

bool has(const std::string &text, const char *what) {
  return text.find(what) != std::string::npos;
}

} // namespace

TEST_CASE("rows, and what threads exchange, for a GPU of another vendor") {
  std::string text = assemblyOf(R"(
    exec.kernel @rows reduce over <[64, 300] reduced [1] views [(d0, d1) -> (d0)]> {
    ^bb0(%x: tensor<64x300xf32>):
      %0 = sinter.exp %x : tensor<64x300xf32>
      %1 = sinter.reduce sum %0 dims [1] : (tensor<64x300xf32>) -> tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    })",
                                1100);
  INFO(text);
  CHECK(has(text, "rows:"));
  CHECK(has(text, "ds_bpermute_b32"));
  CHECK(has(text, ".amdhsa_kernel rows"));
}

TEST_CASE("products without matrix instructions") {
  // On NVIDIA's GPUs this kernel has matrix instructions.
  std::string text = assemblyOf(R"(
    exec.kernel @product matmul over <[64, 64] views [(d0, d1) -> (d0, d1)]> {
    ^bb0(%x: tensor<64x96xf16>, %y: tensor<96x64xf16>):
      %0 = sinter.cast %x : tensor<64x96xf16> -> tensor<64x96xf32>
      %1 = sinter.cast %y : tensor<96x64xf16> -> tensor<96x64xf32>
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
      sinter.yield %2 : tensor<64x64xf32>
    })",
                                1100);
  INFO(text);
  CHECK(has(text, "s_barrier"));
  CHECK((has(text, "v_fma") || has(text, "v_dual_fmac")));
  CHECK_FALSE(has(text, "wmma"));
}
