//===- FusePersistent.cpp - one kernel of all kernels of a function -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A kernel's stage is the one after the last of those whose results it reads.
// The new value of a state takes the place of the old one only if nothing reads
// the old one in the same stage or later, so such readers count as well.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Remarks.h"
#include "passes/Failure.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/PersistentKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEPERSISTENT
#include "passes/Passes.h.inc"

namespace {

/// The kernels of a function, and which must come before which.
class StageGraph {
public:
  explicit StageGraph(ArrayRef<ir::KernelOp> kernels)
      : kernels(kernels), sources(kernels.size()),
        needed(kernels.size(), llvm::BitVector(kernels.size())) {
    for (auto [number, kernel] : llvm::enumerate(kernels))
      numbers[kernel] = static_cast<unsigned>(number);
    for (auto [number, kernel] : llvm::enumerate(kernels))
      for (Value input : kernel->getOperands())
        if (std::optional<unsigned> source = sourceOf(input)) {
          needed[number] |= needed[*source];
          needed[number].set(*source);
          sources[number].push_back(*source);
        }
  }

  /// Lets the kernel that computes a new state come after those that read the
  /// old one, unless one of them needs the new one.
  void orderStates(func::FuncOp function) {
    llvm::DenseMap<Attribute, SmallVector<unsigned>> readers;
    for (auto [number, kernel] : llvm::enumerate(kernels))
      for (Value input : kernel->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(withoutAliases(input)))
          if (Attribute state = function.getArgAttr(
                  argument.getArgNumber(), ir::SinterDialect::kStateAttr))
            readers[state].push_back(static_cast<unsigned>(number));
    Operation *end = function.getBody().front().getTerminator();
    for (OpOperand &use : end->getOpOperands()) {
      Attribute state = function.getResultAttr(use.getOperandNumber(),
                                               ir::SinterDialect::kStateAttr);
      std::optional<unsigned> writer = sourceOf(use.get());
      if (!state || !writer)
        continue;
      for (unsigned reader : readers.lookup(state))
        addOrder(reader, *writer);
    }
  }

  /// The kernels of each stage.
  std::vector<KernelRun> stages() {
    std::vector<KernelRun> stages;
    llvm::DenseMap<unsigned, unsigned> known;
    for (auto [number, kernel] : llvm::enumerate(kernels)) {
      unsigned stage = stageOf(static_cast<unsigned>(number), known);
      if (stages.size() <= stage)
        stages.resize(stage + 1);
      stages[stage].push_back(kernel);
    }
    return stages;
  }

private:
  std::optional<unsigned> sourceOf(Value value) const {
    auto kernel = withoutAliases(value).getDefiningOp<ir::KernelOp>();
    auto found = kernel ? numbers.find(kernel) : numbers.end();
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }

  void addOrder(unsigned before, unsigned after) {
    if (before == after || needed[before].test(after))
      return;
    sources[after].push_back(before);
    llvm::BitVector own = needed[before];
    own.set(before);
    for (unsigned other = 0; other < kernels.size(); ++other)
      if (other == after || needed[other].test(after))
        needed[other] |= own;
  }

  unsigned stageOf(unsigned number,
                   llvm::DenseMap<unsigned, unsigned> &known) const {
    if (auto found = known.find(number); found != known.end())
      return found->second;
    unsigned stage = 0;
    for (unsigned source : sources[number])
      stage = std::max(stage, stageOf(source, known) + 1);
    return known[number] = stage;
  }

  ArrayRef<ir::KernelOp> kernels;
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<SmallVector<unsigned>> sources;
  std::vector<llvm::BitVector> needed; // directly and indirectly
};

/// Replaces `kernel` by its parts and stages, down to the last. Appends them in
/// order.
void unpackAll(ir::KernelOp kernel, SmallVectorImpl<ir::KernelOp> &parts) {
  for (ir::KernelKind kind : {ir::KernelKind::staged, ir::KernelKind::multi}) {
    if (kernel.getKind() != kind)
      continue;
    SmallVector<Operation *> unpacked;
    unpackKernel(kernel, kind, unpacked);
    for (Operation *part : unpacked)
      unpackAll(cast<ir::KernelOp>(part), parts);
    return;
  }
  parts.push_back(kernel);
}

class OneKernel {
public:
  explicit OneKernel(func::FuncOp function)
      : function(function), body(function.getBody().front()),
        builder(body.getTerminator()) {}

  /// Why the function cannot be one kernel; "" if it can.
  std::string obstacle() {
    llvm::DenseSet<Value> buffers;
    for (Operation &op : body) {
      if (isa<ir::LibraryCallOp>(op))
        return "calls a library";
      if (!isa<ir::KernelOp>(op))
        continue;
      buffers.insert(op.operand_begin(), op.operand_end());
      buffers.insert(op.result_begin(), op.result_end());
    }
    return buffers.size() > kMostBuffers ? "has more buffers than a kernel"
                                         : "";
  }

  /// Returns the number of stages; less than 2 if there is nothing to do.
  size_t build() {
    dropAfters();
    SmallVector<ir::KernelOp> kernels;
    for (auto kernel : llvm::make_early_inc_range(body.getOps<ir::KernelOp>()))
      unpackAll(kernel, kernels);
    StageGraph graph(kernels);
    graph.orderStates(function);
    std::vector<KernelRun> stages = graph.stages();
    if (kernels.size() < 2)
      return kernels.size();
    if (stages.size() == 1) {
      moveAfter(cast<ir::KernelOp>(mergeParts(kernels)));
      return 1;
    }
    SmallVector<Operation *> members;
    SmallVector<Value> results;
    for (const KernelRun &stage : stages)
      add(stage, members, results);
    builder.setInsertionPoint(body.getTerminator());
    ir::KernelOp kernel =
        buildKernel(builder, ir::KernelKind::persistent, members, results);
    for (Operation *member : llvm::reverse(members))
      member->erase();
    moveAfter(kernel);
    return stages.size();
  }

private:
  /// What waits for memory to become free would wait for the kernel itself.
  void dropAfters() {
    for (auto after : llvm::make_early_inc_range(body.getOps<ir::AfterOp>())) {
      after.replaceAllUsesWith(after->getOperand(0));
      after.erase();
    }
  }

  /// Moves the kernels of a stage to the end of the function, as one, with the
  /// aliases that they read.
  void add(const KernelRun &stage, SmallVectorImpl<Operation *> &members,
           SmallVectorImpl<Value> &results) {
    llvm::DenseMap<Value, Value> aliases; // and their copies
    for (ir::KernelOp kernel : stage) {
      kernel->moveBefore(body.getTerminator());
      for (OpOperand &input : kernel->getOpOperands())
        input.set(copyAlias(input.get(), kernel, aliases, members));
    }
    Operation *one = stage.front();
    if (stage.size() > 1)
      one = mergeParts(stage);
    members.push_back(one);
    llvm::append_range(results, one->getResults());
  }

  Operation *mergeParts(ArrayRef<ir::KernelOp> stage) {
    builder.setInsertionPoint(body.getTerminator());
    SmallVector<Operation *> parts(stage.begin(), stage.end());
    SmallVector<Value> values;
    for (Operation *part : parts)
      llvm::append_range(values, part->getResults());
    Operation *merged =
        buildKernel(builder, ir::KernelKind::multi, parts, values);
    for (Operation *part : llvm::reverse(parts))
      part->erase();
    return merged;
  }

  /// If `value` is an alias of a kernel's result, its copy among `members`.
  Value copyAlias(Value value, ir::KernelOp before,
                  llvm::DenseMap<Value, Value> &copies,
                  SmallVectorImpl<Operation *> &members) {
    Operation *alias = value.getDefiningOp();
    if (!alias || !alias->hasTrait<ir::Alias>() ||
        !withoutAliases(value).getDefiningOp<ir::KernelOp>())
      return value;
    if (Value copy = copies.lookup(value))
      return copy;
    Value source = copyAlias(alias->getOperand(0), before, copies, members);
    builder.setInsertionPoint(before);
    IRMapping mapping;
    mapping.map(alias->getOperand(0), source);
    Operation *copy = builder.clone(*alias, mapping);
    members.push_back(copy);
    return copies[value] = copy->getResult(0);
  }

  /// Moves what reads results of `kernel` behind it, and erases aliases that
  /// only kernels read.
  void moveAfter(ir::KernelOp kernel) {
    SmallVector<Operation *> aliases;
    for (Operation &op : body)
      if (op.hasTrait<ir::Alias>() &&
          withoutAliases(op.getResult(0)).getDefiningOp() == kernel)
        aliases.push_back(&op);
    for (Operation *alias : aliases)
      alias->moveBefore(body.getTerminator());
    for (Operation *alias : llvm::reverse(aliases))
      if (alias->use_empty())
        alias->erase();
  }

  func::FuncOp function;
  Block &body;
  OpBuilder builder;
};

struct FusePersistentPass : impl::FusePersistentBase<FusePersistentPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto mode = function->getAttrOfType<StringAttr>(kPersistentAttr);
    if (!mode)
      return;
    function->removeAttr(kPersistentAttr);
    OneKernel kernel(function);
    if (std::string obstacle = kernel.obstacle(); obstacle.empty()) {
      ir::remark("fuse-persistent", "stages", function.getLoc(), "",
                 static_cast<int64_t>(kernel.build()));
    } else if (mode == "on") {
      emitError(locationOfGraph(function))
          << "--persistent-kernel=on: @" << function.getSymName() << ' '
          << obstacle;
      signalPassFailure();
    } else {
      ir::remark("fuse-persistent", "not-one-kernel", function.getLoc(),
                 obstacle);
    }
  }
};

} // namespace
} // namespace sinter::passes
