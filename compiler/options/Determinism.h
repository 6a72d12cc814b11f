//===- Determinism.h - what equal runs agree on -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_DETERMINISM_H
#define SINTER_COMPILER_OPTIONS_DETERMINISM_H

#include "compiler/options/Options.h"

namespace sinter::compiler {

/// Turns --deterministic into what keeps it: no libraries whose sums depend on
/// the machine (arch, topology); a step of as many equal micro-batches and
/// replicas as its rows allow, whatever split was asked for (topology). Returns
/// what is wrong, "" if nothing.
std::string applyDeterminism(Options &options);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_DETERMINISM_H
