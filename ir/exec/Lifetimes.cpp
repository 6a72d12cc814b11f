//===- Lifetimes.cpp - do live buffers overlap? ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Walks the commands of a program in order, with the set of live buffers per
// space. Live buffers never overlap, so each new one is compared only with its
// neighbours by offset.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Exec.h"

#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

namespace {

class LiveBuffers {
public:
  explicit LiveBuffers(ProgramOp program) : program(program) {}
  LogicalResult run();

private:
  using Key = std::pair<Space, int64_t>;
  struct Use {
    unsigned writtenBy = 0; // 1 + position of the command; 0: no command
    unsigned lastUse = 0;
    bool isRead = false;
  };

  LogicalResult collect();
  LogicalResult collectAwait(AwaitOp op, unsigned position);
  LogicalResult collectChain(CommandOpInterface command, unsigned position);
  LogicalResult step(Operation *op, unsigned position);
  /// A live buffer that shares bytes with `slice`; null if there is none.
  Operation *overlapping(SliceAttr slice);

  static Key keyOf(BufferOp buffer) {
    return {buffer.getSlice().getSpace(), buffer.getSlice().getIndex()};
  }
  /// Written values in these spaces live until the program ends.
  static bool outlivesProgram(BufferOp buffer, const Use &use) {
    Space space = buffer.getSlice().getSpace();
    return use.writtenBy != 0 &&
           (space == Space::state || space == Space::output);
  }
  static bool isReadOnly(Space space) {
    return space == Space::input || space == Space::constant ||
           space == Space::control;
  }
  void insert(BufferOp buffer) {
    if (buffer.getSlice().getSize() > 0)
      live[keyOf(buffer)][buffer.getSlice().getOffset()] = buffer;
  }
  void erase(BufferOp buffer) {
    auto &space = live[keyOf(buffer)];
    auto it = space.find(buffer.getSlice().getOffset());
    if (it != space.end() && it->second == buffer.getOperation())
      space.erase(it);
  }

  /// The buffers that a command keeps live; for an await, those of its
  /// collective; for a convolution, also those of its chain.
  SmallVector<Value> keptBy(Operation *op) {
    auto await = dyn_cast<AwaitOp>(op);
    SmallVector<Value> kept(
        (await ? begun[await.getEvent()] : op)->getOperands());
    llvm::append_range(kept, chainReads.lookup(op));
    return kept;
  }

  ProgramOp program;
  llvm::DenseMap<uint64_t, Operation *> begun; // collectives by event
  llvm::DenseMap<Operation *, Operation *>
      pending; // buffer -> unfinished collective that writes it
  llvm::DenseMap<Operation *, Use> uses; // by buffer
  /// By convolution: what those before it in its chain read.
  llvm::DenseMap<Operation *, SmallVector<Value>> chainReads;
  ConvOp chained = nullptr; // the command before, if it has a next one
  std::map<Key, std::map<int64_t, Operation *>> live;
};

} // namespace

/// A collective ends here: its reads and writes live until now.
LogicalResult LiveBuffers::collectAwait(AwaitOp op, unsigned position) {
  auto sent = dyn_cast_or_null<CollectiveOp>(begun.lookup(op.getEvent()));
  if (!sent || !pending.contains(bufferOp(sent.getWrites()[0])))
    return op.emitOpError() << "waits for event " << op.getEvent()
                            << ", which no collective before it has";
  for (auto [read, write] :
       llvm::zip_equal(sent.getReads(), sent.getWrites())) {
    pending.erase(bufferOp(write));
    uses[bufferOp(write)].lastUse = position;
    if (bufferOp(read).getSlice() != bufferOp(write).getSlice())
      uses[bufferOp(read)].lastUse = position;
  }
  return success();
}

/// What a chain reads lives until its last command.
LogicalResult LiveBuffers::collectChain(CommandOpInterface command,
                                        unsigned position) {
  ConvOp before = std::exchange(chained, nullptr);
  auto conv = dyn_cast<ConvOp>(command.getOperation());
  bool isForward = conv && conv.getDirection() == ConvDirection::forward;
  int64_t links = 0;
  if (before) {
    CommandPlace place = placeOf(before), next = placeOf(command);
    if (!isForward || conv.getInputs()[0] != before.getOutput() ||
        next.place != place.place || next.stream != place.stream)
      return before.emitOpError()
             << "is in a chain, but the next command is not a forward "
                "convolution of its result on the same place and stream";
    links = bufferOp(before.getOutput()).getSlice().getIndex() + 1;
    SmallVector<Value> reads = chainReads.lookup(before);
    llvm::append_range(reads, before.getInputs().drop_front(links > 1));
    for (Value value : reads)
      uses[bufferOp(value)].lastUse = position;
    chainReads[conv] = std::move(reads);
  }
  for (auto [number, value] : llvm::enumerate(command->getOperands())) {
    SliceAttr slice = bufferOp(value).getSlice();
    if (slice.getSpace() != Space::chain || (before && number == 0))
      continue;
    if (!isForward || value != conv.getOutput() || slice.getIndex() != links)
      return command->emitOpError()
             << "uses a buffer of a chain that it does not continue";
    chained = conv;
  }
  return success();
}

LogicalResult LiveBuffers::collect() {
  unsigned position = 0;
  for (Operation &op : program.getBody().front()) {
    auto command = dyn_cast<CommandOpInterface>(op);
    if (!command)
      continue;
    ++position;
    if (auto await = dyn_cast<AwaitOp>(op)) {
      if (failed(collectAwait(await, position)))
        return failure();
      continue;
    }
    for (Value value : op.getOperands())
      if (Operation *sent = pending.lookup(value.getDefiningOp())) {
        auto diag = op.emitOpError()
                    << "uses what a collective writes before it is awaited";
        diag.attachNote(sent->getLoc()) << "the collective is here";
        return diag;
      }
    if (auto sent = dyn_cast<CollectiveOp>(op);
        sent && !begun.try_emplace(sent.getEvent(), &op).second)
      return op.emitOpError() << "has event " << sent.getEvent()
                              << ", which another collective has";
    if (failed(collectChain(command, position)))
      return failure();
    for (Value value : command.getReads()) {
      Use &use = uses[value.getDefiningOp()];
      if (use.writtenBy == position)
        return op.emitOpError()
               << "reads and writes one buffer; the new value needs its own";
      use.lastUse = position;
      use.isRead = true;
    }
    for (Value value : command.getWrites()) {
      BufferOp buffer = bufferOp(value);
      Use &use = uses[buffer];
      Space space = buffer.getSlice().getSpace();
      if (isReadOnly(space))
        return op.emitOpError()
               << "writes into the space " << stringifySpace(space);
      if (use.writtenBy != 0)
        return op.emitOpError() << "writes a buffer that was written before";
      if (use.isRead)
        return op.emitOpError() << "writes a buffer that was read before";
      use.writtenBy = use.lastUse = position;
      if (isa<CollectiveOp>(op))
        pending[buffer] = &op;
    }
  }
  if (chained)
    return chained.emitOpError() << "is in a chain that nothing ends";
  for (auto [event, op] : begun)
    if (pending.contains(bufferOp(cast<CollectiveOp>(op).getWrites()[0])))
      return op->emitOpError() << "is never awaited";
  return success();
}

Operation *LiveBuffers::overlapping(SliceAttr slice) {
  auto &space = live[{slice.getSpace(), slice.getIndex()}];
  auto next = space.lower_bound(slice.getOffset());
  if (next != space.end() && next->first < slice.getOffset() + slice.getSize())
    return next->second;
  if (next == space.begin())
    return nullptr;
  SliceAttr before = cast<BufferOp>(std::prev(next)->second).getSlice();
  return before.getOffset() + before.getSize() > slice.getOffset()
             ? std::prev(next)->second
             : nullptr;
}

LogicalResult LiveBuffers::step(Operation *op, unsigned position) {
  auto command = cast<CommandOpInterface>(op);
  // A buffer that is read here for the last time gives its bytes to a written
  // buffer with the same slice.
  auto endsHere = [&](BufferOp buffer) {
    const Use &use = uses[buffer];
    return use.lastUse == position && !outlivesProgram(buffer, use);
  };
  for (Value value : command.getReads()) {
    BufferOp buffer = bufferOp(value);
    Space space = buffer.getSlice().getSpace();
    if ((space == Space::arena || space == Space::output) &&
        uses[buffer].writtenBy == 0 && buffer.getSlice().getSize() > 0)
      return op->emitOpError() << "reads a buffer that nothing has written";
  }
  for (Value value : command.getWrites()) {
    BufferOp buffer = bufferOp(value);
    if (buffer.getSlice().getSize() == 0)
      continue;
    if (Operation *other = overlapping(buffer.getSlice())) {
      auto old = cast<BufferOp>(other);
      bool inPlace =
          old.getSlice() == buffer.getSlice() && endsHere(old) &&
          llvm::is_contained(command.getReads(), old.getResult()) &&
          !llvm::is_contained(chainReads.lookup(op), old.getResult());
      if (!inPlace) {
        auto diag = op->emitOpError()
                    << "writes bytes of a buffer that is still in use";
        diag.attachNote(old.getLoc()) << "the buffer is here";
        return diag;
      }
      erase(old);
    }
    insert(buffer);
  }
  for (Value value : keptBy(op))
    if (endsHere(bufferOp(value)))
      erase(bufferOp(value));
  return success();
}

LogicalResult LiveBuffers::run() {
  if (failed(collect()))
    return failure();
  // States have their value from the beginning. Spaces that are only read need
  // no check.
  for (BufferOp buffer : program.getBody().getOps<BufferOp>()) {
    const Use &use = uses[buffer];
    if (buffer.getSlice().getSpace() != Space::state || use.writtenBy != 0 ||
        !use.isRead || buffer.getSlice().getSize() == 0)
      continue;
    if (overlapping(buffer.getSlice()))
      return buffer.emitOpError()
             << "is a second buffer for the value of a state";
    insert(buffer);
  }
  unsigned position = 0;
  for (Operation &op : program.getBody().front())
    if (isa<CommandOpInterface>(op) && failed(step(&op, ++position)))
      return failure();
  return success();
}

LogicalResult exec::verifyLifetimes(ProgramOp program) {
  return LiveBuffers(program).run();
}
