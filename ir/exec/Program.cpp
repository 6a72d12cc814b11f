//===- Program.cpp - verifiers of exec.program but lifetimes --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Exec.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

static LogicalResult verifySignature(ProgramOp program, StringRef what,
                                     ArrayAttr names, ArrayAttr types) {
  if (names.size() != types.size())
    return program.emitOpError() << "has " << names.size() << " names for "
                                 << types.size() << ' ' << what << 's';
  for (auto [name, type] : llvm::zip(names, types)) {
    auto tensor = dyn_cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
    if (!tensor || !ir::hasBoundedSize(tensor) ||
        ir::elementSizeBytes(tensor.getElementType()) == 0)
      return program.emitOpError()
             << what << ' ' << name << " has type " << type
             << ", expected a tensor of static shape";
  }
  return success();
}

/// Reports a slice that is not within `total` bytes.
static LogicalResult verifyWithin(BufferOp buffer, int64_t total) {
  SliceAttr slice = buffer.getSlice();
  if (slice.getOffset() > total || slice.getSize() > total - slice.getOffset())
    return buffer.emitOpError()
           << "ends at byte " << slice.getOffset() + slice.getSize()
           << " of its space, which has " << total;
  return success();
}

static LogicalResult verifyIndex(BufferOp buffer, size_t count) {
  if (static_cast<uint64_t>(buffer.getSlice().getIndex()) >= count)
    return buffer.emitOpError() << "has index " << buffer.getSlice().getIndex()
                                << " in a space of " << count;
  return success();
}

/// States and constants belong to the module: verifySymbolUses checks them.
static LogicalResult verifyOwnSlice(ProgramOp program, BufferOp buffer) {
  auto sizeOf = [&](ArrayAttr types) {
    return sizeBytes(
        cast<TypeAttr>(types[buffer.getSlice().getIndex()]).getValue());
  };
  switch (buffer.getSlice().getSpace()) {
  case Space::arena: {
    SmallVector<int64_t> arenas = arenaBytes(program);
    if (buffer.getSlice().getOffset() % kBufferAlignment != 0)
      return buffer.emitOpError()
             << "is at byte " << buffer.getSlice().getOffset()
             << " of the arena, which is not a multiple of "
             << kBufferAlignment;
    if (failed(verifyIndex(buffer, arenas.size())))
      return failure();
    return verifyWithin(buffer, arenas[buffer.getSlice().getIndex()]);
  }
  case Space::control:
    if (failed(verifyIndex(buffer, 1)))
      return failure();
    return verifyWithin(buffer, kControlBytes);
  case Space::constant:
    return verifyIndex(buffer, 1);
  case Space::chain:
    return buffer.getSlice().getOffset() == 0
               ? verifyIndex(buffer, kMaxChain - 1)
               : buffer.emitOpError() << "has an offset in a chain";
  case Space::input:
    if (failed(verifyIndex(buffer, program.getInputTypes().size())))
      return failure();
    return verifyWithin(buffer, sizeOf(program.getInputTypes()));
  case Space::output:
    if (failed(verifyIndex(buffer, program.getOutputTypes().size())))
      return failure();
    return verifyWithin(buffer, sizeOf(program.getOutputTypes()));
  case Space::state:
    return success();
  }
  return buffer.emitOpError() << "has an unknown space";
}

LogicalResult ProgramOp::verify() {
  if (failed(
          verifySignature(*this, "input", getInputNames(), getInputTypes())) ||
      failed(
          verifySignature(*this, "output", getOutputNames(), getOutputTypes())))
    return failure();
  if (indexChecks(*this) && getOutputNames().empty())
    return emitOpError() << "has '" << ExecDialect::kIndexChecksAttr
                         << "' without an output";
  if (static_cast<int64_t>(getArenaBytes()) < 0)
    return emitOpError() << "has an arena of "
                         << static_cast<int64_t>(getArenaBytes()) << " bytes";
  SmallVector<int64_t> arenas = arenaBytes(*this);
  if (arenas.front() != static_cast<int64_t>(getArenaBytes()) ||
      llvm::any_of(arenas, [](int64_t bytes) { return bytes < 0; }))
    return emitOpError() << "has '" << ExecDialect::kArenasAttr
                         << "' that do not begin with its arena";
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  SmallVector<int64_t> sizes;
  for (TypeAttr type : getOutputTypes().getAsRange<TypeAttr>())
    sizes.push_back(sizeBytes(type.getValue()));
  SmallVector<bool> whole(sizes.size(), false);
  CollectiveOp first; // of the collectives
  for (Operation &op : getBody().front()) {
    if (auto buffer = dyn_cast<BufferOp>(op)) {
      if (failed(verifyOwnSlice(*this, buffer)))
        return failure();
      continue;
    }
    auto command = dyn_cast<CommandOpInterface>(op);
    if (!command)
      return op.emitOpError() << "is neither a buffer nor a command";
    for (Value operand : op.getOperands())
      if (!operand.getDefiningOp<BufferOp>())
        return op.emitOpError() << "has an operand that is not an exec.buffer";
    if (failed(verifyCommand(&op)))
      return failure();
    if (auto collective = dyn_cast<CollectiveOp>(op)) {
      if (!first)
        first = collective;
      if (collective.getReplicas() != first.getReplicas())
        return op.emitOpError()
               << "has " << collective.getReplicas()
               << " replicas, an earlier collective " << first.getReplicas();
    }
    for (Value value : command.getWrites()) {
      SliceAttr slice = bufferOp(value).getSlice();
      if (slice.getSpace() == Space::output &&
          slice.getSize() == sizes[slice.getIndex()])
        whole[slice.getIndex()] = true;
    }
  }
  for (auto [index, size] : llvm::enumerate(sizes))
    if (size > 0 && !whole[index])
      return emitOpError() << "never writes output " << getOutputNames()[index];
  return verifyLifetimes(*this);
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &) {
  auto module = dyn_cast_or_null<ModuleOp>(getOperation()->getParentOp());
  if (!module)
    return emitOpError() << "must be in a module";
  SmallVector<int64_t> stateBytes, placeOfState;
  int64_t constantBytes = 0;
  for (Operation &op : module.getOps()) {
    if (auto state = dyn_cast<ir::StateOp>(op)) {
      stateBytes.push_back(sizeBytes(state.getType()));
      placeOfState.push_back(ir::deviceNumber(state));
    } else if (auto constant = dyn_cast<ConstantOp>(op))
      constantBytes = std::max<int64_t>(
          constantBytes, constant.getOffset() + constant.getSizeBytes());
  }
  for (BufferOp buffer : getBody().getOps<BufferOp>()) {
    SliceAttr slice = buffer.getSlice();
    if (slice.getSpace() == Space::state &&
        (failed(verifyIndex(buffer, stateBytes.size())) ||
         failed(verifyWithin(buffer, stateBytes[slice.getIndex()]))))
      return failure();
    if (slice.getSpace() == Space::constant &&
        failed(verifyWithin(buffer, constantBytes)))
      return failure();
  }
  int64_t numPlaces = ir::numDevices(module);
  if (arenaBytes(*this).size() != static_cast<size_t>(numPlaces))
    return emitOpError() << "has " << arenaBytes(*this).size() << " arenas for "
                         << numPlaces << " devices";
  return verifyOrder(*this, numPlaces, placeOfState);
}

ArrayAttr exec::indexChecks(ProgramOp program) {
  return program->getAttrOfType<ArrayAttr>(ExecDialect::kIndexChecksAttr);
}

SmallVector<int64_t> exec::arenaBytes(ProgramOp program) {
  auto arenas =
      program->getAttrOfType<DenseI64ArrayAttr>(ExecDialect::kArenasAttr);
  if (!arenas || arenas.empty())
    return {static_cast<int64_t>(program.getArenaBytes())};
  return llvm::to_vector(arenas.asArrayRef());
}
