//===- X86Code.cpp - the machine code of CPU kernels ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/X86Code.h"

#include "llvm-c/Disassembler.h"
#include "llvm-c/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <set>
#include <vector>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

void compiler::addFunctionSizes(StringRef elf,
                                std::map<std::string, uint64_t> &sizes) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(elf, "program"));
  if (!object)
    return llvm::consumeError(object.takeError());
  auto *file = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(object->get());
  if (!file)
    return;
  for (llvm::object::ELFSymbolRef symbol : file->symbols()) {
    auto name = symbol.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (symbol.getELFType() == llvm::ELF::STT_FUNC && symbol.getSize())
      sizes.emplace(name->str(), symbol.getSize());
  }
}

namespace {

struct Instruction {
  uint64_t address, size;
  std::string text; // "vaddps zmm0, zmm1, zmm2"
};

// What the disassembler asks for: names of the targets of branches.
struct Labels {
  uint64_t begin = 0, end = 0;
  std::set<uint64_t> targets;
  std::string last;

  // "L12" of an address in the code; the number is that of the bytes before it.
  std::string nameOf(uint64_t address) const {
    return "L" + std::to_string(address - begin);
  }
};

const char *lookUp(void *info, uint64_t value, uint64_t *type, uint64_t,
                   const char **name) {
  auto &labels = *static_cast<Labels *>(info);
  bool isBranch = *type == LLVMDisassembler_ReferenceType_In_Branch;
  *type = LLVMDisassembler_ReferenceType_InOut_None;
  *name = nullptr;
  if (!isBranch)
    return nullptr;
  // Where other functions are differs from run to run.
  if (value < labels.begin || value >= labels.end)
    return "external";
  labels.targets.insert(value);
  labels.last = labels.nameOf(value);
  return labels.last.c_str();
}

class Disassembler {
public:
  explicit Disassembler(StringRef code) : code_(code) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    labels_.begin = reinterpret_cast<uint64_t>(code.data());
    labels_.end = labels_.begin + code.size();
    // All features: code that a damaged file has must not be refused for one.
    context_ = LLVMCreateDisasmCPUFeatures(
        "x86_64-unknown-linux-gnu", "sapphirerapids", "+avx512fp16,+avxvnni",
        &labels_, 0, nullptr, lookUp);
    if (context_)
      LLVMSetDisasmOptions(context_, LLVMDisassembler_Option_AsmPrinterVariant |
                                         LLVMDisassembler_Option_PrintImmHex);
  }
  ~Disassembler() {
    if (context_)
      LLVMDisasmDispose(context_);
  }
  Disassembler(const Disassembler &) = delete;

  std::vector<Instruction> run() {
    std::vector<Instruction> list;
    for (uint64_t at = 0; context_ && at < code_.size();) {
      char text[256];
      uint64_t address = labels_.begin + at;
      uint64_t size = LLVMDisasmInstruction(
          context_,
          reinterpret_cast<uint8_t *>(const_cast<char *>(code_.data())) + at,
          code_.size() - at, address, text, sizeof text);
      if (!size) {
        list.push_back({address, 1, "(bad)"});
        ++at;
        continue;
      }
      std::string line = StringRef(text).trim().str();
      for (char &c : line)
        c = c == '\t' ? ' ' : c;
      list.push_back({address, size, std::move(line)});
      at += size;
    }
    return list;
  }

  const Labels &labels() const { return labels_; }

private:
  StringRef code_;
  Labels labels_;
  LLVMDisasmContextRef context_ = nullptr;
};

} // namespace

// The address that "[rip + 123]" means; 0 if the instruction has none.
static uint64_t constantAddress(const Instruction &instruction) {
  StringRef place = StringRef(instruction.text).split("[rip ").second;
  bool isBelow = place.starts_with("- ");
  int64_t distance = 0;
  if (place.empty() ||
      place.drop_front(2).split(']').first.getAsInteger(0, distance))
    return 0;
  return instruction.address + instruction.size +
         (isBelow ? -distance : distance);
}

// The first float of a constant, if the instruction reads floats.
static std::string
constantText(const Instruction &instruction,
             const std::function<bool(const void *, uint64_t)> &mayRead) {
  StringRef name = StringRef(instruction.text).split(' ').first;
  bool isFloat = name.ends_with("ss") || name.ends_with("ps");
  auto *address = reinterpret_cast<const void *>(constantAddress(instruction));
  float value = 0;
  if (!isFloat || !address || !mayRead(address, sizeof value))
    return "";
  std::memcpy(&value, address, sizeof value);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("  # %.9g", value);
  return text;
}

std::string compiler::disassembleX86(
    StringRef code,
    const std::function<bool(const void *, uint64_t)> &mayRead) {
  Disassembler disassembler(code);
  std::vector<Instruction> list = disassembler.run();
  // Instructions that only fill up the space behind the function.
  while (!list.empty() && (StringRef(list.back().text).contains("nop") ||
                           list.back().text == "int3"))
    list.pop_back();
  std::string text;
  for (const Instruction &instruction : list) {
    if (disassembler.labels().targets.count(instruction.address))
      text += disassembler.labels().nameOf(instruction.address) + ":\n";
    text += "  " + instruction.text + constantText(instruction, mayRead) + "\n";
  }
  return text;
}
