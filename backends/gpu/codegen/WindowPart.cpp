//===- WindowPart.cpp - gradients of windows ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Windows may overlap, so threads that added the gradients of windows would
// write to the same elements. Here every element has one thread, which adds
// the gradients in the order of the windows. Two mappings:
//
// - Gather: a thread has an element of the result, or a vector of channels. It
//   visits the windows over the element, and reads each of them again to see
//   whether the element is the one that the window chose.
// - Own windows: a thread has a window, or all windows along the dimensions
//   where they overlap, with the elements that only these windows cover. It
//   reads each window once.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/UnitKernel.h"
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/WindowForm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sinter::gpu {

namespace {

constexpr int64_t kWindowThreads = 128;
/// The largest window whose elements are all loaded before the first is used.
constexpr int64_t kUnrolledWindow = 9;
/// About as many threads as a GPU executes at a time.
constexpr double kThreadsOfGpu = 1 << 17;
/// How much longer a thread takes for an access if it updates memory: each
/// access waits for the one before, and neighbours write to different lines.
constexpr double kUpdateCost = 4;

/// What both mappings do.
class WindowPart : public BlockPart {
public:
  WindowPart(WindowForm formIn, int64_t units)
      : form(std::move(formIn)), units(units) {}

  int64_t threads() const override { return kWindowThreads; }
  int64_t blocks(int64_t blockThreads) const override {
    return llvm::divideCeil(units, blockThreads);
  }
  int64_t reach() const override { return form.reach; }

  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override {
    t = &threads;
    codegen::Scalar scalar(t->b, t->loc);
    s = &scalar;
    x = inputs[0];
    grad = inputs[1];
    result = outputs[0];
    Value unit = t->add(t->mul(t->block, t->blockThreads), t->thread);
    bool isExact = units % t->blockThreads == 0;
    t->when(isExact ? Value() : t->isLess(unit, units),
            [&] { emitUnit(unit); });
  }

protected:
  using Values = SmallVector<Value>;
  /// Gets an element's position, whether it is inside (null: it is),
  /// and the carried values; returns the next of these.
  using Body = llvm::function_ref<Values(Value, Value, ValueRange)>;

  virtual void emitUnit(Value unit) = 0;

  Values loop(Value lower, Value upper, ValueRange carried,
              llvm::function_ref<Values(Value, ValueRange)> body) {
    auto steps =
        t->b.create<scf::ForOp>(t->loc, lower, upper, t->number(1), carried);
    OpBuilder::InsertionGuard guard(t->b);
    t->b.setInsertionPointToStart(steps.getBody());
    Values next = body(steps.getInductionVar(), steps.getRegionIterArgs());
    // A loop that carries nothing has its end already.
    if (!carried.empty())
      t->b.create<scf::YieldOp>(t->loc, next);
    return Values(steps.getResults());
  }

  /// Visits the elements of a window in order. `starts`: where it begins, low
  /// padding included. `position`: the sum of what other dimensions add.
  Values overWindow(ArrayRef<Value> starts, Value position, ValueRange carried,
                    Body body, Value isInside = nullptr) {
    if (starts.empty())
      return body(position, isInside, carried);
    const WindowDim &dim = form.dims[form.dims.size() - starts.size()];
    auto visit = [&](Value k, ValueRange values) {
      Value at = t->add(t->add(starts.front(), t->mul(k, dim.dilation)),
                        t->number(-dim.low));
      Value inside = isInside;
      if (dim.low > 0 || dim.high > 0)
        inside = t->both(inside, t->isLess(at, dim.in));
      return overWindow(starts.drop_front(),
                        t->add(position, t->mul(at, dim.step)), values, body,
                        inside);
    };
    if (form.windowSize() <= kUnrolledWindow) {
      Values values(carried);
      for (int64_t k = 0; k < dim.window; ++k)
        values = visit(t->number(k), values);
      return values;
    }
    return loop(t->number(0), t->number(dim.window), carried, visit);
  }

  Type vectorOf(Type type, int64_t count) {
    return count == 1 ? type : VectorType::get({count}, type);
  }
  Value zeros(int64_t count) {
    return t->b.create<arith::ConstantOp>(
        t->loc, t->b.getZeroAttr(
                    vectorOf(s->emitter.computeType(form.element), count)));
  }
  Value load(Value pointer, Value position, int64_t count) {
    Type memory = s->emitter.storageType(form.element);
    return s->emitter.fromMemory(
        t->b.create<LLVM::LoadOp>(t->loc, vectorOf(memory, count),
                                  t->elementAddress(pointer, memory, position),
                                  bytes(count)),
        form.element);
  }
  void store(Value value, Value position, int64_t count) {
    Type memory = s->emitter.storageType(form.element);
    t->b.create<LLVM::StoreOp>(t->loc, s->emitter.toMemory(value, form.element),
                               t->elementAddress(result, memory, position),
                               bytes(count));
  }
  unsigned bytes(int64_t count) {
    return count * ir::elementSizeBytes(form.element);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return t->b.create<arith::CmpFOp>(t->loc, predicate, a, b);
  }
  Value either(Value a, Value b) {
    return t->b.create<arith::OrIOp>(t->loc, a, b);
  }
  Value minimum(Value x, int64_t y) {
    return t->select(t->isLess(x, y), x, t->number(y));
  }

  WindowForm form;
  const int64_t units;

  // While code is emitted.
  Threads *t = nullptr;
  codegen::Scalar *s = nullptr;
  Value x, grad, result;
};

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

class GatherPart : public WindowPart {
public:
  explicit GatherPart(const WindowForm &form)
      : WindowPart(form, form.elements() / form.lanes) {}

  /// Comparisons of all units, or of as many as a GPU executes at a time.
  static double cost(const WindowForm &form) {
    double covering = 1;
    for (const WindowDim &dim : form.dims)
      covering *= dim.covering();
    double reads = form.isSum ? 1 : form.windowSize() + 1;
    return (covering * reads + 2) *
           std::max<double>(form.elements(), kThreadsOfGpu);
  }

private:
  void emitUnit(Value unit) override {
    own = t->mul(unit, form.lanes);
    int64_t pieces = form.inner / form.lanes;
    Value channel = t->mul(t->rem(unit, pieces), form.lanes);
    Value rest = t->div(unit, pieces);
    indices.assign(form.dims.size(), nullptr);
    for (int64_t d = form.dims.size() - 1; d >= 0; --d) {
      indices[d] = t->rem(rest, form.dims[d].in);
      rest = t->div(rest, form.dims[d].in);
    }
    base = t->add(t->mul(rest, form.plane * form.inner), channel);
    value = form.isSum ? Value() : load(x, own, form.lanes);
    isNumber = value ? compare(arith::CmpFPredicate::ORD, value, value) : value;
    starts.clear();
    Value gradAt = t->add(t->mul(rest, form.gradPlane * form.inner), channel);
    store(addWindows(gradAt, nullptr, zeros(form.lanes)), own, form.lanes);
  }

  /// Adds the gradients of the windows over the element to `sum`. The windows
  /// begin at `starts` in the first dimensions; `isCovered` (null: yes): their
  /// dilated elements meet this one there.
  Value addWindows(Value gradAt, Value isCovered, Value sum) {
    if (starts.size() == form.dims.size())
      return addIfCovered(gradAt, isCovered, sum);
    const WindowDim &dim = form.dims[starts.size()];
    Value at = t->add(indices[starts.size()], t->number(dim.low));
    int64_t span = dim.span();
    Value first = t->number(0);
    if (dim.padded() > span) {
      Value later = t->add(t->div(t->add(at, t->number(-span)), dim.stride),
                           t->number(1));
      first = t->select(t->isLess(at, span), first, later);
    }
    Value end = minimum(t->add(t->div(at, dim.stride), t->number(1)), dim.out);
    return loop(first, end, {sum}, [&](Value window, ValueRange sums) {
      Value start = t->mul(window, dim.stride);
      Value covered = isCovered;
      if (dim.dilation > 1)
        covered = t->both(
            covered,
            t->isLess(t->rem(t->b.create<arith::SubIOp>(t->loc, at, start),
                             dim.dilation),
                      1));
      starts.push_back(start);
      Value next = addWindows(t->add(gradAt, t->mul(window, dim.gradStep)),
                              covered, sums[0]);
      starts.pop_back();
      return Values{next};
    })[0];
  }

  Value addIfCovered(Value gradAt, Value isCovered, Value sum) {
    if (!isCovered)
      return addWindow(gradAt, sum);
    auto branch = t->b.create<scf::IfOp>(t->loc, sum.getType(), isCovered,
                                         /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t->b);
    t->b.setInsertionPointToStart(branch.thenBlock());
    t->b.create<scf::YieldOp>(t->loc, addWindow(gradAt, sum));
    t->b.setInsertionPointToStart(branch.elseBlock());
    t->b.create<scf::YieldOp>(t->loc, sum);
    return branch.getResult(0);
  }

  /// Rounds as if the sum were in memory.
  Value addWindow(Value gradAt, Value sum) {
    Value next = s->emitter.combine(ir::ReduceKind::sum, form.element, sum,
                                    load(grad, gradAt, form.lanes));
    next = s->emitter.fromMemory(s->emitter.toMemory(next, form.element),
                                 form.element);
    if (form.isSum)
      return next;
    return t->b.create<arith::SelectOp>(t->loc, isBeaten(), sum, next);
  }

  /// Whether the window at `starts` chose another element. It chose the first
  /// of the largest; a NaN is larger than every number. An element comes before
  /// another one in a window if it does so in memory.
  Value isBeaten() {
    Value none = t->b.create<arith::ConstantOp>(
        t->loc, t->b.getZeroAttr(isNumber.getType()));
    return overWindow(
        starts, base, {none},
        [&](Value position, Value isInside, ValueRange beaten) -> Values {
          // An element does not beat itself.
          if (isInside)
            position = t->select(isInside, position, own);
          Value other = load(x, position, form.lanes);
          Value isBefore = t->b.create<arith::CmpIOp>(
              t->loc, arith::CmpIPredicate::ult, position, own);
          Value isLarger = t->both(
              isNumber, compare(arith::CmpFPredicate::UGT, other, value));
          Value isAsLarge =
              either(compare(arith::CmpFPredicate::UNO, other, other),
                     compare(arith::CmpFPredicate::OGE, other, value));
          return {either(either(beaten[0], isLarger),
                         t->both(spread(isBefore), isAsLarge))};
        })[0];
  }

  /// `condition` for each lane.
  Value spread(Value condition) {
    if (form.lanes == 1)
      return condition;
    return t->b.create<vector::SplatOp>(
        t->loc, VectorType::get({form.lanes}, condition.getType()), condition);
  }

  // While code is emitted.
  Value own, value, isNumber; // the element's position; of x
  Value base;                 // of its plane, plus its channel
  Values indices, starts;
};

//===----------------------------------------------------------------------===//
// Own windows
//===----------------------------------------------------------------------===//

class OwnWindowsPart : public WindowPart {
public:
  explicit OwnWindowsPart(const WindowForm &form)
      : WindowPart(form, unitsOf(form)) {}

  static double cost(const WindowForm &form) {
    double elements = 1, windows = 1;
    for (const WindowDim &dim : form.dims) {
      elements *= dim.isDisjoint() ? dim.stride : dim.in;
      windows *= dim.isDisjoint() ? 1 : dim.out;
    }
    double accesses =
        form.isSum ? 2 * form.windowSize() : form.windowSize() + 1;
    return kUpdateCost * (elements + windows * accesses) *
           std::max<double>(unitsOf(form), kThreadsOfGpu);
  }

private:
  static int64_t unitsOf(const WindowForm &form) {
    if (form.elements() == 0)
      return 0;
    int64_t units = form.outer * form.inner;
    for (const WindowDim &dim : form.dims)
      if (dim.isDisjoint())
        units *= dim.out;
    return units;
  }

  void emitUnit(Value unit) override {
    Value channel = t->rem(unit, form.inner), rest = t->div(unit, form.inner);
    windows.assign(form.dims.size(), nullptr);
    for (int64_t d = form.dims.size() - 1; d >= 0; --d) {
      if (!form.dims[d].isDisjoint())
        continue;
      windows[d] = t->rem(rest, form.dims[d].out);
      rest = t->div(rest, form.dims[d].out);
    }
    base = t->add(t->mul(rest, form.plane * form.inner), channel);
    clear(0, base);
    starts.clear();
    addWindows(t->add(t->mul(rest, form.gradPlane * form.inner), channel));
  }

  /// Stores zeros from dimension `d` on. A window's elements go up to the next
  /// window; those of the first and the last window, up to the edge.
  void clear(size_t d, Value position) {
    if (d == form.dims.size())
      return store(zeros(1), position, 1);
    const WindowDim &dim = form.dims[d];
    Value begin = t->number(0), end = t->number(dim.in);
    if (windows[d]) {
      auto inside = [&](Value padded) {
        Value at = t->select(t->isLess(padded, dim.low), t->number(0),
                             t->add(padded, t->number(-dim.low)));
        return minimum(at, dim.in);
      };
      Value next = t->add(windows[d], t->number(1));
      begin = inside(t->mul(windows[d], dim.stride));
      end = t->select(t->isLess(next, dim.out),
                      inside(t->mul(next, dim.stride)), end);
    }
    loop(begin, end, {}, [&](Value at, ValueRange) -> Values {
      clear(d + 1, t->add(position, t->mul(at, dim.step)));
      return {};
    });
  }

  /// Visits the unit's windows in order.
  void addWindows(Value gradAt) {
    size_t d = starts.size();
    if (d == form.dims.size())
      return addWindow(load(grad, gradAt, 1));
    const WindowDim &dim = form.dims[d];
    auto visit = [&](Value window) {
      starts.push_back(t->mul(window, dim.stride));
      addWindows(t->add(gradAt, t->mul(window, dim.gradStep)));
      starts.pop_back();
    };
    if (windows[d])
      return visit(windows[d]);
    loop(t->number(0), t->number(dim.out), {},
         [&](Value window, ValueRange) -> Values {
           visit(window);
           return {};
         });
  }

  void addWindow(Value gradient) {
    auto addTo = [&](Value position) {
      s->update(ir::ScatterKind::sum, form.element, result, position, gradient);
    };
    if (form.isSum) {
      overWindow(starts, base, {},
                 [&](Value position, Value isInside, ValueRange) -> Values {
                   t->when(isInside, [&] { addTo(position); });
                   return {};
                 });
      return;
    }
    // The first of the largest elements; a NaN is larger than every number.
    Value no = t->b.create<arith::ConstantIntOp>(t->loc, 0, 1),
          yes = t->b.create<arith::ConstantIntOp>(t->loc, 1, 1);
    Values best = overWindow(
        starts, base, {t->number(0), zeros(1), no},
        [&](Value position, Value isInside, ValueRange carried) -> Values {
          if (!isInside)
            isInside = yes;
          Value other = load(x, t->select(isInside, position, base), 1);
          Value isLarger = t->both(
              compare(arith::CmpFPredicate::ORD, carried[1], carried[1]),
              compare(arith::CmpFPredicate::UGT, other, carried[1]));
          Value isFirst = t->b.create<arith::XOrIOp>(t->loc, carried[2], yes);
          Value take = t->both(isInside, either(isFirst, isLarger));
          return {t->select(take, position, carried[0]),
                  t->select(take, other, carried[1]),
                  either(carried[2], isInside)};
        });
    t->when(best[2], [&] { addTo(best[0]); });
  }

  // While code is emitted.
  Value base;             // of the unit's plane, plus its channel
  Values windows, starts; // null: all of the dimension
};

} // namespace

std::unique_ptr<BlockPart> createWindowPart(Operation *op) {
  auto grad = dyn_cast<ir::ReduceWindowGradOp>(op);
  if (!grad)
    return nullptr;
  // Gather has the most threads, but reads a window for each of its elements.
  // It would be quadratic for windows as large as an image.
  WindowForm form(grad);
  if (GatherPart::cost(form) <= OwnWindowsPart::cost(form))
    return std::make_unique<GatherPart>(form);
  return std::make_unique<OwnWindowsPart>(form);
}

} // namespace sinter::gpu
