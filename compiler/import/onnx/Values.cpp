//===- Values.cpp - values that are not tensors of known shape ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Values.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"

using namespace mlir;

namespace sinter::compiler {

static constexpr StringLiteral kOpenKind = "open_kind";

bool isTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape();
}
bool isSequence(Value value) { return isa<TupleType>(value.getType()); }
bool isAbsentOptional(Value value) { return isa<NoneType>(value.getType()); }
bool isOpen(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && !type.hasStaticShape();
}

std::string describe(Value value) {
  if (isSequence(value))
    return "a sequence";
  if (isAbsentOptional(value))
    return "an optional without a value";
  return isOpen(value) ? "a tensor whose size depends on values that must be "
                         "known at compile time"
                       : "a tensor";
}

static Value castTo(NodeImport &n, ValueRange sources, Type type) {
  return n.b.create<UnrealizedConversionCastOp>(n.loc, type, sources)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

Value makeSequence(NodeImport &n, ValueRange elements) {
  for (Value element : elements) {
    if (!element)
      return {};
    if (!isTensor(element))
      return n.unsupported("an element that is " + describe(element));
    if (n.elementOf(element) != n.elementOf(elements.front()))
      return n.fail("the elements have different element types");
  }
  if (!n.graph().takeSequence(int64_t(elements.size())))
    return n.unsupported("sequences of more than 2^24 elements in all");
  return castTo(n, elements, TupleType::get(n.context(), elements.getTypes()));
}

std::optional<SmallVector<Value>> elementsOf(NodeImport &n, size_t i) {
  Value value = n.in(i);
  if (!value)
    return std::nullopt;
  if (!isSequence(value)) {
    n.fail("input " + quoted(n.inputName(i)) + " is " + describe(value) +
           "; it must be a sequence");
    return std::nullopt;
  }
  return SmallVector<Value>(value.getDefiningOp()->getOperands());
}

Value makeAbsentOptional(NodeImport &n) {
  return castTo(n, {}, NoneType::get(n.context()));
}

//===----------------------------------------------------------------------===//
// Open tensors
//===----------------------------------------------------------------------===//

Value makeOpen(NodeImport &n, Open open, Ints shape) {
  SmallVector<Value> sources = {open.source};
  if (open.kind == OpenKind::range)
    sources.append({open.start, open.end});
  if (open.kind == OpenKind::selected)
    sources.push_back(open.mask);
  if (llvm::is_contained(sources, Value()))
    return {};
  Type element =
      open.kind == OpenKind::coordinates ? n.i64() : n.elementOf(open.source);
  Value value = castTo(n, sources, RankedTensorType::get(shape, element));
  value.getDefiningOp()->setAttr(kOpenKind,
                                 n.b.getI64IntegerAttr(int64_t(open.kind)));
  return value;
}

Open openOf(Value value) {
  Operation *op = value.getDefiningOp();
  Open open{OpenKind(op->getAttrOfType<IntegerAttr>(kOpenKind).getInt()),
            op->getOperand(0)};
  if (open.kind == OpenKind::range) {
    open.start = op->getOperand(1);
    open.end = op->getOperand(2);
  }
  if (open.kind == OpenKind::selected)
    open.mask = op->getOperand(1);
  return open;
}

} // namespace sinter::compiler
