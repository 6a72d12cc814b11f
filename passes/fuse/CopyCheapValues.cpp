//===- CopyCheapValues.cpp - values that kernels compute again ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Step 3 of Clustering. Elements of 16-bit floats take two bytes to read. A
// float32 value that a few cheap ops compute from them takes four bytes to keep
// and four for each kernel that reads it. So other kernels compute it again. An
// example is the distance of activations from their mean, which a batch
// normalisation and its gradient use.
//
// The copies have the ops, operands and order of the original, so the bits are
// the same.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/fuse/Clustering.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::passes {
namespace {

/// A broadcast operand is so much smaller than the value.
constexpr int64_t kSmallShare = 16;
constexpr unsigned kMostOps = 4;

/// What a cheap value is computed from.
struct CheapValue {
  llvm::SetVector<Operation *> ops; // users before producers
  llvm::SetVector<Value> leaves;
  Value narrow; // the one large leaf

  /// False if `value`, of `elements` elements, is not cheap.
  bool collect(Value value, int64_t elements) {
    Operation *op = value.getDefiningOp();
    if (!op || ops.size() == 2 * kMostOps)
      return false;
    // Insert again, after all of its users.
    ops.remove(op);
    ops.insert(op);
    if (Value from = widened(value)) {
      bool isOther = narrow && narrow != from;
      narrow = from;
      leaves.insert(from);
      return !isOther;
    }
    if (auto constant = dyn_cast<ir::ConstantOp>(op))
      return ir::isSplatConstant(constant);
    if (auto broadcast = dyn_cast<ir::BroadcastOp>(op)) {
      leaves.insert(broadcast.getX());
      return broadcast.getX().getType().getNumElements() * kSmallShare <=
             elements;
    }
    return isa<ir::AddOp, ir::SubOp, ir::MulOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return collect(operand, elements);
           });
  }
};

std::optional<CheapValue> asCheap(Value value) {
  RankedTensorType type = ir::tensorType(value);
  CheapValue cheap;
  if (!type.getElementType().isF32() ||
      !cheap.collect(value, type.getNumElements()) || !cheap.narrow)
    return std::nullopt;
  return cheap;
}

} // namespace

/// True when `value` is in memory, whatever kernels are made.
bool Clustering::isAvailable(Value value) const {
  Operation *def = value.getDefiningOp();
  unsigned number = def ? numberOf(def) : kNone;
  return number == kNone || clusters[number].roots.count(value);
}

/// Makes the members of a cluster use a copy of `op`, which is computed from
/// values in memory; false if the cluster cannot take the copy.
bool Clustering::copyInto(Operation *op, unsigned number) {
  Value value = op->getResult(0);
  CheapValue cheap = *asCheap(value);
  Cluster &cluster = clusters[number];
  std::optional<IndexVector> index = cluster.indexOf(value);
  bool hasLoops = cluster.kind == ir::KernelKind::loop ||
                  cluster.kind == ir::KernelKind::reduce;
  if (!hasLoops || !index || !cluster.covers(*index) ||
      cluster.numOperands() + cheap.leaves.size() > Cluster::kMaxOperands ||
      !llvm::all_of(cheap.ops, [&](Operation *part) {
        return cluster.mayTake(part, std::nullopt, /*asRoot=*/false);
      }))
    return false;
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (numberOf(user) == number && (!first || isBefore(user, first)))
      first = user;
  OpBuilder builder(first);
  IRMapping copies;
  for (Operation *part : llvm::reverse(cheap.ops)) {
    Operation *copy = builder.clone(*part, copies);
    positions[copy] = positions[first];
  }
  value.replaceUsesWithIf(copies.lookup(value), [&](OpOperand &use) {
    return numberOf(use.getOwner()) == number;
  });
  for (Operation *part : cheap.ops) {
    Operation *copy = copies.lookup(part->getResult(0)).getDefiningOp();
    join(copy, cluster.indexOf(copy->getResult(0)), number, /*asRoot=*/false);
  }
  return true;
}

/// Keeps `root` no longer. Members that only it needs are erased.
void Clustering::dropRoot(Value root, unsigned number) {
  Cluster &cluster = clusters[number];
  cluster.roots.erase(root);
  SmallVector<Operation *> work{root.getDefiningOp()};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!op->use_empty() || !cluster.ops.contains(op) ||
        cluster.roots.count(op->getResult(0)))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && !llvm::is_contained(work, def))
        work.push_back(def);
    cluster.ops.remove(op);
    cluster.indices.erase(op->getResult(0));
    clusterOf.erase(op);
    positions.erase(op);
    op->erase();
  }
}

void Clustering::copyCheapValues() {
  for (unsigned number = 0; number < clusters.size(); ++number) {
    SmallVector<Value> roots;
    for (auto &[root, index] : clusters[number].roots)
      roots.push_back(root);
    for (Value root : roots) {
      if (clusters[number].roots.size() == 1)
        break;
      std::optional<CheapValue> cheap = asCheap(root);
      if (!cheap || !llvm::all_of(cheap->leaves, [&](Value leaf) {
            return isAvailable(leaf);
          }))
        continue;
      llvm::SmallSetVector<unsigned, 4> readers;
      for (Operation *user : root.getUsers())
        if (unsigned reader = numberOf(user);
            reader != kNone && reader != number)
          readers.insert(reader);
      for (unsigned reader : readers)
        copyInto(root.getDefiningOp(), reader);
      if (llvm::all_of(root.getUsers(), [&](Operation *user) {
            return numberOf(user) == number;
          }))
        dropRoot(root, number);
    }
  }
}

} // namespace sinter::passes
