//===- Signal.cpp - window functions --------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/TensorReader.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

/// a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), N the size, or one less when
/// symmetric.
static void importWindow(NodeImport &n, double a0, double a1, double a2) {
  bool periodic = n.attrInt("periodic", 1);
  int64_t dataType = n.attrInt("output_datatype", 1);
  Type element = dataType > 0 && dataType < 64
                     ? elementTypeOf(int32_t(dataType), n.context())
                     : Type();
  std::optional<int64_t> size = n.knownInt(0, "size");
  if (!size)
    return;
  if (!element || *size < 0 || *size > (1 << 20)) {
    n.fail("size must lie between 0 and 2^20, and output_datatype be a number "
           "type");
    return;
  }
  double period = double(periodic ? *size : std::max<int64_t>(*size - 1, 1));
  llvm::SmallVector<double> values;
  for (int64_t i = 0; i < *size; ++i) {
    double angle = 2 * M_PI * double(i) / period;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  n.out(n.cast(n.floats(values, {*size}, n.f32()), element));
}

static void importHann(NodeImport &n) { importWindow(n, 0.5, 0.5, 0); }
static void importHamming(NodeImport &n) {
  importWindow(n, 25.0 / 46, 21.0 / 46, 0);
}
static void importBlackman(NodeImport &n) { importWindow(n, 0.42, 0.5, 0.08); }

llvm::ArrayRef<OpRow> signalOps() {
  static constexpr OpRow rows[] = {
      {"BlackmanWindow", importBlackman, 1, 1, 1, 17},
      {"HammingWindow", importHamming, 1, 1, 1, 17},
      {"HannWindow", importHann, 1, 1, 1, 17},
  };
  return rows;
}

} // namespace sinter::compiler
