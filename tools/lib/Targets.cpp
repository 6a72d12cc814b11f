//===- Targets.cpp - what the tools compile for ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Targets.h"

#include "backends/cpu/codegen/CpuTarget.h"

using namespace sinter;

llvm::ArrayRef<compiler::TargetFactory> tools::targets() {
  static const compiler::TargetFactory factories[] = {
      {"cpu", "this machine's or another x86-64 CPU (--mcpu)",
       [](const compiler::Options &options, std::string &error) {
         std::unique_ptr<passes::Target> target;
         if (!options.allowsLibrary("onednn")) {
           error = "--libraries: CPU programs without oneDNN: not yet";
           return target;
         }
         target = cpu::createCpuTarget(options.mcpu);
         if (!target)
           error = "--mcpu=" + options.mcpu +
                   ": expected native, x86-64, x86-64-v2, x86-64-v3 or "
                   "x86-64-v4";
         return target;
       }},
  };
  return factories;
}
