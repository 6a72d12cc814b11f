//===- ScanForm.cpp - the form of a running sum ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ScanForm.h"

using namespace mlir;

namespace sinter::codegen {

template <class ScanOp> static ScanForm formOf(ScanOp op, int64_t part) {
  RankedTensorType type = op.getType();
  ArrayRef<int64_t> shape = type.getShape();
  ScanForm form;
  form.kind = op.getKind();
  form.element = form.startElement = type.getElementType();
  form.isExclusive = op.getExclusive();
  form.isReverse = op.getReverse();
  form.hasStarts = false;
  form.size = shape[op.getAxis()];
  form.inner = product(shape.drop_front(op.getAxis() + 1));
  form.lines = product(shape.take_front(op.getAxis())) * form.inner;
  form.part = std::min(part, form.size);
  form.parts = form.size > 0 ? llvm::divideCeil(form.size, form.part) : 1;
  return form;
}

std::optional<ScanForm> ScanForm::of(Operation *op) {
  if (auto whole = dyn_cast<ir::CumulativeOp>(op))
    return formOf(whole, std::numeric_limits<int64_t>::max());
  auto inParts = dyn_cast<ir::CumulativePartsOp>(op);
  if (!inParts)
    return std::nullopt;
  ScanForm form = formOf(inParts, inParts.getPart());
  // With only one part, `starts` is empty.
  form.hasStarts = form.parts > 1;
  form.startElement = ir::tensorType(inParts.getStarts()).getElementType();
  return form;
}

ScanForm::Unit ScanForm::emitUnit(Scalar &s, Value unit,
                                  ArrayRef<Value> operands) const {
  Value line = hasStarts ? s.div(unit, parts) : unit;
  auto startOfLine = [&](int64_t length) {
    return s.add(s.mul(s.div(line, inner), length * inner), s.rem(line, inner));
  };
  Value none = s.emitter.identity(kind, element);
  Unit result{startOfLine(size), s.number(0), s.number(size), none};
  if (!hasStarts)
    return result;
  Value number = s.rem(unit, parts);
  result.first = s.mul(number, part);
  result.end = s.minimum(s.number(size), s.add(result.first, s.number(part)));
  // The first part reads the start of another part and does not use it.
  Value isFirst = s.compare(arith::CmpIPredicate::eq, number, s.number(0));
  Value before = s.b.create<arith::SelectOp>(s.loc, isFirst, s.number(0),
                                             s.sub(number, s.number(1)));
  if (isReverse)
    before = s.sub(s.number(parts - 2), before);
  Value start = s.load(startElement, operands[1],
                       s.add(startOfLine(parts - 1), s.mul(before, inner)));
  result.start = s.b.create<arith::SelectOp>(s.loc, isFirst, none, start);
  return result;
}

Value ScanForm::position(Scalar &s, const Unit &unit, Value step) const {
  if (isReverse)
    step = s.sub(s.number(size - 1), step);
  return s.add(unit.lineStart, s.mul(step, inner));
}

} // namespace sinter::codegen
