//===- Attention.cpp - scaled dot-product attention (operator set 23) -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Text.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace sinter::compiler {

/// [B, T, heads * D] -> [B, heads, T, D]; a value of rank 4 is that already.
static Value splitHeads(NodeImport &n, Value v, int64_t heads,
                        StringRef attribute) {
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

/// Every key or value head serves `times` query heads.
static Value repeatHeads(NodeImport &n, Value v, int64_t times) {
  if (times == 1 || !v)
    return v;
  Shape shape(n.shapeOf(v));
  Value apart = n.broadcastInDims(
      v, {0, 1, 3, 4}, {shape[0], shape[1], times, shape[2], shape[3]});
  return n.reshape(apart, {shape[0], shape[1] * times, shape[2], shape[3]});
}

static void importAttention(NodeImport &n) {
  bool causal = n.attrInt("is_causal", 0);
  double scale = n.attrFloat("scale", 0), softcap = n.attrFloat("softcap", 0);
  int64_t queryHeads = n.attrInt("q_num_heads", 0),
          keyHeads = n.attrInt("kv_num_heads", 0);
  n.ignoreAttr("softmax_precision"); // fp32 or better always
  n.ignoreAttr("qk_matmul_output_mode");
  if (!n.requireFloat())
    return;
  if (softcap != 0 || n.has(4) || n.has(5) || n.has(6) || n.wants(1) ||
      n.wants(2) || n.wants(3)) {
    n.unsupported(
        "with softcap, past keys and values, or outputs other than the first");
    return;
  }
  bool isPacked = n.rankOf(n.in(0)) == 3;
  Value query = splitHeads(n, n.in(0), queryHeads, "q_num_heads");
  Value key = splitHeads(n, n.in(1), keyHeads, "kv_num_heads");
  Value value = splitHeads(n, n.in(2), keyHeads, "kv_num_heads");
  if (n.failed())
    return;
  for (Value v : {query, key, value})
    if (n.rankOf(v) != 4) {
      n.fail("query, key and value must have rank 3 or 4");
      return;
    }
  int64_t heads = n.shapeOf(query)[1], shared = n.shapeOf(key)[1];
  if (shared < 1 || heads % shared != 0 || n.shapeOf(value)[1] != shared) {
    n.fail(std::to_string(shared) + " key heads do not divide " +
           std::to_string(heads) + " query heads");
    return;
  }
  key = repeatHeads(n, key, heads / shared);
  value = repeatHeads(n, value, heads / shared);
  Ints q = n.shapeOf(query), k = n.shapeOf(key), v = n.shapeOf(value);
  if (q[0] != k[0] || q[0] != v[0] || q[3] != k[3] || k[2] != v[2]) {
    n.fail("query, key and value have the shapes " + shownShape(q) + ", " +
           shownShape(k) + " and " + shownShape(v) + ", which do not fit");
    return;
  }
  Value mask = n.in(3);
  if (mask) {
    Shape full = {q[0], q[1], q[2], k[2]};
    if (n.isBool(mask)) {
      Type element = n.elementOf(query);
      mask =
          n.where(mask, n.scalar(element, 0),
                  n.scalar(element, -std::numeric_limits<double>::infinity()));
    }
    mask = n.broadcast(mask, full);
    if (!mask)
      return;
  }
  if (!n.hasAttr("scale"))
    scale = 1 / std::sqrt(double(q[3]));
  if (!n.typeOf({q[0], q[1], q[2], v[3]}, n.elementOf(query)))
    return;
  Value y =
      n.b.create<ir::AttentionOp>(n.loc, query, key, value, mask, scale, causal)
          .getOutput();
  if (isPacked)
    y = n.reshape(n.transpose(y, {0, 2, 1, 3}), {q[0], q[2], q[1] * v[3]});
  n.out(y);
}

llvm::ArrayRef<OpRow> attentionOps() {
  static constexpr OpRow rows[] = {
      {"Attention", importAttention, 3, 7, 4, 23},
  };
  return rows;
}

} // namespace sinter::compiler
