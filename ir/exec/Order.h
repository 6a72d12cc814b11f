//===- Order.h - which commands must wait for which -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The plan phase uses this to insert events, and the verifier to check them.
// The commands of a queue (a place and a stream) run in order. A clock tells
// how many commands of each queue have certainly ended.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EXEC_ORDER_H
#define SINTER_IR_EXEC_ORDER_H

#include "ir/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <vector>

namespace sinter::exec {

/// The number of commands that have ended, for each queue.
using Clock = std::vector<unsigned>;

inline void advance(Clock &clock, const Clock &other) {
  for (size_t i = 0; i < clock.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

/// The last reads and writes of bytes, while commands are visited in program
/// order.
class AccessLog {
public:
  explicit AccessLog(int64_t numPlaces) : numQueues(numPlaces * kStreams) {}

  size_t queues() const { return numQueues; }
  static unsigned queueOf(const CommandPlace &place) {
    return place.place * kStreams + place.stream;
  }

  /// The commands that must have ended before `command` may touch its buffers.
  Clock needs(CommandOpInterface command) const;
  /// Adds the command, which is number `number`, counted from 1, on its queue.
  void add(CommandOpInterface command, unsigned number);

private:
  struct Access {
    int64_t begin, end;
    unsigned queue, number;
    bool isWrite;
  };
  using Key = std::pair<Space, int64_t>;

  /// The command whose buffers `command` accesses: a collective accesses them
  /// until it is awaited, so an await counts as an access, too.
  CommandOpInterface accessing(CommandOpInterface command) const;
  void
  visit(CommandOpInterface command,
        llvm::function_ref<void(Key, int64_t begin, int64_t end, bool isWrite)>
            visitor) const;

  size_t numQueues;
  std::map<Key, std::vector<Access>> accesses;
  llvm::DenseMap<uint64_t, mlir::Operation *> begun; // collectives by event
};

} // namespace sinter::exec

#endif // SINTER_IR_EXEC_ORDER_H
