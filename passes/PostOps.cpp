//===- PostOps.cpp - ops that a call applies to its result ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/PostOps.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace sinter::passes {
namespace {

FloatAttr numberAttr(MLIRContext *context, float value) {
  return FloatAttr::get(Float32Type::get(context), value);
}

/// The value of all elements of `value`, as float32.
std::optional<float> splatOf(Value value) {
  auto constant =
      viewOf(value, ViewDepth::oneLoop).base.getDefiningOp<ir::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat() || elements.getElementType().isF64())
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool losesInfo;
  number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToFloat();
}

/// True when the position of an element is the sum of index * strides;
/// dimensions of size 1 do not matter.
bool hasStrides(const StridedView &view, ArrayRef<int64_t> strides) {
  if (view.offset != 0)
    return false;
  for (auto [loops, wanted] : llvm::zip_equal(view.dims, strides))
    if (loops.size() > 1 || (loops.size() == 1 && loops[0].stride != wanted))
      return false;
  return true;
}

/// `operand` as a vector along `dims`, dense in their order, or as a tensor
/// stored like the result.
std::optional<PostOp> matchAdd(Value operand, ArrayRef<int64_t> dims,
                               ArrayRef<int64_t> strides) {
  StridedView view = viewOf(asStored(operand), ViewDepth::oneLoop);
  ArrayRef<int64_t> shape = ir::tensorType(operand).getShape();
  int64_t elements = ir::tensorType(view.base).getNumElements();
  SmallVector<int64_t> along(shape.size(), 0);
  int64_t count = 1;
  for (int64_t dim : llvm::reverse(dims)) {
    along[dim] = count;
    count *= shape[dim];
  }
  if (!dims.empty() && elements == count && hasStrides(view, along))
    return PostOp{exec::PostOpKind::bias, view.base, {}, {}};
  if (dims.size() == 1 && splatOf(operand)) // as a vector: takeEpilogueStep
    return PostOp{exec::PostOpKind::bias, operand, {}, {}};
  if (elements == ir::tensorType(operand).getNumElements() &&
      hasStrides(view, strides))
    return PostOp{exec::PostOpKind::add, view.base, {}, {}};
  return std::nullopt;
}

/// If `value` is an OpTy of x and a constant of equal numbers near `number`,
/// returns x and adds the constant and the op to `members`; else null.
template <class OpTy>
Value besideNumber(Value value, double number,
                   SmallVectorImpl<Operation *> &members) {
  auto op = value.getDefiningOp<OpTy>();
  if (!op || !value.hasOneUse())
    return {};
  for (unsigned i : {0u, 1u}) {
    Value other = op->getOperand(1 - i);
    std::optional<float> found = splatOf(other);
    if (!found || std::abs(*found - number) > 1e-6)
      continue;
    members.append({op, other.getDefiningOp()});
    return op->getOperand(i);
  }
  return {};
}

} // namespace

std::optional<Gate> matchGate(Value value) {
  if (!llvm::hasNItems(value.getUses(), 2))
    return std::nullopt;
  for (Operation *user : value.getUsers()) {
    auto product = dyn_cast<ir::MulOp>(user);
    if (!product || product.getLhs() == product.getRhs())
      continue;
    Value factor =
        product.getLhs() == value ? product.getRhs() : product.getLhs();
    if (!factor.hasOneUse())
      continue;
    if (auto sigmoid = factor.getDefiningOp<ir::SigmoidOp>())
      if (sigmoid.getX() == value)
        return Gate{exec::PostOpKind::swish, {sigmoid, product}};
    // From the product back to the value.
    SmallVector<Operation *, 8> members{product};
    Value x = besideNumber<ir::MinOp>(factor, 1, members);
    auto relu = x ? x.getDefiningOp<ir::ReluOp>() : nullptr;
    if (!relu || !x.hasOneUse())
      continue;
    members.push_back(relu);
    x = besideNumber<ir::AddOp>(relu.getX(), 0.5, members);
    if (x)
      x = besideNumber<ir::MulOp>(x, 1.0 / 6, members);
    if (x == value)
      return Gate{exec::PostOpKind::hard_swish,
                  {members.rbegin(), members.rend()}};
  }
  return std::nullopt;
}

bool isBiasSum(Operation *op, Value value, Operation *contraction) {
  auto reduce = dyn_cast<ir::ReduceOp>(op);
  if (!reduce || reduce.getKind() != ir::ReduceKind::sum ||
      reduce.getX() != value)
    return false;
  SmallVector<int64_t> dims = biasDims(contraction);
  int64_t rank = ir::tensorType(value).getRank();
  return !dims.empty() &&
         dims.size() + reduce.getDims().size() == static_cast<size_t>(rank) &&
         llvm::none_of(dims, [&](int64_t dim) {
           return llvm::is_contained(reduce.getDims(), dim);
         });
}

std::optional<exec::PostOpKind> channelSumKind(Operation *op, Value stored) {
  auto reduce = dyn_cast_or_null<ir::ReduceOp>(op);
  if (!reduce || reduce.getKind() != ir::ReduceKind::sum ||
      !llvm::equal(reduce.getDims(),
                   llvm::seq<int64_t>(0, ir::tensorType(stored).getRank() - 1)))
    return std::nullopt;
  if (widened(reduce.getX()) == stored)
    return exec::PostOpKind::channel_sum;
  auto square = reduce.getX().getDefiningOp<ir::MulOp>();
  if (square && square.getLhs() == square.getRhs() &&
      widened(square.getLhs()) == stored)
    return exec::PostOpKind::channel_squares;
  return std::nullopt;
}

std::optional<unsigned> summedOperand(Operation *op, ir::DotGeneralOp dot) {
  auto reduce = dyn_cast<ir::ReduceOp>(op);
  if (!reduce || reduce.getKind() != ir::ReduceKind::sum ||
      !dot.getLhsBatch().empty())
    return std::nullopt;
  auto sums = [&](Value operand, ArrayRef<int64_t> contracted) {
    return asStored(reduce.getX()) == asStored(operand) &&
           reduce.getX().getType() == operand.getType() &&
           reduce.getDims().size() == contracted.size() &&
           llvm::all_of(contracted, [&](int64_t dim) {
             return llvm::is_contained(reduce.getDims(), dim);
           });
  };
  if (sums(dot.getLhs(), dot.getLhsContract()))
    return 0;
  if (sums(dot.getRhs(), dot.getRhsContract()))
    return 1;
  return std::nullopt;
}

ir::GeluOp keptGelu(Value value) {
  ir::GeluOp gelu;
  for (Operation *user : value.getUsers()) {
    auto other = dyn_cast<ir::GeluOp>(user);
    if (other && gelu)
      return nullptr;
    if (other)
      gelu = other;
  }
  return gelu && gelu.getForm() == ir::GeluForm::tanh ? gelu : nullptr;
}

bool isReluMask(Operation *op, Value relu) {
  auto compare = dyn_cast<ir::CompareOp>(op);
  return compare && compare.getKind() == ir::CompareKind::gt &&
         compare.getLhs() == relu && splatOf(compare.getRhs()) == 0.0f;
}

SmallVector<int64_t> biasDims(Operation *contraction) {
  int64_t rank = ir::tensorType(contraction->getResult(0)).getRank();
  if (auto dot = dyn_cast<ir::DotGeneralOp>(contraction)) {
    int64_t count = dot.getRhsFree().size();
    return llvm::to_vector(llvm::seq<int64_t>(rank - count, rank));
  }
  if (auto conv = dyn_cast<ir::ConvOp>(contraction))
    return {conv.getChannelsLast() ? rank - 1 : 1};
  if (auto conv = dyn_cast<ir::ConvInputGradOp>(contraction))
    return {conv.getChannelsLast() ? rank - 1 : 1};
  return {};
}

std::optional<exec::PostOpKind> unaryKind(Operation *op) {
  if (isa<ir::ReluOp>(op))
    return exec::PostOpKind::relu;
  if (isa<ir::SigmoidOp>(op))
    return exec::PostOpKind::sigmoid;
  if (isa<ir::TanhOp>(op))
    return exec::PostOpKind::tanh;
  if (auto gelu = dyn_cast<ir::GeluOp>(op))
    return gelu.getForm() == ir::GeluForm::erf ? exec::PostOpKind::gelu_erf
                                               : exec::PostOpKind::gelu_tanh;
  return std::nullopt;
}

Value otherOperand(Operation *op, Value value) {
  if (!op->hasTrait<OpTrait::IsCommutative>() ||
      !isa<FloatType>(ir::tensorType(value).getElementType()))
    return {};
  Value other =
      op->getOperand(0) == value ? op->getOperand(1) : op->getOperand(0);
  return other == value ? Value() : other;
}

std::optional<PostOp> matchPostOp(Operation *op, Value value,
                                  ArrayRef<int64_t> biasDims,
                                  ArrayRef<int64_t> strides) {
  MLIRContext *context = op->getContext();
  if (std::optional<Gate> gate = matchGate(value))
    return gate->members.back() == op
               ? std::optional(PostOp{gate->kind, {}, {}, {}})
               : std::nullopt;
  if (std::optional<exec::PostOpKind> kind = unaryKind(op))
    return PostOp{*kind, {}, {}, {}};
  if (auto grad = dyn_cast<ir::GeluGradOp>(op)) {
    std::optional<PostOp> post = grad.getGrad() == value &&
                                         grad.getX() != value &&
                                         grad.getForm() == ir::GeluForm::tanh
                                     ? matchAdd(grad.getX(), {}, strides)
                                     : std::nullopt;
    if (post)
      post->kind = exec::PostOpKind::gelu_tanh_grad;
    return post;
  }
  if (auto where = dyn_cast<ir::WhereOp>(op)) {
    if (where.getLhs() != value || splatOf(where.getRhs()) != 0.0f)
      return std::nullopt;
    return PostOp{exec::PostOpKind::relu_grad, where.getCondition(), {}, {}};
  }
  Value other = otherOperand(op, value);
  if (!other)
    return std::nullopt;
  if (isa<ir::AddOp>(op))
    return matchAdd(other, biasDims, strides);
  std::optional<float> number = splatOf(other);
  if (!number)
    return std::nullopt;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (isa<ir::MulOp>(op))
    return PostOp{
        exec::PostOpKind::scale, {}, numberAttr(context, *number), {}};
  bool isMax = isa<ir::MaxOp>(op);
  return PostOp{exec::PostOpKind::clip,
                {},
                numberAttr(context, isMax ? *number : -infinity),
                numberAttr(context, isMax ? infinity : *number)};
}

} // namespace sinter::passes
