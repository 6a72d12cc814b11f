//===- Control.cpp - constants, identities, If ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/ExportMode.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Signature.h"
#include "compiler/import/onnx/Values.h"

#include "sinter/program_names.h"

#include <onnx/onnx_pb.h>

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

/// PyTorch's detach() is exported as an Identity; no gradient flows through it.
static void importIdentity(NodeImport &n) {
  std::optional<FxCall> call =
      n.graph().options().train ? readFxCall(n.node) : std::nullopt;
  bool isDetached = call && call->target == "aten.detach" && n.in(0) &&
                    isa<RankedTensorType>(n.in(0).getType()) &&
                    n.isFloat(n.in(0));
  n.out(isDetached ? n.unary<ir::StopGradientOp>(n.in(0)) : n.in(0));
}

/// Exactly one attribute holds the value.
static void importConstant(NodeImport &n) {
  if (const ::onnx::TensorProto *tensor = n.attrTensor("value")) {
    n.out(n.graph().makeConstant(n, *tensor));
  } else if (std::optional<int64_t> value = n.attrInt("value_int")) {
    n.out(n.ints({*value}, {}));
  } else if (std::optional<Shape> values = n.attrInts("value_ints")) {
    n.out(n.ints(*values));
  } else if (n.hasAttr("value_float")) {
    n.out(n.floats({n.attrFloat("value_float", 0)}, {}, n.f32()));
  } else if (auto values = n.attrFloats("value_floats")) {
    n.out(n.floats(*values, {int64_t(values->size())}, n.f32()));
  } else if (const auto *attribute = n.findAttr("sparse_value")) {
    if (attribute->has_sparse_tensor())
      n.out(n.graph().makeConstant(n, attribute->sparse_tensor()));
    else
      n.fail("attribute 'sparse_value' does not hold a sparse tensor");
  } else if (n.hasAttr("value_string") || n.hasAttr("value_strings")) {
    n.unsupported("strings");
  } else {
    n.fail("the attribute with its value is missing");
  }
}

static void importConstantOfShape(NodeImport &n) {
  std::optional<Shape> shape = n.knownInts(0, "shape");
  const ::onnx::TensorProto *tensor = n.attrTensor("value");
  if (!shape || n.failed())
    return;
  Value one = n.scalar(n.f32(), 0);
  if (tensor) {
    one = n.graph().makeConstant(n, *tensor);
    if (one && ir::tensorType(one).getNumElements() != 1) {
      n.fail("attribute 'value' must have one element");
      return;
    }
  }
  std::optional<ir::Tensor> value = n.constantOf(n.reshape(one, {}));
  if (!value && one)
    value = n.constantOf(one);
  RankedTensorType type =
      one ? n.typeOf(*shape, n.elementOf(one)) : RankedTensorType();
  if (!value || !type)
    return;
  auto attr = cast<DenseElementsAttr>(value->toAttr());
  n.out(n.b.create<ir::ConstantOp>(n.loc, type, attr.resizeSplat(type))
            .getResult());
}

/// start, start + delta, ..., below limit.
static void importRange(NodeImport &n) {
  Type element = n.elementOf(n.in(0));
  if (n.version >= 27)
    n.ignoreAttr("stash_type"); // half types are always computed in fp32
  std::optional<ir::Tensor> bounds[3];
  const char *names[] = {"start", "limit", "delta"};
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = n.known(i, names[i]);
    if (!bounds[i])
      return;
    if (bounds[i]->size() != 1 || n.elementOf(n.in(i)) != element) {
      n.fail(std::string("input '") + names[i] +
             "' must be a scalar of the type of 'start'");
      return;
    }
  }
  bool isFloat = bounds[0]->isFloat();
  double count;
  if (isFloat) {
    double start = bounds[0]->floats[0], limit = bounds[1]->floats[0],
           delta = bounds[2]->floats[0];
    count = std::ceil((limit - start) / delta);
  } else {
    __int128 span = __int128(bounds[1]->ints[0]) - bounds[0]->ints[0];
    __int128 delta = bounds[2]->ints[0];
    __int128 quotient =
        delta == 0 ? 0 : (span + (delta > 0 ? delta - 1 : delta + 1)) / delta;
    count = delta == 0 ? NAN : double(quotient);
  }
  if (!(count < double(1 << 30))) {
    n.fail("start, limit and delta give no sequence of at most 2^30 elements");
    return;
  }
  int64_t size = count > 0 ? int64_t(count) : 0;
  Type wide = element.isF16() || element.isBF16() ? n.f32() : element;
  Value index = n.cast(n.iota({size}, 0, n.i64()), wide);
  auto scalar = [&](size_t i) { return n.cast(n.reshape(n.in(i), {}), wide); };
  n.out(n.cast(n.add(n.mul(index, scalar(2)), scalar(0)), element));
}

static void importEyeLike(NodeImport &n) {
  Value x = n.in(0);
  int64_t k = n.attrInt("k", 0);
  std::optional<int64_t> dtype = n.attrInt("dtype");
  Type element =
      dtype ? elementTypeOf(int32_t(*dtype), n.context()) : n.elementOf(x);
  if (!element) {
    n.unsupported("elements of type " + dataTypeName(int32_t(*dtype)));
    return;
  }
  if (n.rankOf(x) != 2) {
    n.fail("the input has rank " + std::to_string(n.rankOf(x)) +
           "; it must be a matrix");
    return;
  }
  Shape shape(n.shapeOf(x));
  k = std::clamp(k, -shape[0], shape[1]);
  Value diagonal = n.add(n.iota(shape, 0, n.i64()), n.ints({k}, {}));
  n.out(n.cast(
      n.compare(ir::CompareKind::eq, n.iota(shape, 1, n.i64()), diagonal),
      element));
}

/// Outside of training it is the identity, with a mask that is all true.
static void importDropout(NodeImport &n) {
  double ratio = 0.5;
  bool isTraining = false, isKnown = true;
  if (n.version < 12) {
    ratio = n.attrFloat("ratio", 0.5);
  } else {
    n.ignoreAttr("seed");
    if (n.has(1)) {
      std::optional<ir::Tensor> value = n.constantOf(1);
      isKnown &= value && value->isFloat() && value->size() == 1;
      if (isKnown)
        ratio = value->floats[0];
    }
    if (n.has(2)) {
      std::optional<ir::Tensor> value = n.constantOf(2);
      isKnown &= value && !value->isFloat() && value->size() == 1;
      if (isKnown)
        isTraining = value->ints[0] != 0;
    }
  }
  if (!isKnown) {
    n.unsupported("ratio and training_mode must be known at compile time");
    return;
  }
  if (!(ratio >= 0 && ratio < 1)) {
    n.fail("ratio is " + std::to_string(ratio) +
           "; it must be at least 0 and below 1");
    return;
  }
  if (n.graph().options().train && ratio != 0) {
    if (n.wants(1)) {
      n.unsupported("output 'mask' of a program to be trained");
      return;
    }
    // Training drops elements in whatever mode the model was exported.
    Value seed = n.graph().control(SINTER_CONTROL_SEED),
          step = n.graph().control(SINTER_CONTROL_STEP);
    auto dropout = n.b.create<ir::DropoutOp>(
        n.loc, n.in(0).getType(), n.in(0), seed, step, Value(),
        llvm::APFloat(ratio), n.graph().nextRandomId());
    if (!isTraining)
      dropout->setAttr(kInferenceAttr, n.b.getUnitAttr());
    n.out(dropout.getResult());
    return;
  }
  if (isTraining && ratio != 0 && n.graph().options().isOnlyShown) {
    n.graph().warn("nodes in training mode are shown as in inference; --train "
                   "shows training");
  } else if (isTraining && ratio != 0) {
    n.unsupported("training_mode with ratio " + std::to_string(ratio) +
                  ", whose result is random; export the model in eval() mode "
                  "(or with a trainer's export), or compile with --train");
    return;
  }
  n.out(n.in(0));
  n.out(1, n.splat(n.shapeOf(n.in(0)),
                   n.version < 10 ? n.elementOf(n.in(0)) : n.i1(), 1));
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Both branches are computed only up to this size.
static constexpr int64_t kMaxBranchNodes = 256;

/// Selects one of two values when the condition is known only at run time.
static Value emitSelect(NodeImport &n, Value condition, Value x, Value y) {
  if (x == y)
    return x;
  if (!isTensor(x) || !isTensor(y))
    return n.unsupported("branches that give " + describe(x) + " and " +
                         describe(y) +
                         ", with a condition that is not known at compile "
                         "time");
  if (x.getType() != y.getType())
    return n.unsupported(
        "branches of different shapes or types, with a condition that is "
        "not known at compile time");
  return n.where(n.broadcast(n.reshape(condition, {}), n.shapeOf(x)), x, y);
}

static void importIf(NodeImport &n) {
  const ::onnx::GraphProto *branches[] = {n.attrGraph("then_branch"),
                                          n.attrGraph("else_branch")};
  if (n.failed())
    return;
  if (!branches[0] || !branches[1]) {
    n.fail("attributes 'then_branch' and 'else_branch' must both be given");
    return;
  }
  Value condition = n.in(0);
  if (!n.isBool(condition) || ir::tensorType(condition).getNumElements() != 1) {
    n.fail("the condition must be one bool");
    return;
  }
  for (const ::onnx::GraphProto *branch : branches)
    if (size_t(branch->output_size()) != n.numOutputs()) {
      n.fail("graph " + quoted(branch->name()) + " has " +
             std::to_string(branch->output_size()) + " outputs; the node has " +
             std::to_string(n.numOutputs()));
      return;
    }
  SmallVector<Value> values[2];
  if (std::optional<ir::Tensor> known = n.constantOf(condition)) {
    if (!n.graph().importBody(n, *branches[known->ints[0] ? 0 : 1], {},
                              values[0]))
      return;
    values[1] = values[0];
  } else {
    if (GraphImport::countNodes(*branches[0]) +
            GraphImport::countNodes(*branches[1]) >
        kMaxBranchNodes) {
      n.unsupported("a condition that is not known at compile time, with "
                    "branches of more "
                    "than " +
                    std::to_string(kMaxBranchNodes) + " nodes");
      return;
    }
    for (int i : {0, 1}) {
      n.graph().pushGuard(condition, /*taken=*/i == 0);
      bool isDone = n.graph().importBody(n, *branches[i], {}, values[i]);
      n.graph().popGuard();
      if (!isDone)
        return;
    }
  }
  for (size_t i = 0; i < values[0].size(); ++i) {
    if (!values[0][i] || !values[1][i]) {
      n.poison();
      return;
    }
    n.out(i, emitSelect(n, condition, values[0][i], values[1][i]));
  }
}

llvm::ArrayRef<OpRow> controlOps() {
  static constexpr OpRow rows[] = {
      {"Constant", importConstant, 0, 0},
      {"ConstantOfShape", importConstantOfShape, 1, 1, 1, 9},
      {"Dropout", importDropout, 1, 3, 2},
      {"EyeLike", importEyeLike, 1, 1, 1, 9},
      takesAny({"Identity", importIdentity, 1, 1}),
      {"If", importIf, 1, 1, kAny},
      {"Range", importRange, 3, 3, 1, 11},
  };
  return rows;
}

} // namespace sinter::compiler
