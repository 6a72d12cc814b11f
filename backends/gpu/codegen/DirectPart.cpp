//===- DirectPart.cpp - contractions without shared operands --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A thread sums one result directly from global memory. Several threads of a
// block share a long sum: each takes a stretch of it, and their sums are added
// in order. The number of threads depends only on the shape of the product.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/ContractionEpilogue.h"
#include "backends/gpu/codegen/OperandPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace sinter::gpu {

using codegen::Contraction;
using codegen::ElementEmitter;
using codegen::ProductDim;
using codegen::ProductOperand;
using codegen::ProductTerm;

namespace {

/// One thread computes sums of up to this many steps.
constexpr int64_t kShortSum = 64;
/// Threads for one stretch of the sums, one per result.
constexpr int64_t kDirectThreads = 128;

int64_t results(const Contraction &c) {
  return c.size(ProductDim::batch) * c.size(ProductDim::rows) *
         c.size(ProductDim::columns);
}

/// The term of the result along whose loop `operand` is contiguous.
const ProductTerm *contiguousTerm(const Contraction &c,
                                  const ProductOperand &operand) {
  for (const ProductTerm &term : c.result)
    if (operand.stride(term.dim, term.loop) == 1)
      return &term;
  return nullptr;
}

class DirectPart : public BlockPart {
public:
  DirectPart(std::shared_ptr<codegen::Nest> nest, Contraction &&product);

  int64_t threads() const override {
    return groups > 1 ? groups * kWarpThreads : kDirectThreads;
  }
  int64_t blocks(int64_t blockThreads) const override {
    return llvm::divideCeil(units, blockThreads / groups);
  }
  int64_t reach() const override { return reachOf(*nest); }
  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override;

private:
  /// The values of the loops of each dimension, for one result.
  using Loops = std::array<SmallVector<Value>, codegen::kProductDims>;

  Loops loopsOf(Value unit) const;
  Value sumOf(ElementEmitter &emitter, const Loops &loops,
              ArrayRef<Value> inputs, Value first, Value end);
  Value load(ElementEmitter &emitter, const ProductOperand &operand,
             Value pointer, const OperandPlace &place) const;

  std::shared_ptr<codegen::Nest> nest;
  Contraction contraction;
  ContractionEpilogue epilogue;
  SmallVector<ProductTerm> order; // of the results; the last varies fastest
  int64_t units;                  // number of results
  int64_t depth, groups = 1;
  Type sumType;
  Threads *t = nullptr; // while code is emitted
};

DirectPart::DirectPart(std::shared_ptr<codegen::Nest> nestIn,
                       Contraction &&product)
    : nest(std::move(nestIn)), contraction(std::move(product)),
      epilogue(nest, contraction), units(results(contraction)),
      depth(contraction.size(ProductDim::depth)) {
  order = contraction.result;
  llvm::stable_sort(order, [](const ProductTerm &x, const ProductTerm &y) {
    return x.factor > y.factor;
  });
  if (depth > kShortSum) {
    // Contiguous reads matter more than contiguous stores.
    const ProductTerm *fastest = contiguousTerm(contraction, contraction.b);
    if (const ProductTerm *ofA = contiguousTerm(contraction, contraction.a))
      fastest = ofA;
    if (fastest) {
      ProductTerm last = *fastest;
      llvm::erase_if(order, [&](const ProductTerm &term) {
        return term.dim == last.dim && term.loop == last.loop;
      });
      order.push_back(last);
    }
    bool isFew = units <= 128 * kWarpThreads;
    int64_t most = isFew ? kMaxBlockThreads / kWarpThreads : 8;
    while (groups < most && depth >= 2 * groups * kShortSum)
      groups *= 2;
  }
  OpBuilder builder(contraction.op->getContext());
  sumType =
      ElementEmitter(builder, contraction.op->getLoc(), nest->domain)
          .computeType(
              ir::tensorType(contraction.op->getResult(0)).getElementType());
}

DirectPart::Loops DirectPart::loopsOf(Value unit) const {
  SmallVector<int64_t> sizes;
  for (const ProductTerm &term : order)
    sizes.push_back(contraction.loopsOf(term.dim)[term.loop]);
  SmallVector<Value> values = splitIndex(*t, unit, sizes);
  Loops loops;
  for (unsigned dim = 0; dim < codegen::kProductDims; ++dim)
    loops[dim].resize(contraction.loops[dim].size());
  for (auto [term, value] : llvm::zip_equal(order, values))
    loops[static_cast<unsigned>(term.dim)][term.loop] = value;
  return loops;
}

Value DirectPart::load(ElementEmitter &emitter, const ProductOperand &operand,
                       Value pointer, const OperandPlace &place) const {
  Type element = ir::tensorType(operand.base).getElementType(),
       memory = emitter.storageType(element);
  Value address =
      t->b.create<LLVM::GEPOp>(t->loc, pointer.getType(), memory, pointer,
                               ArrayRef<LLVM::GEPArg>{place.offset()});
  return emitter.fromMemory(
      t->b.create<LLVM::LoadOp>(t->loc, memory, address,
                                ir::elementSizeBytes(element)),
      element);
}

/// The sum of the products of steps [first, end).
Value DirectPart::sumOf(ElementEmitter &emitter, const Loops &loops,
                        ArrayRef<Value> inputs, Value first, Value end) {
  OpBuilder &b = t->b;
  auto placeOf = [&](const ProductOperand &operand) {
    OperandPlace place(*t, operand);
    for (ProductDim dim :
         {ProductDim::batch, ProductDim::rows, ProductDim::columns})
      place = place.at(dim, loops[static_cast<unsigned>(dim)]);
    return place;
  };
  auto pointerOf = [&](const ProductOperand &operand) {
    return inputs[cast<BlockArgument>(operand.base).getArgNumber()];
  };
  OperandPlace a = placeOf(contraction.a), bPlace = placeOf(contraction.b);
  Value zero = b.create<arith::ConstantOp>(t->loc, b.getZeroAttr(sumType));
  auto loop =
      b.create<scf::ForOp>(t->loc, first, end, t->number(1), ValueRange{zero});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> steps = splitIndex(*t, loop.getInductionVar(),
                                        contraction.loopsOf(ProductDim::depth));
  OperandPlace stepA = a.at(ProductDim::depth, steps),
               stepB = bPlace.at(ProductDim::depth, steps);
  Value sum = loop.getRegionIterArg(0);
  auto next = [&] {
    Value x = load(emitter, contraction.a, pointerOf(contraction.a), stepA),
          y = load(emitter, contraction.b, pointerOf(contraction.b), stepB);
    return t->multiplyAdd(x, y, sum);
  };
  Value inside = t->both(stepA.isInside(), stepB.isInside());
  if (!inside) {
    b.create<scf::YieldOp>(t->loc, next());
    return loop.getResult(0);
  }
  auto choice =
      b.create<scf::IfOp>(t->loc, sumType, inside, /*withElseRegion=*/true);
  b.create<scf::YieldOp>(t->loc, choice.getResult(0));
  b.setInsertionPointToStart(choice.thenBlock());
  b.create<scf::YieldOp>(t->loc, next());
  b.setInsertionPointToStart(choice.elseBlock());
  b.create<scf::YieldOp>(t->loc, sum);
  return loop.getResult(0);
}

void DirectPart::emit(Threads &threads, ArrayRef<Value> inputs,
                      ArrayRef<Value> outputs) {
  t = &threads;
  OpBuilder &b = t->b;
  ElementEmitter emitter(b, t->loc, nest->domain);
  int64_t together = t->blockThreads / groups; // results of a block
  Value own = groups > 1 ? t->rem(t->thread, together) : t->thread;
  Value unit = t->add(t->mul(t->block, together), own);
  Value isUnit = units % together == 0 ? Value() : t->isLess(unit, units);
  auto store = [&](const Loops &loops, Value sum) {
    auto of = [&](ProductDim dim) {
      return ArrayRef<Value>(loops[static_cast<unsigned>(dim)]);
    };
    epilogue.begin(*t, inputs, outputs, of(ProductDim::batch));
    epilogue.emit(of(ProductDim::rows), of(ProductDim::columns), sum, 1);
  };
  if (groups == 1) {
    t->when(isUnit, [&] {
      Loops loops = loopsOf(unit);
      store(loops,
            sumOf(emitter, loops, inputs, t->number(0), t->number(depth)));
    });
    return;
  }
  Value group = t->div(t->thread, together);
  Type memory = sumType;
  Value array =
      t->beginExchange(memory, groups * together, /*isRepeated=*/false);
  t->when(isUnit, [&] {
    int64_t stretch = llvm::divideCeil(depth, groups);
    Value first = t->mul(group, stretch),
          end = t->add(first, t->number(stretch));
    if (depth % groups != 0)
      end = b.create<arith::MinUIOp>(t->loc, end, t->number(depth));
    Value sum = sumOf(emitter, loopsOf(unit), inputs, first, end);
    b.create<LLVM::StoreOp>(t->loc, sum,
                            t->elementAddress(array, memory, t->thread));
  });
  t->barrier();
  t->when(t->both(t->isLess(group, 1), isUnit), [&] {
    Value sum;
    for (int64_t i = 0; i < groups; ++i) {
      Value part = b.create<LLVM::LoadOp>(
          t->loc, memory,
          t->elementAddress(array, memory,
                            t->add(own, t->number(i * together))));
      sum = sum ? t->addElements(sum, part) : part;
    }
    store(loopsOf(unit), sum);
  });
}

} // namespace

bool isDirect(const Contraction &c) {
  constexpr int64_t kFewSteps = 4, kFewLines = 2;
  int64_t depth = c.size(ProductDim::depth);
  if (depth <= kFewSteps)
    return true;
  if (std::min(c.size(ProductDim::rows), c.size(ProductDim::columns)) >
      kFewLines)
    return false;
  if (depth <= kShortSum)
    return true;
  // For long sums, an operand must at least be contiguous along results.
  auto isAlongBatch = [&](const ProductOperand &operand) {
    const ProductTerm *term = contiguousTerm(c, operand);
    return term && term->dim == ProductDim::batch;
  };
  return isAlongBatch(c.a) || isAlongBatch(c.b);
}

std::unique_ptr<BlockPart> createDirectPart(std::shared_ptr<codegen::Nest> nest,
                                            Contraction &&contraction) {
  return std::make_unique<DirectPart>(std::move(nest), std::move(contraction));
}

} // namespace sinter::gpu
