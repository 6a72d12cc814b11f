//===- LibraryEpilogue.cpp - ops that a library call applies --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The epilogue of a library call is a chain of single-user ops that the library
// applies to a float32 result. Where the target's library can do that, it also
// has parts of training. A call keeps the operand of a GELU or the mask of a
// relu for the gradient. The gradient becomes part of the call whose result it
// is applied to. A sum over rows that is the gradient of a bias is computed by
// the call that has the rows. A result of 16-bit products may be rounded to
// their type when it is stored; all that is read or kept beside it, except
// bits, then has this type, too.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/LibraryEpilogue.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/QuantizedPostOps.h"
#include "passes/fuse/ActivationGradients.h"
#include "passes/fuse/ChannelSums.h"
#include "passes/fuse/EpilogueStep.h"
#include "passes/fuse/Fusion.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::passes {
namespace {

Operation *lastOf(ArrayRef<Operation *> members) {
  Operation *last = members.front();
  for (Operation *member : members)
    if (last->isBeforeInBlock(member))
      last = member;
  return last;
}

/// True when all users of `values` except `members` come after all `members`,
/// so that one op in the position of the last member can have these results. A
/// cast that widens one of `values` can be moved after it (see
/// moveWideningAfter).
bool usersComeAfter(ArrayRef<Operation *> members, ArrayRef<Value> values) {
  Operation *last = lastOf(members);
  return llvm::all_of(values, [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return llvm::is_contained(members, user) || last->isBeforeInBlock(user) ||
             (user->getNumResults() == 1 &&
              widened(user->getResult(0)) == value &&
              usersComeAfter(members, user->getResult(0)));
    });
  });
}

void moveWideningAfter(ArrayRef<Operation *> members, ArrayRef<Value> values) {
  Operation *last = lastOf(members);
  for (Value value : values)
    for (Operation *user : value.getUsers())
      if (!llvm::is_contained(members, user) && user->isBeforeInBlock(last))
        user->moveAfter(last);
}

} // namespace

bool isApplied(const Target *target, Operation *contraction,
               ArrayRef<PostOp> postOps, FloatType narrow) {
  auto dot = dyn_cast<ir::DotGeneralOp>(contraction);
  bool isBatched = dot && !dot.getLhsBatch().empty();
  bool isGeneral = llvm::all_of(postOps, [&](const PostOp &postOp) {
    sinter_post_scope scope = exec::traitsOf(postOp.kind).scope;
    return scope == SINTER_POST_SCOPE_ALL ||
           (target && scope == SINTER_POST_SCOPE_BYTES);
  });
  return postOps.size() <= exec::kMaxPostOps && (isGeneral || !isBatched) &&
         (target ? target->canFuseEpilogue(contraction, postOps, narrow)
                 : isGeneral);
}

//===----------------------------------------------------------------------===//
// One call
//===----------------------------------------------------------------------===//

class LibraryEpilogues::Growth {
public:
  Growth(LibraryEpilogues &all, Operation *contraction)
      : all(all), contraction(contraction), members{contraction},
        result(contraction->getResult(0)) {}

  Epilogue run() {
    if (multipliesBytes(contraction))
      return runQuantized();
    note();
    if (ir::tensorType(result).getElementType().isF32() &&
        !isa<ir::ConvFilterGradOp>(contraction)) {
      while (takeNext())
        note();
      takeOperandSum();
      note();
    }
    takeNarrowing();
    note();
    best.whyEnds = whyEnds();
    takeChannelSums();
    llvm::sort(best.members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    return best;
  }

private:
  /// The epilogue of 8-bit integers. It ends with int32, or with what follows
  /// dequantize. After codes are added, it ends with quantize.
  Epilogue runQuantized() {
    note();
    bool isFloat = false, needsQuantize = false;
    while (std::optional<QuantizedPostOp> next = matchQuantizedPostOp(
               result, contraction, /*makesVectors=*/true)) {
      if (!apply(next->postOp))
        break;
      for (Operation *member : next->members)
        if (!llvm::is_contained(members, member))
          members.push_back(member);
      result = next->result();
      isFloat |= next->postOp.kind == exec::PostOpKind::dequantize;
      const bool ends = next->postOp.kind == exec::PostOpKind::quantize;
      needsQuantize |= next->postOp.kind == exec::PostOpKind::fake_quantize ||
                       next->postOp.kind == exec::PostOpKind::add_codes;
      if (isFloat && (ends || !needsQuantize))
        note();
      if (ends)
        break;
    }
    best.whyEnds = "after products of 8-bit integers, libraries apply "
                   "dequantize, bias, relu, quantize and what is added to it "
                   "quantised";
    llvm::sort(best.members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    return best;
  }

  /// Appends `postOp` if the library can apply it after those before.
  bool apply(const PostOp &postOp) {
    postOps.push_back(postOp);
    if (isApplied(all.target, contraction, postOps))
      return true;
    postOps.pop_back();
    refused = postOp.kind;
    return false;
  }

  /// Epilogue::whyEnds of `best`.
  std::string whyEnds() const {
    if (best.result != result)
      return "what a call reads or keeps beside its result must have the type "
             "of the result";
    if (isa<ir::ConvFilterGradOp>(contraction))
      return "libraries store the gradient of a filter as it is";
    if (!ir::tensorType(contraction->getResult(0)).getElementType().isF32())
      return "libraries apply ops to float32 results only";
    if (refused)
      return std::string(all.target ? all.target->name() : "no target") +
             "'s library does not apply " +
             exec::stringifyPostOpKind(*refused).str() + " to this result";
    if (!result.hasOneUse())
      return "the result has " +
             std::to_string(
                 std::distance(result.use_begin(), result.use_end())) +
             " uses, and a call stores only what it has computed last";
    Operation *user = *result.user_begin();
    if (isa<ir::LibraryCallOp>(user))
      return "another library call reads the result";
    if (user->getNumResults() != 1 ||
        user->getResult(0).getType() != result.getType())
      return user->getName().stripDialect().str() +
             " has a result of another shape or type than the call, which "
             "stores as many elements as it computes";
    return user->getName().stripDialect().str() +
           " is no function of the result, or of it and a bias or a stored "
           "tensor, that libraries apply";
  }

  /// True when all that is read or kept beside the result has type `stored`.
  bool fits(Type stored) const {
    return llvm::all_of(besides, [&](Type type) { return type == stored; });
  }

  /// Records the current epilogue as the best one, if types fit.
  void note() {
    if (fits(ir::tensorType(result).getElementType()))
      best = {members, result, kept,
              llvm::map_to_vector(
                  postOps, [](const PostOp &postOp) { return postOp.kind; })};
  }

  /// The cast of `value` to the 16-bit type of the products, if it is the only
  /// use outside of the call; else null.
  ir::CastOp narrowing(Value value) const {
    ir::CastOp cast;
    for (Operation *user : value.getUsers()) {
      if (llvm::is_contained(members, user))
        continue;
      if (cast || !isNarrowing(user))
        return nullptr;
      cast = llvm::cast<ir::CastOp>(user);
    }
    return cast;
  }
  bool isNarrowing(Operation *op) const {
    auto cast = dyn_cast<ir::CastOp>(op);
    if (!cast || !cast.getX().getType().getElementType().isF32())
      return false;
    Type to = cast.getType().getElementType(),
         from = ir::tensorType(multiplied(contraction).first).getElementType();
    return to == from && (to.isF16() || to.isBF16());
  }

  bool takeNext() {
    if (std::optional<Gate> gate = matchGate(result)) {
      if (!apply({gate->kind, {}, {}}))
        return false;
      llvm::append_range(members, gate->members);
      result = gate->members.back()->getResult(0);
      return true;
    }
    if (!result.hasOneUse())
      return takeBiasSum() || takeKeptGelu();
    Operation *user = *result.user_begin();
    if (user->getNumResults() != 1 ||
        user->getResult(0).getType() != result.getType())
      return false;
    return takeReluWithMask(user) || takeGradient(user) || takeChain(user);
  }

  /// Appends `more` and continues with `next` as the result. False if users of
  /// a result would come before the call.
  bool append(ArrayRef<Operation *> more, Value next, Value keep = {}) {
    SmallVector<Operation *> grown(members);
    for (Operation *op : more)
      if (!llvm::is_contained(grown, op))
        grown.push_back(op);
    SmallVector<Value> values(kept);
    values.push_back(next);
    if (keep)
      values.push_back(keep);
    if (!usersComeAfter(grown, values))
      return false;
    moveWideningAfter(grown, values);
    members = std::move(grown);
    if (keep) {
      kept.push_back(keep);
      goesBeside(keep);
    }
    result = next;
    return true;
  }

  void goesBeside(Value value) {
    Type type = ir::tensorType(value).getElementType();
    if (!type.isInteger(1)) // bits
      besides.insert(type);
  }

  bool takeChain(Operation *user) {
    size_t before = members.size();
    if (!takeEpilogueStep(user, result, contraction, members))
      return false;
    std::optional<PostOp> postOp =
        matchPostOp(user, result, biasDims(contraction),
                    ir::rowMajorStrides(ir::tensorType(result).getShape()));
    SmallVector<Value> values(kept);
    values.push_back(user->getResult(0));
    if (!postOp || !usersComeAfter(members, values) || !apply(*postOp)) {
      members.truncate(before);
      return false;
    }
    moveWideningAfter(members, values);
    if (postOp->operand)
      goesBeside(postOp->operand);
    result = user->getResult(0);
    return true;
  }

  // Pattern: relu(x), and relu(x) > 0 for a gradient -> one call that keeps
  // bits
  bool takeReluWithMask(Operation *user) {
    if (!isa<ir::ReluOp>(user))
      return false;
    Value relu = user->getResult(0);
    for (Operation *mask : relu.getUsers()) {
      if (!all.masks.contains(mask))
        continue;
      if (!apply({exec::PostOpKind::relu_bits, {}, {}}))
        return false;
      return append({user, mask->getOperand(1).getDefiningOp(), mask}, relu,
                    mask->getResult(0)) ||
             unapply();
    }
    return false;
  }

  // Pattern: x, and gelu(x) -> one call that keeps x; rounded, if all other
  // users of x read it rounded
  bool takeKeptGelu() {
    ir::GeluOp gelu = keptGelu(result);
    if (!gelu)
      return false;
    postOps.push_back({exec::PostOpKind::store, {}, {}});
    if (!apply({exec::PostOpKind::gelu_tanh, {}, {}}))
      return unapply();
    Value x = result;
    SmallVector<Operation *> more{gelu};
    auto others = llvm::make_filter_range(
        result.getUsers(), [&](Operation *user) { return user != gelu; });
    if (llvm::hasSingleElement(others) && isNarrowing(*others.begin())) {
      more.push_back(*others.begin());
      x = more.back()->getResult(0);
    }
    if (append(more, gelu.getResult(), x))
      return true;
    postOps.pop_back();
    return unapply();
  }

  // Pattern: where(relu > 0, x, 0), or gelu_grad(x, ..) -> the last step of a
  // call
  bool takeGradient(Operation *user) {
    auto where = dyn_cast<ir::WhereOp>(user);
    if (!where && !isa<ir::GeluGradOp>(user))
      return false;
    std::optional<PostOp> postOp =
        matchPostOp(user, result, biasDims(contraction),
                    ir::rowMajorStrides(ir::tensorType(result).getShape()));
    if (!postOp || !apply(*postOp))
      return false;
    if (!where) {
      SmallVector<Operation *> more{user};
      takeWidening(cast<ir::GeluGradOp>(user).getX(), more);
      if (!append(more, user->getResult(0)))
        return unapply();
      goesBeside(postOp->operand);
      return true;
    }
    // The mask is rewritten last, when everything else is known to fit.
    auto zeros = where.getRhs().getDefiningOp<ir::ConstantOp>();
    SmallVector<Operation *> grown(members);
    grown.push_back(user);
    ir::CastOp narrow = narrowing(where.getResult());
    Type stored =
        ir::tensorType(narrow ? narrow.getResult() : where.getResult())
            .getElementType();
    if (!zeros || !usersComeAfter(grown, user->getResult(0)) ||
        !(fits(ir::tensorType(result).getElementType()) || fits(stored)) ||
        !all.keptMask(where, contraction))
      return unapply();
    return append({zeros, user}, user->getResult(0));
  }

  // Pattern: the gradient x of an activation, and its sum over rows -> one call
  bool takeBiasSum() {
    if (postOps.empty() ||
        (postOps.back().kind != exec::PostOpKind::relu_grad &&
         postOps.back().kind != exec::PostOpKind::gelu_tanh_grad) ||
        !isOneProduct())
      return false;
    for (Operation *user : result.getUsers())
      if (isBiasSum(user, result, contraction))
        return apply({exec::PostOpKind::bias_grad, {}, {}}) &&
               (append({user}, result, user->getResult(0)) || unapply());
    return false;
  }

  // Pattern: a product, and the sum of one operand over the contracted
  // dimensions -> one call. The sum is float32, and so is the result beside it.
  void takeOperandSum() {
    auto dot = dyn_cast<ir::DotGeneralOp>(contraction);
    if (!dot || !kept.empty() || narrowing(result) || !isOneProduct())
      return;
    for (Value operand : {dot.getLhs(), dot.getRhs()})
      for (Operation *user : readersOf(operand)) {
        std::optional<unsigned> summed = summedOperand(user, dot);
        if (!summed || user->getBlock() != dot->getBlock() ||
            !apply({*summed == 0 ? exec::PostOpKind::a_sum
                                 : exec::PostOpKind::b_sum,
                    {},
                    {}}))
          continue;
        if (append({user}, result, user->getResult(0))) {
          user->setOperand(0, operand);
          return;
        }
        unapply();
      }
  }

  // Pattern: a result, rounded to the type of the operands -> one call
  void takeNarrowing() {
    if (ir::CastOp cast = narrowing(result))
      append({cast}, cast.getResult());
  }

  // Pattern: y, a convolution's result, and the squares of a variance over its
  //   channels, sum((y - m)^2) -> one call that keeps sum(y) and sum(y^2), and
  //   max(sum(y^2) - sum(y) m, 0)
  void takeChannelSums() {
    auto conv = dyn_cast<ir::ConvOp>(contraction);
    if (!conv || !conv.getChannelsLast() || best.result != result ||
        !best.kept.empty())
      return;
    std::optional<SquaredDeviations> squares = channelDeviations(result);
    if (!squares)
      return;
    postOps.push_back({exec::PostOpKind::channel_sum, {}, {}});
    if (!apply({exec::PostOpKind::channel_squares, {}, {}}))
      return;
    ChannelSums sums = sumChannels(result, *squares);
    llvm::append_range(best.members, sums.ops);
    best.kept = {sums.sum, sums.sumOfSquares};
  }

  /// All ops that read `value`, also after it was widened a second time.
  static SmallVector<Operation *> readersOf(Value value) {
    SmallVector<Operation *> readers(value.getUsers());
    if (Value narrow = widened(value))
      for (Operation *cast : narrow.getUsers())
        if (cast != value.getDefiningOp() && cast->getNumResults() == 1 &&
            widened(cast->getResult(0)))
          llvm::append_range(readers, cast->getResult(0).getUsers());
    return readers;
  }

  /// True when the call has no batches, each of which would have its own sums.
  bool isOneProduct() const {
    auto dot = dyn_cast<ir::DotGeneralOp>(contraction);
    if (!dot)
      return false;
    OperandViews views = operandViews(dot);
    std::optional<MatmulForm> form = matmulForm(dot, views.lhs, views.rhs);
    return form && form->batch.empty();
  }

  bool unapply() {
    postOps.pop_back();
    return false;
  }

  LibraryEpilogues &all;
  Operation *contraction;
  SmallVector<Operation *> members;
  Value result;
  SmallVector<Value> kept;
  SmallVector<PostOp> postOps;
  /// The element types of values that are read or kept beside the result.
  llvm::SmallDenseSet<Type> besides;
  /// The post-op that the library refused last.
  std::optional<exec::PostOpKind> refused;
  /// The longest epilogue found that the library can apply.
  Epilogue best;
};

//===----------------------------------------------------------------------===//
// All calls
//===----------------------------------------------------------------------===//

Epilogue LibraryEpilogues::of(Operation *contraction) {
  return Growth(*this, contraction).run();
}

/// Makes `where`, which is applied to the result of the call of `backward`,
/// read a mask that the call of the relu keeps. Null if no call can keep it,
/// since the result of the relu has other lines or is computed elsewhere. The
/// mask is that of the relu as it is computed, even if its result is rounded
/// when stored.
Value LibraryEpilogues::keptMask(ir::WhereOp where, Operation *backward) {
  auto [compare, relu, forward] = findMaskedRelu(where, backward, target);
  if (!relu)
    return {};
  for (Operation *user : relu->getUsers())
    if (masks.contains(user)) {
      where.getConditionMutable().assign(user->getResult(0));
      return user->getResult(0);
    }

  OpBuilder builder(relu->getContext());
  builder.setInsertionPointAfter(relu);
  IRMapping copies;
  Operation *zeros = builder.clone(*compare.getRhs().getDefiningOp(), copies);
  Operation *mask = builder.clone(*compare, copies);
  mask->setOperand(0, relu.getResult());
  masks.insert(mask);
  if (!llvm::is_contained(of(forward).kept, mask->getResult(0))) {
    masks.erase(mask);
    mask->erase();
    zeros->erase();
    return {};
  }
  where.getConditionMutable().assign(mask->getResult(0));
  for (Operation *op :
       {compare.getOperation(), compare.getLhs().getDefiningOp()})
    if (op->use_empty())
      op->erase();
  return mask->getResult(0);
}

} // namespace sinter::passes
