//===- ConstantPool.h - offsets of constants --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_CONSTANTPOOL_H
#define SINTER_PASSES_PLAN_CONSTANTPOOL_H

#include "ir/exec/Exec.h"

namespace sinter::passes::plan {

/// The constant space of a program while it is built. Equal attributes, and
/// views of one blob, share their bytes.
class ConstantPool {
public:
  /// The offset of the bytes of `value`, which are added if they are new.
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

/// A key that is equal for attributes with the same bytes: the blob, or the
/// attribute itself.
const void *identityOf(mlir::ElementsAttr value);

/// True for a value whose bytes are all zero. A state that starts with it needs
/// no constant.
bool isAllZeros(mlir::ElementsAttr value);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_CONSTANTPOOL_H
