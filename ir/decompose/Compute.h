//===- Compute.h - the element type of decompositions -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to ir/decompose. As in PyTorch, 16-bit composites are computed in
// float32 and rounded once at the end.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_DECOMPOSE_COMPUTE_H
#define SINTER_IR_DECOMPOSE_COMPUTE_H

#include "ir/Build.h"
#include "ir/CompositeParts.h"

namespace sinter::ir {

/// Builds ops at one location, computing in one element type.
class Compute {
public:
  /// Computes for values of the element type of `like`.
  Compute(mlir::OpBuilder &b, mlir::Location loc, mlir::Value like)
      : b(b), loc(loc), stored_(tensorType(like).getElementType()),
        element_(stored_.getIntOrFloatBitWidth() < 32 ? b.getF32Type()
                                                      : stored_) {}

  /// The same, whose ops are those of one part of the composite. Its location
  /// is that of `part` in the location of this.
  Compute in(CompositePart part) const {
    Compute c = *this;
    c.loc = partOfComposite(loc, part);
    return c;
  }

  /// Casts `v` to the element type of computing, and back to that of storage.
  mlir::Value load(mlir::Value v) { return castTo(b, loc, v, element_); }
  mlir::Value store(mlir::Value v) { return castTo(b, loc, v, stored_); }
  mlir::Type element() const { return element_; }

  template <class OpTy> mlir::Value make(mlir::Value x) {
    return b.create<OpTy>(loc, x);
  }
  template <class OpTy> mlir::Value make(mlir::Value x, mlir::Value y) {
    return b.create<OpTy>(loc, x, y);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) { return make<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return make<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return make<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return make<DivOp>(x, y); }
  mlir::Value add(mlir::Value x, double y) { return add(x, constant(x, y)); }
  mlir::Value mul(mlir::Value x, double y) { return mul(x, constant(x, y)); }
  mlir::Value constant(mlir::Value like, double value) {
    return splatLike(b, loc, like, value);
  }

  mlir::Value compare(CompareKind kind, mlir::Value x, mlir::Value y) {
    return b.create<CompareOp>(loc, kind, x, y);
  }
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return b.create<WhereOp>(loc, condition, x, y);
  }
  /// The sum or maximum over `dims`, which are removed.
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims) {
    return reduceOver(b, loc, ReduceKind::sum, x, dims);
  }
  mlir::Value max(mlir::Value x, llvm::ArrayRef<int64_t> dims) {
    return reduceOver(b, loc, ReduceKind::max, x, dims);
  }
  /// The mean over `dims`, which are removed.
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> dims) {
    double count = 1;
    for (int64_t dim : dims)
      count *= static_cast<double>(tensorType(x).getDimSize(dim));
    mlir::Value total = sum(x, dims);
    return div(total, constant(total, count));
  }
  /// Repeats a value that was reduced over `dims` along them, to the shape of
  /// `like`.
  mlir::Value spread(mlir::Value reduced, mlir::Value like,
                     llvm::ArrayRef<int64_t> dims) {
    return spreadOver(b, loc, reduced, tensorType(like).getShape(), dims);
  }
  /// A scalar tensor, repeated to the shape of `like`.
  mlir::Value fill(mlir::Value scalar, mlir::Value like) {
    return broadcastTo(b, loc, scalar, tensorType(like).getShape());
  }

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  mlir::Type stored_, element_;
};

} // namespace sinter::ir

#endif // SINTER_IR_DECOMPOSE_COMPUTE_H
