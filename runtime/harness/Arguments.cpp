//===- Arguments.cpp - a command line read by a table ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Arguments.h"
#include "runtime/base/CommandLine.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sinter::rt;

namespace {

std::string dashed(const char *name) {
  return (name[0] && !name[1] ? "-" : "--") + std::string(name);
}

/// User text for a message: cut short and without control characters.
std::string shown(std::string_view text) {
  std::string result(text.substr(0, 64));
  for (char &c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return result;
}

const CommandName *commandOf(std::span<const CommandName> commands,
                             unsigned bit) {
  for (const CommandName &command : commands)
    if (command.bit == bit)
      return &command;
  return nullptr;
}

} // namespace

Result<unsigned>
sinter::rt::parseArguments(std::span<const char *const> arguments,
                           std::span<const CommandName> commands,
                           std::span<const Option> options,
                           std::vector<std::string> &given) {
  unsigned command = commands[0].bit;
  std::vector<std::string_view> words(arguments.begin(), arguments.end());
  if (!words.empty() && !words[0].starts_with("-")) {
    std::vector<std::string_view> known;
    for (const CommandName &candidate : commands)
      known.push_back(candidate.name);
    auto found = std::find(known.begin(), known.end(), words[0]);
    if (found == known.end()) {
      std::string_view near = nearest(words[0], known);
      return Status::invalid(
          "unknown command '" + shown(words[0]) + "'" +
          (near.empty() ? "; --help lists the commands"
                        : "; did you mean '" + std::string(near) + "'?"));
    }
    command = commands[found - known.begin()].bit;
    words.erase(words.begin());
  }
  std::vector<std::string> names;
  for (const Option &option : options)
    names.push_back(dashed(option.name));
  std::vector<OptionForm> forms;
  for (size_t i = 0; i < options.size(); ++i)
    forms.push_back({names[i], options[i].value,
                     options[i].takes == Option::Value::Optional,
                     options[i].repeats});
  Result<FoundArguments> found = readCommandLine(words, forms);
  if (!found.ok())
    return found.status();
  if (!found->others.empty())
    return Status::invalid("unexpected argument '" + shown(found->others[0]) +
                           "'");
  for (auto [index, value] : found->options) {
    const Option &option = options[index];
    if (!(option.commands & command))
      return Status::invalid(names[index] + ": not an option of '" +
                             commandOf(commands, command)->name + "'");
    given.emplace_back(option.name);
    Status status = option.set(value);
    if (!status.ok())
      return Status::invalid(names[index] +
                             (value.empty() ? "" : "=" + shown(value)) + ": " +
                             status.message());
  }
  return command;
}

std::string sinter::rt::helpText(const std::string &program, unsigned command,
                                 std::span<const CommandName> commands,
                                 std::span<const Option> options) {
  std::string text =
      "usage: " + program + " [command] [options]\n\ncommands:\n";
  auto padded = [](std::string left, size_t width) {
    left.resize(std::max(left.size() + 2, width), ' ');
    return left;
  };
  for (const CommandName &candidate : commands)
    text += padded("  " + std::string(candidate.name), 12) + candidate.help +
            (candidate.bit == commands[0].bit ? " (default)\n" : "\n");
  text +=
      "\noptions of " + std::string(commandOf(commands, command)->name) + ":\n";
  for (const Option &option : options) {
    if (!(option.commands & command))
      continue;
    std::string left = "  " + dashed(option.name);
    if (option.takes == Option::Value::Required)
      left += (option.name[1] ? "=" : " ") + std::string(option.value);
    else if (option.takes == Option::Value::Optional)
      left += "[=" + std::string(option.value) + "]";
    text += padded(left, 34) + option.help +
            (option.repeats ? " (may be repeated)\n" : "\n");
  }
  return text;
}

std::function<Status(std::string_view)>
sinter::rt::setText(std::string &target) {
  return [&target](std::string_view text) -> Status {
    if (text.empty())
      return Status::invalid("is empty");
    target = text;
    return {};
  };
}

std::function<Status(std::string_view)> sinter::rt::setFlag(bool &target) {
  return [&target](std::string_view) -> Status {
    target = true;
    return {};
  };
}

/// Whether `text` is one, maybe beyond 64 bits.
static bool isWholeNumber(std::string_view text) {
  if (text.starts_with('-'))
    text.remove_prefix(1);
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<int64_t> sinter::rt::parseInteger(std::string_view text, int64_t least,
                                         int64_t most) {
  std::optional<int64_t> value = readInteger(text);
  // The largest 64-bit number is a limit only for a text that is beyond it.
  const bool isTooLong = !value && isWholeNumber(text);
  if (!value || *value < least || *value > most)
    return Status::invalid("expected a whole number " +
                           (most == INT64_MAX && !isTooLong
                                ? "of at least " + std::to_string(least)
                                : "from " + std::to_string(least) + " to " +
                                      std::to_string(most)));
  return *value;
}

std::function<Status(std::string_view)> sinter::rt::setBytes(uint64_t &target) {
  return [&target](std::string_view text) -> Status {
    std::optional<int64_t> bytes = readBytes(text);
    if (!bytes || *bytes < 1)
      return Status::invalid("expected a size such as 8GiB, 512MiB or 4096");
    target = static_cast<uint64_t>(*bytes);
    return {};
  };
}

Result<double> sinter::rt::parseReal(std::string_view text, double least) {
  std::optional<double> value = readReal(text);
  if (!value || std::fabs(*value) > std::numeric_limits<float>::max() ||
      *value < least)
    return Status::invalid(least == 0 ? "expected a finite number of at least 0"
                                      : "expected a finite number");
  return *value;
}
