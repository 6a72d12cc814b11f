//===- Order.cpp - which commands must wait for which ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Order.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

CommandPlace exec::placeOf(Operation *command) {
  auto number = [&](StringRef name, int64_t otherwise) {
    auto attr = command->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : otherwise;
  };
  CommandPlace place;
  place.place = number(ExecDialect::kPlaceAttr, 0);
  place.stream = number(ExecDialect::kStreamAttr, kCompute);
  place.from = number(ExecDialect::kFromAttr, place.place);
  place.to = number(ExecDialect::kToAttr, place.place);
  return place;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

CommandOpInterface AccessLog::accessing(CommandOpInterface command) const {
  auto await = dyn_cast<AwaitOp>(command.getOperation());
  auto found = await ? begun.find(await.getEvent()) : begun.end();
  return found == begun.end() ? command
                              : cast<CommandOpInterface>(found->second);
}

/// Visits only spaces that programs write: only writes make commands wait.
void AccessLog::visit(
    CommandOpInterface command,
    llvm::function_ref<void(Key, int64_t, int64_t, bool)> visitor) const {
  auto each = [&](OperandRange buffers, bool isWrite) {
    for (Value value : buffers) {
      SliceAttr slice = bufferOp(value).getSlice();
      bool isWritten = slice.getSpace() == Space::arena ||
                       slice.getSpace() == Space::state ||
                       slice.getSpace() == Space::output ||
                       slice.getSpace() == Space::chain;
      if (isWritten && slice.getSize() > 0)
        visitor({slice.getSpace(), slice.getIndex()}, slice.getOffset(),
                slice.getOffset() + slice.getSize(), isWrite);
    }
  };
  CommandOpInterface accesses = accessing(command);
  each(accesses.getReads(), false);
  each(accesses.getWrites(), true);
}

Clock AccessLog::needs(CommandOpInterface command) const {
  Clock clock(numQueues, 0);
  unsigned queue = queueOf(placeOf(command));
  visit(command, [&](Key key, int64_t begin, int64_t end, bool isWrite) {
    auto found = accesses.find(key);
    if (found == accesses.end())
      return;
    for (const Access &access : found->second)
      if (access.queue != queue && (isWrite || access.isWrite) &&
          access.begin < end && begin < access.end)
        clock[access.queue] = std::max(clock[access.queue], access.number);
  });
  return clock;
}

void AccessLog::add(CommandOpInterface command, unsigned number) {
  unsigned queue = queueOf(placeOf(command));
  if (auto collective = dyn_cast<CollectiveOp>(command.getOperation()))
    begun[collective.getEvent()] = collective;
  visit(command, [&](Key key, int64_t begin, int64_t end, bool isWrite) {
    std::vector<Access> &list = accesses[key];
    // A write has waited for all accesses that it covers, so waiting for the
    // write is enough. Reads of the same bytes by one queue count as one.
    llvm::erase_if(list, [&](const Access &access) {
      if (isWrite)
        return begin <= access.begin && access.end <= end;
      return !access.isWrite && access.queue == queue &&
             access.begin == begin && access.end == end;
    });
    list.push_back({begin, end, queue, number, isWrite});
  });
}

//===----------------------------------------------------------------------===//
// Verifying
//===----------------------------------------------------------------------===//

namespace {

class OrderVerifier {
public:
  OrderVerifier(int64_t numPlaces, ArrayRef<int64_t> placeOfState)
      : numPlaces(numPlaces), placeOfState(placeOfState), log(numPlaces),
        clocks(log.queues(), Clock(log.queues(), 0)) {}

  LogicalResult step(CommandOpInterface command) {
    CommandPlace place = placeOf(command);
    for (int64_t number : {place.place, place.from, place.to})
      if (number < 0 || number >= numPlaces)
        return command.emitOpError()
               << "is on place " << number << " of " << numPlaces;
    if (place.stream < 0 || place.stream >= kStreams)
      return command.emitOpError() << "is on stream " << place.stream;
    if (failed(verifyReach(command, command.getReads(), place.from)) ||
        failed(verifyReach(command, command.getWrites(), place.to)))
      return failure();
    unsigned queue = AccessLog::queueOf(place);
    Clock &clock = clocks[queue];
    if (auto record = dyn_cast<RecordOp>(command.getOperation())) {
      if (!events.try_emplace(record.getEvent(), clock).second)
        return record.emitOpError() << "records an event a second time";
      return success();
    }
    if (auto wait = dyn_cast<WaitOp>(command.getOperation())) {
      auto event = events.find(wait.getEvent());
      if (event == events.end())
        return wait.emitOpError() << "waits for an event that was not recorded";
      advance(clock, event->second);
      return success();
    }
    Clock needs = log.needs(command);
    for (size_t other = 0; other < needs.size(); ++other)
      if (needs[other] > clock[other]) {
        auto diag = command.emitOpError()
                    << "does not wait for a command on place "
                    << other / kStreams << ", stream " << other % kStreams
                    << ", that touches the same bytes";
        diag.attachNote(commands[{other, needs[other]}]->getLoc())
            << "the command is here";
        return diag;
      }
    unsigned number = ++clock[queue];
    commands[{queue, number}] = command;
    log.add(command, number);
    return success();
  }

private:
  LogicalResult verifyReach(CommandOpInterface command, OperandRange buffers,
                            int64_t place) {
    for (Value value : buffers) {
      SliceAttr slice = bufferOp(value).getSlice();
      bool isThere = true;
      if (slice.getSpace() == Space::arena)
        isThere = slice.getIndex() == place;
      if (slice.getSpace() == Space::state)
        isThere = placeOfState[slice.getIndex()] == place;
      if (!isThere)
        return command.emitOpError()
               << "touches " << stringifySpace(slice.getSpace())
               << " bytes of a place other than " << place;
    }
    return success();
  }

  int64_t numPlaces;
  ArrayRef<int64_t> placeOfState;
  AccessLog log;
  std::vector<Clock> clocks; // by queue
  std::map<int64_t, Clock> events;
  std::map<std::pair<size_t, unsigned>, Operation *> commands;
};

} // namespace

LogicalResult exec::verifyOrder(ProgramOp program, int64_t numPlaces,
                                ArrayRef<int64_t> placeOfState) {
  // The common case, one device, needs no clocks.
  auto isPlaced = [](Operation &op) {
    return op.hasAttr(ExecDialect::kPlaceAttr) ||
           op.hasAttr(ExecDialect::kStreamAttr) || isa<RecordOp, WaitOp>(op);
  };
  if (numPlaces == 1 && llvm::none_of(program.getBody().front(), isPlaced))
    return success();
  OrderVerifier verifier(numPlaces, placeOfState);
  for (Operation &op : program.getBody().front())
    if (auto command = dyn_cast<CommandOpInterface>(op))
      if (failed(verifier.step(command)))
        return failure();
  return success();
}
