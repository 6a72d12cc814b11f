//===- DeviceList.h - what --list-devices prints ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_DEVICELIST_H
#define SINTER_TOOLS_LIB_DEVICELIST_H

#include "compiler/driver/Targets.h"
#include "compiler/options/Options.h"

namespace sinter::tools {

/// Prints the targets and this machine's devices, with --json as one object. A
/// kind without devices has the reason. With -v, measures them and prints what
/// is known about each.
void printDevices(llvm::raw_ostream &os, const compiler::Options &options,
                  llvm::ArrayRef<compiler::TargetFactory> targets);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_DEVICELIST_H
