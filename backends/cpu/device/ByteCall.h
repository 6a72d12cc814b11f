//===- ByteCall.h - calls that multiply bytes in panels ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What products and convolutions of 8-bit integers have in common. The sums are
// exact, so neither the cut into tasks nor the unit changes bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BYTECALL_H
#define SINTER_BACKENDS_CPU_DEVICE_BYTECALL_H

#include "backends/cpu/device/ByteCorrections.h"
#include "backends/cpu/device/BytePanels.h"
#include "backends/cpu/device/ByteStore.h"
#include "backends/cpu/device/PanelCall.h"

#include <optional>
#include <span>
#include <vector>

namespace sinter::cpu {

class ByteCall : public PanelCall {
protected:
  /// How rows of A are multiplied, as in ByteBlock. `depth` is `used`, padded.
  struct Factors {
    ByteUnit unit;
    ByteSigns signs;
    std::vector<PanelPart> parts; // of a panel
    int64_t depth, used;
    bool hasOffsets = false;
  };
  /// `sizes` without its `depth` and `panelBytes`, which follow from `factors`.
  ByteCall(const sinter_command &command, const ByteStore &store, Sizes sizes,
           Factors factors);

  /// The rows of a block: how many, and the parts of each.
  struct RowForm {
    int64_t count;
    std::span<const PanelPart> parts;
  };
  virtual RowForm formOf(int64_t block) const = 0;
  /// Sets the data and stride or offsets of the rows of block `block`, from `a`
  /// (A or its copy), and their place in the result of product `batch`, from
  /// its first column on. Their form is set.
  virtual void setBlock(const uint8_t *a, int64_t block, int64_t batch,
                        ByteBlock &rows, BlockPlace &place) const = 0;

  /// Chooses the unit for the constant B at `b`, and packs it.
  void packConstantB(OneDnnContext &context, const uint8_t *b);

  ByteUnit unit() const { return factors_.unit; }
  ByteSigns signs() const { return factors_.signs; }
  std::span<const PanelPart> parts() const { return factors_.parts; }
  int64_t panelDepth() const {
    return static_cast<int64_t>(factors_.parts.size()) * factors_.depth;
  }

private:
  ByteUnit unitOfConstant(const uint8_t *b) const;
  void finishPanels(uint8_t *panels) final;
  void compute(TileRegisters &tiles, const Task &task,
               void *const *buffers) const final;

  const ByteStore store_;
  Factors factors_;
  std::optional<ByteCorrections> corrections_; // of Sums16
};

/// The signs of the operands of a MATMUL or CONV; nothing if they are not 8-bit
/// integers.
std::optional<ByteSigns> byteSigns(const sinter_command &command);

/// The unit for `command` if its post-ops and the type of its result are those
/// of 8-bit products; nothing if loops over int32 (PlainMatmul, PlainConv) take
/// it: without DEQUANTIZE, on a CPU without a unit or by the command's wish.
std::optional<ByteUnit> unitOf(const sinter_command &command,
                               std::span<const sinter_post_op> postOps,
                               uint32_t outDtype);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BYTECALL_H
