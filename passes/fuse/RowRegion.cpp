//===- RowRegion.cpp - what is computed row by row ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The region grows from the product until it is closed. Then no op outside lies
// on a path between two members, so that the region can be computed at one
// place of the program.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/RowRegion.h"
#include "passes/OpClasses.h"
#include "passes/Resize.h"

using namespace mlir;
using sinter::ir::RowDim;

namespace sinter::passes {
namespace {

/// More ops are a whole network, not what surrounds one value.
constexpr size_t kMostOps = 100;

int64_t elementsOf(Value value) {
  return ir::tensorType(value).getNumElements();
}

std::string named(Operation *op) {
  return "'" + op->getName().getStringRef().str() + "' ";
}

/// The dimensions of the operands of `dot` that dimension `dim` of its result
/// comes from; -1 for an operand without it.
std::pair<int64_t, int64_t> sources(ir::DotGeneralOp dot, int64_t dim) {
  auto batch = static_cast<int64_t>(dot.getLhsBatch().size());
  if (dim < batch)
    return {dot.getLhsBatch()[dim], dot.getRhsBatch()[dim]};
  SmallVector<int64_t> left(dot.getLhsFree()), right(dot.getRhsFree());
  dim -= batch;
  auto numLeft = static_cast<int64_t>(left.size());
  return dim < numLeft ? std::pair<int64_t, int64_t>(left[dim], -1)
                       : std::pair<int64_t, int64_t>(-1, right[dim - numLeft]);
}

} // namespace

RowRegion::RowRegion(ir::DotGeneralOp root, int64_t dim)
    : root(root), size(root.getType().getDimSize(dim)), rowsOfRoot{dim} {
  ops.insert(root);
}

std::optional<RowRegion> RowRegion::around(ir::DotGeneralOp root, int64_t dim,
                                           std::string &why) {
  RowRegion region(root, dim);
  for (bool grows = true; grows;) {
    if (failed(region.follow(why)))
      return std::nullopt;
    FailureOr<bool> grown = region.addReaders(why);
    if (failed(grown))
      return std::nullopt;
    grows = *grown || region.addPaths() || region.addMakers();
    if (region.ops.size() > kMostOps) {
      why = "too many ops would be in it";
      return std::nullopt;
    }
    SmallVector<Operation *> order(region.ops.getArrayRef());
    llvm::sort(order, [](Operation *a, Operation *b) {
      return a != b && a->isBeforeInBlock(b);
    });
    region.ops = {order.begin(), order.end()};
  }
  for (Value whole : region.wholes)
    if (region.rows.contains(whole)) {
      why = "a value is needed both by rows and as a whole";
      return std::nullopt;
    }
  return region;
}

std::optional<RowDim> RowRegion::rowsOf(Value value) const {
  const auto *found = rows.find(value);
  return found == rows.end() ? std::nullopt
                             : std::optional<RowDim>(found->second);
}

SmallVector<Value> RowRegion::rowOperands() const {
  SmallVector<Value> list;
  for (auto &[value, where] : rows)
    if (!isInside(value))
      list.push_back(value);
  return list;
}

SmallVector<Value> RowRegion::wholeFactors() const {
  SmallVector<Value> list;
  for (Value value : wholes)
    if (llvm::any_of(value.getUsers(), [&](Operation *user) {
          return ops.contains(user) && ir::isContraction(user);
        }))
      list.push_back(value);
  return list;
}

SmallVector<Value> RowRegion::results() const {
  SmallVector<Value> list;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (!makers.contains(op) &&
          llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !ops.contains(user); }))
        list.push_back(result);
  return list;
}

/// True for a value with rows that is about as large as the root.
bool RowRegion::isLarge(Value value) const {
  return rows.contains(value) &&
         elementsOf(value) >= elementsOf(root->getResult(0)) / 2;
}

//===----------------------------------------------------------------------===//
// Where values have their rows
//===----------------------------------------------------------------------===//

LogicalResult RowRegion::place(Value value, const RowDim &where,
                               std::string &why) {
  auto [entry, isNew] = rows.insert({value, where});
  if (where.outer == 1 && (isNew || entry->second == where))
    return success();
  why = "the rows of a value are not in one piece";
  return failure();
}

LogicalResult RowRegion::follow(std::string &why) {
  rows.clear();
  sums.clear();
  wholes.clear();
  rows.insert({root.getResult(), rowsOfRoot});
  auto [left, right] = sources(root, rowsOfRoot.dim);
  for (auto [operand, dim] :
       {std::pair(root.getLhs(), left), std::pair(root.getRhs(), right)}) {
    if (dim < 0)
      wholes.insert(operand);
    else if (failed(place(operand, RowDim{dim}, why)))
      return failure();
  }
  for (Operation *op : ops)
    if (op != root && !makers.contains(op) && failed(follow(op, why)))
      return failure();
  for (Operation *op : llvm::reverse(ops))
    if (makers.contains(op))
      followBack(op);
  return success();
}

LogicalResult RowRegion::follow(Operation *op, std::string &why) {
  for (Value operand : op->getOperands())
    if (sums.contains(operand)) {
      why = named(op) + "needs a sum over all rows";
      return failure();
    }
  if (auto dot = dyn_cast<ir::DotGeneralOp>(op))
    return followProduct(dot, why);
  std::optional<RowDim> where;
  for (Value operand : op->getOperands())
    if (isInside(operand) && !where)
      where = rowsOf(operand);
  if (where && isElementwise(op)) {
    for (Value operand : op->getOperands())
      if (failed(place(operand, *where, why)))
        return failure();
  } else if (where && mapsOneOperand(op) && isInside(op->getOperand(0))) {
    for (Value operand : op->getOperands().drop_front())
      wholes.insert(operand);
    auto reduce = dyn_cast<ir::ReduceOp>(op);
    if (reduce && llvm::is_contained(reduce.getDims(), where->dim) &&
        reduce.getKind() == ir::ReduceKind::sum) {
      sums.insert(reduce.getResult());
      return success();
    }
    SmallVector<std::optional<RowDim>> operands(op->getNumOperands());
    operands[0] = where;
    where = cast<ir::RowsOpInterface>(op).getResultRows(operands, size);
  } else {
    where.reset();
  }
  if (!where) {
    why = named(op) + "does not compute row by row";
    return failure();
  }
  for (Value result : op->getResults())
    if (failed(place(result, *where, why)))
      return failure();
  return success();
}

LogicalResult RowRegion::followProduct(ir::DotGeneralOp dot, std::string &why) {
  Value lhs = dot.getLhs(), rhs = dot.getRhs();
  bool fromLeft = isInside(lhs) && rows.contains(lhs);
  RowDim where = *rowsOf(fromLeft ? lhs : rhs);
  ArrayRef<int64_t> contracted =
      fromLeft ? dot.getLhsContract() : dot.getRhsContract();
  Value other = fromLeft ? rhs : lhs;
  if (const auto *found = llvm::find(contracted, where.dim);
      found != contracted.end()) {
    RowDim opposite = where;
    opposite.dim =
        (fromLeft ? dot.getRhsContract()
                  : dot.getLhsContract())[found - contracted.begin()];
    sums.insert(dot.getResult());
    return place(other, opposite, why);
  }
  for (int64_t dim : llvm::seq(dot.getType().getRank())) {
    auto [left, right] = sources(dot, dim);
    if ((fromLeft ? left : right) != where.dim)
      continue;
    RowDim opposite = where, ofResult = where;
    opposite.dim = fromLeft ? right : left;
    ofResult.dim = dim;
    if (opposite.dim >= 0) {
      if (failed(place(other, opposite, why)))
        return failure();
    } else if (isInside(other)) {
      why = named(dot) + "multiplies each row by all others";
      return failure();
    } else {
      wholes.insert(other);
    }
    return place(dot.getResult(), ofResult, why);
  }
  llvm_unreachable("a dimension is of the batch, free or contracted");
}

/// Finds the rows of the operands of a maker from those of its result.
void RowRegion::followBack(Operation *op) {
  RowDim where = *rowsOf(op->getResult(0));
  if (auto broadcast = dyn_cast<ir::BroadcastOp>(op)) {
    RankedTensorType from = broadcast.getX().getType();
    int64_t repeated = broadcast.getType().getDimSize(where.dim);
    const auto *found = llvm::find(broadcast.getDims(), where.dim);
    where.dim = found - broadcast.getDims().begin();
    // A dimension of size 1 is repeated for all rows.
    if (where.dim == from.getRank() || from.getDimSize(where.dim) != repeated)
      wholes.insert(broadcast.getX());
    else
      rows.insert({broadcast.getX(), where});
    return;
  }
  for (Value operand : op->getOperands())
    rows.insert({operand, where});
}

//===----------------------------------------------------------------------===//
// Growing
//===----------------------------------------------------------------------===//

/// Adds the readers of large values.
FailureOr<bool> RowRegion::addReaders(std::string &why) {
  size_t before = ops.size();
  SmallVector<Operation *> members(ops.getArrayRef());
  for (Operation *op : members)
    for (Value result : op->getResults()) {
      if (makers.contains(op) || !isLarge(result))
        continue;
      for (Operation *user : result.getUsers()) {
        if (user->getBlock() != root->getBlock() ||
            user->hasTrait<OpTrait::IsTerminator>()) {
          why = "all of it is needed as a result";
          return failure();
        }
        ops.insert(user);
      }
    }
  return ops.size() > before;
}

/// Adds the ops outside that depend on a member and that a member depends on.
bool RowRegion::addPaths() {
  Operation *last = ops.back();
  llvm::SetVector<Operation *> dependent;
  auto follow = [&](Operation *op) {
    for (Operation *user : op->getUsers()) {
      user = root->getBlock()->findAncestorOpInBlock(*user);
      if (!ops.contains(user) && user->isBeforeInBlock(last))
        dependent.insert(user);
    }
  };
  for (Operation *op : ops)
    if (!makers.contains(op))
      follow(op);
  for (size_t i = 0; i < dependent.size(); ++i)
    follow(dependent[i]);
  size_t before = ops.size();
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : SmallVector<Value>(ops[i]->getOperands()))
      if (Operation *op = operand.getDefiningOp(); dependent.contains(op))
        ops.insert(op);
  return ops.size() > before;
}

/// Adds the ops outside that make large operands of smaller ones, or for this
/// region alone.
bool RowRegion::addMakers() {
  size_t before = ops.size();
  for (Value value : rowOperands()) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != root->getBlock() || !isLarge(value))
      continue;
    auto iota = dyn_cast<ir::IotaOp>(op);
    auto constant = dyn_cast<ir::ConstantOp>(op);
    bool isMaker =
        isa<ir::BroadcastOp>(op) ||
        (iota && static_cast<int64_t>(iota.getAxis()) != rows[value].dim) ||
        (constant && isa<SplatElementsAttr>(constant.getValue())) ||
        (isElementwise(op) &&
         llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return ops.contains(user); }));
    if (isMaker) {
      ops.insert(op);
      makers.insert(op);
    }
  }
  return ops.size() > before;
}

} // namespace sinter::passes
