//===- KernelParameters.cpp - the buffers that blocks work on -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/KernelParameters.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace sinter::gpu {

/// Emits the choice of an occurrence's buffers.
class BufferChoice {
public:
  BufferChoice(const KernelParameters &parameters, OpBuilder &builder,
               Location loc, LLVM::LLVMFuncOp function)
      : parameters(parameters), b(builder), loc(loc), function(function) {}

  /// The buffers of occurrence number `time`: inputs, then outputs.
  SmallVector<Value> buffersAt(ArrayRef<codegen::PartBuffers> occurrences,
                               Value time) {
    std::vector<Row> rows;
    for (const codegen::PartBuffers &buffers : occurrences)
      rows.push_back(rowOf(buffers));
    // A buffer that all occurrences share, such as a learning rate, is not
    // chosen.
    size_t numBuffers = rows[0].size() - 1;
    SmallVector<Value> chosen(rows[0].size());
    SmallVector<unsigned> columns;
    for (unsigned i = 0; i < rows[0].size(); ++i)
      if (llvm::all_of(rows, [&](auto &row) { return row[i] == rows[0][i]; }))
        chosen[i] = i < numBuffers ? place(rows[0][i]) : Value();
      else
        columns.push_back(i);
    if (!columns.empty()) {
      SmallVector<bool> arePlaces = llvm::map_to_vector(
          columns, [&](unsigned i) { return i < numBuffers; });
      for (Row &row : rows)
        row = llvm::map_to_vector(columns, [&](unsigned i) { return row[i]; });
      for (auto [i, value] : llvm::zip_equal(
               columns, choose(rows, arePlaces, evenRuns(rows), time)))
        chosen[i] = value;
    }
    SmallVector<Value> buffers;
    for (Value place : ArrayRef(chosen).drop_back())
      buffers.push_back(parameter(place));
    if (Value shift = chosen.back())
      for (Value &output :
           MutableArrayRef(buffers).take_back(occurrences[0].outputs.size()))
        output = b.create<LLVM::GEPOp>(loc, output.getType(), b.getI8Type(),
                                       output, shift);
    return buffers;
  }

  /// Parameter number `i`: its index if the parameters are an array, else the
  /// parameter itself.
  Value place(unsigned i) {
    return parameters.isArray ? number(i) : Value(function.getArgument(i));
  }
  /// The buffer's address at `place`. Code chooses indices, not addresses: LLVM
  /// then sees that the array is only read, and reads it without a copy.
  Value parameter(Value place) {
    if (!parameters.isArray)
      return place;
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value address = b.create<LLVM::GEPOp>(loc, pointer, pointer,
                                          function.getArgument(0), place,
                                          /*inbounds=*/true);
    return b.create<LLVM::LoadOp>(loc, pointer, address);
  }

private:
  /// For one occurrence: the positions of the part's inputs and outputs among
  /// the parameters, and the distance of its writes from the first
  /// occurrence's.
  using Row = SmallVector<int64_t>;

  Row rowOf(const codegen::PartBuffers &buffers) const {
    Row row;
    for (unsigned input : buffers.inputs)
      row.push_back(parameters.placeOf(input));
    for (unsigned output : buffers.outputs)
      row.push_back(parameters.placeOf(parameters.numInputs + output));
    row.push_back(buffers.shiftBytes);
    return row;
  }

  /// The first rows of runs of `rows` in which each number grows evenly, and
  /// the end. Without an array positions cannot be computed: each row is a run.
  std::vector<size_t> evenRuns(ArrayRef<Row> rows) const {
    std::vector<size_t> runs{0};
    for (size_t i = 1; i < rows.size(); ++i) {
      bool goesOn = parameters.isArray;
      if (goesOn && i - runs.back() > 1)
        for (size_t k = 0; k < rows[i].size(); ++k)
          goesOn &=
              rows[i][k] - rows[i - 1][k] == rows[i - 1][k] - rows[i - 2][k];
      if (!goesOn)
        runs.push_back(i);
    }
    runs.push_back(rows.size());
    return runs;
  }

  /// Emits a binary search of `runs` for the values in row number `time`.
  SmallVector<Value> choose(ArrayRef<Row> rows, ArrayRef<bool> arePlaces,
                            ArrayRef<size_t> runs, Value time) {
    if (runs.size() == 2)
      return step(rows.slice(runs[0], runs[1] - runs[0]), arePlaces, runs[0],
                  time);
    size_t half = (runs.size() - 1) / 2;
    Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                            time, number(runs[half]));
    SmallVector<Type> types;
    for (bool isPlace : arePlaces)
      types.push_back(isPlace ? place(0).getType() : b.getI32Type());
    auto choice =
        b.create<scf::IfOp>(loc, types, isFirst, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    b.create<scf::YieldOp>(
        loc, choose(rows, arePlaces, runs.take_front(half + 1), time));
    b.setInsertionPointToStart(choice.elseBlock());
    b.create<scf::YieldOp>(
        loc, choose(rows, arePlaces, runs.drop_front(half), time));
    return SmallVector<Value>(choice.getResults());
  }

  /// The same for `rows` of one run, which begins at row `first`.
  SmallVector<Value> step(ArrayRef<Row> rows, ArrayRef<bool> arePlaces,
                          size_t first, Value time) {
    SmallVector<Value> values;
    if (rows.size() == 1) {
      for (auto [value, isPlace] : llvm::zip_equal(rows[0], arePlaces))
        values.push_back(isPlace ? place(value) : number(value));
      return values;
    }
    Value steps = b.create<arith::SubIOp>(loc, time, number(first));
    for (auto [from, next] : llvm::zip_equal(rows[0], rows[1])) {
      Value ahead = b.create<arith::MulIOp>(loc, steps, number(next - from));
      values.push_back(b.create<arith::AddIOp>(loc, ahead, number(from)));
    }
    return values;
  }

  Value number(int64_t value) {
    return b.create<arith::ConstantIntOp>(loc, value, 32);
  }

  const KernelParameters &parameters;
  OpBuilder &b;
  Location loc;
  LLVM::LLVMFuncOp function;
};

KernelParameters::KernelParameters(exec::KernelOp kernel, bool isArray)
    : numInputs(kernel.getBody().front().getNumArguments()),
      numRead(numInputs + kernel.isStaged()),
      numOutputs(kernel.getYielded().size()), isArray(isArray) {}

Value KernelParameters::ticket(OpBuilder &b, Location loc,
                               LLVM::LLVMFuncOp function) const {
  BufferChoice choice(*this, b, loc, function);
  return choice.parameter(choice.place(numInputs));
}

SmallVector<Value> KernelParameters::buffersAt(
    OpBuilder &b, Location loc, LLVM::LLVMFuncOp function,
    ArrayRef<codegen::PartBuffers> occurrences, Value time) const {
  return BufferChoice(*this, b, loc, function).buffersAt(occurrences, time);
}

/// Sets attributes of the pointers. LLVM could derive them, but in time
/// quadratic in their number.
void KernelParameters::describePointers(OpBuilder &builder,
                                        exec::KernelOp kernel,
                                        LLVM::LLVMFuncOp function) const {
  SmallVector<bool> shared(count(), false);
  passes::forEachInPlacePair(kernel, [&](unsigned input, unsigned output) {
    shared[input] = shared[numRead + output] = true;
  });
  // Between stages, other blocks write what this one reads.
  if (kernel.isStaged())
    for (auto [output, value] : llvm::enumerate(kernel.getYielded()))
      shared[numRead + output] |= !value.hasOneUse();
  SmallVector<Attribute> attributes;
  for (auto [number, isShared] : llvm::enumerate(shared)) {
    NamedAttrList own;
    own.set(LLVM::LLVMDialect::getNoCaptureAttrName(), builder.getUnitAttr());
    if (number < numInputs)
      own.set(LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    if (!isShared)
      own.set(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    attributes.push_back(own.getDictionary(builder.getContext()));
  }
  function.setAllArgAttrs(attributes);
}

/// The array is passed by value and is constant for the grid, so it is read
/// without a copy. The bytes of a launch's parameters are the same either way.
void KernelParameters::describeArray(const Intrinsics &intrinsics,
                                     OpBuilder &builder,
                                     LLVM::LLVMFuncOp function) const {
  Type array = LLVM::LLVMArrayType::get(
      LLVM::LLVMPointerType::get(builder.getContext()), count());
  NamedAttrList own;
  own.set(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(array));
  own.set(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(8));
  own.set(LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  intrinsics.describeArray(own, builder.getContext());
  function.setArgAttrs(0, own.getAttrs());
}

LLVM::LLVMFuncOp KernelParameters::buildFunction(OpBuilder &builder,
                                                 exec::KernelOp kernel,
                                                 const Intrinsics &intrinsics,
                                                 int64_t blockThreads) const {
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> types(isArray ? 1 : count(), pointer);
  auto function = builder.create<LLVM::LLVMFuncOp>(
      UnknownLoc::get(context), kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  intrinsics.describeKernel(function, blockThreads);
  if (isArray)
    describeArray(intrinsics, builder, function);
  else
    describePointers(builder, kernel, function);
  return function;
}

} // namespace sinter::gpu
