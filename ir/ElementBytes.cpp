//===- ElementBytes.cpp - constants as bytes ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/ElementBytes.h"
#include "ir/Tensor.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;

namespace sinter::ir {

// MLIR 19 cannot read bytecode back if blobs have a larger alignment.
static constexpr int64_t kBlobAlignment = 8;

std::optional<ElementBytes> elementBytes(ElementsAttr attr) {
  auto type = dyn_cast<RankedTensorType>(attr.getType());
  if (!type || !hasBoundedSize(type) ||
      elementSizeBytes(type.getElementType()) == 0)
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    int64_t sizeBytes =
        type.getNumElements() * elementSizeBytes(type.getElementType());
    if (!blob || static_cast<int64_t>(blob->getData().size()) != sizeBytes)
      return std::nullopt;
    return ElementBytes{blob->getData()};
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense || type.getElementType().isInteger(1))
    return std::nullopt;
  return ElementBytes{dense.getRawData(), dense.isSplat()};
}

ElementsAttr attrOfBytes(RankedTensorType type, ArrayRef<char> bytes,
                         StringRef hint) {
  size_t width = elementSizeBytes(type.getElementType());
  // Comparing each element with its successor finds a splat; NaN and -0.0 are
  // compared by their bits.
  bool isSplat =
      !bytes.empty() && std::memcmp(bytes.data(), bytes.data() + width,
                                    bytes.size() - width) == 0;
  if (isSplat)
    return DenseElementsAttr::getFromRawBuffer(type, bytes.take_front(width));
  if (static_cast<int64_t>(bytes.size()) <= kInlineBytes)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, kBlobAlignment);
  return DenseResourceElementsAttr::get(type, resourceKey(hint),
                                        std::move(blob));
}

} // namespace sinter::ir
