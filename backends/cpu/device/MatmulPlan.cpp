//===- MatmulPlan.cpp - the shape of a product and how it is cut ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/MatmulPlan.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace sinter::cpu;

namespace {

void eraseBatch(MatmulShape &shape, int index) {
  for (int i = index; i + 1 < shape.batchRank; ++i) {
    shape.batch[i] = shape.batch[i + 1];
    for (Strides *s : {&shape.a, &shape.b, &shape.c})
      s->batch[i] = s->batch[i + 1];
  }
  --shape.batchRank;
}

/// Batch dimensions i and i + 1 can be merged if, in all operands, the whole
/// extent of i + 1 equals one step of i.
bool canMerge(const MatmulShape &shape, int i) {
  for (const Strides *s : {&shape.a, &shape.b, &shape.c})
    if (s->batch[i] != s->batch[i + 1] * shape.batch[i + 1])
      return false;
  return true;
}

void mergeBatch(MatmulShape &shape) {
  for (int i = shape.batchRank - 1; i >= 0; --i)
    if (shape.batch[i] == 1)
      eraseBatch(shape, i);
  for (int i = shape.batchRank - 2; i >= 0; --i)
    if (canMerge(shape, i)) {
      shape.batch[i + 1] *= shape.batch[i];
      eraseBatch(shape, i);
    }
}

/// If the last batch dimension has only one B, its rows become more rows of A.
void foldBatchIntoM(MatmulShape &shape) {
  while (shape.batchRank > 0) {
    int last = shape.batchRank - 1;
    bool single = shape.m == 1;
    if (shape.b.batch[last] != 0 ||
        (!single && (shape.a.batch[last] != shape.m * shape.a.row ||
                     shape.c.batch[last] != shape.m * shape.c.row)))
      return;
    if (single) {
      shape.a.row = shape.a.batch[last];
      shape.c.row = shape.c.batch[last];
    }
    shape.m *= shape.batch[last];
    --shape.batchRank;
  }
}

/// Strides of dimensions of size 1 have no meaning. Give them the values by
/// which the library recognises a plain layout.
void normalizeUnitDims(Strides &strides, int64_t rows, int64_t cols) {
  if (cols == 1)
    strides.col = 1;
  if (rows == 1)
    strides.row = strides.col == 1 ? cols : 1;
}

} // namespace

MatmulShape MatmulShape::simplify(const sinter_matmul &p) {
  MatmulShape shape;
  shape.batchRank = static_cast<int>(p.batchRank);
  shape.m = p.m;
  shape.n = p.n;
  shape.k = p.k;
  shape.a.row = p.aStrideM;
  shape.a.col = p.aStrideK;
  shape.b.row = p.bStrideK;
  shape.b.col = p.bStrideN;
  shape.c.row = p.cStrideM;
  shape.c.col = p.cStrideN;
  for (int i = 0; i < shape.batchRank; ++i) {
    shape.batch[i] = p.batch[i];
    shape.a.batch[i] = p.aBatchStrides[i];
    shape.b.batch[i] = p.bBatchStrides[i];
    shape.c.batch[i] = p.cBatchStrides[i];
  }
  if (shape.empty())
    return shape;
  mergeBatch(shape);
  if (shape.n > 1 && shape.c.col != 1 && (shape.c.row == 1 || shape.m == 1))
    shape.transpose();
  // For a bias along the rows, a folded row would lose its batch index.
  if (!shape.transposed)
    foldBatchIntoM(shape);
  normalizeUnitDims(shape.a, shape.m, shape.k);
  normalizeUnitDims(shape.b, shape.k, shape.n);
  normalizeUnitDims(shape.c, shape.m, shape.n);
  return shape;
}

void MatmulShape::transpose() {
  std::swap(m, n);
  std::swap(a, b);
  std::swap(a.row, a.col);
  std::swap(b.row, b.col);
  std::swap(c.row, c.col);
  transposed = !transposed;
}

RowGroups MatmulShape::joinBatch() {
  const RowGroups all{m};
  // As in simplify(), rows of a transposed product may have biases.
  if (empty() || batchRank != 1 || !sharesB() || transposed)
    return all;
  const int64_t count = batch[0];
  RowGroups groups = all;
  if (c.batch[0] == m * c.row) {
    groups = {m, a.batch[0]};
  } else if (c.row == count * c.batch[0]) {
    groups = {count, a.row};
    a.row = a.batch[0];
    c.row = c.batch[0];
  } else {
    return all;
  }
  m *= count;
  batchRank = 0;
  return groups;
}

int64_t MatmulShape::batchCount() const {
  int64_t count = 1;
  for (int i = 0; i < batchRank; ++i)
    count *= batch[i];
  return count;
}

int64_t MatmulShape::outerCount() const {
  int64_t count = 1;
  for (int i = 0; i + 1 < batchRank; ++i)
    count *= batch[i];
  return count;
}

int64_t MatmulShape::outerOffset(const Strides &strides, int64_t outer) const {
  int64_t offset = 0;
  for (int i = batchRank - 2; i >= 0; --i) {
    offset += outer % batch[i] * strides.batch[i];
    outer /= batch[i];
  }
  return offset;
}

bool MatmulShape::isPlain(const Strides &strides, int64_t rows,
                          int64_t cols) const {
  bool isDense = (strides.col == 1 && (rows == 1 || strides.row >= cols)) ||
                 (strides.row == 1 && (cols == 1 || strides.col >= rows));
  struct Loop {
    int64_t stride, size;
  };
  std::array<Loop, 3> loops = {{{innerStride(strides), innerCount()},
                                {strides.row, rows},
                                {strides.col, cols}}};
  std::sort(loops.begin(), loops.end(),
            [](const Loop &x, const Loop &y) { return x.stride < y.stride; });
  int64_t reach = 0; // extent of the loops so far
  for (auto [stride, size] : loops) {
    if (size == 1 || stride == 0)
      continue;
    if (stride < reach)
      return false;
    reach = stride * size;
  }
  return isDense;
}

namespace {

constexpr int64_t mGranule = 16, nGranule = 64;

} // namespace

MatmulPlan MatmulPlan::make(const MatmulShape &shape, MatmulMode mode) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto count = static_cast<double>(shape.batchCount());
  int64_t wanted = slicesFor(
      estimateUs(2 * m * n * k * count, 4 * (m * k + k * n + m * n) * count));

  MatmulPlan plan;
  plan.m = Partition(shape.m, 1, mGranule);
  plan.n = Partition(shape.n, 1, nGranule);
  plan.k = Partition(shape.k, 1, 16);
  int64_t inner = shape.innerCount(), outer = shape.outerCount();
  // The library accepts a batch only if an operand has it.
  bool sameProduct =
      shape.innerStride(shape.a) == 0 && shape.innerStride(shape.b) == 0;
  plan.batch =
      Partition(inner, sameProduct ? inner : (wanted + outer - 1) / outer, 1);
  int64_t batchSlices = outer * plan.batch.count();
  int64_t perMatrix = (wanted + batchSlices - 1) / batchSlices;
  if (perMatrix <= 1)
    return plan;
  if (mode == MatmulMode::PackedB)
    plan.cutPacked(shape, wanted);
  else
    plan.cutDirect(shape, perMatrix, batchSlices);

  // In a long sum with a small result, only k can be cut.
  int64_t pieces = batchSlices * plan.m.count() * plan.n.count();
  if (pieces < 8 && pieces < wanted && shape.k >= 2048) {
    int64_t kPieces = std::min({wanted / pieces, shape.k / 512, int64_t(16)});
    plan.k = Partition(shape.k, kPieces, 16);
  }
  return plan;
}

/// Cuts B into panels that stay in the second-level cache: the kernels run at
/// 150-165 GFLOP/s on those and at 100 on whole wide rows. Panels are narrower
/// only if there would be too few slices otherwise.
void MatmulPlan::cutPacked(const MatmulShape &shape, int64_t wanted) {
  constexpr int64_t panelElements = 600000, widest = 256, fewestRows = 64;
  constexpr int64_t fewestSlices = 16;
  int64_t width = std::clamp(panelElements / shape.k / nGranule * nGranule,
                             nGranule, widest);
  int64_t rowPieces = std::clamp<int64_t>(shape.m / fewestRows, 1, wanted);
  int64_t least = std::min(wanted, fewestSlices);
  n = Partition(shape.n,
                std::max((shape.n + width - 1) / width,
                         (least + rowPieces - 1) / rowPieces),
                nGranule);
  m = Partition(shape.m,
                std::min(rowPieces, (wanted + n.count() - 1) / n.count()),
                mGranule);
}

/// Cutting m makes the library pack B again for each piece. Cutting n makes it
/// read A again and rules out the kernels that need whole rows. The cost below
/// is in nanoseconds on a machine with eight cores; more slices than that gain
/// nothing in this comparison.
void MatmulPlan::cutDirect(const MatmulShape &shape, int64_t pieces,
                           int64_t batchSlices) {
  constexpr double copyNs = 0.5, strided = 0.06, cores = 8;
  const auto rows = static_cast<double>(shape.m);
  const auto cols = static_cast<double>(shape.n);
  const auto depth = static_cast<double>(shape.k);
  double computeNs =
      1e3 * estimateUs(2 * rows * cols * depth,
                       4 * (rows * depth + depth * cols + rows * cols));
  double best = 0;
  int64_t bestM = 0, bestN = 0;
  int64_t mUnits = (shape.m + mGranule - 1) / mGranule;
  int64_t nUnits = (shape.n + nGranule - 1) / nGranule;
  for (int64_t mPieces = 1; mPieces <= std::min(pieces, mUnits); ++mPieces) {
    int64_t nPieces = std::min((pieces + mPieces - 1) / mPieces, nUnits);
    double copies = copyNs * (static_cast<double>(nPieces) * rows * depth +
                              static_cast<double>(mPieces) * depth * cols);
    double slices = static_cast<double>(mPieces * nPieces * batchSlices);
    double cost = (computeNs * (nPieces > 1 ? 1 + strided : 1) + copies) /
                  std::min(slices, cores);
    if (bestM == 0 || cost < best) {
      best = cost;
      bestM = mPieces;
      bestN = nPieces;
    }
  }
  m = Partition(shape.m, bestM, mGranule);
  n = Partition(shape.n, bestN, nGranule);
}
