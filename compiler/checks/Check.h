//===- Check.h - sinterc --check; sizes that are not bound ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECKS_CHECK_H
#define SINTER_COMPILER_CHECKS_CHECK_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// Used for every size that is not bound: divisible and not too large.
inline constexpr int64_t kMadeUpSize = 8;

/// Binds the sizes that `model` and the command line leave open to
/// kMadeUpSize. Returns their names: symbols, or "dimension 1 of 'x'"; empty if
/// there are none.
std::vector<std::string> makeUpSizes(const SourceModel &model,
                                     const Options &options,
                                     CompileState &state);
/// Prints on stderr which sizes were taken, if any.
void noteMadeUpSizes(const Options &options, llvm::ArrayRef<std::string> names);

/// Runs the phases that may refuse the model or the options, so that it reports
/// the same errors as compiling: every operator that cannot be imported or that
/// the target has no code for and, with --train, every operator on the path of
/// a gradient that has none (kExitUnsupported), else what is wrong with the
/// options (kExitUsage). Sizes that the model leaves open are made up. Nothing
/// is generated.
ExitCode checkCoverage(const Options &options, CompileState state,
                       TargetSet targets,
                       llvm::ArrayRef<const Importer *> formats = importers());

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECKS_CHECK_H
