//===- Recipe.h - what a program was compiled to train by -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Optimizer, loss, precision and the like are fixed in the program. A
// checkpoint says by which it was made, so that one of another program is not
// taken for the same run.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_RECIPE_H
#define SINTER_RUNTIME_HARNESS_RECIPE_H

#include "runtime/train/Manifest.h"

#include "sinter/abi.h"

namespace sinter::rt {

/// Of a program that trains; values are texts, sorted by name.
Manifest::Texts recipeOf(const sinter_artifact &artifact);

/// The node that mixes the rows of a batch in "step" or in "evaluation", so
/// that rows which only pad a batch cannot be left out there; "" where none
/// does.
std::string rowsMixedBy(const sinter_artifact &artifact, const char *use);

/// Whether it was compiled with --pad-last-batch.
bool padsLastBatch(const sinter_artifact &artifact);

struct RecipeDifference {
  std::string name;
  std::string text;          // "beta1 0.8 instead of 0.9"
  bool changesSlots = false; // what the optimizer keeps means something else
};
/// Nothing when `then` is empty, as in the checkpoints of format 1.
std::vector<RecipeDifference> recipeDifferences(const Manifest::Texts &then,
                                                const Manifest::Texts &now);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_RECIPE_H
