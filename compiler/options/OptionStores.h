//===- OptionStores.h - values of single options ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to the table of options. As the readers of OptionValues.h, each
// returns what is wrong with the value, or "".
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_OPTIONSTORES_H
#define SINTER_COMPILER_OPTIONS_OPTIONSTORES_H

#include "compiler/options/Options.h"

namespace sinter::compiler {

std::string storeEmit(Options &options, llvm::StringRef value);
std::string storeName(Options &options, llvm::StringRef value);
std::string storeTargets(Options &options, llvm::StringRef value);
std::string storePlaceRule(Options &options, llvm::StringRef value);
std::string storeStateRule(Options &options, llvm::StringRef value);
std::string storeGpuArchs(Options &options, llvm::StringRef value);
std::string storeLibraries(Options &options, llvm::StringRef value);
std::string storePrecision(Options &options, llvm::StringRef value);
std::string storeLossScale(Options &options, llvm::StringRef value);
std::string storePhase(Options &options, llvm::StringRef value);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_OPTIONSTORES_H
