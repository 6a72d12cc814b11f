//===- TileRegisters.cpp - AMX's registers for blocks of a product --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/TileRegisters.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter::cpu;

#if defined(__x86_64__)
namespace {

__attribute__((target("amx-tile"))) void loadShapes(int64_t rows,
                                                    int64_t bytes) {
  constexpr int64_t tileRows = 16, lineBytes = 64;
  alignas(64) uint8_t shapes[64] = {1};
  auto set = [&](int tile, int64_t count, int64_t bytesOfRow) {
    shapes[16 + 2 * tile] = static_cast<uint8_t>(count ? bytesOfRow : 0);
    shapes[48 + tile] = static_cast<uint8_t>(count);
  };
  const int64_t lower = std::min(rows, tileRows), upper = rows - lower;
  for (int tile : {0, 1})
    set(tile, lower, lineBytes);
  for (int tile : {2, 3})
    set(tile, upper, lineBytes);
  set(4, lower, bytes);
  set(5, upper, bytes);
  for (int tile : {6, 7})
    set(tile, bytes / 4, lineBytes);
  _tile_loadconfig(shapes);
}

__attribute__((target("amx-tile"))) void release() { _tile_release(); }

} // namespace

TileRegisters::~TileRegisters() {
  if (rows_ != 0)
    release();
}

void TileRegisters::configure(int64_t rows, int64_t bytes) {
  if (rows_ == rows && bytes_ == bytes)
    return;
  loadShapes(rows, bytes);
  rows_ = rows;
  bytes_ = bytes;
}
#else
TileRegisters::~TileRegisters() = default;
void TileRegisters::configure(int64_t, int64_t) {
  (void)rows_;
  (void)bytes_;
}
#endif
