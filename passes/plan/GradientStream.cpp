//===- GradientStream.cpp - gradients of weights on a stream --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// In the backward pass, the gradient of a layer's weight and the gradient of
// its input are independent. The next layer needs only the second, so the first
// can be computed beside the next layers.
//
// The trunk is what the chain of layers needs: all commands with a result that
// a contraction or attention multiplies later, directly or through other
// commands. What is added to a product, such as a bias or an earlier part of
// the same gradient, does not make a trunk. A contraction that is not in the
// trunk moves to the gradient stream if there is a contraction of the trunk
// that it does not depend on: the two may run at once. What reads results of
// moved commands moves, too, as long as it is not in the trunk: sums over
// replicas, norms, updates.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/GradientStream.h"

#include "passes/precision/PrecisionReport.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

bool multiplies(Operation *op) {
  return ir::isContraction(op) || isa<ir::AttentionOp, ir::AttentionGradOp>(op);
}

bool hasProducts(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return multiplies(inner) ? WalkResult::interrupt()
                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Which arguments of `body` are multiplied in it, or are used for a yielded
/// value that `results` names.
llvm::BitVector multipliedArguments(Block &body,
                                    const llvm::BitVector &results) {
  llvm::DenseSet<Value> marked;
  for (unsigned i : results.set_bits())
    marked.insert(body.getTerminator()->getOperand(i));
  auto markAll = [&](ValueRange values) {
    marked.insert(values.begin(), values.end());
  };
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    llvm::BitVector used(op.getNumResults());
    for (auto [number, result] : llvm::enumerate(op.getResults()))
      used[number] = marked.contains(result);
    if (isa<ir::FusionOpInterface>(op)) {
      llvm::BitVector inner =
          multipliedArguments(op.getRegion(0).front(), used);
      for (unsigned i : inner.set_bits())
        marked.insert(op.getOperand(i));
    } else if (used.any() || (op.getNumRegions() > 0 && hasProducts(&op)) ||
               isa<ir::AttentionOp, ir::AttentionGradOp>(op)) {
      markAll(op.getOperands());
    } else if (ir::isContraction(&op)) {
      markAll({op.getOperand(0), op.getOperand(1)});
    }
  }
  llvm::BitVector arguments(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    arguments[argument.getArgNumber()] = marked.contains(argument);
  return arguments;
}

class Mover {
public:
  Mover(CommandGraph &graph, const llvm::BitVector &hasStreams,
        double leastMultiplyAdds)
      : graph(graph), hasStreams(hasStreams),
        leastMultiplyAdds(leastMultiplyAdds) {}

  unsigned run() {
    findTrunk();
    unsigned moved = 0;
    std::vector<llvm::BitVector> earlier = productsBefore();
    for (unsigned number = 0; number < graph.commands.size(); ++number) {
      if (!mayMove(number))
        continue;
      bool isProduct = isGradientProduct(number, earlier[number]);
      if (!isProduct && !readsMoved(number))
        continue;
      move(number);
      graph.commands[number].isGradient = isProduct;
      moved += isProduct;
    }
    return moved;
  }

private:
  /// Fills `isMultiplied` (by buffer) and `isTrunk` (by command).
  void findTrunk() {
    isMultiplied.resize(graph.buffers.size());
    isTrunk.resize(graph.commands.size());
    for (unsigned number = graph.commands.size(); number-- > 0;) {
      const Command &command = graph.commands[number];
      llvm::BitVector results(command.writes.size());
      for (auto [i, write] : llvm::enumerate(command.writes))
        results[i] = isMultiplied[write];
      isTrunk[number] = results.any();
      if (ir::FusionOpInterface fusion = command.fusion) {
        llvm::BitVector inputs =
            multipliedArguments(fusion->getRegion(0).front(), results);
        for (unsigned i : inputs.set_bits())
          isMultiplied.set(command.reads[i]);
        continue;
      }
      // A scan stays on the compute stream, with what it needs.
      if (command.scan) {
        isTrunk.set(number);
        for (unsigned read : command.reads)
          isMultiplied.set(read);
        continue;
      }
      // A copy, or a sum over replicas.
      for (unsigned i : results.set_bits())
        if (i < command.reads.size())
          isMultiplied.set(command.reads[i]);
    }
  }

  /// For each command, the contractions of the trunk that it depends on.
  std::vector<llvm::BitVector> productsBefore() {
    std::vector<llvm::BitVector> result;
    for (unsigned number = 0; number < graph.commands.size(); ++number) {
      llvm::BitVector &products =
          result.emplace_back(unsigned(graph.commands.size()));
      for (unsigned other : graph.before[number]) {
        products |= result[other];
        if (isTrunkProduct(other))
          products.set(other);
      }
      numTrunkProducts += isTrunkProduct(number);
    }
    return result;
  }

  bool isTrunkProduct(unsigned number) const {
    ir::FusionOpInterface fusion = graph.commands[number].fusion;
    return isTrunk[number] && fusion && hasProducts(fusion);
  }

  /// The wait for a collective goes where the collective goes.
  bool mayMove(unsigned number) const {
    const Command &command = graph.commands[number];
    return !isTrunk[number] && !command.isAwait() &&
           command.place.stream == exec::kCompute &&
           hasStreams[command.place.place];
  }

  void move(unsigned number) {
    Command &command = graph.commands[number];
    command.place.stream = exec::kGradient;
    if (command.isCollective())
      graph.commands[command.await].place.stream = exec::kGradient;
  }

  bool isGradientProduct(unsigned number,
                         const llvm::BitVector &earlier) const {
    ir::FusionOpInterface fusion = graph.commands[number].fusion;
    if (!fusion || earlier.count() >= numTrunkProducts)
      return false;
    double multiplyAdds = 0;
    bool isProduct = false;
    fusion->walk([&](Operation *op) {
      if (!ir::isContraction(op))
        return;
      isProduct = true;
      multiplyAdds += countMultiplyAdds(op);
    });
    return isProduct && multiplyAdds >= leastMultiplyAdds;
  }

  bool readsMoved(unsigned number) const {
    const Command &command = graph.commands[number];
    return llvm::any_of(command.reads, [&](unsigned read) {
      unsigned writer = graph.buffers[read].writer;
      if (writer == kNoCommand || writer == number)
        return false;
      const exec::CommandPlace &place = graph.commands[writer].place;
      return place.stream == exec::kGradient &&
             place.place == command.place.place;
    });
  }

  CommandGraph &graph;
  const llvm::BitVector &hasStreams;
  double leastMultiplyAdds;
  llvm::BitVector isMultiplied, isTrunk;
  unsigned numTrunkProducts = 0;
};

} // namespace

unsigned useGradientStream(CommandGraph &graph,
                           const llvm::BitVector &hasStreams,
                           double leastMultiplyAdds) {
  return Mover(graph, hasStreams, leastMultiplyAdds).run();
}

} // namespace sinter::passes::plan
