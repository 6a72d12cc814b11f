//===- CommandGraph.cpp - a fused function as commands on buffers ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/CommandGraph.h"
#include "passes/fuse/FusionInfo.h"

using namespace mlir;

namespace sinter::passes::plan {

bool CommandGraph::mayRunInPlace(const Command &command, unsigned output,
                                 unsigned buffer) const {
  // Libraries sum in place, each operand in its own buffer.
  if (command.isCollective())
    return command.reads[output] == buffer &&
           llvm::count(command.reads, buffer) == 1;
  if (!command.fusion)
    return false;
  auto call = dyn_cast<ir::LibraryCallOp>(*command.fusion);
  if (call && (addsInPlace.empty() || !addsInPlace.test(command.place.place)))
    return false;
  for (auto [input, read] : llvm::enumerate(command.reads))
    if (read == buffer &&
        !(call ? mayAddInPlace(call, input)
               : passes::mayRunInPlace(command.fusion, input, output)))
      return false;
  return true;
}

Order CommandGraph::overlapped(const Order &order) const {
  if (llvm::none_of(commands,
                    [](const Command &c) { return c.isCollective(); }))
    return order;
  Order result;
  std::vector<bool> done(commands.size(), false);
  SmallVector<unsigned> toSend; // collectives
  for (auto [number, command] : llvm::enumerate(commands))
    if (command.isCollective())
      toSend.push_back(number);
  auto put = [&](unsigned number) {
    done[number] = true;
    result.push_back(number);
  };
  auto isReady = [&](unsigned number, bool apartFromWaits) {
    return llvm::all_of(before[number], [&](unsigned other) {
      return done[other] || (apartFromWaits && commands[other].isAwait() &&
                             llvm::all_of(before[other], [&](unsigned sent) {
                               return done[sent];
                             }));
    });
  };
  auto putWaits = [&](unsigned number) {
    for (unsigned other : before[number])
      if (commands[other].isAwait() && !done[other])
        put(other);
  };
  auto sendWhatIsReady = [&] {
    llvm::erase_if(toSend, [&](unsigned number) {
      if (!isReady(number, true))
        return false;
      putWaits(number);
      put(number);
      return true;
    });
  };
  sendWhatIsReady();
  for (unsigned number : order) {
    const Command &command = commands[number];
    if (command.collective)
      continue;
    putWaits(number);
    put(number);
    sendWhatIsReady();
  }
  for (auto [number, command] : llvm::enumerate(commands))
    if (!done[number])
      put(number);
  return result;
}

Order CommandGraph::waitingLast(const Order &order) const {
  Order result, rest = order;
  std::vector<bool> done(commands.size(), false);
  auto put = [&](unsigned number) {
    done[number] = true;
    result.push_back(number);
  };
  while (!rest.empty()) {
    llvm::erase_if(rest, [&](unsigned number) {
      const bool canRun = !commands[number].isAwait() &&
                          llvm::all_of(before[number], [&](unsigned other) {
                            return done[other];
                          });
      if (canRun)
        put(number);
      return canRun;
    });
    // Only waits, and what needs them, are left.
    auto wait = llvm::find_if(
        rest, [&](unsigned number) { return commands[number].isAwait(); });
    if (wait != rest.end()) {
      put(*wait);
      rest.erase(wait);
    }
  }
  return result;
}

} // namespace sinter::passes::plan
