//===- OutputErrors.cpp - two programs' outputs compared ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/OutputErrors.h"

#include "compiler/base/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter::compiler;

void OutputError::add(const ir::Tensor &exact, const ir::Tensor &quantized) {
  for (auto [x, y] : llvm::zip_equal(exact.floats, quantized.floats)) {
    // Infinities of one sign are equal.
    if (x != y && !(std::isnan(x) && std::isnan(y)))
      lost += (y - x) * (y - x);
    if (std::isfinite(x))
      whole += x * x;
  }
  if (exact.rank() != 2 || exact.shape()[1] < 2)
    return;
  const int64_t classes = exact.shape()[1];
  auto largest = [&](const ir::Tensor &scores, int64_t row) {
    auto begin = scores.floats.begin() + row * classes;
    return std::max_element(begin, begin + classes) - begin;
  };
  for (int64_t row = 0; row < exact.shape()[0]; ++row)
    agreeing += largest(exact, row) == largest(quantized, row);
  rows += exact.shape()[0];
}

double OutputError::relative() const {
  if (lost == 0)
    return 0;
  double ratio = std::sqrt(lost / whole); // NaN if a value became NaN
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

std::string OutputError::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << shown(name) << llvm::format(" %.3g", relative());
  if (rows > 0)
    os << llvm::format(" (largest class the same in %.2f %% of the rows)",
                       100 * static_cast<double>(agreeing) /
                           static_cast<double>(rows));
  return text;
}
