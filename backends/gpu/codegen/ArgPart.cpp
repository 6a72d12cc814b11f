//===- ArgPart.cpp - threads that share an arg_reduce ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// arg_reduce: each of N threads of a row examines every N-th element; the
// threads then combine what they found. Among equal elements the first (or the
// last) wins, whichever thread found it, so that the result is that of a single
// thread.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/gpu/codegen/BlockPart.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using codegen::Found;
using codegen::Nest;
using codegen::Root;

namespace {

/// Rows of at least kLongRow elements have a block of their own.
constexpr int64_t kLongRow = 2048, kLongRowThreads = 256;
/// With at least this many rows that are not contiguous, each thread has a row,
/// so that neighbouring threads read neighbouring elements.
constexpr int64_t kManyRows = 1 << 13;

int64_t rowsOf(const Nest &nest) {
  int64_t rows = 1;
  for (auto [loop, size] : llvm::enumerate(nest.domain.sizes))
    if (!nest.domain.isReduced(loop))
      rows *= size;
  return rows;
}

class ArgPart : public BlockPart, codegen::ArgSharer {
public:
  explicit ArgPart(std::shared_ptr<Nest> nestIn)
      : nest(std::move(nestIn)),
        size(nest->domain.sizes[nest->domain.reduced[0]]), rows(rowsOf(*nest)),
        sharers(size >= kLongRow ? kLongRowThreads : kWarpThreads) {
    for (auto [loop, steps] : llvm::enumerate(nest->domain.sizes))
      if (steps > 1 && !nest->domain.isReduced(loop))
        unitLoops.push_back(loop);
  }

  int64_t threads() const override {
    return std::max<int64_t>(sharers, 4 * kWarpThreads);
  }
  int64_t blocks(int64_t blockThreads) const override {
    return llvm::divideCeil(rows, blockThreads / sharers);
  }
  int64_t reach() const override { return reachOf(*nest); }
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;
  Found combine(ElementEmitter &emitter, ir::ArgReduceOp op,
                Found found) override;

private:
  static Found better(ElementEmitter &emitter, ir::ArgReduceOp op, Found a,
                      Found b);
  Found combineWarps(ElementEmitter &emitter, ir::ArgReduceOp op, Found found);

  std::shared_ptr<Nest> nest;
  int64_t size, rows;
  int64_t sharers; // threads of a row
  SmallVector<unsigned> unitLoops;
  Threads *t = nullptr; // while code is emitted
};

void ArgPart::emit(Threads &threads, ArrayRef<Value> inputs,
                   ArrayRef<Value> outputs) {
  t = &threads;
  ElementEmitter emitter(t->b, t->loc, nest->domain);
  enterNest(emitter, *t, *nest, inputs, outputs);
  // Blocks have only whole rows.
  int64_t together = t->blockThreads / sharers;
  Value row = t->add(t->mul(t->block, together), t->div(t->thread, sharers));
  Value number = t->rem(t->thread, sharers);
  Value isRow;
  if (rows % together != 0 || t->blockThreads % sharers != 0) {
    isRow = t->isLess(row, rows);
    if (t->blockThreads % sharers != 0)
      isRow = t->both(isRow, t->isLess(t->thread, together * sharers));
  }
  setLoopsToStep(emitter, *t, unitLoops, row);
  emitter.setGuard(isRow);
  emitter.setArgSharer(t->wide(number), sharers, this);
  SmallVector<Value> values;
  for (const Root &root : nest->roots)
    values.push_back(emitter.element(root.value, root.read));
  t->when(t->both(isRow, t->isLess(number, 1)), [&] {
    for (auto [root, value] : llvm::zip_equal(nest->roots, values))
      emitter.store(value, root.type, root.pointer, root.write);
  });
}

Found ArgPart::better(ElementEmitter &emitter, ir::ArgReduceOp op, Found a,
                      Found b) {
  OpBuilder &builder = emitter.builder;
  Value aFirst = emitter.isBeyond(op, a.value, b.value),
        bFirst = emitter.isBeyond(op, b.value, a.value);
  Value inOrder = builder.create<arith::CmpIOp>(emitter.loc,
                                                op.getSelectLast()
                                                    ? arith::CmpIPredicate::ugt
                                                    : arith::CmpIPredicate::ult,
                                                a.position, b.position);
  Value ofEqual = emitter.select(
      bFirst, emitter.constantInt(builder.getI1Type(), 0), inOrder);
  Value takesA = builder.create<arith::OrIOp>(emitter.loc, aFirst, ofEqual);
  return {emitter.select(takesA, a.value, b.value),
          emitter.select(takesA, a.position, b.position)};
}

Found ArgPart::combine(ElementEmitter &emitter, ir::ArgReduceOp op,
                       Found found) {
  for (int64_t mask = kWarpThreads / 2; mask > 0; mask /= 2)
    found = better(emitter, op, found,
                   {t->shuffleXor(found.value, mask),
                    t->shuffleXor(found.position, mask)});
  return sharers > kWarpThreads ? combineWarps(emitter, op, found) : found;
}

/// Combines what the row's warps found, through shared memory: positions, then
/// values.
Found ArgPart::combineWarps(ElementEmitter &emitter, ir::ArgReduceOp op,
                            Found found) {
  OpBuilder &b = t->b;
  constexpr int64_t kBytes = 8;
  int64_t warps = t->blockThreads / kWarpThreads,
          ofRow = sharers / kWarpThreads;
  Type i64 = b.getI64Type(), value = found.value.getType();
  Value array = t->beginExchange(i64, 2 * warps, /*isRepeated=*/false);
  auto place = [&](Value warp, int64_t first) {
    return t->elementAddress(
        array, b.getI8Type(),
        t->add(t->mul(warp, kBytes), t->number(first * kBytes)));
  };
  Value warp = t->div(t->thread, kWarpThreads);
  t->when(t->isLess(t->rem(t->thread, kWarpThreads), 1), [&] {
    b.create<LLVM::StoreOp>(t->loc, found.position, place(warp, 0));
    b.create<LLVM::StoreOp>(t->loc, found.value, place(warp, warps));
  });
  t->barrier();
  Value first = t->mul(t->div(warp, ofRow), ofRow);
  Found all;
  for (int64_t i = 0; i < ofRow; ++i) {
    Value from = t->add(first, t->number(i));
    if (warps % ofRow != 0) // some warps have no row
      from = b.create<arith::MinUIOp>(t->loc, from, t->number(warps - 1));
    Found one{b.create<LLVM::LoadOp>(t->loc, value, place(from, warps)),
              b.create<LLVM::LoadOp>(t->loc, i64, place(from, 0))};
    all = i == 0 ? one : better(emitter, op, all, one);
  }
  return all;
}

} // namespace

bool hasSharedArg(const Nest &nest) {
  if (nest.body.getOps<ir::ArgReduceOp>().empty() ||
      !nest.body.getOps<ir::ReduceOp>().empty() ||
      llvm::any_of(nest.roots,
                   [&](const Root &root) { return nest.isOverAllLoops(root); }))
    return false;
  unsigned loop = nest.domain.reduced[0];
  int64_t size = nest.domain.sizes[loop];
  return size >= kWarpThreads &&
         (nest.reductionLoop() == loop || rowsOf(nest) < kManyRows);
}

std::unique_ptr<BlockPart> createArgPart(std::shared_ptr<Nest> nest) {
  return std::make_unique<ArgPart>(std::move(nest));
}

} // namespace sinter::gpu
