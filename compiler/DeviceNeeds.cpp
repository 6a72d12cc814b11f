//===- DeviceNeeds.cpp - what a program takes of each device --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/DeviceNeeds.h"

#include "compiler/import/onnx/Text.h"
#include "ir/Locations.h"
#include "ir/exec/Exec.h"

#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

/// To what the runtime aligns on a device.
static constexpr int64_t kDeviceAlignment = 256;

static int64_t blockBytes(ArrayAttr types) {
  int64_t bytes = 0;
  for (auto type : types.getAsRange<TypeAttr>())
    bytes +=
        exec::alignedBytes(exec::sizeBytes(type.getValue()), kDeviceAlignment);
  return bytes;
}

/// The bytes that ranges cover, each from an aligned beginning.
static int64_t coveredBytes(std::vector<std::pair<int64_t, int64_t>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  int64_t bytes = 0, begin = 0, end = -1;
  for (auto [first, last] : ranges) {
    if (first > end) {
      bytes += exec::alignedBytes(std::max<int64_t>(0, end - begin),
                                  kDeviceAlignment);
      begin = first;
      end = first;
    }
    end = std::max(end, last);
  }
  return bytes + exec::alignedBytes(std::max<int64_t>(0, end - begin),
                                    kDeviceAlignment);
}

/// Calls `visit` for what a command on device `place` touches.
static void
forEachSlice(ModuleOp module, int64_t place,
             llvm::function_ref<void(Operation *, exec::BufferOp)> visit) {
  for (auto program : module.getOps<exec::ProgramOp>())
    for (Operation &op : program.getBody().front())
      if (isa<exec::CommandOpInterface>(op) &&
          exec::placeOf(&op).place == place)
        for (Value operand : op.getOperands())
          visit(&op, exec::bufferOp(operand));
}

std::vector<DeviceNeeds> compiler::deviceNeeds(ModuleOp module,
                                               StringRef kind) {
  std::vector<DeviceNeeds> list;
  if (module.getOps<exec::ProgramOp>().empty())
    return list;
  auto names =
      module->getAttrOfType<ArrayAttr>(ir::SinterDialect::kDevicesAttr);
  if (names)
    for (auto name : names.getAsRange<StringAttr>())
      list.emplace_back().device = name.str();
  else
    list.emplace_back().device = kind == "cpu" ? "cpu" : kind.str() + ":0";
  int64_t inputs = 0, outputs = 0;
  for (auto program : module.getOps<exec::ProgramOp>()) {
    for (auto [number, bytes] : llvm::enumerate(exec::arenaBytes(program)))
      list[number].arena = std::max(list[number].arena, bytes);
    inputs = std::max(inputs, blockBytes(program.getInputTypes()));
    outputs = std::max(outputs, blockBytes(program.getOutputTypes()));
  }
  for (auto state : module.getOps<ir::StateOp>())
    list[ir::deviceNumber(state)].states +=
        exec::alignedBytes(exec::sizeBytes(state.getType()));
  for (auto [place, needs] : llvm::enumerate(list)) {
    if (needs.device == "cpu")
      continue;
    std::vector<std::pair<int64_t, int64_t>> constants;
    forEachSlice(module, place, [&](Operation *, exec::BufferOp buffer) {
      exec::SliceAttr slice = buffer.getSlice();
      if (slice.getSpace() == exec::Space::constant && slice.getSize() > 0)
        constants.push_back(
            {slice.getOffset() / kDeviceAlignment * kDeviceAlignment,
             slice.getOffset() + slice.getSize()});
    });
    needs.constants = coveredBytes(std::move(constants));
    // The control block lies before the inputs.
    needs.inputs = 2 * (kDeviceAlignment + inputs) + outputs;
  }
  return list;
}

/// The largest values that commands on device `place` touch.
static std::string largestValues(ModuleOp module, int64_t place) {
  llvm::MapVector<std::string, int64_t, std::map<std::string, unsigned>> byName;
  SmallVector<ir::StateOp> states(module.getOps<ir::StateOp>());
  forEachSlice(module, place, [&](Operation *op, exec::BufferOp buffer) {
    exec::SliceAttr slice = buffer.getSlice();
    std::string name = ir::joinedNodeNames(buffer.getLoc());
    if (slice.getSpace() == exec::Space::state)
      name = states[slice.getIndex()].getSymName().str();
    else if (name.empty() || slice.getSpace() == exec::Space::constant)
      name = ir::joinedNodeNames(op->getLoc());
    int64_t &most = byName[StringRef(name).split(',').first.str()];
    most = std::max<int64_t>(most, slice.getSize());
  });
  auto list = byName.takeVector();
  llvm::stable_sort(
      list, [](const auto &x, const auto &y) { return x.second > y.second; });
  constexpr size_t kMost = 5;
  std::string text;
  for (auto &[name, bytes] : ArrayRef(list).take_front(kMost))
    text += (text.empty() ? "" : ", ") + std::to_string(bytes) + " of '" +
            shown(name) + "'";
  return text;
}

std::vector<std::string> compiler::aboveLimit(ModuleOp module, StringRef kind,
                                              int64_t limit) {
  std::vector<std::string> lines;
  for (auto [place, needs] : llvm::enumerate(deviceNeeds(module, kind)))
    if (needs.device != "cpu" && needs.total() > limit)
      lines.push_back(needs.device + " needs " + std::to_string(needs.total()) +
                      " bytes (arena " + std::to_string(needs.arena) +
                      ", states " + std::to_string(needs.states) +
                      ", constants " + std::to_string(needs.constants) +
                      ", inputs and outputs " + std::to_string(needs.inputs) +
                      "), above --memory-limit=" + std::to_string(limit) +
                      "; the largest: " + largestValues(module, place));
  return lines;
}
