//===- BfloatProduct.cpp - bf16 products in panels ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Products on CPUs whose unit for bf16 is faster than fp32. Rows of A are read
// in place if they are contiguous and have a depth that the unit can read.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatCall.h"
#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

class BfloatProductCall : public BfloatCall {
public:
  BfloatProductCall(OneDnnContext &context, const sinter_command &command,
                    const MatmulShape &shape, const Bfloat *constantB)
      : BfloatCall(command,
                   BlockStore({command.matmul.params->postOps,
                               command.matmul.params->numPostOps},
                              command.matmul.params->outDtype,
                              shape.transposed),
                   sizesOf(shape), {{{0, 0}}, paddedDepth(shape.k)}),
        shape_(shape) {
    if (constantB)
      packConstantB(context, reinterpret_cast<const uint8_t *>(constantB));
  }

  std::string description() const override {
    const int64_t count = shape_.batchCount();
    return (count > 1 ? std::to_string(count) + " products" : "product") +
           " of bf16 by " + nameOf(bfloatUnit()) + ", " +
           std::to_string(shape_.m) + "x" + std::to_string(shape_.n) + "x" +
           std::to_string(shape_.k) +
           (hasConstantB() ? ", B packed at load" : ", B packed in each run") +
           (isCopied(shape_) ? ", A copied" : "");
  }

private:
  static bool isCopied(const MatmulShape &shape) {
    return shape.a.col != 1 || shape.k != paddedDepth(shape.k);
  }
  static Sizes sizesOf(const MatmulShape &shape) {
    const int64_t blocks = ceilDiv(shape.m, blockRows),
                  depth = paddedDepth(shape.k);
    return {shape.batchCount(),
            shape.sharesB(),
            shape.n,
            blocks,
            2 * depth,
            /*depth=*/0,
            /*panelBytes=*/0,
            isCopied(shape) ? blocks : 0,
            isCopied(shape) ? 2 * shape.m * depth : 0};
  }

  int64_t rowsOf(int64_t block) const {
    return std::min(blockRows, shape_.m - block * blockRows);
  }

  const uint8_t *operandA(void *const *buffers, int64_t batch) const override {
    return static_cast<const uint8_t *>(buffers[shape_.transposed ? 1 : 0]) +
           2 * shape_.batchOffset(shape_.a, batch);
  }
  const uint8_t *operandB(void *const *buffers, int64_t batch) const override {
    return static_cast<const uint8_t *>(buffers[shape_.transposed ? 0 : 1]) +
           2 * shape_.batchOffset(shape_.b, batch);
  }
  void pack(const uint8_t *b, int64_t first, int64_t columns,
            uint8_t *panel) const override {
    packPanel({reinterpret_cast<const Bfloat *>(b) + first * shape_.b.col,
               shape_.b.row, shape_.b.col},
              shape_.k, columns, panel);
  }
  Pieces columnsOf(const uint8_t *b, int64_t first,
                   int64_t columns) const override {
    constexpr int64_t width = sizeof(Bfloat);
    return piecesOf(b + width * first * shape_.b.col, shape_.k, shape_.b.row,
                    columns, shape_.b.col, width);
  }
  void copy(const uint8_t *a, int64_t unit, uint8_t *copy) const override {
    const int64_t first = unit * blockRows;
    packRows({reinterpret_cast<const Bfloat *>(a) + first * shape_.a.row,
              shape_.a.row, shape_.a.col},
             rowsOf(unit), shape_.k,
             reinterpret_cast<Bfloat *>(copy) + first * paddedDepth(shape_.k));
  }
  void setBlock(int64_t block, int64_t batch, BfloatRows &rows,
                BlockPlace &place) const override {
    const int64_t first = block * blockRows;
    rows.rowStride = isCopied(shape_) ? paddedDepth(shape_.k) : shape_.a.row;
    rows.data += first * rows.rowStride;
    rows.count = place.count = rowsOf(block);
    place.firstRow = first;
    const int64_t offset =
        shape_.batchOffset(shape_.c, batch) + place.firstColumn;
    for (int64_t i = 0; i < place.count; ++i)
      place.rows[static_cast<size_t>(i)] = offset + (first + i) * shape_.c.row;
  }

  const MatmulShape shape_;
};

} // namespace

LibraryCallResult
sinter::cpu::prepareBfloatProduct(OneDnnContext &context,
                                  const sinter_command &command,
                                  const uint8_t *constants) {
  const sinter_matmul &params = *command.matmul.params;
  if (params.dtype != SINTER_BF16 || bfloatUnit() == Bf16Unit::Widened)
    return std::unique_ptr<LibraryCall>();
  const MatmulShape shape = MatmulShape::simplify(params);
  if (shape.empty() || shape.k == 0 || (shape.c.col != 1 && shape.n > 1))
    return std::unique_ptr<LibraryCall>();
  const float *b =
      shape.batchRank == 0
          ? constantAddress(command.slices[shape.transposed ? 0 : 1], constants)
          : nullptr;
  if (readsOther(command, {params.postOps, params.numPostOps}))
    return std::unique_ptr<LibraryCall>();
  return std::unique_ptr<LibraryCall>(std::make_unique<BfloatProductCall>(
      context, command, shape, reinterpret_cast<const Bfloat *>(b)));
}
