//===- Arguments.h - a command line read by a table -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// GNU long options, "--name=value" or "--name value", checked strictly: an
// unknown one is an error with a "did you mean", numbers must be whole
// arguments and do not depend on the locale. The same table prints --help.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_ARGUMENTS_H
#define SINTER_RUNTIME_HARNESS_ARGUMENTS_H

#include "runtime/base/NumberText.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sinter::rt {

struct Option {
  enum class Value { None, Required, Optional };
  const char *name;  // without dashes; one letter: "-o"
  const char *value; // its placeholder in --help: "N"; "" without a value
  const char *help;  // one line
  Value takes;
  unsigned commands; // a bit for each command that has it
  /// Gets the value ("" if none); the error need not name the option.
  std::function<Status(std::string_view)> set;
  /// Whether it may be given several times, all of which count. Repeating any
  /// other option is an error.
  bool repeats = false;
  /// Its value as text that `set` takes, "" if it has none; null for an option
  /// that does not shape a run (TrainerOptions.h).
  std::function<std::string()> get = nullptr;
};

struct CommandName {
  const char *name;
  unsigned bit;
  const char *help; // one line
};

/// Parses `arguments` (without the program's name). The command is the first
/// argument if it is not an option, else commands[0]; its bit is returned.
/// SINTER_INVALID with one line for whatever is wrong. `given` gets the names
/// of the options that are given.
Result<unsigned> parseArguments(std::span<const char *const> arguments,
                                std::span<const CommandName> commands,
                                std::span<const Option> options,
                                std::vector<std::string> &given);

/// The text of --help for `command`'s bit.
std::string helpText(const std::string &program, unsigned command,
                     std::span<const CommandName> commands,
                     std::span<const Option> options);

/// Setters. Integers and reals are checked against [least, most].
std::function<Status(std::string_view)> setText(std::string &target);
std::function<Status(std::string_view)> setFlag(bool &target);
Result<int64_t> parseInteger(std::string_view text, int64_t least,
                             int64_t most);
/// "8GiB", "512MiB", "1024": a positive number of bytes.
std::function<Status(std::string_view)> setBytes(uint64_t &target);
/// At least `least`, and finite as a float32, which programs compute with.
Result<double> parseReal(std::string_view text, double least);

/// T is int32_t, int64_t (or std::optional of it) and holds [least, most].
template <typename T> auto setInteger(T &target, int64_t least, int64_t most) {
  return [&target, least, most](std::string_view text) -> Status {
    Result<int64_t> value = parseInteger(text, least, most);
    if (!value.ok())
      return value.status();
    if constexpr (std::is_same_v<T, int32_t>)
      target = static_cast<int32_t>(*value);
    else
      target = *value;
    return {};
  };
}

template <typename T> auto setReal(T &target, double least) {
  return [&target, least](std::string_view text) -> Status {
    Result<double> value = parseReal(text, least);
    if (!value.ok())
      return value.status();
    target = *value;
    return {};
  };
}

/// One of `words` (separated by '|'); the target gets its position.
template <typename T> auto setWord(T &target, const char *words) {
  return [&target, words](std::string_view text) -> Status {
    int position = 0;
    for (std::string_view rest = words;; ++position) {
      size_t bar = rest.find('|');
      if (rest.substr(0, bar) == text) {
        target = static_cast<T>(position);
        return {};
      }
      if (bar == std::string_view::npos)
        return Status::invalid(std::string("expected ") + words);
      rest.remove_prefix(bar + 1);
    }
  };
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_ARGUMENTS_H
