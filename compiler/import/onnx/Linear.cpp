//===- Linear.cpp - Gemm and MatMul ---------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Text.h"

using namespace mlir;

namespace sinter::compiler {

/// alpha * op(A) * op(B) + beta * C.
static void importGemm(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1), beta = n.attrFloat("beta", 1);
  bool transA = n.attrInt("transA", 0), transB = n.attrInt("transB", 0);
  for (size_t i : {0, 1})
    if (n.rankOf(n.in(i)) != 2) {
      n.fail("input " + quoted(n.inputName(i)) + " has rank " +
             std::to_string(n.rankOf(n.in(i))) + "; it must be a matrix");
      return;
    }
  if (n.version < 11 && !n.has(2)) {
    n.fail("input C is missing");
    return;
  }
  Value product =
      n.dot(n.in(0), n.in(1), {}, {}, {transA ? 0 : 1}, {transB ? 1 : 0});
  if (alpha != 1)
    product = n.mul(product, alpha);
  if (n.has(2)) {
    Value c = beta == 1 ? n.in(2) : n.mul(n.in(2), beta);
    product = n.add(product, n.broadcast(c, n.shapeOf(product)));
  }
  n.out(product);
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
