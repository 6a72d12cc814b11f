//===- OperandPlace.cpp - where a contraction reads an operand ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/OperandPlace.h"

#include "backends/gpu/codegen/BlockPart.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace sinter::gpu {

using codegen::Contraction;
using codegen::ProductDim;
using codegen::ProductOperand;
using codegen::ProductTerm;
using codegen::WindowPosition;

SmallVector<Value> splitIndex(Threads &t, Value index,
                              ArrayRef<int64_t> loops) {
  SmallVector<Value> values(loops.size());
  for (size_t loop = loops.size(); loop-- > 0;) {
    values[loop] = loop == 0 ? index : t.rem(index, loops[loop]);
    index = loop == 0 ? index : t.div(index, loops[loop]);
  }
  return values;
}

/// The number of elements that can be moved together along a dimension.
static int64_t vectorAlong(const Contraction &contraction,
                           const ProductOperand &operand, ProductDim dim,
                           int64_t extent) {
  ArrayRef<int64_t> loops = contraction.loopsOf(dim);
  if (loops.empty())
    return 1;
  unsigned inner = loops.size() - 1;
  if (operand.stride(dim, inner) != 1 || operand.movesWindow(dim, inner))
    return 1;
  Type element = ir::tensorType(operand.base).getElementType();
  int64_t divisor = kBufferAlignment / ir::elementSizeBytes(element);
  auto divide = [&](int64_t number) { divisor = std::gcd(divisor, number); };
  divide(extent);
  divide(loops.back());
  divide(operand.offset);
  for (const ProductTerm &term : operand.terms)
    if (term.dim != dim || term.loop != inner)
      divide(term.factor);
  for (const WindowPosition &window : operand.windows)
    divide(window.stride);
  return std::max<int64_t>(divisor, 1);
}

/// The distance between neighbours along a dimension.
static int64_t distanceAlong(const Contraction &contraction,
                             const ProductOperand &operand, ProductDim dim) {
  ArrayRef<int64_t> loops = contraction.loopsOf(dim);
  if (loops.empty())
    return std::numeric_limits<int64_t>::max();
  unsigned inner = loops.size() - 1;
  int64_t distance = operand.stride(dim, inner);
  for (const WindowPosition &window : operand.windows)
    for (const ProductTerm &term : window.terms)
      if (term.dim == dim && term.loop == inner)
        distance += term.factor * window.stride;
  return std::abs(distance);
}

PiecesOfTile::PiecesOfTile(const Contraction &contraction,
                           const ProductOperand &operand, ProductDim outerDim,
                           int64_t outer, int64_t depth) {
  int64_t alongDepth =
              vectorAlong(contraction, operand, ProductDim::depth, depth),
          alongOuter = vectorAlong(contraction, operand, outerDim, outer);
  elements = std::max(alongDepth, alongOuter);
  isAlongDepth = alongDepth != alongOuter
                     ? alongDepth > alongOuter
                     : distanceAlong(contraction, operand, ProductDim::depth) <
                           distanceAlong(contraction, operand, outerDim);
}

static Value constant(Threads &t, Type type, int64_t value) {
  return t.b.create<arith::ConstantOp>(t.loc, t.b.getIntegerAttr(type, value));
}

OperandPlace::OperandPlace(Threads &threads, const ProductOperand &operand)
    : t(&threads), operand(&operand),
      linear(constant(threads, threads.b.getI64Type(), operand.offset)) {
  for (const WindowPosition &window : operand.windows)
    windows.push_back(constant(threads, threads.countType(), window.constant));
}

Value OperandPlace::sum(Value start, ArrayRef<ProductTerm> terms,
                        ProductDim dim, ArrayRef<Value> values) const {
  Type type = start.getType();
  for (const ProductTerm &term : terms) {
    if (term.dim != dim || term.factor == 0)
      continue;
    Value value = values[term.loop];
    if (type.isInteger(64))
      value = t->wide(value);
    if (term.factor != 1)
      value = t->b.create<arith::MulIOp>(t->loc, value,
                                         constant(*t, type, term.factor));
    start = t->b.create<arith::AddIOp>(t->loc, start, value);
  }
  return start;
}

OperandPlace OperandPlace::at(ProductDim dim, ArrayRef<Value> values) const {
  OperandPlace place = *this;
  place.linear = sum(linear, operand->terms, dim, values);
  for (auto [position, window] :
       llvm::zip_equal(place.windows, operand->windows))
    position = sum(position, window.terms, dim, values);
  return place;
}

Value OperandPlace::offset() const {
  OpBuilder &b = t->b;
  Value offset = linear;
  for (auto [position, window] : llvm::zip_equal(windows, operand->windows)) {
    Value distance = b.create<arith::MulIOp>(
        t->loc, t->wide(t->div(position, window.divisor)),
        constant(*t, b.getI64Type(), window.stride));
    offset = b.create<arith::AddIOp>(t->loc, offset, distance);
  }
  return offset;
}

Value OperandPlace::isInside() const {
  Value inside;
  for (auto [position, window] : llvm::zip_equal(windows, operand->windows)) {
    // Positions below 0 are large unsigned numbers.
    Value quotient = t->div(position, window.divisor);
    if (window.mayLeave)
      inside = t->both(inside, t->isLess(quotient, window.size));
    if (window.divisor > 1)
      inside = t->both(inside, t->b.create<arith::CmpIOp>(
                                   t->loc, arith::CmpIPredicate::eq,
                                   t->mul(quotient, window.divisor), position));
  }
  return inside;
}

} // namespace sinter::gpu
