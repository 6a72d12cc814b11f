//===- PageWork.h - what the kernels on the page do -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_PAGEWORK_H
#define SINTER_COMPILER_INSPECT_PAGE_PAGEWORK_H

#include "compiler/inspect/page/PageData.h"
#include "compiler/options/Options.h"

#include "sinter/abi.h"

namespace sinter::compiler {

/// Adds to `program.kernels` what all calls of each kernel do, as 'kernels'
/// counts them: library calls of the same nodes, as a product and its
/// gradients, are one line with the sums of them.
void addWork(const sinter_artifact &artifact, PageProgram &program);

/// Adds the least time of all calls of each kernel that addWork() added, in
/// microseconds, by the limits of the CPU or GPU.
void addLeastTimes(const sinter_artifact &artifact, const Options &options,
                   PageProgram &program);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_PAGEWORK_H
