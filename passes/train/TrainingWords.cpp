//===- TrainingWords.cpp - the losses and optimizers by name --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/train/TrainingWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using llvm::StringRef;

namespace sinter::passes {

std::optional<size_t> findWord(StringRef words, StringRef word) {
  llvm::SmallVector<StringRef> list;
  words.split(list, '|');
  const auto *found = llvm::find(list, word);
  return found == list.end() ? std::nullopt
                             : std::optional<size_t>(found - list.begin());
}

std::string listOfWords(StringRef words) {
  llvm::SmallVector<StringRef> list;
  words.split(list, '|');
  std::string text;
  for (size_t i = 0; i < list.size(); ++i)
    text += (i == 0                 ? ""
             : i + 1 == list.size() ? " or "
                                    : ", ") +
            list[i].str();
  return text;
}

} // namespace sinter::passes
