//===- ByteProduct.cpp - products of 8-bit integers in panels -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// B is packed in panels, at load if it is constant, else at the start of a run.
// Rows of A are read in place if they are contiguous and have a depth that the
// unit can read, else copied. All blocks of a chunk of A, which stays in the
// cache of level 2, meet one panel before the next one. The sums are exact, so
// neither the cut into tasks nor the unit changes bits.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/BytePanels.h"
#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The bytes of a chunk of A: half of a small cache of level 2.
constexpr int64_t chunkBytes = 512 * 1024;
/// The fewest tasks of a product that has so many blocks: work for threads.
constexpr int64_t minTasks = 16;
/// The fewest products that are worth another thread.
constexpr double grainProducts = 16e6;
/// From so many products of one form on, each worker computes whole ones.
constexpr int64_t minBatches = 4;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class ByteProductCall : public LibraryCall {
public:
  ByteProductCall(OneDnnContext &context, const sinter_command &command,
                  const MatmulShape &shape, ByteSigns signs,
                  const uint8_t *constantB);

  uint64_t sharedBytes() const override {
    return isBatched() ? 0 : packedBytes();
  }
  uint64_t perWorkerBytes() const override {
    return isBatched() ? packedBytes() : 0;
  }
  Status bind(const Scratch &scratch, int) override {
    scratch_ = scratch;
    return {};
  }
  Status run(void *const *buffers, const CallContext &context) override;

  std::string description() const override {
    const int64_t count = shape_.batchCount();
    return (count > 1 ? std::to_string(count) + " products" : "product") +
           " of 8 bits by " + nameOf(byteUnit()) + ", " +
           std::to_string(shape_.m) + "x" + std::to_string(shape_.n) + "x" +
           std::to_string(shape_.k) +
           (constantB_ ? ", B packed at load" : ", B packed in each run") +
           (isCopied_ ? ", A copied" : "");
  }

private:
  bool isBatched() const { return shape_.batchCount() >= minBatches; }
  int64_t bytesOfB() const { return panels_ * bytePanelBytes(depth_); }
  /// Of one product: B, if it is not constant, and then the copy of A.
  uint64_t packedBytes() const {
    return static_cast<uint64_t>((constantB_ ? 0 : bytesOfB()) +
                                 (isCopied_ ? shape_.m * depth_ : 0));
  }
  uint8_t *copyOfA(uint8_t *scratch) const {
    return scratch + (constantB_ ? 0 : bytesOfB());
  }
  int64_t tasks() const { return panels_ * chunks_; }
  double productsOfTask() const {
    return static_cast<double>(chunk_ * byteRows * byteColumns) *
           static_cast<double>(depth_);
  }
  int64_t offsetOf(const Strides &strides, int64_t batch) const {
    const int64_t inner = shape_.innerCount();
    return shape_.outerOffset(strides, batch / inner) +
           batch % inner * shape_.innerStride(strides);
  }
  const uint8_t *operandA(void *const *buffers, int64_t batch) const {
    return static_cast<const uint8_t *>(buffers[shape_.transposed ? 1 : 0]) +
           offsetOf(shape_.a, batch);
  }
  const uint8_t *operandB(void *const *buffers, int64_t batch) const {
    return static_cast<const uint8_t *>(buffers[shape_.transposed ? 0 : 1]) +
           offsetOf(shape_.b, batch);
  }

  void packPanel(const uint8_t *b, int64_t panel, uint8_t *panels) const;
  void copyBlock(const uint8_t *a, int64_t block, uint8_t *copy) const;
  void runTask(ByteBlocks &blocks, void *const *buffers, int64_t batch,
               int64_t task, uint8_t *scratch) const;
  void runTogether(void *const *buffers, const CallContext &context,
                   int64_t batch) const;
  void store(uint32_t *sums, int64_t rows, int64_t firstRow,
             int64_t firstColumn, int64_t batch, void *const *buffers) const;

  const sinter_command &command_;
  const MatmulShape shape_;
  const ByteSigns signs_;
  const int64_t depth_, panels_, blocks_; // depth_ is padded
  int64_t chunk_, chunks_;                // in blocks of A
  const bool isCopied_;
  PackedBytes constantB_;
  Scratch scratch_;
};

} // namespace

ByteProductCall::ByteProductCall(OneDnnContext &context,
                                 const sinter_command &command,
                                 const MatmulShape &shape, ByteSigns signs,
                                 const uint8_t *constantB)
    : command_(command), shape_(shape), signs_(signs),
      depth_(paddedBytes(shape.k)), panels_(ceilDiv(shape.n, byteColumns)),
      blocks_(ceilDiv(shape.m, byteRows)),
      isCopied_(shape.a.col != 1 || shape.k != depth_) {
  const int64_t fitting = chunkBytes / (depth_ * byteRows),
                wanted = ceilDiv(blocks_, ceilDiv(minTasks, panels_));
  chunk_ = std::clamp<int64_t>(std::min(fitting, wanted), 1, blocks_);
  chunks_ = ceilDiv(blocks_, chunk_);
  if (constantB)
    constantB_ = context.packed.make(static_cast<uint64_t>(bytesOfB()),
                                     [&](uint8_t *panels) {
                                       for (int64_t i = 0; i < panels_; ++i)
                                         packPanel(constantB, i, panels);
                                     });
}

void ByteProductCall::packPanel(const uint8_t *b, int64_t panel,
                                uint8_t *panels) const {
  const int64_t first = panel * byteColumns;
  packBytePanel({b + first * shape_.b.col, shape_.b.row, shape_.b.col},
                signs_.b, shape_.k, std::min(byteColumns, shape_.n - first),
                panels + panel * bytePanelBytes(depth_));
}

void ByteProductCall::copyBlock(const uint8_t *a, int64_t block,
                                uint8_t *copy) const {
  const int64_t first = block * byteRows;
  packByteRows({a + first * shape_.a.row, shape_.a.row, shape_.a.col},
               std::min(byteRows, shape_.m - first), shape_.k,
               copy + first * depth_);
}

/// One chunk of A times one panel. `scratch` has what is packed.
void ByteProductCall::runTask(ByteBlocks &blocks, void *const *buffers,
                              int64_t batch, int64_t task,
                              uint8_t *scratch) const {
  const int64_t panel = task % panels_, begin = task / panels_ * chunk_,
                end = std::min(blocks_, begin + chunk_);
  const uint8_t *panels = constantB_ ? constantB_.get() : scratch;
  const uint8_t *a = isCopied_ ? copyOfA(scratch) : operandA(buffers, batch);
  const int64_t stride = isCopied_ ? depth_ : shape_.a.row;
  alignas(64) uint32_t sums[byteRows * byteColumns];
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = block * byteRows,
                  rows = std::min(byteRows, shape_.m - first);
    blocks.multiply({a + first * stride, stride, rows, depth_},
                    panels + panel * bytePanelBytes(depth_), sums);
    store(sums, rows, first, panel * byteColumns, batch, buffers);
  }
}

/// Applies the post-ops to a block, in place, and writes it to the result.
void ByteProductCall::store(uint32_t *sums, int64_t rows, int64_t firstRow,
                            int64_t firstColumn, int64_t batch,
                            void *const *buffers) const {
  const sinter_matmul &params = *command_.matmul.params;
  const int64_t columns = std::min(byteColumns, shape_.n - firstColumn);
  for (int64_t i = 0; i < rows; ++i) {
    uint32_t *line = sums + i * byteColumns;
    const int64_t offset = offsetOf(shape_.c, batch) +
                           (firstRow + i) * shape_.c.row +
                           firstColumn * shape_.c.col;
    for (uint32_t at = 0; at < params.numPostOps; ++at) {
      const sinter_post_op &op = params.postOps[at];
      if (op.kind == SINTER_POST_RELU) {
        for (int64_t j = 0; j < columns; ++j)
          line[j] = static_cast<int32_t>(line[j]) <= 0 ? 0 : line[j];
        continue;
      }
      const auto *operand = static_cast<const uint32_t *>(buffers[op.slice]);
      const bool isBias = op.kind == SINTER_POST_BIAS;
      const uint32_t *from =
          !isBias ? operand + offset
                  : operand + (shape_.transposed ? firstRow + i : firstColumn);
      const int64_t step = !isBias ? shape_.c.col : shape_.transposed ? 0 : 1;
      for (int64_t j = 0; j < columns; ++j)
        line[j] += from[j * step];
    }
    auto *to =
        static_cast<uint32_t *>(buffers[command_.numSlices - 1]) + offset;
    if (shape_.c.col == 1)
      std::copy(line, line + columns, to);
    else
      for (int64_t j = 0; j < columns; ++j)
        to[j * shape_.c.col] = line[j];
  }
}

/// One product by all workers.
void ByteProductCall::runTogether(void *const *buffers,
                                  const CallContext &context,
                                  int64_t batch) const {
  auto parallelFor = [&](int64_t count, int64_t grain, auto &&function) {
    context.pool->parallelFor(context.threads, count, grain,
                              [&](int, int64_t begin, int64_t end) {
                                for (int64_t i = begin; i < end; ++i)
                                  function(i);
                              });
  };
  if (!constantB_)
    parallelFor(panels_, 1, [&](int64_t panel) {
      packPanel(operandB(buffers, batch), panel, scratch_.shared);
    });
  if (isCopied_)
    parallelFor(blocks_, ceilDiv(blocks_, minTasks), [&](int64_t block) {
      copyBlock(operandA(buffers, batch), block, copyOfA(scratch_.shared));
    });
  context.pool->parallelFor(
      context.threads, tasks(),
      std::max<int64_t>(1,
                        static_cast<int64_t>(grainProducts / productsOfTask())),
      [&](int, int64_t begin, int64_t end) {
        ByteBlocks blocks(byteUnit(), signs_);
        for (int64_t task = begin; task < end; ++task)
          runTask(blocks, buffers, batch, task, scratch_.shared);
      });
}

Status ByteProductCall::run(void *const *buffers, const CallContext &context) {
  if (!isBatched()) {
    for (int64_t batch = 0; batch < shape_.batchCount(); ++batch)
      runTogether(buffers, context, batch);
    return {};
  }
  const double products = productsOfTask() * static_cast<double>(tasks());
  context.pool->parallelFor(
      context.threads, shape_.batchCount(),
      std::max<int64_t>(1, static_cast<int64_t>(grainProducts / products)),
      [&](int worker, int64_t begin, int64_t end) {
        uint8_t *scratch = scratch_.perWorker + static_cast<uint64_t>(worker) *
                                                    scratch_.perWorkerStride;
        ByteBlocks blocks(byteUnit(), signs_);
        for (int64_t batch = begin; batch < end; ++batch) {
          for (int64_t panel = 0; panel < panels_ && !constantB_; ++panel)
            packPanel(operandB(buffers, batch), panel, scratch);
          for (int64_t block = 0; block < blocks_ && isCopied_; ++block)
            copyBlock(operandA(buffers, batch), block, copyOfA(scratch));
          for (int64_t task = 0; task < tasks(); ++task)
            runTask(blocks, buffers, batch, task, scratch);
        }
      });
  return {};
}

LibraryCallResult sinter::cpu::prepareByteProduct(OneDnnContext &context,
                                                  const sinter_command &command,
                                                  const uint8_t *constants) {
  const sinter_matmul &params = *command.matmul.params;
  const uint32_t dtypeOfB =
      command.matmul.dtypeOfB ? command.matmul.dtypeOfB : params.dtype;
  auto isByte = [](uint32_t dtype) {
    return dtype == SINTER_U8 || dtype == SINTER_I8;
  };
  if (!isByte(params.dtype) || !isByte(dtypeOfB) ||
      params.outDtype != SINTER_I32 || byteUnit() == ByteUnit::Loops)
    return std::unique_ptr<LibraryCall>();
  const MatmulShape shape = MatmulShape::simplify(params);
  if (shape.empty() || shape.k == 0)
    return std::unique_ptr<LibraryCall>();
  // A block may change what the post-ops of another one read.
  const sinter_slice &result = command.slices[command.numSlices - 1];
  for (const sinter_post_op &op : std::span(params.postOps, params.numPostOps))
    if ((!readsOperand(op) && op.kind != SINTER_POST_RELU) ||
        (readsOperand(op) && overlaps(command.slices[op.slice], result)))
      return std::unique_ptr<LibraryCall>();
  ByteSigns signs{params.dtype == SINTER_I8, dtypeOfB == SINTER_I8};
  if (shape.transposed)
    std::swap(signs.a, signs.b);
  const float *b =
      shape.batchRank == 0
          ? constantAddress(command.slices[shape.transposed ? 0 : 1], constants)
          : nullptr;
  return std::unique_ptr<LibraryCall>(std::make_unique<ByteProductCall>(
      context, command, shape, signs, reinterpret_cast<const uint8_t *>(b)));
}
