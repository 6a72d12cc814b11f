//===- ConstantPool.cpp - offsets of constants ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/ConstantPool.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// Constants of at least kLargeBytes get pages of their own, so that they can
/// be mapped.
constexpr int64_t kPageBytes = 4096, kLargeBytes = 1 << 16;

} // namespace

int64_t ConstantPool::offsetOf(ElementsAttr value) {
  int64_t bytes = exec::sizeBytes(value.getType());
  auto [it, isNew] = numbers.try_emplace(identityOf(value), entries.size());
  if (!isNew && exec::sizeBytes(entries[it->second].value.getType()) == bytes)
    return entries[it->second].offset;
  int64_t offset = exec::alignedBytes(
      end, bytes >= kLargeBytes ? kPageBytes : exec::kBufferAlignment);
  it->second = entries.size();
  entries.push_back({offset, value});
  end = offset + bytes;
  return offset;
}

void ConstantPool::emit(OpBuilder &builder, Location loc) const {
  for (const Entry &entry : entries)
    builder.create<exec::ConstantOp>(loc, entry.offset, entry.value);
}

const void *identityOf(ElementsAttr value) {
  // A blob under another type of the same size has the same bytes.
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return resource.getRawHandle().getResource();
  return value.getAsOpaquePointer();
}

bool isAllZeros(ElementsAttr value) {
  auto isZero = [](char byte) { return byte == 0; };
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return llvm::all_of(dense.getRawData(), isZero);
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob && llvm::all_of(blob->getData(), isZero);
}

} // namespace sinter::passes::plan
