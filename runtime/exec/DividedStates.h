//===- DividedStates.h - states that replicas divide ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each replica holds a part of such a state, of sinter_state_desc::partBytes.
// If the state is a parameter, all hold its rounding as a whole. A step gathers
// that; whoever writes a parameter outside of a step has the whole, and rounds
// it here.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_DIVIDEDSTATES_H
#define SINTER_RUNTIME_EXEC_DIVIDEDSTATES_H

#include "sinter/abi.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::rt {

/// The part of `replica` of a divided state whose bytes are `whole`, with zeros
/// beyond them.
std::vector<uint8_t> partOf(const sinter_state_desc &state,
                            std::span<const uint8_t> whole, uint64_t replica);

/// Whether state `index` is the rounding of a divided parameter.
bool isRoundedOfDivided(const sinter_artifact &artifact, uint32_t index);
/// Whether the entry "refresh" computes state `index`: it is the rounding of
/// another parameter.
bool isRefreshed(const sinter_artifact &artifact, uint32_t index);

/// What the rounding `state` holds if its parameter, of float32, is `whole`; of
/// zeros if that is empty.
std::vector<uint8_t> roundedBytes(const sinter_state_desc &state,
                                  std::span<const uint8_t> whole);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_DIVIDEDSTATES_H
