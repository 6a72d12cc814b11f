//===- Attention.cpp - verifier of calls of attention ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/CommandChecks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

LogicalResult exec::verifyAttention(AttentionOp op) {
  int64_t batch = op.getBatch(), heads = op.getNumHeads(),
          queries = op.getQueries(), keys = op.getKeys(), depth = op.getDepth();
  for (int64_t size : {batch, heads, queries, keys, depth})
    if (size < 1 || size > INT32_MAX)
      return op.emitOpError() << "has a size out of range";
  bool isForward = op.getDirection() == AttentionDirection::forward;
  size_t numReads = isForward ? 3 : 5, count = isForward ? 4 : 8;
  bool hasMask = op.getHeads().size() == count + 1;
  if (op.getHeads().size() != count && !hasMask)
    return op.emitOpError()
           << "needs " << count << " operands and perhaps a mask, has "
           << op.getHeads().size();
  SmallVector<Value> buffers(op.getInputs());
  llvm::append_range(buffers, op.getOutputs());
  auto numInputs = static_cast<int64_t>(op.getInputs().size());
  auto isIn = [&](int64_t number, bool isRead) {
    return isRead ? number >= 0 && number < numInputs
                  : number >= numInputs &&
                        number < static_cast<int64_t>(buffers.size());
  };
  auto typeOf = [&](int64_t number) {
    return bufferOp(buffers[number]).getTensorType();
  };
  constexpr StringLiteral names[] = {"query",    "key",         "value",
                                     "output",   "output grad", "query grad",
                                     "key grad", "value grad"};
  SmallVector<HeadsAttr> operands(op.getHeads().getAsRange<HeadsAttr>());
  if (hasMask) {
    HeadsAttr mask = operands.pop_back_val();
    if (!isIn(mask.getBuffer(), /*isRead=*/true) ||
        !typeOf(mask.getBuffer()).getElementType().isF32())
      return op.emitOpError() << "needs its mask among its reads, in float32";
    if (mask.getStrides().size() != 3 || mask.getOffset() < 0 ||
        llvm::any_of(mask.getStrides(), [](int64_t x) { return x < 0; }))
      return op.emitOpError() << "needs an offset and three strides of at "
                                 "least 0 for its mask";
    int64_t extent = extentOf({{batch, mask.getStrides()[0]},
                               {heads, mask.getStrides()[1]},
                               {queries, mask.getStrides()[2]},
                               {keys, 1}});
    if (extent < 0 || llvm::AddOverflow(extent, mask.getOffset(), extent))
      extent = -1;
    if (failed(verifyExtent(op, "mask", extent, buffers[mask.getBuffer()])))
      return failure();
  }
  SmallVector<int64_t> written(buffers.size(), 0);
  Type element;
  for (auto [i, at] : llvm::enumerate(operands)) {
    StringRef name = names[i];
    bool hasQueries = i == 0 || (i >= 3 && i <= 5);
    int64_t rows = hasQueries ? queries : keys, extent;
    if (!isIn(at.getBuffer(), i < numReads))
      return op.emitOpError() << "has its " << name << " in buffer "
                              << at.getBuffer() << ", which is not one of its "
                              << (i < numReads ? "reads" : "writes");
    if (at.getStrides().size() != 3 || at.getOffset() < 0 ||
        llvm::any_of(at.getStrides(), [](int64_t x) { return x < 1; }))
      return op.emitOpError()
             << "needs an offset of at least 0 and three strides of at "
                "least 1 for its "
             << name;
    extent = extentOf({{batch, at.getStrides()[0]},
                       {heads, at.getStrides()[1]},
                       {rows, at.getStrides()[2]},
                       {depth, 1}});
    if (extent < 0 || llvm::AddOverflow(extent, at.getOffset(), extent))
      extent = -1;
    if (failed(verifyExtent(op, name, extent, buffers[at.getBuffer()])))
      return failure();
    Type type = typeOf(at.getBuffer()).getElementType();
    if (element && type != element)
      return op.emitOpError() << "has operands of different element types";
    element = type;
    written[at.getBuffer()] += batch * heads * rows * depth;
  }
  if (std::optional<int64_t> stats = op.getStats()) {
    if (!isIn(*stats, !isForward) || !typeOf(*stats).getElementType().isF32() ||
        typeOf(*stats).getNumElements() != batch * heads * queries)
      return op.emitOpError()
             << "has statistics in buffer " << *stats << ", expected "
             << batch * heads * queries << " float32 elements that it "
             << (isForward ? "writes" : "reads");
    written[*stats] = typeOf(*stats).getNumElements();
  } else if (!isForward) {
    return op.emitOpError() << "needs the statistics";
  }
  for (size_t i = numInputs; i < buffers.size(); ++i)
    if (written[i] != typeOf(i).getNumElements())
      return op.emitOpError()
             << "writes " << written[i] << " elements of a buffer of "
             << typeOf(i).getNumElements();
  return success();
}
