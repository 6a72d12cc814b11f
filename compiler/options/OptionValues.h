//===- OptionValues.h - reading the values of options -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each reader checks one value and stores it. It returns what is wrong with
// the value, in a few words, or "" if it is valid. No reader depends on the
// locale.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_OPTIONVALUES_H
#define SINTER_COMPILER_OPTIONS_OPTIONVALUES_H

#include "compiler/options/Options.h"

namespace sinter::compiler {

/// Bounds of a number; the error message for a number outside names them.
struct NumberRange {
  double low, high;
  bool lowOpen = false, highOpen = false; // the bound itself is excluded
};
constexpr NumberRange kPositive = {0, 1e300, true, false};
constexpr NumberRange kNotNegative = {0, 1e300, false, false};
constexpr NumberRange kBelowOne = {0, 1, false, true};
constexpr NumberRange kShare = {0, 1, false, false};

std::string readNumber(llvm::StringRef text, double &number, NumberRange range);
std::string readInteger(llvm::StringRef text, int64_t &number, int64_t low,
                        int64_t high);
/// "8GiB", "512KiB" or "100" (bytes), at least `low`.
std::string readBytes(llvm::StringRef text, int64_t &bytes, int64_t low);
/// "200ms", "5s" or "0.5s" in milliseconds.
std::string readDuration(llvm::StringRef text, double &milliseconds);
/// One of `words`, which are separated by '|'.
std::string readWord(llvm::StringRef text, std::string &word,
                     llvm::StringRef words);
std::string readRegex(llvm::StringRef text, std::string &regex);
/// Adds one pattern to those that were given before.
std::string readPattern(llvm::StringRef text, Patterns &patterns);
/// The same; `joined` becomes one expression that matches the same names.
std::string readPattern(llvm::StringRef text, Patterns &patterns,
                        std::string &joined);
std::string readPath(llvm::StringRef text, std::string &path);
/// A device of one of the `kinds` of `options`; a kind alone is its first
/// device.
std::string readDevice(const Options &options, llvm::StringRef text,
                       std::string &device);
/// The same where devices are told apart: a kind whose devices have numbers is
/// not a device.
std::string readNumberedDevice(const Options &options, llvm::StringRef text,
                               std::string &device);
/// "sim" of "sim:1".
inline llvm::StringRef deviceKind(llvm::StringRef device) {
  return device.split(':').first;
}
/// "N=32".
std::string readDim(llvm::StringRef text, Options &options);
/// "x=1x3x224x224".
std::string readShape(llvm::StringRef text, Options &options);
/// "int8:ranges=mse,error=0.01".
std::string readQuantize(llvm::StringRef text, QuantizeOptions &options);
/// "cross-entropy:logits=NAME,axis=1".
std::string readLoss(llvm::StringRef text,
                     passes::BuildTrainingOptions &request);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_OPTIONVALUES_H
