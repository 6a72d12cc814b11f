//===- TableData.cpp - C structs as constants of an object file -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/TableData.h"

#include "llvm/IR/DerivedTypes.h"

using namespace llvm;
using namespace sinter::compiler;

static_assert(sizeof(void *) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "artifacts have the layout of the machine that compiles them");

Constant *TableData::add(Constant *initializer, unsigned alignment,
                         StringRef name) {
  auto *global = new GlobalVariable(
      module_, initializer->getType(), /*isConstant=*/true,
      name.empty() ? GlobalValue::PrivateLinkage : GlobalValue::ExternalLinkage,
      initializer, name.empty() ? "t" : name);
  global->setAlignment(Align(alignment));
  if (name.empty())
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return global;
}

Constant *TableData::string(StringRef text) {
  Constant *&known = strings_[text];
  if (!known)
    known = add(ConstantDataArray::getString(module_.getContext(), text), 1);
  return known;
}

Constant *TableData::bytes(StringRef bytes, unsigned alignment) {
  return add(ConstantDataArray::getString(module_.getContext(), bytes,
                                          /*AddNull=*/false),
             alignment);
}

Constant *TableData::int64s(ArrayRef<int64_t> values) {
  if (values.empty())
    return nullptr;
  return bytes(StringRef(reinterpret_cast<const char *>(values.data()),
                         values.size() * 8),
               8);
}

Constant *TableData::offset(Constant *base, uint64_t bytes) {
  if (!base || bytes == 0)
    return base;
  LLVMContext &context = module_.getContext();
  return ConstantExpr::getInBoundsGetElementPtr(
      Type::getInt8Ty(context), base,
      ConstantInt::get(Type::getInt64Ty(context), bytes));
}

Constant *TableData::externalData(StringRef name) {
  return module_.getOrInsertGlobal(name, Type::getInt8Ty(module_.getContext()));
}

Constant *TableData::externalFunction(StringRef name) {
  LLVMContext &context = module_.getContext();
  Type *pointer = PointerType::getUnqual(context),
       *number = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context),
                                 {pointer, number, number}, false);
  return cast<Constant>(module_.getOrInsertFunction(name, type).getCallee());
}

Constant *TableData::rawTable(ArrayRef<RawRow> rows, size_t rowBytes,
                              size_t alignment, ArrayRef<size_t> pointerOffsets,
                              StringRef name) {
  LLVMContext &context = module_.getContext();
  if (pointerOffsets.empty()) {
    std::string all;
    for (const RawRow &row : rows)
      all.append(row.bytes, rowBytes);
    return add(ConstantDataArray::getString(context, all, /*AddNull=*/false),
               alignment, name);
  }

  // Each row is a packed struct: runs of bytes, with pointers between them.
  std::vector<Constant *> elements;
  for (const RawRow &row : rows) {
    std::vector<Constant *> fields;
    size_t at = 0;
    auto addBytes = [&](size_t end) {
      if (end > at)
        fields.push_back(ConstantDataArray::getString(
            context, StringRef(row.bytes + at, end - at),
            /*AddNull=*/false));
    };
    for (auto [pointer, offset] : zip_equal(row.pointers, pointerOffsets)) {
      if (!pointer)
        continue;
      addBytes(offset);
      fields.push_back(pointer);
      at = offset + sizeof(void *);
    }
    addBytes(rowBytes);
    elements.push_back(
        ConstantStruct::getAnon(context, fields, /*Packed=*/true));
  }
  return add(ConstantStruct::getAnon(context, elements, /*Packed=*/true),
             alignment, name);
}
