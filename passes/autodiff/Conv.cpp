//===- Conv.cpp - gradient rules of convolution and its gradients ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Convolution is bilinear: its two gradients and the op itself are each other's
// gradients, so the three are closed under differentiation of any order.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// Builds one of the three ops with the window of `like`.
template <class OpTy, class LikeTy>
Value convLike(OpGradient &g, LikeTy like, Type type, Value first,
               Value second) {
  return g.make<OpTy>(type, first, second, like.getStrides(),
                      like.getDilations(), like.getPadsLow(),
                      like.getPadsHigh(), like.getGroups(),
                      like.getChannelsLast());
}

void convRule(ConvOp op, OpGradient &g) {
  Value input = op.getInput(), filter = op.getFilter();
  if (g.wants(0))
    g.give(0,
           convLike<ConvInputGradOp>(g, op, input.getType(), g.grad(), filter));
  if (g.wants(1))
    g.give(1, convLike<ConvFilterGradOp>(g, op, filter.getType(), input,
                                         g.grad()));
}

/// The cotangent g has the type of the convolution's input.
void convInputGradRule(ConvInputGradOp op, OpGradient &g) {
  Value outputGrad = op.getOutputGrad(), filter = op.getFilter();
  if (g.wants(0))
    g.give(0, convLike<ConvOp>(g, op, outputGrad.getType(), g.grad(), filter));
  if (g.wants(1))
    g.give(1, convLike<ConvFilterGradOp>(g, op, filter.getType(), g.grad(),
                                         outputGrad));
}

/// The cotangent g has the type of the filter.
void convFilterGradRule(ConvFilterGradOp op, OpGradient &g) {
  Value input = op.getInput(), outputGrad = op.getOutputGrad();
  if (g.wants(0))
    g.give(0, convLike<ConvInputGradOp>(g, op, input.getType(), outputGrad,
                                        g.grad()));
  if (g.wants(1))
    g.give(1, convLike<ConvOp>(g, op, outputGrad.getType(), input, g.grad()));
}

} // namespace

void addConvRules(GradientRules &rules) {
  rules.add<ConvOp>(convRule);
  rules.add<ConvInputGradOp>(convInputGradRule);
  rules.add<ConvFilterGradOp>(convFilterGradRule);
}

} // namespace sinter::passes
