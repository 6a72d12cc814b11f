//===- Events.cpp - waits where data crosses streams ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Events.h"

#include "ir/exec/Order.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

class EventInserter {
public:
  explicit EventInserter(size_t numPlaces)
      : log(numPlaces), clocks(log.queues(), exec::Clock(log.queues(), 0)),
        commands(log.queues()) {}

  void visit(exec::CommandOpInterface command) {
    unsigned queue = exec::AccessLog::queueOf(exec::placeOf(command));
    exec::Clock needs = log.needs(command);
    // Waiting for one queue may make other waits unnecessary.
    for (size_t other = 0; other < needs.size(); ++other)
      if (needs[other] > clocks[queue][other])
        wait(command, queue, other, needs[other]);
    exec::Clock &clock = clocks[queue];
    ++clock[queue];
    commands[queue].push_back({command, clock, kNoEvent});
    log.add(command, clock[queue]);
  }

private:
  static constexpr int64_t kNoEvent = -1;
  struct Done {
    Operation *command;
    exec::Clock clock; // what has ended when the command has
    int64_t event;
  };

  void setQueue(Operation *op, unsigned queue) {
    OpBuilder builder(op->getContext());
    auto set = [&](StringRef name, int64_t value) {
      if (value != 0)
        op->setAttr(name, builder.getI64IntegerAttr(value));
    };
    set(exec::ExecDialect::kPlaceAttr, queue / exec::kStreams);
    set(exec::ExecDialect::kStreamAttr, queue % exec::kStreams);
  }

  void wait(Operation *command, unsigned queue, size_t other, unsigned number) {
    Done &done = commands[other][number - 1];
    OpBuilder builder(command);
    if (done.event == kNoEvent) {
      done.event = numEvents++;
      builder.setInsertionPointAfter(done.command);
      setQueue(
          builder.create<exec::RecordOp>(done.command->getLoc(), done.event),
          other);
      builder.setInsertionPoint(command);
    }
    setQueue(builder.create<exec::WaitOp>(command->getLoc(), done.event),
             queue);
    exec::advance(clocks[queue], done.clock);
  }

  exec::AccessLog log;
  std::vector<exec::Clock> clocks;         // by queue
  std::vector<std::vector<Done>> commands; // by queue
  int64_t numEvents = 0;
};

} // namespace

void insertEvents(exec::ProgramOp program, size_t numPlaces) {
  auto hasStream = [](Operation &op) {
    return op.hasAttr(exec::ExecDialect::kStreamAttr);
  };
  if (numPlaces < 2 && llvm::none_of(program.getBody().front(), hasStream))
    return;
  SmallVector<exec::CommandOpInterface> commands(
      program.getBody().getOps<exec::CommandOpInterface>());
  EventInserter inserter(numPlaces);
  for (exec::CommandOpInterface command : commands)
    inserter.visit(command);
}

std::vector<size_t> commandNumbers(exec::ProgramOp program) {
  std::vector<size_t> numbers;
  for (auto [number, command] :
       llvm::enumerate(program.getBody().getOps<exec::CommandOpInterface>()))
    if (!isa<exec::RecordOp, exec::WaitOp>(*command))
      numbers.push_back(number);
  return numbers;
}

} // namespace sinter::passes::plan
