//===- ChunkRows.cpp - large values, some rows at a time ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The logits of a language model take rows x vocabulary numbers, and so does
// their gradient: for GPT-2 more than all activations. But only the losses, the
// gradient of the hidden state and that of the weight are computed from them,
// which are small. Here these are computed for a chunk of rows after the other
// (P.-L. Hsu et al., "Liger Kernel", 2024, do so for one loss on a GPU). The
// region of ops comes from RowRegion.h, so any loss that has rows fits.
//
// A result with rows has the same bits as before if the products do not depend
// on the number of rows. A sum over rows, such as the gradient of the weight,
// is the sum over each chunk, added up in order; the chunks depend on shapes
// and the kind of device only.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "ir/exec/Exec.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/Resize.h"
#include "passes/fuse/RowRegion.h"
#include "passes/place/Devices.h"
#include "passes/precision/PrecisionReport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_CHUNKROWS
#include "passes/Passes.h.inc"

namespace {

/// The share of the time of its products that a chunk may take for reading
/// weights and adding to sums.
constexpr double kSpareTime = 0.125;
/// What is copied because of the chunks, operands and results with rows, may
/// have one element for so many of the large value.
constexpr int64_t kLeastRatio = 3;

double bytesOf(Value value) {
  return static_cast<double>(exec::sizeBytes(value.getType()));
}

/// Multiply-adds of `dot` in the time in which memory moves a byte: those of an
/// H100, or of a CPU with AVX-512.
double multiplyAddsPerByte(ir::DotGeneralOp dot, const Target *target) {
  Type element = getElementTypeOrSelf(multiplied(dot).first.getType());
  bool isNarrow = ir::elementSizeBytes(element) < 4;
  if (!target || target->traits().isHost)
    return isNarrow ? 16 : 4;
  if (isNarrow)
    return 150;
  return dot.getTf32() ? 75 : 8;
}

/// The time of the products of `region`, in bytes that memory moves.
double timeOfProducts(const RowRegion &region, const Target *target) {
  double time = 0;
  for (Operation *op : region.operations())
    if (auto dot = dyn_cast<ir::DotGeneralOp>(op))
      time += countMultiplyAdds(dot) / multiplyAddsPerByte(dot, target);
  return time;
}

/// The bytes that each chunk moves in addition: it reads the operands that all
/// rows share, which a CPU also packs, and adds to the sums.
double bytesOfChunk(const RowRegion &region) {
  double bytes = 0;
  for (Value factor : region.wholeFactors())
    bytes += 2 * bytesOf(asStored(factor));
  for (Value result : region.results())
    if (region.isSum(result))
      bytes += 2 * bytesOf(result);
  return bytes;
}

/// Whether little is copied to cut operands and to join results.
bool hasSmallBorder(const RowRegion &region) {
  int64_t elements = 0;
  auto count = [&](Value value) {
    elements += ir::tensorType(value).getNumElements();
  };
  llvm::for_each(region.rowOperands(), count);
  for (Value result : region.results())
    if (!region.isSum(result))
      count(result);
  return elements * kLeastRatio <= region.product().getType().getNumElements();
}

/// Whether sums over rows may be added up: 16-bit floats would be rounded each
/// time.
bool hasWideSums(const RowRegion &region) {
  return llvm::all_of(region.results(), [&](Value result) {
    return !region.isSum(result) ||
           ir::elementSizeBytes(ir::tensorType(result).getElementType()) >= 4;
  });
}

/// `count` chunks of `rows` rows; the last one may have fewer.
struct Chunks {
  int64_t count = 1, rows = 0;
};

/// At most `most` chunks of `size` rows, of equal size if a number between most
/// and its half allows that.
Chunks chunksOf(int64_t size, int64_t most) {
  for (int64_t count = most; 2 * count > most; --count)
    if (size % count == 0)
      return {count, size / count};
  int64_t rows = llvm::divideCeil(size, most);
  return {static_cast<int64_t>(llvm::divideCeil(size, rows)), rows};
}

/// Copies the ops of a region for one chunk after the other.
class ChunkBuilder {
public:
  ChunkBuilder(const RowRegion &region, const Chunks &chunks)
      : region(region), chunks(chunks), b(region.operations().back()) {
    b.setInsertionPointAfter(region.operations().back());
  }

  /// The results of the region, in their order.
  SmallVector<Value> build() {
    SmallVector<Value> results = region.results();
    // For a result with rows its chunks, for a sum the sum up to now.
    SmallVector<SmallVector<Value>> parts(results.size());
    for (int64_t i = 0; i < chunks.count; ++i) {
      copy(i);
      earlier.clear();
      for (auto [result, list] : llvm::zip_equal(results, parts)) {
        Value part = chunk.lookup(result);
        if (i > 0 && region.isSum(result))
          list.back() = b.create<ir::AddOp>(result.getLoc(), list.back(), part);
        else
          list.push_back(part);
        earlier.push_back(list.back());
      }
    }
    SmallVector<Value> joined;
    for (auto [result, list] : llvm::zip_equal(results, parts))
      joined.push_back(join(result, list));
    return joined;
  }

private:
  int64_t rowsOfChunk(int64_t i) const {
    return std::min(chunks.rows, region.numRows() - i * chunks.rows);
  }

  void copy(int64_t i) {
    chunk.clear();
    for (Value operand : region.rowOperands())
      chunk.map(operand, cut(operand, i));
    for (Operation *op : region.operations()) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(chunk.lookupOrDefault(operand));
      std::optional<ir::RowDim> where = region.rowsOf(op->getResult(0));
      Operation *copied = where ? copyResized(b, op, operands, where->dim,
                                              rowsOfChunk(i) * where->inner)
                                : copyResized(b, op, operands, {}, 0);
      chunk.map(op->getResults(), copied->getResults());
    }
  }

  /// The rows of chunk `i` of an operand. A product reads them where they are.
  /// Other kernels are the same for all chunks if they get the number of the
  /// chunk as a constant (ShareKernels.cpp).
  Value cut(Value operand, int64_t i) {
    Location loc = operand.getLoc();
    if (Value narrow = widened(operand))
      return ir::castTo(b, loc, cutStored(operand, narrow, i),
                        ir::tensorType(operand).getElementType());
    return cutStored(operand, operand, i);
  }
  /// The same of `stored`, which is `operand` or what that is widened from.
  Value cutStored(Value operand, Value stored, int64_t i) {
    ir::RowDim where = *region.rowsOf(operand);
    // A constant may have no node's name.
    Location loc = stored.getDefiningOp<ir::ConstantOp>()
                       ? region.product().getLoc()
                       : operand.getLoc();
    RankedTensorType type = ir::tensorType(stored);
    // A chunk begins when the one before has ended. All else in it depends on
    // the first product.
    if (i > 0 && llvm::is_contained(region.product()->getOperands(), operand))
      stored = b.create<ir::AfterOp>(loc, type, stored, earlier);
    bool isFactor = llvm::any_of(operand.getUsers(), [](Operation *user) {
      return ir::isContraction(user);
    });
    if (!isFactor && chunks.rows * chunks.count == region.numRows()) {
      SmallVector<int64_t> shape(type.getShape());
      shape[where.dim] = chunks.rows * where.inner;
      shape.insert(shape.begin() + where.dim, chunks.count);
      Value all = ir::reshapeTo(b, loc, stored, shape);
      shape.erase(shape.begin() + where.dim);
      return b.create<ir::GatherOp>(loc, type.clone(shape), all,
                                    ir::scalarI64(b, loc, i),
                                    static_cast<uint64_t>(where.dim));
    }
    const int64_t begin = i * chunks.rows * where.inner;
    return ir::sliceAlong(b, loc, stored, where.dim, begin,
                          begin + rowsOfChunk(i) * where.inner);
  }

  /// The whole of `result` from its parts. Its readers wait for all of the last
  /// chunk, whose large values end then. This also keeps the kernel that joins
  /// parts from computing the last one.
  Value join(Value result, SmallVector<Value> &parts) {
    if (region.isSum(result))
      return parts.front();
    Location loc = result.getLoc();
    parts.back() = b.create<ir::AfterOp>(loc, parts.back().getType(),
                                         parts.back(), earlier);
    return b.create<ir::ConcatOp>(
        loc, result.getType(), parts,
        static_cast<uint64_t>(region.rowsOf(result)->dim));
  }

  const RowRegion &region;
  Chunks chunks;
  OpBuilder b;
  IRMapping chunk;
  SmallVector<Value> earlier; // the results of the chunk before
};

/// Moves the ops that stand between members of the region and read its results
/// behind the last member.
void moveReadersBehind(const RowRegion &region) {
  Operation *first = region.operations().front(),
            *last = region.operations().back();
  llvm::DenseSet<Operation *> members(region.operations().begin(),
                                      region.operations().end()),
      readers;
  auto addReaders = [&](Operation *op) {
    for (Operation *user : op->getUsers()) {
      user = op->getBlock()->findAncestorOpInBlock(*user);
      if (!members.contains(user))
        readers.insert(user);
    }
  };
  for (Value result : region.results())
    addReaders(result.getDefiningOp());
  SmallVector<Operation *> moved;
  for (Operation &op :
       llvm::make_range(first->getIterator(), last->getIterator()))
    if (readers.contains(&op)) {
      moved.push_back(&op);
      addReaders(&op);
    }
  for (Operation *op : llvm::reverse(moved))
    op->moveAfter(last);
}

class ChunkRowsPass : public impl::ChunkRowsBase<ChunkRowsPass> {
public:
  ChunkRowsPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices) {}

  void runOnOperation() override {
    target = targetOf(getOperation(), devices, mainTarget);
    SmallVector<ir::DotGeneralOp> large;
    for (auto dot : getOperation().getOps<ir::DotGeneralOp>())
      if (dot.getLhsBatch().empty() &&
          bytesOf(dot.getResult()) >= static_cast<double>(leastBytes))
        large.push_back(dot);
    llvm::DenseSet<Operation *> erased;
    for (ir::DotGeneralOp dot : large)
      if (!erased.contains(dot))
        visit(dot, erased);
  }

private:
  // Pattern: f(dot(x, w)) -> concat(f(dot(rows of x, w)), ..),
  //          or the sum of them
  void visit(ir::DotGeneralOp dot, llvm::DenseSet<Operation *> &erased) {
    std::string firstWhy; // of an outer dimension, rather than of the columns
    std::optional<RowRegion> best;
    Chunks chunks;
    // An outer dimension is preferred, because its rows are in one piece,
    // unless an inner one allows more than twice the chunks.
    for (int64_t dim : llvm::seq(dot.getType().getRank())) {
      std::string why;
      std::optional<RowRegion> region = RowRegion::around(dot, dim, why);
      Chunks possible = region ? chunksFor(*region, why) : Chunks();
      if (firstWhy.empty())
        firstWhy = why;
      if (possible.count <= (chunks.count == 1 ? 1 : 2 * chunks.count))
        continue;
      chunks = possible;
      best = std::move(region);
    }
    if (!best) {
      ir::remark("chunk-rows", "not-chunked", dot.getLoc(), firstWhy);
      return;
    }
    ir::remark("chunk-rows", "chunked", dot.getLoc(), "", chunks.count);
    SmallVector<Value> results = best->results();
    moveReadersBehind(*best);
    SmallVector<Value> joined = ChunkBuilder(*best, chunks).build();
    for (auto [result, whole] : llvm::zip_equal(results, joined))
      result.replaceAllUsesWith(whole);
    for (Operation *op : llvm::reverse(best->operations()))
      if (op->use_empty()) {
        erased.insert(op);
        op->erase();
      }
  }

  Chunks chunksFor(const RowRegion &region, std::string &why) {
    if (!hasSmallBorder(region)) {
      why = "what it is computed from, or what is computed from it, is large";
      return {};
    }
    if (!hasWideSums(region)) {
      why = "a sum over rows has 16 bits";
      return {};
    }
    double most = std::min(static_cast<double>(region.numRows()),
                           static_cast<double>(mostChunks));
    if (double bytes = bytesOfChunk(region))
      most =
          std::min(most, kSpareTime * timeOfProducts(region, target) / bytes);
    // A chunk of half the least bytes is small enough.
    most = std::min(most, bytesOf(region.product().getResult()) * 2 /
                              static_cast<double>(leastBytes));
    if (most < 2) {
      why = "reading the weights and adding up sums would take too long";
      return {};
    }
    return chunksOf(region.numRows(), static_cast<int64_t>(most));
  }

  const Target *mainTarget, *target = nullptr;
  ArrayRef<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createChunkRows(const Target *target,
                                      ArrayRef<ProgramDevice> devices) {
  return std::make_unique<ChunkRowsPass>(target, devices);
}

} // namespace sinter::passes
