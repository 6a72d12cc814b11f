//===- ByteProduct.cpp - products of 8-bit integers in panels -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rows of A are read in place if they are contiguous and have a depth that the
// unit can read, else copied.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ByteCall.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/MatmulPlan.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

class ByteProductCall : public ByteCall {
public:
  ByteProductCall(OneDnnContext &context, const sinter_command &command,
                  const MatmulShape &shape, ByteUnit unit, ByteSigns signs,
                  const uint8_t *constantB)
      : ByteCall(command,
                 ByteStore({command.matmul.params->postOps,
                            command.matmul.params->numPostOps},
                           command.matmul.params->outDtype, shape.transposed,
                           shape.c.col),
                 sizesOf(shape),
                 {unit, signs, {{0, 0}}, paddedBytes(shape.k), shape.k}),
        shape_(shape) {
    if (constantB)
      packConstantB(context, constantB);
  }

  std::string description() const override {
    const int64_t count = shape_.batchCount();
    return (count > 1 ? std::to_string(count) + " products" : "product") +
           " of 8 bits by " + nameOf(unit()) + ", " + std::to_string(shape_.m) +
           "x" + std::to_string(shape_.n) + "x" + std::to_string(shape_.k) +
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
            /*depth=*/0,
            /*panelBytes=*/0,
            isCopied(shape) ? blocks : 0,
            isCopied(shape) ? shape.m * depth : 0};
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
    std::fill_n(panel, bytePanelBytes(panelDepth()), uint8_t(0));
    packBytePanel({b + first * shape_.b.col, shape_.b.row, shape_.b.col},
                  signs().b, shape_.k, columns, 0, panelDepth(), panel);
  }
  void copy(const uint8_t *a, int64_t unit, uint8_t *copy) const override {
    const int64_t first = unit * blockRows;
    packByteRows({a + first * shape_.a.row, shape_.a.row, shape_.a.col},
                 rowsOf(unit), shape_.k, copy + first * paddedBytes(shape_.k));
  }
  int64_t rowsOf(int64_t block) const {
    return std::min(blockRows, shape_.m - block * blockRows);
  }
  RowForm formOf(int64_t block) const override {
    return {rowsOf(block), parts()};
  }
  void setBlock(const uint8_t *a, int64_t block, int64_t batch, ByteBlock &rows,
                BlockPlace &place) const override {
    const int64_t first = block * blockRows;
    rows.rowStride = isCopied(shape_) ? panelDepth() : shape_.a.row;
    rows.data = a + first * rows.rowStride;
    place.firstRow = first;
    const int64_t begin = shape_.batchOffset(shape_.c, batch) +
                          first * shape_.c.row +
                          place.firstColumn * shape_.c.col;
    for (int64_t i = 0; i < rows.count; ++i)
      place.rows[static_cast<size_t>(i)] = begin + i * shape_.c.row;
  }

  const MatmulShape shape_;
};

} // namespace

LibraryCallResult sinter::cpu::prepareByteProduct(OneDnnContext &context,
                                                  const sinter_command &command,
                                                  const uint8_t *constants) {
  const sinter_matmul &params = *command.matmul.params;
  std::optional<ByteSigns> signs = byteSigns(command);
  std::optional<ByteUnit> unit =
      signs ? unitOf(command, {params.postOps, params.numPostOps},
                     params.outDtype)
            : std::nullopt;
  if (!unit)
    return std::unique_ptr<LibraryCall>();
  const MatmulShape shape = MatmulShape::simplify(params);
  if (shape.empty() || shape.k == 0)
    return std::unique_ptr<LibraryCall>();
  if (shape.transposed)
    std::swap(signs->a, signs->b);
  const float *b =
      shape.batchRank == 0
          ? constantAddress(command.slices[shape.transposed ? 0 : 1], constants)
          : nullptr;
  return std::unique_ptr<LibraryCall>(
      std::make_unique<ByteProductCall>(context, command, shape, *unit, *signs,
                                        reinterpret_cast<const uint8_t *>(b)));
}
