//===- ValueBuilder.h - arithmetic on values at one location ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A builder and a location bound together, so that gradient rules and rewrites
// read like the formulas that they implement. Adds nothing to ir/Build.h; the
// caller must get shapes and types right.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_VALUEBUILDER_H
#define SINTER_PASSES_VALUEBUILDER_H

#include "ir/Build.h"

namespace sinter::passes {

class ValueBuilder {
public:
  using Value = mlir::Value;
  using Dims = llvm::ArrayRef<int64_t>;

  ValueBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  template <class OpTy, class... Args> Value make(Args &&...args) {
    return b.create<OpTy>(loc, std::forward<Args>(args)...)->getResult(0);
  }

  Value add(Value x, Value y) { return make<ir::AddOp>(x, y); }
  Value sub(Value x, Value y) { return make<ir::SubOp>(x, y); }
  Value mul(Value x, Value y) { return make<ir::MulOp>(x, y); }
  Value div(Value x, Value y) { return make<ir::DivOp>(x, y); }
  Value max(Value x, Value y) { return make<ir::MaxOp>(x, y); }
  Value min(Value x, Value y) { return make<ir::MinOp>(x, y); }
  Value pow(Value x, Value y) { return make<ir::PowOp>(x, y); }
  Value neg(Value x) { return make<ir::NegOp>(x); }
  Value exp(Value x) { return make<ir::ExpOp>(x); }
  Value log(Value x) { return make<ir::LogOp>(x); }
  Value sqrt(Value x) { return make<ir::SqrtOp>(x); }
  Value rsqrt(Value x) { return make<ir::RsqrtOp>(x); }

  /// The operation with a number, as a splat of the other operand's type.
  Value add(Value x, double y) { return add(x, like(x, y)); }
  Value mul(Value x, double y) { return mul(x, like(x, y)); }
  Value div(Value x, double y) { return div(x, like(x, y)); }
  Value max(Value x, double y) { return max(x, like(x, y)); }
  Value sub(double x, Value y) { return sub(like(y, x), y); }
  Value square(Value x) { return mul(x, x); }

  Value compare(ir::CompareKind kind, Value x, Value y) {
    return make<ir::CompareOp>(kind, x, y);
  }
  Value compare(ir::CompareKind kind, Value x, double y) {
    return compare(kind, x, like(x, y));
  }
  Value where(Value condition, Value x, Value y) {
    return make<ir::WhereOp>(x.getType(), condition, x, y);
  }
  Value where(Value condition, Value x, double y) {
    return where(condition, x, like(x, y));
  }

  Value splat(mlir::RankedTensorType type, double value) {
    return ir::splat(b, loc, type, value);
  }
  /// A splat of the type of `x`.
  Value like(Value x, double value) { return ir::splatLike(b, loc, x, value); }
  /// 0, 1, .. along `axis` of a tensor of `type`.
  Value iota(mlir::RankedTensorType type, int64_t axis) {
    return make<ir::IotaOp>(type, static_cast<uint64_t>(axis));
  }

  Value reshape(Value x, Dims shape) { return ir::reshapeTo(b, loc, x, shape); }
  Value transpose(Value x, Dims perm) {
    return ir::transposeTo(b, loc, x, perm);
  }
  Value cast(Value x, mlir::Type element) {
    return ir::castTo(b, loc, x, element);
  }
  Value broadcast(Value x, Dims shape, Dims dims) {
    return ir::broadcastInDim(b, loc, x, shape, dims);
  }
  /// Repeats a value without the `reduced` dimensions along them, to the shape
  /// of `to`.
  Value unreduce(Value x, Dims reduced, Value to) {
    llvm::SmallVector<int64_t> kept;
    for (int64_t i = 0, rank = ir::tensorType(to).getRank(); i < rank; ++i)
      if (!llvm::is_contained(reduced, i))
        kept.push_back(i);
    return broadcast(x, ir::tensorType(to).getShape(), kept);
  }
  Value sum(Value x, Dims dims) {
    return ir::reduceOver(b, loc, ir::ReduceKind::sum, x, dims);
  }
  /// The sum over `dims`, repeated along them again.
  Value sumSpread(Value x, Dims dims) {
    return unreduce(sum(x, dims), dims, x);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// 0, 1, .. count - 1.
inline llvm::SmallVector<int64_t> firstDims(int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(0, count));
}
/// The dimensions from `first` to below `end`.
inline llvm::SmallVector<int64_t> dimRange(int64_t first, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(first, end));
}
using ir::inversePermutation;

} // namespace sinter::passes

#endif // SINTER_PASSES_VALUEBUILDER_H
