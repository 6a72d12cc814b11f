//===- MatmulForm.cpp - contractions as strided matrix products -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/PostOps.h"

#include <array>
#include <tuple>

using namespace mlir;

namespace sinter::passes {
namespace {

constexpr size_t kMaxBatchDims = 4; // SINTER_MAX_BATCH_DIMS

/// A loop of the product with its strides in A, B and C; 0 for those that do
/// not have it.
struct Loop {
  int64_t size;
  std::array<int64_t, 3> strides;
};
using Loops = SmallVector<Loop>;

/// Drops loops of one iteration, and joins loops that are one loop in every
/// operand. The order of loops has no meaning; they are sorted as `operand` is
/// in memory.
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

/// Keeps only the longest loop and moves the others to `batch`.
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

using DimLoops = SmallVector<StridedLoop, 1>;

/// Splits a loop of `size` iterations off the inside of the innermost of
/// `loops`; nullopt if `size` does not divide it.
std::optional<StridedLoop> takeInner(DimLoops &loops, int64_t size) {
  StridedLoop &inner = loops.back();
  if (inner.size % size != 0)
    return std::nullopt;
  StridedLoop taken{size, inner.stride};
  inner = {inner.size / size, inner.stride * size};
  if (inner.size == 1)
    loops.pop_back();
  return taken;
}

/// Joins the loops of all dimensions where they are adjacent in memory, and
/// divides them among the dimensions of `shape`. No size may be 0.
std::optional<SmallVector<DimLoops>> regroup(ArrayRef<DimLoops> dims,
                                             ArrayRef<int64_t> shape) {
  DimLoops loops;
  for (const DimLoops &dim : dims)
    for (StridedLoop loop : dim) {
      if (!loops.empty() && loops.back().stride == loop.size * loop.stride)
        loops.back() = {loops.back().size * loop.size, loop.stride};
      else
        loops.push_back(loop);
    }
  SmallVector<DimLoops> result(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;)
    for (int64_t rest = shape[dim]; rest > 1;) {
      int64_t size = std::min(rest, loops.back().size);
      std::optional<StridedLoop> inner;
      if (rest % size != 0 || !(inner = takeInner(loops, size)))
        return std::nullopt;
      result[dim].insert(result[dim].begin(), *inner);
      rest /= size;
    }
  return result;
}

DimLoops oneLoop(int64_t size, int64_t stride) {
  return size == 1 ? DimLoops{} : DimLoops{{size, stride}};
}

/// Adds the loops of one dimension of the product. `of` are its loops in A, B
/// and C, with the same number of iterations; empty for an operand that does
/// not have the dimension. False if the loops do not divide each other.
bool addLoops(std::array<DimLoops, 3> of, Loops &loops) {
  for (;;) {
    int64_t size = 0;
    for (const DimLoops &list : of)
      if (!list.empty())
        size = size ? std::min(size, list.back().size) : list.back().size;
    if (size == 0)
      return true;
    Loop loop{size, {0, 0, 0}};
    for (unsigned operand = 0; operand < 3; ++operand) {
      if (of[operand].empty())
        continue;
      std::optional<StridedLoop> inner = takeInner(of[operand], size);
      if (!inner)
        return false;
      loop.strides[operand] = inner->stride;
    }
    loops.push_back(loop);
  }
}

} // namespace

StridedView viewOf(Value value, ViewDepth depth) {
  RankedTensorType type = ir::tensorType(value);
  StridedView self{value, 0, {}, {}};
  for (auto [size, stride] :
       llvm::zip_equal(type.getShape(), ir::rowMajorStrides(type.getShape())))
    self.dims.push_back(oneLoop(size, stride));
  Operation *op = value.getDefiningOp();
  // Empty tensors have no elements to address, and their sizes cannot be
  // divided.
  if (depth == ViewDepth::none || type.getNumElements() == 0 || !ir::isView(op))
    return self;
  StridedView source = viewOf(op->getOperand(0), depth), view = source;
  view.ops.push_back(op);
  view.dims.assign(type.getRank(), {});
  if (auto transpose = dyn_cast<ir::TransposeOp>(op)) {
    for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
      view.dims[i] = source.dims[dim];
  } else if (auto broadcast = dyn_cast<ir::BroadcastOp>(op)) {
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      view.dims[dim] = oneLoop(size, 0);
    ArrayRef<int64_t> from = ir::tensorType(broadcast.getX()).getShape();
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      if (from[i] == type.getDimSize(dim))
        view.dims[dim] = source.dims[i];
  } else if (auto slice = dyn_cast<ir::SliceOp>(op)) {
    ArrayRef<int64_t> from = ir::tensorType(slice.getX()).getShape();
    for (auto [i, start, step] :
         llvm::enumerate(slice.getStarts(), slice.getStrides())) {
      int64_t size = type.getDimSize(i);
      if (size == from[i]) {
        view.dims[i] = source.dims[i];
        continue;
      }
      if (source.dims[i].size() > 1)
        return self;
      int64_t stride = source.dims[i].front().stride;
      view.offset += start * stride;
      view.dims[i] = oneLoop(size, stride * step);
    }
  } else {
    auto dims = regroup(source.dims, type.getShape());
    if (!dims || (depth == ViewDepth::oneLoop &&
                  llvm::any_of(*dims, [](const DimLoops &loops) {
                    return loops.size() > 1;
                  })))
      return self;
    view.dims = *dims;
  }
  return view;
}

std::optional<StridedView> operandView(Value operand, Operation &op,
                                       const StridedView &view) {
  RankedTensorType type = ir::tensorType(operand);
  StridedView before = view;
  if (auto transpose = dyn_cast<ir::TransposeOp>(op)) {
    for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
      before.dims[dim] = view.dims[i];
    return before;
  }
  if (isa<ir::ReshapeOp>(op)) {
    if (type.getNumElements() == 0)
      return std::nullopt;
    auto dims = regroup(view.dims, type.getShape());
    if (!dims)
      return std::nullopt;
    before.dims = *dims;
    return before;
  }
  auto concat = dyn_cast<ir::ConcatOp>(op);
  if (!concat)
    return std::nullopt;
  DimLoops &along = before.dims[concat.getAxis()];
  int64_t start = 0, size = type.getDimSize(concat.getAxis());
  for (Value input : concat.getInputs()) {
    if (input == operand)
      break;
    start += ir::tensorType(input).getDimSize(concat.getAxis());
  }
  if (along.size() > 1)
    return std::nullopt;
  if (along.empty()) // size 1: the operand is the whole result
    return before;
  before.offset += start * along.front().stride;
  along = oneLoop(size, along.front().stride);
  return before;
}

std::optional<MatmulForm> matmulForm(ir::DotGeneralOp op, ViewDepth lhs,
                                     ViewDepth rhs,
                                     ArrayRef<int64_t> resultStrides) {
  auto [left, right] = multiplied(op);
  StridedView a = viewOf(left, lhs), b = viewOf(right, rhs);
  ArrayRef<int64_t> aShape = ir::tensorType(op.getLhs()).getShape(),
                    cShape = ir::tensorType(op.getResult()).getShape();
  SmallVector<int64_t> cStrides(resultStrides);
  if (cStrides.empty())
    cStrides = ir::rowMajorStrides(cShape);

  if (ir::tensorType(op.getResult()).getNumElements() == 0)
    return MatmulForm{a.base, b.base, 0,      0,      {},    0,
                      0,      0,      {1, 1}, {1, 1}, {1, 1}};
  Loops batch, m, n, k;
  bool divides = true;
  size_t at = 0;
  auto nextOfC = [&] {
    DimLoops loops = oneLoop(cShape[at], cStrides[at]);
    ++at;
    return loops;
  };
  for (auto [x, y] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    divides &= addLoops({a.dims[x], b.dims[y], nextOfC()}, batch);
  for (int64_t x : op.getLhsFree())
    divides &= addLoops({a.dims[x], DimLoops{}, nextOfC()}, m);
  for (int64_t y : op.getRhsFree())
    divides &= addLoops({DimLoops{}, b.dims[y], nextOfC()}, n);
  bool hasProducts = true;
  for (auto [x, y] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract())) {
    hasProducts &= aShape[x] != 0;
    if (hasProducts)
      divides &= addLoops({a.dims[x], b.dims[y], DimLoops{}}, k);
  }
  if (!divides)
    return std::nullopt;

  // Without products no element of A or B is read, so their strides do not
  // matter.
  if (!hasProducts) {
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
  form.aOffset = a.offset;
  form.bOffset = b.offset;
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

bool MatmulForm::hasUnitStrides() const {
  auto isUnit = [](int64_t size, int64_t stride) {
    return size <= 1 || stride == 1;
  };
  auto last = [](ArrayRef<int64_t> strides) { return strides.take_back(2); };
  return (isUnit(m, last(aStrides)[0]) || isUnit(k, last(aStrides)[1])) &&
         (isUnit(k, last(bStrides)[0]) || isUnit(n, last(bStrides)[1])) &&
         isUnit(n, last(cStrides)[1]);
}

OperandViews operandViews(ir::DotGeneralOp dot, bool joinsColumns) {
  int64_t columns = 1;
  for (int64_t dim : biasDims(dot))
    columns *= ir::tensorType(dot.getResult()).getDimSize(dim);
  constexpr ViewDepth deepestFirst[] = {ViewDepth::loops, ViewDepth::oneLoop,
                                        ViewDepth::none};
  for (ViewDepth lhs : deepestFirst)
    for (ViewDepth rhs : deepestFirst) {
      std::optional<MatmulForm> form = matmulForm(dot, lhs, rhs);
      if (form && form->hasUnitStrides() &&
          (!joinsColumns || form->n == columns))
        return {lhs, rhs};
    }
  return {};
}

bool isMatmulExpressible(ir::DotGeneralOp op) {
  return matmulForm(op, ViewDepth::none, ViewDepth::none).has_value();
}

} // namespace sinter::passes
