//===- Registry.h - which ONNX operators there are --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One table per op family, in the family's source file, put together here.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_REGISTRY_H
#define SINTER_COMPILER_IMPORT_ONNX_REGISTRY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace sinter::compiler {

class NodeImport;

inline constexpr int kAny = INT32_MAX;

/// How one operator is imported. `import` sees between `minInputs` and
/// `maxInputs` inputs, the first `minInputs` of which are there.
struct OpRow {
  llvm::StringLiteral name;
  void (*import)(NodeImport &);
  int minInputs, maxInputs, maxOutputs = 1;
  /// The operator sets that have it.
  int since = 1, before = kAny;
};

llvm::ArrayRef<OpRow> activationOps();
llvm::ArrayRef<OpRow> attentionOps();
llvm::ArrayRef<OpRow> controlOps();
llvm::ArrayRef<OpRow> convOps();
llvm::ArrayRef<OpRow> einsumOps();
llvm::ArrayRef<OpRow> elementwiseOps();
llvm::ArrayRef<OpRow> gridSampleOps();
llvm::ArrayRef<OpRow> indexOps();
llvm::ArrayRef<OpRow> linearOps();
llvm::ArrayRef<OpRow> loopOps();
llvm::ArrayRef<OpRow> lossOps();
llvm::ArrayRef<OpRow> normOps();
llvm::ArrayRef<OpRow> padOps();
llvm::ArrayRef<OpRow> poolOps();
llvm::ArrayRef<OpRow> quantizeOps();
llvm::ArrayRef<OpRow> recurrentOps();
llvm::ArrayRef<OpRow> reduceOps();
llvm::ArrayRef<OpRow> resizeOps();
llvm::ArrayRef<OpRow> shapeOps();
llvm::ArrayRef<OpRow> signalOps();

/// Operators of ONNX's own domain, by name.
using Registry = llvm::StringMap<const OpRow *>;
Registry makeRegistry();

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_REGISTRY_H
