//===- MatmulForm.cpp - contractions as strided matrix products -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/MatmulForm.h"

#include <array>
#include <tuple>

using namespace mlir;

namespace sinter::passes {
namespace {

constexpr size_t kMaxBatchDims = 4; // SINTER_MAX_BATCH_DIMS

/// A loop of the product with its strides in A, B and C; 0 where it does not
/// occur.
struct Loop {
  int64_t size;
  std::array<int64_t, 3> strides;
};
using Loops = SmallVector<Loop>;

/// Drops loops of one iteration and joins loops that are one loop in every
/// operand. The order of loops has no meaning; that of `operand`'s memory is
/// taken.
void collapse(Loops &loops, unsigned operand) {
  llvm::erase_if(loops, [](const Loop &loop) { return loop.size == 1; });
  llvm::sort(loops, [&](const Loop &x, const Loop &y) {
    return std::tuple(-x.strides[operand], x.strides, x.size) <
           std::tuple(-y.strides[operand], y.strides, y.size);
  });
  for (size_t i = loops.size(); i-- > 1;) {
    const Loop &inner = loops[i];
    Loop &outer = loops[i - 1];
    bool joins = true;
    for (unsigned x = 0; x < 3; ++x)
      joins &= outer.strides[x] == inner.strides[x] * inner.size;
    if (!joins)
      continue;
    outer = {outer.size * inner.size, inner.strides};
    loops.erase(loops.begin() + i);
  }
}

/// Leaves at most one loop, the longest, and moves the others to `batch`.
void keepLongest(Loops &loops, Loops &batch) {
  if (loops.size() <= 1)
    return;
  size_t longest = 0;
  for (size_t i = 1; i < loops.size(); ++i)
    if (loops[i].size > loops[longest].size)
      longest = i;
  Loop kept = loops[longest];
  loops.erase(loops.begin() + longest);
  batch.append(loops);
  loops.assign({kept});
}

std::optional<StridedView> reshapeView(const StridedView &view,
                                       ArrayRef<int64_t> shape) {
  // Runs of dimensions with equal products on both sides correspond; the old
  // ones must then be one loop.
  StridedView result{view.base, SmallVector<int64_t>(shape), {}};
  size_t from = 0;
  for (size_t to = 0; to < shape.size();) {
    int64_t oldSize = 1, newSize = 1;
    size_t oldBegin = from, newBegin = to;
    do {
      if (newSize <= oldSize && to < shape.size())
        newSize *= shape[to++];
      else if (from < view.shape.size())
        oldSize *= view.shape[from++];
      else
        return std::nullopt;
    } while (newSize != oldSize);
    int64_t stride = 0, size = 1;
    for (size_t i = from; i-- > oldBegin;) {
      if (view.shape[i] == 1)
        continue;
      if (size == 1)
        stride = view.strides[i];
      else if (view.strides[i] != stride * size)
        return std::nullopt;
      size *= view.shape[i];
    }
    result.strides.resize(to);
    int64_t next = stride;
    for (size_t i = to; i-- > newBegin;) {
      result.strides[i] = next;
      next *= shape[i];
    }
  }
  return result;
}

} // namespace

StridedView viewOf(Value value) {
  RankedTensorType type = ir::tensorType(value);
  StridedView self{value, SmallVector<int64_t>(type.getShape()),
                   ir::rowMajorStrides(type.getShape())};
  // Empty tensors have no elements to address, and their shapes no quotients.
  if (type.getNumElements() == 0)
    return self;
  if (auto transpose = value.getDefiningOp<ir::TransposeOp>()) {
    StridedView source = viewOf(transpose.getX());
    StridedView view{source.base, {}, {}};
    for (int64_t dim : transpose.getPerm()) {
      view.shape.push_back(source.shape[dim]);
      view.strides.push_back(source.strides[dim]);
    }
    return view;
  }
  if (auto broadcast = value.getDefiningOp<ir::BroadcastOp>()) {
    StridedView source = viewOf(broadcast.getX());
    StridedView view{source.base, self.shape,
                     SmallVector<int64_t>(self.shape.size(), 0)};
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      if (source.shape[i] == view.shape[dim])
        view.strides[dim] = source.strides[i];
    return view;
  }
  if (auto reshape = value.getDefiningOp<ir::ReshapeOp>())
    if (std::optional<StridedView> view =
            reshapeView(viewOf(reshape.getX()), self.shape))
      return *view;
  return self;
}

std::optional<MatmulForm> matmulForm(ir::DotGeneralOp op, bool throughViews,
                                     ArrayRef<int64_t> resultStrides) {
  auto operandView = [&](Value value) {
    if (throughViews)
      return viewOf(value);
    ArrayRef<int64_t> shape = ir::tensorType(value).getShape();
    return StridedView{value, SmallVector<int64_t>(shape),
                       ir::rowMajorStrides(shape)};
  };
  StridedView a = operandView(op.getLhs()), b = operandView(op.getRhs());
  SmallVector<int64_t> c(resultStrides);
  if (c.empty())
    c = ir::rowMajorStrides(ir::tensorType(op.getResult()).getShape());

  if (ir::tensorType(op.getResult()).getNumElements() == 0)
    return MatmulForm{a.base, b.base, {}, 0, 0, 0, {1, 1}, {1, 1}, {1, 1}};
  Loops batch, m, n, k;
  size_t at = 0;
  for (auto [x, y] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    batch.push_back({a.shape[x], {a.strides[x], b.strides[y], c[at++]}});
  for (int64_t x : op.getLhsFree())
    m.push_back({a.shape[x], {a.strides[x], 0, c[at++]}});
  for (int64_t y : op.getRhsFree())
    n.push_back({b.shape[y], {0, b.strides[y], c[at++]}});
  for (auto [x, y] : llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    k.push_back({a.shape[x], {a.strides[x], b.strides[y], 0}});

  // Without products no element of A or B is read, so that their strides do not
  // matter.
  if (llvm::any_of(k, [](const Loop &loop) { return loop.size == 0; })) {
    for (Loops *loops : {&batch, &m, &n})
      for (Loop &loop : *loops)
        loop.strides[0] = loop.strides[1] = 0;
    k.assign({Loop{0, {1, 1, 0}}});
  }
  collapse(m, 2);
  collapse(n, 2);
  collapse(k, 0);
  if (k.size() > 1)
    return std::nullopt;
  // Only batch strides may repeat elements.
  auto repeats = [](const Loops &loops, unsigned operand) {
    return llvm::any_of(
        loops, [&](const Loop &loop) { return loop.strides[operand] == 0; });
  };
  bool hasProducts = k.empty() || k[0].size != 0;
  if (hasProducts &&
      (repeats(m, 0) || repeats(n, 1) || repeats(k, 0) || repeats(k, 1)))
    return std::nullopt;
  keepLongest(m, batch);
  keepLongest(n, batch);
  collapse(batch, 2);
  if (batch.size() > kMaxBatchDims)
    return std::nullopt;

  MatmulForm form;
  form.a = a.base;
  form.b = b.base;
  for (const Loop &loop : batch) {
    form.batch.push_back(loop.size);
    form.aStrides.push_back(loop.strides[0]);
    form.bStrides.push_back(loop.strides[1]);
    form.cStrides.push_back(loop.strides[2]);
  }
  auto take = [](const Loops &loops) {
    return loops.empty() ? Loop{1, {1, 1, 1}} : loops[0];
  };
  Loop rows = take(m), columns = take(n), depth = take(k);
  form.m = rows.size;
  form.n = columns.size;
  form.k = depth.size;
  form.aStrides.append({rows.strides[0], depth.strides[0]});
  form.bStrides.append({depth.strides[1], columns.strides[1]});
  form.cStrides.append({rows.strides[2], columns.strides[2]});
  return form;
}

bool isMatmulExpressible(ir::DotGeneralOp op) {
  return matmulForm(op, /*throughViews=*/false).has_value();
}

} // namespace sinter::passes
