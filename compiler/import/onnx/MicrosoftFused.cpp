//===- MicrosoftFused.cpp - products and activations that ORT fuses -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Operators of the domain com.microsoft with which ONNX Runtime's optimizer
// replaces two or three of ONNX's own.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Activation.h"
#include "compiler/import/onnx/Conv.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Linear.h"
#include "compiler/import/onnx/Registry.h"

#include <numeric>

using namespace mlir;

namespace sinter::compiler {

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static Value emitGelu(NodeImport &n, Value x, ir::GeluForm form) {
  if (!x)
    return {};
  return n.b.create<ir::GeluOp>(n.loc, x.getType(), x, form).getResult();
}

static void importGelu(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitGelu(n, n.in(0), ir::GeluForm::erf));
}

static void importBiasGelu(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitGelu(n, n.add(n.in(0), n.in(1)), ir::GeluForm::erf));
}

static void importFastGelu(NodeImport &n) {
  Value x = n.has(1) ? n.add(n.in(0), n.in(1)) : n.in(0);
  if (n.requireFloat())
    n.out(emitGelu(n, x, ir::GeluForm::tanh));
}

static void importQuickGelu(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1.702f);
  if (n.requireFloat())
    n.out(n.mul(n.in(0), n.unary<ir::SigmoidOp>(n.mul(n.in(0), alpha))));
}

/// The first half times the gelu of the second.
static void importBiasSplitGelu(NodeImport &n) {
  Value x = n.add(n.in(0), n.in(1));
  if (!n.requireFloat() || !n.requireRank(0, 1) || !x)
    return;
  int64_t last = n.rankOf(x) - 1, size = n.shapeOf(x)[last];
  if (size % 2) {
    n.fail("the last dimension has " + std::to_string(size) +
           " elements; it must have two halves");
    return;
  }
  Value gate =
      emitGelu(n, n.sliceDim(x, last, size / 2, size), ir::GeluForm::erf);
  n.out(n.mul(n.sliceDim(x, last, 0, size / 2), gate));
}

/// Applies a fused node's activation, given by ONNX's name, to its result.
static Value emitActivation(NodeImport &n, Value x, StringRef name,
                            ArrayRef<double> parameters) {
  auto parameter = [&](size_t i, double byDefault) {
    return i < parameters.size() ? parameters[i] : byDefault;
  };
  if (!x || name.empty())
    return x;
  if (name == "Relu")
    return n.unary<ir::ReluOp>(x);
  if (name == "Tanh")
    return n.unary<ir::TanhOp>(x);
  if (name == "Sigmoid")
    return n.unary<ir::SigmoidOp>(x);
  if (name == "LeakyRelu")
    return emitLeakyRelu(n, x, parameter(0, 0.01f));
  if (name == "HardSigmoid")
    return emitHardSigmoid(n, x, parameter(0, 0.2f), parameter(1, 0.5));
  if (name == "Clip" && parameters.size() == 2)
    return emitClip(n, x, n.splatLike(x, parameters[0]),
                    n.splatLike(x, parameters[1]));
  return n.unsupported("activation " + quoted(name));
}

//===----------------------------------------------------------------------===//
// Products and convolutions
//===----------------------------------------------------------------------===//

static void importFusedConv(NodeImport &n) {
  std::string name = n.attrString("activation", "");
  SmallVector<double> parameters =
      n.attrFloats("activation_params").value_or(SmallVector<double>());
  Value y = emitConv(n, n.in(0), n.in(1), n.in(2));
  if (n.has(3))
    y = n.add(y, n.in(3));
  n.out(emitActivation(n, y, name, parameters));
}

static void importFusedGemm(NodeImport &n) {
  std::string name = n.attrString("activation", "");
  SmallVector<double> parameters;
  for (StringRef attribute : {"activation_alpha", "activation_beta"})
    if (n.hasAttr(attribute))
      parameters.push_back(n.attrFloat(attribute, 0));
  n.out(emitActivation(n, emitGemm(n, n.in(0), n.in(1), n.in(2)), name,
                       parameters));
}

/// Moves dimension 0 after the other batch dimensions, then swaps the last two.
static Value rearrange(NodeImport &n, Value x, bool movesBatch, bool swaps) {
  int64_t rank = n.rankOf(x);
  Shape perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (movesBatch && rank >= 3)
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (swaps && rank >= 2)
    std::swap(perm[rank - 2], perm[rank - 1]);
  return n.transpose(x, perm);
}

static void importFusedMatMul(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1);
  Value a = rearrange(n, n.in(0), n.attrInt("transBatchA", 0),
                      n.attrInt("transA", 0));
  Value b = rearrange(n, n.in(1), n.attrInt("transBatchB", 0),
                      n.attrInt("transB", 0));
  Value y = n.matmul(a, b);
  n.out(alpha == 1 ? y : n.mul(y, alpha));
}

//===----------------------------------------------------------------------===//
// Softmax and dropout with a bias
//===----------------------------------------------------------------------===//

/// Softmax over the elements of dimension `axis` and of those after it.
static void importBiasSoftmax(NodeImport &n) {
  // It tells how the bias is broadcast; the bias's shape tells it, too.
  n.ignoreAttr("is_inner_broadcast");
  int64_t given = n.attrInt("axis", 1);
  Value x = n.in(0);
  std::optional<int64_t> axis = n.axis(given, n.rankOf(x));
  if (!axis || !n.requireFloat())
    return;
  Shape shape(n.shapeOf(x));
  Value sum = n.add(x, n.broadcast(n.in(1), shape));
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < int64_t(shape.size()); ++i)
    (i < *axis ? rows : columns) *= shape[i];
  if (*axis == int64_t(shape.size()) - 1)
    n.out(n.softmax(sum, *axis));
  else
    n.out(n.reshape(n.softmax(n.reshape(sum, {rows, columns}), 1), shape));
}

/// dropout(data + bias) + residual; outside of training, nothing is dropped.
static void importBiasDropout(NodeImport &n) {
  n.ignoreAttr("seed");
  bool isTraining = n.graph().options().train;
  if (n.has(4)) {
    std::optional<ir::Tensor> mode = n.known(4, "training_mode");
    if (!mode)
      return;
    isTraining |= mode->size() != 1 || mode->isFloat() || mode->ints[0] != 0;
  }
  if (isTraining) {
    n.unsupported("in training");
    return;
  }
  n.ignoreInput(3); // nothing is dropped, whatever the ratio is
  Value y = n.add(n.in(0), n.broadcast(n.in(1), n.shapeOf(n.in(0))));
  n.out(n.has(2) ? n.add(y, n.in(2)) : y);
}

llvm::ArrayRef<OpRow> microsoftFusedOps() {
  static constexpr OpRow rows[] = {
      {"BiasDropout", importBiasDropout, 2, 5, 2},
      {"BiasGelu", importBiasGelu, 2, 2},
      {"BiasSoftmax", importBiasSoftmax, 2, 2},
      {"BiasSplitGelu", importBiasSplitGelu, 2, 2},
      {"FastGelu", importFastGelu, 1, 2},
      {"FusedConv", importFusedConv, 2, 4},
      {"FusedGemm", importFusedGemm, 2, 3},
      {"FusedMatMul", importFusedMatMul, 2, 2},
      {"Gelu", importGelu, 1, 1},
      {"QuickGelu", importQuickGelu, 1, 1},
      {"TransposeMatMul", importFusedMatMul, 2, 2},
  };
  return rows;
}

} // namespace sinter::compiler
