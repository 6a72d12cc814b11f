//===- ElementEmitter.h - code for one element of a kernel ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The core of all code generators. It reads a kernel's body backwards: to emit
// a value at an index, it first emits the operands at their indices, and then
// arith/math ops on scalars or, if the index runs over the lanes of a vector,
// on vectors. At the body's arguments it emits loads. A mapping (one per kind
// of kernel and machine) emits the loops around it: it sets the value of each
// loop and the loop of the lanes, and calls the emitter inside.
//
// Vector and scalar code do the same operations in the same order, so that the
// bits of an element do not depend on whether it is computed in a vector or in
// a remainder.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_ELEMENTEMITTER_H
#define SINTER_BACKENDS_COMMON_CODEGEN_ELEMENTEMITTER_H

#include "ir/Kernel.h"

#include <functional>
#include <map>
#include <vector>

namespace sinter::codegen {

using ir::Index;
using ir::IndexVector;

class ElementEmitter;

/// Emits the reductions along one loop for threads that share a row.
class LaneReducer {
public:
  virtual ~LaneReducer() = default;
  /// Combines op.getX(), which is read at `input`, over the loop. The value of
  /// each step is emitter.reducedElement(op, input', level).
  virtual mlir::Value reduce(ElementEmitter &emitter, ir::ReduceOp op,
                             llvm::ArrayRef<Index> input, unsigned level) = 0;
  /// Asks whether a thread may now read an element that another thread of the
  /// row owns and may overwrite with a result. If so, the reducer makes the
  /// threads wait for each other before they store results.
  virtual bool readOfOther() { return false; }
};

/// Keeps what is read in a row for later reads of the same elements.
class RowKeeper {
public:
  virtual ~RowKeeper() = default;
  /// Element `index` of `tensor`, in its storage type; `read` reads it from
  /// memory.
  virtual mlir::Value keep(mlir::Value tensor, llvm::ArrayRef<Index> index,
                           llvm::function_ref<mlir::Value()> read) = 0;
};

/// An extreme and its position (i64) along the reduced loop.
struct Found {
  mlir::Value value, position;
};

/// Emits the end of an arg_reduce for threads that share a row.
class ArgSharer {
public:
  virtual ~ArgSharer() = default;
  /// Combines what each thread of the row found.
  virtual Found combine(ElementEmitter &emitter, ir::ArgReduceOp op,
                        Found found) = 0;
};

/// A reduction whose operand is read at `input`.
struct Reduction {
  ir::ReduceOp op;
  IndexVector input;
};

class ElementEmitter {
public:
  /// Emits code with `builder`; the caller moves its insertion point into the
  /// loops.
  ElementEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                 const ir::Domain &domain)
      : builder(builder), loc(loc), domain(domain),
        nextDynamicLoop(kFirstDynamicLoop) {
    frames.emplace_back();
  }

  /// The elements of `tensor` are dense and row-major at `pointer` (!llvm.ptr).
  void setBuffer(mlir::Value tensor, mlir::Value pointer) {
    buffers[tensor] = pointer;
  }

  /// Uses `value` as the element of `tensor` at every index: a scalar or a
  /// vector of the current lanes, in the compute type. Must be set in every
  /// frame.
  void setElement(mlir::Value tensor, mlir::Value value) {
    elements[tensor] = value;
  }

  /// The current value (i64) of a loop; for the loop of the lanes, that of
  /// lane 0.
  void setLoop(unsigned loop, mlir::Value value) { loopValues[loop] = value; }

  /// Lane i computes iteration value + i of `loop`. One lane means scalar code.
  void setLanes(unsigned loop, int64_t count) {
    laneLoop = loop;
    laneCount = activeLanes = count;
  }
  void clearLanes() { laneCount = activeLanes = 1; }
  int64_t lanes() const { return laneCount; }

  /// Reductions combine `count` steps of `loop`, one of the domain's reduced
  /// loops, at a time.
  void setReducedLanes(unsigned loop, int64_t count) {
    reducedLaneLoop = loop;
    reducedLaneCount = count;
  }

  /// `reducer` emits reductions along `loop`.
  void setLaneReducer(unsigned loop, LaneReducer *reducer) {
    reducedLaneLoop = loop;
    laneReducer = reducer;
  }
  /// Calls `visit` in the innermost loop of reductions, after their elements
  /// are emitted and in their frame. Null: nothing.
  void setStepVisitor(std::function<void(llvm::ArrayRef<Reduction>)> visit) {
    visitStep = std::move(visit);
  }
  /// Whether `op` is computed by loops: a sum of elements that are all zero
  /// except one may be a single read.
  static bool needsLoop(ir::ReduceOp op);
  /// Emits the results of `ops`, in the current frame, by the same loops; none
  /// of them may need another. Each has the bits that it has alone. Reductions
  /// must not have lanes.
  void reduceTogether(llvm::ArrayRef<std::pair<ir::ReduceOp, IndexVector>> ops);
  /// `keeper` sees all reads of memory.
  void setRowKeeper(RowKeeper *keeper) { rowKeeper = keeper; }
  /// `step` threads share an arg_reduce: each examines every `step`-th element
  /// from its own `first` (i64) on, and `sharer` combines the results. There
  /// are at least as many elements as threads.
  void setArgSharer(mlir::Value first, int64_t step, ArgSharer *sharer) {
    argFirst = first;
    argStep = step;
    argSharer = sharer;
  }
  /// Whether x beats y regardless of their positions: greater for max; NaN
  /// beats numbers.
  mlir::Value isBeyond(ir::ArgReduceOp op, mlir::Value x, mlir::Value y);
  /// What one step of the reduced loop number `level` adds to a reduction: the
  /// operand's element, or the result of the inner loops.
  mlir::Value reducedElement(ir::ReduceOp op, llvm::ArrayRef<Index> input,
                             unsigned level) {
    return reduceNest({{op, IndexVector(input)}}, level + 1).front();
  }

  /// The combination of steps [lower, upper) of the reduced loop number
  /// `level`, one after the other.
  mlir::Value reduceSteps(ir::ReduceOp op, llvm::ArrayRef<Index> input,
                          unsigned level, mlir::Value lower,
                          mlir::Value upper) {
    return reduceRange({{op, IndexVector(input)}}, level, lower, upper, 1,
                       identity(op.getKind(), op.getType().getElementType()))
        .front();
  }

  /// Memory is read only if `condition` (i1; null: always) holds; otherwise it
  /// reads as zeros. For threads without an element, which still take part in
  /// barriers and shuffles.
  void setGuard(mlir::Value condition) { guard = condition; }
  /// The same for reads at an index over `loop`.
  void setLoopGuard(unsigned loop, mlir::Value condition) {
    loopGuards[loop] = condition;
  }

  /// Buffers begin at multiples of `bytes`, so that vectors may be moved as a
  /// whole if their offset allows. By default only elements are aligned.
  void setBufferAlignment(unsigned bytes) { bufferAlignment = bytes; }

  /// Values that are emitted in a frame are reused only in it. Each loop body
  /// has a frame.
  void pushFrame() { frames.emplace_back(); }
  void popFrame() { frames.pop_back(); }

  /// Element `index` of `tensor`: a scalar if it is the same for all lanes,
  /// else a vector.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<Index> index);
  /// Uses `value`, in the compute type, as element `index` of `tensor` in the
  /// current frame. Rounds it if `tensor` is an op's result. Returns the
  /// element.
  mlir::Value setElementAt(mlir::Value tensor, llvm::ArrayRef<Index> index,
                           mlir::Value value);

  /// Writes `value` (scalar or vector) as element `index` of a dense tensor of
  /// `type`.
  void store(mlir::Value value, mlir::RankedTensorType type,
             mlir::Value pointer, llvm::ArrayRef<Index> index);

  /// Writes values[i] as the element i places behind element `index`. Lanes
  /// write values.size() places from each other, so all values together are
  /// contiguous.
  void storeInterleaved(llvm::ArrayRef<mlir::Value> values,
                        mlir::RankedTensorType type, mlir::Value pointer,
                        llvm::ArrayRef<Index> index);

  /// Asks the CPU to fetch what all lanes read or write `steps` steps of `loop`
  /// later at `index` of a dense tensor of `type`; also beyond its end. Nothing
  /// if lanes are not contiguous, or if a step moves by no more than the lanes:
  /// then hardware fetches ahead.
  void fetchAhead(mlir::RankedTensorType type, mlir::Value pointer,
                  llvm::ArrayRef<Index> index, unsigned loop, int64_t steps);
  /// The same for a tensor that has a buffer.
  void fetchAhead(mlir::Value tensor, llvm::ArrayRef<Index> index,
                  unsigned loop, int64_t steps) {
    fetchAhead(ir::tensorType(tensor), buffers.lookup(tensor), index, loop,
               steps);
  }

  /// `value` as a vector of all lanes if there are several lanes.
  mlir::Value splat(mlir::Value value);

  /// The type in which elements of `elementType` are computed: unsigned
  /// integers become signless, 16-bit floats become float32.
  mlir::Type computeType(mlir::Type elementType);
  /// The type of these elements in memory.
  mlir::Type storageType(mlir::Type elementType);
  /// Convert between these types, scalars or vectors. 16-bit floats are
  /// converted by arith.extf and arith.truncf, to nearest even.
  mlir::Value fromMemory(mlir::Value loaded, mlir::Type elementType);
  mlir::Value toMemory(mlir::Value value, mlir::Type elementType);
  static bool isNarrowFloat(mlir::Type elementType) {
    return elementType.isF16() || elementType.isBF16();
  }
  /// Registers an index that is computed at run time (i64 or a vector of it) as
  /// a new loop.
  Index dynamicIndex(mlir::Value value);
  /// An affine index as i64, or as a vector of i64 if it differs between lanes.
  mlir::Value indexValue(const Index &index);

  // Small builders. They splat a scalar if the other operand is a vector.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value constantInt(mlir::Type type, int64_t value);
  std::pair<mlir::Value, mlir::Value> match(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// The value that a reduction of `kind` starts with, in the compute type of
  /// `elementType`.
  mlir::Value identity(ir::ReduceKind kind, mlir::Type elementType);
  mlir::Value combine(ir::ReduceKind kind, mlir::Type elementType,
                      mlir::Value a, mlir::Value b);
  /// Combines the lanes of `vector` pairwise, beginning with those that are
  /// furthest apart.
  mlir::Value combineLanes(ir::ReduceKind kind, mlir::Type elementType,
                           mlir::Value vector);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const ir::Domain &domain;

private:
  static constexpr unsigned kFirstDynamicLoop = 1u << 16;

  bool isVaryingLoop(unsigned loop);
  mlir::Value readMemory(mlir::RankedTensorType type, mlir::Value pointer,
                         llvm::ArrayRef<Index> index);
  bool hasDynamicLanes(const Index &offset);
  mlir::Type loadedType(mlir::RankedTensorType type, const Index &offset);
  mlir::Value loadAt(mlir::RankedTensorType type, mlir::Value pointer,
                     const Index &offset);
  mlir::Value address(mlir::RankedTensorType type, mlir::Value pointer,
                      const Index &offset);
  Index linearOffset(mlir::RankedTensorType type, llvm::ArrayRef<Index> index);

  // One function per family of ops; nullptr if the op is not in the family.
  mlir::Value emit(mlir::Operation *op, unsigned result,
                   llvm::ArrayRef<Index> index);
  mlir::Value emitElementwise(mlir::Operation *op,
                              llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitUnaryFloat(mlir::Operation *op, mlir::Value x);
  mlir::Value emitBinary(mlir::Operation *op, mlir::Value a, mlir::Value b,
                         mlir::Type element);
  mlir::Value emitCompare(ir::CompareKind kind, mlir::Value a, mlir::Value b,
                          mlir::Type element);
  mlir::Value emitComparePosition(ir::CompareOp compare,
                                  llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitIntegerDivision(mlir::Operation *op, mlir::Value a,
                                  mlir::Value b, bool isUnsigned);
  mlir::Value emitIntegerPower(mlir::Value base, mlir::Value exponent,
                               bool isUnsigned);
  mlir::Value emitCast(mlir::Value x, mlir::Type from, mlir::Type to);
  /// Replaces the bits of an i64 that a float64 cannot hold by one sticky bit,
  /// so that a later conversion rounds only once.
  mlir::Value roundedToOdd(mlir::Value x);
  mlir::Value emitConstant(ir::ConstantOp op);
  mlir::Value emitPad(ir::PadOp op, llvm::ArrayRef<Index> index);
  mlir::Value emitGather(mlir::Operation *op, llvm::ArrayRef<Index> index);
  mlir::Value clampIndex(mlir::Value value, int64_t size, bool wrapNegative);
  mlir::Value emitReduce(ir::ReduceOp op, llvm::ArrayRef<Index> index);
  mlir::Value emitOnlyElement(ir::ReduceOp op, IndexVector input, int64_t dim,
                              mlir::Value position);
  mlir::Value emitArgReduce(ir::ArgReduceOp op, llvm::ArrayRef<Index> index);
  mlir::Value emitReduceWindow(ir::ReduceWindowOp op,
                               llvm::ArrayRef<Index> index);
  llvm::SmallVector<mlir::Value> reduceNest(llvm::ArrayRef<Reduction> all,
                                            unsigned level);
  mlir::Value reduceLanes(ir::ReduceOp op, llvm::ArrayRef<Index> inputIndex,
                          unsigned level);
  mlir::Value reduceLastPass(ir::ReduceOp op, llvm::ArrayRef<Index> inputIndex,
                             unsigned level, int64_t from, mlir::Value sum);
  unsigned alignmentOf(mlir::Type memory, const Index &offset);
  mlir::Value laneMask();
  mlir::Value constantZero(mlir::Type type);
  /// `start` has a value for each reduction.
  llvm::SmallVector<mlir::Value> reduceRange(llvm::ArrayRef<Reduction> all,
                                             unsigned level, mlir::Value lower,
                                             mlir::Value upper, int64_t step,
                                             mlir::ValueRange start);
  llvm::SmallVector<mlir::Value> reduceLoop(llvm::ArrayRef<Reduction> all,
                                            unsigned level);
  llvm::SmallVector<mlir::Value> combineAll(llvm::ArrayRef<Reduction> all,
                                            mlir::ValueRange a,
                                            mlir::ValueRange b);

  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> elements;
  llvm::DenseMap<unsigned, mlir::Value> loopValues, loopGuards;
  mlir::Value guard;
  std::vector<std::map<std::vector<int64_t>, mlir::Value>> frames;
  unsigned laneLoop = ~0u;
  int64_t laneCount = 1;
  int64_t activeLanes = 1; // lanes from this number on access no memory
  unsigned reducedLaneLoop = ~0u;
  int64_t reducedLaneCount = 1;
  LaneReducer *laneReducer = nullptr;
  std::function<void(llvm::ArrayRef<Reduction>)> visitStep;
  RowKeeper *rowKeeper = nullptr;
  mlir::Value argFirst; // null: 0
  int64_t argStep = 1;
  ArgSharer *argSharer = nullptr;
  unsigned bufferAlignment = 1;
  unsigned nextDynamicLoop;
};

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_ELEMENTEMITTER_H
