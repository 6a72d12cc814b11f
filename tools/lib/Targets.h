//===- Targets.h - the targets that the tools compile for -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Targets are registered only here: a new device adds its target to Targets.cpp
// (and its device to Devices.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_TARGETS_H
#define SINTER_TOOLS_LIB_TARGETS_H

#include "compiler/driver/Driver.h"

namespace sinter::tools {

/// Every target of this build; the first is the default.
llvm::ArrayRef<compiler::TargetFactory> targets();

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_TARGETS_H
