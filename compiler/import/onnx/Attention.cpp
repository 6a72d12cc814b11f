//===- Attention.cpp - scaled dot-product attention (operator set 23) -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Attention.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Registry.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace sinter::compiler {

static constexpr double kInf = std::numeric_limits<double>::infinity();

Value splitHeads(NodeImport &n, Value v, int64_t heads, StringRef attribute) {
  if (n.rankOf(v) == 4)
    return v;
  Shape shape(n.shapeOf(v));
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
    return n.fail("attribute " + quoted(attribute) + " is " +
                  std::to_string(heads) +
                  "; it must divide the last of 3 dimensions");
  return n.transpose(
      n.reshape(v, {shape[0], shape[1], heads, shape[2] / heads}),
      {0, 2, 1, 3});
}

Value joinHeads(NodeImport &n, Value v) {
  if (!v)
    return {};
  Shape s(n.shapeOf(v));
  return n.reshape(n.transpose(v, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

/// Repeats each key or value head for `times` query heads.
static Value repeatHeads(NodeImport &n, Value v, int64_t times) {
  if (times == 1 || !v)
    return v;
  Shape shape(n.shapeOf(v));
  Value apart = n.broadcastInDims(
      v, {0, 1, 3, 4}, {shape[0], shape[1], times, shape[2], shape[3]});
  return n.reshape(apart, {shape[0], shape[1] * times, shape[2], shape[3]});
}

/// Which keys a query may see because of its position: bools that broadcast to
/// [B, H, T, S]; null: all.
static Value emitReach(NodeImport &n, const AttentionForm &form, int64_t t,
                       int64_t s) {
  Value distance =
      n.sub(n.iota({t, s}, 1, n.i64()), n.iota({t, s}, 0, n.i64()));
  if (form.offset)
    distance = n.sub(distance, form.offset);
  Value reach;
  auto limit = [&](ir::CompareKind kind, int64_t bound) {
    Value isNear = n.compare(kind, distance, n.ints({bound}, {}));
    reach = reach ? n.binary<ir::AndOp>(reach, isNear) : isNear;
  };
  if (form.isCausal)
    limit(ir::CompareKind::le, 0);
  if (form.right >= 0)
    limit(ir::CompareKind::le, form.right);
  if (form.left >= 0)
    limit(ir::CompareKind::ge, -form.left);
  return reach;
}

/// The sum of all biases, [B, H, T, S] or null.
static Value emitBias(NodeImport &n, const AttentionForm &form, Ints shape) {
  Type element = n.elementOf(form.query);
  Value sum;
  for (Value bias : form.biases) {
    if (n.isBool(bias))
      bias = n.where(bias, n.scalar(element, 0), n.scalar(element, -kInf));
    bias = n.cast(bias, element);
    sum = sum ? n.add(sum, bias) : bias;
  }
  return sum ? n.broadcast(sum, shape) : Value();
}

/// Builds the attention from its single steps.
static Value spellOut(NodeImport &n, const AttentionForm &form, Value bias,
                      ScoreStage stage, Value *scores) {
  auto keep = [&](ScoreStage at, Value v) {
    if (scores && stage == at)
      *scores = v;
    return v;
  };
  Value x =
      n.mul(n.dot(form.query, form.key, {0, 1}, {0, 1}, {3}, {3}), form.scale);
  keep(ScoreStage::scaled, x);
  if (form.softcap != 0)
    x = n.mul(n.unary<ir::TanhOp>(n.div(x, form.softcap)), form.softcap);
  keep(ScoreStage::capped, x);
  if (!bias)
    return n.dot(keep(ScoreStage::probabilities,
                      n.softmax(keep(ScoreStage::biased, x), 3)),
                 form.value, {0, 1}, {0, 1}, {3}, {2});
  x = keep(ScoreStage::biased, n.add(x, bias));
  // A query whose scores are all -inf gives zeros.
  Value best = n.reduce(ir::ReduceKind::max, x, {3}, /*keep=*/true);
  Value isBlind =
      n.compare(ir::CompareKind::eq, best, n.splatLike(best, -kInf));
  Value zero = n.splatLike(x, 0);
  isBlind = n.broadcast(isBlind, n.shapeOf(x));
  Value weights = n.softmax(n.where(isBlind, zero, x), 3);
  weights = keep(ScoreStage::probabilities, n.where(isBlind, zero, weights));
  return n.dot(weights, form.value, {0, 1}, {0, 1}, {3}, {2});
}

Value emitAttention(NodeImport &n, AttentionForm form, ScoreStage stage,
                    Value *scores) {
  if (n.failed() || !form.query || !form.key || !form.value)
    return {};
  for (Value v : {form.query, form.key, form.value})
    if (n.rankOf(v) != 4)
      return n.fail("query, key and value must have rank 3 or 4");
  int64_t heads = n.shapeOf(form.query)[1], shared = n.shapeOf(form.key)[1];
  if (shared < 1 || heads % shared != 0 || n.shapeOf(form.value)[1] != shared)
    return n.fail(std::to_string(shared) + " key heads do not divide " +
                  std::to_string(heads) + " query heads");
  form.key = repeatHeads(n, form.key, heads / shared);
  form.value = repeatHeads(n, form.value, heads / shared);
  if (n.failed())
    return {};
  Shape q(n.shapeOf(form.query)), k(n.shapeOf(form.key)),
      v(n.shapeOf(form.value));
  if (q[0] != k[0] || q[0] != v[0] || q[3] != k[3] || k[2] != v[2])
    return n.fail("query, key and value have the shapes " + shownShape(q) +
                  ", " + shownShape(k) + " and " + shownShape(v) +
                  ", which do not fit");
  bool isPlain = form.softcap == 0 && !scores;
  // The attention op supports a causal mask without an offset.
  bool keepsCausal = isPlain && form.isCausal && !form.offset &&
                     form.left < 0 && form.right < 0;
  if (!keepsCausal && (form.isCausal || form.left >= 0 || form.right >= 0))
    form.biases.push_back(emitReach(n, form, q[2], k[2]));
  Value bias = emitBias(n, form, {q[0], q[1], q[2], k[2]});
  if (n.failed() ||
      !n.typeOf({q[0], q[1], q[2], v[3]}, n.elementOf(form.query)))
    return {};
  if (!isPlain)
    return spellOut(n, form, bias, stage, scores);
  return n.b
      .create<ir::AttentionOp>(n.loc, form.query, form.key, form.value, bias,
                               form.scale, keepsCausal)
      .getOutput();
}

//===----------------------------------------------------------------------===//
// ONNX Attention
//===----------------------------------------------------------------------===//

/// The mask, padded with -inf if it has fewer keys than the node.
static Value readMask(NodeImport &n, int64_t keys) {
  Value mask = n.in(3);
  int64_t rank = n.rankOf(mask), size = rank ? n.shapeOf(mask)[rank - 1] : 1;
  if (n.version < 24 || size == 1 || size >= keys)
    return mask;
  Shape low(rank, 0), high(rank, 0);
  high[rank - 1] = keys - size;
  Value fill = n.isBool(mask) ? n.splat({}, n.i1(), 0)
                              : n.scalar(n.elementOf(mask), -kInf);
  return n.pad(mask, fill, low, high);
}

/// The keys that are not padding, and the offset that follows from them.
static void readLengths(NodeImport &n, AttentionForm &form) {
  int64_t batch = n.shapeOf(form.query)[0], t = n.shapeOf(form.query)[2],
          s = n.shapeOf(form.key)[2];
  if (n.shapeOf(n.in(6)) != Ints({batch})) {
    n.fail("input 'nonpad_kv_seqlen' has shape " +
           shownShape(n.shapeOf(n.in(6))) + "; it must be " +
           shownShape({batch}));
    return;
  }
  if (!n.checkIndices(n.in(6), 0, s + 1))
    return;
  Value lengths = n.reshape(n.cast(n.in(6), n.i64()), {batch, 1, 1, 1});
  form.biases.push_back(n.compare(ir::CompareKind::lt,
                                  n.iota({1, 1, 1, s}, 3, n.i64()), lengths));
  form.offset = n.add(lengths, double(-t));
}

static void importAttention(NodeImport &n) {
  AttentionForm form;
  form.isCausal = n.attrInt("is_causal", 0);
  form.scale = n.attrFloat("scale", 0);
  form.softcap = n.attrFloat("softcap", 0);
  int64_t queryHeads = n.attrInt("q_num_heads", 0),
          keyHeads = n.attrInt("kv_num_heads", 0);
  if (n.version >= 25) {
    form.left = n.attrInt("left_window_size", -1);
    form.right = n.attrInt("right_window_size", -1);
  }
  n.ignoreAttr("softmax_precision"); // always fp32 or better
  int64_t stage = n.attrInt("qk_matmul_output_mode", 0);
  if (!n.requireFloat())
    return;
  if (stage < 0 || stage > 3) {
    n.fail("attribute 'qk_matmul_output_mode' is " + std::to_string(stage) +
           "; it must be 0 to 3");
    return;
  }
  if (n.has(4) != n.has(5) || (n.has(4) && n.has(6))) {
    n.fail("past keys and values must be given together, and without "
           "'nonpad_kv_seqlen'");
    return;
  }
  bool isPacked = n.rankOf(n.in(0)) == 3;
  form.query = splitHeads(n, n.in(0), queryHeads, "q_num_heads");
  form.key = splitHeads(n, n.in(1), keyHeads, "kv_num_heads");
  form.value = splitHeads(n, n.in(2), keyHeads, "kv_num_heads");
  for (Value v : {form.query, form.key, form.value})
    if (!n.failed() && n.rankOf(v) != 4)
      n.fail("query, key and value must have rank 3 or 4");
  if (n.failed())
    return;
  if (!n.hasAttr("scale"))
    form.scale = 1 / std::sqrt(double(n.shapeOf(form.query)[3]));
  if (n.has(4)) {
    if (!n.requireRank(4, 4))
      return;
    form.offset = n.ints({n.shapeOf(n.in(4))[2]}, {});
    form.key = n.concat({n.in(4), form.key}, 2);
    form.value = n.concat({n.in(5), form.value}, 2);
    if (!form.key || !form.value)
      return;
  }
  if (n.has(3))
    form.biases.push_back(readMask(n, n.shapeOf(form.key)[2]));
  if (n.has(6))
    readLengths(n, form);
  Value scores;
  Value y =
      emitAttention(n, form, ScoreStage(stage), n.wants(3) ? &scores : nullptr);
  n.out(0, isPacked ? joinHeads(n, y) : y);
  n.out(1, form.key);
  n.out(2, form.value);
  if (scores)
    n.out(3, scores);
}

//===----------------------------------------------------------------------===//
// ONNX RotaryEmbedding
//===----------------------------------------------------------------------===//

/// The table of angles as [B or 1, 1, T, half].
static Value rotaryTable(NodeImport &n, Value table, const RotaryForm &form,
                         Ints x, int64_t half) {
  if (form.positions) {
    if (n.rankOf(table) != 2 || n.shapeOf(table)[1] != half)
      return n.fail("a table of angles has shape " +
                    shownShape(n.shapeOf(table)) + "; it must be [P, " +
                    std::to_string(half) + "]");
    if (!n.checkIndices(form.positions, 0, n.shapeOf(table)[0]))
      return {};
    table = n.gather(table, form.positions, 0);
  }
  if (!table)
    return {};
  Shape shape(n.shapeOf(table));
  if (shape.size() != 3 || (shape[0] != x[0] && shape[0] != 1) ||
      shape[1] != x[2] || shape[2] != half)
    return n.fail("angles of shape " + shownShape(shape) +
                  " do not fit the input's batch, positions and half of its "
                  "rotated elements, " +
                  shownShape({x[0], x[2], half}));
  return n.reshape(table, {shape[0], 1, shape[1], shape[2]});
}

Value emitRotary(NodeImport &n, Value x, const RotaryForm &form) {
  if (!x)
    return {};
  Shape shape(n.shapeOf(x));
  int64_t size = shape[3], dim = form.dim ? form.dim : size;
  if (dim < 2 || dim > size || dim % 2)
    return n.fail(std::to_string(dim) + " elements of heads of " +
                  std::to_string(size) + " cannot be rotated in pairs");
  int64_t half = dim / 2;
  Value cosine = rotaryTable(n, form.cosines, form, shape, half);
  Value sine = rotaryTable(n, form.sines, form, shape, half);
  if (!cosine || !sine)
    return {};
  cosine = n.cast(cosine, n.elementOf(x));
  sine = n.cast(sine, n.elementOf(x));
  Value turned = n.sliceDim(x, 3, 0, dim);
  Value first = form.isInterleaved ? n.sliceDim(turned, 3, 0, dim, 2)
                                   : n.sliceDim(turned, 3, 0, half);
  Value second = form.isInterleaved ? n.sliceDim(turned, 3, 1, dim, 2)
                                    : n.sliceDim(turned, 3, half, dim);
  Value real = n.sub(n.mul(first, cosine), n.mul(second, sine));
  Value imaginary = n.add(n.mul(first, sine), n.mul(second, cosine));
  if (form.isInterleaved) {
    turned =
        n.concat({n.expandDims(real, {4}), n.expandDims(imaginary, {4})}, 4);
    Shape rotated(shape);
    rotated[3] = dim;
    turned = n.reshape(turned, rotated);
  } else {
    turned = n.concat({real, imaginary}, 3);
  }
  return dim == size ? turned
                     : n.concat({turned, n.sliceDim(x, 3, dim, size)}, 3);
}

static void importRotary(NodeImport &n) {
  RotaryForm form;
  int64_t heads = n.attrInt("num_heads", 0);
  form.dim = n.attrInt("rotary_embedding_dim", 0);
  form.isInterleaved = n.attrInt("interleaved", 0);
  form.cosines = n.in(1);
  form.sines = n.in(2);
  form.positions = n.in(3);
  if (!n.requireFloat() || n.failed())
    return;
  Value x = splitHeads(n, n.in(0), heads, "num_heads");
  Value y = emitRotary(n, x, form);
  n.out(n.rankOf(n.in(0)) == 3 ? joinHeads(n, y) : y);
}

llvm::ArrayRef<OpRow> attentionOps() {
  static constexpr OpRow rows[] = {
      {"Attention", importAttention, 3, 7, 4, 23},
      {"RotaryEmbedding", importRotary, 3, 4, 1, 23},
  };
  return rows;
}

} // namespace sinter::compiler
