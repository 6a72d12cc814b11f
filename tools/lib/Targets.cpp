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
         std::unique_ptr<passes::Target> target =
             cpu::createCpuTarget(options.mcpu);
         if (!target)
           error = "--mcpu=" + options.mcpu + " is no CPU that LLVM knows";
         return target;
       }},
  };
  return factories;
}
