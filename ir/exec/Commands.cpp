//===- Commands.cpp - verifiers of copies and other commands --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/CommandChecks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

int64_t exec::extentOf(ArrayRef<Dim> dims) {
  int64_t last = 0;
  for (Dim dim : dims) {
    int64_t reach;
    if (dim.size == 0)
      return 0;
    if (llvm::MulOverflow(dim.size - 1, dim.stride, reach) ||
        llvm::AddOverflow(last, reach, last))
      return -1;
  }
  return last == INT64_MAX ? -1 : last + 1;
}

LogicalResult exec::verifyExtent(Operation *op, StringRef what,
                                 int64_t elements, Value value) {
  int64_t has = bufferOp(value).getTensorType().getNumElements();
  if (elements < 0 || elements > has)
    return op->emitOpError()
           << what << " needs "
           << (elements < 0 ? "over 2^63" : std::to_string(elements))
           << " elements, its buffer has " << has;
  return success();
}

static LogicalResult verifyCollective(CollectiveOp op) {
  if (op.getReads().empty() || op.getReads().size() != op.getWrites().size())
    return op.emitOpError()
           << "has " << op.getReads().size() << " reads and "
           << op.getWrites().size() << " writes, expected one or more of each";
  const auto replicas = static_cast<int64_t>(op.getReplicas());
  if (replicas < 1)
    return op.emitOpError() << "has " << replicas << " replicas";
  auto element = [](Value buffer) {
    return bufferOp(buffer).getTensorType().getElementType();
  };
  for (Value buffer : op->getOperands())
    if (element(buffer) != element(op.getReads()[0]))
      return op.emitOpError()
             << "has elements of types " << element(op.getReads()[0]) << " and "
             << element(buffer);
  for (auto [read, write] : llvm::zip_equal(op.getReads(), op.getWrites())) {
    const int64_t from = bufferOp(read).getSlice().getSize(),
                  to = bufferOp(write).getSlice().getSize();
    const bool isCut = op.getKind() == CollectiveKind::reduce_scatter,
               isJoined = op.getKind() == CollectiveKind::all_gather;
    int64_t whole = 0;
    if (llvm::MulOverflow(isCut ? to : from, isCut || isJoined ? replicas : 1,
                          whole) ||
        whole != (isCut ? from : to))
      return op.emitOpError() << "makes " << to << " bytes of " << from
                              << " with " << replicas << " replicas";
  }
  return success();
}

LogicalResult exec::verifyCommand(Operation *command) {
  if (auto copy = dyn_cast<CopyOp>(command)) {
    int64_t from = bufferOp(copy.getFrom()).getSlice().getSize();
    int64_t to = bufferOp(copy.getTo()).getSlice().getSize();
    if (from != to)
      return copy.emitOpError()
             << "copies " << from << " bytes into a buffer of " << to;
  }
  if (auto event = command->getAttrOfType<IntegerAttr>("event");
      event && event.getInt() < 0)
    return command->emitOpError()
           << "has event " << event.getInt() << ", expected 0 or more";
  if (auto collective = dyn_cast<CollectiveOp>(command))
    return verifyCollective(collective);
  if (auto matmul = dyn_cast<MatmulOp>(command))
    return verifyMatmul(matmul);
  if (auto conv = dyn_cast<ConvOp>(command))
    return verifyConv(conv);
  if (auto attention = dyn_cast<AttentionOp>(command))
    return verifyAttention(attention);
  return success();
}
