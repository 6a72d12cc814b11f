//===- Footprint.cpp - device memory that a program uses ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Footprint.h"

#include "passes/AttentionForm.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/FusionInfo.h"
#include "passes/plan/ConstantPool.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <bitset>
#include <map>

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// The alignment of tensors outside of arena and states in the run tower.
constexpr int64_t kTensorAlignment = 256;
/// The number of runs whose inputs are staged at once; the control block comes
/// before them.
constexpr int64_t kStagedRuns = 2, kControlSlot = 256;

int64_t tensorBytes(int64_t sizeBytes) {
  return exec::alignedBytes(sizeBytes, kTensorAlignment);
}

int64_t bytesOf(ArrayAttr types) {
  int64_t bytes = 0;
  for (auto type : types.getAsValueRange<TypeAttr>())
    bytes += tensorBytes(exec::sizeBytes(type));
  return bytes;
}

/// Adds up the memory of the programs of a module, planned or not.
class Counter {
public:
  Counter(int64_t place, bool hasOwnMemory)
      : place(place), hasOwnMemory(hasOwnMemory) {}

  void addState(ir::StateOp state) {
    if (ir::deviceNumber(state) == place)
      result.states += exec::alignedBytes(exec::sizeBytes(state.getType()));
  }

  void addProgram(exec::ProgramOp program) {
    // The body of a scan has its arena and its operands in another program.
    if (!program.isPrivate()) {
      result.arena = std::max(result.arena, exec::arenaBytes(program)[place]);
      addTransfers(bytesOf(program.getInputTypes()),
                   bytesOf(program.getOutputTypes()));
    }
    for (Operation &op : program.getBody().front()) {
      if (!isa<exec::CommandOpInterface>(op) ||
          exec::placeOf(&op).place != place)
        continue;
      if (isa<exec::MatmulOp, exec::ConvOp, exec::AttentionOp>(op))
        callingStreams.set(exec::placeOf(&op).stream);
      if (auto attention = dyn_cast<exec::AttentionOp>(op))
        addAttention(attention);
      for (Value operand : op.getOperands()) {
        exec::SliceAttr slice = exec::bufferOp(operand).getSlice();
        if (slice.getSpace() == exec::Space::constant)
          constants[slice.getOffset()] = slice.getSize();
      }
    }
  }

  void addFunction(func::FuncOp func) {
    int64_t inputs = 0, outputs = 0;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (func.getArgAttr(i, ir::SinterDialect::kInputAttr))
        inputs += tensorBytes(exec::sizeBytes(func.getArgument(i).getType()));
    for (auto [number, type] : llvm::enumerate(func.getResultTypes()))
      if (func.getResultAttr(number, ir::SinterDialect::kOutputAttr) ||
          func.getResultAttr(number, ir::SinterDialect::kIndexChecksAttr))
        outputs += tensorBytes(exec::sizeBytes(type));
    if (!func.isPrivate())
      addTransfers(inputs, outputs);
    for (Operation &op : func.getBody().front()) {
      if (auto call = dyn_cast<ir::LibraryCallOp>(op))
        addCall(call);
      auto constant = dyn_cast<ir::ConstantOp>(op);
      bool isZero = constant && isAllZeros(constant.getValue());
      if (constant && isRead(constant, isZero))
        constants[pool.offsetOf(constant.getValue())] =
            exec::sizeBytes(constant.getType());
    }
  }

  Footprint take(int64_t workspaceBytes) {
    for (auto [offset, bytes] : constants)
      // A range may begin a little before its constant.
      result.constants += tensorBytes(bytes + kTensorAlignment - 1);
    result.inputs =
        hasOwnMemory ? kStagedRuns * (kControlSlot + mostInputs) + mostOutputs
                     : exec::kControlBytes;
    result.workspaces = callingStreams.count();
    result.workspace = !result.workspaces ? 0
                       : hasOwnMemory ? std::max(workspaceBytes, attentionBytes)
                                      : workspaceBytes;
    return result;
  }

private:
  void addAttention(exec::AttentionOp op) {
    if (op.getDirection() == exec::AttentionDirection::backward)
      attentionBytes = std::max(
          attentionBytes, attentionScratchBytes(op.getBatch(), op.getNumHeads(),
                                                op.getQueries(), op.getKeys()));
  }

  void addCall(ir::LibraryCallOp call) {
    callingStreams.set(exec::kCompute);
    for (auto op : call.getBody().getOps<ir::AttentionGradOp>()) {
      AttentionForm form = attentionForm(op, kAttentionAlignment);
      attentionBytes = std::max(attentionBytes,
                                attentionScratchBytes(form.batch, form.heads,
                                                      form.queries, form.keys));
    }
  }

  void addTransfers(int64_t inputs, int64_t outputs) {
    mostInputs = std::max(mostInputs, inputs);
    mostOutputs = std::max(mostOutputs, outputs);
  }

  /// True when a command reads it, directly or through views. A return of zeros
  /// is a fill, not a copy.
  static bool isRead(Operation *op, bool isZero) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      if (isa<func::ReturnOp>(user))
        return !isZero;
      return !user->hasTrait<ir::Alias>() || isRead(user, isZero);
    });
  }

  int64_t place;
  bool hasOwnMemory;
  std::bitset<exec::kStreams> callingStreams; // with library calls
  Footprint result;
  ConstantPool pool;
  std::map<int64_t, int64_t> constants; // offset -> bytes
  int64_t mostInputs = 0, mostOutputs = 0;
  int64_t attentionBytes = 0;
};

} // namespace

Footprint footprintOf(ModuleOp module, int64_t place, int64_t workspaceBytes,
                      bool hasOwnMemory) {
  Counter counter(place, hasOwnMemory);
  for (Operation &op : module.getOps()) {
    if (auto state = dyn_cast<ir::StateOp>(op))
      counter.addState(state);
    else if (auto program = dyn_cast<exec::ProgramOp>(op))
      counter.addProgram(program);
    else if (auto func = dyn_cast<func::FuncOp>(op))
      counter.addFunction(func);
  }
  return counter.take(workspaceBytes);
}

} // namespace sinter::passes::plan
