//===- ByteProduct.cpp - products of 8-bit integers in panels -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rows of A are read in place if they are contiguous and have a depth that the
// unit can read, else copied. The sums are exact, so neither the cut into tasks
// nor the unit changes bits.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/BytePanels.h"
#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PanelCall.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

class ByteProductCall : public PanelCall {
public:
  ByteProductCall(OneDnnContext &context, const sinter_command &command,
                  const MatmulShape &shape, ByteSigns signs,
                  const uint8_t *constantB)
      : PanelCall(command, sizesOf(shape)), shape_(shape), signs_(signs) {
    if (constantB)
      packConstantB(context, constantB);
  }

  std::string description() const override {
    const int64_t count = shape_.batchCount();
    return (count > 1 ? std::to_string(count) + " products" : "product") +
           " of 8 bits by " + nameOf(byteUnit()) + ", " +
           std::to_string(shape_.m) + "x" + std::to_string(shape_.n) + "x" +
           std::to_string(shape_.k) +
           (hasConstantB() ? ", B packed at load" : ", B packed in each run") +
           (isCopied(shape_) ? ", A copied" : "");
  }

private:
  static bool isCopied(const MatmulShape &shape) {
    return shape.a.col != 1 || shape.k != paddedBytes(shape.k);
  }
  static Sizes sizesOf(const MatmulShape &shape) {
    const int64_t blocks = ceilDiv(shape.m, blockRows),
                  depth = paddedBytes(shape.k);
    return {shape.batchCount(),
            shape.sharesB(),
            shape.n,
            blocks,
            depth,
            depth,
            bytePanelBytes(depth),
            isCopied(shape) ? blocks : 0,
            isCopied(shape) ? shape.m * depth : 0};
  }
  int64_t rowsOf(int64_t block) const {
    return std::min(blockRows, shape_.m - block * blockRows);
  }

  const uint8_t *operandA(void *const *buffers, int64_t batch) const override {
    return static_cast<const uint8_t *>(buffers[shape_.transposed ? 1 : 0]) +
           shape_.batchOffset(shape_.a, batch);
  }
  const uint8_t *operandB(void *const *buffers, int64_t batch) const override {
    return static_cast<const uint8_t *>(buffers[shape_.transposed ? 0 : 1]) +
           shape_.batchOffset(shape_.b, batch);
  }
  void pack(const uint8_t *b, int64_t first, int64_t columns,
            uint8_t *panel) const override {
    packBytePanel({b + first * shape_.b.col, shape_.b.row, shape_.b.col},
                  signs_.b, shape_.k, columns, panel);
  }
  void copy(const uint8_t *a, int64_t unit, uint8_t *copy) const override {
    const int64_t first = unit * blockRows;
    packByteRows({a + first * shape_.a.row, shape_.a.row, shape_.a.col},
                 rowsOf(unit), shape_.k, copy + first * paddedBytes(shape_.k));
  }
  void compute(TileRegisters &tiles, const Task &task,
               void *const *buffers) const override;
  void store(uint32_t *sums, int64_t rows, int64_t firstRow, const Task &task,
             void *const *buffers) const;

  const MatmulShape shape_;
  const ByteSigns signs_;
};

} // namespace

void ByteProductCall::compute(TileRegisters &tiles, const Task &task,
                              void *const *buffers) const {
  const int64_t depth = paddedBytes(shape_.k),
                stride = isCopied(shape_) ? depth : shape_.a.row;
  alignas(64) uint32_t sums[blockRows * panelColumns];
  for (int64_t block = task.begin; block < task.end; ++block) {
    const int64_t first = block * blockRows;
    multiplyBytes(byteUnit(), tiles, signs_,
                  {task.a + first * stride, stride, rowsOf(block), depth},
                  task.panel, sums);
    store(sums, rowsOf(block), first, task, buffers);
  }
}

/// Applies the post-ops to a block, in place, and writes it to the result.
void ByteProductCall::store(uint32_t *sums, int64_t rows, int64_t firstRow,
                            const Task &task, void *const *buffers) const {
  const sinter_matmul &params = *command_.matmul.params;
  const int64_t columns = task.columns, firstColumn = task.firstColumn;
  for (int64_t i = 0; i < rows; ++i) {
    uint32_t *line = sums + i * panelColumns;
    const int64_t offset = shape_.batchOffset(shape_.c, task.batch) +
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
