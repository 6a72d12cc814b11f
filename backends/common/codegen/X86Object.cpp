//===- X86Object.cpp - LLVM modules to x86-64 objects ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/X86Object.h"
#include "backends/common/codegen/OptimizeModule.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <mutex>

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace sinter::codegen {

std::unique_ptr<llvm::TargetMachine> createX86Machine(llvm::StringRef features,
                                                      unsigned optLevel) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(kX86Triple.str(), error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kX86Triple, "x86-64", features, options, llvm::Reloc::PIC_, std::nullopt,
      codeGenLevel(optLevel)));
}

void prepareForX86(llvm::Module &module, const llvm::TargetMachine &machine,
                   llvm::StringRef features) {
  module.setTargetTriple(kX86Triple);
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-features", features);
      function.addFnAttr("no-builtins");
    }
}

std::optional<std::string> emitX86Object(llvm::Module &module,
                                         llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager emit;
  if (machine.addPassesToEmitFile(emit, stream, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return std::nullopt;
  emit.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace sinter::codegen
