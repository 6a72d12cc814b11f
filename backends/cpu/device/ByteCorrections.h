//===- ByteCorrections.h - weights that 16-bit sums can hold ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// vpmaddubsw multiplies unsigned by signed bytes, and adds pairs of products in
// 16 bits, where they may saturate. ByteUnit::Sums16 adds the products of four
// rows of a panel there. They fit if the positive weights among the four add up
// to 128 at most, and the negative ones too: 255 * 128 < 2^15. What exceeds
// that is cut off when the panel is packed, and goes to a list of corrections,
// which the same instructions multiply after the panel. So the sums are exact.
//
// A correction reads a window of 16 adjacent elements of a row of A, and
// multiplies any four of them for each of 8 columns, in two pairs, each of
// which has the same bound.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BYTECORRECTIONS_H
#define SINTER_BACKENDS_CPU_DEVICE_BYTECORRECTIONS_H

#include "backends/cpu/device/BytePanels.h"
#include "backends/cpu/device/PackedStore.h"

#include <span>
#include <vector>

namespace sinter::cpu {

/// Four bytes for each of 8 columns.
struct alignas(64) ByteCorrection {
  static constexpr int64_t window = 16, columns = 8, factorsOfColumn = 4;
  static constexpr int64_t bytes = columns * factorsOfColumn;

  uint8_t places[bytes]; // in the window
  int8_t factors[bytes]; // unused ones are 0
};

/// The corrections of one panel. Those of a quarter of its columns follow each
/// other, in the order of the parts.
struct PanelCorrections {
  static constexpr int64_t quarters = panelColumns / ByteCorrection::columns;

  int64_t parts; // of the panel
  /// By quarter and part: the first correction; then the end of the last one.
  const uint32_t *starts;
  const ByteCorrection *list;
  const int64_t *windows; // elements of A in front of each one's window
};

/// The corrections of all panels of a B.
class ByteCorrections {
public:
  /// Of the elements of each part, only the first `used` differ from 0.
  ByteCorrections(std::span<const PanelPart> parts, int64_t used)
      : parts_(parts.begin(), parts.end()), used_(used) {}

  /// Cuts the weights of `panel`, the next panel. The sums of its columns stay
  /// those of the whole weights.
  void cut(uint8_t *panel);
  /// All panels are cut: moves the lists to `store`.
  void moveTo(PackedStore &store);

  PanelCorrections ofPanel(int64_t panel) const;
  /// Corrections for each 16 elements of the sums of 8 columns.
  double density() const;

private:
  struct Excess {
    int32_t row;    // of the part
    int32_t factor; // that was cut off
  };
  using Columns = std::vector<Excess>[ByteCorrection::columns];

  void cutGroups(uint8_t *low, uint8_t *high, int64_t row,
                 Columns &columns) const;
  void append(Columns &columns, const PanelPart &part);
  int64_t startsOfPanel() const {
    return PanelCorrections::quarters * static_cast<int64_t>(parts_.size());
  }

  std::vector<PanelPart> parts_;
  int64_t used_;
  int64_t panels_ = 0;
  std::vector<uint32_t> starts_{0};
  std::vector<int64_t> windows_;
  std::vector<ByteCorrection> list_;
  PackedBytes moved_; // list_, if that is empty
};

/// multiplyBytes by ByteUnit::Sums16; the panel is signed.
void multiplyBySums16(const ByteBlock &rows, bool isSigned,
                      const uint8_t *panel, const PanelCorrections &corrections,
                      uint32_t *sums);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BYTECORRECTIONS_H
