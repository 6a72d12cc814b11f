//===- CommandDiff.h - which command is which -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_COMMANDDIFF_H
#define SINTER_COMPILER_INSPECT_COMMANDDIFF_H

#include "compiler/inspect/ArtifactDiff.h"
#include "compiler/inspect/CommandWiring.h"

namespace sinter::compiler {

/// Rows of a signature with hashes, which are not shown.
inline constexpr llvm::StringLiteral kCodeRow = "code",
                                     kMachineRow = "machine code",
                                     kConstantsRow = "constants";

/// Distances in operands, which follow from sizes where these differ.
inline constexpr llvm::StringLiteral kLayoutRow = "strides of operands";
/// Begins rows about post-ops, which say nothing where the post-ops differ.
inline constexpr llvm::StringLiteral kOfPostOps = "post-ops'";

/// A command without the addresses of its buffers.
struct CommandFacts {
  std::string entry;
  std::string device;  // "" in programs that name none
  std::string target;  // kernel, or kind of call
  std::string ops;     // of a kernel the ops in its name: "relu_add"; else ""
  std::string kind;    // of a kernel its mapping, else as target
  int64_t trips = 1;   // of the scan in whose body it is
  bool isScan = false; // which is its body: it is not counted
  std::vector<std::string> nodes; // in order
  /// What it computes besides the nodes: sizes and dtypes of its operands,
  /// parameters of a call.
  std::vector<std::pair<std::string, std::string>> signature;
  std::string number; // in the plan: "3", "6.1"
  /// Commands are places in the list that commandFacts returns.
  std::vector<Wire> wires;
  std::vector<Wait> waits;
};

/// The manifest has the kinds of kernels and hashes of what they compute.
/// Commands that are only for the order of others are left out: those that
/// follow have the waits.
std::vector<CommandFacts> commandFacts(const sinter_artifact &artifact,
                                       const llvm::json::Object &manifest);

/// Adds hashes of the machine code of kernels, by their names.
void addCodeHashes(const std::map<std::string, std::string> &hashes,
                   std::vector<CommandFacts> &commands);

/// Matches commands that compute the same nodes, then those that share most
/// nodes, and adds what differs to `result`. Commands that are the same but
/// read results of others, or wait for others, differ.
void diffCommands(std::vector<CommandFacts> a, std::vector<CommandFacts> b,
                  ArtifactDifference &result);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_COMMANDDIFF_H
