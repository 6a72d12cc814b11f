//===- Threads.cpp - code for the threads of a block ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/Threads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace sinter::gpu {

Intrinsics::~Intrinsics() = default;

Threads::Threads(const Intrinsics &intrinsics, OpBuilder &builder, Location loc,
                 LLVM::LLVMFuncOp kernel, int64_t blockThreads, Value block,
                 Value thread, bool isWide, bool isPartOfBlock)
    : intrinsics(intrinsics), b(builder), loc(loc), blockThreads(blockThreads),
      isWide(isWide), block(count(block)), thread(count(thread)),
      isPartOfBlock(isPartOfBlock), kernel(kernel) {}

Value Threads::count(Value i32) { return isWide ? wide(i32) : i32; }

Value Threads::number(int64_t value) {
  assert((isWide || (value >= std::numeric_limits<int32_t>::min() &&
                     value <= std::numeric_limits<uint32_t>::max())) &&
         "BlockPart::reach is too small");
  return b.create<arith::ConstantIntOp>(loc, value, countType());
}
Value Threads::wide(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return b.create<arith::ExtUIOp>(loc, b.getI64Type(), value);
}
Value Threads::narrow(Value value) {
  if (isWide)
    return value;
  return b.create<arith::TruncIOp>(loc, b.getI32Type(), value);
}
Value Threads::add(Value x, Value y) {
  return b.create<arith::AddIOp>(loc, x, y);
}
Value Threads::mul(Value x, int64_t y) {
  return y == 1 ? x : b.create<arith::MulIOp>(loc, x, number(y)).getResult();
}
Value Threads::div(Value x, int64_t y) {
  return y == 1 ? x : b.create<arith::DivUIOp>(loc, x, number(y)).getResult();
}
Value Threads::rem(Value x, int64_t y) {
  return y == 1 ? number(0)
                : b.create<arith::RemUIOp>(loc, x, number(y)).getResult();
}
Value Threads::isLess(Value x, int64_t y) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, x, number(y));
}
Value Threads::isAtLeast(Value x, int64_t y) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, x, number(y));
}
Value Threads::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return b.create<arith::AndIOp>(loc, x, y);
}
Value Threads::select(Value condition, Value x, Value y) {
  return b.create<arith::SelectOp>(loc, condition, x, y);
}

Value Threads::multiplyAdd(Value x, Value y, Value sum) {
  if (isa<FloatType>(getElementTypeOrSelf(sum)))
    return b.create<math::FmaOp>(loc, x, y, sum);
  return b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, x, y), sum);
}

Value Threads::addElements(Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x)))
    return b.create<arith::AddFOp>(loc, x, y);
  return b.create<arith::AddIOp>(loc, x, y);
}

void Threads::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto op = b.create<scf::IfOp>(loc, condition);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

void Threads::barrier() {
  if (isPartOfBlock)
    intrinsics.partialBarrier(b, loc, blockThreads);
  else
    intrinsics.barrier(b, loc);
}

Value Threads::shuffleWord(Value word, int64_t mask) {
  return intrinsics.shuffleXor(b, loc, word, mask);
}

Value Threads::shuffleXor(Value value, int64_t mask) {
  Type type = value.getType(), i32 = b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(type)) {
    Value result = value;
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Value element =
          b.create<vector::ExtractOp>(loc, value, ArrayRef<int64_t>{i});
      result = b.create<vector::InsertOp>(loc, shuffleXor(element, mask),
                                          result, ArrayRef<int64_t>{i});
    }
    return result;
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32) { // booleans and small integers
    Value word = b.create<arith::ExtUIOp>(loc, i32, value);
    return b.create<arith::TruncIOp>(loc, type, shuffleWord(word, mask));
  }
  if (bits == 32)
    return shuffleWord(value, mask);
  auto words = VectorType::get({2}, i32);
  auto wordsOf = VectorType::get({1}, type);
  Value both = b.create<vector::BitCastOp>(
      loc, words, b.create<vector::SplatOp>(loc, wordsOf, value));
  for (int64_t i = 0; i < 2; ++i) {
    Value word = b.create<vector::ExtractOp>(loc, both, ArrayRef<int64_t>{i});
    both = b.create<vector::InsertOp>(loc, shuffleWord(word, mask), both,
                                      ArrayRef<int64_t>{i});
  }
  return b.create<vector::ExtractOp>(
      loc, b.create<vector::BitCastOp>(loc, wordsOf, both),
      ArrayRef<int64_t>{0});
}

Value Threads::beginExchange(Type element, int64_t count, bool isRepeated) {
  if (hadExchange || isRepeated)
    barrier();
  hadExchange = true;
  return sharedArray("_shared", element, count);
}

Value Threads::keptArray(unsigned number, Type element, int64_t count) {
  return sharedArray("_kept" + std::to_string(number), element, count);
}

Value Threads::sharedArray(StringRef suffix, Type element, int64_t count) {
  // Parts of a kernel run in different blocks and share the declaration.
  auto module = kernel->getParentOfType<ModuleOp>();
  std::string name = (kernel.getName() + suffix).str();
  int64_t sizeBytes =
      count * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  OpBuilder::InsertionGuard guard(b);
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (global) {
    auto type = cast<LLVM::LLVMArrayType>(global.getGlobalType());
    sizeBytes = std::max<int64_t>(sizeBytes, type.getNumElements());
  }
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), sizeBytes);
  if (global) {
    global.setGlobalType(type);
  } else {
    b.setInsertionPointToStart(module.getBody());
    global = b.create<LLVM::GlobalOp>(
        loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
        Attribute(), /*alignment=*/16, intrinsics.sharedSpace());
  }
  return addressOf(global);
}

/// Emits it where it dominates the whole kernel.
Value Threads::addressOf(LLVM::GlobalOp global) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&kernel.getBody().front());
  return b.create<LLVM::AddressOfOp>(loc, global);
}

Value Threads::beginDynamic() {
  if (hadExchange)
    barrier();
  auto module = kernel->getParentOfType<ModuleOp>();
  std::string name = (kernel.getName() + "_dynamic").str();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    global = b.create<LLVM::GlobalOp>(
        loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
        LLVM::Linkage::External, name, Attribute(), /*alignment=*/16,
        intrinsics.sharedSpace());
  }
  return addressOf(global);
}

Value Threads::elementAddress(Value array, Type element, Value position) {
  return b.create<LLVM::GEPOp>(loc, array.getType(), element, array,
                               ArrayRef<LLVM::GEPArg>{position});
}

Type Threads::exchangedType(Type type) {
  auto byte = IntegerType::get(type.getContext(), 8);
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(exchangedType(vector.getElementType()));
  return type.isInteger(1) ? Type(byte) : type;
}

static unsigned alignmentOf(Type exchanged) {
  int64_t bits = getElementTypeOrSelf(exchanged).getIntOrFloatBitWidth();
  if (auto vector = dyn_cast<VectorType>(exchanged))
    bits *= vector.getNumElements();
  return std::min<int64_t>(16, bits / 8);
}

Value Threads::load(Type type, Value address) {
  Type exchanged = exchangedType(type);
  Value value =
      b.create<LLVM::LoadOp>(loc, exchanged, address, alignmentOf(exchanged));
  return exchanged == type ? value
                           : b.create<arith::TruncIOp>(loc, type, value);
}

void Threads::store(Value value, Value address) {
  Type exchanged = exchangedType(value.getType());
  if (exchanged != value.getType())
    value = b.create<arith::ExtUIOp>(loc, exchanged, value);
  b.create<LLVM::StoreOp>(loc, value, address, alignmentOf(exchanged));
}

} // namespace sinter::gpu
