//===- CommandWiring.h - which values commands read and write ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Two programs may run the same commands on other values. Addresses do not say
// so: they depend on the plan of the memory. A wire says, for an operand, which
// command wrote it last and as which result; in the body of a scan also in
// which trip.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_COMMANDWIRING_H
#define SINTER_COMPILER_INSPECT_COMMANDWIRING_H

#include "compiler/inspect/ArtifactFacts.h"

namespace sinter::compiler {

/// Begins the text of a wire from or to a state.
inline constexpr llvm::StringLiteral kStatePlace = "state ";

/// Where an operand comes from, or where a result goes that leaves the program
/// or a scan.
struct Wire {
  std::string what;     // "operand 2", "operand 2 in trip 1", "result 0"
  int64_t command = -1; // that wrote it: its place in commands(entry); else -1
  /// Of a command "result 1", with the trip if it is another. Else "input x",
  /// "state w", "operand 2 of the scan"; "" is compared otherwise (constants)
  /// or not at all.
  std::string text;
  /// Where the bytes begin in that result, operand or state.
  int64_t offset = 0;
  int64_t scan = -1; // whose operand or result it is: a place as `command`
};

/// The wires of each command of `commands(entry)`. Those of the body of a scan
/// are of its first three and last two trips; with these, all others are as the
/// one before the last.
std::vector<std::vector<Wire>> commandWires(const sinter_artifact &artifact,
                                            const sinter_entry &entry);

/// What a command waits for besides those before it on its stream: the commands
/// before the event, or the summation, that it waits for.
struct Wait {
  int64_t command;      // its place in commands(entry)
  bool isAfter = false; // the wait follows the last command of a stream
  auto operator<=>(const Wait &) const = default;
};

/// The waits of each command of `commands(entry)`, sorted.
std::vector<std::vector<Wait>> commandWaits(const sinter_entry &entry);

/// Whether a command is only for the order of others: RECORD, WAIT and AWAIT.
bool isOrder(const sinter_command &command);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_COMMANDWIRING_H
