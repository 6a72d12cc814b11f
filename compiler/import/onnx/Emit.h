//===- Emit.h - building ops from unchecked operands ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The importer's builder. Every function takes values of any shape and checks
// the requirements of the op. If one is violated, it records a message and
// returns null. A null operand gives a null result without another message, so
// that an import function needs to check for failure only at its end.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_EMIT_H
#define SINTER_COMPILER_IMPORT_ONNX_EMIT_H

#include "ir/Build.h"

#include <string>

namespace sinter::compiler {

using Shape = llvm::SmallVector<int64_t>;
using Ints = llvm::ArrayRef<int64_t>;

class Emit {
public:
  Emit(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  /// Records the first message (later ones are consequences of it).
  mlir::Value fail(std::string message) {
    if (!failed_)
      message_ = std::move(message);
    failed_ = true;
    return {};
  }
  bool failed() const { return failed_; }
  const std::string &message() const { return message_; }

  // Queries. They accept a null value and return rank 0 and f32 for it.
  static Ints shapeOf(mlir::Value v);
  static int64_t rankOf(mlir::Value v) { return shapeOf(v).size(); }
  mlir::Type elementOf(mlir::Value v) const;
  bool isFloat(mlir::Value v) const {
    return mlir::isa<mlir::FloatType>(elementOf(v));
  }
  bool isBool(mlir::Value v) const { return elementOf(v).isInteger(1); }
  /// Null after fail() if the type is larger than a program can hold (2^40
  /// bytes).
  mlir::RankedTensorType typeOf(Ints shape, mlir::Type element);
  mlir::Type f32() { return b.getF32Type(); }
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type i1() { return b.getI1Type(); }

  // Constants.
  mlir::Value splat(Ints shape, mlir::Type element, double value);
  mlir::Value splatLike(mlir::Value like, double value);
  mlir::Value scalar(mlir::Type element, double value) {
    return splat({}, element, value);
  }
  mlir::Value constant(const ir::Tensor &tensor);
  mlir::Value ints(Ints values, Ints shape);
  mlir::Value ints(Ints values) {
    return ints(values, {int64_t(values.size())});
  }
  mlir::Value floats(llvm::ArrayRef<double> values, Ints shape,
                     mlir::Type element);

  // Elementwise. Binary operands are broadcast to each other.
  template <class Op> mlir::Value unary(mlir::Value x) {
    if (!x)
      return {};
    return b.create<Op>(loc, x.getType(), x).getResult();
  }
  template <class Op> mlir::Value binary(mlir::Value x, mlir::Value y) {
    if (!broadcastTogether(x, y))
      return {};
    return b.create<Op>(loc, x.getType(), x, y).getResult();
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return binary<ir::AddOp>(x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return binary<ir::SubOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return binary<ir::MulOp>(x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return binary<ir::DivOp>(x, y);
  }
  mlir::Value add(mlir::Value x, double y) { return add(x, splatLike(x, y)); }
  mlir::Value mul(mlir::Value x, double y) { return mul(x, splatLike(x, y)); }
  mlir::Value div(mlir::Value x, double y) { return div(x, splatLike(x, y)); }
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return binary<ir::MaxOp>(x, y);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return binary<ir::MinOp>(x, y);
  }
  mlir::Value compare(ir::CompareKind kind, mlir::Value x, mlir::Value y);
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value logicalNot(mlir::Value x);

  // Shape.
  mlir::Value reshape(mlir::Value x, Ints shape);
  mlir::Value transpose(mlir::Value x, Ints perm);
  /// NumPy broadcasting to exactly `shape`.
  mlir::Value broadcast(mlir::Value x, Ints shape);
  /// Dimension i becomes dimension dims[i].
  mlir::Value broadcastInDims(mlir::Value x, Ints dims, Ints shape);
  mlir::Value slice(mlir::Value x, Ints starts, Ints limits, Ints strides = {});
  /// Elements [start, limit) of one dimension.
  mlir::Value sliceDim(mlir::Value x, int64_t dim, int64_t start, int64_t limit,
                       int64_t stride = 1);
  mlir::Value pad(mlir::Value x, mlir::Value value, Ints low, Ints high,
                  Ints interior = {});
  mlir::Value concat(mlir::ValueRange values, int64_t axis);
  mlir::Value reverse(mlir::Value x, Ints dims);
  mlir::Value iota(Ints shape, int64_t axis, mlir::Type element);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis);
  mlir::Value gatherElements(mlir::Value x, mlir::Value indices, int64_t axis);
  mlir::Value gatherNd(mlir::Value x, mlir::Value indices, int64_t batchDims);
  mlir::Value scatter(ir::ScatterKind kind, mlir::Value x, mlir::Value indices,
                      mlir::Value updates, int64_t axis);
  mlir::Value scatterElements(ir::ScatterKind kind, mlir::Value x,
                              mlir::Value indices, mlir::Value updates,
                              int64_t axis);
  mlir::Value scatterNd(ir::ScatterKind kind, mlir::Value x,
                        mlir::Value indices, mlir::Value updates);
  /// Inserts unit dimensions so that the result has them at `dims` (ascending).
  mlir::Value expandDims(mlir::Value x, Ints dims);
  /// Removes the unit dimensions `dims`.
  mlir::Value squeeze(mlir::Value x, Ints dims);

  // Reductions, contractions, windows.
  mlir::Value reduce(ir::ReduceKind kind, mlir::Value x, Ints dims, bool keep);
  mlir::Value mean(mlir::Value x, Ints dims, bool keep);
  mlir::Value argReduce(ir::ReduceKind kind, mlir::Value x, int64_t axis,
                        bool selectLast = false);
  mlir::Value cumulative(ir::ReduceKind kind, mlir::Value x, int64_t axis,
                         bool exclusive = false, bool reverse = false);
  std::pair<mlir::Value, mlir::Value> topK(mlir::Value x, int64_t axis,
                                           int64_t k, bool largest);
  mlir::Value dot(mlir::Value x, mlir::Value y, Ints xBatch, Ints yBatch,
                  Ints xContract, Ints yContract);
  /// numpy.matmul: any ranks >= 1, batch dimensions broadcast.
  mlir::Value matmul(mlir::Value x, mlir::Value y);
  struct Window {
    Shape size, strides, dilations, low,
        high;           // one entry per spatial dimension
    int64_t groups = 1; // convolutions only
  };
  /// `window` slides over the dimensions from 2 on.
  mlir::Value reduceWindow(ir::ReduceKind kind, mlir::Value x,
                           const Window &window);
  mlir::Value conv(mlir::Value x, mlir::Value filter, const Window &window);
  mlir::Value convInputGrad(mlir::Value x, mlir::Value filter,
                            const Window &window, Ints resultShape);
  mlir::Value softmax(mlir::Value x, int64_t axis);
  mlir::Value logSoftmax(mlir::Value x, int64_t axis);

  /// Broadcasts both to a common shape; false after fail() if they do not fit.
  bool broadcastTogether(mlir::Value &x, mlir::Value &y);
  /// [0, rank) for axes in [-rank, rank); nothing after fail().
  std::optional<int64_t> axis(int64_t axis, int64_t rank,
                              llvm::StringRef field = "axis");

  /// Builds an op of one result whose type is inferred.
  template <class Op>
  mlir::Value infer(mlir::ValueRange operands,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes) {
    for (mlir::Value operand : operands)
      if (!operand)
        return {};
    mlir::FailureOr<Op> op =
        ir::createChecked<Op>(b, loc, operands, attributes);
    if (mlir::failed(op))
      return fail(""); // the diagnostic has the message
    return bounded((*op)->getResult(0));
  }
  mlir::NamedAttribute named(llvm::StringRef name, Ints values) {
    return b.getNamedAttr(name, b.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute named(llvm::StringRef name, int64_t value) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(value));
  }

private:
  mlir::Value bounded(mlir::Value v);

  std::string message_;
  bool failed_ = false;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_EMIT_H
