//===- GraphBuilder.cpp - a fused function becomes commands ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/GraphBuilder.h"
#include "ir/Locations.h"
#include "passes/fuse/FusionInfo.h"

#include <functional>

using namespace mlir;

namespace sinter::passes::plan {

static StringAttr stringAttr(Attribute attr) {
  return dyn_cast_or_null<StringAttr>(attr);
}

LogicalResult GraphBuilder::addArgument(unsigned number) {
  BlockArgument argument = func.getArgument(number);
  if (!ir::hasBoundedSize(argument.getType()))
    return func.emitError()
           << "argument " << number << " is not a tensor of static shape";
  RankedTensorType type = ir::tensorType(argument);
  unsigned buffer = addBuffer(type, argument.getLoc());
  exec::SliceAttr &place = graph.buffers[buffer].slice;
  bufferOf[argument] = buffer;
  if (auto name =
          stringAttr(func.getArgAttr(number, ir::SinterDialect::kInputAttr))) {
    place = slice(exec::Space::input, graph.inputNames.size(), 0, type);
    graph.inputNames.push_back(name);
    graph.inputTypes.push_back(TypeAttr::get(type));
    // Kernels read a slice that may begin anywhere from the arena.
    if (caller && number < caller.getStacks().size() && !argument.use_empty() &&
        !hasAlignedSlices(caller.getStacks()[number].getType())) {
      unsigned copy = addBuffer(type, argument.getLoc());
      addCopy(buffer, copy, argument.getLoc());
      bufferOf[argument] = copy;
    }
    return success();
  }
  if (auto symbol = func.getArgAttrOfType<FlatSymbolRefAttr>(
          number, ir::SinterDialect::kStateAttr)) {
    unsigned state = states.lookup(symbol.getValue());
    if (!oldValue.try_emplace(state, buffer).second)
      return func.emitError() << "has two arguments for the state " << symbol;
    place = slice(exec::Space::state, state, 0, type);
    graph.buffers[buffer].device = deviceOfState[state];
    return success();
  }
  if (auto name = stringAttr(
          func.getArgAttr(number, ir::SinterDialect::kControlAttr))) {
    for (const exec::ControlField &field : exec::controlFields())
      if (field.name == name.getValue()) {
        if (exec::sizeBytes(type) != field.size)
          return func.emitError()
                 << "argument " << number << ": control field " << name
                 << " has " << field.size << " bytes, not those of " << type;
        place = slice(exec::Space::control, 0, field.offset, type);
        return success();
      }
    return func.emitError()
           << "argument " << number << ": there is no control field " << name;
  }
  return func.emitError() << "argument " << number
                          << " names no input, state or control field";
}

unsigned GraphBuilder::addCommand(Command command) {
  unsigned number = order.addNode();
  for (unsigned read : command.reads) {
    Buffer &buffer = graph.buffers[read];
    if (buffer.constant && !buffer.slice)
      buffer.slice = slice(exec::Space::constant, 0,
                           pool.offsetOf(buffer.constant), buffer.type);
    if (!llvm::is_contained(buffer.readers, number))
      buffer.readers.push_back(number);
    if (buffer.writer != kNoCommand)
      order.addEdge(buffer.writer, number);
    if (buffer.awaited != kNoCommand)
      order.addEdge(buffer.awaited, number);
  }
  for (unsigned write : command.writes)
    graph.buffers[write].writer = number;
  graph.commands.push_back(std::move(command));
  return number;
}

/// Only data dependences order messages here. CommandGraph::overlapped()
/// chooses their order, which is the same in all replicas, since they run one
/// program.
void GraphBuilder::addCollective(ir::CollectiveOpInterface op) {
  Command send{nullptr, op.getLoc(), {}, {}, {}, op};
  for (Value input : op.getInputs())
    send.reads.push_back(bufferOf.lookup(input));
  for (Value output : op.getOutputs()) {
    send.writes.push_back(addBuffer(ir::tensorType(output), op.getLoc()));
    bufferOf[output] = send.writes.back();
  }
  Command await{nullptr, op.getLoc(), {}, {}, {}, op};
  await.reads = send.writes;
  llvm::append_range(await.reads, send.reads);
  unsigned sent = addCommand(std::move(send));
  unsigned awaited = addCommand(std::move(await));
  order.addEdge(sent, awaited);
  graph.commands[sent].await = awaited;
  for (unsigned write : graph.commands[sent].writes)
    graph.buffers[write].awaited = awaited;
}

/// A copy between devices is a command of the destination, on its transfer
/// stream. A copy to the CPU, which has no such stream, is a command of the
/// source.
unsigned GraphBuilder::addCopy(unsigned from, unsigned to, Location loc) {
  exec::CommandPlace place;
  place.to = graph.buffers[to].device;
  place.from = graph.buffers[from].isEverywhere() ? place.to
                                                  : graph.buffers[from].device;
  place.place = isHost(place.to) ? place.from : place.to;
  place.stream = place.from == place.to ? exec::kCompute : exec::kTransfer;
  // Zeros are filled in; no constant is stored for them.
  Command copy{nullptr, loc, {}, {to}, place};
  ElementsAttr constant = graph.buffers[from].constant;
  if (!constant || !isAllZeros(constant))
    copy.reads.push_back(from);
  return addCommand(std::move(copy));
}

/// A value that is on every device needs no transfer.
void GraphBuilder::addTransfer(ir::CopyOp copy) {
  unsigned from = bufferOf.lookup(copy.getX());
  const Buffer &source = graph.buffers[from];
  if (source.isEverywhere() || source.device == copy.getDevice()) {
    bufferOf[copy] = from;
    return;
  }
  unsigned to = addBuffer(ir::tensorType(copy), copy.getLoc());
  graph.buffers[to].device = copy.getDevice();
  bufferOf[copy] = to;
  addCopy(from, to, copy.getLoc());
}

LogicalResult GraphBuilder::addCall(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee || !callee.getBody().hasOneBlock())
    return call.emitError() << "does not call a part of the program";
  for (auto [argument, operand] :
       llvm::zip_equal(callee.getArguments(), call.getOperands()))
    bufferOf[argument] = bufferOf.lookup(operand);
  device = ir::deviceNumber(callee);
  for (Operation &op : callee.getBody().front().without_terminator())
    if (failed(addOp(op)))
      return failure();
  device = 0;
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(),
                       callee.getBody().front().getTerminator()->getOperands()))
    bufferOf[result] = bufferOf.lookup(value);
  return success();
}

/// The body is planned first. What it stores is one result each; a last value
/// that it does not store has no users.
LogicalResult GraphBuilder::addScan(ir::ScanCallOp scan) {
  FailureOr<std::shared_ptr<PlannedBody>> body = planBody(scan, pool, states);
  if (failed(body))
    return failure();
  Command command{nullptr, scan.getLoc(), {}, {}};
  command.place.place = command.place.from = command.place.to = device;
  for (Value operand : scan->getOperands())
    command.reads.push_back(bufferOf.lookup(operand));
  for (unsigned result : (*body)->outputs.results) {
    Value output = scan.getOutputs()[result];
    command.writes.push_back(addBuffer(ir::tensorType(output), scan.getLoc()));
    bufferOf[output] = command.writes.back();
  }
  command.writes.push_back(
      addBuffer(RankedTensorType::get({(*body)->scratchBytes},
                                      IntegerType::get(context, 8)),
                scan.getLoc()));
  command.scan = scan;
  command.body = std::move(*body);
  unsigned added = addCommand(std::move(command));
  for (Value operand : scan->getOperands())
    for (unsigned earlier : mustPrecede.lookup(operand))
      order.addEdge(earlier, added);
  return success();
}

/// A reshape, or a value whose readers wait for other values.
void GraphBuilder::addAlias(Operation &op) {
  Value result = op.getResult(0), source = op.getOperand(0);
  bufferOf[result] = bufferOf.lookup(source);
  SmallVector<unsigned, 4> earlier = mustPrecede.lookup(source);
  for (Value value : op.getOperands().drop_front()) {
    const Buffer &buffer = graph.buffers[bufferOf.lookup(value)];
    for (unsigned command : {buffer.writer, buffer.awaited})
      if (command != kNoCommand)
        earlier.push_back(command);
  }
  if (!earlier.empty())
    mustPrecede[result] = earlier;
}

/// The location of the op that makes result `number`: a kernel has those of
/// all its ops. That of the fusion if the op has no node.
static Location resultLocation(ir::FusionOpInterface fusion, unsigned number) {
  Operation *yield = fusion->getRegion(0).front().getTerminator();
  Operation *made = number < yield->getNumOperands()
                        ? yield->getOperand(number).getDefiningOp()
                        : nullptr;
  llvm::SmallSetVector<StringRef, 4> names;
  if (made)
    ir::collectNodeNames(made->getLoc(), names);
  return names.empty() ? fusion.getLoc() : made->getLoc();
}

/// Of a value that is copied: that of the op that computes it, not those of all
/// ops in its kernel. `otherwise` if it is an argument.
static Location valueLocation(Value value, Location otherwise) {
  if (auto fusion = value.getDefiningOp<ir::FusionOpInterface>())
    return resultLocation(fusion, cast<OpResult>(value).getResultNumber());
  return value.getDefiningOp() ? value.getLoc() : otherwise;
}

LogicalResult GraphBuilder::addOp(Operation &op) {
  if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
    unsigned buffer = addBuffer(constant.getType(), constant.getLoc());
    graph.buffers[buffer].constant = constant.getValue();
    bufferOf[constant] = buffer;
    return success();
  }
  if (op.hasTrait<ir::Alias>()) {
    addAlias(op);
    return success();
  }
  if (auto collective = dyn_cast<ir::CollectiveOpInterface>(op)) {
    addCollective(collective);
    return success();
  }
  if (auto copy = dyn_cast<ir::CopyOp>(op)) {
    addTransfer(copy);
    return success();
  }
  if (auto call = dyn_cast<func::CallOp>(op))
    return addCall(call);
  if (auto scan = dyn_cast<ir::ScanCallOp>(op))
    return addScan(scan);
  auto fusion = dyn_cast<ir::FusionOpInterface>(op);
  if (!fusion)
    return op.emitError() << "'" << op.getName() << "' is in no fusion";
  exec::CommandPlace place;
  place.place = place.from = place.to = device;
  Command command{fusion, fusion.getLoc(), {}, {}, place};
  for (Value input : fusion.getInputs())
    command.reads.push_back(bufferOf.lookup(input));
  for (auto [number, output] : llvm::enumerate(fusion.getOutputs())) {
    command.writes.push_back(
        addBuffer(storedType(fusion, number), resultLocation(fusion, number)));
    bufferOf[output] = command.writes.back();
  }
  unsigned added = addCommand(std::move(command));
  for (Value input : fusion.getInputs())
    for (unsigned earlier : mustPrecede.lookup(input))
      order.addEdge(earlier, added);
  return success();
}

/// Kernels write `buffer` where the output lies, if it `isAligned`; others, and
/// what no kernel of this function writes, are copied.
void GraphBuilder::addOutput(StringAttr name, unsigned buffer,
                             RankedTensorType type, Location loc,
                             bool isAligned) {
  exec::SliceAttr place =
      slice(exec::Space::output, graph.outputNames.size(), 0, type);
  graph.outputNames.push_back(name);
  graph.outputTypes.push_back(TypeAttr::get(type));
  if (isAligned && graph.buffers[buffer].isInArena())
    graph.buffers[buffer].slice = place;
  else
    addOutputCopy(buffer, type, loc, place);
}

void GraphBuilder::addBodyResults() {
  Operation *terminator = func.getBody().front().getTerminator();
  for (unsigned result : ScanOutputs(caller, func).results) {
    Value value = terminator->getOperand(result);
    Location loc = valueLocation(value, caller.getLoc());
    bool isLast = result < caller.getInitial().size();
    addOutput(StringAttr::get(context, "out" + Twine(result)),
              bufferOf.lookup(value), ir::tensorType(value), loc,
              isLast ||
                  hasAlignedSlices(caller.getOutputs()[result].getType()));
  }
}

LogicalResult GraphBuilder::addResults() {
  auto terminator =
      dyn_cast<func::ReturnOp>(func.getBody().front().getTerminator());
  if (!terminator)
    return func.emitError() << "does not end with a return";
  if (caller) {
    addBodyResults();
    return success();
  }
  llvm::SmallDenseSet<unsigned> updated;
  std::optional<unsigned> checked; // the result that holds index checks
  for (auto [number, value] : llvm::enumerate(terminator.getOperands())) {
    unsigned buffer = bufferOf.lookup(value);
    RankedTensorType type = ir::tensorType(value);
    // If no node computes the value, the location of the return says most.
    Location loc = valueLocation(value, terminator.getLoc());
    if (auto name = stringAttr(
            func.getResultAttr(number, ir::SinterDialect::kOutputAttr))) {
      addOutput(name, buffer, type, loc);
      continue;
    }
    if (func.getResultAttr(number, ir::SinterDialect::kIndexChecksAttr)) {
      checked = number;
      continue;
    }
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(
        func.getResultAttr(number, ir::SinterDialect::kStateAttr));
    if (!symbol)
      return func.emitError()
             << "result " << number << " names no output or state";
    unsigned state = states.lookup(symbol.getValue());
    if (!updated.insert(state).second)
      return func.emitError() << "has two results for the state " << symbol;
    auto old = oldValue.find(state);
    if (old == oldValue.end() || old->second != buffer)
      updates.push_back({state, buffer, type, loc});
  }
  if (checked) {
    Value value = terminator.getOperand(*checked);
    graph.indexChecks = cast<ArrayAttr>(
        func.getResultAttr(*checked, ir::SinterDialect::kIndexChecksAttr));
    addOutput(StringAttr::get(func.getContext(), "index checks"),
              bufferOf.lookup(value), ir::tensorType(value),
              valueLocation(value, terminator.getLoc()));
  }
  addUpdates();
  return success();
}

LogicalResult GraphBuilder::run() {
  if (!func.getBody().hasOneBlock())
    return func.emitError() << "does not have a body of one block";
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(addArgument(i)))
      return failure();
  for (Operation &op : func.getBody().front().without_terminator())
    if (failed(addOp(op)))
      return failure();
  return addResults();
}

/// An order in which commands can run: that of the function. A copy into a
/// state, which is not in the function, comes as early as possible, so that its
/// source can be freed.
Order GraphBuilder::possibleOrder() const {
  Order sequence;
  std::vector<bool> done(graph.commands.size(), false);
  std::vector<std::vector<unsigned>> copiesAfter(graph.commands.size());
  auto isUpdate = [&](unsigned number) {
    const Command &command = graph.commands[number];
    return command.isCopy() && command.place.stream == exec::kCompute;
  };
  auto isReady = [&](unsigned number) {
    return llvm::all_of(order.before(number),
                        [&](unsigned other) { return done[other]; });
  };
  for (unsigned number = 0; number < graph.commands.size(); ++number)
    if (isUpdate(number))
      for (unsigned other : order.before(number))
        copiesAfter[other].push_back(number);
  std::function<void(unsigned)> put = [&](unsigned number) {
    done[number] = true;
    sequence.push_back(number);
    for (unsigned copy : copiesAfter[number])
      if (!done[copy] && isReady(copy))
        put(copy);
  };
  for (unsigned number : order.order())
    if (!done[number])
      put(number);
  return sequence;
}

CommandGraph GraphBuilder::take() {
  // Renumber the commands in an order in which they can run.
  Order sequence = possibleOrder();
  std::vector<unsigned> number(sequence.size());
  for (auto [place, command] : llvm::enumerate(sequence))
    number[command] = place;
  CommandGraph result;
  for (unsigned command : sequence) {
    result.commands.push_back(std::move(graph.commands[command]));
    auto &before = result.before.emplace_back();
    for (unsigned other : order.before(command))
      before.push_back(number[other]);
  }
  for (Command &command : result.commands)
    if (command.isCollective())
      command.await = number[command.await];
  for (Buffer &buffer : graph.buffers) {
    if (buffer.awaited != kNoCommand)
      buffer.awaited = number[buffer.awaited];
    if (buffer.writer != kNoCommand)
      buffer.writer = number[buffer.writer];
    for (unsigned &reader : buffer.readers)
      reader = number[reader];
  }
  result.buffers = std::move(graph.buffers);
  result.devices = std::move(graph.devices);
  result.inputNames = std::move(graph.inputNames);
  result.inputTypes = std::move(graph.inputTypes);
  result.outputNames = std::move(graph.outputNames);
  result.indexChecks = graph.indexChecks;
  result.outputTypes = std::move(graph.outputTypes);
  return result;
}

FailureOr<CommandGraph>
CommandGraph::build(func::FuncOp func, ConstantPool &pool,
                    const llvm::StringMap<unsigned> &states,
                    ir::ScanCallOp caller) {
  GraphBuilder builder(func, pool, states, caller);
  if (failed(builder.run()))
    return failure();
  return builder.take();
}

} // namespace sinter::passes::plan
