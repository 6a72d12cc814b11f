//===- ElementEmitter.cpp - memory, lanes and indices ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Code for reading and writing elements and for affine indices, which all
// families of ops need. The families are in Elementwise.cpp, Shape.cpp and
// Reduce.cpp.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;

namespace sinter::codegen {

//===----------------------------------------------------------------------===//
// Types and small builders
//===----------------------------------------------------------------------===//

Type ElementEmitter::computeType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  if (isNarrowFloat(elementType))
    return Float32Type::get(elementType.getContext());
  return elementType;
}

Value ElementEmitter::splat(Value value) {
  if (laneCount == 1 || isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({laneCount}, value.getType());
  return builder.create<vector::SplatOp>(loc, type, value);
}

std::pair<Value, Value> ElementEmitter::match(Value a, Value b) {
  if (isa<VectorType>(a.getType()) == isa<VectorType>(b.getType()))
    return {a, b};
  return {splat(a), splat(b)};
}

Value ElementEmitter::select(Value condition, Value a, Value b) {
  std::tie(a, b) = match(a, b);
  if (isa<VectorType>(condition.getType())) {
    a = splat(a);
    b = splat(b);
  }
  return builder.create<arith::SelectOp>(loc, condition, a, b);
}

/// An attribute of `value` for a scalar or vector type.
static TypedAttr attributeFor(Type type, Attribute scalar) {
  if (auto vector = dyn_cast<VectorType>(type))
    return DenseElementsAttr::get(vector, scalar);
  return cast<TypedAttr>(scalar);
}

Value ElementEmitter::constant(Type type, double value) {
  return builder.create<arith::ConstantOp>(
      loc, attributeFor(
               type, builder.getFloatAttr(getElementTypeOrSelf(type), value)));
}

Value ElementEmitter::constantInt(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  APInt bits(64, static_cast<uint64_t>(value));
  return builder.create<arith::ConstantOp>(
      loc,
      attributeFor(type, builder.getIntegerAttr(
                             element, bits.sextOrTrunc(
                                          element.getIntOrFloatBitWidth()))));
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Index ElementEmitter::dynamicIndex(Value value) {
  if (auto constantOp = value.getDefiningOp<arith::ConstantIntOp>())
    return Index::fixed(constantOp.value());
  unsigned number = nextDynamicLoop++;
  loopValues[number] = value;
  return Index::loop(number);
}

bool ElementEmitter::isVaryingLoop(unsigned loop) {
  if (laneCount == 1)
    return false;
  return loop == laneLoop || isa<VectorType>(loopValues.lookup(loop).getType());
}

Value ElementEmitter::indexValue(const Index &index) {
  Type i64 = builder.getI64Type();
  Value scalar, vector;
  auto add = [&](Value &sum, Value term) {
    sum =
        sum ? builder.create<arith::AddIOp>(loc, sum, term).getResult() : term;
  };
  for (auto [loop, coefficient] : index.terms) {
    Value term = loopValues.lookup(loop);
    assert(term && "index over a loop that is not open");
    bool isVector = isa<VectorType>(term.getType());
    if (coefficient != 1)
      term = builder.create<arith::MulIOp>(
          loc, term, constantInt(term.getType(), coefficient));
    add(isVector ? vector : scalar, term);
    if (laneCount > 1 && loop == laneLoop) {
      SmallVector<int64_t> steps;
      for (int64_t lane = 0; lane < laneCount; ++lane)
        steps.push_back(lane * coefficient);
      auto type = VectorType::get({laneCount}, i64);
      add(vector,
          builder.create<arith::ConstantOp>(
              loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps))));
    }
  }
  if (index.constant != 0 || (!scalar && !vector))
    add(scalar, constantInt(i64, index.constant));
  if (!vector)
    return scalar;
  if (scalar)
    add(vector, splat(scalar));
  return vector;
}

Index ElementEmitter::linearOffset(RankedTensorType type,
                                   ArrayRef<Index> index) {
  SmallVector<int64_t> strides = ir::rowMajorStrides(type.getShape());
  Index offset = Index::fixed(0);
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    offset = offset + i.scaled(stride);
  return offset;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Type ElementEmitter::storageType(Type elementType) {
  if (elementType.isInteger(1)) // a boolean is a byte
    return builder.getI8Type();
  // LLVM moves 16-bit floats only on machines that have them: use integers.
  return isNarrowFloat(elementType) ? builder.getI16Type()
                                    : computeType(elementType);
}

/// `element` in the shape, scalar or vector, of `value`.
static Type shapedLike(Value value, Type element) {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    return vector.clone(element);
  return element;
}

Value ElementEmitter::fromMemory(Value loaded, Type elementType) {
  if (isNarrowFloat(elementType)) {
    Value narrow = builder.create<arith::BitcastOp>(
        loc, shapedLike(loaded, elementType), loaded);
    return builder.create<arith::ExtFOp>(
        loc, shapedLike(loaded, computeType(elementType)), narrow);
  }
  if (!elementType.isInteger(1))
    return loaded;
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, loaded,
                                       constantInt(loaded.getType(), 0));
}

Value ElementEmitter::toMemory(Value value, Type elementType) {
  if (isNarrowFloat(elementType)) {
    Value narrow = builder.create<arith::TruncFOp>(
        loc, shapedLike(value, elementType), value);
    return builder.create<arith::BitcastOp>(
        loc, shapedLike(value, builder.getI16Type()), narrow);
  }
  if (!elementType.isInteger(1))
    return value;
  return builder.create<arith::ExtUIOp>(
      loc, shapedLike(value, builder.getI8Type()), value);
}

Value ElementEmitter::address(RankedTensorType type, Value pointer,
                              const Index &offset) {
  Type element = storageType(type.getElementType());
  Value position = indexValue(offset);
  Type resultType = pointer.getType(); // in any address space
  if (auto vector = dyn_cast<VectorType>(position.getType()))
    resultType = LLVM::getFixedVectorType(resultType, vector.getNumElements());
  return builder.create<LLVM::GEPOp>(loc, resultType, element, pointer,
                                     ArrayRef<LLVM::GEPArg>{position});
}

/// Whether the lanes read consecutive elements.
static bool isContiguous(const Index &offset, unsigned laneLoop) {
  return offset.coefficient(laneLoop) == 1;
}

Value ElementEmitter::laneMask() {
  SmallVector<bool> active(laneCount, false);
  std::fill_n(active.begin(), activeLanes, true);
  auto type = VectorType::get({laneCount}, builder.getI1Type());
  return builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(type, active));
}

Value ElementEmitter::constantZero(Type type) {
  return builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
}

static unsigned elementAlignment(Type memory) {
  return std::max(1u, memory.getIntOrFloatBitWidth() / 8);
}

/// The alignment of element `offset`, at most that of the whole vector. The
/// loop of the lanes has a multiple of their number as value, other loops any
/// value.
unsigned ElementEmitter::alignmentOf(Type memory, const Index &offset) {
  unsigned element = elementAlignment(memory);
  uint64_t elements = static_cast<uint64_t>(laneCount);
  elements =
      std::gcd(elements, static_cast<uint64_t>(std::abs(offset.constant)));
  for (auto [loop, coefficient] : offset.terms)
    if (loop != laneLoop || std::abs(coefficient) != 1)
      elements =
          std::gcd(elements, static_cast<uint64_t>(std::abs(coefficient)));
  return std::max<unsigned>(
      element, std::min<uint64_t>(bufferAlignment, elements * element));
}

/// The element in its storage type.
Value ElementEmitter::readMemory(RankedTensorType type, Value pointer,
                                 ArrayRef<Index> index) {
  Index offset = linearOffset(type, index);
  Value condition = guard;
  for (auto [loop, coefficient] : offset.terms)
    if (Value ofLoop = loopGuards.lookup(loop))
      condition = condition && condition != ofLoop
                      ? builder.create<arith::AndIOp>(loc, condition, ofLoop)
                      : ofLoop;
  if (!condition)
    return loadAt(type, pointer, offset);
  Type loaded = loadedType(type, offset);
  auto choice = builder.create<scf::IfOp>(loc, loaded, condition,
                                          /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard insertion(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    builder.create<scf::YieldOp>(loc, loadAt(type, pointer, offset));
    builder.setInsertionPointToStart(choice.elseBlock());
    builder.create<scf::YieldOp>(loc, constantZero(loaded));
  }
  return choice.getResult(0);
}

/// Whether the lanes read at indices that are computed at run time.
bool ElementEmitter::hasDynamicLanes(const Index &offset) {
  return llvm::any_of(offset.terms, [&](auto term) {
    return term.first != laneLoop && isVaryingLoop(term.first);
  });
}

Type ElementEmitter::loadedType(RankedTensorType type, const Index &offset) {
  Type memory = storageType(type.getElementType());
  bool varies = hasDynamicLanes(offset) ||
                (laneCount > 1 && offset.coefficient(laneLoop) != 0);
  return varies ? Type(VectorType::get({laneCount}, memory)) : memory;
}

/// Loads the element in its storage type.
Value ElementEmitter::loadAt(RankedTensorType type, Value pointer,
                             const Index &offset) {
  Type loaded = loadedType(type, offset);
  Type memory = storageType(type.getElementType());
  auto vectorType = dyn_cast<VectorType>(loaded);
  // The fields of the control block are aligned only as their types require.
  if (!vectorType)
    return builder.create<LLVM::LoadOp>(
        loc, loaded, address(type, pointer, offset), elementAlignment(memory));
  unsigned alignment = alignmentOf(memory, offset);
  if (!hasDynamicLanes(offset) && isContiguous(offset, laneLoop)) {
    int64_t lanesBefore = laneCount;
    laneCount = 1; // the address of lane 0
    Value at = address(type, pointer, offset);
    laneCount = lanesBefore;
    if (activeLanes < laneCount)
      return builder.create<LLVM::MaskedLoadOp>(
          loc, vectorType, at, laneMask(), constantZero(vectorType), alignment);
    return builder.create<LLVM::LoadOp>(loc, vectorType, at, alignment);
  }
  Value addresses = address(type, pointer, offset);
  SmallVector<Value> passThrough;
  if (activeLanes < laneCount)
    passThrough.push_back(constantZero(vectorType));
  return builder.create<LLVM::masked_gather>(loc, vectorType, addresses,
                                             laneMask(), passThrough,
                                             elementAlignment(memory));
}

void ElementEmitter::store(Value value, RankedTensorType type, Value pointer,
                           ArrayRef<Index> index) {
  Type elementType = type.getElementType();
  Type memory = storageType(elementType);
  Index offset = linearOffset(type, index);
  unsigned alignment = alignmentOf(memory, offset);
  if (laneCount == 1) {
    builder.create<LLVM::StoreOp>(loc, toMemory(value, elementType),
                                  address(type, pointer, offset), alignment);
    return;
  }
  Value stored = toMemory(splat(value), elementType);
  if (isContiguous(offset, laneLoop)) {
    int64_t lanesBefore = laneCount;
    laneCount = 1;
    Value at = address(type, pointer, offset);
    laneCount = lanesBefore;
    builder.create<LLVM::StoreOp>(loc, stored, at, alignment);
    return;
  }
  Value addresses = address(type, pointer, offset);
  Value mask =
      constantInt(VectorType::get({laneCount}, builder.getI1Type()), 1);
  builder.create<LLVM::masked_scatter>(loc, stored, addresses, mask,
                                       elementAlignment(memory));
}

void ElementEmitter::storeInterleaved(ArrayRef<Value> values,
                                      RankedTensorType type, Value pointer,
                                      ArrayRef<Index> index) {
  Type elementType = type.getElementType();
  Index offset = linearOffset(type, index);
  Type memory = storageType(elementType);
  if (laneCount == 1) {
    for (auto [i, value] : llvm::enumerate(values))
      builder.create<LLVM::StoreOp>(loc, toMemory(value, elementType),
                                    address(type, pointer, offset.plus(i)),
                                    elementAlignment(memory));
    return;
  }
  auto vectors = llvm::map_to_vector(
      values, [&](Value value) { return toMemory(splat(value), elementType); });
  // Pairs of vectors are joined until there is one, with the steps in order.
  auto shuffle = [&](Value a, Value b, int64_t size, auto place) {
    SmallVector<int32_t> mask;
    for (int64_t i = 0; i < size; ++i)
      mask.push_back(static_cast<int32_t>(place(i)));
    return builder.create<LLVM::ShuffleVectorOp>(loc, a, b, mask).getResult();
  };
  const int64_t lanes = laneCount, steps = std::ssize(values);
  int64_t size = lanes;
  while (vectors.size() > 2) {
    SmallVector<Value> joined;
    for (size_t i = 0; i < vectors.size(); i += 2)
      joined.push_back(shuffle(vectors[i],
                               vectors[std::min(i + 1, vectors.size() - 1)],
                               2 * size, [](int64_t lane) { return lane; }));
    vectors = std::move(joined);
    size *= 2;
  }
  Value all = shuffle(vectors[0], vectors[1], steps * lanes,
                      [&](int64_t i) { return i % steps * lanes + i / steps; });
  laneCount = 1;
  Value at = address(type, pointer, offset);
  laneCount = lanes;
  builder.create<LLVM::StoreOp>(loc, all, at, alignmentOf(memory, offset));
}

void ElementEmitter::fetchAhead(RankedTensorType type, Value pointer,
                                ArrayRef<Index> index, unsigned loop,
                                int64_t steps) {
  constexpr int64_t lineBytes = 64;
  Index offset = linearOffset(type, index);
  int64_t step = offset.coefficient(loop);
  if (!isContiguous(offset, laneLoop) || step <= laneCount)
    return;
  Type memory = storageType(type.getElementType());
  int64_t bytes = laneCount * elementAlignment(memory), lanesBefore = laneCount;
  laneCount = 1;
  Value at = address(type, pointer, offset.plus(steps * step));
  laneCount = lanesBefore;
  for (int64_t line = 0; line < bytes; line += lineBytes)
    builder.create<LLVM::Prefetch>(
        loc,
        builder.create<LLVM::GEPOp>(
            loc, at.getType(), builder.getI8Type(), at,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(line)}),
        /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// What frames know an element by.
static std::vector<int64_t> keyOf(Value tensor, ArrayRef<Index> index) {
  std::vector<int64_t> key{
      reinterpret_cast<intptr_t>(tensor.getAsOpaquePointer())};
  for (const Index &i : index) {
    key.push_back(i.constant);
    key.push_back(i.terms.size());
    for (auto [loop, coefficient] : i.terms) {
      key.push_back(loop);
      key.push_back(coefficient);
    }
  }
  return key;
}

Value ElementEmitter::element(Value tensor, ArrayRef<Index> index) {
  // Lanes change only with a frame: a value of an outer frame is the same for
  // all lanes of an inner frame.
  std::vector<int64_t> key = keyOf(tensor, index);
  for (auto &frame : llvm::reverse(frames))
    if (auto it = frame.find(key); it != frame.end())
      return it->second;

  Value result;
  if (Value known = elements.lookup(tensor)) {
    result = known;
  } else if (Value pointer = buffers.lookup(tensor)) {
    RankedTensorType type = ir::tensorType(tensor);
    auto read = [&] { return readMemory(type, pointer, index); };
    result =
        fromMemory(rowKeeper ? rowKeeper->keep(tensor, index, read) : read(),
                   type.getElementType());
  } else {
    result = emit(tensor.getDefiningOp(),
                  cast<OpResult>(tensor).getResultNumber(), index);
  }
  return setElementAt(tensor, index, result);
}

Value ElementEmitter::setElementAt(Value tensor, ArrayRef<Index> index,
                                   Value value) {
  // Every op rounds its result, so that a kernel gives the same bits as its ops
  // one by one. Repeated rounding is folded away.
  Type elementType = ir::tensorType(tensor).getElementType();
  if (isNarrowFloat(elementType) && !buffers.lookup(tensor))
    value = fromMemory(toMemory(value, elementType), elementType);
  frames.back()[keyOf(tensor, index)] = value;
  return value;
}

} // namespace sinter::codegen
