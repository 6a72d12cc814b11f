//===- GraphLength.h - how many steps are one graph -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A graph saves launches, but whatever asks for the trainer's attention (a
// signal, a checkpoint that is due by time) waits for the graphs that were
// started: two at most.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_GRAPHLENGTH_H
#define SINTER_RUNTIME_HARNESS_GRAPHLENGTH_H

#include <cstdint>

namespace sinter::rt {

/// The longest time that a graph of several steps should take.
constexpr double mostGraphSeconds = 1;

/// The number of steps, from 1 to `most`, of the graphs with which `span` steps
/// take the fewest launches. Steps that are left over are launches of their
/// own.
int64_t graphLength(int64_t most, int64_t span);

/// How many steps of `stepSeconds` last at most mostGraphSeconds: from 1 to
/// `most`.
int64_t mostStepsWithin(double stepSeconds, int64_t most);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_GRAPHLENGTH_H
