//===- Lock.h - keeping a program as it is ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_LOCK_H
#define SINTER_COMPILER_DRIVER_LOCK_H

#include "compiler/driver/DecisionTable.h"
#include "compiler/emit/Artifact.h"
#include "compiler/options/LockFile.h"
#include "compiler/options/Options.h"

#include <string>

namespace sinter::compiler {

/// Stores the table of decisions that `options` ask for, with those of the lock
/// file if there is one. Returns what is wrong with the file, "" if nothing.
std::string makeTable(const Options &options,
                      std::unique_ptr<DecisionTable> &table);

/// The program of one target.
struct TargetProgram {
  std::string manifest;
  std::map<std::string, std::string> kernelHashes; // by nodes (Manifest.h)
};

/// What a lock file says of a program besides its decisions: settings, and
/// hashes of what came out. `targets` are those of its targets, in order;
/// `machine` is the CPU that code was generated for, "" if there is none;
/// `flags` are the names of the given options.
llvm::json::Object describeProgram(const CompiledProgram &program,
                                   llvm::ArrayRef<TargetProgram> targets,
                                   llvm::StringRef machine,
                                   llvm::StringRef flags);

/// Lines that say what of the lock file `options` names could not be kept in
/// `now` (of describeProgram); empty if the program is the same.
std::vector<std::string> whatChanged(const Options &options,
                                     const DecisionTable &decisions,
                                     const llvm::json::Object &now);

/// Warns that something of the lock file was not kept.
void reportNotKept(const Options &options, llvm::StringRef what);

/// Writes the lock file that `options` name, or, if it exists and is not to be
/// tuned, prints what could not be kept. Returns what went wrong, "" if
/// nothing.
std::string keepProgram(const Options &options, const DecisionTable &decisions,
                        llvm::json::Object now);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_LOCK_H
