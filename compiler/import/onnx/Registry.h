//===- Registry.h - the supported ONNX operators ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Collects the tables of all op families; each family's source file has one.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_REGISTRY_H
#define SINTER_COMPILER_IMPORT_ONNX_REGISTRY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace sinter::compiler {

class NodeImport;

inline constexpr int kAny = INT32_MAX;

/// How one operator is imported. `import` gets `minInputs` to `maxInputs`
/// inputs, of which the first `minInputs` are present.
struct OpRow {
  llvm::StringLiteral name;
  void (*import)(NodeImport &);
  int minInputs, maxInputs, maxOutputs = 1;
  /// The range of operator sets that have it.
  int since = 1, before = kAny;
  /// Inputs need not be tensors (Values.h).
  bool takesAny = false;
};

constexpr OpRow takesAny(OpRow row) {
  row.takesAny = true;
  return row;
}

llvm::ArrayRef<OpRow> activationOps();
llvm::ArrayRef<OpRow> attentionOps();
llvm::ArrayRef<OpRow> controlOps();
llvm::ArrayRef<OpRow> convOps();
llvm::ArrayRef<OpRow> einsumOps();
llvm::ArrayRef<OpRow> elementwiseOps();
llvm::ArrayRef<OpRow> gridSampleOps();
llvm::ArrayRef<OpRow> indexOps();
llvm::ArrayRef<OpRow> linearAttentionOps();
llvm::ArrayRef<OpRow> linearOps();
llvm::ArrayRef<OpRow> loopOps();
llvm::ArrayRef<OpRow> lossOps();
llvm::ArrayRef<OpRow> normOps();
/// Operators on values whose size depends on data.
llvm::ArrayRef<OpRow> openOps();
llvm::ArrayRef<OpRow> padOps();
llvm::ArrayRef<OpRow> poolOps();
llvm::ArrayRef<OpRow> quantizeOps();
llvm::ArrayRef<OpRow> recurrentOps();
llvm::ArrayRef<OpRow> reduceOps();
llvm::ArrayRef<OpRow> resizeOps();
llvm::ArrayRef<OpRow> sequenceOps();
llvm::ArrayRef<OpRow> shapeOps();
llvm::ArrayRef<OpRow> signalOps();

// Tables of the domain com.microsoft.
llvm::ArrayRef<OpRow> microsoftAttentionOps();
llvm::ArrayRef<OpRow> microsoftFusedOps();
llvm::ArrayRef<OpRow> microsoftNormOps();
llvm::ArrayRef<OpRow> microsoftQLinearOps();
llvm::ArrayRef<OpRow> microsoftQuantizeOps();

/// The newest operator set of `domain` whose operators are known; nothing for
/// an unknown domain.
std::optional<int64_t> newestOpset(llvm::StringRef domain);

/// Whether an operator is made of several ops that round, none of which is a
/// contraction. With 16-bit inputs, such an operator is computed in float32 and
/// rounded once. Single ops, contractions and composites of the dialect do that
/// by themselves. `domain` is canonical.
bool isMadeOfSeveral(llvm::StringRef domain, llvm::StringRef name);

class Registry {
public:
  Registry();
  /// Null when unknown. `domain` is canonical.
  const OpRow *find(llvm::StringRef domain, llvm::StringRef name) const;
  /// How `name` of ONNX's own domain is imported with inputs whose size depends
  /// on data; null if that is not supported.
  const OpRow *findOpen(llvm::StringRef name) const;

  /// All operators, by domain and name.
  void forEach(llvm::function_ref<void(llvm::StringRef domain, const OpRow &)>
                   visit) const;

private:
  llvm::StringMap<const OpRow *> rows_, openRows_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_REGISTRY_H
