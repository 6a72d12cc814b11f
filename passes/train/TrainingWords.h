//===- TrainingWords.h - the losses and optimizers by name ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One list of each: options, messages and the train phase use them. A new word
// needs an enumerator in the same place, and the compiler then names the
// switches that lack it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_TRAIN_TRAININGWORDS_H
#define SINTER_PASSES_TRAIN_TRAININGWORDS_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

// Macros, so that option texts can be made of them.
#define SINTER_LOSS_WORDS                                                      \
  "cross-entropy|soft-cross-entropy|bce|mse|l1|huber|none"
#define SINTER_OPTIMIZER_WORDS "sgd|adam|adamw|lamb|adagrad|rmsprop|lion|muon"

namespace sinter::passes {

/// In the order of SINTER_LOSS_WORDS.
enum class LossKind {
  CrossEntropy,
  SoftCrossEntropy,
  Bce,
  Mse,
  L1,
  Huber,
  None // the graph computes the loss
};
/// In the order of SINTER_OPTIMIZER_WORDS.
enum class OptimizerKind {
  Sgd,
  Adam,
  AdamW,
  Lamb,
  Adagrad,
  RmsProp,
  Lion,
  Muon
};

constexpr size_t countWords(const char *words) {
  size_t count = 1;
  for (; *words; ++words)
    count += *words == '|';
  return count;
}
static_assert(countWords(SINTER_LOSS_WORDS) == size_t(LossKind::None) + 1);
static_assert(countWords(SINTER_OPTIMIZER_WORDS) ==
              size_t(OptimizerKind::Muon) + 1);

/// The place of `word` among `words`, which '|' separates.
std::optional<size_t> findWord(llvm::StringRef words, llvm::StringRef word);
inline std::optional<LossKind> lossKind(llvm::StringRef word) {
  std::optional<size_t> place = findWord(SINTER_LOSS_WORDS, word);
  return place ? std::optional(LossKind(*place)) : std::nullopt;
}
inline std::optional<OptimizerKind> optimizerKind(llvm::StringRef word) {
  std::optional<size_t> place = findWord(SINTER_OPTIMIZER_WORDS, word);
  return place ? std::optional(OptimizerKind(*place)) : std::nullopt;
}
/// "a, b or c" of "a|b|c".
std::string listOfWords(llvm::StringRef words);

} // namespace sinter::passes

#endif // SINTER_PASSES_TRAIN_TRAININGWORDS_H
