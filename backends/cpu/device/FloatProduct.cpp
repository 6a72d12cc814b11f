//===- FloatProduct.cpp - fp32 products in panels -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The inner loops are those of Goto and van de Geijn (Anatomy of
// High-Performance Matrix Multiplication): a chunk of rows of A, a stretch of
// the depth for which it stays in the cache of level 2, a panel of B, tiles of
// rows. Tasks are panels of a chunk for the whole depth, so that threads wait
// for each other once. What a thread most likely multiplies next of B is
// fetched meanwhile. A constant B is packed at load. Else a panel is packed
// just before it is used, and meets all rows of the chunk: B as a whole is
// never copied. For AVX2, a panel is packed as parts of 16 columns, each of
// which stays in the cache of level 1, and A as tiles. Otherwise A is copied
// only if its rows are not contiguous. The sums of the stretches are added in
// order, so the bits depend on the shape alone.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/FloatProduct.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/FloatPanels.h"
#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/PostOps.h"
#include "backends/cpu/device/TileRegisters.h"
#include "runtime/base/CpuId.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The elements of a chunk of A. AVX-512: half of the smallest cache of level 2
/// that CPUs with the unit have. AVX2: three quarters of this CPU's, because
/// with more chunks B is read more often; but of a cache of 256 KiB to 1 MiB,
/// and no more than leaves half of the workspace.
int64_t chunkElements(FloatUnit unit, uint64_t workspaceBytes) {
  if (unit != FloatUnit::Fma8)
    return 128 * 1024;
  constexpr uint64_t least = 48 * 1024, most = 192 * 1024;
  return static_cast<int64_t>(std::clamp(
      std::min(hostL2Bytes() * 3 / 16, workspaceBytes / 8), least, most));
}
/// Up to so many rows read a row-major B in place: it is not worth a copy.
constexpr int64_t fewRows = 28;
/// The fewest operations that are worth another thread: 4 us.
constexpr double grainFlops = 1e6;
/// The fewest panels that are worth copying a chunk of A, and interleaving its
/// rows; and the fewest that a task with interleaved rows has, if there are so
/// many.
constexpr int64_t panelsOfCopy = 8, panelsOfTiles = 2, panelsOfTask = 4;
/// Threads get so many tasks each, so that one that is slow does fewer of them,
/// if chunks have at least so many rows.
constexpr int64_t tasksOfThread = 4, leastChunkRows = 48;

/// The number of panels of `columns` columns: as few as possible, but as many
/// for each thread, unless they become narrow.
int64_t panelCount(int64_t columns, int threads) {
  constexpr int64_t narrow = maxPanelColumns / 2;
  const int64_t least = ceilDiv(columns, maxPanelColumns),
                even = ceilDiv(least, threads) * threads;
  return columns / even >= narrow ? even : least;
}

class FloatProductCall : public LibraryCall {
public:
  /// `constantB`: B, if it is constant, else null. `source`: gives the rows of
  /// A; null if they are in memory.
  FloatProductCall(OneDnnContext &context, const sinter_command &command,
                   const MatmulShape &shape, const RowGroups &groups,
                   const float *constantB,
                   std::unique_ptr<const RowSource> source)
      : command_(command), shape_(shape), groups_(groups),
        source_(std::move(source)), postOps_(command.matmul.params->postOps,
                                             command.matmul.params->numPostOps),
        depths_(shape.k, ceilDiv(shape.k, mostStretch), 16),
        chunks_(shape.m,
                ceilDiv(shape.m, chunkRows(context.workspaceBytes,
                                           constantB != nullptr)),
                1),
        panels_(shape.n, panelCount(shape.n, context.threads), lineColumns),
        interleavesA_(source_ || (floatUnit() == FloatUnit::Fma8 &&
                                  panels_.count() >= panelsOfTiles)),
        copiesA_(interleavesA_ || groups.size < shape.m ||
                 (shape.a.col != 1 && shape.k > 1)),
        copiesB_(!constantB && (shape.b.col != 1 || shape.m > fewRows ||
                                shape.n % lineColumns != 0)) {
    // A tile reads rows of operands.
    while (inRegisters_ < postOps_.size() &&
           isTilePostOp(postOps_[inRegisters_].kind) &&
           (shape.c.col == 1 || !readsOperand(postOps_[inRegisters_])))
      ++inRegisters_;
    keepsResult_ = shape.c.col != 1 || !addsInPlace();
    if (constantB)
      packConstant(context, constantB);
  }

  uint64_t sharedBytes() const override {
    return keepsResult_ ? static_cast<uint64_t>(4 * shape_.batchCount() *
                                                shape_.m * shape_.n)
                        : 0;
  }
  uint64_t perWorkerBytes() const override {
    return static_cast<uint64_t>(copyOffset() + copyBytes());
  }
  Status bind(const Scratch &scratch, int) override {
    scratch_ = scratch;
    return {};
  }

  Status run(void *const *buffers, const CallContext &context) override {
    const int64_t panels =
        std::min(panels_.count(), interleavesA_ ? panelsOfTask
                                  : copiesA_    ? panelsOfCopy
                                                : int64_t(1));
    const Partition chunks = chunksFor(context.threads, panels);
    const int64_t tasks =
        shape_.batchCount() * chunks.count() * panels_.count();
    const double flops = 2.0 *
                         static_cast<double>(shape_.batchCount() * shape_.m) *
                         static_cast<double>(shape_.n * shape_.k);
    const auto pieces =
        std::max<int64_t>(1, static_cast<int64_t>(flops / grainFlops));
    context.parallelFor(tasks, std::max(panels, ceilDiv(tasks, pieces)),
                        [&](int worker, int64_t begin, int64_t end) {
                          runTasks(buffers, chunks, begin, end,
                                   scratch_.perWorker +
                                       static_cast<uint64_t>(worker) *
                                           scratch_.perWorkerStride);
                        });
    return {};
  }

  std::string description() const override {
    const int64_t count = shape_.batchCount();
    return (count > 1 ? std::to_string(count) + " products" : "product") +
           " of fp32 by " + nameOf(floatUnit()) + ", " +
           std::to_string(shape_.m) + "x" + std::to_string(shape_.n) + "x" +
           std::to_string(shape_.k) +
           (constantB_ ? ", B packed at load"
            : copiesB_ ? ", B packed in each run"
                       : "") +
           (source_         ? ", A gathered"
            : interleavesA_ ? ", A in tiles"
            : copiesA_      ? ", A copied"
                            : "");
  }

private:
  /// Whether all operands in the memory of the result are added in place: a
  /// tile reads each element right before it stores the whole sum there.
  bool addsInPlace() const {
    const sinter_slice &result = command_.slices[command_.numSlices - 1];
    for (size_t i = 0; i < postOps_.size(); ++i) {
      const sinter_post_op &op = postOps_[i];
      if (!readsOperand(op) || !overlaps(command_.slices[op.slice], result))
        continue;
      if (i >= inRegisters_ || depths_.count() > 1 || !readsResultShape(op) ||
          command_.slices[op.slice].offsetBytes != result.offsetBytes)
        return false;
    }
    return true;
  }
  /// The rows of a chunk. If B is small and packed already, rows of the result,
  /// and of an operand that is added to them, stay in the cache from panel to
  /// panel, too.
  int64_t chunkRows(uint64_t workspaceBytes, bool isConstant) const {
    constexpr int64_t leastRows = 128; // that B is worth reading for
    const int64_t depth = depths_.largest(),
                  elements = chunkElements(floatUnit(), workspaceBytes),
                  rows = elements / depth;
    if (!isConstant || depth * shape_.n > elements / 2)
      return rows;
    const bool hasAdded = std::any_of(
        postOps_.begin(), postOps_.end(),
        [](const sinter_post_op &op) { return op.kind == SINTER_POST_ADD; });
    return std::min(
        rows, std::max(elements / (shape_.n * (hasAdded ? 2 : 1)), leastRows));
  }

  /// chunks_, or smaller ones if there are few tasks, of `panels` panels each,
  /// for `threads`.
  Partition chunksFor(int threads, int64_t panels) const {
    if (threads == 1)
      return chunks_;
    const int64_t tasks =
        shape_.batchCount() * ceilDiv(panels_.count(), panels);
    const int64_t wanted = ceilDiv(threads * tasksOfThread, tasks),
                  most = std::max<int64_t>(shape_.m / leastChunkRows, 1);
    return {shape_.m, std::max(chunks_.count(), std::min(wanted, most)), 1};
  }

  /// A chunk of rows of A times all of B, for a stretch of the depth.
  struct Chunk {
    int64_t batch, row, rows;
    int64_t stretch; // of the depth
    const float *a;  // at its first row and k
    int64_t aStride;
    bool isRead; // A is in the cache
    /// Of tiles of gathered rows that are shared, and of all others.
    std::array<GatheredColumns, RowSource::mostGroups> shared;
    size_t numShared;
    GatheredColumns whole;
  };

  /// Some columns of B for a stretch of the depth; strides in elements.
  struct Columns {
    const float *data;
    int64_t rowStride, colStride;
  };

  /// Panel `panel` of stretch `depth` of the packed constant.
  const float *constantPanel(int64_t batch, int64_t depth,
                             int64_t panel) const {
    return reinterpret_cast<const float *>(constantB_.get()) +
           (shape_.sharesB() ? 0 : batch * allColumns() * shape_.k) +
           depths_.begin(depth) * allColumns() +
           panels_.begin(panel) * depths_.size(depth);
  }
  /// Returns the end of the panels.
  float *packMatrix(const float *b, float *to) const {
    for (int64_t depth = 0; depth < depths_.count(); ++depth)
      for (int64_t panel = 0; panel < panels_.count(); ++panel) {
        packPanel(inMemory(b + depths_.begin(depth) * shape_.b.row, panel),
                  depths_.size(depth), panels_.size(panel), to);
        to += wholeLines(panels_.size(panel)) * depths_.size(depth);
      }
    return to;
  }
  void packConstant(OneDnnContext &context, const float *b) {
    const int64_t matrices = shape_.sharesB() ? 1 : shape_.batchCount();
    constantB_ = context.packed.make(
        static_cast<uint64_t>(4 * matrices * allColumns() * shape_.k),
        [&](uint8_t *bytes) {
          auto *to = reinterpret_cast<float *>(bytes);
          for (int64_t i = 0; i < matrices; ++i)
            to = packMatrix(b + shape_.batchOffset(shape_.b, i), to);
        });
  }
  /// The parts of a panel that tiles take. Packed, they follow one another.
  static Partition partsOf(int64_t columns) {
    return {columns, ceilDiv(columns, tileColumns(floatUnit())), lineColumns};
  }
  static void packPanel(const Columns &from, int64_t depth, int64_t columns,
                        float *to) {
    if (columns % lineColumns != 0)
      std::memset(to, 0, static_cast<size_t>(4 * wholeLines(columns) * depth));
    const Partition parts = partsOf(columns);
    if (parts.count() > 1 && parts.largest() == lineColumns &&
        from.colStride == 1)
      return packLines(from, depth, columns, to);
    for (int64_t i = 0; i < parts.count(); ++i)
      copyBlock({to + parts.begin(i) * depth, depth, parts.size(i),
                 wholeLines(parts.size(i)), 1},
                from.data + parts.begin(i) * from.colStride, from.rowStride,
                from.colStride);
  }
  /// The same for parts of a line. Rows of B are read as a whole.
  static void packLines(const Columns &from, int64_t depth, int64_t columns,
                        float *to) {
    const int64_t whole = columns / lineColumns * lineColumns;
    for (int64_t row = 0; row < depth; ++row) {
      const float *line = from.data + row * from.rowStride;
      float *at = to + row * lineColumns;
      for (int64_t column = 0; column < whole; column += lineColumns)
        std::memcpy(at + column * depth, line + column, 4 * lineColumns);
      if (whole < columns)
        std::copy(line + whole, line + columns, at + whole * depth);
    }
  }

  /// Of a row of B when it is packed.
  int64_t allColumns() const { return wholeLines(shape_.n); }
  /// The columns of panel `panel`; `b` is the first row of the stretch.
  Columns inMemory(const float *b, int64_t panel) const {
    return {b + panels_.begin(panel) * shape_.b.col, shape_.b.row,
            shape_.b.col};
  }
  static Columns packed(const float *panel, int64_t columns) {
    return {panel, wholeLines(columns), 1};
  }
  Columns columnsOf(void *const *buffers, int64_t batch, int64_t stretch,
                    int64_t panel) const {
    if (constantB_)
      return packed(constantPanel(batch, stretch, panel), panels_.size(panel));
    const auto *b =
        static_cast<const float *>(buffers[shape_.transposed ? 0 : 1]);
    return inMemory(b + shape_.batchOffset(shape_.b, batch) +
                        depths_.begin(stretch) * shape_.b.row,
                    panel);
  }

  /// The scratch of a worker: a panel, and a chunk of A.
  int64_t copyOffset() const {
    return copiesB_
               ? alignUp(4 * wholeLines(panels_.largest()) * depths_.largest())
               : 0;
  }
  int64_t copyBytes() const {
    const int64_t rows = chunks_.largest();
    return copiesA_ ? alignUp(4 * depths_.largest() *
                              (source_ ? gatheredStride *
                                             tilesOf(rows, lineColumns).count()
                                       : rows))
                    : 0;
  }

  void runTasks(void *const *buffers, const Partition &chunks, int64_t begin,
                int64_t end, uint8_t *scratch) const {
    while (begin < end) {
      const int64_t number = begin / panels_.count(),
                    first = begin % panels_.count(),
                    last = std::min(panels_.count(), first + end - begin);
      for (int64_t stretch = 0; stretch < depths_.count(); ++stretch) {
        Chunk chunk =
            startChunk(buffers, stretch, chunks, number,
                       reinterpret_cast<float *>(scratch + copyOffset()));
        for (int64_t panel = first; panel < last; ++panel)
          runPanel(buffers, chunk, panel,
                   fetchAfter(buffers, chunk, panel, first, last),
                   reinterpret_cast<float *>(scratch));
      }
      begin += last - first;
    }
  }

  int64_t offsetOfRow(int64_t row) const {
    return row / groups_.size * groups_.stride +
           row % groups_.size * shape_.a.row;
  }

  Chunk startChunk(void *const *buffers, int64_t stretch,
                   const Partition &chunks, int64_t number, float *copy) const {
    const auto *a =
        static_cast<const float *>(buffers[shape_.transposed ? 1 : 0]);
    const int64_t k = depths_.begin(stretch), depth = depths_.size(stretch);
    Chunk chunk;
    chunk.batch = number / chunks.count();
    chunk.row = chunks.begin(number % chunks.count());
    chunk.rows = chunks.size(number % chunks.count());
    chunk.stretch = stretch;
    chunk.a = a + shape_.batchOffset(shape_.a, chunk.batch) +
              offsetOfRow(chunk.row) + k * shape_.a.col;
    chunk.aStride = shape_.a.row;
    chunk.isRead = copiesA_;
    if (!copiesA_)
      return chunk;
    if (source_) {
      const Partition tiles = tilesOf(chunk.rows, lineColumns);
      for (int64_t i = 0; i < tiles.count(); ++i)
        source_->gather(a, chunk.row + tiles.begin(i), tiles.size(i), k, depth,
                        copy + i * gatheredStride * depth);
      chunk.numShared = source_->groupsOf(k, depth, chunk.shared);
      chunk.whole = {0, depth};
    } else if (interleavesA_) {
      const Partition tiles = tilesOf(chunk.rows, lineColumns);
      for (int64_t i = 0; i < tiles.count(); ++i)
        interleaveRows(chunk.a + tiles.begin(i) * shape_.a.row, shape_.a.row,
                       shape_.a.col, tiles.size(i), depth,
                       copy + tiles.begin(i) * depth);
    } else {
      for (int64_t row = 0; row < chunk.rows;) {
        const int64_t at = chunk.row + row,
                      rows = std::min(chunk.rows - row,
                                      groups_.size - at % groups_.size);
        copyBlock({copy + row * depth, rows, depth, depth, 1},
                  chunk.a + offsetOfRow(at) - offsetOfRow(chunk.row),
                  shape_.a.row, shape_.a.col);
        row += rows;
      }
    }
    chunk.a = copy;
    chunk.aStride = depth;
    return chunk;
  }

  /// Fetches what is multiplied after panel `panel` of a task of panels
  /// [first, last). The thread's next task most likely begins where this one
  /// ends.
  PanelFetch fetchAfter(void *const *buffers, const Chunk &chunk, int64_t panel,
                        int64_t first, int64_t last) const {
    int64_t stretch = chunk.stretch, next = panel + 1;
    if (next == last) {
      const bool isLastStretch = stretch + 1 == depths_.count();
      stretch = isLastStretch ? 0 : stretch + 1;
      next = isLastStretch ? last : first;
    }
    if (next == panels_.count())
      return {};
    const Columns columns = columnsOf(buffers, chunk.batch, stretch, next);
    const Partition parts = partsOf(panels_.size(panel));
    return {piecesOf(reinterpret_cast<const uint8_t *>(columns.data),
                     depths_.size(stretch), columns.rowStride,
                     panels_.size(next), columns.colStride, sizeof(float)),
            parts.count() * tilesOf(chunk.rows, parts.largest()).count() *
                fetchSteps(floatUnit(), depths_.size(chunk.stretch))};
  }

  /// `fetch`: for what follows.
  void runPanel(void *const *buffers, Chunk &chunk, int64_t panel,
                PanelFetch fetch, float *copy) const {
    const int64_t depth = depths_.size(chunk.stretch),
                  columns = panels_.size(panel);
    Columns from = columnsOf(buffers, chunk.batch, chunk.stretch, panel);
    if (copiesB_) {
      packPanel(from, depth, columns, copy);
      from = packed(copy, columns);
    }
    const Partition parts = partsOf(columns);
    for (int64_t i = 0; i < parts.count(); ++i) {
      const int64_t first = parts.begin(i), size = parts.size(i);
      runPart(buffers, chunk,
              constantB_ || copiesB_
                  ? packed(from.data + first * depth, size)
                  : Columns{from.data + first, from.rowStride, 1},
              panels_.begin(panel) + first, size, fetch);
      chunk.isRead = true;
    }
  }

  /// The tiles of rows that meet `columns` columns at a time.
  static Partition tilesOf(int64_t rows, int64_t columns) {
    return {rows, ceilDiv(rows, tileRows(floatUnit(), columns)), 1};
  }

  /// Columns `column` to `column` + `columns` - 1 of the result; `from` are
  /// those of B, adjacent.
  void runPart(void *const *buffers, const Chunk &chunk, const Columns &from,
               int64_t column, int64_t columns, PanelFetch &fetch) const {
    const bool isLast = chunk.stretch + 1 == depths_.count();
    FloatTile tile;
    tile.aStride = chunk.aStride;
    tile.isInterleaved = interleavesA_ && !source_;
    tile.depth = depths_.size(chunk.stretch);
    tile.panel = from.data;
    tile.panelStride = from.rowStride;
    tile.columns = columns;
    tile.adds = chunk.stretch > 0;
    std::array<TilePostOp, SINTER_MAX_POST_OPS> steps;
    tile.postOps = steps.data();
    tile.numPostOps = isLast ? inRegisters_ : 0;
    const int64_t place = shape_.batchOffset(shape_.c, chunk.batch) +
                          column * shape_.c.col; // of row 0
    float *sums = static_cast<float *>(buffers[command_.numSlices - 1]) + place;
    tile.resultStride = shape_.c.row;
    if (keepsResult_) {
      sums = reinterpret_cast<float *>(scratch_.shared) +
             chunk.batch * shape_.m * shape_.n + column;
      tile.resultStride = shape_.n;
    }
    const Partition tiles = tilesOf(chunk.rows, columns);
    for (int64_t i = 0; i < tiles.count(); ++i) {
      const int64_t row = chunk.row + tiles.begin(i);
      tile.rows = tiles.size(i);
      if (source_) {
        tile.a = chunk.a + i * gatheredStride * tile.depth;
        tile.gathered = source_->isShared(row, tile.rows)
                            ? std::span(chunk.shared).first(chunk.numShared)
                            : std::span(&chunk.whole, 1);
      } else {
        tile.a = chunk.a + tiles.begin(i) * chunk.aStride;
      }
      tile.result = sums + row * tile.resultStride;
      const int64_t offset = place + row * shape_.c.row;
      for (size_t op = 0; op < tile.numPostOps; ++op) {
        const PostOpOperand operand =
            operandOf(buffers, postOps_[op], row, column, offset);
        steps[op] = {postOps_[op], operand.address, operand.rowStride,
                     operand.colStride};
      }
      PanelFetch rows;
      if (!chunk.isRead && i + 1 < tiles.count())
        rows = PanelFetch(
            piecesOf(reinterpret_cast<const uint8_t *>(
                         chunk.a + tiles.begin(i + 1) * chunk.aStride),
                     tiles.size(i + 1), chunk.aStride, tile.depth, 1,
                     sizeof(float)),
            fetchSteps(floatUnit(), tile.depth));
      multiplyTile(floatUnit(), tile, chunk.isRead ? fetch : rows);
      if (isLast)
        finish(buffers, tile, row, column, offset);
    }
  }

  /// The operand of `op` at row `row` and column `column` of a product, which
  /// are element `offset` of the result.
  PostOpOperand operandOf(void *const *buffers, const sinter_post_op &op,
                          int64_t row, int64_t column, int64_t offset) const {
    if (!readsOperand(op))
      return {};
    const auto *operand = static_cast<const float *>(buffers[op.slice]);
    if (op.kind != SINTER_POST_BIAS)
      return {operand + offset, shape_.c.row, shape_.c.col};
    return shape_.transposed ? PostOpOperand{operand + row, 1, 0}
                             : PostOpOperand{operand + column, 0, 1};
  }

  /// The other post-ops of a tile whose sums are complete, as for operandOf().
  void finish(void *const *buffers, const FloatTile &tile, int64_t row,
              int64_t column, int64_t offset) const {
    const auto rest = postOps_.subspan(inRegisters_);
    if (!rest.empty()) {
      std::array<PostOpOperand, SINTER_MAX_POST_OPS> at;
      for (size_t i = 0; i < rest.size(); ++i)
        at[i] = operandOf(buffers, rest[i], row, column, offset);
      applyPostOps(rest,
                   {tile.result, tile.rows, tile.columns, tile.resultStride, 1},
                   at.data());
    }
    if (keepsResult_)
      copyBlock({static_cast<float *>(buffers[command_.numSlices - 1]) + offset,
                 tile.rows, tile.columns, shape_.c.row, shape_.c.col},
                tile.result, tile.resultStride, 1);
  }

  const sinter_command &command_;
  const MatmulShape shape_;
  const RowGroups groups_;
  const std::unique_ptr<const RowSource> source_;
  const std::span<const sinter_post_op> postOps_;
  const Partition depths_, chunks_, panels_;
  const bool interleavesA_, copiesA_, copiesB_;
  size_t inRegisters_ = 0; // of the post-ops, the first ones
  PackedBytes constantB_;
  /// The sums stay in scratch until they are complete: rows of the result are
  /// not contiguous, or an operand shares memory with it.
  bool keepsResult_;
  Scratch scratch_;
};

} // namespace

static LibraryCallResult
makeCall(OneDnnContext &context, const sinter_command &command,
         const MatmulShape &shape, const RowGroups &groups,
         const float *constantB, std::unique_ptr<const RowSource> source) {
  auto call = std::make_unique<FloatProductCall>(
      context, command, shape, groups, constantB, std::move(source));
  if (call->sharedBytes() + call->perWorkerBytes() > context.workspaceBytes)
    return std::unique_ptr<LibraryCall>();
  return std::unique_ptr<LibraryCall>(std::move(call));
}

/// Whether tiles are worth it.
static bool fits(const MatmulShape &shape) {
  constexpr int64_t fewest = 16; // rows and columns
  return floatUnit() != FloatUnit::None && !shape.empty() && shape.k != 0 &&
         shape.m >= fewest && shape.n >= fewest && shape.c.col == 1;
}

/// One product of several by one B, as of a layer whose result is transposed:
/// B is read and packed once, and rows of the result are written in the order
/// of memory. The tiles of AVX2 interleave rows of one stride.
static RowGroups joinProducts(MatmulShape &shape) {
  return floatUnit() == FloatUnit::Fma16 && shape.n > maxPanelColumns
             ? shape.joinBatch()
             : RowGroups{shape.m};
}

LibraryCallResult
sinter::cpu::prepareFloatProduct(OneDnnContext &context,
                                 const sinter_command &command,
                                 const uint8_t *constants) {
  MatmulShape shape = MatmulShape::simplify(*command.matmul.params);
  RowGroups groups = joinProducts(shape);
  if (!fits(shape))
    return std::unique_ptr<LibraryCall>();
  const float *constantB =
      constantAddress(command.slices[shape.transposed ? 0 : 1], constants);
  // Rows of a transposed B are read in place as those of A: for a few rows of A
  // it is not worth packing.
  if (!constantB && shape.m <= fewRows && groups.size == shape.m &&
      shape.b.row == 1 && shape.b.col != 1) {
    shape.transpose();
    groups = {shape.m};
  }
  return makeCall(context, command, shape, groups, constantB, nullptr);
}

LibraryCallResult sinter::cpu::prepareGatheredProduct(
    OneDnnContext &context, const sinter_command &command, const float *b,
    std::unique_ptr<const RowSource> source) {
  const MatmulShape shape = MatmulShape::simplify(*command.matmul.params);
  if (!fits(shape) || shape.transposed)
    return std::unique_ptr<LibraryCall>();
  return makeCall(context, command, shape, {shape.m}, b, std::move(source));
}
