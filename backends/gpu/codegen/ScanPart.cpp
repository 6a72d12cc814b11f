//===- ScanPart.cpp - threads that share a running sum --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A block has a line, or a part of one, and processes some groups of runs at a
// time (ReductionTree.h): each thread sums a run; one thread of each group sums
// the runs before each run of the group; every thread sums the groups before
// its own. Each thread then reads its run again and stores the results.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ReductionTree.h"
#include "backends/common/codegen/ScanForm.h"
#include "backends/gpu/codegen/BlockPart.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::kGroupRuns;
using codegen::kRunSteps;
using codegen::Scalar;

namespace {

/// Groups that are processed at a time.
constexpr int64_t kGroups = 8;
constexpr int64_t kScanThreads = kGroups * kGroupRuns;
/// With at least this many lines, or parts, each thread has one.
constexpr int64_t kManyLines = 1 << 13;

class ScanPart : public BlockPart {
public:
  explicit ScanPart(const codegen::ScanForm &form)
      : form(form), element(form.element) {}

  int64_t threads() const override { return kScanThreads; }
  int64_t workers(int64_t) const override { return threads(); }
  int64_t blocks(int64_t) const override { return form.units(); }
  int64_t reach() const override { return 0; } // positions are i64
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;

private:
  Value combine(Value x, Value y) {
    return s->emitter.combine(form.kind, element, x, y);
  }
  Value none() { return s->emitter.identity(form.kind, element); }
  Value sharedPlace(Value number, int64_t first);
  /// The groups of a round that may have elements.
  int64_t groups() const {
    return std::min<int64_t>(
        kGroups, llvm::divideCeil(form.part, kGroupRuns * kRunSteps));
  }
  Value load(Value place);
  void store(Value value, Value place);
  Value eachStep(llvm::function_ref<void(Value, Value, Value)> body);
  Value emitGroups(Value before);

  codegen::ScanForm form;
  Type element;

  // While code is emitted.
  Threads *t = nullptr;
  Scalar *s = nullptr;
  Value input, output, shared;
  codegen::ScanForm::Unit unit;
  Value run, group; // of this thread, i32
  Value firstStep;  // of this thread's run in the line, i64
};

/// The address of element `first` + `number` of the shared array: sums of runs,
/// then the sum before each run (from kScanThreads on), then sums of groups
/// (from 2 kScanThreads on).
Value ScanPart::sharedPlace(Value number, int64_t first) {
  return t->elementAddress(shared, s->emitter.computeType(element),
                           t->add(number, t->number(first)));
}
Value ScanPart::load(Value place) {
  return t->b.create<LLVM::LoadOp>(t->loc, s->emitter.computeType(element),
                                   place);
}
void ScanPart::store(Value value, Value place) {
  t->b.create<LLVM::StoreOp>(t->loc, value, place);
}

/// The sum of this thread's run. `body` gets the position of each element and
/// the sums without and with it.
Value ScanPart::eachStep(llvm::function_ref<void(Value, Value, Value)> body) {
  Value left = s->sub(unit.end, firstStep);
  // The loops of runs after the end have no steps.
  return s->carry(s->number(0), s->minimum(s->number(kRunSteps), left),
                  {none()},
                  [&](Value i, ValueRange before) -> SmallVector<Value> {
                    Value at = form.position(*s, unit, s->add(firstStep, i));
                    Value sum = combine(before[0], s->load(element, input, at));
                    if (body)
                      body(at, before[0], sum);
                    return {sum};
                  })[0];
}

/// Processes the next kGroups groups; returns the sum of them and all before.
Value ScanPart::emitGroups(Value before) {
  store(eachStep(nullptr), sharedPlace(run, 0));
  t->barrier();
  t->when(t->isLess(run, groups()), [&] {
    Value first = t->mul(run, kGroupRuns);
    Value sum = none();
    for (int64_t i = 0; i < kGroupRuns; ++i) {
      Value at = t->add(first, t->number(i));
      store(sum, sharedPlace(at, kScanThreads));
      sum = combine(sum, load(sharedPlace(at, 0)));
    }
    store(sum, sharedPlace(run, 2 * kScanThreads));
  });
  t->barrier();
  Value all = before, own = before;
  for (int64_t i = 0; i < groups(); ++i) {
    if (i > 0)
      own = t->select(t->isAtLeast(group, i), all, own);
    all = combine(all, load(sharedPlace(t->number(i), 2 * kScanThreads)));
  }
  Value base = combine(own, load(sharedPlace(run, kScanThreads)));
  eachStep([&](Value at, Value exclusive, Value inclusive) {
    s->store(element, combine(base, form.isExclusive ? exclusive : inclusive),
             output, at);
  });
  return all;
}

void ScanPart::emit(Threads &threads, ArrayRef<Value> inputs,
                    ArrayRef<Value> outputs) {
  t = &threads;
  Scalar scalar(t->b, t->loc);
  s = &scalar;
  input = inputs[0];
  output = outputs[0];
  shared = t->beginExchange(s->emitter.computeType(element),
                            2 * kScanThreads + kGroups, /*isRepeated=*/false);
  unit = form.emitUnit(*s, t->wide(t->block), inputs);
  run = t->thread;
  group = t->div(run, kGroupRuns);
  Value first = s->add(unit.first, s->mul(t->wide(run), kRunSteps));
  constexpr int64_t kStepsTogether = kScanThreads * kRunSteps;
  int64_t rounds = llvm::divideCeil(form.part, kStepsTogether);
  if (rounds == 1) {
    firstStep = first;
    emitGroups(unit.start);
    return;
  }
  s->carry(s->number(0), s->number(rounds), {unit.start},
           [&](Value round, ValueRange before) -> SmallVector<Value> {
             firstStep = s->add(s->mul(round, kStepsTogether), first);
             return {emitGroups(before[0])};
           });
}

} // namespace

std::unique_ptr<BlockPart> createScanPart(Operation *op) {
  std::optional<codegen::ScanForm> form = codegen::ScanForm::of(op);
  if (!form || form->part <= 2 * kRunSteps || form->units() >= kManyLines)
    return nullptr;
  return std::make_unique<ScanPart>(*form);
}

} // namespace sinter::gpu
