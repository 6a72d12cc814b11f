//===- SortPart.cpp - threads that sort a line together -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// top_k: a block sorts a line, or as much of it as fits, in shared memory (K.
// Batcher's bitonic sorting network). For longer lines it keeps the first `k`
// and sorts them together with the next elements. Equal elements are ordered by
// their number, so that the result does not depend on the network.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/UnitKernel.h"
#include "backends/gpu/codegen/BlockPart.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace sinter::gpu {

using codegen::Scalar;

namespace {

/// Slots of a block; elements that are kept take slots from new ones.
constexpr int64_t kPlaces = 2048, kMostKept = kPlaces / 2;
constexpr int64_t kSortThreads = 256;
/// Lines that are shorter, or at least this many lines, have a thread each.
constexpr int64_t kShortLine = 32, kManyLines = 1 << 13;
/// The number of an empty slot, which is ordered after all elements.
constexpr int64_t kEmpty = -1;

int64_t innerSize(ir::TopKOp op) {
  return codegen::product(
      ir::tensorType(op.getX()).getShape().drop_front(op.getAxis() + 1));
}
int64_t linesOf(ir::TopKOp op) {
  return innerSize(op) *
         codegen::product(
             ir::tensorType(op.getX()).getShape().take_front(op.getAxis()));
}
int64_t lineSize(ir::TopKOp op) {
  return ir::tensorType(op.getX()).getDimSize(op.getAxis());
}

class SortPart : public BlockPart {
public:
  explicit SortPart(ir::TopKOp op)
      : op(op), element(ir::tensorType(op.getX()).getElementType()),
        size(lineSize(op)), inner(innerSize(op)), kept(op.getK()),
        places(std::min<int64_t>(kPlaces, llvm::PowerOf2Ceil(size))) {}

  int64_t threads() const override { return kSortThreads; }
  int64_t blocks(int64_t) const override { return linesOf(op); }
  int64_t reach() const override { return 0; } // positions are i64
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;

private:
  struct Item {
    Value value, number; // number: in the line, i32
  };

  Type valueType() { return s->emitter.computeType(element); }
  Value valueAt(Value place);
  Value numberAt(Value place);
  Item read(Value place);
  void write(const Item &item, Value place);
  Value isBefore(const Item &a, const Item &b);
  void eachOf(int64_t count, llvm::function_ref<void(Value)> body);
  void fill(Value firstElement, int64_t firstPlace);
  void sort();
  void compare(Value pair, Value distance, Value stretch);
  void storeFirst();

  ir::TopKOp op;
  Type element;
  int64_t size, inner, kept, places;

  // While code is emitted.
  Threads *t = nullptr;
  Scalar *s = nullptr;
  Value input, values, indices, shared;
  Value lineOf, lineIn; // the line's number before and after the axis, i64
};

Value SortPart::valueAt(Value place) {
  return t->elementAddress(shared, valueType(), place);
}
/// Numbers are stored after the values, which may have 8 bytes each.
Value SortPart::numberAt(Value place) {
  return t->elementAddress(shared, t->b.getI32Type(),
                           t->add(place, t->number(2 * places)));
}
SortPart::Item SortPart::read(Value place) {
  return {
      t->b.create<LLVM::LoadOp>(t->loc, valueType(), valueAt(place)),
      t->b.create<LLVM::LoadOp>(t->loc, t->b.getI32Type(), numberAt(place))};
}
void SortPart::write(const Item &item, Value place) {
  t->b.create<LLVM::StoreOp>(t->loc, item.value, valueAt(place));
  t->b.create<LLVM::StoreOp>(t->loc, item.number, numberAt(place));
}

/// Orders equal elements and empty slots by their numbers.
Value SortPart::isBefore(const Item &a, const Item &b) {
  auto isEmpty = [&](const Item &item) {
    return s->compare(arith::CmpIPredicate::eq, item.number, t->number(kEmpty));
  };
  Value byNumber = s->compare(arith::CmpIPredicate::ult, a.number, b.number);
  Value none = t->b.create<arith::ConstantIntOp>(t->loc, 0, 1);
  Value ofEqual =
      t->select(codegen::comesBefore(*s, op, b.value, a.value), none, byNumber);
  Value byValue = t->b.create<arith::OrIOp>(
      t->loc, codegen::comesBefore(*s, op, a.value, b.value), ofEqual);
  Value anyEmpty = t->b.create<arith::OrIOp>(t->loc, isEmpty(a), isEmpty(b));
  return t->select(anyEmpty, byNumber, byValue);
}

/// Emits `body` for this thread's share of `count` numbers (i32).
void SortPart::eachOf(int64_t count, llvm::function_ref<void(Value)> body) {
  auto loop = t->b.create<scf::ForOp>(t->loc, t->thread, t->number(count),
                                      t->number(t->blockThreads));
  OpBuilder::InsertionGuard guard(t->b);
  t->b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

/// Fills the slots from `firstPlace` on with the elements from `firstElement`
/// (i64) on.
void SortPart::fill(Value firstElement, int64_t firstPlace) {
  eachOf(places - firstPlace, [&](Value number) {
    Value at = s->add(firstElement, t->wide(number));
    Value isElement =
        s->compare(arith::CmpIPredicate::ult, at, s->number(size));
    // After the end, the last element is read, but the slot counts as empty.
    Value last = s->number(size - 1);
    Value step = s->minimum(at, last);
    Value position =
        s->add(s->mul(s->add(s->mul(lineOf, size), step), inner), lineIn);
    Value own = t->b.create<arith::TruncIOp>(t->loc, t->b.getI32Type(), at);
    write({s->load(element, input, position),
           t->select(isElement, own, t->number(kEmpty))},
          t->add(number, t->number(firstPlace)));
  });
  t->barrier();
}

/// Sorts stretches of 2, 4, ... slots, neighbouring stretches in opposite
/// order, by comparing slots half a stretch apart, a quarter, ...
void SortPart::sort() {
  OpBuilder &b = t->b;
  int64_t levels = llvm::Log2_64(places);
  auto level = b.create<scf::ForOp>(t->loc, t->number(1), t->number(levels + 1),
                                    t->number(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(level.getBody());
  Value stretch =
      b.create<arith::ShLIOp>(t->loc, t->number(1), level.getInductionVar());
  auto part = b.create<scf::ForOp>(t->loc, t->number(0),
                                   level.getInductionVar(), t->number(1));
  b.setInsertionPointToStart(part.getBody());
  Value shift =
      b.create<arith::AddIOp>(t->loc, part.getInductionVar(), t->number(1));
  Value distance = b.create<arith::ShRUIOp>(t->loc, stretch, shift);
  eachOf(places / 2, [&](Value pair) { compare(pair, distance, stretch); });
  t->barrier();
}

void SortPart::compare(Value pair, Value distance, Value stretch) {
  OpBuilder &b = t->b;
  // The first slot: the pair's number with a 0 inserted at the distance's bit.
  Value below = b.create<arith::AndIOp>(
      t->loc, pair, b.create<arith::SubIOp>(t->loc, distance, t->number(1)));
  Value above = b.create<arith::SubIOp>(t->loc, pair, below);
  Value first = t->add(t->mul(above, 2), below);
  Value second = t->add(first, distance);
  Item a = read(first), c = read(second);
  Value isOpposite =
      s->compare(arith::CmpIPredicate::ne,
                 b.create<arith::AndIOp>(t->loc, first, stretch), t->number(0));
  // Numbers differ unless both slots are empty, and these may be swapped.
  Value swaps = b.create<arith::XOrIOp>(t->loc, isBefore(c, a), isOpposite);
  write({t->select(swaps, c.value, a.value),
         t->select(swaps, c.number, a.number)},
        first);
  write({t->select(swaps, a.value, c.value),
         t->select(swaps, a.number, c.number)},
        second);
}

void SortPart::storeFirst() {
  eachOf(kept, [&](Value number) {
    Item item = read(number);
    Value position = s->add(
        s->mul(s->add(s->mul(lineOf, kept), t->wide(number)), inner), lineIn);
    s->store(element, item.value, values, position);
    s->store(t->b.getI64Type(), t->wide(item.number), indices, position);
  });
}

void SortPart::emit(Threads &threads, ArrayRef<Value> inputs,
                    ArrayRef<Value> outputs) {
  t = &threads;
  Scalar scalar(t->b, t->loc);
  s = &scalar;
  input = inputs[0];
  values = outputs[0];
  indices = outputs[1];
  shared = t->beginExchange(t->b.getI32Type(), 3 * places,
                            /*isRepeated=*/false);
  Value line = t->wide(t->block);
  lineOf = s->div(line, inner);
  lineIn = s->rem(line, inner);
  fill(s->number(0), 0);
  sort();
  if (size > places) {
    int64_t fresh = places - kept;
    auto loop = t->b.create<scf::ForOp>(t->loc, s->number(places),
                                        s->number(size), s->number(fresh));
    OpBuilder::InsertionGuard guard(t->b);
    t->b.setInsertionPointToStart(loop.getBody());
    fill(loop.getInductionVar(), kept);
    sort();
  }
  storeFirst();
}

} // namespace

std::unique_ptr<BlockPart> createSortPart(Operation *op) {
  auto topK = dyn_cast<ir::TopKOp>(op);
  if (!topK || topK.getK() == 0 || lineSize(topK) < kShortLine ||
      lineSize(topK) > std::numeric_limits<int32_t>::max() ||
      linesOf(topK) >= kManyLines ||
      (lineSize(topK) > kPlaces && topK.getK() > kMostKept))
    return nullptr;
  return std::make_unique<SortPart>(topK);
}

} // namespace sinter::gpu
