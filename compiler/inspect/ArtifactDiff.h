//===- ArtifactDiff.h - what differs between two programs -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_ARTIFACTDIFF_H
#define SINTER_COMPILER_INSPECT_ARTIFACTDIFF_H

#include "sinter/abi.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

/// Values of A and B, as text; one is empty where it exists only in the other.
struct FactChange {
  std::string name, a, b;
};

/// A kernel launch, library call or copy.
struct CommandChange {
  std::string entry;
  std::string target;             // kernel, or kind of call
  std::vector<std::string> nodes; // of the command in B, if there is one
  std::vector<std::string> details;
  unsigned count = 1;  // commands that differ in the same way, such as layers
  int64_t trips = 1;   // how often a run runs each, in the body of a scan
  bool isScan = false; // counts as the commands of its body, which are listed
};

struct ArtifactDifference {
  std::vector<FactChange> options; // how it was compiled, and by what
  std::vector<FactChange> numbers; // work, bytes, counts
  std::vector<FactChange> tensors; // inputs, outputs and states
  std::vector<FactChange> precision, placement; // by node
  std::vector<CommandChange> changed, gone, added;
  unsigned commands = 0, same = 0; // of B; those in the body of a scan once
  unsigned renamed = 0; // of the same ones, those whose nodes have other names

  bool empty() const {
    return options.empty() && numbers.empty() && tensors.empty() &&
           precision.empty() && placement.empty() && changed.empty() &&
           gone.empty() && added.empty();
  }
  /// Whether only the runtime that is linked into the files differs: the
  /// commands are the same, but library calls may compute other values.
  bool hasOtherRuntimeOnly() const;
};

/// A program with hashes of the code of its kernels (KernelCode.h).
struct ProgramToDiff {
  const sinter_artifact &artifact;
  std::map<std::string, std::string> codeHashes;
};

/// `newNames`: nodes of A that have another name in B. Code is compared if it
/// is known of both programs.
ArtifactDifference
diffArtifacts(const ProgramToDiff &a, const ProgramToDiff &b,
              const std::map<std::string, std::string> &newNames);

/// A line per difference and one that sums up. Of long lists the first entries,
/// unless `all`.
void printDifference(const ArtifactDifference &difference, bool all,
                     llvm::raw_ostream &os);
llvm::json::Object differenceJson(const ArtifactDifference &difference);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_ARTIFACTDIFF_H
