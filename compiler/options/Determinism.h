//===- Determinism.h - what --deterministic implies -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_DETERMINISM_H
#define SINTER_COMPILER_OPTIONS_DETERMINISM_H

#include "compiler/options/Options.h"

namespace sinter::compiler {

/// Sets the options that --deterministic implies: no libraries, because their
/// sums depend on the machine (arch, topology); as many equal micro-batches
/// as the rows of a step allow, whatever split was asked for (topology).
/// Returns what is wrong, "" if nothing.
std::string applyDeterminism(Options &options);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_DETERMINISM_H
