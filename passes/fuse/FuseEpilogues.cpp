//===- FuseEpilogues.cpp - contractions and their epilogues ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Wraps every contraction and convolution. A library call becomes a
// `sinter.library_call` of kind matmul or conv, with the ops that the library
// applies to a float32 result before storing it and the values that it keeps
// (fuse/LibraryEpilogue.h). If the target generates the contraction, it becomes
// a `sinter.kernel` with a domain, with any elementwise ops (fuse/Epilogue.h).
// A matrix product also includes the transposes, slices and reshapes of its
// operands and of its result that its strides can express. All other ops are
// left to FuseLoops.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/FuseEpilogues.h"
#include "ir/Build.h"
#include "ir/Kernel.h"
#include "ir/Remarks.h"
#include "ir/exec/Exec.h"
#include "passes/CodedWeights.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/QuantizedPostOps.h"
#include "passes/fuse/ActivationGradients.h"
#include "passes/fuse/ChooseCalls.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/LibraryEpilogue.h"
#include "passes/place/DecomposeComposites.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "passes/Passes.h.inc"

namespace {

/// The transpose of `last`, the result of `dot` after its post-ops, if that is
/// the only use and the result can be stored transposed. A generated kernel may
/// store along m or n.
ir::TransposeOp resultTranspose(ir::DotGeneralOp dot, Value last,
                                OperandViews views, bool isGenerated) {
  if (!last.hasOneUse())
    return nullptr;
  auto transpose = dyn_cast<ir::TransposeOp>(*last.user_begin());
  if (!transpose)
    return nullptr;
  SmallVector<int64_t> dense =
                           ir::rowMajorStrides(transpose.getType().getShape()),
                       strides(dense.size());
  for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
    strides[dim] = dense[i];
  std::optional<MatmulForm> form =
      matmulForm(dot, views.lhs, views.rhs, strides);
  if (!form)
    return nullptr;
  bool isStoredInRows =
      form->hasUnitStrides() || (isGenerated && form->cStrides.end()[-2] == 1);
  return isStoredInRows ? transpose : nullptr;
}

/// A domain with one loop per dimension of the `count` results.
ir::Domain resultDomain(RankedTensorType type, size_t count) {
  ir::Domain domain;
  ir::IndexVector view;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    domain.sizes.push_back(size);
    view.push_back(size == 1 ? ir::Index::fixed(0) : ir::Index::loop(dim));
  }
  domain.views.assign(count, view);
  return domain;
}

class FuseEpiloguesPass : public impl::FuseEpiloguesBase<FuseEpiloguesPass> {
public:
  FuseEpiloguesPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices.vec()) {}

  void runOnOperation() override {
    target = targetOf(getOperation(), devices, mainTarget);
    SmallVector<Operation *> contractions;
    for (Operation &op : getOperation().getBody().front())
      if (ir::isContraction(&op))
        contractions.push_back(&op);
    // Contractions are visited from the last to the first: of two that are
    // added, the earlier one then is the residual of the other.
    decompose(
        [&](ir::GeluGradOp grad) { return followsLibraryCall(grad, target); });
    LibraryEpilogues library(target);
    int64_t generated = 0;
    for (Operation *contraction : llvm::reverse(contractions))
      generated += fuse(contraction, library);
    decompose([](ir::GeluGradOp grad) {
      return isa<ir::FusionOpInterface>(grad->getParentOp());
    });
    if (generated)
      ir::remark("fuse-epilogues", "generated-contractions",
                 getOperation().getLoc(), "", generated);
  }

private:
  /// Decomposes the gradients of GELUs for which `keeps` is false.
  void decompose(llvm::function_ref<bool(ir::GeluGradOp)> keeps) {
    decomposeComposites(getOperation(), [&](Operation *op) {
      auto grad = dyn_cast<ir::GeluGradOp>(op);
      return !grad || keeps(grad);
    });
  }

  /// Wraps `contraction`. Returns true if the result is a generated kernel.
  bool fuse(Operation *contraction, LibraryEpilogues &library) {
    bool isGenerated =
        implementationOf(contraction, target) == Implementation::Generated;
    contraction->removeAttr(kGeneratedAttr);
    Epilogue epilogue =
        isGenerated ? generatedEpilogue(contraction) : library.of(contraction);
    SmallVector<Operation *> &members = epilogue.members;
    auto dot = dyn_cast<ir::DotGeneralOp>(contraction);
    // A convolution that cannot give float32 from 16-bit operands reads the
    // widened ones.
    bool readsNarrow =
        isGenerated || multipliesBytes(contraction) || !target ||
        target->traits().convolvesIntoFloat32 ||
        !ir::tensorType(epilogue.result).getElementType().isF32();
    if (dot)
      takeViews(dot, epilogue, isGenerated);
    else if (readsNarrow)
      takeBefore(operandCasts(contraction, isGenerated), epilogue);
    takePadding(contraction, epilogue, isGenerated);
    explain(epilogue);
    OpBuilder builder(members.back());
    SmallVector<Value> results = epilogue.results();
    if (isGenerated)
      buildKernel(builder, dot ? ir::KernelKind::matmul : ir::KernelKind::conv,
                  members, results,
                  resultDomain(ir::tensorType(epilogue.result), results.size())
                      .toAttr(builder.getContext()));
    else
      buildLibraryCall(builder,
                       dot ? ir::LibraryCallKind::matmul
                           : ir::LibraryCallKind::conv,
                       members, results);
    for (Operation *member : llvm::reverse(members))
      if (member->use_empty())
        member->erase();
    return isGenerated;
  }

  /// Reports why the ops that read the results are not part of the epilogue.
  void explain(const Epilogue &epilogue) {
    if (!ir::RemarkSink::takesDetails(&getContext()))
      return;
    Location location = FusedLoc::get(
        &getContext(), llvm::map_to_vector(epilogue.members, [](Operation *op) {
          return op->getLoc();
        }));
    llvm::SmallPtrSet<Operation *, 8> seen(epilogue.members.begin(),
                                           epilogue.members.end());
    // A cast or a view becomes a part of the kernels that read it.
    SmallVector<Value> read = epilogue.results();
    while (!read.empty())
      for (Operation *user : read.pop_back_val().getUsers()) {
        if (!seen.insert(user).second ||
            user->hasTrait<OpTrait::IsTerminator>())
          continue;
        ir::explain("fuse-epilogues", "not-fused", location, user->getLoc(),
                    epilogue.whyEnds);
        if (isa<ir::CastOp>(user) || user->hasTrait<ir::Alias>())
          read.append(user->result_begin(), user->result_end());
      }
  }

  /// The operands that the call or kernel of the contraction reads. Kernels
  /// multiply no 8-bit integers.
  static std::pair<Value, Value> factors(Operation *contraction,
                                         bool isGenerated) {
    if (isGenerated && widenedBytes(contraction->getOperand(0)))
      return {contraction->getOperand(0), contraction->getOperand(1)};
    return multiplied(contraction);
  }

  /// The casts that widen the operands of the contraction.
  static SmallVector<Operation *> operandCasts(Operation *contraction,
                                               bool isGenerated) {
    SmallVector<Operation *> casts;
    if (factors(contraction, isGenerated).first == contraction->getOperand(0))
      return casts;
    for (Value operand : contraction->getOperands())
      if (!llvm::is_contained(casts, operand.getDefiningOp()))
        casts.push_back(operand.getDefiningOp());
    return casts;
  }

  /// Adds what pads the input of 8-bit integers.
  static void takePadding(Operation *contraction, Epilogue &epilogue,
                          bool isGenerated) {
    std::optional<BytePadding> padding =
        !isGenerated && llvm::is_contained(epilogue.postOps,
                                           exec::PostOpKind::dequantize)
            ? paddingOf(contraction)
            : std::nullopt;
    if (!padding)
      return;
    Operation *value = padding->pad.getValue().getDefiningOp();
    takeBefore({value, padding->pad}, epilogue);
  }

  static void takeBefore(ArrayRef<Operation *> before, Epilogue &epilogue) {
    llvm::erase_if(epilogue.members, [&](Operation *op) {
      return llvm::is_contained(before, op);
    });
    epilogue.members.insert(epilogue.members.begin(), before.begin(),
                            before.end());
  }

  /// Adds to `epilogue`, which begins with `dot`, the views through which it
  /// reads and writes.
  static void takeViews(ir::DotGeneralOp dot, Epilogue &epilogue,
                        bool isGenerated) {
    OperandViews views = operandViews(
        dot, /*joinsColumns=*/epilogue.reads(SINTER_POST_EXTENT_COLUMN) ||
                 epilogue.reads(SINTER_POST_EXTENT_CHANNEL));
    // What a library call reads or keeps for each element must have the layout
    // of the result.
    bool isBesideOthers = epilogue.reads(SINTER_POST_EXTENT_RESULT) ||
                          epilogue.reads(SINTER_POST_EXTENT_CODES) ||
                          epilogue.reads(SINTER_POST_EXTENT_BITS) ||
                          !epilogue.kept.empty();
    if (!isBesideOthers)
      if (ir::TransposeOp transpose =
              resultTranspose(dot, epilogue.result, views, isGenerated)) {
        epilogue.members.push_back(transpose);
        epilogue.result = transpose.getResult();
      }
    llvm::SetVector<Operation *> before;
    auto [lhs, rhs] = factors(dot, isGenerated);
    auto take = [&](Value operand, ViewDepth depth) {
      StridedView view = viewOf(operand, depth);
      before.insert(view.ops.begin(), view.ops.end());
    };
    take(lhs, views.lhs);
    std::optional<CodedWeights> coded;
    if (!isGenerated)
      coded = codedWeights(rhs);
    if (coded)
      before.insert(coded->ops.begin(), coded->ops.end());
    else
      take(rhs, views.rhs);
    SmallVector<Operation *> casts = operandCasts(dot, isGenerated);
    before.insert(casts.begin(), casts.end());
    takeBefore(before.getArrayRef(), epilogue);
  }

  const Target *mainTarget; // if the program names no devices
  std::vector<ProgramDevice> devices;
  const Target *target = nullptr; // that of the function
};

} // namespace

std::unique_ptr<Pass> createFuseEpilogues(const Target *target,
                                          ArrayRef<ProgramDevice> devices) {
  return std::make_unique<FuseEpiloguesPass>(target, devices);
}

} // namespace sinter::passes
