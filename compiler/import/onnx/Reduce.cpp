//===- Reduce.cpp - reductions, argmax, running sums, top-k ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Signature.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace sinter::compiler {

namespace {
struct Reduction {
  Shape dims;
  bool keep;
};
} // namespace

/// Reads axes (an input since version `inputSince`), keepdims and
/// noop_with_empty_axes.
static std::optional<Reduction> readReduction(NodeImport &n,
                                              int64_t inputSince) {
  int64_t rank = n.rankOf(n.in(0));
  bool keep = n.attrInt("keepdims", 1);
  bool isNoop = n.version >= inputSince && n.attrInt("noop_with_empty_axes", 0);
  std::optional<Shape> dims = n.axes(1, inputSince, rank);
  if (n.failed())
    return std::nullopt;
  if (!dims || dims->empty()) {
    dims.emplace();
    if (!isNoop) {
      dims->resize(rank);
      std::iota(dims->begin(), dims->end(), 0);
    }
  }
  return Reduction{*dims, keep};
}

/// `emit` gets the operand and reduces it.
template <int64_t inputSince, class Function>
static void importReduction(NodeImport &n, Function emit) {
  if (std::optional<Reduction> r = readReduction(n, inputSince))
    n.out(emit(n.in(0), *r));
}

static Value sum(NodeImport &n, Value x, const Reduction &r) {
  return n.reduce(ir::ReduceKind::sum, x, r.dims, r.keep);
}

static void importSum(NodeImport &n) {
  importReduction<13>(
      n, [&](Value x, const Reduction &r) { return sum(n, x, r); });
}

static void importMean(NodeImport &n) {
  importReduction<18>(n, [&](Value x, const Reduction &r) {
    return n.mean(x, r.dims, r.keep);
  });
}

static void importProd(NodeImport &n) {
  importReduction<18>(n, [&](Value x, const Reduction &r) {
    return n.reduce(ir::ReduceKind::prod, x, r.dims, r.keep);
  });
}

/// For equal extremes, PyTorch's max and min along a dimension give the whole
/// derivative to one of them. amax and amin, which are also exported as
/// ReduceMax and ReduceMin, share it.
static bool choosesOne(NodeImport &n) {
  std::optional<FxCall> call = readFxCall(n.node);
  return call && call->arguments.size() > 1 &&
         (call->target == "aten.max" || call->target == "aten.min");
}

/// Selects the first extreme along `axis`; the dimension stays.
static Value firstExtreme(NodeImport &n, ir::ReduceKind kind, Value x,
                          int64_t axis) {
  Value best = n.expandDims(n.argReduce(kind, x, axis), {axis});
  Value isBest =
      n.compare(ir::CompareKind::eq, n.iota(n.shapeOf(x), axis, n.i64()), best);
  Value chosen = n.where(isBest, x, n.splatLike(x, 0));
  return n.reduce(ir::ReduceKind::sum, chosen, {axis}, /*keep=*/true);
}

/// Since operator set 20, the operands may also be bools.
template <ir::ReduceKind kind, ir::ReduceKind ofBool>
static void importExtreme(NodeImport &n) {
  importReduction<18>(n, [&](Value x, const Reduction &r) {
    bool hasTies = r.dims.size() == 1 && n.shapeOf(x)[r.dims[0]] > 1;
    if (n.graph().options().train && n.isFloat(x) && hasTies && choosesOne(n)) {
      Value result = firstExtreme(n, kind, x, r.dims[0]);
      return r.keep ? result : n.squeeze(result, r.dims);
    }
    return n.reduce(n.isBool(x) ? ofBool : kind, x, r.dims, r.keep);
  });
}

static void importL1(NodeImport &n) {
  importReduction<18>(n, [&](Value x, const Reduction &r) {
    bool isUnsigned = n.elementOf(x).isUnsignedInteger();
    return sum(n, isUnsigned ? x : n.unary<ir::AbsOp>(x), r);
  });
}

static Value squareRoot(NodeImport &n, Value x) {
  if (n.isFloat(x))
    return n.unary<ir::SqrtOp>(x);
  return n.cast(n.unary<ir::SqrtOp>(n.cast(x, n.f32())), n.elementOf(x));
}

static void importL2(NodeImport &n) {
  importReduction<18>(n, [&](Value x, const Reduction &r) {
    bool isOne = llvm::all_of(
        r.dims, [&](int64_t dim) { return n.shapeOf(x)[dim] == 1; });
    if (isOne && n.isFloat(x)) // its square may overflow
      return sum(n, n.unary<ir::AbsOp>(x), r);
    return squareRoot(n, sum(n, n.mul(x, x), r));
  });
}

static void importSumSquare(NodeImport &n) {
  importReduction<18>(
      n, [&](Value x, const Reduction &r) { return sum(n, n.mul(x, x), r); });
}

/// ONNX Runtime truncates the logarithm of integers.
static bool refuseIntegers(NodeImport &n) {
  if (!n.failed() && !n.isFloat(n.in(0)))
    n.unsupported("of integers");
  return n.failed() || n.isUnsupported();
}

static void importLogSum(NodeImport &n) {
  if (!refuseIntegers(n))
    importReduction<18>(n, [&](Value x, const Reduction &r) {
      return n.unary<ir::LogOp>(sum(n, x, r));
    });
}

/// max + log(sum(exp(x - max))), with 0 for a maximum that is not finite. The
/// maximum cancels out, so its gradient would only be a rounding error.
static void importLogSumExp(NodeImport &n) {
  if (refuseIntegers(n))
    return;
  importReduction<18>(n, [&](Value x, const Reduction &r) {
    Value top = n.reduce(ir::ReduceKind::max, x, r.dims, /*keep=*/true);
    Value infinity = n.splatLike(top, std::numeric_limits<double>::infinity());
    Value isFinite =
        n.compare(ir::CompareKind::lt, n.unary<ir::AbsOp>(top), infinity);
    top = n.unary<ir::StopGradientOp>(
        n.where(isFinite, top, n.splatLike(top, 0)));
    Value total = sum(n, n.unary<ir::ExpOp>(n.sub(x, top)), {r.dims, true});
    Value result = n.add(n.unary<ir::LogOp>(total), top);
    return r.keep ? result : n.squeeze(result, r.dims);
  });
}

template <ir::ReduceKind kind> static void importArg(NodeImport &n) {
  bool keep = n.attrInt("keepdims", 1),
       last = n.attrInt("select_last_index", 0);
  Value x = n.in(0);
  std::optional<int64_t> axis = n.axis(n.attrInt("axis", 0), n.rankOf(x));
  if (!axis)
    return;
  Value index = n.argReduce(kind, x, *axis, last);
  n.out(keep ? n.expandDims(index, {*axis}) : index);
}

template <ir::ReduceKind kind> static void importCumulative(NodeImport &n) {
  bool exclusive = n.attrInt("exclusive", 0), reverse = n.attrInt("reverse", 0);
  std::optional<int64_t> given = n.knownInt(1, "axis");
  if (!given)
    return;
  if (std::optional<int64_t> axis = n.axis(*given, n.rankOf(n.in(0))))
    n.out(n.cumulative(kind, n.in(0), *axis, exclusive, reverse));
}

static void importTopK(NodeImport &n) {
  Value x = n.in(0);
  bool largest = n.attrInt("largest", 1);
  n.attrInt("sorted",
            1); // without it any order is allowed, so sorted is too
  int64_t given = n.attrInt("axis", -1);
  std::optional<int64_t> k =
      n.version < 10 ? n.attrInt("k") : n.knownInt(1, "K");
  std::optional<int64_t> axis = n.axis(given, n.rankOf(x));
  if (!axis || n.failed())
    return;
  if (!k || *k < 0 || *k > n.shapeOf(x)[*axis]) {
    n.fail("K is " + (k ? std::to_string(*k) : std::string("missing")) +
           "; it must lie between 0 and the dimension's size " +
           std::to_string(n.shapeOf(x)[*axis]));
    return;
  }
  auto [values, indices] = n.topK(x, *axis, *k, largest);
  n.out(0, values);
  n.out(1, indices);
}

llvm::ArrayRef<OpRow> reduceOps() {
  using ir::ReduceKind;
  static constexpr OpRow rows[] = {
      {"ArgMax", importArg<ReduceKind::max>, 1, 1},
      {"ArgMin", importArg<ReduceKind::min>, 1, 1},
      {"CumProd", importCumulative<ReduceKind::prod>, 2, 2, 1, 26},
      {"CumSum", importCumulative<ReduceKind::sum>, 2, 2, 1, 11},
      {"ReduceL1", importL1, 1, 2},
      {"ReduceL2", importL2, 1, 2},
      {"ReduceLogSum", importLogSum, 1, 2},
      {"ReduceLogSumExp", importLogSumExp, 1, 2},
      {"ReduceMax", importExtreme<ReduceKind::max, ReduceKind::any>, 1, 2},
      {"ReduceMean", importMean, 1, 2},
      {"ReduceMin", importExtreme<ReduceKind::min, ReduceKind::all>, 1, 2},
      {"ReduceProd", importProd, 1, 2},
      {"ReduceSum", importSum, 1, 2},
      {"ReduceSumSquare", importSumSquare, 1, 2},
      {"TopK", importTopK, 1, 2, 2},
  };
  return rows;
}

} // namespace sinter::compiler
