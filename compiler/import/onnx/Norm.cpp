//===- Norm.cpp - softmax and normalisations ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Norm.h"
#include "compiler/base/Text.h"
#include "compiler/import/ExportMode.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Registry.h"

#include <onnx/onnx_pb.h>

#include <numeric>

using namespace mlir;

namespace sinter::compiler {

//===----------------------------------------------------------------------===//
// Along one dimension
//===----------------------------------------------------------------------===//

/// Normalises along the dimension `given` (from the end if negative).
/// `ofMatrix`: x is reshaped to a matrix at that dimension and its rows are
/// normalised. `emit` gets a value and the dimension.
template <class Function>
static Value emitAlong(NodeImport &n, Value x, int64_t given, bool ofMatrix,
                       Function emit) {
  int64_t rank = n.rankOf(x);
  // There, axis == rank means a matrix of one column.
  if (ofMatrix && given == rank)
    return n.reshape(emit(n.expandDims(x, {rank}), rank), n.shapeOf(x));
  std::optional<int64_t> axis = n.axis(given, rank);
  if (!axis)
    return {};
  Ints rest = n.shapeOf(x).drop_front(*axis + 1);
  bool isOneDim = llvm::all_of(rest, [](int64_t size) { return size == 1; });
  if (!ofMatrix || isOneDim)
    return emit(x, *axis);
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < rank; ++i)
    (i < *axis ? rows : columns) *= n.shapeOf(x)[i];
  return n.reshape(emit(n.reshape(x, {rows, columns}), 1), n.shapeOf(x));
}

/// Before operator set 13, of a matrix; the axis is 1 by default.
template <class Function>
static void importAlong(NodeImport &n, Function emit) {
  bool ofMatrix = n.version < 13;
  int64_t axis = n.attrInt("axis", ofMatrix ? 1 : -1);
  if (n.requireFloat())
    n.out(emitAlong(n, n.in(0), axis, ofMatrix, emit));
}

Value emitSoftmax(NodeImport &n, Value x, int64_t axis, bool ofMatrix) {
  return emitAlong(n, x, axis, ofMatrix,
                   [&](Value v, int64_t dim) { return n.softmax(v, dim); });
}

static void importSoftmax(NodeImport &n) {
  importAlong(n, [&](Value x, int64_t axis) { return n.softmax(x, axis); });
}

static void importLogSoftmax(NodeImport &n) {
  importAlong(n, [&](Value x, int64_t axis) { return n.logSoftmax(x, axis); });
}

/// 1 at the first maximum, else 0.
static void importHardmax(NodeImport &n) {
  importAlong(n, [&](Value x, int64_t axis) {
    Value best =
        n.expandDims(n.argReduce(ir::ReduceKind::max, x, axis), {axis});
    Value isBest = n.compare(ir::CompareKind::eq,
                             n.iota(n.shapeOf(x), axis, n.i64()), best);
    return n.cast(isBest, n.elementOf(x));
  });
}

static void importLpNormalization(NodeImport &n) {
  int64_t p = n.attrInt("p", 2), given = n.attrInt("axis", -1);
  Value x = n.in(0);
  std::optional<int64_t> axis = n.axis(given, n.rankOf(x));
  if (!axis || !n.requireFloat())
    return;
  if (p != 1 && p != 2) {
    n.fail("attribute 'p' is " + std::to_string(p) + "; it must be 1 or 2");
    return;
  }
  Value norm = n.reduce(ir::ReduceKind::sum,
                        p == 1 ? n.unary<ir::AbsOp>(x) : n.mul(x, x), {*axis},
                        /*keep=*/true);
  norm = p == 2 ? n.unary<ir::SqrtOp>(norm) : norm;
  // If all elements are zero, the result is zero.
  Value isZero = n.compare(ir::CompareKind::eq, norm, n.splatLike(norm, 0));
  n.out(n.div(x, n.where(isZero, n.splatLike(norm, 1), norm)));
}

//===----------------------------------------------------------------------===//
// Over channels and groups
//===----------------------------------------------------------------------===//

/// Reads `count` inputs starting at `from`, each a list of `size` elements, as
/// elements of type `element`.
static bool perChannel(NodeImport &n, size_t from, size_t count, int64_t size,
                       Type element, SmallVectorImpl<Value> &values) {
  for (size_t i = from; i < from + count; ++i) {
    if (n.shapeOf(n.in(i)) != Ints({size})) {
      n.fail("input " + quoted(n.inputName(i)) + " has shape " +
             shownShape(n.shapeOf(n.in(i))) + "; it must be " +
             shownShape({size}));
      return false;
    }
    values.push_back(n.cast(n.in(i), element));
  }
  return true;
}

/// PyTorch's exporter writes the inference form for both modes of a module. Its
/// name for the node of a module in train() mode has this text.
static constexpr StringLiteral kTorchTrainingName =
    "native_batch_norm_legit_functional";

static void importBatchNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-5f),
         momentum = n.attrFloat("momentum", 0.9f);
  bool isSpatial = n.version >= 9 || n.attrInt("spatial", 1);
  bool isTraining =
      n.version >= 14 ? n.attrInt("training_mode", 0) : n.numOutputs() > 1;
  bool wantsStatistics = false;
  for (size_t i = 1; i < n.numOutputs(); ++i)
    wantsStatistics |= n.wants(i);
  if (n.version < 14 && !wantsStatistics)
    isTraining = false;
  Value x = n.in(0);
  if (!n.requireFloat() || !n.requireRank(0, 2))
    return;
  if (!isSpatial) {
    n.unsupported("attribute 'spatial' = 0");
    return;
  }
  // Statistics that are wider than x are used, and trained, as they are.
  Type own = n.elementOf(x);
  for (size_t i = 1; i < 5; ++i)
    if (n.isFloat(n.in(i)) && n.elementOf(n.in(i)).getIntOrFloatBitWidth() >
                                  n.elementOf(x).getIntOrFloatBitWidth())
      x = n.cast(x, n.elementOf(n.in(i)));
  SmallVector<Value, 4> v; // scale, bias, mean, variance
  if (!perChannel(n, 1, 4, n.shapeOf(x)[1], n.elementOf(x), v))
    return;
  if (n.graph().options().train && (v[2] != n.in(3) || v[3] != n.in(4))) {
    n.unsupported("training with running statistics that are narrower than "
                  "the other inputs");
    return;
  }
  // With --train the train phase decides which statistics are used.
  if (!isTraining || n.graph().options().train) {
    auto norm = n.b.create<ir::BatchNormOp>(n.loc, x.getType(), x, v[0], v[1],
                                            v[2], v[3], llvm::APFloat(epsilon),
                                            llvm::APFloat(momentum));
    if (!isTraining && n.graph().options().train &&
        !StringRef(n.node.name()).contains(kTorchTrainingName))
      norm->setAttr(kInferenceAttr, n.b.getUnitAttr());
    n.out(n.cast(norm.getResult(), own));
    if (n.wants(1))
      n.out(1, n.in(3));
    if (n.wants(2))
      n.out(2, n.in(4));
    if (n.wants(3) || n.wants(4))
      n.unsupported("outputs 'saved_mean' and 'saved_var'");
    return;
  }
  if (n.version < 14 && (n.wants(3) || n.wants(4))) {
    n.unsupported("outputs 'saved_mean' and 'saved_var'");
    return;
  }
  Type statistics = v[2].getType();
  auto norm = n.b.create<ir::BatchNormTrainingOp>(
      n.loc, TypeRange{x.getType(), statistics, statistics}, x, v[0], v[1],
      llvm::APFloat(epsilon));
  n.out(n.cast(norm.getResult(), own));
  auto running = [&](Value old, Value batch) {
    return n.add(n.mul(old, momentum), n.mul(batch, 1 - momentum));
  };
  if (n.wants(1))
    n.out(1, n.cast(running(v[2], norm.getBatchMean()), n.elementOf(n.in(3))));
  if (n.wants(2))
    n.out(2,
          n.cast(running(v[3], norm.getBatchVariance()), n.elementOf(n.in(4))));
}

static Value emitGroupNorm(NodeImport &n, Value scale, Value bias,
                           int64_t groups, double epsilon) {
  Value x = n.in(0);
  if (!x || !scale || !bias)
    return {};
  return n.b.create<ir::GroupNormOp>(n.loc, x.getType(), x, scale, bias, groups,
                                     llvm::APFloat(epsilon));
}

static void importInstanceNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-5f);
  if (!n.requireFloat() || !n.requireRank(0, 2))
    return;
  int64_t channels = n.shapeOf(n.in(0))[1];
  SmallVector<Value, 2> v;
  if (perChannel(n, 1, 2, channels, n.elementOf(n.in(0)), v))
    n.out(emitGroupNorm(n, v[0], v[1], channels, epsilon));
}

static void importGroupNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-5f);
  int64_t groups = n.attrInt("num_groups", 0);
  n.ignoreAttr("stash_type"); // the op keeps its statistics in fp32 or better
  if (!n.requireFloat() || !n.requireRank(0, 2))
    return;
  int64_t channels = n.shapeOf(n.in(0))[1];
  if (groups < 1 || channels % groups != 0) {
    n.fail("attribute 'num_groups' is " + std::to_string(groups) +
           "; it must divide the " + std::to_string(channels) + " channels");
    return;
  }
  // Operator set 18 scales groups, 21 and later scale channels.
  int64_t size = n.version < 21 ? groups : channels;
  SmallVector<Value, 2> v;
  if (!perChannel(n, 1, 2, size, n.elementOf(n.in(0)), v))
    return;
  auto spread = [&](Value list) {
    return n.reshape(n.broadcastInDims(list, {0}, {size, channels / size}),
                     {channels});
  };
  n.out(emitGroupNorm(n, spread(v[0]), spread(v[1]), groups, epsilon));
}

//===----------------------------------------------------------------------===//
// Over trailing dimensions
//===----------------------------------------------------------------------===//

Value emitLayerNorm(NodeImport &n, Value x, Value scale, Value bias,
                    int64_t axis, double epsilon) {
  if (!x)
    return {};
  Shape tail(n.shapeOf(x).drop_front(axis));
  scale = n.broadcast(scale, tail);
  bias = bias ? n.broadcast(bias, tail) : Value();
  if (n.failed())
    return {};
  return n.b
      .create<ir::LayerNormOp>(n.loc, x.getType(), x, scale, bias, axis,
                               llvm::APFloat(epsilon))
      .getResult();
}

static void importLayerNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-5f);
  int64_t given = n.attrInt("axis", -1), stash = n.attrInt("stash_type", 1);
  Value x = n.in(0);
  std::optional<int64_t> axis = n.axis(given, n.rankOf(x));
  if (!axis || !n.requireFloat())
    return;
  Shape tail(n.shapeOf(x).drop_front(*axis));
  n.out(emitLayerNorm(n, x, n.in(1), n.in(2), *axis, epsilon));
  if (n.failed())
    return;
  if (!n.wants(1) && !n.wants(2))
    return;
  if (stash != 1) {
    n.unsupported("attribute 'stash_type' = " + std::to_string(stash));
    return;
  }
  Shape dims(tail.size());
  std::iota(dims.begin(), dims.end(), *axis);
  Value wide = n.cast(x, n.f32());
  Value mean = n.mean(wide, dims, /*keep=*/true);
  Value deviation = n.sub(wide, mean);
  Value variance = n.mean(n.mul(deviation, deviation), dims, /*keep=*/true);
  n.outFloat32(1, mean);
  n.outFloat32(2, n.div(n.splatLike(variance, 1),
                        n.unary<ir::SqrtOp>(n.add(variance, epsilon))));
}

Value emitRmsNorm(NodeImport &n, Value x, Value scale, int64_t axis,
                  double epsilon) {
  if (!x)
    return {};
  Shape dims(n.rankOf(x) - axis);
  std::iota(dims.begin(), dims.end(), axis);
  bool isWide = n.elementOf(x).isF64();
  Value wide = isWide ? x : n.cast(x, n.f32());
  Value square = n.mean(n.mul(wide, wide), dims, /*keep=*/true);
  Value unit = n.mul(wide, n.unary<ir::RsqrtOp>(n.add(square, epsilon)));
  return n.mul(n.cast(unit, n.elementOf(x)), scale);
}

static void importRmsNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-5f);
  int64_t given = n.attrInt("axis", -1);
  n.ignoreAttr("stash_type"); // always fp32
  std::optional<int64_t> axis = n.axis(given, n.rankOf(n.in(0)));
  if (axis && n.requireFloat())
    n.out(emitRmsNorm(n, n.in(0), n.in(1), *axis, epsilon));
}

void importSimplifiedLayerNorm(NodeImport &n) { importRmsNorm(n); }

static void importMeanVarianceNorm(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> axes = n.attrInts("axes");
  std::optional<Shape> dims =
      n.normalised(axes ? Ints(*axes) : Ints({0, 2, 3}), n.rankOf(x));
  if (!dims || !n.requireFloat())
    return;
  Value deviation = n.sub(x, n.mean(x, *dims, /*keep=*/true));
  Value variance = n.mean(n.mul(deviation, deviation), *dims, /*keep=*/true);
  n.out(n.div(deviation, n.add(n.unary<ir::SqrtOp>(variance), 1e-9)));
}

/// x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta.
static void importLrn(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1e-4f), beta = n.attrFloat("beta", 0.75f);
  double bias = n.attrFloat("bias", 1);
  int64_t size = n.attrInt("size", 0);
  Value x = n.in(0);
  if (!n.requireFloat() || !n.requireRank(0, 2))
    return;
  if (size < 1 || size > (1 << 20)) {
    n.fail("attribute 'size' is " + std::to_string(size) +
           "; it must be positive");
    return;
  }
  int64_t rank = n.rankOf(x);
  Shape window(rank, 1), ones(rank, 1), low(rank, 0), high(rank, 0);
  window[1] = size;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Value sum = n.infer<ir::ReduceWindowOp>(
      n.mul(x, x),
      {n.b.getNamedAttr(
           "kind", ir::ReduceKindAttr::get(n.context(), ir::ReduceKind::sum)),
       n.named("window", window), n.named("strides", ones),
       n.named("dilations", ones), n.named("pads_low", low),
       n.named("pads_high", high)});
  Value base = n.add(n.mul(sum, alpha / double(size)), bias);
  n.out(n.div(x, n.binary<ir::PowOp>(base, n.splatLike(base, beta))));
}

llvm::ArrayRef<OpRow> normOps() {
  static constexpr OpRow rows[] = {
      {"BatchNormalization", importBatchNorm, 5, 5, 5},
      {"GroupNormalization", importGroupNorm, 3, 3, 1, 18},
      {"Hardmax", importHardmax, 1, 1},
      {"InstanceNormalization", importInstanceNorm, 3, 3},
      {"LRN", importLrn, 1, 1},
      // Since operator set 17; ONNX Runtime also writes it in older ones.
      {"LayerNormalization", importLayerNorm, 2, 3, 3},
      {"LogSoftmax", importLogSoftmax, 1, 1},
      {"LpNormalization", importLpNormalization, 1, 1},
      {"MeanVarianceNormalization", importMeanVarianceNorm, 1, 1, 1, 9},
      {"RMSNormalization", importRmsNorm, 2, 2, 1, 23},
      // An operator of ONNX Runtime, which writes it in ONNX's domain.
      {"SimplifiedLayerNormalization", importSimplifiedLayerNorm, 2, 2, 2},
      {"Softmax", importSoftmax, 1, 1},
  };
  return rows;
}

} // namespace sinter::compiler
