//===- PostOps.cpp - verifier of post-ops ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/CommandChecks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

const sinter_post_op_traits &exec::traitsOf(PostOpKind kind) {
  return *sinter_post_op_row(static_cast<uint32_t>(kind));
}

/// Whether a command of these rules may have post-ops of `scope`.
static bool allows(const PostOpRules &rules, sinter_post_scope scope) {
  switch (scope) {
  case SINTER_POST_SCOPE_ALL:
    return true;
  case SINTER_POST_SCOPE_MATMUL:
    return rules.isProduct;
  case SINTER_POST_SCOPE_SINGLE:
    return rules.isSingle;
  case SINTER_POST_SCOPE_FORWARD:
    return rules.isForward;
  case SINTER_POST_SCOPE_BYTES:
    return rules.isOfBytes;
  }
  return false;
}

/// The elements that a slice of `extent` needs.
static int64_t elementsOf(const PostOpRules &rules, sinter_post_extent extent) {
  switch (extent) {
  case SINTER_POST_EXTENT_NONE:
    return 0;
  case SINTER_POST_EXTENT_RESULT:
  case SINTER_POST_EXTENT_CODES:
    return rules.result;
  case SINTER_POST_EXTENT_COLUMN:
  case SINTER_POST_EXTENT_CHANNEL:
    return rules.columns;
  case SINTER_POST_EXTENT_ROW:
    return rules.rows;
  case SINTER_POST_EXTENT_BITS:
    return rules.bitsBytes;
  }
  return -1;
}

/// The element type of a slice of `extent`. `beside`: that of a slice in the
/// shape of the result, `result`: that of the result.
static Type elementTypeOf(sinter_post_extent extent, Type beside, Type result) {
  MLIRContext *context = beside.getContext();
  if (extent == SINTER_POST_EXTENT_BITS)
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  if (extent == SINTER_POST_EXTENT_CODES)
    return result;
  return extent == SINTER_POST_EXTENT_CHANNEL ? Float32Type::get(context)
                                              : beside;
}

/// Checks that dequantize comes at most once, that quantize is last and after
/// it, that what needs both is between them, and that the result has the type
/// that they give it.
static LogicalResult verifyQuantisation(Operation *op, ArrayAttr postOps,
                                        Type result) {
  bool isFloat = false, isCoded = false, needsCodes = false;
  for (PostOpAttr post : postOps.getAsRange<PostOpAttr>()) {
    PostOpKind kind = post.getKind();
    const bool isBetween =
        kind == PostOpKind::fake_quantize || kind == PostOpKind::add_codes;
    if (isCoded || (kind == PostOpKind::dequantize && isFloat) ||
        ((kind == PostOpKind::quantize || isBetween) && !isFloat))
      return op->emitOpError() << "has dequantize and quantize out of order";
    needsCodes |= isBetween;
    isFloat |= kind == PostOpKind::dequantize;
    isCoded |= kind == PostOpKind::quantize;
  }
  if (needsCodes && !isCoded)
    return op->emitOpError()
           << "has fake_quantize or add_codes without quantize";
  if (isFloat && !(isCoded ? result.isInteger(8) : result.isF32()))
    return op->emitOpError()
           << "has a result of " << result
           << (isCoded ? " after quantize" : " after dequantize");
  return success();
}

/// Checks that the two sums over channels are either absent or last.
static LogicalResult verifyChannelSums(Operation *op, ArrayAttr postOps) {
  for (auto [i, attr] : llvm::enumerate(postOps)) {
    PostOpKind kind = cast<PostOpAttr>(attr).getKind();
    size_t place = kind == PostOpKind::channel_sum       ? 2
                   : kind == PostOpKind::channel_squares ? 1
                                                         : 0;
    if ((place && i + place != postOps.size()) ||
        (place == 1 && (i == 0 || cast<PostOpAttr>(postOps[i - 1]).getKind() !=
                                      PostOpKind::channel_sum)))
      return op->emitOpError() << "does not end with channel_sum and "
                                  "channel_squares";
  }
  return success();
}

LogicalResult exec::verifyPostOps(Operation *op, ArrayAttr postOps,
                                  OperandRange reads, OperandRange writes,
                                  const PostOpRules &rules) {
  if (postOps.size() > kMaxPostOps)
    return op->emitOpError()
           << "has " << postOps.size() << " post-ops, at most " << kMaxPostOps
           << " are allowed";
  SmallVector<bool> isKept(writes.size(), false);
  auto elementOf = [](Value value) {
    return bufferOp(value).getTensorType().getElementType();
  };
  // The type of what post-ops read or keep in the shape of the result.
  Type beside = elementOf(writes[0]);
  if (llvm::any_of(postOps.getAsRange<PostOpAttr>(), [](PostOpAttr post) {
        return post.getKind() == PostOpKind::dequantize;
      }))
    beside = IntegerType::get(op->getContext(), 32);
  for (PostOpAttr post : postOps.getAsRange<PostOpAttr>()) {
    const sinter_post_op_traits &traits = traitsOf(post.getKind());
    bool isRead = traits.slice == SINTER_POST_SLICE_READ;
    bool isWrite = traits.slice == SINTER_POST_SLICE_WRITTEN;
    if ((traits.numbers > 0) != bool(post.getAlpha()) ||
        (traits.numbers > 1) != bool(post.getBeta()) ||
        isRead != (post.getRead() != 0) || isWrite != (post.getWrite() != 0))
      return op->emitOpError() << "has a post-op " << traits.name
                               << " with other fields than it takes";
    if (!allows(rules, traits.scope))
      return op->emitOpError() << "cannot have the post-op " << traits.name;
    if (post.getKind() == PostOpKind::dequantize)
      beside = Float32Type::get(op->getContext());
    if (!isRead && !isWrite)
      continue;
    int64_t number = isWrite ? post.getWrite() : post.getRead();
    OperandRange operands = isWrite ? writes : reads;
    if (number < (isWrite ? 1 : 2) ||
        number >= static_cast<int64_t>(operands.size()))
      return op->emitOpError()
             << "has a post-op that takes " << (isWrite ? "write " : "read ")
             << number << " of " << operands.size();
    int64_t elements = elementsOf(rules, traits.extent);
    StringRef what = traits.what;
    Type expected = elementTypeOf(traits.extent, beside, elementOf(writes[0]));
    if (Type type = elementOf(operands[number]); type != expected)
      return op->emitOpError()
             << what << (expected.isUnsignedInteger(8) ? " are " : " is ")
             << type << ", expected " << expected;
    if (failed(verifyExtent(op, what, elements, operands[number])))
      return failure();
    if (isWrite && std::exchange(isKept[number], true))
      return op->emitOpError() << "keeps two values in write " << number;
  }
  for (size_t i = 1; i < isKept.size(); ++i)
    if (!isKept[i])
      return op->emitOpError() << "has no post-op for write " << i;
  if (failed(verifyQuantisation(op, postOps, elementOf(writes[0]))))
    return failure();
  return verifyChannelSums(op, postOps);
}
