//===- RowPart.cpp - threads that share a row -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Reductions along contiguous rows: softmax, normalisations, losses, sums. A
// group of threads holds the lanes of the reduction's tree (ReductionTree.h), a
// few neighbouring lanes per thread. Each chunk of passes has its own group,
// and all groups of a row are in one block. Elements that a thread read stay in
// its registers for other uses in the row. If a row has more chunks than a
// block has groups, there are several rounds, and elements stay in shared
// memory (KeptElements.h).
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/ReductionTree.h"
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/KeptElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using codegen::kChunkPasses;
using codegen::Root;
using ir::Index;
using ir::IndexVector;

bool hasSharedRows(const codegen::Nest &nest) {
  std::optional<unsigned> loop =
      nest.hasReduction() ? nest.reductionLoop() : std::nullopt;
  return loop && nest.domain.isReduced(*loop) &&
         nest.body.getOps<ir::ArgReduceOp>().empty();
}

namespace {

/// Threads of a group, if there are enough lanes.
constexpr int64_t kGroupThreads = 16;
constexpr int64_t kRowThreads = 128;
/// The most of a row with several rounds. With more, a thread has too few
/// registers for its pieces of a round.
constexpr int64_t kRoundThreads = 800;
/// A thread's piece of one pass; `loop` replaces the row's loop.
struct Piece {
  unsigned loop;
  Value inside; // null: always
};

class RowPart : public BlockPart, codegen::LaneReducer {
public:
  RowPart(std::shared_ptr<codegen::Nest> nest, bool isAlone);

  int64_t threads() const override {
    int64_t wanted = llvm::alignTo(rowThreads, kWarpThreads);
    return sharesBlock() ? std::max(kRowThreads, wanted) : wanted;
  }
  int64_t blocks(int64_t blockThreads) const override {
    return llvm::divideCeil(rows, rowsPerBlock(blockThreads));
  }
  int64_t reach() const override { return reachOf(*nest); }
  std::optional<BlockRows> blockRows(int64_t blockThreads) const override {
    if (blockThreads < rowThreads)
      return std::nullopt;
    return BlockRows{rows, rowsPerBlock(blockThreads)};
  }
  bool readsOwnRows(unsigned input) const override {
    return readsRowsOf(*nest, unitLoops, input);
  }
  bool writesOwnRows(unsigned output) const override {
    return writesRowsOf(*nest, unitLoops, output);
  }
  bool readOfOther() override {
    hasReadOfOther |= isReducing;
    return isReducing;
  }
  int64_t dynamicBytes(const Intrinsics &intrinsics,
                       int64_t blockThreads) const override;
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;
  Value reduce(ElementEmitter &emitter, ir::ReduceOp op, ArrayRef<Index> input,
               unsigned level) override;

private:
  /// Whether a block has several rows. Groups that exchange through shared
  /// memory need a block for their row alone.
  bool sharesBlock() const { return groups <= 2 && !isAlone; }
  int64_t rowsPerBlock(int64_t blockThreads) const {
    return sharesBlock() && rows > 1 ? blockThreads / rowThreads : 1;
  }
  int64_t passes() const { // of a chunk
    return std::min<int64_t>(kChunkPasses, llvm::divideCeil(size, lanes));
  }
  Piece piece(ElementEmitter &emitter, Value position, int64_t pass,
              int64_t part);
  void makePieces(ElementEmitter &emitter, Value first,
                  llvm::function_ref<void(const Piece &)> visit);
  void forPieces(ElementEmitter &emitter, Value first,
                 llvm::function_ref<void(const Piece &, int64_t number)> body);
  SmallVector<Value> reduceChunk(ElementEmitter &emitter, ir::ReduceOp op,
                                 ArrayRef<Index> input, unsigned level,
                                 Value first);
  Value reduceOverGroups(ElementEmitter &emitter, ir::ReduceOp op,
                         ArrayRef<Index> input, unsigned level);
  SmallVector<Value> addChunks(ElementEmitter &emitter, ir::ReduceOp op,
                               ArrayRef<Value> sums, ArrayRef<Value> partial,
                               bool isRepeated);
  Value combineLanes(ElementEmitter &emitter, ir::ReduceKind kind, Type element,
                     SmallVector<Value> sums);
  Value isInFirstWarp() { return t->isLess(inRow, kWarpThreads); }
  Value sumAddress(Value groupNumber, int64_t part);
  void emitRow(ElementEmitter &emitter);
  void emitSteps(ElementEmitter &emitter, unsigned level,
                 ArrayRef<Root *> results);
  void storePieces(ElementEmitter &emitter, Value first,
                   ArrayRef<Root *> results);
  Value chunkStart(ElementEmitter &emitter, Value chunk);
  IndexVector along(ArrayRef<Index> index, unsigned loop) const {
    return replacedLoop(index, rowLoop, loop);
  }

  std::shared_ptr<codegen::Nest> nest;
  const ir::Domain &domain;
  bool isAlone; // no other row is in its block
  unsigned rowLoop;
  int64_t size;   // steps of the row's loop
  int64_t lanes;  // of the tree
  int64_t vector; // neighbouring lanes of a thread, moved together
  int64_t parts;  // vectors, or single elements, of a thread in one pass
  int64_t group;  // threads of a group
  int64_t chunks; // of the row
  int64_t groups; // groups of a row: one per chunk, if there are enough threads
  int64_t rounds; // chunks per group
  int64_t rowThreads;
  int64_t rows = 1;
  SmallVector<unsigned> unitLoops;  // kept loops, outermost first
  std::optional<KeptElements> kept; // if there are several rounds

  // While code is emitted.
  Threads *t = nullptr;
  Value lane;                // the first of this thread's lanes, i64
  Value inRow;               // number of this thread in its row, a count
  Value groupHere;           // that of this thread's group
  Value isActive;            // this thread has a row; null: always
  std::vector<Piece> pieces; // of the row, if there is one round
  Value exchange;            // the block's shared memory
  Value laneAddress;         // of this thread's first lane of group 0 there
  Type exchangedElement;     // what is in it
  bool isReducing = false;   // no results have been stored
  bool hasReadOfOther = false;
};

RowPart::RowPart(std::shared_ptr<codegen::Nest> nestIn, bool isAlone)
    : nest(std::move(nestIn)), domain(nest->domain), isAlone(isAlone),
      rowLoop(*nest->reductionLoop()), size(domain.sizes[rowLoop]),
      lanes(codegen::reductionLanes(size)) {
  // Vectors of four lanes for every type: 16 bytes of the most common one.
  constexpr int64_t kVector = 4;
  bool isVector = size % kVector == 0 && lanes >= kVector &&
                  vectorElements(*nest, rowLoop) % 2 == 0;
  vector = isVector ? kVector : 1;
  group = isVector ? lanes / vector : std::min(lanes, kGroupThreads);
  parts = lanes / (group * vector);
  chunks = llvm::divideCeil(llvm::divideCeil(size, lanes), kChunkPasses);
  rounds = chunks * group <= kMaxBlockThreads
               ? 1
               : llvm::divideCeil(chunks, kRoundThreads / group);
  groups = llvm::divideCeil(chunks, rounds);
  rowThreads = group * groups;
  if (rounds > 1)
    kept.emplace(*nest, rowLoop, rounds, passes() * parts, vector);
  for (auto [loop, loopSize] : llvm::enumerate(domain.sizes)) {
    if (loopSize == 1 || domain.isReduced(loop))
      continue;
    unitLoops.push_back(loop);
    rows *= loopSize;
  }
}

//===----------------------------------------------------------------------===//
// Assignment of rows to threads
//===----------------------------------------------------------------------===//

void RowPart::emit(Threads &threads, ArrayRef<Value> inputs,
                   ArrayRef<Value> outputs) {
  t = &threads;
  ElementEmitter emitter(t->b, t->loc, domain);
  enterNest(emitter, threads, *nest, inputs, outputs);

  int64_t perBlock = rowsPerBlock(t->blockThreads);
  inRow = t->thread;
  Value row = t->block;
  isActive = nullptr;
  // Without a guard, threads beyond the block's only group read the same row,
  // which is harmless: they store nothing.
  bool isHarmless = perBlock == 1 && groups == 1 && rowThreads > 1 &&
                    llvm::none_of(nest->roots, [&](const Root &root) {
                      return nest->isOverAllLoops(root);
                    });
  if (perBlock * rowThreads < t->blockThreads && !isHarmless)
    isActive = t->isLess(t->thread, perBlock * rowThreads);
  if (perBlock > 1) {
    inRow = t->rem(t->thread, rowThreads);
    row = t->add(t->mul(t->block, perBlock), t->div(t->thread, rowThreads));
  }
  // Threads without a row read nothing, but take part in barriers and shuffles.
  if (rows % perBlock != 0)
    isActive = t->both(isActive, t->isLess(row, rows));
  emitter.setGuard(isActive);
  lane = t->wide(t->mul(t->rem(inRow, group), vector));
  groupHere = t->div(inRow, group);
  setLoopsToStep(emitter, threads, unitLoops, row);
  pieces.clear();
  if (rounds == 1)
    makePieces(emitter, chunkStart(emitter, groupHere),
               [&](const Piece &piece) { pieces.push_back(piece); });
  emitter.setLaneReducer(rowLoop, this);
  if (kept)
    kept->begin(emitter, threads);
  emitRow(emitter);
}

/// Beside what the groups exchange.
int64_t RowPart::dynamicBytes(const Intrinsics &intrinsics,
                              int64_t blockThreads) const {
  if (!kept)
    return 0;
  int64_t widest = 32;
  for (auto op : nest->body.getOps<ir::ReduceOp>())
    widest = std::max<int64_t>(
        widest, op.getType().getElementType().getIntOrFloatBitWidth());
  int64_t exchanged = (groups * lanes + 1) * widest / 8;
  return kept->bytes(intrinsics.mostSharedBytes() - exchanged, blockThreads);
}

void RowPart::emitRow(ElementEmitter &emitter) {
  SmallVector<Root *> overAll, ofRow;
  for (Root &root : nest->roots)
    (nest->isOverAllLoops(root) ? overAll : ofRow).push_back(&root);
  isReducing = true;
  hasReadOfOther = false;
  for (Operation &op : nest->body)
    if (isa<ir::ReduceOp>(op))
      if (auto it = nest->indices.find(op.getResult(0));
          it != nest->indices.end())
        emitter.element(op.getResult(0), it->second);
  isReducing = false;
  if (hasReadOfOther && !overAll.empty())
    t->barrier(); // results may share the operands' memory
  if (!overAll.empty())
    emitSteps(emitter, 0, overAll);
  if (ofRow.empty())
    return;
  // One thread stores these results. It alone also reads operands that only
  // they need, because the results may share the operands' memory.
  Value isFirst = isActive;
  if (rowThreads > 1)
    isFirst = t->both(isFirst, t->isLess(inRow, 1));
  t->when(isFirst, [&] {
    emitter.pushFrame();
    SmallVector<Value> values;
    for (Root *root : ofRow)
      values.push_back(emitter.element(root->value, root->read));
    for (auto [root, value] : llvm::zip_equal(ofRow, values))
      emitter.store(value, root->type, root->pointer, root->write);
    emitter.popFrame();
  });
}

/// Results with an element per step of the reduced loops.
void RowPart::emitSteps(ElementEmitter &emitter, unsigned level,
                        ArrayRef<Root *> results) {
  OpBuilder &b = t->b;
  auto number = [&](int64_t value) {
    return emitter.constantInt(b.getI64Type(), value);
  };
  // The row's loop comes last: only its pieces are unrolled.
  SmallVector<unsigned> outer;
  for (unsigned loop : domain.reduced)
    if (loop != rowLoop && domain.sizes[loop] > 1)
      outer.push_back(loop);
  if (level < outer.size()) {
    auto steps = b.create<scf::ForOp>(
        t->loc, number(0), number(domain.sizes[outer[level]]), number(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    emitter.pushFrame();
    emitter.setLoop(outer[level], steps.getInductionVar());
    emitSteps(emitter, level + 1, results);
    emitter.popFrame();
    return;
  }
  if (rounds == 1)
    return storePieces(emitter, nullptr, results);
  kept->forRounds({}, [&](Value round, ValueRange) {
    Value chunk = t->add(t->mul(round, groups), groupHere);
    storePieces(emitter, chunkStart(emitter, chunk), results);
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Pieces of a row
//===----------------------------------------------------------------------===//

/// This thread's first position in chunk number `chunk`.
Value RowPart::chunkStart(ElementEmitter &emitter, Value chunk) {
  if (chunks == 1)
    return lane;
  Value start = emitter.builder.create<arith::MulIOp>(
      t->loc, t->wide(chunk),
      emitter.constantInt(t->b.getI64Type(), kChunkPasses * lanes));
  return t->b.create<arith::AddIOp>(t->loc, start, lane);
}

/// Piece number `part` of pass `pass` (-1: any) of a chunk. `position` is the
/// position of this thread's first piece of the pass.
Piece RowPart::piece(ElementEmitter &emitter, Value position, int64_t pass,
                     int64_t part) {
  Type i64 = t->b.getI64Type();
  auto number = [&](int64_t value) { return emitter.constantInt(i64, value); };
  int64_t offset = part * group;
  if (offset > 0)
    position = t->b.create<arith::AddIOp>(t->loc, position, number(offset));
  Piece result{0, nullptr};
  // No check is needed if even the last chunk has this whole pass.
  int64_t lastChunk = groups * rounds - 1;
  int64_t end = lastChunk * kChunkPasses * lanes + (pass + 1) * lanes;
  if (pass < 0 || end > size) {
    result.inside = t->b.create<arith::CmpIOp>(
        t->loc, arith::CmpIPredicate::ult, position, number(size));
  }
  Index index = emitter.dynamicIndex(position);
  result.loop = *index.asLoop();
  if (result.inside)
    emitter.setLoopGuard(result.loop, result.inside);
  return result;
}

/// Calls `visit` with the pieces of the chunk in which this thread's positions
/// begin at `first`, pass by pass.
void RowPart::makePieces(ElementEmitter &emitter, Value first,
                         llvm::function_ref<void(const Piece &)> visit) {
  for (int64_t pass = 0; pass < passes(); ++pass) {
    Value position = first;
    if (pass > 0)
      position = t->b.create<arith::AddIOp>(
          t->loc, first, emitter.constantInt(t->b.getI64Type(), pass * lanes));
    for (int64_t part = 0; part < parts; ++part)
      visit(piece(emitter, position, pass, part));
  }
}

/// Emits `body` for each piece and its number, with the lanes of its vector.
/// `first` as for makePieces; null: the pieces of the row.
void RowPart::forPieces(
    ElementEmitter &emitter, Value first,
    llvm::function_ref<void(const Piece &, int64_t number)> body) {
  int64_t number = 0;
  auto visit = [&](const Piece &piece) {
    emitter.setLanes(piece.loop, vector);
    if (kept)
      kept->enterPiece(piece.loop, number);
    body(piece, number++);
    if (kept)
      kept->leavePiece();
    emitter.clearLanes();
  };
  if (first)
    makePieces(emitter, first, visit);
  else
    llvm::for_each(pieces, visit);
}

/// `first` as for forPieces.
void RowPart::storePieces(ElementEmitter &emitter, Value first,
                          ArrayRef<Root *> results) {
  forPieces(emitter, first, [&](const Piece &piece, int64_t) {
    SmallVector<Value> values;
    for (Root *root : results)
      values.push_back(
          emitter.element(root->value, along(root->read, piece.loop)));
    t->when(t->both(isActive, piece.inside), [&] {
      for (auto [root, value] : llvm::zip_equal(results, values))
        emitter.store(value, root->type, root->pointer,
                      along(root->write, piece.loop));
    });
  });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value RowPart::reduce(ElementEmitter &emitter, ir::ReduceOp op,
                      ArrayRef<Index> input, unsigned level) {
  ir::ReduceKind kind = op.getKind();
  Type element = op.getType().getElementType();
  if (groups > 2)
    return reduceOverGroups(emitter, op, input, level);
  SmallVector<Value> sums = reduceChunk(emitter, op, input, level, nullptr);
  if (groups == 2) {
    emitter.setLanes(rowLoop, vector);
    for (Value &sum : sums)
      sum = emitter.combine(kind, element, sum, t->shuffleXor(sum, group));
    emitter.clearLanes();
  }
  return combineLanes(emitter, kind, element, sums);
}

/// Combines lanes pairwise, the most distant first: those of this thread, then
/// those of other threads, then neighbours.
Value RowPart::combineLanes(ElementEmitter &emitter, ir::ReduceKind kind,
                            Type element, SmallVector<Value> sums) {
  emitter.setLanes(rowLoop, vector);
  for (size_t half = sums.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i)
      sums[i] = emitter.combine(kind, element, sums[i], sums[i + half]);
    sums.resize(half);
  }
  for (int64_t distance = group / 2; distance > 0; distance /= 2)
    sums[0] = emitter.combine(kind, element, sums[0],
                              t->shuffleXor(sums[0], distance));
  emitter.clearLanes();
  return vector > 1 ? emitter.combineLanes(kind, element, sums[0]) : sums[0];
}

/// The sums in the lanes of this thread after one chunk.
SmallVector<Value> RowPart::reduceChunk(ElementEmitter &emitter,
                                        ir::ReduceOp op, ArrayRef<Index> input,
                                        unsigned level, Value first) {
  Type element = op.getType().getElementType();
  emitter.setLanes(rowLoop, vector);
  Value none = emitter.splat(emitter.identity(op.getKind(), element));
  emitter.clearLanes();
  SmallVector<Value> sums(parts, none);
  forPieces(emitter, first, [&](const Piece &piece, int64_t number) {
    Value x = emitter.splat(
        emitter.reducedElement(op, along(input, piece.loop), level));
    if (piece.inside)
      x = t->select(piece.inside, x, none);
    Value &sum = sums[number % parts];
    sum = emitter.combine(op.getKind(), element, sum, x);
  });
  return sums;
}

/// For rows whose groups are in several warps: each round reduces one chunk per
/// group. The first warp adds the chunks, in order, and gives all threads the
/// result; each of its groups does the same work.
Value RowPart::reduceOverGroups(ElementEmitter &emitter, ir::ReduceOp op,
                                ArrayRef<Index> input, unsigned level) {
  ir::ReduceKind kind = op.getKind();
  Type element = op.getType().getElementType();
  SmallVector<Value> sums;
  if (rounds == 1) {
    bool isRepeated = false; // inside a loop over other reduced dimensions
    for (unsigned loop : ArrayRef(domain.reduced).take_front(level))
      isRepeated |= domain.sizes[loop] > 1;
    sums = reduceChunk(emitter, op, input, level, nullptr);
    sums = addChunks(emitter, op, {}, sums, isRepeated);
  } else {
    // In a loop: code in sequence would keep the elements of all rounds in
    // registers from one reduction to the next, more than there are. A group
    // beyond the last chunk adds the identity, which changes nothing.
    emitter.setLanes(rowLoop, vector);
    SmallVector<Value> none(parts,
                            emitter.splat(emitter.identity(kind, element)));
    emitter.clearLanes();
    sums = kept->forRounds(none, [&](Value round, ValueRange before) {
      Value chunk = t->add(t->mul(round, groups), groupHere);
      SmallVector<Value> partial =
          reduceChunk(emitter, op, input, level, chunkStart(emitter, chunk));
      return addChunks(emitter, op, SmallVector<Value>(before), partial,
                       /*isRepeated=*/true);
    });
  }
  Value whole =
      t->elementAddress(exchange, exchangedElement, t->number(groups * lanes));
  t->when(isInFirstWarp(), [&] {
    Value sum = combineLanes(emitter, kind, element, sums);
    t->when(t->isLess(inRow, 1), [&] { t->store(sum, whole); });
  });
  t->barrier();
  return t->load(emitter.computeType(element), whole);
}

/// In the first warp: `sums` (empty: nothing yet) and the chunks `partial` of
/// all groups, added in order. `isRepeated`: this is in a loop.
SmallVector<Value> RowPart::addChunks(ElementEmitter &emitter, ir::ReduceOp op,
                                      ArrayRef<Value> sums,
                                      ArrayRef<Value> partial,
                                      bool isRepeated) {
  ir::ReduceKind kind = op.getKind();
  Type element = op.getType().getElementType();
  OpBuilder &b = t->b;
  exchangedElement = Threads::exchangedType(emitter.computeType(element));
  exchange = t->beginExchange(exchangedElement, groups * lanes + 1, isRepeated);
  laneAddress = t->elementAddress(exchange, exchangedElement, t->narrow(lane));
  t->when(isActive, [&] {
    for (auto [part, value] : llvm::enumerate(partial))
      t->store(value, sumAddress(groupHere, part));
  });
  t->barrier();
  auto choice = b.create<scf::IfOp>(t->loc, TypeRange(ValueRange(partial)),
                                    isInFirstWarp(), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.elseBlock());
  b.create<scf::YieldOp>(t->loc, sums.empty() ? partial : sums);
  b.setInsertionPointToStart(choice.thenBlock());
  SmallVector<Value> result(sums);
  emitter.setLanes(rowLoop, vector);
  for (int64_t number = 0; number < groups; ++number)
    for (int64_t part = 0; part < parts; ++part) {
      Value loaded =
          t->load(partial[part].getType(), sumAddress(t->number(number), part));
      if (static_cast<int64_t>(result.size()) < parts)
        result.push_back(loaded);
      else
        result[part] = emitter.combine(kind, element, result[part], loaded);
    }
  emitter.clearLanes();
  b.create<scf::YieldOp>(t->loc, result);
  return {choice.getResults().begin(), choice.getResults().end()};
}

/// The address in the exchange of a group's sum in lane number `part` of this
/// thread.
Value RowPart::sumAddress(Value groupNumber, int64_t part) {
  return t->elementAddress(
      laneAddress, exchangedElement,
      t->add(t->mul(groupNumber, lanes), t->number(part * group)));
}

} // namespace

std::unique_ptr<BlockPart> createRowPart(std::shared_ptr<codegen::Nest> nest,
                                         bool isAlone) {
  return std::make_unique<RowPart>(std::move(nest), isAlone);
}

} // namespace sinter::gpu
