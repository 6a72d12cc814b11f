//===- ConstantPool.h - offsets of constants --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_CONSTANTPOOL_H
#define SINTER_PASSES_PLAN_CONSTANTPOOL_H

#include "ir/exec/Exec.h"

namespace sinter::passes::plan {

/// The constant space of a program while it grows. Equal attributes and views
/// of one blob share their bytes.
class ConstantPool {
public:
  /// Where the bytes of `value` lie; they get a place when they have none.
  int64_t offsetOf(mlir::ElementsAttr value);

  int64_t sizeBytes() const { return end; }

  /// The `exec.constant`s, in the order of their offsets.
  void emit(mlir::OpBuilder &builder, mlir::Location loc) const;

private:
  struct Entry {
    int64_t offset;
    mlir::ElementsAttr value;
  };
  llvm::SmallVector<Entry> entries;
  llvm::DenseMap<const void *, unsigned> numbers; // attribute or blob -> entry
  int64_t end = 0;
};

/// The same for attributes that have the same bytes: the blob, or the attribute
/// itself.
const void *identityOf(mlir::ElementsAttr value);

/// True for a value whose bytes are all zero, so that a state that starts with
/// it needs none.
bool isAllZeros(mlir::ElementsAttr value);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_CONSTANTPOOL_H
