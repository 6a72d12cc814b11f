//===- ElfSymbols.cpp - what a library exports ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/ElfSymbols.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"

using namespace sinter;
using namespace llvm::object;

rt::Result<std::vector<std::string>>
tools::exportedSymbols(const std::string &path) {
  auto file = ObjectFile::createObjectFile(path);
  if (!file) {
    std::string why = llvm::toString(file.takeError());
    return rt::Status::invalid(path + ": " + why);
  }
  auto *elf = llvm::dyn_cast<ELF64LEObjectFile>(file->getBinary());
  if (!elf)
    return rt::Status::invalid(path + ": is not a 64-bit ELF file");
  std::vector<std::string> names;
  for (const ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!name || !flags) {
      llvm::consumeError(name.takeError());
      llvm::consumeError(flags.takeError());
      return rt::Status::invalid(path + ": its symbol table is damaged");
    }
    if (!(*flags & SymbolRef::SF_Undefined))
      names.push_back(name->str());
  }
  return names;
}

bool tools::isElfFile(const std::string &path) {
  // Pipes and devices are not opened: reading them may block or never end.
  llvm::file_magic magic;
  return llvm::sys::fs::is_regular_file(path) &&
         !llvm::identify_magic(path, magic) && magic.is_object() &&
         magic >= llvm::file_magic::elf && magic <= llvm::file_magic::elf_core;
}
