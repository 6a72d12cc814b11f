//===- BucketCollectives.cpp - merge collectives into messages ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Merges collectives of one kind into ones with several operands, about as
// large as the options say; each is one message. Messages are filled from the
// last collective on. The last one is small, since nothing is left to compute
// while it travels. The first one is what remains, so it may leave early.
//
// The level of a collective is the number of collectives on the longest path
// that leads to it. Merging is legal within a level, since none there depends
// on another. The plan phase decides when a message is sent and where it is
// waited for.
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

using Members = SmallVector<ir::CollectiveOpInterface>;

class BucketCollectives
    : public impl::BucketCollectivesBase<BucketCollectives> {
public:
  using BucketCollectivesBase::BucketCollectivesBase;

  void runOnOperation() override {
    Block &body = getOperation().getBody().front();
    number(body);
    // By level, op, axis, replicas and element type; each in the order in which
    // operands are computed.
    using Kind =
        std::tuple<unsigned, StringRef, ir::MeshAxis, uint64_t, std::string>;
    std::map<Kind, Members> kinds;
    Members ops(body.getOps<ir::CollectiveOpInterface>());
    llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
      return knownAt(a) < knownAt(b);
    });
    for (ir::CollectiveOpInterface op : ops) {
      if (!hasOneType(op))
        continue;
      std::string type;
      llvm::raw_string_ostream(type)
          << getElementTypeOrSelf(op.getInputs()[0].getType());
      kinds[{levels[op], op->getName().getStringRef(), op.getAxis(),
             op.getReplicas(), type}]
          .push_back(op);
    }
    int64_t messages = 0;
    for (auto &[kind, members] : kinds)
      for (ArrayRef<ir::CollectiveOpInterface> rest = members; !rest.empty();
           ++messages) {
        const size_t first = lastMessage(
            rest, rest.size() == members.size() ? lastBytes : bucketBytes);
        join(rest.drop_front(first));
        rest = rest.take_front(first);
      }
    if (messages == 0)
      return;
    // Users of the first results of a message may come before its last operand.
    sortTopologically(&body);
    ir::remark("bucket-collectives", "bucketed", getOperation().getLoc(),
               Twine(ops.size()) + " collectives in " + Twine(messages) +
                   " messages",
               messages);
  }

private:
  static bool hasOneType(ir::CollectiveOpInterface op) {
    return llvm::all_equal(llvm::map_range(op.getInputs(), [](Value value) {
      return getElementTypeOrSelf(value.getType());
    }));
  }
  static int64_t bytesOf(ir::CollectiveOpInterface op) {
    int64_t bytes = 0;
    for (auto [input, output] :
         llvm::zip_equal(op.getInputs(), op.getOutputs()))
      bytes += std::max(bytesOf(input), bytesOf(output));
    return bytes;
  }
  static int64_t bytesOf(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() * ir::elementSizeBytes(type.getElementType());
  }

  /// Where the last message of `bytes` begins, or of more by one collective.
  static size_t lastMessage(ArrayRef<ir::CollectiveOpInterface> members,
                            int64_t bytes) {
    size_t first = members.size();
    while (first > 0 && bytes > 0)
      bytes -= bytesOf(members[--first]);
    return first;
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
            level = std::max(level, levels.lookup(def) +
                                        isa<ir::CollectiveOpInterface>(def));
      });
      levels[&op] = level;
    }
  }
  /// The position of the op that computes the last operand.
  unsigned knownAt(Operation *op) const {
    unsigned at = 0;
    for (Value input : op->getOperands())
      if (Operation *def = input.getDefiningOp())
        at = std::max(at, positions.lookup(def));
    return at;
  }

  /// Pattern: all_reduce(a), all_reduce(b) -> all_reduce(a, b)
  void join(ArrayRef<ir::CollectiveOpInterface> members) {
    if (members.size() < 2)
      return;
    SmallVector<Value> inputs;
    SmallVector<Type> types;
    SmallVector<Location> locations;
    Operation *last = members.front();
    for (ir::CollectiveOpInterface member : members) {
      llvm::append_range(inputs, member.getInputs());
      llvm::append_range(types, member->getResultTypes());
      locations.push_back(member.getLoc());
      if (positions.lookup(last) < positions.lookup(member))
        last = member;
    }
    OpBuilder builder(last);
    Operation *joined = builder.create(
        FusedLoc::get(builder.getContext(), locations),
        last->getName().getIdentifier(), inputs, types, last->getAttrs());
    unsigned next = 0;
    for (ir::CollectiveOpInterface member : members) {
      member->replaceAllUsesWith(
          joined->getResults().slice(next, member->getNumResults()));
      next += member->getNumResults();
      member.erase();
    }
  }

  llvm::DenseMap<Operation *, unsigned> positions, levels;
};

} // namespace
} // namespace sinter::passes
