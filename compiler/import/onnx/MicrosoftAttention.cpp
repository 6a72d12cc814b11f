//===- MicrosoftAttention.cpp - attention as ORT fuses it -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Attention operators of the domain com.microsoft. Their masks are integers,
// and hidden scores get a finite number added, not -inf.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Attention.h"
#include "compiler/import/onnx/Registry.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace sinter::compiler {

/// Reads the attribute `name`, a number of heads; 0 after fail().
static int64_t readHeads(NodeImport &n, StringRef name) {
  int64_t heads = n.attrInt(name, 0);
  if (!n.failed() && heads < 1)
    n.fail("attribute " + quoted(name) + " is " + std::to_string(heads) +
           "; it must be positive");
  return n.failed() ? 0 : heads;
}

/// Reports as unsupported if one of the inputs in `list` is present.
static bool refuseInputs(NodeImport &n,
                         ArrayRef<std::pair<size_t, const char *>> list) {
  for (auto [i, name] : list)
    if (n.has(i)) {
      n.unsupported("with input " + quoted(name));
      return true;
    }
  return n.failed();
}

/// Reports as unsupported if attribute `name` is not `value`.
static bool refuseUnless(NodeImport &n, StringRef name, int64_t value) {
  int64_t given = n.attrInt(name, value);
  if (!n.failed() && given != value)
    n.unsupported("attribute " + quoted(name) + " = " + std::to_string(given));
  return n.failed();
}

/// 1 / sqrt(D) if the attribute is absent or 0.
static double readScale(NodeImport &n, Value query) {
  double scale = n.attrFloat("scale", 0);
  return scale != 0 || n.rankOf(query) != 4
             ? scale
             : 1 / std::sqrt(double(n.shapeOf(query)[3]));
}

/// Adds the mask in input `i`. It has one of three forms: 0 where a key is
/// hidden (from all queries or from each), the number of visible keys, or the
/// ends and then the starts of the visible ranges.
static void addMask(NodeImport &n, AttentionForm &form, size_t i) {
  double filter = n.attrFloat("mask_filter_value", -10000);
  if (!n.has(i) || n.failed())
    return;
  Value mask = n.in(i);
  int64_t batch = n.shapeOf(form.query)[0], t = n.shapeOf(form.query)[2],
          s = n.shapeOf(form.key)[2];
  Shape shape(n.shapeOf(mask));
  Value isSeen, key = n.iota({1, 1, 1, s}, 3, n.i64());
  auto bound = [&](int64_t from) {
    return n.reshape(n.cast(n.sliceDim(mask, 0, from, from + batch), n.i64()),
                     {batch, 1, 1, 1});
  };
  bool isPlain =
      Ints(shape) == Ints({batch, s}) || Ints(shape) == Ints({batch, t, s});
  if (isPlain) {
    isSeen = n.compare(ir::CompareKind::gt, mask, n.splatLike(mask, 0));
    isSeen = n.reshape(isSeen, {batch, 1, shape.size() == 2 ? 1 : t, s});
  } else if (shape.size() == 1 &&
             (shape[0] == batch || shape[0] == 2 * batch)) {
    isSeen = n.compare(ir::CompareKind::lt, key, bound(0));
    if (shape[0] == 2 * batch)
      isSeen = n.binary<ir::AndOp>(
          isSeen, n.compare(ir::CompareKind::ge, key, bound(batch)));
  } else {
    n.unsupported("a mask of shape " + shownShape(shape));
    return;
  }
  Type element = n.elementOf(form.query);
  form.biases.push_back(
      n.where(isSeen, n.scalar(element, 0), n.scalar(element, filter)));
}

/// Puts past keys and values before the node's own. Queries are positioned
/// after the past keys.
static void addPast(NodeImport &n, AttentionForm &form, Value key,
                    Value value) {
  if (!key || !value || n.failed())
    return;
  if (n.rankOf(key) != 4 || n.rankOf(value) != 4) {
    n.fail("past keys and values must have rank 4");
    return;
  }
  form.offset = n.ints({n.shapeOf(key)[2]}, {});
  form.key = n.concat({key, form.key}, 2);
  form.value = n.concat({value, form.value}, 2);
}

//===----------------------------------------------------------------------===//
// Attention: one product gives query, key and value
//===----------------------------------------------------------------------===//

static void importAttention(NodeImport &n) {
  int64_t heads = readHeads(n, "num_heads");
  std::optional<Shape> sizes = n.attrInts("qkv_hidden_sizes");
  if (!heads || !n.requireFloat() || refuseUnless(n, "do_rotary", 0) ||
      refuseUnless(n, "past_present_share_buffer", 0) ||
      refuseInputs(n, {{6, "past_sequence_length"}}))
    return;
  n.ignoreAttr("rotary_embedding_dim"); // there is no rotation
  if (n.rankOf(n.in(0)) != 3 || n.rankOf(n.in(1)) != 2) {
    n.fail("the input must have rank 3, and the weights 2");
    return;
  }
  int64_t width = n.shapeOf(n.in(1))[1];
  if (!sizes)
    sizes = Shape(3, width / 3);
  if (sizes->size() != 3 || (*sizes)[0] + (*sizes)[1] + (*sizes)[2] != width ||
      llvm::any_of(*sizes, [](int64_t size) { return size < 1; })) {
    n.fail("weights of " + std::to_string(width) +
           " columns are not made up of the sizes " + shownShape(*sizes));
    return;
  }
  Value all = n.matmul(n.in(0), n.in(1));
  if (n.has(2))
    all = n.add(all, n.in(2));
  int64_t start = 0;
  auto part = [&](int64_t size) {
    start += size;
    return splitHeads(n, n.sliceDim(all, 2, start - size, start), heads,
                      "num_heads");
  };
  AttentionForm form;
  form.query = part((*sizes)[0]);
  form.key = part((*sizes)[1]);
  form.value = part((*sizes)[2]);
  form.isCausal = n.attrInt("unidirectional", 0);
  form.scale = readScale(n, form.query);
  if (n.failed())
    return;
  if (n.has(4)) {
    if (n.rankOf(n.in(4)) != 5 || n.shapeOf(n.in(4))[0] != 2) {
      n.fail("input 'past' has shape " + shownShape(n.shapeOf(n.in(4))) +
             "; it must be [2, batch, heads, length, size]");
      return;
    }
    auto half = [&](int64_t i) {
      return n.squeeze(n.sliceDim(n.in(4), 0, i, i + 1), {0});
    };
    addPast(n, form, half(0), half(1));
  }
  if (n.failed())
    return;
  addMask(n, form, 3);
  if (n.has(5))
    form.biases.push_back(n.in(5));
  n.out(joinHeads(n, emitAttention(n, form)));
  if (n.wants(1))
    n.out(1,
          n.concat({n.expandDims(form.key, {0}), n.expandDims(form.value, {0})},
                   0));
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

static void importMultiHead(NodeImport &n) {
  int64_t heads = readHeads(n, "num_heads");
  if (!heads || !n.requireFloat() ||
      refuseInputs(n, {{8, "past_sequence_length"}, {9, "cache_indirection"}}))
    return;
  if (n.rankOf(n.in(0)) != 3 || !n.has(1) || !n.has(2)) {
    n.unsupported("packed queries, keys and values");
    return;
  }
  Value parts[] = {n.in(0), n.in(1), n.in(2)};
  int64_t start = 0;
  for (Value &part : parts) {
    if (n.has(3) && n.rankOf(part) == 3) {
      int64_t size = n.shapeOf(part)[2];
      if (n.rankOf(n.in(3)) != 1 || start + size > n.shapeOf(n.in(3))[0]) {
        n.fail("the bias must be a list that query, key and value share");
        return;
      }
      part = n.add(part, n.sliceDim(n.in(3), 0, start, start + size));
      start += size;
    } else if (n.has(3)) {
      n.unsupported("a bias with keys and values of rank 4");
      return;
    }
    part = splitHeads(n, part, heads, "num_heads");
  }
  AttentionForm form;
  form.query = parts[0];
  form.key = parts[1];
  form.value = parts[2];
  form.isCausal = n.attrInt("unidirectional", 0);
  form.scale = readScale(n, form.query);
  if (n.failed())
    return;
  // No specification says which keys a query attends to then. ONNX Runtime
  // masks none for the last query.
  if (form.isCausal && n.shapeOf(form.query)[2] != n.shapeOf(form.key)[2]) {
    n.unsupported("unidirectional with other numbers of queries than of keys");
    return;
  }
  if (n.has(6) != n.has(7)) {
    n.fail("past_key and past_value must be given together");
    return;
  }
  addPast(n, form, n.in(6), n.in(7));
  if (n.failed())
    return;
  addMask(n, form, 4);
  if (n.has(5))
    form.biases.push_back(n.in(5));
  n.out(joinHeads(n, emitAttention(n, form)));
  n.out(1, form.key);
  n.out(2, form.value);
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// Rejects attributes and inputs that request unsupported forms.
static bool refuseQueryForms(NodeImport &n) {
  for (StringRef name : {"k_quant_type", "v_quant_type"}) {
    std::string kind = n.attrString(name, "NONE");
    if (!n.failed() && kind != "NONE")
      n.unsupported("attribute " + quoted(name) + " = " + quoted(kind));
  }
  // These belong to quantised caches and normalised queries, which are
  // rejected.
  for (StringRef name : {"kv_cache_bit_width", "qk_norm_epsilon",
                         "q_norm_epsilon", "k_norm_epsilon"})
    n.ignoreAttr(name);
  for (StringRef name : {"smooth_softmax", "qk_output", "sliding_window_cache"})
    if (int64_t given = n.attrInt(name, 0); given > 0)
      n.unsupported("attribute " + quoted(name) + " = " +
                    std::to_string(given));
  return refuseInputs(n, {{11, "head_sink"},
                          {12, "k_scale"},
                          {13, "v_scale"},
                          {14, "q_norm_weight"},
                          {15, "k_norm_weight"},
                          {16, "query_seqlens"}});
}

/// Reads query, key and value, and splits them if they are packed in one
/// tensor.
static void unpack(NodeImport &n, AttentionForm &form, int64_t heads,
                   int64_t keyHeads) {
  if (n.has(1) && n.has(2)) {
    form.query = splitHeads(n, n.in(0), heads, "num_heads");
    form.key = splitHeads(n, n.in(1), keyHeads, "kv_num_heads");
    form.value = splitHeads(n, n.in(2), keyHeads, "kv_num_heads");
    return;
  }
  Value all = splitHeads(n, n.in(0), heads + 2 * keyHeads, "num_heads");
  if (!all)
    return;
  form.query = n.sliceDim(all, 1, 0, heads);
  form.key = n.sliceDim(all, 1, heads, heads + keyHeads);
  form.value = n.sliceDim(all, 1, heads + keyHeads, heads + 2 * keyHeads);
}

/// Each sequence has seqlens_k + 1 keys. False after fail().
static bool addLengths(NodeImport &n, AttentionForm &form, int64_t past) {
  int64_t batch = n.shapeOf(form.query)[0], t = n.shapeOf(form.query)[2],
          s = past + n.shapeOf(form.key)[2];
  if (ir::tensorType(n.in(5)).getNumElements() != batch || n.isFloat(n.in(5))) {
    n.fail("input 'seqlens_k' has shape " + shownShape(n.shapeOf(n.in(5))) +
           "; it must be " + shownShape({batch}));
    return false;
  }
  // The number of past and new keys together. If it is not known at compile
  // time, it is checked at run time.
  std::optional<ir::Tensor> total = n.constantOf(6);
  if (!total && n.has(6) && !n.checkIndices(n.in(6), s, s + 1))
    return false;
  if (total &&
      (total->size() != 1 || total->isFloat() || total->ints[0] != s)) {
    n.unsupported("input 'total_sequence_length' that is not " +
                  std::to_string(s));
    return false;
  }
  std::optional<ir::Tensor> known = n.constantOf(5);
  if (known &&
      llvm::all_of(known->ints, [&](int64_t last) { return last == s - 1; }))
    return true;
  if (past != 0 || n.shapeOf(form.key)[2] != t) {
    n.unsupported("past keys and values whose number ('seqlens_k') is not "
                  "known at compile time, or differs");
    return false;
  }
  if (!n.checkIndices(n.in(5), 0, s))
    return false;
  Value last = n.reshape(n.cast(n.in(5), n.i64()), {batch, 1, 1, 1});
  form.biases.push_back(
      n.compare(ir::CompareKind::le, n.iota({1, 1, 1, s}, 3, n.i64()), last));
  return true;
}

static void importGroupQuery(NodeImport &n) {
  int64_t heads = readHeads(n, "num_heads"),
          keyHeads = heads ? readHeads(n, "kv_num_heads") : 0;
  bool rotates = n.attrInt("do_rotary", 0);
  RotaryForm rotary;
  rotary.isInterleaved = n.attrInt("rotary_interleaved", 0);
  AttentionForm form;
  form.isCausal = n.attrInt("causal", 1);
  form.softcap = n.attrFloat("softcap", 0);
  // The window's size includes the query's own position.
  int64_t window = n.attrInt("local_window_size", -1);
  form.left = std::max<int64_t>(window, 0) - 1;
  if (!keyHeads || !n.requireFloat() || refuseQueryForms(n))
    return;
  if (window == 0) {
    n.unsupported("attribute 'local_window_size' = 0");
    return;
  }
  if (!n.has(5) || n.rankOf(n.in(0)) != 3 || n.has(1) != n.has(2) ||
      n.has(3) != n.has(4)) {
    n.fail("the query must have rank 3, 'seqlens_k' must be given, and keys "
           "and values, also past ones, must be given together");
    return;
  }
  unpack(n, form, heads, keyHeads);
  form.scale = readScale(n, form.query);
  if (n.failed())
    return;
  if (n.has(3) && (!n.requireRank(3, 4) || !n.requireRank(4, 4)))
    return;
  int64_t past = n.has(3) ? n.shapeOf(n.in(3))[2] : 0;
  if (n.has(4) && n.shapeOf(n.in(4))[2] != past) {
    n.fail("there are " + std::to_string(past) + " past keys and " +
           std::to_string(n.shapeOf(n.in(4))[2]) + " past values");
    return;
  }
  if (!addLengths(n, form, past))
    return;
  if (rotates) {
    int64_t steps = n.shapeOf(form.query)[2];
    if (!n.has(7) || !n.has(8) || n.rankOf(n.in(7)) != 2) {
      n.fail("attribute 'do_rotary' needs the inputs 'cos_cache' and "
             "'sin_cache'");
      return;
    }
    rotary.cosines = n.in(7);
    rotary.sines = n.in(8);
    rotary.dim = 2 * n.shapeOf(n.in(7))[1];
    rotary.positions = n.add(n.iota({1, steps}, 1, n.i64()), double(past));
    if (n.has(9) && past != 0) {
      rotary.positions = n.in(9);
    } else if (n.has(9)) {
      // In a prompt, all rows begin at the first position that is given.
      Value given = n.in(9);
      int64_t count = ir::tensorType(given).getNumElements();
      if (count == 0) {
        n.fail("input 'position_ids' has no elements");
        return;
      }
      Value first = n.reshape(
          n.sliceDim(n.reshape(n.cast(given, n.i64()), {count}), 0, 0, 1),
          {1, 1});
      rotary.positions = n.add(rotary.positions, first);
    }
    form.query = emitRotary(n, form.query, rotary);
    form.key = emitRotary(n, form.key, rotary);
  }
  if (past)
    addPast(n, form, n.in(3), n.in(4));
  if (n.has(10))
    form.biases.push_back(n.in(10));
  n.out(joinHeads(n, emitAttention(n, form)));
  n.out(1, form.key);
  n.out(2, form.value);
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

static void importRotary(NodeImport &n) {
  RotaryForm form;
  int64_t heads = n.attrInt("num_heads", 0);
  form.dim = n.attrInt("rotary_embedding_dim", 0);
  form.isInterleaved = n.attrInt("interleaved", 0);
  double scale = n.attrFloat("scale", 1);
  form.cosines = n.in(2);
  form.sines = n.in(3);
  if (!n.requireFloat() || refuseUnless(n, "is_packed_batching", 0))
    return;
  if (scale != 1) {
    n.unsupported("attribute 'scale' = " + std::to_string(scale));
    return;
  }
  bool isFlat = n.rankOf(n.in(0)) == 3;
  if (isFlat && heads == 0) {
    // The width of the tables gives the size of a head.
    int64_t width = n.rankOf(n.in(2)) == 2 ? 2 * n.shapeOf(n.in(2))[1] : 0;
    heads = width ? n.shapeOf(n.in(0))[2] / width : 0;
  }
  Value x = splitHeads(n, n.in(0), heads, "num_heads");
  if (n.failed())
    return;
  // A single position is that of the first step.
  int64_t steps = n.rankOf(x) == 4 ? n.shapeOf(x)[2] : 0;
  form.positions = n.rankOf(n.in(1)) == 2
                       ? n.in(1)
                       : n.add(n.iota({1, steps}, 1, n.i64()),
                               n.reshape(n.cast(n.in(1), n.i64()), {1, 1}));
  Value y = n.failed() || n.rankOf(x) != 4
                ? n.fail("the input must have rank 3 or 4")
                : emitRotary(n, x, form);
  n.out(isFlat ? joinHeads(n, y) : y);
}

llvm::ArrayRef<OpRow> microsoftAttentionOps() {
  static constexpr OpRow rows[] = {
      {"Attention", importAttention, 2, 7, 2},
      {"GroupQueryAttention", importGroupQuery, 1, 17, 4},
      {"MultiHeadAttention", importMultiHead, 1, 10, 4},
      {"RotaryEmbedding", importRotary, 4, 4},
  };
  return rows;
}

} // namespace sinter::compiler
