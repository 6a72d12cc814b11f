//===- Recipe.h - how a program was compiled to train -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Optimizer, loss, precision and the like are fixed in the program. A
// checkpoint records those that made it, so that one from another program is
// not mistaken for the same run.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_RECIPE_H
#define SINTER_RUNTIME_HARNESS_RECIPE_H

#include "runtime/train/Manifest.h"

#include "sinter/abi.h"

namespace sinter::rt {

/// The recipe of a program that trains; values are texts, sorted by name.
Manifest::Texts recipeOf(const sinter_artifact &artifact);

/// The node that mixes the rows of a batch in "step" or in "evaluation", so
/// that rows which only pad a batch cannot be left out there; "" if none does.
std::string rowsMixedBy(const sinter_artifact &artifact, const char *use);

/// Whether it was compiled with --pad-last-batch.
bool padsLastBatch(const sinter_artifact &artifact);

/// Bytes of the first device's memory that the program's own --memory-limit
/// leaves beyond what was planned; UINT64_MAX without a limit.
uint64_t leftByLimit(const sinter_artifact &artifact);

struct RecipeDifference {
  std::string name;
  std::string text;          // "beta1 0.8 instead of 0.9"
  bool changesSlots = false; // the optimizer's slots mean something else
};
/// None if `then` is empty, as in the checkpoints of format 1.
std::vector<RecipeDifference> recipeDifferences(const Manifest::Texts &then,
                                                const Manifest::Texts &now);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_RECIPE_H
