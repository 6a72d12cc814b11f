//===- LinearAttention.cpp - operators with a carried state (set 27) ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Both operators are unrolled over time, like recurrent layers.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Attention.h"
#include "compiler/import/onnx/Registry.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

static constexpr int64_t kMaxSteps = 1024;

//===----------------------------------------------------------------------===//
// CausalConvWithState
//===----------------------------------------------------------------------===//

/// A depthwise convolution of the past state followed by the input.
static void importCausalConv(NodeImport &n) {
  std::string activation = n.attrString("activation", "none");
  Value x = n.in(0), weight = n.in(1);
  if (!n.requireFloat() || n.failed())
    return;
  if (n.rankOf(x) != 3 || n.rankOf(weight) != 3 || n.shapeOf(weight)[1] != 1 ||
      n.shapeOf(weight)[0] != n.shapeOf(x)[1] || n.shapeOf(weight)[2] < 1) {
    n.fail("weights of shape " + shownShape(n.shapeOf(weight)) +
           " do not fit an input of shape " + shownShape(n.shapeOf(x)));
    return;
  }
  int64_t channels = n.shapeOf(x)[1], taps = n.shapeOf(weight)[2];
  Shape before = {n.shapeOf(x)[0], channels, taps - 1};
  Value past = n.has(3) ? n.in(3) : n.splat(before, n.elementOf(x), 0);
  if (n.failed())
    return;
  if (n.shapeOf(past) != Ints(before)) {
    n.fail("input 'past_state' has shape " + shownShape(n.shapeOf(past)) +
           "; it must be " + shownShape(before));
    return;
  }
  Value whole = n.concat({past, x}, 2);
  Emit::Window window{{taps}, {1}, {1}, {0}, {0}, channels};
  Value y = n.conv(whole, weight, window);
  if (n.has(2) && y)
    y = n.add(y, n.broadcastInDims(n.in(2), {1}, n.shapeOf(y)));
  if (activation == "silu" || activation == "swish")
    y = n.mul(y, n.unary<ir::SigmoidOp>(y));
  else if (activation != "none")
    n.fail("attribute 'activation' is " + quoted(activation) +
           "; it must be 'silu', 'swish' or 'none'");
  n.out(0, y);
  if (whole)
    n.out(1, n.sliceDim(whole, 2, n.shapeOf(whole)[2] - (taps - 1),
                        n.shapeOf(whole)[2]));
}

//===----------------------------------------------------------------------===//
// LinearAttention
//===----------------------------------------------------------------------===//

namespace {

class LinearAttention {
public:
  explicit LinearAttention(NodeImport &n) : n(n) {}

  void run() {
    if (!read())
      return;
    SmallVector<Value> rows;
    for (int64_t t = 0; t < steps_ && !n.failed(); ++t)
      rows.push_back(step(t));
    if (n.failed())
      return;
    // [B, T, K, G, dv] -> [B, T, H * dv]
    Value y = n.reshape(n.concat(rows, 1),
                        {batch_, steps_, heads_ * n.shapeOf(value_)[3]});
    n.out(0, n.cast(y, n.elementOf(n.in(0))));
    n.out(1, n.cast(state_,
                    n.has(3) ? n.elementOf(n.in(3)) : n.elementOf(n.in(0))));
  }

private:
  bool read() {
    std::string rule = n.attrString("update_rule", "gated_delta");
    heads_ = n.attrInt("q_num_heads", 0);
    shared_ = n.attrInt("kv_num_heads", 0);
    scale_ = n.attrFloat("scale", 0);
    n.ignoreAttr("chunk_size"); // affects only speed
    isGated_ = rule == "gated" || rule == "gated_delta";
    isDelta_ = rule == "delta" || rule == "gated_delta";
    if (!n.requireFloat() || n.failed())
      return false;
    if (!isGated_ && !isDelta_ && rule != "linear")
      n.fail("attribute 'update_rule' is " + quoted(rule));
    if (shared_ < 1 || heads_ < 1 || heads_ % shared_)
      n.fail(std::to_string(shared_) + " key heads do not divide " +
             std::to_string(heads_) + " query heads");
    if ((isGated_ && !n.has(4)) || (isDelta_ && !n.has(5)))
      n.fail("input 'decay' or 'beta' is missing");
    for (size_t i : {0, 1, 2})
      if (n.rankOf(n.in(i)) != 3)
        n.fail("query, key and value must have rank 3");
    if (n.failed())
      return false;
    // Computed in fp32 or better throughout.
    wide_ = n.elementOf(n.in(0)).isF64() ? n.elementOf(n.in(0)) : n.f32();
    auto heads = [&](size_t i, int64_t count, StringRef attribute) {
      return splitHeads(n, n.cast(n.in(i), wide_), count, attribute);
    };
    query_ = heads(0, heads_, "q_num_heads");
    key_ = heads(1, shared_, "kv_num_heads");
    value_ = heads(2, shared_, "kv_num_heads");
    if (n.failed())
      return false;
    batch_ = n.shapeOf(query_)[0];
    steps_ = n.shapeOf(query_)[2];
    int64_t size = n.shapeOf(query_)[3];
    Shape keys = {batch_, shared_, steps_, size}, values(keys);
    values[3] = n.shapeOf(value_)[3];
    if (n.shapeOf(key_) != Ints(keys) || n.shapeOf(value_) != Ints(values)) {
      n.fail("query, key and value do not have the same batch, length and "
             "sizes");
      return false;
    }
    if (steps_ < 1 || steps_ > kMaxSteps) {
      n.unsupported("over " + std::to_string(steps_) + " steps");
      return false;
    }
    Shape state = {batch_, shared_, size, values[3]};
    state_ = n.has(3) ? n.cast(n.in(3), wide_) : n.splat(state, wide_, 0);
    if (!n.failed() && n.shapeOf(state_) != Ints(state))
      n.fail("input 'past_state' has shape " + shownShape(n.shapeOf(state_)) +
             "; it must be " + shownShape(state));
    if (scale_ == 0)
      scale_ = 1 / std::sqrt(double(size));
    return !n.failed();
  }

  /// Step t of v [B, heads, T, D].
  Value at(Value v, int64_t t) {
    return n.squeeze(n.sliceDim(v, 2, t, t + 1), {2});
  }

  /// Step t of input `i`, [B, T, heads * D] or [B, T, heads] or [B, T, 1], as
  /// [B, heads or 1, D or 1].
  Value gate(size_t i, int64_t t) {
    Value v = n.cast(n.in(i), wide_);
    Ints shape = n.shapeOf(v);
    int64_t last = shape.size() == 3 ? shape[2] : 0;
    int64_t heads = last == 1 ? 1 : shared_;
    if (shape.size() != 3 || shape[0] != batch_ || shape[1] != steps_ ||
        last < 1 || last % heads)
      return n.fail("input " + quoted(n.inputName(i)) + " has shape " +
                    shownShape(shape) + ", which does not fit");
    return n.reshape(n.sliceDim(v, 1, t, t + 1), {batch_, heads, last / heads});
  }

  /// One step; its output is [B, 1, K, G, dv].
  Value step(int64_t t) {
    Value key = at(key_, t), value = at(value_, t);
    if (isGated_)
      state_ = n.mul(state_, n.expandDims(n.unary<ir::ExpOp>(gate(4, t)), {3}));
    if (isDelta_) {
      Value known = n.dot(state_, key, {0, 1}, {0, 1}, {2}, {2});
      value = n.mul(n.sub(value, known), gate(5, t));
    }
    state_ =
        n.add(state_, n.mul(n.expandDims(key, {3}), n.expandDims(value, {2})));
    int64_t group = heads_ / shared_, size = n.shapeOf(query_)[3];
    Value query = n.reshape(at(query_, t), {batch_, shared_, group, size});
    Value y = n.mul(n.dot(query, state_, {0, 1}, {0, 1}, {3}, {2}), scale_);
    return n.expandDims(y, {1});
  }

  NodeImport &n;
  int64_t heads_ = 0, shared_ = 0, batch_ = 0, steps_ = 0;
  double scale_ = 0;
  bool isGated_ = false, isDelta_ = false;
  Type wide_;
  Value query_, key_, value_, state_;
};

} // namespace

static void importLinearAttention(NodeImport &n) { LinearAttention(n).run(); }

llvm::ArrayRef<OpRow> linearAttentionOps() {
  static constexpr OpRow rows[] = {
      {"CausalConvWithState", importCausalConv, 2, 4, 2, 27},
      {"LinearAttention", importLinearAttention, 3, 6, 2, 27},
  };
  return rows;
}

} // namespace sinter::compiler
