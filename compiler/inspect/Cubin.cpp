//===- Cubin.cpp - the machine code of CUDA kernels -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Cubin.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
namespace fs = llvm::sys::fs;

// The attributes of .nv.info that matter here: {format, attribute, size,
// symbol, value}, each format SVAL of 8 bytes.
namespace {
constexpr uint8_t kFormatSval = 4, kFrameSize = 0x11, kRegisterCount = 0x2f;
} // namespace

template <typename T> static T valueOr(llvm::Expected<T> value, T otherwise) {
  if (value)
    return *value;
  llvm::consumeError(value.takeError());
  return otherwise;
}

// The value of an attribute of the symbol with this number; 0 if there is none.
static uint32_t infoOf(llvm::ArrayRef<uint8_t> info, uint8_t attribute,
                       uint32_t symbol) {
  auto number = [&](size_t at) {
    return llvm::support::endian::read32le(&info[at]);
  };
  for (size_t at = 0; at + 4 <= info.size();) {
    size_t size =
        info[at] == kFormatSval ? info[at + 2] | info[at + 3] << 8 : 0;
    if (size == 8 && at + 12 <= info.size() && info[at + 1] == attribute &&
        number(at + 4) == symbol)
      return number(at + 8);
    at += 4 + size;
  }
  return 0;
}

// The number of the symbol called `name`; 0 if there is none.
static uint32_t symbolNumber(const ElfFile &elf, StringRef name) {
  for (const ElfFile::Elf_Shdr &section :
       valueOr(elf.sections(), ElfFile::Elf_Shdr_Range())) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    StringRef strings =
        valueOr(elf.getStringTableForSymtab(section), StringRef());
    auto symbols = valueOr(elf.symbols(&section), ElfFile::Elf_Sym_Range());
    for (auto [i, symbol] : llvm::enumerate(symbols))
      if (valueOr(symbol.getName(strings), StringRef()) == name)
        return i;
  }
  return 0;
}

std::optional<CubinResources> compiler::cubinResources(StringRef cubin,
                                                       StringRef kernel) {
  auto elf = ElfFile::create(cubin);
  if (!elf) {
    llvm::consumeError(elf.takeError());
    return std::nullopt;
  }
  CubinResources resources;
  bool isFound = false;
  llvm::ArrayRef<uint8_t> info;
  for (const ElfFile::Elf_Shdr &section :
       valueOr(elf->sections(), ElfFile::Elf_Shdr_Range())) {
    StringRef name = valueOr(elf->getSectionName(section), StringRef());
    if (name == (".text." + kernel).str()) {
      isFound = true;
      resources.codeBytes = section.sh_size;
      resources.registers = section.sh_info >> 24;
    } else if (name == (".nv.shared." + kernel).str()) {
      resources.sharedBytes = section.sh_size;
    } else if (name == ".nv.info") {
      info =
          valueOr(elf->getSectionContents(section), llvm::ArrayRef<uint8_t>());
    }
  }
  if (!isFound)
    return std::nullopt;
  if (uint32_t symbol = symbolNumber(*elf, kernel)) {
    resources.stackBytes = infoOf(info, kFrameSize, symbol);
    if (uint32_t count = infoOf(info, kRegisterCount, symbol))
      resources.registers = count;
  }
  return resources;
}

static std::string findNvdisasm() {
  auto own = llvm::sys::Process::GetEnv("SINTER_NVDISASM");
  if (own && !own->empty())
    return fs::can_execute(*own) ? *own : "";
  if (auto onPath = llvm::sys::findProgramByName("nvdisasm"))
    return *onPath;
  std::string usual = "/usr/local/cuda/bin/nvdisasm";
  return fs::can_execute(usual) ? usual : "";
}

// What nvdisasm prints about the whole cubin; "" and `why` on failure.
static std::string runNvdisasm(const std::string &program, StringRef cubin,
                               std::string &why) {
  llvm::SmallString<128> input, output;
  if (fs::createTemporaryFile("sinter", "cubin", input) ||
      fs::createTemporaryFile("sinter", "sass", output)) {
    why = "no temporary file for nvdisasm";
    return "";
  }
  llvm::FileRemover removeInput(input), removeOutput(output);
  {
    std::error_code error;
    llvm::raw_fd_ostream os(input, error);
    if (!error) {
      os << cubin;
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error) {
      why = std::string(input) + ": " + error.message();
      return "";
    }
  }
  int code = llvm::sys::ExecuteAndWait(
      program, {program, "-c", input}, std::nullopt,
      {StringRef(""), StringRef(output), StringRef("")}, /*SecondsToWait=*/120);
  auto text = llvm::MemoryBuffer::getFile(output);
  if (code || !text) {
    why = program + " failed with exit code " + std::to_string(code);
    return "";
  }
  return (*text)->getBuffer().str();
}

// The instructions and labels of a section, without directives and without the
// instructions that fill up the space behind the kernel.
static std::string instructionLines(StringRef section) {
  llvm::SmallVector<StringRef> lines, kept;
  section.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (line.contains("/*") || (line.starts_with(".L_") && line.ends_with(":")))
      kept.push_back(line.rtrim());
  while (!kept.empty() &&
         (kept.back().contains(" NOP") || kept.back().ends_with(":")))
    kept.pop_back();
  return llvm::join(kept, "\n") + "\n";
}

std::string compiler::disassembleCubin(StringRef cubin, StringRef kernel,
                                       std::string &why) {
  std::string program = findNvdisasm();
  if (program.empty()) {
    why =
        "nvdisasm was found neither on PATH nor in /usr/local/cuda/bin; it is "
        "in the CUDA toolkit's package cuda-nvdisasm, and SINTER_NVDISASM can "
        "name it";
    return "";
  }
  std::string all = runNvdisasm(program, cubin, why);
  if (!why.empty())
    return "";
  // Sections begin with "//---- .text.NAME ----".
  StringRef rest = all;
  while (true) {
    size_t at = rest.find((" .text." + kernel).str());
    if (at == StringRef::npos) {
      why = program + " does not show the kernel";
      return "";
    }
    rest = rest.substr(at + kernel.size() + 7);
    if (rest.empty() || !llvm::isSpace(rest.front()) ||
        !rest.trim(" \t").starts_with("-"))
      continue; // another kernel, or a use of the name
    StringRef body = rest.split('\n').second;
    return instructionLines(body.take_front(body.find("\n//----")));
  }
}
