//===- Targets.h - the targets of a compilation -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// From the kinds of devices that a tool registers and the devices that options
// name to the targets that passes ask. A function that fails has printed the
// reason on stderr.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_TARGETS_H
#define SINTER_COMPILER_DRIVER_TARGETS_H

#include "compiler/options/CompileState.h"
#include "passes/Target.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sinter::compiler {

/// A kind of device that the tool can compile for.
struct TargetFactory {
  passes::DeviceKind kind;
  std::string description; // one line for --list-devices
  /// Returns null and sets `error` if `options` are not valid for this kind.
  std::function<std::unique_ptr<passes::Target>(const Options &options,
                                                std::string &error)>
      create;
};

/// What options may name.
std::vector<passes::DeviceKind> kindsOf(llvm::ArrayRef<TargetFactory> targets);

/// The target of `state`; null when there is none, which was reported.
std::unique_ptr<passes::Target>
createTarget(const Options &options, const CompileState &state,
             llvm::ArrayRef<TargetFactory> targets);

/// The devices that a program may span, the default one first, with the targets
/// of their kinds.
struct TargetSet {
  std::unique_ptr<passes::Target> main; // of the first device; null: none
  std::vector<std::unique_ptr<passes::Target>> others;
  std::vector<passes::ProgramDevice> devices;

  TargetSet() = default;
  /// One device.
  TargetSet(std::unique_ptr<passes::Target> target);
};

/// The devices of --target, --place and --allow-cpu. On failure reports the
/// reason and returns a set without `main`.
TargetSet createTargets(const Options &options, const CompileState &state,
                        llvm::ArrayRef<TargetFactory> targets);

/// Prints one line per target.
void printTargets(llvm::raw_ostream &os, llvm::ArrayRef<TargetFactory> targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_TARGETS_H
