//===- PanelCall.h - products of blocks and panels --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What products of all types have in common. B is packed in panels of columns,
// at load if it is constant, else in each run. A is a number of blocks of rows,
// read in place or in a copy. A chunk of A stays in the cache of level 2: all
// its blocks are multiplied by one panel before the next panel is read. If B
// stays there, and a panel is not larger than a block of A, each block is
// multiplied by all panels instead: then its result is written to the cache of
// level 1, line by line. The cut into tasks changes no bits, if those of a
// block depend on the block alone.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_PANELCALL_H
#define SINTER_BACKENDS_CPU_DEVICE_PANELCALL_H

#include "backends/cpu/device/OneDnnPrimitive.h"
#include "backends/cpu/device/TileRegisters.h"
#include "runtime/device/Library.h"

namespace sinter::cpu {

class PanelCall : public rt::LibraryCall {
public:
  uint64_t sharedBytes() const final;
  uint64_t perWorkerBytes() const final;
  rt::Status bind(const rt::Scratch &scratch, int threads) final;
  rt::Status run(void *const *buffers, const rt::CallContext &context) final;

protected:
  /// The sizes of one of `batches` products of the same form.
  struct Sizes {
    int64_t batches;
    bool sharesB;       // all of them have the same B
    int64_t columns;    // of B
    int64_t blocks;     // of A
    int64_t rowBytes;   // that a row of A adds to a chunk
    int64_t depth;      // products of each element of the result
    int64_t panelBytes; // a multiple of 64
    int64_t copyUnits;  // of the copy of A; 0: it is read in place
    int64_t copyBytes;
  };
  /// Some blocks of A times some panels.
  struct Task {
    int64_t batch;        // which product
    const uint8_t *a;     // A or its copy
    const uint8_t *panel; // the first one, aligned to 64 bytes; others follow
    int64_t panels;
    int64_t firstColumn, columns;
    int64_t begin, end; // the blocks
    Pieces next;        // what the next task reads of B, if that is known
  };

  PanelCall(const sinter_command &command, const Sizes &sizes);

  /// Packs the constant B at `b`.
  void packConstantB(OneDnnContext &context, const uint8_t *b);
  bool hasConstantB() const { return constantB_ != nullptr; }

  /// The operands of product `batch` in memory.
  virtual const uint8_t *operandA(void *const *buffers,
                                  int64_t batch) const = 0;
  virtual const uint8_t *operandB(void *const *buffers,
                                  int64_t batch) const = 0;
  /// Packs `columns` columns of `b` from `first` on.
  virtual void pack(const uint8_t *b, int64_t first, int64_t columns,
                    uint8_t *panel) const = 0;
  /// Changes all panels of the constant B after they are packed.
  virtual void finishPanels(uint8_t *panels);
  /// Where these columns are.
  virtual Pieces columnsOf(const uint8_t *b, int64_t first,
                           int64_t columns) const;
  /// Copies unit `unit` of A.
  virtual void copy(const uint8_t *a, int64_t unit, uint8_t *copy) const = 0;
  /// Computes and stores the blocks of the result.
  virtual void compute(TileRegisters &tiles, const Task &task,
                       void *const *buffers) const = 0;

  int64_t panels() const { return panels_; }
  /// Packs panel `number` of `b`.
  void packPanelOf(const uint8_t *b, int64_t number, uint8_t *panel) const;

  const sinter_command &command_;

private:
  /// From so many products on, each worker computes whole ones.
  static constexpr int64_t minBatches = 4;

  /// Where the panels of B are.
  enum class Panels {
    Constant, // packed at load
    Run,      // in shared scratch, packed once in a run
    Product,  // packed for each product: by one worker in its own scratch, or
              // by all in shared scratch
    Task,     // one panel, packed for each task in the worker's scratch
  };
  struct Operands {
    int64_t batch;
    const uint8_t *a, *b;
    const uint8_t *panels; // null: packed for each task
  };

  static int64_t largestPanel(const Sizes &sizes);
  bool isBatched() const { return sizes_.batches >= minBatches; }
  Panels panelsOf() const;
  int64_t bytesOfB() const { return panels_ * sizes_.panelBytes; }
  int64_t sharedBytesOfB() const;
  int64_t workerBytesOfB() const;
  void packPanels(const uint8_t *b, int64_t begin, int64_t end,
                  uint8_t *panels) const;
  void packTogether(void *const *buffers, const rt::CallContext &context,
                    int64_t batch) const;
  uint8_t *scratchOf(int worker) const;
  void runTask(TileRegisters &tiles, void *const *buffers,
               const Operands &operands, int64_t number, bool isLast,
               uint8_t *own) const;
  void runAlone(TileRegisters &tiles, void *const *buffers, int64_t batch,
                uint8_t *own) const;
  void runTogether(void *const *buffers, const rt::CallContext &context,
                   int64_t batch) const;
  int64_t groups() const { return (panels_ + group_ - 1) / group_; }
  int64_t tasks() const { return groups() * chunks_; }
  double flopsOfTask() const;

  const Sizes sizes_;
  const int64_t panels_;
  int64_t chunk_, chunks_; // in blocks of A
  int64_t group_ = 1;      // panels of a task
  PackedBytes constantB_;
  rt::Scratch scratch_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_PANELCALL_H
