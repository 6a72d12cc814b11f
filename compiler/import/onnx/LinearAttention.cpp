//===- LinearAttention.cpp - operators with a carried state (set 27) ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Linear attention is a scan over time, like recurrent layers.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Attention.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Scans.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

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
    ScanBuilder::Operands operands;
    operands.stacks = {byStep(query_), byStep(key_), byStep(value_)};
    if (isGated_)
      operands.stacks.push_back(n.unary<ir::ExpOp>(gates(4)));
    if (isDelta_)
      operands.stacks.push_back(gates(5));
    if (n.failed())
      return;
    ScanBuilder scan(n);
    SmallVector<Value> slices;
    for (Value stack : operands.stacks)
      slices.push_back(scan.argument(ScanBuilder::sliceType(stack)));
    operands.initial = {state_};
    Value state = scan.argument(ir::tensorType(state_));
    Value y = step(slices, state);
    if (n.failed())
      return;
    ir::ScanOp made =
        scan.finish(steps_, /*isReverse=*/false, operands, state, y);
    // [T, B, K, G, dv] -> [B, T, H * dv]
    y = n.reshape(n.transpose(made.getStacked()[0], {1, 0, 2, 3, 4}),
                  {batch_, steps_, heads_ * n.shapeOf(value_)[3]});
    n.out(0, n.cast(y, n.elementOf(n.in(0))));
    n.out(1, n.cast(made.getLast()[0],
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
    if (steps_ < 1) {
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

  /// v [B, heads, T, D] as [T, B, heads, D].
  Value byStep(Value v) { return n.transpose(v, {2, 0, 1, 3}); }

  /// Input `i`, [B, T, heads * D] or [B, T, heads] or [B, T, 1], as
  /// [T, B, heads or 1, D or 1].
  Value gates(size_t i) {
    Value v = n.cast(n.in(i), wide_);
    Ints shape = n.shapeOf(v);
    int64_t last = shape.size() == 3 ? shape[2] : 0;
    int64_t heads = last == 1 ? 1 : shared_;
    if (shape.size() != 3 || shape[0] != batch_ || shape[1] != steps_ ||
        last < 1 || last % heads)
      return n.fail("input " + quoted(n.inputName(i)) + " has shape " +
                    shownShape(shape) + ", which does not fit");
    return n.transpose(n.reshape(v, {batch_, steps_, heads, last / heads}),
                       {1, 0, 2, 3});
  }

  /// One step; its output is [B, K, G, dv]. `slices` are those of the query,
  /// key and value, and of the gates that the rule has; the state is updated.
  Value step(ArrayRef<Value> slices, Value &state) {
    Value key = slices[1], value = slices[2];
    if (isGated_)
      state = n.mul(state, n.expandDims(slices[3], {3}));
    if (isDelta_) {
      Value known = n.dot(state, key, {0, 1}, {0, 1}, {2}, {2});
      value = n.mul(n.sub(value, known), slices.back());
    }
    state =
        n.add(state, n.mul(n.expandDims(key, {3}), n.expandDims(value, {2})));
    int64_t group = heads_ / shared_, size = n.shapeOf(query_)[3];
    Value query = n.reshape(slices[0], {batch_, shared_, group, size});
    return n.mul(n.dot(query, state, {0, 1}, {0, 1}, {3}, {2}), scale_);
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
