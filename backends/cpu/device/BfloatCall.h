//===- BfloatCall.h - calls that multiply bf16 in panels --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What products and convolutions of bf16 have in common. A long sum is several
// chains, whose results are added in order.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BFLOATCALL_H
#define SINTER_BACKENDS_CPU_DEVICE_BFLOATCALL_H

#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/PanelCall.h"

#include <vector>

namespace sinter::cpu {

class BfloatCall : public PanelCall {
protected:
  /// The form of the rows of A, as in BfloatRows. `depth` is padded.
  struct Depth {
    std::vector<PanelPart> parts;
    int64_t depth;
    bool isOdd = false;
  };
  /// `sizes` without its `depth` and `panelBytes`, which follow from `depth`.
  BfloatCall(const sinter_command &command, const BlockStore &store,
             Sizes sizes, Depth depth);

  /// Sets the rows of block `block` and their place in the result of product
  /// `batch`, from its first column on. `rows.data` is A or its copy.
  virtual void setBlock(int64_t block, int64_t batch, BfloatRows &rows,
                        BlockPlace &place) const = 0;

private:
  void compute(TileRegisters &tiles, const Task &task,
               void *const *buffers) const final;
  void sumPanel(TileRegisters &tiles, const BfloatRows &rows,
                const uint8_t *panel, int64_t columns, float *sums,
                PanelFetch &fetch, StepWork &work) const;

  const BlockStore store_;
  const Depth depth_;
  const int64_t step_; // depthStep(depth_.depth)
  const bool fetchesAddends_;
  /// A chain is some parts, or a piece of one.
  const size_t partsOfChain_;
  const int64_t depthOfChain_; // of each part
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BFLOATCALL_H
