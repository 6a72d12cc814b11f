//===- ContractionEpilogue.cpp - what follows a contraction ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/ContractionEpilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::Contraction;
using codegen::Index;
using codegen::ProductDim;
using codegen::ProductTerm;
using codegen::Root;

ContractionEpilogue::ContractionEpilogue(std::shared_ptr<codegen::Nest> nestIn,
                                         const Contraction &contraction)
    : nest(std::move(nestIn)), contraction(contraction),
      result(contraction.op->getResult(0)),
      resultIndex(codegen::linearIndex(ir::tensorType(result),
                                       nest->indices.lookup(result))) {}

/// The nest's loop that covers the same elements of the result as a loop of the
/// product.
std::optional<ContractionEpilogue::StoredLoop>
ContractionEpilogue::storedLoop(ProductDim dim, unsigned number) const {
  int64_t size = contraction.loopsOf(dim)[number], stride = 0;
  for (const ProductTerm &term : contraction.result)
    if (term.dim == dim && term.loop == number)
      stride = term.factor;
  for (auto [loop, steps] : llvm::enumerate(nest->domain.sizes)) {
    int64_t ownStride = resultIndex.coefficient(loop);
    if (steps > 1 && ownStride > 0 && stride % ownStride == 0 &&
        stride >= ownStride && stride * size <= ownStride * steps)
      return StoredLoop{static_cast<unsigned>(loop), stride / ownStride};
  }
  return std::nullopt;
}

int64_t ContractionEpilogue::storedStride(ProductDim dim) const {
  if (contraction.loopsOf(dim).empty())
    return 0;
  auto stored = storedLoop(dim, contraction.loopsOf(dim).size() - 1);
  if (!stored)
    return 0;
  const Root &root = nest->roots.front();
  return stored->factor *
         codegen::linearIndex(root.type, root.write).coefficient(stored->loop);
}

int64_t ContractionEpilogue::lanes(int64_t most) const {
  ArrayRef<int64_t> loops = contraction.loopsOf(ProductDim::columns);
  if (loops.empty() || storedStride(ProductDim::columns) != 1)
    return 1;
  auto stored = storedLoop(ProductDim::columns, loops.size() - 1);
  if (stored->factor != 1)
    return 1;
  int64_t count = std::min(most, vectorElements(*nest, stored->loop));
  while (loops.back() % count != 0)
    count /= 2;
  return count;
}

std::optional<BlockRows>
ContractionEpilogue::rowsOfTile(int64_t rows, int64_t columns) const {
  int64_t batch = contraction.size(ProductDim::batch),
          allRows = contraction.size(ProductDim::rows);
  if (contraction.size(ProductDim::columns) > columns ||
      (batch > 1 && allRows % rows != 0))
    return std::nullopt;
  // The result must be row-major in batch, rows and columns.
  int64_t stride = 1;
  for (ProductDim dim :
       {ProductDim::columns, ProductDim::rows, ProductDim::batch})
    for (size_t loop = contraction.loopsOf(dim).size(); loop-- > 0;) {
      int64_t size = contraction.loopsOf(dim)[loop];
      auto isInOrder = [&](const ProductTerm &term) {
        return term.dim == dim && term.loop == loop && term.factor == stride;
      };
      if (size > 1 && llvm::none_of(contraction.result, isInOrder))
        return std::nullopt;
      stride *= size;
    }
  return BlockRows{batch * allRows, rows};
}

bool ContractionEpilogue::storesRows(unsigned output) const {
  return llvm::all_of(nest->roots, [&](const Root &root) {
    return root.output != output ||
           codegen::linearIndex(root.type, root.write) == resultIndex;
  });
}

void ContractionEpilogue::begin(Threads &threads, ArrayRef<Value> inputs,
                                ArrayRef<Value> outputs,
                                ArrayRef<Value> batch) {
  t = &threads;
  batchLoops.assign(batch.begin(), batch.end());
  emitter.emplace(t->b, t->loc, nest->domain);
  emitter->setBufferAlignment(kBufferAlignment);
  for (auto [argument, pointer] : llvm::zip_equal(nest->arguments, inputs))
    emitter->setBuffer(argument, pointer);
  for (Root &root : nest->roots)
    root.pointer = outputs[root.output];
  for (auto [loop, size] : llvm::enumerate(nest->domain.sizes))
    if (size == 1)
      emitter->setLoop(loop, emitter->constantInt(t->b.getI64Type(), 0));
}

/// The value (i64) of a loop of the nest; `position` has one value per term of
/// the contraction's result.
Value ContractionEpilogue::loopValue(unsigned loop,
                                     ArrayRef<Value> position) const {
  OpBuilder &b = t->b;
  auto number = [&](int64_t value) {
    return b.create<arith::ConstantIntOp>(t->loc, value, 64).getResult();
  };
  auto sumOf = [&](llvm::function_ref<int64_t(size_t)> factorOf) {
    Value sum;
    for (auto [i, value] : llvm::enumerate(position)) {
      int64_t factor = factorOf(i);
      if (factor == 0)
        continue;
      Value term = t->wide(value);
      if (factor != 1)
        term = b.create<arith::MulIOp>(t->loc, term, number(factor));
      sum = sum ? b.create<arith::AddIOp>(t->loc, sum, term).getResult() : term;
    }
    return sum ? sum : number(0);
  };
  // A sum of the product's loops, if together they cover this loop.
  int64_t covered = 1;
  SmallVector<int64_t> factors;
  for (const ProductTerm &term : contraction.result) {
    auto stored = storedLoop(term.dim, term.loop);
    bool isHere = stored && stored->loop == loop;
    factors.push_back(isHere ? stored->factor : 0);
    if (isHere)
      covered *= contraction.loopsOf(term.dim)[term.loop];
  }
  int64_t steps = nest->domain.sizes[loop];
  if (covered == steps)
    return sumOf([&](size_t i) { return factors[i]; });
  // Otherwise from the position in the whole result.
  int64_t stride = resultIndex.coefficient(loop);
  Value value = sumOf([&](size_t i) { return contraction.result[i].factor; });
  if (stride != 1)
    value = b.create<arith::DivUIOp>(t->loc, value, number(stride));
  if (stride * steps < ir::tensorType(result).getNumElements())
    value = b.create<arith::RemUIOp>(t->loc, value, number(steps));
  return value;
}

void ContractionEpilogue::emit(ArrayRef<Value> row, ArrayRef<Value> column,
                               Value sum, int64_t count) {
  SmallVector<Value> position;
  for (const ProductTerm &term : contraction.result) {
    ArrayRef<Value> values = term.dim == ProductDim::rows      ? row
                             : term.dim == ProductDim::columns ? column
                                                               : batchLoops;
    position.push_back(values[term.loop]);
  }
  emitter->pushFrame();
  for (auto [loop, size] : llvm::enumerate(nest->domain.sizes))
    if (size > 1)
      emitter->setLoop(loop, loopValue(loop, position));
  if (count > 1)
    emitter->setLanes(storedLoop(ProductDim::columns, column.size() - 1)->loop,
                      count);
  emitter->setElement(result, sum);
  SmallVector<Value> values;
  for (Root &root : nest->roots)
    values.push_back(emitter->element(root.value, root.read));
  for (auto [root, value] : llvm::zip_equal(nest->roots, values))
    emitter->store(value, root.type, root.pointer, root.write);
  emitter->clearLanes();
  emitter->popFrame();
}

} // namespace sinter::gpu
