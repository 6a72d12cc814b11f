//===- Recompute.cpp - recomputation within a plan ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/remat/Recompute.h"

#include "passes/remat/Cost.h"

#include <functional>

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// A value that is this many times smaller than the values that it helps to
/// drop is kept rather than computed again.
constexpr int64_t kSmallPart = 16;

bool isOldState(const Buffer &buffer) {
  return buffer.slice && buffer.slice.getSpace() == exec::Space::state &&
         buffer.writer == kNoCommand;
}

} // namespace

Recompute::Recompute(const CommandGraph &graph, const Order &order,
                     unsigned turn)
    : graph(graph), order(order), turnAt(turn), position(order.size()),
      isReadLate(graph.buffers.size()), unclonable(graph.commands.size()) {
  for (auto [at, command] : llvm::enumerate(order))
    position[command] = at;
  for (auto [number, buffer] : llvm::enumerate(graph.buffers))
    for (unsigned reader : buffer.readers)
      if (position[reader] > turnAt)
        isReadLate.set(number);
  findCandidates();
}

Recompute::~Recompute() {
  for (auto &[key, part] : parts)
    part.fusion.erase();
}

bool Recompute::isClonable(unsigned command) const {
  return graph.commands[command].fusion && !unclonable.test(command) &&
         position[command] < turnAt;
}

void Recompute::findCandidates() {
  for (unsigned command : order) {
    if (!isClonable(command))
      continue;
    for (unsigned value : graph.commands[command].writes) {
      const Buffer &buffer = graph.buffers[value];
      bool isUsedAtTurn = llvm::any_of(buffer.readers, [&](unsigned reader) {
        return position[reader] == turnAt;
      });
      if (buffer.isInArena() && isReadLate.test(value) && !isUsedAtTurn &&
          buffer.bytes() > 0)
        found.push_back({command, value, exec::alignedBytes(buffer.bytes())});
    }
  }
}

const Recompute::Part &Recompute::partOf(unsigned command,
                                         ArrayRef<unsigned> wanted) {
  auto [it, isNew] = parts.try_emplace({command, wanted.vec()});
  if (isNew) {
    PartialClone clone = cloneOutputs(graph.commands[command].fusion, wanted);
    it->second = {clone, flopsOf(clone.fusion), cpuTimeOf(clone.fusion)};
  }
  return it->second;
}

unsigned Recompute::bufferOf(unsigned command, Value operand) const {
  const Command &original = graph.commands[command];
  auto inputs =
      const_cast<ir::FusionOpInterface &>(original.fusion).getInputs();
  return original.reads[llvm::find(inputs, operand) - inputs.begin()];
}

bool Recompute::isKept(unsigned number, int64_t bytesWanted,
                       const llvm::BitVector &isDropped,
                       const llvm::BitVector &kept) const {
  const Buffer &buffer = graph.buffers[number];
  if (isDropped.test(number))
    return false;
  return !buffer.isInArena() || isReadLate.test(number) || kept.test(number) ||
         buffer.bytes() * kSmallPart <= bytesWanted ||
         buffer.writer == kNoCommand || !isClonable(buffer.writer);
}

/// For each command the partial clone that runs; null if none does.
std::vector<const Recompute::Part *>
Recompute::needed(const llvm::BitVector &isDropped,
                  const llvm::BitVector &kept) {
  std::vector<const Part *> clones(graph.commands.size());
  llvm::BitVector isWanted = isDropped;
  for (unsigned command : llvm::reverse(order)) {
    SmallVector<unsigned> wanted;
    int64_t bytes = 0;
    for (auto [output, value] : llvm::enumerate(graph.commands[command].writes))
      if (isWanted.test(value)) {
        wanted.push_back(output);
        bytes += graph.buffers[value].bytes();
      }
    if (wanted.empty() || !isClonable(command))
      continue;
    const Part &part = partOf(command, wanted);
    clones[command] = &part;
    for (Value input : part.fusion->getOperands()) {
      unsigned read = bufferOf(command, input);
      if (!isKept(read, bytes, isDropped, kept))
        isWanted.set(read);
    }
  }
  return clones;
}

/// Builds the order with clones, each right before the command that needs it.
struct Recompute::Emission {
  Emission(Recompute &from, const llvm::BitVector &isDropped,
           const llvm::BitVector &kept)
      : from(from), isDropped(isDropped), clones(from.needed(isDropped, kept)) {
    outcome.graph = from.graph;
  }

  /// False when a clone would read a state that already has its new value. The
  /// original is then marked as not clonable.
  bool run() {
    for (unsigned command : from.order) {
      SmallVector<unsigned, 4> reads = from.graph.commands[command].reads;
      if (from.position[command] > from.turnAt)
        for (unsigned &read : reads)
          if (isDropped.test(read) && !redirect(read, command))
            return false;
      outcome.graph.commands[command].reads = std::move(reads);
      emit(command);
    }
    linkReaders();
    return true;
  }

  Outcome outcome;

private:
  void emit(unsigned command) {
    outcome.order.push_back(command);
    for (unsigned write : outcome.graph.commands[command].writes)
      if (exec::SliceAttr slice = outcome.graph.buffers[write].slice;
          slice && slice.getSpace() == exec::Space::state)
        updatedStates.insert(slice.getIndex());
  }

  /// Makes `reader` read the recomputed value instead of `buffer`.
  bool redirect(unsigned &buffer, unsigned reader) {
    if (!copies.contains(buffer) &&
        !emitClone(from.graph.buffers[buffer].writer))
      return false;
    buffer = copies.lookup(buffer);
    outcome.graph.before[reader].push_back(
        outcome.graph.buffers[buffer].writer);
    return true;
  }

  bool emitClone(unsigned original) {
    const Part &part = *clones[original];
    const Command &first = from.graph.commands[original];
    Command command{part.fusion, first.loc, {}, {}, first.place};
    llvm::SmallSetVector<unsigned, 4> before;
    for (Value input : part.fusion->getOperands()) {
      unsigned read = from.bufferOf(original, input);
      unsigned writer = from.graph.buffers[read].writer;
      bool isAgain = writer != kNoCommand && clones[writer] &&
                     isCloned(read, *clones[writer]);
      if (isAgain && !copies.contains(read) && !emitClone(writer))
        return false;
      if (isOldState(from.graph.buffers[read]) &&
          updatedStates.contains(from.graph.buffers[read].slice.getIndex())) {
        from.unclonable.set(original);
        return false;
      }
      command.reads.push_back(isAgain ? copies.lookup(read) : read);
      const Buffer &buffer = outcome.graph.buffers[command.reads.back()];
      if (buffer.writer != kNoCommand)
        before.insert(buffer.writer);
      if (buffer.awaited != kNoCommand)
        before.insert(buffer.awaited);
    }
    unsigned number =
        outcome.graph.commands.size(); // clones that it needs are already there
    for (unsigned output : part.outputs) {
      const Buffer &old = from.graph.buffers[first.writes[output]];
      Buffer copy{old.type, old.loc,    {}, {},
                  number,   kNoCommand, {}, old.device};
      command.writes.push_back(outcome.graph.buffers.size());
      if (isWanted(first.writes[output]))
        copies[first.writes[output]] = command.writes.back();
      outcome.graph.buffers.push_back(std::move(copy));
    }
    outcome.graph.commands.push_back(std::move(command));
    outcome.graph.before.emplace_back(before.begin(), before.end());
    outcome.clones.push_back({part.fusion, original, part.outputs});
    outcome.flops += part.flops;
    outcome.cpuTime += part.cpuTime;
    outcome.order.push_back(number);
    return true;
  }

  /// True for results of clones that commands after the turn read: dropped
  /// values, and values that have no original readers there.
  bool isWanted(unsigned buffer) const {
    return isDropped.test(buffer) || !from.isReadLate.test(buffer);
  }
  bool isCloned(unsigned buffer, const PartialClone &part) const {
    const Command &writer =
        from.graph.commands[from.graph.buffers[buffer].writer];
    return isWanted(buffer) && llvm::any_of(part.outputs, [&](unsigned output) {
             return writer.writes[output] == buffer;
           });
  }

  void linkReaders() {
    for (Buffer &buffer : outcome.graph.buffers)
      buffer.readers.clear();
    for (auto [number, command] : llvm::enumerate(outcome.graph.commands))
      for (unsigned read : command.reads)
        if (auto &readers = outcome.graph.buffers[read].readers;
            !llvm::is_contained(readers, number))
          readers.push_back(number);
  }

  Recompute &from;
  const llvm::BitVector &isDropped;
  std::vector<const Part *> clones;
  llvm::DenseMap<unsigned, unsigned> copies; // buffer -> buffer of the clone
  llvm::DenseSet<int64_t> updatedStates;
};

std::optional<Recompute::Outcome>
Recompute::tryWithout(const llvm::BitVector &isDropped,
                      const llvm::BitVector &kept) {
  Emission emission(*this, isDropped, kept);
  if (!emission.run())
    return std::nullopt;
  return std::move(emission.outcome);
}

Recompute::Outcome Recompute::without(const llvm::BitVector &dropped,
                                      const llvm::BitVector &kept) {
  // Every failure rules out one more command, so this ends.
  while (true) {
    llvm::BitVector isDropped(graph.buffers.size());
    for (unsigned number : dropped.set_bits())
      if (isClonable(found[number].command))
        isDropped.set(found[number].value);
    if (std::optional<Outcome> outcome = tryWithout(isDropped, kept))
      return std::move(*outcome);
  }
}

} // namespace sinter::passes::plan
