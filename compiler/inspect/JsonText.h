//===- JsonText.h - names of models in JSON ------------------- -*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_JSONTEXT_H
#define SINTER_COMPILER_INSPECT_JSONTEXT_H

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// `text` as valid UTF-8. Names in a model file can be any bytes, JSON cannot.
inline std::string utf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

inline llvm::json::Value jsonText(llvm::StringRef text) { return utf8(text); }

/// A list of such texts.
inline llvm::json::Array jsonTexts(llvm::ArrayRef<std::string> texts) {
  llvm::json::Array list;
  for (const std::string &text : texts)
    list.push_back(jsonText(text));
  return list;
}

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_JSONTEXT_H
