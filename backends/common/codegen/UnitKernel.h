//===- UnitKernel.h - kernels of independent units --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Kernels of single ops with simple scalar loops. Units are independent parts
// of the result. Within a part, updates happen in the program's order, however
// many workers or threads share the units.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_UNITKERNEL_H
#define SINTER_BACKENDS_COMMON_CODEGEN_UNITKERNEL_H

#include "backends/common/codegen/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace sinter::codegen {

inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Emits scalar code over flat positions, for the kernels of single ops.
class Scalar {
public:
  Scalar(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc), emitter(builder, loc, domain) {}

  mlir::Value number(int64_t value) {
    return b.create<mlir::arith::ConstantIntOp>(loc, value, 64);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::AddIOp>(loc, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::SubIOp>(loc, x, y);
  }
  mlir::Value mul(mlir::Value x, int64_t y) {
    return b.create<mlir::arith::MulIOp>(loc, x, number(y));
  }
  mlir::Value div(mlir::Value x, int64_t y) {
    return b.create<mlir::arith::DivUIOp>(loc, x, number(y));
  }
  mlir::Value rem(mlir::Value x, int64_t y) {
    return b.create<mlir::arith::RemUIOp>(loc, x, number(y));
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y) {
    return b.create<mlir::arith::CmpIOp>(loc, predicate, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::AndIOp>(loc, x, y);
  }
  mlir::Value minimum(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::MinSIOp>(loc, x, y);
  }
  /// 0 <= x < size, as one unsigned comparison.
  mlir::Value within(mlir::Value x, int64_t size) {
    return compare(mlir::arith::CmpIPredicate::ult, x, number(size));
  }

  /// Whether two pointers have different addresses.
  mlir::Value areDifferent(mlir::Value pointer, mlir::Value other) {
    return b.create<mlir::LLVM::ICmpOp>(loc, mlir::LLVM::ICmpPredicate::ne,
                                        pointer, other);
  }

  void loop(mlir::Value lower, mlir::Value upper,
            llvm::function_ref<void(mlir::Value)> body) {
    auto op = b.create<mlir::scf::ForOp>(loc, lower, upper, number(1));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }
  void loop(int64_t count, llvm::function_ref<void(mlir::Value)> body) {
    loop(number(0), number(count), body);
  }
  /// A loop that carries `start`; `body` returns the next values.
  llvm::SmallVector<mlir::Value>
  carry(mlir::Value lower, mlir::Value upper, mlir::ValueRange start,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                          mlir::ValueRange)>
            body) {
    auto op = b.create<mlir::scf::ForOp>(loc, lower, upper, number(1), start);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    b.create<mlir::scf::YieldOp>(
        loc, body(op.getInductionVar(), op.getRegionIterArgs()));
    return llvm::SmallVector<mlir::Value>(op.getResults());
  }
  void when(mlir::Value condition, llvm::function_ref<void()> body) {
    auto op = b.create<mlir::scf::IfOp>(loc, condition);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.thenBlock());
    body();
  }

  /// Element `position` of the dense tensor of `element`s at `pointer`.
  mlir::Value load(mlir::Type element, mlir::Value pointer,
                   mlir::Value position) {
    mlir::Type memory = emitter.storageType(element);
    mlir::Value value = b.create<mlir::LLVM::LoadOp>(
        loc, memory, address(memory, pointer, position), alignment(memory));
    return emitter.fromMemory(value, element);
  }
  void store(mlir::Type element, mlir::Value value, mlir::Value pointer,
             mlir::Value position) {
    mlir::Type memory = emitter.storageType(element);
    b.create<mlir::LLVM::StoreOp>(loc, emitter.toMemory(value, element),
                                  address(memory, pointer, position),
                                  alignment(memory));
  }
  /// Combines `value` with the element at `position`, according to `kind`.
  void update(ir::ScatterKind kind, mlir::Type element, mlir::Value pointer,
              mlir::Value position, mlir::Value value) {
    if (kind != ir::ScatterKind::set) {
      constexpr ir::ReduceKind kinds[] = {
          ir::ReduceKind::sum, ir::ReduceKind::sum, ir::ReduceKind::prod,
          ir::ReduceKind::max, ir::ReduceKind::min};
      mlir::Value old = load(element, pointer, position);
      value =
          emitter.combine(kinds[static_cast<int>(kind)], element, old, value);
    }
    store(element, value, pointer, position);
  }
  /// The value of an index operand as i64; negative values count from the end.
  mlir::Value loadIndex(mlir::Type element, mlir::Value pointer,
                        mlir::Value position, int64_t size) {
    mlir::Value value = load(element, pointer, position);
    if (!element.isInteger(64))
      value = b.create<mlir::arith::ExtSIOp>(loc, b.getI64Type(), value);
    mlir::Value negative =
        compare(mlir::arith::CmpIPredicate::slt, value, number(0));
    return b.create<mlir::arith::SelectOp>(loc, negative,
                                           add(value, number(size)), value);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  /// Elements are aligned to their size. LLVM's default for i64 is half of it.
  static unsigned alignment(mlir::Type memory) {
    return memory.getIntOrFloatBitWidth() / 8;
  }
  mlir::Value address(mlir::Type memory, mlir::Value pointer,
                      mlir::Value position) {
    return b.create<mlir::LLVM::GEPOp>(
        loc, mlir::LLVM::LLVMPointerType::get(b.getContext()), memory, pointer,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{position});
  }
  ir::Domain domain;

public:
  codegen::ElementEmitter emitter; // for combining and comparing elements
};

/// The kernel of a single op, as independent units.
class UnitKernel {
public:
  /// `unitCost`: the approximate number of element operations of a unit.
  UnitKernel(int64_t units, int64_t unitCost)
      : units(units), unitCost(unitCost) {}
  virtual ~UnitKernel() = default;

  /// The kernel of `op`, or nullptr if there is none. A unit of a scatter has
  /// up to `run` consecutive elements.
  static std::unique_ptr<UnitKernel> create(mlir::Operation *op, int64_t run);

  /// Emits one unit. `operands` and `results` are pointers, in the op's order.
  virtual void emitUnit(Scalar &s, mlir::Value unit,
                        llvm::ArrayRef<mlir::Value> operands,
                        llvm::ArrayRef<mlir::Value> results) = 0;

  const int64_t units, unitCost;
};

/// The kernel of a scatter, scatter_elements or scatter_nd.
std::unique_ptr<UnitKernel> createScatter(mlir::Operation *op, int64_t run);
/// Whether x comes before y regardless of their positions: greater, or smaller
/// without `largest`; NaN is greater than numbers.
mlir::Value comesBefore(Scalar &s, ir::TopKOp op, mlir::Value x, mlir::Value y);
/// The kernel of a running sum or of a top_k.
std::unique_ptr<UnitKernel> createLineKernel(mlir::Operation *op);

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_UNITKERNEL_H
