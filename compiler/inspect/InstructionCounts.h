//===- InstructionCounts.h - the instructions of a kernel -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_INSTRUCTIONCOUNTS_H
#define SINTER_COMPILER_INSPECT_INSTRUCTIONCOUNTS_H

#include "llvm/ADT/StringRef.h"

#include <set>
#include <string>
#include <vector>

namespace sinter::compiler {

enum class CodeForm { Ir, Llvm, Asm, Ptx, Sass };

/// Static counts. An instruction has one kind, but one that computes on an
/// operand in memory is also a load.
struct InstructionCounts {
  unsigned total = 0;
  unsigned loads = 0, stores = 0; // of all memories
  unsigned stack = 0;             // of these, of the stack: spills, arrays
  unsigned fma = 0;               // multiply-adds, of matrices too
  unsigned arithmetic = 0;        // other floating-point arithmetic
  unsigned special = 0;           // divisions, roots, exponentials
  unsigned branches = 0, barriers = 0, calls = 0;
  unsigned other = 0;                 // integers, moves, conversions, shuffles
  unsigned vector = 0;                // of several elements at once
  unsigned stackBytes = 0;            // of x86 code: that its start reserves
  unsigned vectorBits = 0;            // of x86 code: the widest register
  std::set<unsigned> vectorRegisters; // of x86 code

  struct Row {
    const char *key, *text; // in JSON, and for people
    unsigned count;
  };
  /// The counts in order, the total first.
  std::vector<Row> rows() const;
};

/// Counts in the text of one kernel: x86 code in Intel's syntax, PTX or SASS,
/// an instruction a line.
InstructionCounts countInstructions(llvm::StringRef code, CodeForm form);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_INSTRUCTIONCOUNTS_H
