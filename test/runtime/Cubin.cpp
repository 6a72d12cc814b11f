//===- Cubin.cpp - what a cubin says of itself ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/Cubin.h"

#include <cstring>
#include <elf.h>

using namespace sinter;
using namespace sinter::test;

std::optional<Cubin> test::readCubin(const void *image) {
  auto *bytes = static_cast<const char *>(image);
  if (std::strncmp(bytes, ELFMAG, SELFMAG) != 0)
    return std::nullopt;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.e_machine != EM_CUDA)
    return std::nullopt;
  Cubin cubin;
  // Since version 8 of the format, which CUDA 13 writes, the architecture is
  // the second byte of the flags; before, it was the first.
  const bool isNew = header.e_ident[EI_ABIVERSION] >= 8;
  cubin.arch = (header.e_flags >> (isNew ? 8 : 0)) & 0xff;
  auto section = [&](unsigned number) {
    Elf64_Shdr found;
    std::memcpy(&found,
                bytes + header.e_shoff + number * size_t(header.e_shentsize),
                sizeof(found));
    return found;
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB)
      continue;
    const char *names = bytes + section(table.sh_link).sh_offset;
    for (size_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes + table.sh_offset + at, sizeof(symbol));
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
          ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL)
        cubin.kernels.push_back(names + symbol.st_name);
    }
  }
  return cubin;
}
