//===- MicrosoftQLinear.cpp - ORT's operators on 8-bit codes --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Operators of the domain com.microsoft that ONNX Runtime's quantizer writes in
// its format QOperator. Each becomes what a model with QuantizeLinear and
// DequantizeLinear has in its place: the inputs are dequantised, the operator
// computes floats, and its result is quantised. QGemm multiplies the codes.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Activation.h"
#include "compiler/import/onnx/Linear.h"
#include "compiler/import/onnx/Norm.h"
#include "compiler/import/onnx/Pool.h"
#include "compiler/import/onnx/Quantize.h"
#include "compiler/import/onnx/Registry.h"
#include "ir/QuantizedForm.h"

#include <numeric>

using namespace mlir;

namespace sinter::compiler {

//===----------------------------------------------------------------------===//
// Codes, their scale and their zero point
//===----------------------------------------------------------------------===//

static bool requireInput(NodeImport &n, size_t i) {
  if (!n.has(i))
    n.fail("required input " + std::to_string(i) + " is missing");
  return !n.failed();
}

static bool requireCodes(NodeImport &n, size_t i) {
  if (!requireInput(n, i))
    return false;
  auto integer = dyn_cast<IntegerType>(n.elementOf(n.in(i)));
  if (!integer || integer.getWidth() != 8)
    n.fail("input " + quoted(n.inputName(i)) + " must be of uint8 or int8");
  return !n.failed();
}

static bool requireSingle(NodeImport &n, size_t i) {
  if (n.has(i) && ir::tensorType(n.in(i)).getNumElements() != 1)
    n.fail("input " + quoted(n.inputName(i)) + " has shape " +
           shownShape(n.shapeOf(n.in(i))) + "; it must be a single value");
  return !n.failed();
}

/// The scale is input `scale`; the zero point is the next one and may be
/// absent. Each must be a single value.
static bool checkParameters(NodeImport &n, size_t scale, Type element) {
  return requireInput(n, scale) && n.requireFloat(scale) &&
         requireSingle(n, scale) && requireSingle(n, scale + 1) &&
         (!n.has(scale + 1) || checkZeroPoint(n, n.in(scale + 1), element));
}

/// Input `i`, which its scale and zero point follow, as floats.
static Value dequantized(NodeImport &n, size_t i) {
  Value x = n.in(i);
  if (!requireCodes(n, i) || !checkParameters(n, i + 1, n.elementOf(x)))
    return {};
  auto spread = [&](Value v) {
    return v ? n.broadcast(n.reshape(v, {}), n.shapeOf(x)) : Value();
  };
  return ir::dequantize(n.b, n.loc, x, spread(n.in(i + 1)),
                        spread(n.in(i + 2)));
}

/// y as codes; input `scale` and the next one are their scale and zero point.
static Value quantized(NodeImport &n, Value y, size_t scale, Type element) {
  if (!y || !checkParameters(n, scale, element))
    return {};
  Value zero = n.in(scale + 1);
  return emitQuantized(n, y, n.reshape(n.in(scale), {}),
                       zero ? n.reshape(zero, {}) : Value(), element);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// X, X_scale, X_zero_point, Y_scale, Y_zero_point. `emit` gets X as floats.
template <class Function>
static void importFunction(NodeImport &n, Function emit) {
  if (Value x = dequantized(n, 0))
    n.out(quantized(n, emit(x), 3, n.elementOf(n.in(0))));
}

/// A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point.
template <class Op> static void importBinary(NodeImport &n) {
  Value x = dequantized(n, 0), y = dequantized(n, 3);
  n.out(quantized(n, n.binary<Op>(x, y), 6, n.elementOf(n.in(0))));
}

static void importSigmoid(NodeImport &n) {
  importFunction(n, [&](Value x) { return n.unary<ir::SigmoidOp>(x); });
}

static void importLeakyRelu(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 0.01f);
  importFunction(n, [&](Value x) { return emitLeakyRelu(n, x, alpha); });
}

static void importWhere(NodeImport &n) {
  Value x = dequantized(n, 1), y = dequantized(n, 4);
  n.out(quantized(n, n.where(n.in(0), x, y), 7, n.elementOf(n.in(1))));
}

/// Y_scale, Y_zero_point, and a value, its scale and its zero point for each
/// part.
static void importConcat(NodeImport &n) {
  std::optional<int64_t> axis = n.attrInt("axis");
  if (!axis) {
    n.fail("attribute 'axis' is missing");
    return;
  }
  if (n.numInputs() % 3 != 2) {
    n.fail("has " + std::to_string(n.numInputs()) +
           " inputs; they must be two and three for each part");
    return;
  }
  if (!requireCodes(n, 1))
    return;
  Type element = n.elementOf(n.in(1));
  SmallVector<Value> parts;
  for (size_t i = 2; i < n.numInputs(); i += 3)
    parts.push_back(quantized(n, dequantized(n, i), 0, element));
  if (std::optional<int64_t> dim = n.axis(*axis, n.rankOf(parts.front())))
    n.out(n.concat(parts, *dim));
}

//===----------------------------------------------------------------------===//
// Along dimensions
//===----------------------------------------------------------------------===//

static void importSoftmax(NodeImport &n) {
  std::optional<int64_t> opset = n.attrInt("opset");
  int64_t axis = n.attrInt("axis", -1);
  if (!opset) {
    n.fail("attribute 'opset' is missing");
    return;
  }
  importFunction(n,
                 [&](Value x) { return emitSoftmax(n, x, axis, *opset < 13); });
}

static void importReduceMean(NodeImport &n) {
  bool keep = n.attrInt("keepdims", 1);
  std::optional<Shape> dims =
      n.normalised(n.attrInts("axes").value_or(Shape()), n.rankOf(n.in(0)));
  if (!dims)
    return;
  if (dims->empty()) {
    dims->resize(n.rankOf(n.in(0)));
    std::iota(dims->begin(), dims->end(), 0);
  }
  importFunction(n, [&](Value x) { return n.mean(x, *dims, keep); });
}

static void importGlobalAveragePool(NodeImport &n) {
  bool isLast = n.attrInt("channels_last", 0);
  if (!n.requireRank(0, 3))
    return;
  Shape dims(n.rankOf(n.in(0)) - 2);
  std::iota(dims.begin(), dims.end(), isLast ? 1 : 2);
  importFunction(n, [&](Value x) { return n.mean(x, dims, /*keep=*/true); });
}

static void importAveragePool(NodeImport &n) {
  bool isLast = n.attrInt("channels_last", 0);
  if (!n.requireRank(0, 3))
    return;
  Shape toFirst(n.rankOf(n.in(0)));
  std::iota(toFirst.begin(), toFirst.end(), 0);
  Shape toLast(toFirst);
  std::rotate(toFirst.begin() + 1, toFirst.end() - 1, toFirst.end());
  std::rotate(toLast.begin() + 1, toLast.begin() + 2, toLast.end());
  importFunction(n, [&](Value x) {
    // With count_include_pad, ONNX Runtime divides by the size of the window
    // also where ceil_mode lets it go beyond the padding.
    auto pool = [&](Value v) {
      return emitAveragePool(n, v, /*countsBeyondPadding=*/true);
    };
    return isLast ? n.transpose(pool(n.transpose(x, toFirst)), toLast)
                  : pool(x);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale,
/// y_zero_point. C is added to the products of the codes.
static void importQGemm(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1);
  bool transB = n.attrInt("transB", 0);
  if (!requireCodes(n, 0) || !checkParameters(n, 1, n.elementOf(n.in(0))) ||
      !requireCodes(n, 3) || !n.requireFloat(4))
    return;
  if (n.has(7) != n.has(8)) {
    // ONNX Runtime then gives what the schema does not say.
    n.unsupported("with only one of the inputs 'y_scale' and 'y_zero_point'");
    return;
  }
  Type i32 = n.b.getI32Type();
  auto zeroOf = [&](size_t i) { return n.in(i + 2); };
  Value sum =
      emitProduct(n, emitCentred(n, n.in(0), zeroOf(0), 0, i32),
                  emitCentred(n, n.in(3), zeroOf(3), transB ? 0 : 1, i32),
                  /*bInput=*/3);
  if (n.has(6))
    sum = n.add(sum, n.broadcast(n.in(6), n.shapeOf(sum)));
  Value factor = emitFactor(n, n.in(1), n.in(4));
  if (alpha != 1)
    factor = n.mul(factor, alpha);
  if (!n.has(7)) {
    Value real = n.cast(sum, n.f32());
    n.out(n.mul(real, spread(n, factor, real, 1)));
    return;
  }
  if (requireCodes(n, 8) && checkParameters(n, 7, n.elementOf(n.in(8))))
    n.out(emitRequantized(n, sum, factor, n.in(7), n.in(8), 1));
}

llvm::ArrayRef<OpRow> microsoftQLinearOps() {
  static constexpr OpRow rows[] = {
      {"QGemm", importQGemm, 6, 9},
      {"QLinearAdd", importBinary<ir::AddOp>, 2, 8},
      {"QLinearAveragePool", importAveragePool, 2, 5},
      {"QLinearConcat", importConcat, 3, kAny},
      {"QLinearGlobalAveragePool", importGlobalAveragePool, 2, 5},
      {"QLinearLeakyRelu", importLeakyRelu, 2, 5},
      {"QLinearMul", importBinary<ir::MulOp>, 2, 8},
      {"QLinearReduceMean", importReduceMean, 2, 5},
      {"QLinearSigmoid", importSigmoid, 2, 5},
      {"QLinearSoftmax", importSoftmax, 2, 5},
      {"QLinearWhere", importWhere, 3, 9},
  };
  return rows;
}

} // namespace sinter::compiler
