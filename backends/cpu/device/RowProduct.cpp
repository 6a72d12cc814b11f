//===- RowProduct.cpp - products of few rows ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each element of B is used for a few multiplications only, so the time is that
// of reading B. Constants are packed at load in panels (RowPanels.h) and read
// as they are stored: float32, bf16, or codes of 4 or 8 bits. With more rows
// than a panel function takes at once, a panel is read again from the cache.
// Other matrices of float32 are read where they lie.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/PostOps.h"
#include "backends/cpu/device/RowPanels.h"
#include "runtime/base/CpuId.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <array>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The most rows of coded weights. With more, multiplying by float32 is faster.
constexpr int64_t maxCodedRows = 16;

int64_t elementBytes(uint32_t dtype) { return dtype == SINTER_BF16 ? 2 : 4; }

/// A strided matrix of float32 or bf16 in memory.
struct Matrix {
  uint8_t *data;
  uint32_t dtype;
  int64_t rowStride, colStride;

  /// block = the matrix from its first element on.
  void read(const Block &block) const {
    if (dtype == SINTER_BF16)
      widen(block);
    else
      copyBlock(block, reinterpret_cast<const float *>(data), rowStride,
                colStride);
  }
  void write(const Block &block) const {
    if (dtype == SINTER_BF16)
      narrow(block);
    else
      copyBlock({reinterpret_cast<float *>(data), block.rows, block.cols,
                 rowStride, colStride},
                block.data, block.rowStride, block.colStride);
  }

private:
  void widen(const Block &block) const {
    const auto *from = reinterpret_cast<const Bfloat *>(data);
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t col = 0; col < block.cols; ++col)
        block.data[row * block.rowStride + col * block.colStride] =
            toFloat(from[row * rowStride + col * colStride]);
  }
  void narrow(const Block &block) const {
    auto *to = reinterpret_cast<Bfloat *>(data);
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t col = 0; col < block.cols; ++col)
        fromFloat(block.data[row * block.rowStride + col * block.colStride],
                  to[row * rowStride + col * colStride]);
  }
};

/// Weights in panels of 64 columns.
struct PackedPanels {
  PackedBytes bytes;
  int64_t panelBytes;
  PanelForm form;
  /// For 1 to maxPanelRows rows.
  std::array<PanelFunction, maxPanelRows> functions;
};

int64_t panelsOf(int64_t columns) {
  return (columns + rowPanelColumns - 1) / rowPanelColumns;
}

/// Few rows of A times panels of 64 columns of B.
class RowProductCall : public LibraryCall {
public:
  RowProductCall(const sinter_command &command, const MatmulShape &shape)
      : command_(command), params_(*command.matmul.params), shape_(shape),
        postOps_(params_.postOps, params_.numPostOps) {}

  uint64_t sharedBytes() const override { return 0; }
  /// Rows of A in float32.
  uint64_t perWorkerBytes() const override {
    return params_.dtype == SINTER_BF16
               ? static_cast<uint64_t>(alignUp(4 * shape_.m * shape_.k))
               : 0;
  }
  Status bind(const Scratch &scratch, int) override {
    scratch_ = scratch;
    return {};
  }

  Status run(void *const *buffers, const CallContext &context) override {
    const int64_t grain = std::max<int64_t>(1, taskBytes / panelBytes()),
                  panels = panelsOf(shape_.n);
    isBackward_ = takesTurns_ && !isBackward_;
    context.parallelFor(
        shape_.batchCount() * panels, grain,
        [&](int worker, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t task = isBackward_ ? begin + end - 1 - i : i;
            runPanel(buffers, worker, task / panels, task % panels,
                     /*isFirst=*/i == begin);
          }
        });
    return {};
  }

  std::string description() const override {
    const int64_t count = shape_.batchCount();
    return (count > 1 ? std::to_string(count) + " products" : "product") +
           " of " + std::to_string(shape_.m) +
           (shape_.m == 1 ? " row" : " rows") + ", " + describeB();
  }

protected:
  virtual int64_t panelBytes() const = 0;
  virtual std::string describeB() const = 0;
  /// sums[row * 64 + column] = 1 to maxPanelRows `rows` times panel `panel`.
  virtual void sumPanel(const PanelRows &rows, int64_t count,
                        void *const *buffers, int64_t batch, int64_t panel,
                        float *sums) const = 0;

  const sinter_command &command_;
  const sinter_matmul &params_;
  const MatmulShape shape_;
  bool takesTurns_ = false;

private:
  /// The fewest bytes of weights that are worth another thread.
  static constexpr int64_t taskBytes = 128 * 1024;

  /// The rows of A. Those of bf16 are widened if `isFirst`.
  PanelRows rowsOf(void *const *buffers, int worker, int64_t batch,
                   bool isFirst) const {
    auto *a = static_cast<uint8_t *>(buffers[shape_.transposed ? 1 : 0]);
    if (params_.dtype == SINTER_F32)
      return {reinterpret_cast<const float *>(a) +
                  shape_.batchOffset(shape_.a, batch),
              shape_.a.row, shape_.a.col};
    auto *wide = reinterpret_cast<float *>(scratch_.perWorker +
                                           static_cast<uint64_t>(worker) *
                                               scratch_.perWorkerStride);
    if (isFirst)
      Matrix{a, params_.dtype, shape_.a.row, shape_.a.col}.read(
          {wide, shape_.m, shape_.k, shape_.k, 1});
    return {wide, shape_.k, 1};
  }

  void runPanel(void *const *buffers, int worker, int64_t batch, int64_t panel,
                bool isFirst) const {
    const PanelRows rows = rowsOf(buffers, worker, batch, isFirst);
    const int64_t first = panel * rowPanelColumns,
                  columns = std::min(rowPanelColumns, shape_.n - first);
    for (int64_t row = 0; row < shape_.m; row += maxPanelRows) {
      const int64_t count = std::min(maxPanelRows, shape_.m - row);
      alignas(64) float sums[maxPanelRows * rowPanelColumns];
      sumPanel(
          {rows.data + row * rows.rowStride, rows.rowStride, rows.colStride},
          count, buffers, batch, panel, sums);
      const Block block{sums, count, columns, rowPanelColumns, 1};
      const int64_t offset = shape_.batchOffset(shape_.c, batch) +
                             row * shape_.c.row + first * shape_.c.col;
      if (!postOps_.empty())
        applyPostOps(buffers, block, row, first, offset);
      matrixAt(buffers[command_.numSlices - 1], offset).write(block);
    }
  }

  /// `block` begins at `row` and column `first` of a product, element `offset`
  /// of the result.
  void applyPostOps(void *const *buffers, const Block &block, int64_t row,
                    int64_t first, int64_t offset) const {
    std::array<PostOpOperand, SINTER_MAX_POST_OPS> operands;
    float values[SINTER_MAX_POST_OPS][maxPanelRows * rowPanelColumns];
    for (size_t i = 0; i < postOps_.size(); ++i) {
      const sinter_post_op &op = postOps_[i];
      if (!readsOperand(op))
        continue;
      Matrix operand = matrixAt(buffers[op.slice], offset);
      if (op.kind == SINTER_POST_BIAS) {
        operand.data =
            static_cast<uint8_t *>(buffers[op.slice]) +
            (shape_.transposed ? row : first) * elementBytes(params_.outDtype);
        operand.rowStride = shape_.transposed;
        operand.colStride = !shape_.transposed;
      }
      if (params_.outDtype == SINTER_F32) {
        operands[i] = {reinterpret_cast<const float *>(operand.data),
                       operand.rowStride, operand.colStride};
        continue;
      }
      operand.read({values[i], block.rows, block.cols, rowPanelColumns, 1});
      operands[i] = {values[i], rowPanelColumns, 1};
    }
    cpu::applyPostOps(postOps_, block, operands.data());
  }

  /// The result, or an operand that is added to it, from element `offset` on.
  Matrix matrixAt(void *buffer, int64_t offset) const {
    return {static_cast<uint8_t *>(buffer) +
                offset * elementBytes(params_.outDtype),
            params_.outDtype, shape_.c.row, shape_.c.col};
  }

  const std::span<const sinter_post_op> postOps_;
  Scratch scratch_;
  /// Whether a thread takes its panels in descending order. It does in every
  /// other run if little else is read between runs: of panels a little larger
  /// than its cache, as the recurrent weights of an LSTM or those of a small
  /// network, most are still there from the run before. From memory, the order
  /// of memory is up to twice as fast: the hardware fetches ahead from panel to
  /// panel.
  bool isBackward_ = true;
};

/// B is a constant, which is packed.
class PackedRowProduct : public RowProductCall {
public:
  PackedRowProduct(const OneDnnContext &context, const sinter_command &command,
                   const MatmulShape &shape, PackedPanels weights)
      : RowProductCall(command, shape), weights_(std::move(weights)) {
    takesTurns_ = context.constantBytes <=
                  2 * hostL2Bytes() * static_cast<uint64_t>(context.threads);
  }

  void expectRepeats() override { takesTurns_ = true; }

protected:
  int64_t panelBytes() const override { return weights_.panelBytes; }
  std::string describeB() const override {
    const uint32_t bits = params_.weights.bits;
    return (bits ? std::to_string(bits) + "-bit " : std::string()) +
           "weights packed at load";
  }
  void sumPanel(const PanelRows &rows, int64_t count, void *const *, int64_t,
                int64_t panel, float *sums) const override {
    weights_.functions[static_cast<size_t>(count - 1)](
        rows, weights_.bytes.get() + panel * weights_.panelBytes, weights_.form,
        sums);
  }

private:
  const PackedPanels weights_;
};

/// B is read where it lies, as the keys and values of a cache.
class InPlaceRowProduct : public RowProductCall {
public:
  /// Rows of B are contiguous, or its columns and rows of A. For more than two
  /// rows, the library sums along columns faster.
  static bool fits(const MatmulShape &shape) {
    return shape.b.col == 1 ||
           (shape.b.row == 1 && shape.a.col == 1 && shape.m <= 2);
  }
  InPlaceRowProduct(const sinter_command &command, const MatmulShape &shape,
                    RowUnit unit)
      : RowProductCall(command, shape), unit_(unit) {}

protected:
  int64_t panelBytes() const override {
    return int64_t{sizeof(float)} * std::min(rowPanelColumns, shape_.n) *
           shape_.k;
  }
  std::string describeB() const override { return "B in place"; }
  void sumPanel(const PanelRows &rows, int64_t count, void *const *buffers,
                int64_t batch, int64_t panel, float *sums) const override {
    const bool areColumns = shape_.b.col != 1;
    const int64_t first = panel * rowPanelColumns;
    const auto *b =
        static_cast<const float *>(buffers[shape_.transposed ? 0 : 1]) +
        shape_.batchOffset(shape_.b, batch) + first * shape_.b.col;
    const auto multiply = areColumns ? columns_in_place::ofColumns(unit_, count)
                                     : columns_in_place::ofRows(unit_, count);
    multiply(rows, b, areColumns ? shape_.b.col : shape_.b.row, shape_.k,
             std::min(rowPanelColumns, shape_.n - first), sums);
  }

private:
  const RowUnit unit_;
};

template <class Element>
void packPlain(const MatmulShape &shape, RowUnit unit, uint32_t dtype,
               const Element *b, uint8_t *bytes) {
  auto *to = reinterpret_cast<Element *>(bytes);
  const int64_t columns = panelsOf(shape.n) * rowPanelColumns,
                width = plain_panels::partColumns(unit);
  for (int64_t first = 0; first < columns; first += width)
    for (int64_t k = 0; k < shape.k; ++k, to += width)
      for (int64_t i = 0; i < width; ++i) {
        const int64_t column = first + i;
        to[plain_panels::placeOf(dtype, i)] =
            column < shape.n ? b[k * shape.b.row + column * shape.b.col]
                             : Element();
      }
}

/// `functionOf(rows)` for all numbers of rows.
template <class FunctionOf>
std::array<PanelFunction, maxPanelRows> functionsFor(FunctionOf functionOf) {
  std::array<PanelFunction, maxPanelRows> functions;
  for (int64_t rows = 1; rows <= maxPanelRows; ++rows)
    functions[static_cast<size_t>(rows - 1)] = functionOf(rows);
  return functions;
}

LibraryCallResult makeCall(const OneDnnContext &context,
                           const sinter_command &command,
                           const MatmulShape &shape, PackedPanels weights) {
  return std::unique_ptr<LibraryCall>(std::make_unique<PackedRowProduct>(
      context, command, shape, std::move(weights)));
}

} // namespace

LibraryCallResult sinter::cpu::prepareRowProduct(OneDnnContext &context,
                                                 const sinter_command &command,
                                                 const uint8_t *constants) {
  const sinter_matmul &params = *command.matmul.params;
  const bool isFloat = params.dtype == SINTER_F32,
             isSameType = params.dtype == params.outDtype;
  if (!isFloat && params.dtype != SINTER_BF16)
    return std::unique_ptr<LibraryCall>();
  if (!isSameType && (isFloat || params.outDtype != SINTER_F32))
    return std::unique_ptr<LibraryCall>();
  const MatmulShape shape = MatmulShape::simplify(params);
  if (shape.empty() || shape.k == 0 || shape.m > maxPanelRows)
    return std::unique_ptr<LibraryCall>();
  const float *b =
      shape.batchRank == 0
          ? constantAddress(command.slices[shape.transposed ? 0 : 1], constants)
          : nullptr;
  const RowUnit unit = rowUnit();
  if (unit == RowUnit::None)
    return std::unique_ptr<LibraryCall>();
  if (!b && isFloat && InPlaceRowProduct::fits(shape))
    return std::unique_ptr<LibraryCall>(
        std::make_unique<InPlaceRowProduct>(command, shape, unit));
  if (!b)
    return std::unique_ptr<LibraryCall>();
  const int64_t bytes = rowPanelColumns * shape.k * elementBytes(params.dtype);
  PackedBytes packed = context.packed.make(
      static_cast<uint64_t>(panelsOf(shape.n) * bytes), [&](uint8_t *to) {
        if (isFloat)
          packPlain(shape, unit, params.dtype, b, to);
        else
          packPlain(shape, unit, params.dtype,
                    reinterpret_cast<const Bfloat *>(b), to);
      });
  return makeCall(
      context, command, shape,
      {std::move(packed),
       bytes,
       {shape.k, 0, 0,
        static_cast<uint64_t>(panelsOf(shape.n) * bytes) > hostL2Bytes() / 2},
       functionsFor([&](int64_t rows) {
         return plain_panels::function(unit, params.dtype, rows);
       })});
}

LibraryCallResult
sinter::cpu::prepareCodedRowProduct(OneDnnContext &context,
                                    const sinter_command &command,
                                    const coded_panels::Source &source) {
  MatmulShape shape = MatmulShape::simplify(*command.matmul.params);
  if (shape.transposed) // B has the weights
    shape.transpose();
  if (shape.empty() || shape.k == 0)
    return std::unique_ptr<LibraryCall>();
  const RowUnit unit = rowUnit();
  if (shape.m > maxCodedRows || unit == RowUnit::None)
    return std::unique_ptr<LibraryCall>();
  const int64_t bytes =
      coded_panels::bytes(source.weights, source.dtype, shape.k);
  PackedBytes packed = context.packed.make(
      static_cast<uint64_t>(panelsOf(shape.n) * bytes), [&](uint8_t *to) {
        for (int64_t panel = 0; panel < panelsOf(shape.n); ++panel)
          coded_panels::pack(source, panel, to + panel * bytes);
      });
  return makeCall(context, command, shape,
                  {std::move(packed), bytes, coded_panels::form(source),
                   functionsFor([&](int64_t rows) {
                     return coded_panels::function(unit, source.weights,
                                                   source.dtype, rows);
                   })});
}
