//===- RecognizeMatch.cpp - finding composites in small ops ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/recognize/RecognizeMatch.h"

#include "passes/OpClasses.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

bool Match::isClosed() const {
  for (const auto &[op, part] : ops)
    for (Operation *user : op->getUsers())
      if (user != root && !ops.contains(user))
        return false;
  return true;
}

Location Match::location() const {
  SmallVector<std::pair<CompositePart, Location>> parts{
      {rootPart, root->getLoc()}};
  for (const auto &[op, part] : ops)
    if (!isa<ConstantOp>(op))
      parts.push_back({part, op->getLoc()});
  return compositeLocation(root->getContext(), parts);
}

Spread::Spread(Value value, Match &match)
    : value(value), match(match), place(tensorType(value)) {
  for (int64_t i = 0; i < place.getRank(); ++i)
    position.push_back(place.getDimSize(i) == 1 ? -1 : i);
}

void Spread::peel() {
  while (true) {
    if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
      RankedTensorType from = tensorType(broadcast.getX());
      SmallVector<int64_t> inner;
      for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
        inner.push_back(from.getDimSize(i) == 1 ? -1 : position[dim]);
      position = inner;
      value = broadcast.getX();
      match.add(broadcast);
      continue;
    }
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      return;
    auto nonUnit = [](RankedTensorType type) {
      SmallVector<int64_t> sizes;
      llvm::copy_if(type.getShape(), std::back_inserter(sizes),
                    [](int64_t s) { return s != 1; });
      return sizes;
    };
    RankedTensorType from = tensorType(reshape.getX());
    if (nonUnit(from) != nonUnit(tensorType(reshape.getResult())))
      return;
    SmallVector<int64_t> kept;
    llvm::copy_if(position, std::back_inserter(kept),
                  [](int64_t dim) { return dim >= 0; });
    // A unit dimension that a broadcast repeated has position -1 as well, so
    // `kept` has one entry per non-unit dimension.
    position.clear();
    const int64_t *next = kept.begin();
    for (int64_t size : from.getShape())
      position.push_back(size == 1 ? -1 : *next++);
    value = reshape.getX();
    match.add(reshape);
  }
}

bool Spread::enterNamed(StringRef name, double *number) {
  peel();
  Operation *op = value.getDefiningOp();
  if (!op || op->getName().getStringRef() != name)
    return false;
  if (op->getNumOperands() == 2) {
    auto splat = splatNumber(op->getOperand(1));
    if (!splat || !number)
      return false;
    *number = *splat;
  } else if (op->getNumOperands() != 1) {
    return false;
  }
  match.add(op);
  value = op->getOperand(0);
  return true;
}

bool Spread::enterReciprocal() {
  peel();
  auto div = value.getDefiningOp<DivOp>();
  if (!div || splatNumber(div.getLhs()) != 1.0)
    return false;
  match.add(div);
  value = div.getRhs();
  return true;
}

std::optional<SmallVector<int64_t>> Spread::reductionOf(ReduceKind kind,
                                                        Value x) {
  peel();
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != kind || reduce.getX() != x ||
      tensorType(x).getShape() != place.getShape())
    return std::nullopt;
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < place.getRank(); ++i)
    if (!llvm::is_contained(reduce.getDims(), i))
      kept.push_back(place.getDimSize(i) == 1 ? -1 : i);
  if (position != kept)
    return std::nullopt;
  match.add(reduce);
  return SmallVector<int64_t>(reduce.getDims());
}

std::optional<SmallVector<int64_t>> Spread::meanOf(Value x) {
  double divisor, factor;
  bool isDivided = enter<DivOp>(&divisor);
  if (!isDivided) {
    if (!enter<MulOp>(&factor) || factor == 0)
      return std::nullopt;
    divisor = 1 / factor;
  }
  auto dims = reductionOf(ReduceKind::sum, x);
  if (!dims)
    return std::nullopt;
  double count = 1;
  for (int64_t dim : *dims)
    count *= static_cast<double>(place.getDimSize(dim));
  // A factor of 1 / count is rounded.
  if (std::fabs(divisor - count) > (isDivided ? 0 : 1e-6 * count))
    return std::nullopt;
  return dims;
}

bool Spread::liesFrom(int64_t first, bool alone) const {
  SmallVector<int64_t> expected, actual;
  for (int64_t i = first, end = alone ? first + 1 : place.getRank(); i < end;
       ++i)
    if (place.getDimSize(i) != 1)
      expected.push_back(i);
  llvm::copy_if(position, std::back_inserter(actual),
                [](int64_t dim) { return dim >= 0; });
  return expected == actual;
}

} // namespace sinter::passes
