//===- Capacity.cpp - what a device can hold ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The limit applies to each GPU; the CPU takes the nodes that may go there. As
// long as there is no plan, the bytes of values are an estimate: the most that
// is live at once in program order, without fusions. The plan is checked again.
//
//===----------------------------------------------------------------------===//
#include "passes/place/Placement.h"

#include "ir/exec/Exec.h"
#include "passes/Failure.h"
#include "passes/place/Devices.h"

using namespace mlir;

namespace sinter::passes::place {

int64_t Placement::weightBytesOn(unsigned device) const {
  int64_t bytes = 0;
  for (const Unit &unit : all)
    bytes += unit.device == device ? unit.weightBytes : 0;
  return bytes;
}

/// The most bytes that are live at once in `func` among the results of ops for
/// which `isThere` is true.
static int64_t mostLive(func::FuncOp func,
                        llvm::function_ref<bool(Operation *)> isThere) {
  llvm::DenseMap<Operation *, unsigned> position;
  for (auto [number, op] : llvm::enumerate(func.getBody().front()))
    position[&op] = number;
  std::vector<int64_t> change(position.size() + 1, 0);
  for (auto [number, op] : llvm::enumerate(func.getBody().front())) {
    // Neither views nor broadcasts take up memory.
    if (!isThere(&op) || isa<ir::ReshapeOp, ir::BroadcastOp>(op))
      continue;
    for (Value result : op.getResults()) {
      unsigned last = number;
      for (Operation *user : result.getUsers())
        last = std::max(last, position.lookup(user));
      change[number] += exec::sizeBytes(result.getType());
      change[last + 1] -= exec::sizeBytes(result.getType());
    }
  }
  int64_t now = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, now += bytes);
  return most;
}

int64_t Placement::valueBytesOn(unsigned device) const {
  int64_t most = 0;
  for (auto func : ModuleOp(module).getOps<func::FuncOp>())
    most = std::max(most, mostLive(func, [&](Operation *op) {
                      return deviceOf(op) == device;
                    }));
  return most;
}

void Placement::moveForMemory(ArrayRef<unsigned> units, unsigned from,
                              unsigned to) {
  std::string why =
      known[from].name + " would hold " + std::to_string(weightBytesOn(from)) +
      " bytes of weights and about " + std::to_string(valueBytesOn(from)) +
      " of values" +
      (reserveOn(from) ? ", plus " + std::to_string(reserveOn(from)) +
                             " that this estimate leaves out"
                       : "") +
      ", above the limit of " + std::to_string(options.memoryLimit);
  for (unsigned number : units) {
    all[number].device = to;
    all[number].reason = Reason::Memory;
    all[number].why = why;
  }
}

/// Moves nodes, those with the largest weights first, no more than necessary.
void Placement::spillToCpu(unsigned device) {
  auto cpu = llvm::find_if(known, [](const ProgramDevice &one) {
    return ir::isHostDevice(one.name);
  });
  if (cpu == known.end())
    return;
  SmallVector<unsigned> bySize;
  for (unsigned i = 0; i < all.size(); ++i)
    if (all[i].device == device && all[i].isBound &&
        all[i].reason != Reason::Pinned && all[i].weightBytes > 0 &&
        all[i].mayUseCpu && whyUnsupported(all[i], *cpu->target).empty())
      bySize.push_back(i);
  llvm::stable_sort(bySize, [&](unsigned a, unsigned b) {
    return all[a].weightBytes > all[b].weightBytes;
  });
  auto putFirst = [&](size_t count, unsigned where) {
    for (unsigned number : ArrayRef(bySize).take_front(count))
      all[number].device = where;
  };
  size_t count = 0;
  while (count < bySize.size() && bytesOn(device) > roomOn(device))
    putFirst(++count, cpu - known.begin());
  putFirst(count, device);
  moveForMemory(ArrayRef(bySize).take_front(count), device,
                cpu - known.begin());
}

/// Moves the last nodes, no more than necessary. Finds their number by
/// bisection: the more of them move, the less is left.
void Placement::spillToNext(unsigned device, unsigned next) {
  SmallVector<unsigned> movable;
  for (unsigned i = 0; i < all.size(); ++i)
    if (all[i].device == device && all[i].isBound &&
        all[i].reason != Reason::Pinned &&
        whyUnsupported(all[i], *known[next].target).empty())
      movable.push_back(i);
  auto putLast = [&](size_t count, unsigned where) {
    for (unsigned number : ArrayRef(movable).take_back(count))
      all[number].device = where;
  };
  size_t low = 0, high = movable.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    putLast(middle, next);
    bool fits = bytesOn(device) <= roomOn(device);
    putLast(middle, device);
    if (fits)
      high = middle;
    else
      low = middle + 1;
  }
  // The cut is before a contraction, so that it stays together with the ops
  // that are fused into its call.
  size_t count = low;
  while (count > 0 && count < movable.size() &&
         !all[movable[movable.size() - count]].isHeavy)
    ++count;
  if (count < movable.size())
    low = count;
  moveForMemory(ArrayRef(movable).take_back(low), device, next);
}

std::string Placement::largestWeights(unsigned device) const {
  SmallVector<const Unit *> units;
  for (const Unit &unit : all)
    if (unit.device == device && unit.weightBytes > 0)
      units.push_back(&unit);
  llvm::stable_sort(units, [](const Unit *a, const Unit *b) {
    return a->weightBytes > b->weightBytes;
  });
  constexpr size_t kMost = 4;
  std::string text;
  for (const Unit *unit : ArrayRef(units).take_front(kMost))
    text += (text.empty() ? "" : ", ") + std::to_string(unit->weightBytes) +
            " of node " + unit->name;
  if (units.size() > kMost)
    text += " and " + std::to_string(units.size() - kMost) + " more";
  return text;
}

/// Nodes that do not fit go to the CPU if they may; otherwise the last nodes go
/// to the next GPU.
LogicalResult Placement::spill() {
  if (options.memoryLimit <= 0)
    return success();
  for (unsigned device = 0; device < known.size(); ++device) {
    if (isCpu(device) || bytesOn(device) <= roomOn(device))
      continue;
    spillToCpu(device);
    unsigned next = device + 1;
    while (next < known.size() && isCpu(next))
      ++next;
    if (next < known.size() && bytesOn(device) > roomOn(device))
      spillToNext(device, next);
    int64_t weights = weightBytesOn(device);
    if (weights > options.memoryLimit)
      return emitFailure(module, kMemoryFailure)
             << known[device].name << " would hold " << weights
             << " bytes of weights, above the limit of " << options.memoryLimit
             << ": " << largestWeights(device)
             << "; --allow-cpu=REGEX lets nodes go to the CPU, another device "
                "in --target takes the last nodes";
  }
  return success();
}

} // namespace sinter::passes::place
