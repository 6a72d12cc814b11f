//===- IndexMaps.cpp - index maps and costs of ops ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Those of ops that are not elementwise.
//
//===----------------------------------------------------------------------===//
#include "ir/IndexMap.h"
#include "ir/Kernel.h"

using namespace mlir;
using namespace sinter::ir;

using Result = std::optional<IndexVector>;

bool sinter::ir::isUnitReshape(ReshapeOp op) {
  auto withoutUnits = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> kept;
    llvm::copy_if(shape, std::back_inserter(kept),
                  [](int64_t size) { return size != 1; });
    return kept;
  };
  return withoutUnits(tensorType(op.getX()).getShape()) ==
         withoutUnits(op.getType().getShape());
}

/// The indices of `to`, whose dimensions other than those of size 1 are those
/// of `from`, in order.
static IndexVector mapUnitReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                                  ArrayRef<Index> index) {
  SmallVector<Index> kept;
  for (auto [size, i] : llvm::zip_equal(from, index))
    if (size != 1)
      kept.push_back(i);
  IndexVector result;
  unsigned next = 0;
  for (int64_t size : to)
    result.push_back(size == 1 ? Index::fixed(0) : kept[next++]);
  return result;
}

/// The indices of `to`, if each of its dimensions consists of successive ones
/// of `from`; else nullopt.
static Result mapSplit(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                       ArrayRef<Index> index) {
  IndexVector result;
  unsigned next = 0;
  for (int64_t size : to) {
    Index sum = Index::fixed(0);
    int64_t product = 1;
    for (; product < size && next < from.size(); ++next) {
      sum = sum.scaled(from[next]) + index[next];
      product *= from[next];
    }
    if (product != size)
      return std::nullopt;
    result.push_back(sum);
  }
  if (llvm::any_of(from.drop_front(next),
                   [](int64_t size) { return size != 1; }))
    return std::nullopt;
  return result;
}

bool sinter::ir::isSplitReshape(ReshapeOp op) {
  ArrayRef<int64_t> from = op.getType().getShape();
  IndexVector any(from.size(), Index::fixed(0));
  return mapSplit(from, tensorType(op.getX()).getShape(), any).has_value();
}

Result BroadcastOp::mapIndex(unsigned, ArrayRef<Index> index,
                             ArrayRef<unsigned>) {
  IndexVector result;
  for (auto [size, dim] :
       llvm::zip_equal(tensorType(getX()).getShape(), getDims()))
    result.push_back(size == 1 ? Index::fixed(0) : index[dim]);
  return result;
}

Result ReshapeOp::mapIndex(unsigned, ArrayRef<Index> index,
                           ArrayRef<unsigned>) {
  ArrayRef<int64_t> from = getType().getShape(),
                    to = tensorType(getX()).getShape();
  return isUnitReshape(*this) ? mapUnitReshape(from, to, index)
                              : mapSplit(from, to, index);
}

Result TransposeOp::mapIndex(unsigned, ArrayRef<Index> index,
                             ArrayRef<unsigned>) {
  IndexVector result(index.size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    result[dim] = index[i];
  return result;
}

Result SliceOp::mapIndex(unsigned, ArrayRef<Index> index, ArrayRef<unsigned>) {
  IndexVector result;
  for (auto [i, start, stride] :
       llvm::zip_equal(index, getStarts(), getStrides()))
    result.push_back(i.scaled(stride).plus(start));
  return result;
}

Result ReverseOp::mapIndex(unsigned, ArrayRef<Index> index,
                           ArrayRef<unsigned>) {
  IndexVector result(index);
  for (int64_t dim : getDims())
    result[dim] = index[dim].scaled(-1).plus(getType().getDimSize(dim) - 1);
  return result;
}

/// Indices are read at the index of the result; which element of `x` is read is
/// not known.
Result GatherOp::mapIndex(unsigned operand, ArrayRef<Index> index,
                          ArrayRef<unsigned>) {
  if (operand == 0)
    return std::nullopt;
  return IndexVector(
      index.slice(getAxis(), tensorType(getIndices()).getRank()));
}

Result GatherElementsOp::mapIndex(unsigned operand, ArrayRef<Index> index,
                                  ArrayRef<unsigned>) {
  if (operand == 0)
    return std::nullopt;
  return IndexVector(index);
}

static Result mapReduced(int64_t rank, ArrayRef<int64_t> dims,
                         ArrayRef<Index> index,
                         ArrayRef<unsigned> reducedLoops) {
  if (reducedLoops.size() < dims.size())
    return std::nullopt;
  IndexVector result;
  unsigned kept = 0, reduced = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(dims, dim))
      result.push_back(Index::loop(reducedLoops[reduced++]));
    else
      result.push_back(index[kept++]);
  }
  return result;
}

Result ReduceOp::mapIndex(unsigned, ArrayRef<Index> index,
                          ArrayRef<unsigned> reducedLoops) {
  return mapReduced(tensorType(getX()).getRank(), getDims(), index,
                    reducedLoops);
}

Result ArgReduceOp::mapIndex(unsigned, ArrayRef<Index> index,
                             ArrayRef<unsigned> reducedLoops) {
  return mapReduced(tensorType(getX()).getRank(),
                    {static_cast<int64_t>(getAxis())}, index, reducedLoops);
}

//===----------------------------------------------------------------------===//
// The cost of an element
//===----------------------------------------------------------------------===//

/// A splat is an immediate operand.
ElementCost ConstantOp::getElementCost() {
  return isSplatConstant(*this) ? ElementCost::free : ElementCost::load;
}
ElementCost IotaOp::getElementCost() { return ElementCost::free; }
ElementCost BroadcastOp::getElementCost() { return ElementCost::free; }
ElementCost ReshapeOp::getElementCost() {
  return isUnitReshape(*this) ? ElementCost::free : ElementCost::load;
}
