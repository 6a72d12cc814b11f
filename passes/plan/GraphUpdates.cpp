//===- GraphUpdates.cpp - new values of states ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// New values of states are written straight onto the old ones, unless a reader
// of the old value must come later.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/GraphBuilder.h"

using namespace mlir;

namespace sinter::passes::plan {

/// Writes the new value onto the old one. False if that is not possible.
bool GraphBuilder::updateInPlace(const StateUpdate &update) {
  Buffer &value = graph.buffers[update.value];
  if (!value.isInArena() || value.writer == kNoCommand ||
      value.device != deviceOfState[update.state])
    return false;
  unsigned writer = value.writer;
  const Command &command = graph.commands[writer];
  for (unsigned reader : oldReaders(update.state)) {
    if (reader != writer) {
      if (!order.canAddEdge(reader, writer))
        return false;
      continue;
    }
    unsigned result =
        llvm::find(command.writes, update.value) - command.writes.begin();
    if (!graph.mayRunInPlace(command, result, oldValue[update.state]))
      return false;
  }
  for (unsigned reader : oldReaders(update.state))
    if (reader != writer)
      order.addEdge(reader, writer);
  value.slice = stateSlice(update);
  return true;
}

/// Makes `copy`, which writes the new value, run after the readers of the old
/// one. If one of them must run after the copy (two states are exchanged), the
/// copy reads early into the arena.
void GraphBuilder::orderCopy(const StateUpdate &update, unsigned copy) {
  auto possible = [&](unsigned reader) {
    return order.canAddEdge(reader, copy);
  };
  if (!llvm::all_of(oldReaders(update.state), possible)) {
    unsigned early = addBuffer(update.type, update.loc);
    graph.buffers[early].device = deviceOfState[update.state];
    unsigned place = graph.commands[copy].writes[0];
    graph.commands[copy].writes[0] = early;
    graph.buffers[early].writer = copy;
    copy = addCopy(early, place, update.loc);
  }
  for (unsigned reader : oldReaders(update.state))
    order.addEdge(reader, copy);
}

void GraphBuilder::addUpdates() {
  // A value that no command can write in place is copied. All copies are added
  // before the first is ordered, since they read old values of states
  // themselves.
  SmallVector<std::pair<StateUpdate, unsigned>> copies;
  SmallVector<StateUpdate> computed;
  for (const StateUpdate &update : updates) {
    if (graph.buffers[update.value].isInArena())
      computed.push_back(update);
    else
      copies.push_back({update, addUpdateCopy(update)});
  }
  for (auto &[update, copy] : copies)
    orderCopy(update, copy);
  for (const StateUpdate &update : computed)
    if (!updateInPlace(update))
      orderCopy(update, addUpdateCopy(update));
}

} // namespace sinter::passes::plan
