//===- Quantize.cpp - quantised operators ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Quantised tensors are integer tensors, and operators on them become explicit
// arithmetic. Matrix products and convolutions sum products of 8-bit values in
// int32.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Quantize.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Conv.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/TensorReader.h"
#include "ir/QuantizedForm.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

Value spread(NodeImport &n, Value parameter, Value x, int64_t axis,
             int64_t block) {
  if (!parameter || !x)
    return {};
  if (ir::tensorType(parameter).getNumElements() == 1)
    return n.broadcast(n.reshape(parameter, {}), n.shapeOf(x));
  // One for each row or column of each matrix.
  if (block == 0 && n.rankOf(parameter) > 1 &&
      n.rankOf(parameter) == n.rankOf(x))
    return n.broadcast(parameter, n.shapeOf(x));
  std::optional<int64_t> dim = n.axis(axis, n.rankOf(x));
  if (!dim)
    return {};
  if (block == 0)
    return n.broadcastInDims(parameter, {*dim}, n.shapeOf(x));
  if (n.rankOf(parameter) != n.rankOf(x) || block > (1 << 30))
    return n.fail("blocked scales must have the rank of the input");
  Shape apart(n.shapeOf(parameter)), whole(apart);
  apart.insert(apart.begin() + *dim + 1, block);
  whole[*dim] *= block;
  Value repeated =
      n.reshape(n.broadcast(n.expandDims(parameter, {*dim + 1}), apart), whole);
  return n.sliceDim(repeated, *dim, 0, n.shapeOf(x)[*dim]);
}

Value emitQuantized(NodeImport &n, Value x, Value scale, Value zeroPoint,
                    Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() > 16)
    return n.unsupported("quantised values other than 8 and 16-bit integers");
  if (!n.broadcastTogether(x, scale))
    return {};
  if (zeroPoint)
    zeroPoint = n.broadcast(zeroPoint, n.shapeOf(x));
  if (n.failed())
    return {};
  return ir::quantize(n.b, n.loc, x, scale, zeroPoint, integer);
}

static void importQuantizeLinear(NodeImport &n) {
  Value x = n.in(0);
  int64_t axis = n.version >= 13 ? n.attrInt("axis", 1) : 1;
  int64_t block = n.version >= 21 ? n.attrInt("block_size", 0) : 0;
  n.ignoreAttr("saturate"); // concerns 8-bit floats
  int64_t wanted = n.version >= 21 ? n.attrInt("output_dtype", 0) : 0;
  if (n.version >= 23 && n.attrInt("precision", 0) != 0)
    n.unsupported("attribute 'precision'");
  Type element = n.has(2) ? n.elementOf(n.in(2))
                 : wanted
                     ? elementTypeOf(int32_t(wanted), n.context())
                     : IntegerType::get(n.context(), 8, IntegerType::Unsigned);
  if (!element) {
    n.unsupported("quantised values of type " + dataTypeName(int32_t(wanted)));
    return;
  }
  Value scale = n.in(1);
  if (!n.requireFloat(1) || n.failed())
    return;
  x = n.cast(x, n.elementOf(scale));
  Value zeroPoint = n.has(2) ? spread(n, n.in(2), x, axis, block) : Value();
  n.out(emitQuantized(n, x, spread(n, scale, x, axis, block), zeroPoint,
                      element));
}

static void importDequantizeLinear(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1);
  int64_t axis = n.version >= 13 ? n.attrInt("axis", 1) : 1;
  int64_t block = n.version >= 21 ? n.attrInt("block_size", 0) : 0;
  if (n.version >= 23 && n.attrInt("output_dtype", 0) != 0)
    n.unsupported("attribute 'output_dtype'");
  if (!n.requireFloat(1) || n.failed())
    return;
  Value zeroPoint = n.has(2) ? spread(n, n.in(2), x, axis, block) : Value();
  Value spreadScale = spread(n, scale, x, axis, block);
  if (x && spreadScale && !n.failed())
    n.out(ir::dequantize(n.b, n.loc, x, spreadScale, zeroPoint));
}

DynamicQuantized emitDynamicQuantize(NodeImport &n, Value x) {
  Shape dims;
  for (int64_t i = 0; i < n.rankOf(x); ++i)
    dims.push_back(i);
  Type u8 = IntegerType::get(n.context(), 8, IntegerType::Unsigned);
  Value zero = n.scalar(n.elementOf(x), 0);
  Value least = n.min(n.reduce(ir::ReduceKind::min, x, dims, false), zero);
  Value greatest = n.max(n.reduce(ir::ReduceKind::max, x, dims, false), zero);
  Value scale = n.div(n.sub(greatest, least), 255.0);
  // If all elements are zero, the scale and the zero point are 0.
  Value isZero = n.compare(ir::CompareKind::eq, scale, zero);
  Value divisor = n.where(isZero, n.splatLike(scale, 1), scale);
  Value zeroPoint =
      emitQuantized(n, n.unary<ir::NegOp>(least), divisor, Value(), u8);
  Value codes = emitQuantized(n, x, n.broadcast(divisor, n.shapeOf(x)),
                              n.broadcast(zeroPoint, n.shapeOf(x)), u8);
  return {codes, scale, zeroPoint};
}

static void importDynamicQuantizeLinear(NodeImport &n) {
  if (!n.requireFloat())
    return;
  DynamicQuantized y = emitDynamicQuantize(n, n.in(0));
  n.out(0, y.codes);
  n.out(1, y.scale);
  n.out(2, y.zeroPoint);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool checkZeroPoint(NodeImport &n, Value zeroPoint, Type element) {
  if (n.elementOf(zeroPoint) != element)
    n.fail("the zero point has another element type than its codes");
  return !n.failed();
}

Value emitCentred(NodeImport &n, Value x, Value zeroPoint, int64_t axis,
                  Type wide) {
  Value value = n.cast(x, wide);
  if (!zeroPoint || !checkZeroPoint(n, zeroPoint, n.elementOf(x)))
    return value;
  return n.sub(value, n.cast(spread(n, zeroPoint, x, axis), wide));
}

/// A single value in the shape {}, which broadcasts to all others.
static Value compact(NodeImport &n, Value scale) {
  if (!scale)
    return {};
  scale = n.cast(scale, n.f32());
  return ir::tensorType(scale).getNumElements() == 1 ? n.reshape(scale, {})
                                                     : scale;
}

Value emitFactor(NodeImport &n, Value xScale, Value yScale) {
  return n.mul(compact(n, xScale), compact(n, yScale));
}

Value emitRequantized(NodeImport &n, Value sum, Value factor, Value scale,
                      Value zeroPoint, int64_t axis) {
  Value real = n.cast(sum, n.f32());
  factor = spread(n, n.div(factor, compact(n, scale)), real, axis);
  return emitQuantized(n, n.mul(real, factor), n.splatLike(real, 1),
                       spread(n, zeroPoint, real, axis),
                       n.elementOf(zeroPoint));
}

static void importMatMulInteger(NodeImport &n) {
  Type i32 = n.b.getI32Type();
  n.out(n.matmul(emitCentred(n, n.in(0), n.in(2), -2, i32),
                 emitCentred(n, n.in(1), n.in(3), -1, i32)));
}

static void importQLinearMatMul(NodeImport &n) {
  Type i32 = n.b.getI32Type();
  for (size_t i : {1, 4, 6})
    if (!n.requireFloat(i))
      return;
  Value sum = n.matmul(emitCentred(n, n.in(0), n.in(2), -2, i32),
                       emitCentred(n, n.in(3), n.in(5), -1, i32));
  if (!sum)
    return;
  Value xScale = n.in(1);
  if (ir::tensorType(xScale).getNumElements() > 1) // one for each row
    xScale = spread(n, xScale, sum, -2);
  n.out(emitRequantized(n, sum, emitFactor(n, xScale, n.in(4)), n.in(6),
                        n.in(7), -1));
}

static void importConvInteger(NodeImport &n) {
  Type i32 = n.b.getI32Type();
  n.out(emitConv(n, emitCentred(n, n.in(0), n.in(2), 1, i32),
                 emitCentred(n, n.in(1), n.in(3), 0, i32), Value()));
}

static void importQLinearConv(NodeImport &n) {
  for (size_t i : {1, 4, 6})
    if (!n.requireFloat(i))
      return;
  Type i32 = n.b.getI32Type();
  Value sum = emitConv(n, emitCentred(n, n.in(0), n.in(2), 1, i32),
                       emitCentred(n, n.in(3), n.in(5), 0, i32),
                       n.has(8) ? n.in(8) : Value());
  n.out(emitRequantized(n, sum, emitFactor(n, n.in(1), n.in(4)), n.in(6),
                        n.in(7), 1));
}

llvm::ArrayRef<OpRow> quantizeOps() {
  static constexpr OpRow rows[] = {
      {"ConvInteger", importConvInteger, 2, 4, 1, 10},
      {"DequantizeLinear", importDequantizeLinear, 2, 3, 1, 10},
      {"DynamicQuantizeLinear", importDynamicQuantizeLinear, 1, 1, 3, 11},
      {"MatMulInteger", importMatMulInteger, 2, 4, 1, 10},
      {"QLinearConv", importQLinearConv, 8, 9, 1, 10},
      {"QLinearMatMul", importQLinearMatMul, 8, 8, 1, 10},
      {"QuantizeLinear", importQuantizeLinear, 2, 3, 1, 10},
  };
  return rows;
}

} // namespace sinter::compiler
