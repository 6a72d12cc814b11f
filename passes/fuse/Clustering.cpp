//===- Clustering.cpp - which ops become one kernel -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Why the result computes the same. A cluster has one iteration domain. An op
// joins only if the cluster reads its result at one affine index (Cluster::
// indexOf), so that computing the op at that index in each iteration gives the
// cluster what it would have loaded; if its result is also stored, the index
// reaches each element exactly once (Cluster::isResult). A reduction joins only
// if its reduced dimensions are the cluster's reduced loops, so that its tree
// is that of its shape. Two clusters merge only if a renaming of loops makes
// the domains equal and every value that one computes for the other is used in
// the iteration that computes it (mergeClusters).
//
// Why there is no cycle. Take each cluster, and each other op, as a node, with
// an edge for each use. At the beginning every op is a node of its own, and the
// graph is that of a block, without cycles. A step contracts nodes, which makes
// a cycle only if a path of two edges or more leads from one of them to
// another:
// - an op all of whose users are in the cluster has no path to it but its
//   edges;
// - an op with other users joins only if none of these reaches the cluster
//   (joiningMakesCycle);
// - two clusters merge only if no path through a third node leads from one to
//   the other (mergingMakesCycle);
// - a cluster that computes a value of another one again reads what that one
//   reads, on which it depended before (copyCheapValues).
// So the graph stays without cycles, and `build` finds an order.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Clustering.h"
#include "passes/OpClasses.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/KeptStates.h"
#include "passes/fuse/PersistentKernel.h"

#include <queue>

using namespace mlir;

namespace sinter::passes {

/// True for all ops but library calls, existing fusions, scans, constants that
/// are not splats, and splats and reshapes (whose result is the bytes of the
/// operand) without a generated user. A reshape that splits the dimensions of a
/// slice is included with the slice, which alone would be a copy.
bool Clustering::isGenerated(Operation *op) {
  auto hasGeneratedUser = [&] {
    return llvm::any_of(op->getUsers(),
                        [](Operation *user) { return isGenerated(user); });
  };
  if (auto constant = dyn_cast<ir::ConstantOp>(op))
    return isSplatConstant(constant) && hasGeneratedUser();
  if (auto reshape = dyn_cast<ir::ReshapeOp>(op))
    return (isUnitReshape(reshape) ||
            (isSplitReshape(reshape) &&
             reshape.getX().getDefiningOp<ir::SliceOp>())) &&
           hasGeneratedUser();
  // Calls of functions belong to programs on several devices.
  return isa_and_nonnull<ir::SinterDialect>(op->getDialect()) &&
         !isa<ir::FusionOpInterface, ir::ScanCallOp>(op) &&
         !op->hasTrait<ir::Transfer>() && !op->hasTrait<ir::Alias>() &&
         !ir::isContraction(op);
}

/// Pattern: free op, or cast that widens 16-bit floats, with n users -> n
/// copies, one before each user. Stored values stay 16 bits wide.
void Clustering::copyFreeOpsToUsers() {
  for (Operation &op : llvm::make_early_inc_range(
           llvm::reverse(func.getBody().front().without_terminator()))) {
    bool widens = op.getNumResults() == 1 && widened(op.getResult(0));
    bool isFree = ir::elementCost(&op) == ir::ElementCost::free;
    if (!(isFree || widens) || op.use_empty())
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
      if (op.hasOneUse() || !isGenerated(use.getOwner()))
        continue;
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(op)->getResult(0));
    }
  }
}

void Clustering::run() {
  copyFreeOpsToUsers();
  unsigned position = 0;
  for (Operation &op : func.getBody().front())
    positions[&op] = position++;
  ends.resize(position);
  SmallVector<Operation *> ops;
  for (Operation &op :
       llvm::reverse(func.getBody().front().without_terminator()))
    if (isGenerated(&op))
      ops.push_back(&op);
  for (Operation *op : ops)
    assign(op);
  mergeAll();
  copyCheapValues();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// True when a path of uses leads from `from` to an op for which `isTarget`
/// holds. A cluster is one node: a path that reaches a member continues from
/// all members. All targets end at or before `last`; nodes that begin too late
/// to lead there are not visited.
bool Clustering::reaches(ArrayRef<Operation *> from,
                         llvm::function_ref<bool(Operation *)> isTarget,
                         unsigned last) const {
  // Uses lead to later positions, except through a cluster, which is entered at
  // its end and left at its start.
  for (unsigned first = 0; first <= last; ++first)
    last = std::max(last, ends[first]);
  // Visit the latest node first: a path from the forward to the backward pass
  // is found at the first value that is kept for it.
  std::priority_queue<std::pair<unsigned, Operation *>> work;
  llvm::SmallPtrSet<Operation *, 32> visited;
  auto push = [&](Operation *next) {
    unsigned number = numberOf(next), first = positions.lookup(next);
    if (number != kNone) {
      next = clusters[number].ops.front();
      first = spans.lookup(number).first;
    }
    if (first <= last && visited.insert(next).second)
      work.push({first, next});
  };
  llvm::for_each(from, push);
  while (!work.empty()) {
    Operation *current = work.top().second;
    work.pop();
    if (isTarget(current))
      return true;
    unsigned number = numberOf(current);
    if (number == kNone) {
      llvm::for_each(current->getUsers(), push);
      continue;
    }
    for (Operation *member : clusters[number].ops)
      for (Operation *user : member->getUsers())
        if (numberOf(user) != number)
          push(user);
  }
  return false;
}

/// True when a member of the cluster needs a value that is computed from a user
/// of `op` outside of the cluster.
bool Clustering::joiningMakesCycle(Operation *op, unsigned number) const {
  const Cluster &cluster = clusters[number];
  SmallVector<Operation *> outside;
  for (Operation *user : op->getUsers())
    if (!cluster.ops.contains(user))
      outside.push_back(user);
  return reaches(
      outside,
      [&](Operation *reached) { return cluster.ops.contains(reached); },
      spans.lookup(number).second);
}

/// True when one cluster needs a value that is computed elsewhere from a value
/// of the other.
bool Clustering::mergingMakesCycle(unsigned a, unsigned b) const {
  unsigned last = std::max(spans.lookup(a).second, spans.lookup(b).second);
  auto leadsTo = [&](unsigned from, unsigned to) {
    SmallVector<Operation *> outside;
    for (Operation *member : clusters[from].ops)
      for (Operation *user : member->getUsers())
        if (unsigned number = numberOf(user); number != from && number != to)
          outside.push_back(user);
    return reaches(
        outside, [&](Operation *reached) { return numberOf(reached) == to; },
        last);
  };
  return leadsTo(a, b) || leadsTo(b, a);
}

//===----------------------------------------------------------------------===//
// Step 1: each op joins its users
//===----------------------------------------------------------------------===//

void Clustering::assign(Operation *op) {
  llvm::SmallSetVector<unsigned, 4> users;
  bool outside = false;
  for (Operation *user : op->getUsers()) {
    if (unsigned number = numberOf(user); number != kNone)
      users.insert(number);
    else
      outside = true;
  }
  if (op->getNumResults() != 1)
    return start(op);
  if (isFreeOfMemory(op)) {
    // Each cluster that can take it gets a copy. `op` itself goes to the first
    // one, or is stored if it has users outside.
    SmallVector<unsigned> all(users.begin(), users.end());
    for (unsigned number : ArrayRef(all).drop_front(outside ? 0 : 1)) {
      const Cluster &cluster = clusters[number];
      if (!cluster.mayTake(op, cluster.indexOf(op->getResult(0)),
                           /*asRoot=*/false))
        continue;
      assign(copyForCluster(op, number));
      users.remove(number);
    }
  }
  bool asRoot = outside || users.size() != 1;
  for (unsigned number : users) {
    const Cluster &cluster = clusters[number];
    std::optional<IndexVector> index = cluster.indexOf(op->getResult(0));
    if (asRoot && !index)
      continue;
    if (!mayJoinUpdate(op, cluster, asRoot))
      continue;
    if (index && belongsWithReduction(op, *index, cluster, asRoot))
      continue;
    if (cluster.mayTake(op, index, asRoot) &&
        !(asRoot && joiningMakesCycle(op, number)) && shallJoin(op, number))
      return join(op, index, number, asRoot);
  }
  start(op);
}

/// Whether `op` shall join a cluster that can take it. What computes nothing
/// always does: storing it would only cost.
bool Clustering::shallJoin(Operation *op, unsigned number) const {
  if (isFreeOfMemory(op) || ir::elementCost(op) == ir::ElementCost::free)
    return true;
  SmallVector<Operation *> users;
  for (Operation *user : op->getUsers())
    if (clusters[number].ops.contains(user))
      users.push_back(user);
  return becomeOneKernel("fuse-loops", "join", op, users);
}

/// Copies `op` and makes the members of the cluster use the copy.
Operation *Clustering::copyForCluster(Operation *op, unsigned number) {
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  positions[copy] = positions[op];
  op->replaceUsesWithIf(copy->getResults(), [&](OpOperand &use) {
    return numberOf(use.getOwner()) == number;
  });
  return copy;
}

/// False when `cluster` only computes new values of states and `op` would tie
/// it to the rest of the program: by another result, or by a long reduction,
/// whose input would then be kept until the end. In a function that becomes one
/// kernel, all values are kept until the end.
bool Clustering::mayJoinUpdate(Operation *op, const Cluster &cluster,
                               bool asRoot) const {
  if (func->hasAttr(kPersistentAttr))
    return true;
  auto isOnlyState = [&](Value value) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      return cluster.ops.contains(use.getOwner()) || isNewState(use);
    });
  };
  if (!llvm::all_of(cluster.roots,
                    [&](auto &root) { return isOnlyState(root.first); }))
    return true;
  if (asRoot)
    return isOnlyState(op->getResult(0));
  return !ir::isReduction(op) ||
         ir::tensorType(op->getOperand(0)).getNumElements() <= kSmallElements;
}

void Clustering::join(Operation *op, const std::optional<IndexVector> &index,
                      unsigned number, bool asRoot) {
  clusters[number].take(op, index, asRoot);
  setSpan(number,
          {std::min(spans[number].first, positions[op]), spans[number].second});
  clusterOf[op] = number;
}

void Clustering::start(Operation *op) {
  clusterOf[op] = clusters.size();
  setSpan(clusters.size(), {positions[op], positions[op]});
  clusters.emplace_back(op);
}

void Clustering::setSpan(unsigned number, std::pair<unsigned, unsigned> span) {
  spans[number] = span;
  ends[span.first] = std::max(ends[span.first], span.second);
}

/// True when `op` is computed from a reduction that fits a cluster with `op` as
/// the result, but not `cluster`, which reads `op` at `index`; and storing `op`
/// costs nothing (`isStored`: it is stored anyway) or no more than storing the
/// results of the reduction. In the second case false if another reduction of
/// the results also leads to `op`: a kernel with `op` would wait for that one,
/// so the first would be in an earlier kernel.
///
/// For example, the softmax gradient, which is stored for two contractions and
/// summed over rows for a bias, is computed with its sums over columns. By the
/// exception, the squares of the parts of a variance are moved to the mean of
/// all in the kernel that joins the parts.
bool Clustering::belongsWithReduction(Operation *op, const IndexVector &index,
                                      const Cluster &cluster,
                                      bool isStored) const {
  constexpr unsigned kMaxVisited = 32;
  if (ir::isReduction(op) || ir::elementCost(op) == ir::ElementCost::free)
    return false;
  Cluster own(op);
  if (own.kind != ir::KernelKind::loop)
    return false;
  struct Read {
    Operation *op;
    IndexVector inOwn, inCluster;
  };
  std::vector<Read> work{{op, own.roots.front().second, index}};
  llvm::SmallPtrSet<Operation *, 16> visited;
  int64_t numReduced = 0;
  SmallVector<Operation *> fitting, others; // reductions that lead to `op`
  while (!work.empty() && visited.size() < kMaxVisited) {
    Read read = std::move(work.back());
    work.pop_back();
    for (OpOperand &use : read.op->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (!def || !isGenerated(def) || def->getNumResults() != 1 ||
          visited.contains(def))
        continue;
      auto inOwn = mapIndex(use, read.inOwn),
           inCluster = mapIndex(use, read.inCluster);
      if (!inOwn || !inCluster)
        continue;
      visited.insert(def);
      if (!ir::isReduction(def)) {
        work.push_back({def, *inOwn, *inCluster});
        continue;
      }
      Cluster trial;
      trial.kind = cluster.kind;
      trial.domain = cluster.domain;
      if (!Cluster(own).fitReduction(def, *inOwn) ||
          trial.fitReduction(def, *inCluster)) {
        others.push_back(def);
        continue;
      }
      fitting.push_back(def);
      numReduced += ir::tensorType(def->getResult(0)).getNumElements();
    }
  }
  bool waits = llvm::any_of(others, [&](Operation *other) {
    return llvm::is_contained(fitting, other->getOperand(0).getDefiningOp());
  });
  return numReduced > 0 &&
         (isStored ||
          (!waits &&
           ir::tensorType(op->getResult(0)).getNumElements() <= numReduced));
}

//===----------------------------------------------------------------------===//
// Step 2: clusters over the same elements become one
//===----------------------------------------------------------------------===//

/// The clusters that compute or use each value; pairs of them are candidates.
Clustering::Sharers Clustering::sharers() const {
  Sharers usersOf;
  for (Operation &op :
       mlir::func::FuncOp(func).getBody().front().without_terminator()) {
    unsigned number = numberOf(&op);
    if (number == kNone)
      continue;
    for (Value operand : op.getOperands())
      usersOf[operand].insert(number);
    for (Value result : op.getResults())
      if (clusters[number].roots.count(result))
        usersOf[result].insert(number);
  }
  return usersOf;
}

void Clustering::mergeAll() {
  llvm::DenseMap<unsigned, unsigned> mergedInto;
  auto current = [&](unsigned number) {
    for (auto it = mergedInto.find(number); it != mergedInto.end();
         it = mergedInto.find(number))
      number = it->second;
    return number;
  };
  for (auto &[value, users] : sharers()) {
    if (users.size() < 2 || users.size() > kMaxUsers)
      continue;
    for (unsigned i = 0; i < users.size(); ++i)
      for (unsigned j = i + 1; j < users.size(); ++j) {
        unsigned a = current(users[i]), b = current(users[j]);
        if (a != b && tryMerge(a, b))
          mergedInto[b] = a;
      }
  }
}

/// Merging pays if one cluster uses a result of the other, which then need not
/// be loaded. It also pays for two reductions of one value, which then is read
/// once; their results are small, so having one of them earlier costs hardly
/// any memory.
bool Clustering::pays(const Cluster &a, const Cluster &b) const {
  auto usesResultOf = [](const Cluster &user, const Cluster &maker) {
    return llvm::any_of(maker.roots, [&](auto &root) {
      return llvm::any_of(root.first.getUsers(),
                          [&](Operation *op) { return user.ops.contains(op); });
    });
  };
  auto hasSmallResults = [](const Cluster &cluster) {
    return cluster.hasReduction() &&
           llvm::all_of(cluster.roots, [&](auto &root) {
             return llvm::none_of(root.second, [&](const Index &i) {
               return i.asLoop() && cluster.domain.isReduced(*i.asLoop());
             });
           });
  };
  return usesResultOf(a, b) || usesResultOf(b, a) ||
         (a.hasReduction() && b.hasReduction() &&
          (hasSmallResults(a) || hasSmallResults(b)));
}

bool Clustering::tryMerge(unsigned a, unsigned b) {
  if (!pays(clusters[a], clusters[b]))
    return false;
  std::optional<Cluster> merged = mergeClusters(clusters[a], clusters[b]);
  if (!merged || mergingMakesCycle(a, b) ||
      !becomeOneKernel("fuse-loops", "merge", clusters[a].ops.getArrayRef(),
                       clusters[b].ops.getArrayRef()))
    return false;
  for (Operation *op : clusters[b].ops)
    clusterOf[op] = a;
  merged->roots.remove_if([&](auto &root) {
    return llvm::all_of(root.first.getUsers(), [&](Operation *user) {
      return merged->ops.contains(user);
    });
  });
  setSpan(a, {std::min(spans[a].first, spans[b].first),
              std::max(spans[a].second, spans[b].second)});
  clusters[a] = std::move(*merged);
  clusters[b] = Cluster();
  return true;
}

} // namespace sinter::passes
