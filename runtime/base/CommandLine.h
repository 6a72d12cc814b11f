//===- CommandLine.h - the form of a command line ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// GNU options, read strictly: "--name=value" or "--name value", "-o value" or
// "-ovalue"; "--" ends the options. An unknown option is an error with a "did
// you mean". What the values mean is the business of the program's own table.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_COMMANDLINE_H
#define SINTER_RUNTIME_BASE_COMMANDLINE_H

#include "runtime/base/Status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

struct OptionForm {
  std::string_view names; // with dashes: "-o,--output"
  std::string_view value; // its placeholder in messages: "N"; "" without one
  /// Whether the value may be missing; then only "--name=value" gives one.
  bool isValueOptional = false;
  /// Whether it may be given several times. Repeating any other option is an
  /// error.
  bool repeats = false;
};

/// The name of an option in messages, the last of its names: "--output".
std::string_view optionName(const OptionForm &form);

struct FoundOption {
  size_t form;            // index into the forms
  std::string_view value; // "" if there is none
};

/// Views into the arguments.
struct FoundArguments {
  std::vector<FoundOption> options; // in the order of the command line
  std::vector<std::string_view> others;
};

/// Splits `arguments` (without the program's name). SINTER_INVALID with one
/// line for what is wrong with their form.
Result<FoundArguments>
readCommandLine(std::span<const std::string_view> arguments,
                std::span<const OptionForm> forms);

/// The entry of `candidates` that `word` was probably meant to be; "" if none
/// is near.
std::string_view nearest(std::string_view word,
                         std::span<const std::string_view> candidates);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_COMMANDLINE_H
