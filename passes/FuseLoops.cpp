//===- FuseLoops.cpp - ops that become one kernel -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Puts every op that is neither a library call nor free into a `sinter.fusion`.
// Walking from results to inputs, an op joins the cluster of its users when
// each of its elements is then computed about once and its reduction, if it is
// one, runs over the cluster's loops; it becomes a further result of the
// cluster when others use it too and no cycle arises. Epilogues of library
// calls are taken before, by FuseEpilogues; independent kernels are merged
// after, by FuseUpdates.
//
//===----------------------------------------------------------------------===//
#include "passes/Fusion.h"
#include "passes/FusionInfo.h"
#include "passes/IndexMap.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSELOOPS
#include "passes/Passes.h.inc"

namespace {

/// More operands than this make a kernel spill; more ops make it slow to
/// compile.
constexpr unsigned kMaxOperands = 48;
constexpr unsigned kMaxOps = 256;

/// Ops that become one kernel on their own, with the mapping named.
StringRef soloKind(Operation *op) {
  if (isa<ir::ScatterOp, ir::ScatterElementsOp, ir::ScatterNdOp>(op))
    return fusion_kind::kScatter;
  if (isa<ir::ReduceWindowGradOp>(op))
    return fusion_kind::kWindowGrad;
  if (isa<ir::CumulativeOp>(op))
    return fusion_kind::kScan;
  if (isa<ir::TopKOp>(op))
    return fusion_kind::kSort;
  return "";
}

bool isReduction(Operation *op) {
  return isa<ir::ReduceOp, ir::ArgReduceOp>(op);
}

SmallVector<int64_t> reducedDims(Operation *op) {
  if (auto reduce = dyn_cast<ir::ReduceOp>(op))
    return SmallVector<int64_t>(reduce.getDims());
  return {static_cast<int64_t>(cast<ir::ArgReduceOp>(op).getAxis())};
}

/// Ops that cost no more than a load, so that computing them again is fine.
bool isCheap(Operation *op) {
  return isa<ir::BroadcastOp, ir::ReshapeOp, ir::TransposeOp, ir::SliceOp,
             ir::ReverseOp, ir::IotaOp, ir::ConstantOp, ir::CastOp, ir::NegOp,
             ir::AbsOp, ir::AddOp, ir::SubOp, ir::MulOp, ir::MaxOp, ir::MinOp,
             ir::ReluOp, ir::CompareOp, ir::WhereOp, ir::AndOp, ir::OrOp,
             ir::NotOp, ir::XorOp, ir::StopGradientOp>(op);
}

/// Ops that are copied to each user rather than kept: no bytes are read for
/// them.
bool isFree(Operation *op) {
  if (auto constant = dyn_cast<ir::ConstantOp>(op))
    return isSplatConstant(constant);
  if (auto reshape = dyn_cast<ir::ReshapeOp>(op))
    return isUnitReshape(reshape);
  return isa<ir::IotaOp, ir::BroadcastOp>(op);
}

struct Cluster {
  StringRef kind = fusion_kind::kLoop;
  llvm::SetVector<Operation *> ops; // users before producers
  FusionDomain domain;              // views are kept in `roots`
  llvm::MapVector<Value, IndexVector> roots;
  /// The one index of each value that has one; absent from it: unknown.
  llvm::DenseMap<Value, IndexVector> indices;
  unsigned first = 0; // position of the first of `ops` in the function

  bool hasReduction() const { return !domain.reduced.empty(); }
};

class Clustering {
public:
  explicit Clustering(func::FuncOp func) : func(func) {}

  void run() {
    copyFreeOpsToUsers();
    unsigned position = 0;
    for (Operation &op : func.getBody().front())
      positions[&op] = position++;
    SmallVector<Operation *> ops;
    for (Operation &op :
         llvm::reverse(func.getBody().front().without_terminator()))
      if (isGenerated(&op))
        ops.push_back(&op);
    for (Operation *op : ops)
      assign(op);
  }

  /// One fusion per cluster, in an order in which definitions come before uses.
  void build();
  unsigned numClusters() const { return clusters.size(); }

private:
  /// Every op but library calls, existing fusions, plain constants, and
  /// reshapes (whose result is the operand's bytes) that no fused user takes
  /// in.
  static bool isGenerated(Operation *op) {
    if (auto constant = dyn_cast<ir::ConstantOp>(op))
      return isSplatConstant(constant) &&
             llvm::any_of(op->getUsers(),
                          [](Operation *user) { return isGenerated(user); });
    if (auto reshape = dyn_cast<ir::ReshapeOp>(op))
      return isUnitReshape(reshape) &&
             llvm::any_of(op->getUsers(),
                          [](Operation *user) { return isGenerated(user); });
    return !isa<ir::FusionOp, func::ReturnOp>(op) && !isLibraryOp(op);
  }

  /// Pattern: free op with n users -> n copies, one before each user.
  void copyFreeOpsToUsers() {
    for (Operation &op : llvm::make_early_inc_range(
             llvm::reverse(func.getBody().front().without_terminator()))) {
      if (!isFree(&op) || op.use_empty())
        continue;
      for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
        if (op.hasOneUse() || !isGenerated(use.getOwner()))
          continue;
        OpBuilder builder(use.getOwner());
        use.set(builder.clone(op)->getResult(0));
      }
    }
  }

  /// The one index at which `cluster` reads `value`, if there is one.
  std::optional<IndexVector> indexIn(Value value, Cluster &cluster) {
    std::optional<IndexVector> index;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (!cluster.ops.contains(user))
        continue;
      auto known = cluster.indices.find(user->getResult(0));
      if (known == cluster.indices.end())
        return std::nullopt;
      std::optional<IndexVector> mapped =
          mapIndex(use, known->second, cluster.domain.reduced);
      if (!mapped || (index && !(*index == *mapped)))
        return std::nullopt;
      index = mapped;
    }
    return index;
  }

  /// True when `index` reaches each element once: distinct loops, all of them,
  /// or all that are not reduced.
  static bool coversDomain(const IndexVector &index, const Cluster &cluster) {
    SmallVector<bool> seen(cluster.domain.sizes.size(), false);
    for (const Index &i : index) {
      if (i.terms.empty() && i.constant == 0)
        continue;
      std::optional<unsigned> loop = i.asLoop();
      if (!loop || seen[*loop])
        return false;
      seen[*loop] = true;
    }
    bool all = true, kept = true, noneReduced = true;
    for (auto [loop, size] : llvm::enumerate(cluster.domain.sizes)) {
      if (size == 1)
        continue;
      bool reduced = cluster.domain.isReduced(loop);
      all &= seen[loop];
      kept &= reduced || seen[loop];
      noneReduced &= !(reduced && seen[loop]);
    }
    return all || (kept && noneReduced);
  }

  /// True when a tensor of `type` read at `index` is computed whole and once by
  /// the loops.
  static bool isResult(const IndexVector &index, RankedTensorType type,
                       const Cluster &cluster) {
    for (auto [size, i] : llvm::zip_equal(type.getShape(), index))
      if (size != 1 &&
          (!i.asLoop() || cluster.domain.sizes[*i.asLoop()] != size))
        return false;
    return coversDomain(index, cluster);
  }

  /// Fits the reduction `op`, read at `index`, into the cluster's loops: over
  /// the loops that its result does not have, or over new ones. Changes nothing
  /// when it fails.
  static bool fitReduction(Operation *op, const IndexVector &index,
                           Cluster &cluster) {
    ArrayRef<int64_t> shape = ir::tensorType(op->getOperand(0)).getShape();
    SmallVector<int64_t> dims = reducedDims(op);
    SmallVector<bool> seen(cluster.domain.sizes.size(), false);
    for (auto [size, i] :
         llvm::zip_equal(ir::tensorType(op->getResult(0)).getShape(), index)) {
      if (size == 1 && i.terms.empty())
        continue;
      std::optional<unsigned> loop = i.asLoop();
      if (!loop || seen[*loop] || cluster.domain.sizes[*loop] != size)
        return false;
      seen[*loop] = true;
    }
    SmallVector<unsigned> rest;
    for (auto [loop, size] : llvm::enumerate(cluster.domain.sizes))
      if (!seen[loop] && (size != 1 || cluster.domain.isReduced(loop)))
        rest.push_back(loop);
    if (cluster.hasReduction()) {
      if (!llvm::equal(rest, cluster.domain.reduced) ||
          rest.size() != dims.size())
        return false;
      for (auto [loop, dim] : llvm::zip_equal(rest, dims))
        if (cluster.domain.sizes[loop] != shape[dim])
          return false;
      return true;
    }
    if (cluster.kind != fusion_kind::kLoop)
      return false;
    if (rest.empty()) { // each result element is one reduction: new loops
      for (int64_t dim : dims) {
        cluster.domain.reduced.push_back(cluster.domain.sizes.size());
        cluster.domain.sizes.push_back(shape[dim]);
      }
    } else {
      if (rest.size() != dims.size())
        return false;
      for (auto [loop, dim] : llvm::zip_equal(rest, dims))
        if (cluster.domain.sizes[loop] != shape[dim])
          return false;
      cluster.domain.reduced.assign(rest.begin(), rest.end());
    }
    cluster.kind = fusion_kind::kReduce;
    return true;
  }

  bool mayJoin(Operation *op, const std::optional<IndexVector> &index,
               Cluster &cluster, bool asRoot) {
    if (cluster.ops.size() >= kMaxOps || !soloKind(op).empty() ||
        isa<ir::ConcatOp>(op))
      return false;
    if (cluster.kind != fusion_kind::kLoop &&
        cluster.kind != fusion_kind::kReduce &&
        cluster.kind != fusion_kind::kConcat)
      return false;
    if (asRoot &&
        (cluster.kind == fusion_kind::kConcat || !index ||
         !isResult(*index, ir::tensorType(op->getResult(0)), cluster)))
      return false;
    if (operandsWith(op, cluster) > kMaxOperands)
      return false;
    if (isReduction(op)) {
      if (!index || cluster.kind == fusion_kind::kConcat)
        return false;
      // Computed once per row: anything but the reduced loops.
      return fitReduction(op, *index, cluster);
    }
    if (isa<ir::ReduceWindowOp>(op))
      return cluster.kind == fusion_kind::kLoop && index &&
             coversDomain(*index, cluster);
    if (isCheap(op))
      return true;
    if (!index)
      return false;
    if (coversDomain(*index, cluster))
      return true;
    // Computed again along some loops: fine when the innermost is one of them,
    // since the computation is then moved out of it.
    unsigned innermost = cluster.domain.sizes.size();
    while (innermost > 0 && cluster.domain.sizes[innermost - 1] == 1)
      --innermost;
    return innermost == 0 || llvm::all_of(*index, [&](const Index &i) {
             return i.coefficient(innermost - 1) == 0;
           });
  }

  unsigned operandsWith(Operation *op, Cluster &cluster) {
    llvm::SmallDenseSet<Value, 16> operands;
    auto collect = [&](Operation *member) {
      for (Value operand : member->getOperands())
        if (Operation *def = operand.getDefiningOp();
            !def || (def != op && !cluster.ops.contains(def)))
          operands.insert(operand);
    };
    collect(op);
    for (Operation *member : cluster.ops)
      collect(member);
    return operands.size() + cluster.roots.size();
  }

  /// True when an op of `cluster` needs a value that is computed from a user of
  /// `op` outside it.
  bool joiningMakesCycle(Operation *op, Cluster &cluster) {
    unsigned last = 0;
    for (Operation *member : cluster.ops)
      last = std::max(last, positions[member]);
    SmallVector<Operation *> work;
    llvm::SmallPtrSet<Operation *, 32> visited;
    // From a cluster one goes on from its first op, so that is what must come
    // before.
    auto push = [&](Operation *next) {
      unsigned number = clusterOf.lookup_or(next, ~0u);
      unsigned first = number == ~0u ? positions[next] : clusters[number].first;
      if (first <= last && visited.insert(next).second)
        work.push_back(next);
    };
    for (Operation *user : op->getUsers())
      if (!cluster.ops.contains(user))
        push(user);
    while (!work.empty()) {
      Operation *current = work.pop_back_val();
      if (cluster.ops.contains(current))
        return true;
      auto it = clusterOf.find(current);
      if (it != clusterOf.end()) {
        for (Operation *member : clusters[it->second].ops)
          for (Operation *user : member->getUsers())
            if (clusterOf.lookup_or(user, ~0u) != it->second)
              push(user);
      } else {
        for (Operation *user : current->getUsers())
          push(user);
      }
    }
    return false;
  }

  void join(Operation *op, const std::optional<IndexVector> &index,
            unsigned number, bool asRoot) {
    Cluster &cluster = clusters[number];
    cluster.ops.insert(op);
    cluster.first = std::min(cluster.first, positions[op]);
    clusterOf[op] = number;
    if (index)
      cluster.indices[op->getResult(0)] = *index;
    if (asRoot)
      cluster.roots[op->getResult(0)] = *index;
  }

  void assign(Operation *op) {
    llvm::SmallSetVector<unsigned, 4> users;
    bool outside = false;
    for (Operation *user : op->getUsers()) {
      auto it = clusterOf.find(user);
      if (it == clusterOf.end())
        outside = true;
      else
        users.insert(it->second);
    }
    if (op->getNumResults() == 1) {
      if (!outside && users.size() == 1) {
        std::optional<IndexVector> index =
            indexIn(op->getResult(0), clusters[users[0]]);
        if (mayJoin(op, index, clusters[users[0]], /*asRoot=*/false))
          return join(op, index, users[0], /*asRoot=*/false);
      } else {
        for (unsigned number : users) {
          std::optional<IndexVector> index =
              indexIn(op->getResult(0), clusters[number]);
          if (index && !joiningMakesCycle(op, clusters[number]) &&
              mayJoin(op, index, clusters[number], /*asRoot=*/true))
            return join(op, index, number, /*asRoot=*/true);
        }
      }
    }
    start(op);
  }

  /// A new cluster whose result is `op`.
  void start(Operation *op) {
    Cluster cluster;
    if (StringRef solo = soloKind(op); !solo.empty())
      cluster.kind = solo;
    else if (isa<ir::ConcatOp>(op))
      cluster.kind = fusion_kind::kConcat;
    for (Value result : op->getResults()) {
      IndexVector view;
      ArrayRef<int64_t> shape = ir::tensorType(result).getShape();
      if (isReduction(op)) {
        // Loops in the order of the input's dimensions: that is how memory is
        // read.
        SmallVector<int64_t> dims = reducedDims(op);
        ArrayRef<int64_t> inputShape =
            ir::tensorType(op->getOperand(0)).getShape();
        for (auto [dim, size] : llvm::enumerate(inputShape)) {
          if (llvm::is_contained(dims, dim))
            cluster.domain.reduced.push_back(dim);
          else
            view.push_back(size == 1 ? Index::fixed(0) : Index::loop(dim));
          cluster.domain.sizes.push_back(size);
        }
        cluster.kind = fusion_kind::kReduce;
      } else if (cluster.domain.sizes.empty() ||
                 cluster.domain.sizes == shape) {
        cluster.domain.sizes.assign(shape.begin(), shape.end());
        for (auto [dim, size] : llvm::enumerate(shape))
          view.push_back(size == 1 ? Index::fixed(0) : Index::loop(dim));
      }
      cluster.roots[result] = view;
      cluster.indices[result] = view;
    }
    cluster.ops.insert(op);
    cluster.first = positions[op];
    clusterOf[op] = clusters.size();
    clusters.push_back(std::move(cluster));
  }

  func::FuncOp func;
  std::vector<Cluster> clusters;
  struct Map : llvm::DenseMap<Operation *, unsigned> {
    unsigned lookup_or(Operation *op, unsigned missing) const {
      auto it = find(op);
      return it == end() ? missing : it->second;
    }
  } clusterOf;
  llvm::DenseMap<Operation *, unsigned> positions;
};

void Clustering::build() {
  Block &block = func.getBody().front();
  SmallVector<Operation *> order;
  for (Operation &op : block.without_terminator())
    order.push_back(&op);

  // Depth-first over operands, clusters taken as one node.
  llvm::SmallPtrSet<Operation *, 32> placed;
  Operation *end = block.getTerminator();
  OpBuilder builder(end);

  auto place = [&](Operation *node) {
    auto it = clusterOf.find(node);
    if (it == clusterOf.end()) {
      node->moveBefore(end);
      placed.insert(node);
      return;
    }
    Cluster &cluster = clusters[it->second];
    SmallVector<Value> results;
    for (auto &[root, view] : cluster.roots) {
      results.push_back(root);
      cluster.domain.views.push_back(view);
    }
    SmallVector<Operation *> members(cluster.ops.rbegin(), cluster.ops.rend());
    llvm::stable_sort(members, [&](Operation *a, Operation *b) {
      return positions[a] < positions[b];
    });
    builder.setInsertionPoint(end);
    ir::FusionOp fusion = buildFusion(builder, cluster.kind, members, results);
    cluster.domain.write(fusion);
    placed.insert(fusion);
    for (Operation *member : members)
      placed.insert(member);
  };

  for (Operation *start : order) {
    SmallVector<Operation *> stack{start};
    while (!stack.empty()) {
      Operation *node = stack.back();
      if (placed.contains(node)) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      auto need = [&](Operation *op) {
        for (Value operand : op->getOperands())
          if (Operation *def = operand.getDefiningOp();
              def && def->getBlock() == &block && !placed.contains(def) &&
              (clusterOf.lookup_or(def, ~0u) == ~0u ||
               clusterOf.lookup_or(def, ~0u) != clusterOf.lookup_or(op, ~0u))) {
            stack.push_back(def);
            ready = false;
          }
      };
      auto it = clusterOf.find(node);
      if (it == clusterOf.end())
        need(node);
      else
        for (Operation *member : clusters[it->second].ops)
          need(member);
      if (!ready)
        continue;
      stack.pop_back();
      place(node);
    }
  }
  // Members stay in place until all fusions are built, so that `positions` is
  // valid.
  for (Operation *op : llvm::reverse(order))
    if (clusterOf.count(op))
      op->erase();
}

struct FuseLoopsPass : impl::FuseLoopsBase<FuseLoopsPass> {
  void runOnOperation() override {
    Clustering clustering(getOperation());
    clustering.run();
    clustering.build();
  }
};

} // namespace
} // namespace sinter::passes
