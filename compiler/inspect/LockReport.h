//===- LockReport.h - what a lock file says ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_LOCKREPORT_H
#define SINTER_COMPILER_INSPECT_LOCKREPORT_H

#include "compiler/options/LockFile.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace sinter::compiler {

/// Prints compiler, CPU, settings, and the decisions of each pass and question
/// with their nodes; those that are not by rule come first. Long lists are cut
/// unless `all`. The JSON is that of the file.
void reportLock(const LockFile &lock, bool json, bool all,
                llvm::raw_ostream &os);

/// What differs between two lock files, each list sorted.
struct LockDifference {
  struct Fact {
    std::string name;
    std::string a, b; // "" where only the other file has it
  };
  std::vector<Fact> settings;
  std::vector<Fact> decisions; // with other answers in A and B
  std::vector<Fact> onlyInA, onlyInB;
  std::vector<Fact> program; // hashes of what came out

  bool empty() const;
};

LockDifference diffLocks(const LockFile &a, const LockFile &b);
void printDifference(const LockDifference &difference, llvm::raw_ostream &os);
llvm::json::Object differenceJson(const LockDifference &difference);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_LOCKREPORT_H
