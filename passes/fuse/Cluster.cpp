//===- Cluster.cpp - ops that become one generated kernel -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Cluster.h"
#include "passes/fuse/Fusion.h"

using namespace mlir;

namespace sinter::passes {

/// More ops than this make a kernel slow to compile.
static constexpr unsigned kMaxOps = 256;
/// The parts of a concat are emitted one by one.
static constexpr unsigned kMaxConcatOps = 8192;

/// The kind of an op that is a kernel on its own, with its own mapping.
static std::optional<ir::KernelKind> soloKind(Operation *op) {
  auto solo = dyn_cast<ir::SoloKernelOpInterface>(op);
  return solo ? std::optional(solo.getKernelKind()) : std::nullopt;
}

static SmallVector<int64_t> reducedDims(Operation *op) {
  if (auto reduce = dyn_cast<ir::ReduceOp>(op))
    return SmallVector<int64_t>(reduce.getDims());
  return {static_cast<int64_t>(cast<ir::ArgReduceOp>(op).getAxis())};
}

/// True when `value` is computed by integer ops from indices, constants and
/// scalars alone. Subtracts these ops from `budget`, and fails if that is used
/// up.
static bool isComputedFromNumbers(Value value, unsigned &budget) {
  Operation *op = value.getDefiningOp();
  if (isa<BlockArgument>(value) || isa<ir::IotaOp>(op))
    return op != nullptr;
  if (auto constant = dyn_cast<ir::ConstantOp>(op))
    return ir::isSplatConstant(constant);
  if (auto broadcast = dyn_cast<ir::BroadcastOp>(op))
    return ir::tensorType(broadcast.getX()).getNumElements() == 1;
  if (!isa<ir::AddOp, ir::SubOp, ir::MulOp, ir::AndOp, ir::OrOp, ir::XorOp,
           ir::ShiftLeftOp, ir::ShiftRightOp>(op) ||
      !ir::tensorType(value).getElementType().isInteger() || budget == 0)
    return false;
  --budget;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isComputedFromNumbers(operand, budget);
  });
}

bool isFreeOfMemory(Operation *op) {
  // So many ops take less time than reading eight bytes.
  unsigned budget = 16;
  return op->getNumResults() == 1 &&
         ir::tensorType(op->getResult(0)).getNumElements() > 1 &&
         isComputedFromNumbers(op->getResult(0), budget);
}

static IndexVector identityIndex(ArrayRef<int64_t> shape) {
  IndexVector index;
  for (auto [dim, size] : llvm::enumerate(shape))
    index.push_back(size == 1 ? Index::fixed(0) : Index::loop(dim));
  return index;
}

Cluster::Cluster(Operation *op) {
  if (std::optional<ir::KernelKind> solo = soloKind(op))
    kind = *solo;
  else if (isa<ir::ConcatOp>(op))
    kind = ir::KernelKind::concat;
  else if (ir::isReduction(op))
    kind = ir::KernelKind::reduce;
  for (Value result : op->getResults()) {
    IndexVector view;
    ArrayRef<int64_t> shape = ir::tensorType(result).getShape();
    if (ir::isReduction(op)) {
      // The loops are in the order of the input dimensions, in which memory is
      // read.
      SmallVector<int64_t> dims = reducedDims(op);
      ArrayRef<int64_t> input = ir::tensorType(op->getOperand(0)).getShape();
      for (auto [dim, size] : llvm::enumerate(input)) {
        if (llvm::is_contained(dims, dim))
          domain.reduced.push_back(dim);
        else
          view.push_back(size == 1 ? Index::fixed(0) : Index::loop(dim));
        domain.sizes.push_back(size);
      }
    } else if (domain.sizes.empty() || domain.sizes == shape) {
      domain.sizes.assign(shape.begin(), shape.end());
      view = identityIndex(shape);
    }
    roots[result] = view;
    indices[result] = view;
  }
  ops.insert(op);
}

std::optional<IndexVector> Cluster::indexOf(Value value) const {
  std::optional<IndexVector> index;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (!ops.contains(user))
      continue;
    auto known = indices.find(user->getResult(0));
    if (known == indices.end())
      return std::nullopt;
    std::optional<IndexVector> mapped =
        mapIndex(use, known->second, domain.reduced);
    if (!mapped || (index && !(*index == *mapped)))
      return std::nullopt;
    index = mapped;
  }
  return index;
}

bool Cluster::covers(ArrayRef<Index> index) const {
  SmallVector<bool> seen(domain.sizes.size(), false);
  for (const Index &i : index) {
    if (i.terms.empty() && i.constant == 0)
      continue;
    std::optional<unsigned> loop = i.asLoop();
    if (!loop || seen[*loop])
      return false;
    seen[*loop] = true;
  }
  bool all = true, kept = true, noneReduced = true;
  for (auto [loop, size] : llvm::enumerate(domain.sizes)) {
    if (size == 1)
      continue;
    bool reduced = domain.isReduced(loop);
    all &= seen[loop];
    kept &= reduced || seen[loop];
    noneReduced &= !(reduced && seen[loop]);
  }
  return all || (kept && noneReduced);
}

bool Cluster::isResult(ArrayRef<Index> index, RankedTensorType type) const {
  for (auto [size, i] : llvm::zip_equal(type.getShape(), index)) {
    // A loop of size 0 does not compute the element of a dimension of size 1.
    bool isFixed = size == 1 && i.terms.empty();
    if (!isFixed && (!i.asLoop() || domain.sizes[*i.asLoop()] != size))
      return false;
  }
  return covers(index);
}

bool Cluster::fitReduction(Operation *op, ArrayRef<Index> index) {
  ArrayRef<int64_t> shape = ir::tensorType(op->getOperand(0)).getShape();
  SmallVector<int64_t> dims = reducedDims(op);
  SmallVector<bool> seen(domain.sizes.size(), false);
  for (auto [size, i] :
       llvm::zip_equal(ir::tensorType(op->getResult(0)).getShape(), index)) {
    if (size == 1 && i.terms.empty())
      continue;
    std::optional<unsigned> loop = i.asLoop();
    if (!loop || seen[*loop] || domain.sizes[*loop] != size)
      return false;
    seen[*loop] = true;
  }
  SmallVector<unsigned> rest;
  for (auto [loop, size] : llvm::enumerate(domain.sizes))
    if (!seen[loop] && (size != 1 || domain.isReduced(loop)))
      rest.push_back(loop);
  auto restIsReduced = [&] {
    return rest.size() == dims.size() &&
           llvm::all_of(llvm::zip_equal(rest, dims), [&](auto pair) {
             return domain.sizes[std::get<0>(pair)] == shape[std::get<1>(pair)];
           });
  };
  if (hasReduction())
    return llvm::equal(rest, domain.reduced) && restIsReduced();
  if (kind != ir::KernelKind::loop)
    return false;
  if (rest.empty()) { // each result element is one reduction: new loops
    for (int64_t dim : dims) {
      domain.reduced.push_back(domain.sizes.size());
      domain.sizes.push_back(shape[dim]);
    }
  } else {
    if (!restIsReduced())
      return false;
    domain.reduced.assign(rest.begin(), rest.end());
  }
  kind = ir::KernelKind::reduce;
  return true;
}

bool Cluster::mayTake(Operation *op, const std::optional<IndexVector> &index,
                      bool asRoot) const {
  bool isConcat = kind == ir::KernelKind::concat;
  // A splat takes no code; alone, it would be a tensor in memory.
  bool isFull = ops.size() >= (isConcat ? kMaxConcatOps : kMaxOps) &&
                !isa<ir::ConstantOp>(op);
  if (isFull || soloKind(op) || isa<ir::ConcatOp>(op) ||
      (!isConcat && numOperands(op) > Cluster::kMaxOperands))
    return false;
  if (kind != ir::KernelKind::loop && kind != ir::KernelKind::reduce &&
      !isConcat)
    return false;
  if (asRoot && (isConcat || !index))
    return false;
  RankedTensorType type = ir::tensorType(op->getResult(0));
  if (ir::isReduction(op)) {
    // An operand of a concat may be a reduction, which brings its own loops.
    if (isConcat)
      return !asRoot && isa<ir::ReduceOp>(op) && op->hasOneUse() &&
             isa<ir::ConcatOp>(*op->user_begin());
    // It must be computed once per row: for all loops but the reduced ones.
    if (!index)
      return false;
    Cluster with;
    with.kind = kind;
    with.domain = domain;
    return with.fitReduction(op, *index) &&
           (!asRoot || with.isResult(*index, type));
  }
  if (asRoot && !isResult(*index, type))
    return false;
  if (isa<ir::ReduceWindowOp>(op))
    return kind == ir::KernelKind::loop && index && covers(*index);
  if (ir::elementCost(op) <= ir::ElementCost::load)
    return true;
  if (!index)
    return false;
  if (covers(*index))
    return true;
  // It is recomputed along some loops. That is fine if the innermost is one of
  // them, since the computation is then moved out of it.
  unsigned innermost = domain.sizes.size();
  while (innermost > 0 && domain.sizes[innermost - 1] == 1)
    --innermost;
  return innermost == 0 || llvm::all_of(*index, [&](const Index &i) {
           return i.coefficient(innermost - 1) == 0;
         });
}

void Cluster::take(Operation *op, const std::optional<IndexVector> &index,
                   bool asRoot) {
  if (ir::isReduction(op) && kind != ir::KernelKind::concat)
    fitReduction(op, *index);
  ops.insert(op);
  if (index)
    indices[op->getResult(0)] = *index;
  if (asRoot)
    roots[op->getResult(0)] = *index;
}

unsigned Cluster::numOperands(ArrayRef<Operation *> others) const {
  llvm::SmallDenseSet<Value, 16> operands;
  auto isMember = [&](Operation *op) {
    return op && (ops.contains(op) || llvm::is_contained(others, op));
  };
  auto collect = [&](Operation *member) {
    for (Value operand : member->getOperands())
      if (!isMember(operand.getDefiningOp()))
        operands.insert(operand);
  };
  llvm::for_each(others, collect);
  llvm::for_each(ops, collect);
  return operands.size() + roots.size();
}

//===----------------------------------------------------------------------===//
// Merging two clusters
//===----------------------------------------------------------------------===//

namespace {
/// For each loop of `b` the loop of `a` that it becomes, fixed one by one.
class LoopPairs {
public:
  LoopPairs(const Cluster &a, const Cluster &b)
      : a(a), b(b), ofB(b.domain.sizes.size()) {}

  /// Pairs loops so that a value read at `x` in `a` and at `y` in `b` is the
  /// same element. False if that is not possible.
  bool match(ArrayRef<Index> x, ArrayRef<Index> y) {
    if (x.size() != y.size())
      return false;
    for (auto [i, j] : llvm::zip_equal(x, y)) {
      std::optional<unsigned> p = i.asLoop(), q = j.asLoop();
      if (p && q ? !pair(*p, *q) : !(i.terms.empty() && i == j))
        return false;
    }
    return true;
  }

  /// Pairs the loops that no shared value has, in order. False if a loop is
  /// left without a partner.
  bool complete() {
    SmallVector<unsigned> left;
    for (auto [loop, size] : llvm::enumerate(a.domain.sizes))
      if (size != 1 && !llvm::is_contained(ofB, loop))
        left.push_back(loop);
    unsigned next = 0;
    for (auto [loop, size] : llvm::enumerate(b.domain.sizes))
      if (size != 1 && !ofB[loop] &&
          (next == left.size() || !pair(left[next++], loop)))
        return false;
    return next == left.size();
  }

  IndexVector renamed(ArrayRef<Index> index) const {
    IndexVector result;
    for (const Index &i : index) {
      Index sum = Index::fixed(i.constant);
      for (auto [loop, coefficient] : i.terms)
        if (ofB[loop])
          sum = sum + Index::loop(*ofB[loop]).scaled(coefficient);
      result.push_back(sum);
    }
    return result;
  }

private:
  bool pair(unsigned p, unsigned q) {
    if (ofB[q])
      return *ofB[q] == p;
    if (llvm::is_contained(ofB, p) || a.domain.sizes[p] != b.domain.sizes[q] ||
        (a.hasReduction() && b.hasReduction() &&
         a.domain.isReduced(p) != b.domain.isReduced(q)))
      return false;
    ofB[q] = p;
    return true;
  }

  const Cluster &a, &b;
  SmallVector<std::optional<unsigned>> ofB;
};
} // namespace

/// The values that both clusters use, as a result or as an operand.
static llvm::SetVector<Value> sharedValues(const Cluster &a, const Cluster &b) {
  auto valuesOf = [](const Cluster &cluster) {
    llvm::SetVector<Value> values;
    for (auto &[root, view] : cluster.roots)
      values.insert(root);
    for (Operation *op : cluster.ops)
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp();
            !def || !cluster.ops.contains(def))
          values.insert(operand);
    return values;
  };
  llvm::SetVector<Value> ofB = valuesOf(b), shared;
  for (Value value : valuesOf(a))
    if (ofB.contains(value))
      shared.insert(value);
  return shared;
}

/// "[2, 3] reduced over [3]".
static std::string loopsText(const Cluster &cluster) {
  auto listed = [](ArrayRef<int64_t> sizes) {
    std::string text;
    for (int64_t size : sizes)
      text += (text.empty() ? "" : ", ") + std::to_string(size);
    return "[" + text + "]";
  };
  std::string text = listed(cluster.domain.sizes);
  SmallVector<int64_t> reduced;
  for (unsigned loop : cluster.domain.reduced)
    reduced.push_back(cluster.domain.sizes[loop]);
  return reduced.empty() ? text : text + " reduced over " + listed(reduced);
}

/// Why a kernel of kind `cluster` takes no other kernel; "" if it may.
static std::string whyAlone(const Cluster &cluster) {
  if (cluster.kind == ir::KernelKind::loop ||
      cluster.kind == ir::KernelKind::reduce)
    return "";
  if (cluster.kind == ir::KernelKind::concat)
    return "a concat writes its parts one by one: it includes what computes "
           "its parts, but nothing that reads its result";
  return ("a " + ir::stringifyKernelKind(cluster.kind) +
          " has loops of its own, which compute nothing else")
      .str();
}

std::optional<Cluster> mergeClusters(const Cluster &a, const Cluster &b,
                                     std::string *why) {
  auto refuse = [&](llvm::function_ref<std::string()> reason) {
    if (why)
      *why = reason();
    return std::nullopt;
  };
  auto differ = [&] {
    return "they run over different loops: " + loopsText(a) + " and " +
           loopsText(b);
  };
  for (const Cluster *cluster : {&a, &b})
    if (!whyAlone(*cluster).empty())
      return refuse([&] { return whyAlone(*cluster); });
  if (a.ops.size() + b.ops.size() > kMaxOps)
    return refuse([&] {
      return "one kernel would have " +
             std::to_string(a.ops.size() + b.ops.size()) + " ops; more than " +
             std::to_string(kMaxOps) + " take too long to compile";
    });
  unsigned numBuffers = a.numOperands(b.ops.getArrayRef()) + b.roots.size();
  if (numBuffers > Cluster::kMaxOperands)
    return refuse([&] {
      return "one kernel would read and write " + std::to_string(numBuffers) +
             " values; the limit, on every device, is " +
             std::to_string(Cluster::kMaxOperands);
    });

  LoopPairs pairs(a, b);
  auto indexIn = [](const Cluster &cluster,
                    Value value) -> std::optional<IndexVector> {
    if (auto root = cluster.roots.find(value); root != cluster.roots.end())
      return root->second;
    return cluster.indexOf(value);
  };
  bool anyMatch = false;
  for (Value value : sharedValues(a, b)) {
    bool isEdge = a.roots.count(value) || b.roots.count(value);
    std::optional<IndexVector> x = indexIn(a, value), y = indexIn(b, value);
    bool isSame = x && y && pairs.match(*x, *y);
    // A result of one must be used by the other in the same iteration.
    if (isEdge && !isSame)
      return refuse([&]() -> std::string {
        const Cluster &maker = a.roots.count(value) ? a : b;
        if (maker.hasReduction())
          return "a result is complete only when the loops of the reduction "
                 "have ended; " +
                 differ();
        return "the reader needs elements of a result in other iterations "
               "than those that compute them; the loops are " +
               loopsText(a) + " and " + loopsText(b);
      });
    anyMatch |= isSame && a.covers(*x);
  }
  if (!anyMatch || !pairs.complete())
    return refuse([&] { return differ(); });

  Cluster merged = a;
  if (b.hasReduction()) {
    SmallVector<unsigned> reduced;
    for (unsigned loop : b.domain.reduced) {
      IndexVector own = pairs.renamed({Index::loop(loop)});
      if (!own.front().asLoop())
        return refuse([&] { return differ(); });
      reduced.push_back(*own.front().asLoop());
    }
    auto inOtherOrder = [&] {
      return "they reduce over different loops, or in another order: " +
             loopsText(a) + " and " + loopsText(b);
    };
    // The loops of `a` would reduce in another order.
    if (!llvm::is_sorted(reduced))
      return refuse([&] { return inOtherOrder(); });
    if (a.hasReduction() && a.domain.reduced != reduced)
      return refuse([&] { return inOtherOrder(); });
    merged.domain.reduced = reduced;
    merged.kind = b.kind;
  }
  for (auto &[value, index] : b.indices)
    merged.indices[value] = pairs.renamed(index);
  for (auto &[root, view] : b.roots)
    merged.roots[root] = pairs.renamed(view);
  merged.ops.insert(b.ops.begin(), b.ops.end());
  for (auto &[root, view] : merged.roots)
    if (!merged.isResult(view, ir::tensorType(root)))
      return refuse([&] {
        return "in one kernel a result would be computed more than once or "
               "not whole; the loops are " +
               loopsText(a) + " and " + loopsText(b);
      });
  return merged;
}

} // namespace sinter::passes
