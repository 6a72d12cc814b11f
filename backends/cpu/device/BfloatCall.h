//===- BfloatCall.h - calls that multiply bf16 in panels --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What products and convolutions of bf16 have in common. B is packed in panels,
// at load if it is constant, else in each run. A is a number of blocks of up to
// 32 rows, read in place or in a copy. All blocks of a chunk of A, which stays
// in the cache of level 2, meet one panel before the next one. A long sum is
// several chains, whose results are added in order; the cut into tasks changes
// no bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BFLOATCALL_H
#define SINTER_BACKENDS_CPU_DEVICE_BFLOATCALL_H

#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/OneDnnPrimitive.h"
#include "runtime/device/Library.h"

#include <vector>

namespace sinter::cpu {

class BfloatCall : public rt::LibraryCall {
public:
  uint64_t sharedBytes() const final;
  uint64_t perWorkerBytes() const final;
  rt::Status bind(const rt::Scratch &scratch, int threads) final;
  rt::Status run(void *const *buffers, const rt::CallContext &context) final;

protected:
  /// The sizes of one of `batches` products of the same form.
  struct Sizes {
    int64_t batches;
    bool sharesB;               // all of them have the same B
    int64_t columns;            // of B
    int64_t blocks;             // of A
    int64_t rowBytes;           // that a row of A adds to a chunk
    std::vector<int64_t> parts; // as in BfloatRows
    int64_t depth;              // of a part, padded
    int64_t copyUnits;          // of the copy of A; 0: it is read in place
    int64_t copyBytes;
  };
  BfloatCall(const sinter_command &command, const BlockStore &store,
             Sizes sizes);

  /// Packs the constant B at `b`.
  void packConstantB(OneDnnContext &context, const rt::Bfloat *b);
  bool hasConstantB() const { return constantB_ != nullptr; }
  /// The depth of a panel.
  int64_t panelDepth() const {
    return sizes_.depth * static_cast<int64_t>(sizes_.parts.size());
  }

  /// The operands in memory.
  virtual const rt::Bfloat *operandA(void *const *buffers,
                                     int64_t batch) const = 0;
  virtual const rt::Bfloat *operandB(void *const *buffers,
                                     int64_t batch) const = 0;
  /// Packs `columns` columns of `b` from `first` on.
  virtual void pack(const rt::Bfloat *b, int64_t first, int64_t columns,
                    uint8_t *panel) const = 0;
  /// Copies unit `unit` of A.
  virtual void copy(const rt::Bfloat *a, int64_t unit,
                    rt::Bfloat *copy) const = 0;
  /// Sets the rows of block `block`, from `a` (A or its copy), and their place
  /// in the result of product `batch`, from its first column on.
  virtual void setBlock(int64_t block, int64_t batch, BfloatRows &rows,
                        BlockPlace &place) const = 0;

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
    const rt::Bfloat *a, *b;
    const uint8_t *panels; // null: packed for each task
  };

  bool isBatched() const { return sizes_.batches >= minBatches; }
  Panels panelsOf() const;
  int64_t bytesOfB() const;
  int64_t sharedBytesOfB() const;
  int64_t workerBytesOfB() const;
  void packPanels(const rt::Bfloat *b, int64_t begin, int64_t end,
                  uint8_t *panels) const;
  void packTogether(void *const *buffers, const rt::CallContext &context,
                    int64_t batch) const;
  uint8_t *scratchOf(int worker) const;
  void sumBlock(BfloatBlocks &blocks, const BfloatRows &rows,
                const uint8_t *panel, float *sums, BfloatFetch &fetch) const;
  void runTask(BfloatBlocks &blocks, void *const *buffers,
               const Operands &operands, int64_t task, bool isLast,
               uint8_t *own) const;
  void runAlone(BfloatBlocks &blocks, void *const *buffers, int64_t batch,
                uint8_t *own) const;
  void runTogether(void *const *buffers, const rt::CallContext &context,
                   int64_t batch) const;
  int64_t panelSteps() const;
  int64_t tasks() const { return panels_ * chunks_; }
  double flopsOfTask() const;

  const BlockStore store_;
  const Sizes sizes_;
  const int64_t panels_;
  int64_t chunk_, chunks_; // in blocks of A
  /// A stretch of the depth: some parts, or a piece of one.
  struct Chain {
    size_t firstPart, parts;
    int64_t begin, depth; // of each part
  };
  std::vector<Chain> chains_;
  PackedBytes constantB_;
  rt::Scratch scratch_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BFLOATCALL_H
