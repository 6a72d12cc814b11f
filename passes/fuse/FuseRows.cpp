//===- FuseRows.cpp - attention with one query as one kernel --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Attention with one query consists of a product of a vector for the scores of
// each head, the softmax of that row, and a product of the probabilities. Each
// needs only its own row of the one before. So one kernel (kind rows) computes
// all three, with a block for each row, which keeps the scores and
// probabilities in its shared memory. SplitAttention has made the rows so short
// that there are enough of them.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/FuseRows.h"
#include "ir/Kernel.h"
#include "ir/Remarks.h"
#include "passes/MatmulForm.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/PersistentKernel.h"
#include "passes/fuse/SplitContractions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEROWS
#include "passes/Passes.h.inc"

namespace {

/// A block's shared memory for what only it reads.
constexpr int64_t kMostKeptBytes = 32 << 10;
/// With fewer rows, most of a GPU is idle: then a row must be short.
constexpr int64_t kFewRows = 64, kShortRow = 1 << 15;

/// True when `value`, at `index` over the loops of `domain`, is dense and
/// row-major over the kept loops and then the reduced ones.
bool isInRows(RankedTensorType type, ArrayRef<ir::Index> index,
              const ir::Domain &domain) {
  ir::Index linear = ir::Index::fixed(0);
  for (auto [i, stride] :
       llvm::zip_equal(index, ir::rowMajorStrides(type.getShape())))
    linear = linear + i.scaled(stride);
  if (linear.constant != 0)
    return false;
  SmallVector<unsigned> loops;
  for (bool isReduced : {false, true})
    for (unsigned loop = 0; loop < domain.sizes.size(); ++loop)
      if (domain.isReduced(loop) == isReduced && domain.sizes[loop] != 1)
        loops.push_back(loop);
  int64_t stride = 1;
  for (unsigned loop : llvm::reverse(loops)) {
    if (linear.coefficient(loop) != stride)
      return false;
    stride *= domain.sizes[loop];
  }
  return stride == type.getNumElements();
}

/// The product of vectors in `kernel`; null if there is none.
ir::DotGeneralOp vectorProduct(ir::KernelOp kernel) {
  if (!kernel || kernel.getKind() != ir::KernelKind::matmul)
    return nullptr;
  for (auto dot : kernel.getBody().front().getOps<ir::DotGeneralOp>())
    return isOfVector(dot) ? dot : nullptr;
  return nullptr;
}

/// The only user of `value` after aliases that have one user each; appends
/// these to `aliases`. Null if there are several.
Operation *onlyUser(Value value, SmallVectorImpl<Operation *> &aliases) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (!user->hasTrait<ir::Alias>())
      return user;
    aliases.push_back(user);
    value = user->getResult(0);
  }
  return nullptr;
}

int64_t bytesOf(Value value) {
  RankedTensorType type = ir::tensorType(value);
  return type.getNumElements() * ir::elementSizeBytes(type.getElementType());
}

/// The three kernels of an attention, and the aliases between them.
class Chain {
public:
  explicit Chain(ir::KernelOp reduction) : reduction(reduction) {}

  /// Whether they can be one kernel.
  bool find() {
    domain = ir::Domain(reduction.getDomainAttr());
    Block &body = reduction.getBody().front();
    rows = 1;
    rowSize = 1;
    for (auto [loop, size] : llvm::enumerate(domain.sizes))
      (domain.isReduced(loop) ? rowSize : rows) *= size;
    return rows > 0 && rowSize > 1 && body.getOps<ir::ArgReduceOp>().empty() &&
           findScores(body) && findOutput(body) && isWorthIt() &&
           findFollowers();
  }

  void build() {
    SmallVector<Operation *> members = {scores};
    llvm::append_range(members, scoreAliases);
    members.push_back(reduction);
    llvm::append_range(members, rowAliases);
    members.push_back(output);
    SmallVector<Value> results;
    for (Value result : reduction.getOutputs())
      if (result != probabilities)
        results.push_back(result);
    llvm::append_range(results, output.getOutputs());
    Operation *last = output;
    for (Operation *follower : followers) {
      follower->moveAfter(last);
      last = follower;
    }
    OpBuilder builder(output);
    buildKernel(builder, ir::KernelKind::rows, members, results);
    for (Operation *member : llvm::reverse(members))
      member->erase();
  }

private:
  /// The product whose result the reduction reads, and nothing else does.
  bool findScores(Block &body) {
    auto indices = domain.trace(body);
    for (auto [input, argument] :
         llvm::zip_equal(reduction.getInputs(), body.getArguments())) {
      auto kernel = withoutAliases(input).getDefiningOp<ir::KernelOp>();
      ir::DotGeneralOp dot = vectorProduct(kernel);
      if (!dot || kernel->getNumResults() != 1)
        continue;
      scoreAliases.clear();
      auto index = indices.find(argument);
      Value result = kernel.getBody().front().getTerminator()->getOperand(0);
      if (onlyUser(kernel.getOutputs()[0], scoreAliases) != reduction ||
          index == indices.end() ||
          !isInRows(ir::tensorType(argument), index->second, domain) ||
          result.getDefiningOp<ir::TransposeOp>())
        continue;
      std::optional<MatmulForm> form =
          matmulForm(dot, ViewDepth::loops, ViewDepth::loops);
      if (!form || !isDense(form->batch, form->cStrides, form->m * form->n) ||
          form->m * form->n % rowSize != 0)
        continue;
      scores = kernel;
      return true;
    }
    return false;
  }

  /// The product that reads the rows that the reduction computes.
  bool findOutput(Block &body) {
    for (auto [number, result] : llvm::enumerate(reduction.getOutputs())) {
      rowAliases.clear();
      auto kernel =
          dyn_cast_or_null<ir::KernelOp>(onlyUser(result, rowAliases));
      ir::DotGeneralOp dot = vectorProduct(kernel);
      if (!dot ||
          !isInRows(ir::tensorType(result), domain.views[number], domain))
        continue;
      std::optional<MatmulForm> form =
          matmulForm(dot, ViewDepth::loops, ViewDepth::loops);
      if (!form)
        continue;
      bool isFirst = form->m == 1;
      auto argument = dyn_cast<BlockArgument>(isFirst ? form->a : form->b);
      ArrayRef<int64_t> strides = isFirst ? form->aStrides : form->bStrides;
      int64_t stride = strides.end()[isFirst ? -1 : -2];
      Value vector =
          argument ? kernel.getInputs()[argument.getArgNumber()] : Value();
      if (!vector || withoutAliases(vector) != result ||
          (isFirst ? form->aOffset : form->bOffset) != 0 || stride != 1 ||
          form->k != rowSize || !isDense(form->batch, strides, form->k) ||
          productOf(form->batch) != rows)
        continue;
      output = kernel;
      probabilities = result;
      return true;
    }
    return false;
  }

  /// Whether the products of `batch` are `size` elements apart, in order.
  static bool isDense(ArrayRef<int64_t> batch, ArrayRef<int64_t> strides,
                      int64_t size) {
    for (size_t i = batch.size(); i-- > 0;) {
      if (strides[i] != size)
        return false;
      size *= batch[i];
    }
    return true;
  }

  static int64_t productOf(ArrayRef<int64_t> sizes) {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }

  bool isWorthIt() {
    int64_t kept = bytesOf(scores.getOutputs()[0]) + bytesOf(probabilities);
    int64_t elements =
        std::max(elementsRead(scores), elementsRead(output)) / rows;
    return kept / rows <= kMostKeptBytes &&
           (rows >= kFewRows || elements <= kShortRow);
  }

  /// Finds the ops that must move behind the kernel, which takes the place of
  /// its last part. Fails if a part needs one of them.
  bool findFollowers() {
    llvm::DenseSet<Operation *> own = {scores, reduction, output};
    own.insert(scoreAliases.begin(), scoreAliases.end());
    own.insert(rowAliases.begin(), rowAliases.end());
    llvm::DenseSet<Operation *> late = {reduction};
    for (Operation *op = reduction->getNextNode(); op != output;
         op = op->getNextNode()) {
      if (own.contains(op) || llvm::none_of(op->getOperands(), [&](Value v) {
            return late.contains(v.getDefiningOp());
          }))
        continue;
      late.insert(op);
      followers.push_back(op);
    }
    late.erase(reduction);
    return llvm::none_of(output->getOperands(), [&](Value v) {
      return late.contains(v.getDefiningOp());
    });
  }

  ir::KernelOp scores, reduction, output;
  SmallVector<Operation *> scoreAliases, rowAliases, followers;
  Value probabilities;
  ir::Domain domain;
  int64_t rows = 1, rowSize = 1;
};

struct FuseRowsPass : impl::FuseRowsBase<FuseRowsPass> {
  FuseRowsPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices) {}

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Target *target = targetOf(function, devices, mainTarget);
    if (!target || !target->traits().hasExpensiveLaunches ||
        function->hasAttr(kPersistentAttr))
      return;
    int64_t fused = 0;
    SmallVector<ir::KernelOp> reductions;
    for (auto kernel : function.getBody().front().getOps<ir::KernelOp>())
      if (kernel.getKind() == ir::KernelKind::reduce)
        reductions.push_back(kernel);
    for (ir::KernelOp kernel : reductions) {
      Chain chain(kernel);
      if (!chain.find())
        continue;
      chain.build();
      ++fused;
    }
    if (fused)
      ir::remark("fuse-rows", "fused", function.getLoc(), "", fused);
  }

private:
  const Target *mainTarget;
  SmallVector<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createFuseRows(const Target *target,
                                     ArrayRef<ProgramDevice> devices) {
  return std::make_unique<FuseRowsPass>(target, devices);
}

} // namespace sinter::passes
