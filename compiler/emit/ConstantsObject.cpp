//===- ConstantsObject.cpp - weights as an object file --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/ConstantsObject.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/BinaryFormat/ELF.h"

#include <cstring>

using namespace sinter;
using namespace sinter::compiler;
namespace ELF = llvm::ELF;

// Relative addresses reach 2 GiB; the rest of the file needs a part of them.
static constexpr uint64_t kLargeBytes = uint64_t(1) << 30;

namespace {
// The strings of an ELF string table; the empty string is at offset 0.
class StringTable {
public:
  uint32_t add(llvm::StringRef text) {
    uint32_t offset = bytes_.size();
    bytes_ += text;
    bytes_ += '\0';
    return offset;
  }
  llvm::StringRef bytes() const { return bytes_; }

private:
  std::string bytes_ = std::string(1, '\0');
};
} // namespace

template <typename T> static void put(llvm::raw_ostream &os, const T &record) {
  os.write(reinterpret_cast<const char *>(&record), sizeof(T));
}

static void writeZeros(llvm::raw_ostream &os, uint64_t count) {
  static const char zeros[kConstantsAlignment] = {};
  for (; count > sizeof(zeros); count -= sizeof(zeros))
    os.write(zeros, sizeof(zeros));
  os.write(zeros, count);
}

static llvm::SmallVector<ConstantPiece>
piecesInOrder(const CompiledProgram &program) {
  llvm::SmallVector<ConstantPiece> pieces(program.constants.begin(),
                                          program.constants.end());
  llvm::sort(pieces, [](const ConstantPiece &a, const ConstantPiece &b) {
    return a.offset < b.offset;
  });
  return pieces;
}

static void writePieces(llvm::raw_ostream &os, const CompiledProgram &program,
                        uint64_t sizeBytes) {
  uint64_t written = 0;
  for (const ConstantPiece &piece : piecesInOrder(program)) {
    writeZeros(os, piece.offset - written);
    os.write(piece.bytes.data(), piece.bytes.size());
    written = piece.offset + piece.bytes.size();
  }
  writeZeros(os, sizeBytes - written);
}

void compiler::copyConstants(const CompiledProgram &program, char *memory) {
  // memcpy does not accept a null pointer, even for zero bytes.
  for (const ConstantPiece &piece : program.constants)
    if (!piece.bytes.empty())
      std::memcpy(memory + piece.offset, piece.bytes.data(),
                  piece.bytes.size());
}

void compiler::writeConstantsObject(const CompiledProgram &program,
                                    llvm::raw_ostream &os) {
  enum { kNull, kData, kStack, kSymbols, kStrings, kNames, kNumSections };
  bool large = program.constantsBytes > kLargeBytes;
  // A symbol needs a byte to point to.
  uint64_t dataBytes = std::max<uint64_t>(program.constantsBytes, 1);
  uint64_t tail = (kConstantsAlignment + dataBytes + 7) / 8 * 8;

  StringTable names, strings;
  ELF::Elf64_Shdr sections[kNumSections] = {};
  ELF::Elf64_Shdr &data = sections[kData];
  data.sh_name = names.add(large ? ".lrodata" : ".rodata");
  data.sh_type = ELF::SHT_PROGBITS;
  data.sh_flags = ELF::SHF_ALLOC | (large ? ELF::SHF_X86_64_LARGE : 0);
  data.sh_offset = kConstantsAlignment;
  data.sh_size = dataBytes;
  data.sh_addralign = kConstantsAlignment;

  ELF::Elf64_Shdr &stack = sections[kStack];
  stack.sh_name = names.add(".note.GNU-stack"); // no executable stack
  stack.sh_type = ELF::SHT_PROGBITS;
  stack.sh_offset = tail;
  stack.sh_addralign = 1;

  ELF::Elf64_Sym symbols[2] = {};
  symbols[1].st_name = strings.add("sinter_constants_" + program.symbol);
  symbols[1].setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  symbols[1].st_shndx = kData;
  symbols[1].st_size = dataBytes;

  ELF::Elf64_Shdr &symtab = sections[kSymbols];
  symtab.sh_name = names.add(".symtab");
  symtab.sh_type = ELF::SHT_SYMTAB;
  symtab.sh_offset = tail;
  symtab.sh_size = sizeof(symbols);
  symtab.sh_link = kStrings;
  symtab.sh_info = 1; // the first global symbol
  symtab.sh_addralign = 8;
  symtab.sh_entsize = sizeof(ELF::Elf64_Sym);

  ELF::Elf64_Shdr &strtab = sections[kStrings];
  strtab.sh_name = names.add(".strtab");
  strtab.sh_type = ELF::SHT_STRTAB;
  strtab.sh_offset = symtab.sh_offset + symtab.sh_size;
  strtab.sh_size = strings.bytes().size();
  strtab.sh_addralign = 1;

  ELF::Elf64_Shdr &shstrtab = sections[kNames];
  shstrtab.sh_name = names.add(".shstrtab");
  shstrtab.sh_type = ELF::SHT_STRTAB;
  shstrtab.sh_offset = strtab.sh_offset + strtab.sh_size;
  shstrtab.sh_size = names.bytes().size();
  shstrtab.sh_addralign = 1;
  uint64_t end = shstrtab.sh_offset + shstrtab.sh_size;
  uint64_t tableOffset = (end + 7) / 8 * 8;

  ELF::Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELF::ElfMagic, 4);
  header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = ELF::ET_REL;
  header.e_machine = ELF::EM_X86_64;
  header.e_version = ELF::EV_CURRENT;
  header.e_shoff = tableOffset;
  header.e_ehsize = sizeof(ELF::Elf64_Ehdr);
  header.e_shentsize = sizeof(ELF::Elf64_Shdr);
  header.e_shnum = kNumSections;
  header.e_shstrndx = kNames;

  put(os, header);
  writeZeros(os, kConstantsAlignment - sizeof(header));
  writePieces(os, program, dataBytes);
  writeZeros(os, tail - kConstantsAlignment - dataBytes);
  put(os, symbols);
  os << strings.bytes() << names.bytes();
  writeZeros(os, tableOffset - end);
  put(os, sections);
}
