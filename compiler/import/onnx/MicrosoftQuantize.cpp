//===- MicrosoftQuantize.cpp - quantised operators of ORT -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Operators of the domain com.microsoft that ONNX Runtime's quantizer writes.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Quantize.h"
#include "compiler/import/onnx/Registry.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::compiler {

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

namespace {

struct BlockForm {
  int64_t rows, columns, bits, block;
  int64_t blocks() const { return llvm::divideCeil(columns, block); }
};

} // namespace

/// The numbers of `bits` bits in the bytes of the last dimension, lowest bits
/// first, as i32.
static Value unpackBits(NodeImport &n, Value bytes, int64_t bits) {
  Type i32 = n.b.getI32Type();
  Value wide = n.cast(bytes, i32);
  if (bits == 8 || !wide)
    return wide;
  int64_t rank = n.rankOf(wide);
  SmallVector<Value> parts;
  for (int64_t at = 0; at < 8; at += bits) {
    Value part = n.binary<ir::AndOp>(
        n.binary<ir::ShiftRightOp>(wide, n.splat({}, i32, double(at))),
        n.splat({}, i32, double((1 << bits) - 1)));
    parts.push_back(n.expandDims(part, {rank}));
  }
  Shape shape(n.shapeOf(wide));
  shape.back() *= 8 / bits;
  return n.reshape(n.concat(parts, rank), shape);
}

/// A scale or zero point per block, as [rows, blocks].
static Value perBlock(NodeImport &n, Value v, const BlockForm &form,
                      StringRef field) {
  int64_t count = form.rows * form.blocks();
  if (v && ir::tensorType(v).getNumElements() != count)
    return n.fail("input " + quoted(field) + " has shape " +
                  shownShape(n.shapeOf(v)) + "; it must be " +
                  shownShape({form.rows, form.blocks()}));
  return n.reshape(v, {form.rows, form.blocks()});
}

/// Zero points as floats [rows, blocks].
static Value readZeroPoints(NodeImport &n, const BlockForm &form,
                            Type element) {
  Value zero = n.in(3);
  if (!zero)
    return n.splat({form.rows, form.blocks()}, element,
                   double(1 << (form.bits - 1)));
  if (n.isFloat(zero))
    return n.cast(perBlock(n, zero, form, "zero_points"), element);
  int64_t bytes = llvm::divideCeil(form.blocks() * form.bits, 8);
  if (ir::tensorType(zero).getNumElements() != form.rows * bytes)
    return n.fail("input 'zero_points' has shape " +
                  shownShape(n.shapeOf(zero)) + "; it must be " +
                  shownShape({form.rows, bytes}));
  Value apart = unpackBits(n, n.reshape(zero, {form.rows, bytes}), form.bits);
  return n.cast(n.sliceDim(apart, 1, 0, form.blocks()), element);
}

/// Repeats each value of `v` [rows, blocks] for the elements of its block.
static Value spreadBlocks(NodeImport &n, Value v, const BlockForm &form) {
  if (n.has(4))
    return n.checkIndices(n.in(4), 0, form.blocks()) ? n.gather(v, n.in(4), 1)
                                                     : Value();
  Value apart =
      n.broadcast(n.expandDims(v, {2}), {form.rows, form.blocks(), form.block});
  return n.reshape(apart, {form.rows, form.blocks() * form.block});
}

/// A times the transpose of a matrix whose rows are quantised in blocks.
static void importMatMulNBits(NodeImport &n) {
  BlockForm form{n.attrInt("N", 0), n.attrInt("K", 0), n.attrInt("bits", 4),
                 n.attrInt("block_size", 0)};
  // The least accuracy of a product; the product here is exact.
  n.ignoreAttr("accuracy_level");
  bool isPrepacked = n.attrInt("weight_prepacked", 0);
  Value a = n.in(0), packed = n.in(1);
  if (!n.requireFloat() || !n.requireFloat(2) || !n.requireRank(0, 1))
    return;
  if (isPrepacked || (form.bits != 2 && form.bits != 4 && form.bits != 8)) {
    n.unsupported(isPrepacked ? std::string("attribute 'weight_prepacked'")
                              : std::to_string(form.bits) + " bits");
    return;
  }
  constexpr int64_t kLimit = int64_t(1) << 31;
  if (form.rows < 1 || form.columns < 1 || form.block < 1 ||
      form.rows > kLimit || form.columns > kLimit || form.block > (1 << 20) ||
      form.block * form.bits % 8) {
    n.fail("attributes 'N', 'K' and 'block_size' must be positive");
    return;
  }
  if (n.has(3) && n.has(4)) {
    // ONNX Runtime uses the zero points only on some devices.
    n.unsupported("with both inputs 'zero_points' and 'g_idx'");
    return;
  }
  int64_t bytes = form.block * form.bits / 8, width = form.blocks() * bytes;
  if (!n.typeOf({form.rows, width}, n.f32()) ||
      !n.typeOf({form.rows, form.blocks() * form.block}, n.f32()))
    return;
  if (ir::tensorType(packed).getNumElements() != form.rows * width ||
      !n.elementOf(packed).isUnsignedInteger(8)) {
    n.fail("input 'B' has shape " + shownShape(n.shapeOf(packed)) +
           "; it must be " + shownShape({form.rows, form.blocks(), bytes}) +
           " of uint8");
    return;
  }
  if (n.has(4) &&
      (n.rankOf(n.in(4)) != 1 || n.shapeOf(n.in(4))[0] < form.columns ||
       n.shapeOf(n.in(4))[0] > form.blocks() * form.block)) {
    n.fail("input 'g_idx' must be a list of K indices");
    return;
  }
  Type element = n.elementOf(a);
  Value scales = n.cast(perBlock(n, n.in(2), form, "scales"), element);
  Value zeros = readZeroPoints(n, form, element);
  Value codes = n.cast(
      unpackBits(n, n.reshape(packed, {form.rows, width}), form.bits), element);
  scales = spreadBlocks(n, scales, form);
  zeros = spreadBlocks(n, zeros, form);
  if (n.failed())
    return;
  auto cut = [&](Value v) { return n.sliceDim(v, 1, 0, form.columns); };
  Value weights = n.mul(n.sub(cut(codes), cut(zeros)), cut(scales));
  if (n.shapeOf(a).back() != form.columns) {
    n.fail("input 'A' has rows of " + std::to_string(n.shapeOf(a).back()) +
           " elements; attribute 'K' is " + std::to_string(form.columns));
    return;
  }
  Value y = n.dot(a, weights, {}, {}, {n.rankOf(a) - 1}, {1});
  n.out(n.has(5) ? n.add(y, n.in(5)) : y);
}

//===----------------------------------------------------------------------===//
// 8-bit products of floats
//===----------------------------------------------------------------------===//

/// The integer product of a and b, times their scales, plus a bias.
static Value emitScaledProduct(NodeImport &n, Value a, Value aScale,
                               Value aZero, Value b, Value bScale, Value bZero,
                               Value bias) {
  Type i32 = n.b.getI32Type();
  Value sum = n.matmul(emitCentred(n, a, aZero, -2, i32),
                       emitCentred(n, b, bZero, -1, i32));
  Value y = n.cast(sum, n.elementOf(bScale));
  // A scale per column broadcasts without a reshape.
  Value factor = n.mul(n.reshape(aScale, {}), bScale);
  if (!y || !factor)
    return {};
  y = n.mul(y, n.broadcast(factor, n.shapeOf(y)));
  return bias ? n.add(y, n.broadcast(bias, n.shapeOf(y))) : y;
}

static void importDynamicQuantizeMatMul(NodeImport &n) {
  if (!n.requireFloat() || !n.requireFloat(2))
    return;
  DynamicQuantized a = emitDynamicQuantize(n, n.in(0));
  n.out(emitScaledProduct(n, a.codes, a.scale, a.zeroPoint, n.in(1), n.in(2),
                          n.in(3), n.in(4)));
}

static void importMatMulIntegerToFloat(NodeImport &n) {
  if (!n.requireFloat(2) || !n.requireFloat(3))
    return;
  if (ir::tensorType(n.in(2)).getNumElements() != 1) {
    n.unsupported("a scale of each row of A");
    return;
  }
  n.out(emitScaledProduct(n, n.in(0), n.in(2), n.in(4), n.in(1), n.in(3),
                          n.in(5), n.in(6)));
}

llvm::ArrayRef<OpRow> microsoftQuantizeOps() {
  static constexpr OpRow rows[] = {
      {"DynamicQuantizeMatMul", importDynamicQuantizeMatMul, 3, 5},
      {"MatMulIntegerToFloat", importMatMulIntegerToFloat, 4, 7},
      {"MatMulNBits", importMatMulNBits, 3, 6},
  };
  return rows;
}

} // namespace sinter::compiler
