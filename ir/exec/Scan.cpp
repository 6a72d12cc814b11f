//===- Scan.cpp - verify scans --------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Exec.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

OperandRange ScanOp::getWrites() {
  return getOperation()->getOperands().drop_front(getReads().size());
}

LogicalResult ScanOp::verify() {
  if (static_cast<int64_t>(getTrips()) < 1)
    return emitOpError() << "has " << static_cast<int64_t>(getTrips())
                         << " trips, expected 1 or more";
  return success();
}

int64_t exec::scanScratchBytes(int64_t arenaBytes, ArrayRef<Attribute> types,
                               ArrayAttr outputs) {
  int64_t total = alignedBytes(arenaBytes);
  for (auto [output, type] :
       llvm::zip_equal(outputs.getAsRange<ScanOutputAttr>(), types))
    if (output.getKind() == ScanOutputKind::last)
      total += 2 * alignedBytes(sizeBytes(cast<TypeAttr>(type).getValue()));
  return total;
}

/// Checks the bytes of operand number `number` of `buffers`.
static LogicalResult verifyOperand(ScanOp scan, StringRef what,
                                   OperandRange buffers, int64_t number,
                                   Type type, bool isSliced) {
  if (number < 0 || number >= static_cast<int64_t>(buffers.size()))
    return scan.emitOpError() << "has no " << what << " number " << number;
  const int64_t expected =
      sizeBytes(type) * (isSliced ? static_cast<int64_t>(scan.getTrips()) : 1);
  const int64_t bytes = bufferOp(buffers[number]).getSlice().getSize();
  if (bytes != expected)
    return scan.emitOpError() << what << " number " << number << " has "
                              << bytes << " bytes, expected " << expected;
  return success();
}

static LogicalResult verifyInputs(ScanOp scan, ProgramOp body) {
  llvm::SmallDenseSet<int64_t> carried;
  for (auto [attr, type] :
       llvm::zip_equal(scan.getBodyInputs().getAsRange<ScanInputAttr>(),
                       body.getInputTypes().getAsRange<TypeAttr>())) {
    if (failed(verifyOperand(scan, "read", scan.getReads(), attr.getRead(),
                             type.getValue(),
                             attr.getKind() == ScanInputKind::slice)))
      return failure();
    const int64_t output = attr.getOutput();
    if (attr.getKind() != ScanInputKind::carried) {
      if (output != -1)
        return scan.emitOpError()
               << "has an output for an input that is not carried";
      continue;
    }
    if (output < 0 ||
        output >= static_cast<int64_t>(scan.getBodyOutputs().size()))
      return scan.emitOpError() << "carries output number " << output
                                << ", which the body does not have";
    if (!carried.insert(output).second)
      return scan.emitOpError()
             << "carries output number " << output << " to two inputs";
    if (sizeBytes(cast<TypeAttr>(body.getOutputTypes()[output]).getValue()) !=
        sizeBytes(type.getValue()))
      return scan.emitOpError() << "carries output number " << output
                                << " to an input of another size";
  }
  return success();
}

/// Checks C6.
static LogicalResult verifyBody(ScanOp scan, ProgramOp body) {
  if (indexChecks(body))
    return scan.emitOpError() << "has a body with index checks";
  for (Operation &op : body.getBody().front()) {
    if (isa<ScanOp, RecordOp, WaitOp, CollectiveOp, AwaitOp>(op))
      return scan.emitOpError() << "has a body with " << op.getName();
    auto buffer = dyn_cast<BufferOp>(op);
    if (buffer && buffer.getSlice().getSpace() == Space::state)
      return scan.emitOpError() << "has a body with a state";
  }
  return success();
}

LogicalResult ScanOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto body = symbols.lookupNearestSymbolFrom<ProgramOp>(
      getOperation()->getParentOp()->getParentOp(), getBodyAttr());
  if (!body)
    return emitOpError() << "runs " << getBodyAttr()
                         << ", which is not an exec.program";
  if (getBodyInputs().size() != body.getInputTypes().size() ||
      getBodyOutputs().size() != body.getOutputTypes().size())
    return emitOpError() << "describes " << getBodyInputs().size()
                         << " inputs and " << getBodyOutputs().size()
                         << " outputs, but " << getBodyAttr() << " has "
                         << body.getInputTypes().size() << " and "
                         << body.getOutputTypes().size();
  if (failed(verifyInputs(*this, body)) || failed(verifyBody(*this, body)))
    return failure();
  for (auto [attr, type] :
       llvm::zip_equal(getBodyOutputs().getAsRange<ScanOutputAttr>(),
                       body.getOutputTypes().getAsRange<TypeAttr>()))
    if (failed(verifyOperand(*this, "write", getOutputs(), attr.getWrite(),
                             type.getValue(),
                             attr.getKind() == ScanOutputKind::slice)))
      return failure();
  const int64_t scratch = bufferOp(getScratch()).getSlice().getSize(),
                needed = scanScratchBytes(
                    static_cast<int64_t>(body.getArenaBytes()),
                    body.getOutputTypes().getValue(), getBodyOutputs());
  if (scratch < needed)
    return emitOpError() << "has a scratch of " << scratch
                         << " bytes, expected at least " << needed;
  return success();
}
