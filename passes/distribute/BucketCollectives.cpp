//===- BucketCollectives.cpp - merge all_reduces into messages ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Merges all_reduces into ones with several operands, about as large as the
// option says; each is one message. The level of an all_reduce is the number of
// all_reduces on the longest path that leads to it. Merging is legal within a
// level, since none there depends on another. The plan phase decides when a
// message is sent and where it is waited for.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/Passes.h"

#include "ir/Dialect.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "passes/Passes.h.inc"

namespace {

struct Bucket {
  SmallVector<ir::AllReduceOp> members;
  int64_t bytes = 0;
};

class BucketCollectives
    : public impl::BucketCollectivesBase<BucketCollectives> {
public:
  using BucketCollectivesBase::BucketCollectivesBase;

  void runOnOperation() override {
    Block &body = getOperation().getBody().front();
    number(body);
    // By level, replicas and element type; each in the order in which operands
    // are computed.
    using Kind = std::tuple<unsigned, int64_t, std::string>;
    std::map<Kind, std::vector<Bucket>> buckets;
    SmallVector<ir::AllReduceOp> ops(body.getOps<ir::AllReduceOp>());
    llvm::stable_sort(ops, [&](ir::AllReduceOp a, ir::AllReduceOp b) {
      return knownAt(a) < knownAt(b);
    });
    for (ir::AllReduceOp op : ops) {
      if (!hasOneType(op))
        continue;
      std::string type;
      llvm::raw_string_ostream(type)
          << getElementTypeOrSelf(op.getInputs()[0].getType());
      auto &list = buckets[{levels[op], op.getReplicas(), type}];
      if (list.empty() || list.back().bytes >= bucketBytes)
        list.emplace_back();
      list.back().members.push_back(op);
      for (Value input : op.getInputs())
        list.back().bytes += bytesOf(input);
    }
    int64_t messages = 0;
    for (auto &[kind, list] : buckets)
      for (Bucket &bucket : list) {
        join(bucket);
        ++messages;
      }
    if (messages == 0)
      return;
    // Users of the first results of a bucket may come before its last operand.
    sortTopologically(&body);
    ir::remark("bucket-collectives", "bucketed", getOperation().getLoc(),
               Twine(ops.size()) + " all_reduces in " + Twine(messages) +
                   " messages",
               messages);
  }

private:
  static bool hasOneType(ir::AllReduceOp op) {
    return llvm::all_equal(llvm::map_range(op.getInputs(), [](Value value) {
      return getElementTypeOrSelf(value.getType());
    }));
  }
  static int64_t bytesOf(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() * ir::elementSizeBytes(type.getElementType());
  }

  /// Computes positions and levels, from the first op on.
  void number(Block &body) {
    positions.clear();
    levels.clear();
    unsigned position = 0;
    for (Operation &op : body) {
      positions[&op] = ++position;
      unsigned level = 0;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *def = operand.getDefiningOp();
              def && def->getBlock() == &body)
            level =
                std::max(level, levels.lookup(def) + isa<ir::AllReduceOp>(def));
      });
      levels[&op] = level;
    }
  }
  /// The position of the op that computes the last operand.
  unsigned knownAt(ir::AllReduceOp op) const {
    unsigned at = 0;
    for (Value input : op.getInputs())
      if (Operation *def = input.getDefiningOp())
        at = std::max(at, positions.lookup(def));
    return at;
  }

  /// Pattern: all_reduce(a), all_reduce(b) -> all_reduce(a, b)
  void join(Bucket &bucket) {
    if (bucket.members.size() < 2)
      return;
    SmallVector<Value> inputs;
    SmallVector<Location> locations;
    ir::AllReduceOp last = bucket.members.front();
    for (ir::AllReduceOp member : bucket.members) {
      llvm::append_range(inputs, member.getInputs());
      locations.push_back(member.getLoc());
      if (positions.lookup(last) < positions.lookup(member))
        last = member;
    }
    OpBuilder builder(last);
    auto joined = builder.create<ir::AllReduceOp>(
        FusedLoc::get(builder.getContext(), locations), inputs,
        last.getReplicasAttr());
    unsigned next = 0;
    for (ir::AllReduceOp member : bucket.members) {
      member->replaceAllUsesWith(
          joined.getOutputs().slice(next, member->getNumResults()));
      next += member->getNumResults();
      member.erase();
    }
  }

  llvm::DenseMap<Operation *, unsigned> positions, levels;
};

} // namespace
} // namespace sinter::passes
