//===- GraphMatch.h - which node is which in another graph ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Matches the nodes of two directed acyclic graphs by their structure, so that
// renamed and reordered graphs match. Used by `sinter-inspect diff`.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_GRAPHMATCH_H
#define SINTER_COMPILER_INSPECT_GRAPHMATCH_H

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::compiler {

struct MatchNode {
  struct Use {
    unsigned node, result;
  };

  std::string op;          // "conv", "constant", "input", "output"
  std::string attributes;  // all of them as one text
  std::string type;        // of all results
  std::string name;        // in the model; may be empty or not unique
  uint64_t value = 0;      // hash of the value of a constant or state
  bool isBoundary = false; // an input or output: nodes of equal names match
  std::vector<Use> operands;
};

/// Operands come before their users.
struct MatchGraph {
  std::vector<MatchNode> nodes;
};

constexpr unsigned kUnmatched = ~0u;

/// For each node the one that it matches in the other graph, or kUnmatched.
struct GraphMatch {
  std::vector<unsigned> ofA, ofB;
};

/// Matches nodes whose ancestors and descendants are equal, then those with
/// equal ancestors or equal descendants, where matched nodes count as equal; at
/// first exactly, then without values of weights, without types, and without
/// attributes (colour refinement of Weisfeiler and Leman, from the inputs and
/// from the outputs inwards). Names decide between equals. Then nodes with
/// equal neighbours, and a longest common subsequence of what is left from the
/// inputs to the outputs. Then an unmatched node in the place of another one
/// matches it, whatever its op. Last, straighten().
GraphMatch matchGraphs(const MatchGraph &a, const MatchGraph &b);

/// Matches nodes that were matched with namesakes of each other by their names,
/// where that leaves fewer differences of operands and names.
void straighten(const MatchGraph &a, const MatchGraph &b, GraphMatch &match);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_GRAPHMATCH_H
