//===- Linear.cpp - Gemm and MatMul ---------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Linear.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Registry.h"

using namespace mlir;

namespace sinter::compiler {

Value emitProduct(NodeImport &n, Value a, Value b, size_t bInput) {
  bool transA = n.attrInt("transA", 0), transB = n.attrInt("transB", 0);
  for (size_t i : {size_t(0), bInput})
    if (n.rankOf(n.in(i)) != 2)
      return n.fail("input " + quoted(n.inputName(i)) + " has rank " +
                    std::to_string(n.rankOf(n.in(i))) +
                    "; it must be a matrix");
  return n.dot(a, b, {}, {}, {transA ? 0 : 1}, {transB ? 1 : 0});
}

Value emitGemm(NodeImport &n, Value a, Value b, Value c) {
  double alpha = n.attrFloat("alpha", 1), beta = n.attrFloat("beta", 1);
  Value product = emitProduct(n, a, b);
  if (alpha != 1)
    product = n.mul(product, alpha);
  if (!c)
    return product;
  c = beta == 1 ? c : n.mul(c, beta);
  return n.add(product, n.broadcast(c, n.shapeOf(product)));
}

static void importGemm(NodeImport &n) {
  if (n.version < 11 && !n.has(2)) {
    n.fail("input C is missing");
    return;
  }
  n.out(emitGemm(n, n.in(0), n.in(1), n.in(2)));
}

static void importMatMul(NodeImport &n) { n.out(n.matmul(n.in(0), n.in(1))); }

llvm::ArrayRef<OpRow> linearOps() {
  static constexpr OpRow rows[] = {
      {"Gemm", importGemm, 2, 3},
      {"MatMul", importMatMul, 2, 2},
  };
  return rows;
}

} // namespace sinter::compiler
