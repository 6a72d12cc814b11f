//===- IndexMap.cpp - which element of an operand an element needs --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/IndexMap.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sinter::passes {

int64_t Index::coefficient(unsigned loop) const {
  for (auto [number, coefficient] : terms)
    if (number == loop)
      return coefficient;
  return 0;
}

std::optional<unsigned> Index::asLoop() const {
  if (constant == 0 && terms.size() == 1 && terms[0].second == 1)
    return terms[0].first;
  return std::nullopt;
}

Index Index::scaled(int64_t factor) const {
  if (factor == 0)
    return fixed(0);
  Index result = *this;
  result.constant *= factor;
  for (auto &term : result.terms)
    term.second *= factor;
  return result;
}

Index Index::plus(int64_t value) const {
  Index result = *this;
  result.constant += value;
  return result;
}

Index operator+(const Index &a, const Index &b) {
  Index sum = Index::fixed(a.constant + b.constant);
  const auto *i = a.terms.begin(), *j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first))
      sum.terms.push_back(*i++);
    else if (i == a.terms.end() || j->first < i->first)
      sum.terms.push_back(*j++);
    else {
      if (int64_t coefficient = i->second + j->second)
        sum.terms.push_back({i->first, coefficient});
      ++i, ++j;
    }
  }
  return sum;
}

bool isUnitReshape(ir::ReshapeOp op) {
  auto withoutUnits = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> kept;
    llvm::copy_if(shape, std::back_inserter(kept),
                  [](int64_t size) { return size != 1; });
    return kept;
  };
  return withoutUnits(ir::tensorType(op.getX()).getShape()) ==
         withoutUnits(op.getType().getShape());
}

/// Indices of `to` whose dimensions of size other than 1 are those of `from`,
/// in order.
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

/// Indices of `to`, each of whose dimensions is some of `from` in a row;
/// nullopt when it is not.
static std::optional<IndexVector>
mapSplit(ArrayRef<int64_t> from, ArrayRef<int64_t> to, ArrayRef<Index> index) {
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

bool isSplitReshape(ir::ReshapeOp op) {
  ArrayRef<int64_t> from = op.getType().getShape();
  IndexVector any(from.size(), Index::fixed(0));
  return mapSplit(from, ir::tensorType(op.getX()).getShape(), any).has_value();
}

std::optional<IndexVector> mapIndex(OpOperand &operand, ArrayRef<Index> index,
                                    ArrayRef<unsigned> reducedLoops) {
  Operation *op = operand.getOwner();
  ArrayRef<int64_t> shape = ir::tensorType(operand.get()).getShape();
  using Result = std::optional<IndexVector>;

  auto reduction = [&](ArrayRef<int64_t> dims) -> Result {
    if (reducedLoops.size() < dims.size())
      return std::nullopt;
    IndexVector result;
    unsigned kept = 0, reduced = 0;
    for (unsigned d = 0; d < shape.size(); ++d) {
      if (llvm::is_contained(dims, d))
        result.push_back(Index::loop(reducedLoops[reduced++]));
      else
        result.push_back(index[kept++]);
    }
    return result;
  };

  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ir::BroadcastOp broadcast) -> Result {
        IndexVector result;
        for (auto [size, dim] : llvm::zip_equal(shape, broadcast.getDims()))
          result.push_back(size == 1 ? Index::fixed(0) : index[dim]);
        return result;
      })
      .Case([&](ir::TransposeOp transpose) -> Result {
        IndexVector result(shape.size());
        for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
          result[dim] = index[i];
        return result;
      })
      .Case([&](ir::SliceOp slice) -> Result {
        IndexVector result;
        for (auto [i, start, stride] :
             llvm::zip_equal(index, slice.getStarts(), slice.getStrides()))
          result.push_back(i.scaled(stride).plus(start));
        return result;
      })
      .Case([&](ir::ReverseOp reverse) -> Result {
        IndexVector result(index);
        for (int64_t dim : reverse.getDims())
          result[dim] = index[dim].scaled(-1).plus(shape[dim] - 1);
        return result;
      })
      .Case([&](ir::ReshapeOp reshape) -> Result {
        ArrayRef<int64_t> from = reshape.getType().getShape();
        return isUnitReshape(reshape) ? mapUnitReshape(from, shape, index)
                                      : mapSplit(from, shape, index);
      })
      .Case([&](ir::ReduceOp reduce) { return reduction(reduce.getDims()); })
      .Case([&](ir::ArgReduceOp reduce) {
        return reduction({static_cast<int64_t>(reduce.getAxis())});
      })
      .Case([&](ir::GatherOp gather) -> Result {
        if (operand.getOperandNumber() == 0)
          return std::nullopt;
        return IndexVector(index.slice(gather.getAxis(), shape.size()));
      })
      .Case([&](ir::GatherElementsOp) -> Result {
        if (operand.getOperandNumber() == 0)
          return std::nullopt;
        return IndexVector(index);
      })
      .Case<ir::PadOp, ir::ConcatOp, ir::GatherNdOp, ir::ReduceWindowOp,
            ir::ReduceWindowGradOp, ir::ScatterOp, ir::ScatterElementsOp,
            ir::ScatterNdOp, ir::CumulativeOp, ir::CumulativePartsOp,
            ir::TopKOp, ir::FusionOp, ir::DotGeneralOp, ir::ConvOp,
            ir::ConvInputGradOp, ir::ConvFilterGradOp>(
          [](auto) -> Result { return std::nullopt; })
      .Default([&](Operation *) -> Result {
        // Elementwise: every operand has the result's shape.
        if (shape.size() != index.size())
          return std::nullopt;
        return IndexVector(index);
      });
}

FusionDomain FusionDomain::read(Operation *fusion) {
  FusionDomain domain;
  if (auto sizes = fusion->getAttrOfType<DenseI64ArrayAttr>("domain"))
    llvm::append_range(domain.sizes, sizes.asArrayRef());
  if (auto reduced = fusion->getAttrOfType<DenseI64ArrayAttr>("reduced"))
    llvm::append_range(domain.reduced, reduced.asArrayRef());
  if (auto views = fusion->getAttrOfType<ArrayAttr>("views"))
    for (Attribute view : views) {
      IndexVector index;
      for (int64_t loop : cast<DenseI64ArrayAttr>(view).asArrayRef())
        index.push_back(loop < 0 ? Index::fixed(0) : Index::loop(loop));
      domain.views.push_back(index);
    }
  return domain;
}

void FusionDomain::write(ir::FusionOp fusion) const {
  OpBuilder builder(fusion);
  fusion->setAttr("domain", builder.getDenseI64ArrayAttr(sizes));
  if (!reduced.empty())
    fusion->setAttr("reduced",
                    builder.getDenseI64ArrayAttr(
                        SmallVector<int64_t>(reduced.begin(), reduced.end())));
  SmallVector<Attribute> viewAttrs;
  for (const IndexVector &view : views) {
    SmallVector<int64_t> loops;
    for (const Index &index : view)
      loops.push_back(index.asLoop() ? int64_t(*index.asLoop()) : -1);
    viewAttrs.push_back(builder.getDenseI64ArrayAttr(loops));
  }
  fusion->setAttr("views", builder.getArrayAttr(viewAttrs));
}

llvm::DenseMap<Value, IndexVector> FusionDomain::trace(Block &body) const {
  SmallVector<std::pair<Value, IndexVector>> roots;
  for (auto [value, view] :
       llvm::zip_equal(body.getTerminator()->getOperands(), views))
    roots.push_back({value, view});
  return traceIndices(body, roots, reduced);
}

llvm::DenseMap<Value, IndexVector>
traceIndices(Block &body, ArrayRef<std::pair<Value, IndexVector>> roots,
             ArrayRef<unsigned> reducedLoops, Operation *opaque) {
  llvm::DenseMap<Value, IndexVector> known;
  llvm::DenseSet<Value> reached, ambiguous;
  auto meet = [&](Value value, const std::optional<IndexVector> &index) {
    reached.insert(value);
    if (!index) {
      ambiguous.insert(value);
      return;
    }
    auto [it, inserted] = known.try_emplace(value, *index);
    if (!inserted && !(it->second == *index))
      ambiguous.insert(value);
  };
  for (auto &[value, view] : roots)
    meet(value, view);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (&op == opaque || llvm::none_of(op.getResults(), [&](Value result) {
          return reached.contains(result);
        }))
      continue;
    Value result = op.getResult(0);
    bool traced = op.getNumResults() == 1 && !ambiguous.contains(result);
    for (OpOperand &operand : op.getOpOperands())
      meet(operand.get(), traced
                              ? mapIndex(operand, known[result], reducedLoops)
                              : std::nullopt);
  }
  for (Value value : ambiguous)
    known.erase(value);
  return known;
}

} // namespace sinter::passes
