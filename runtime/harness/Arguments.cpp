//===- Arguments.cpp - a command line read by a table ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sinter::rt;

namespace {

std::string dashed(const char *name) {
  return (name[0] && !name[1] ? "-" : "--") + std::string(name);
}

/// Edit distance of two short words.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1,
                         diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// ", did you mean X?" for the nearest of `names`, if one is near.
template <typename Names, typename Text>
std::string didYouMean(std::string_view word, const Names &names, Text text) {
  std::string best;
  size_t least = std::min<size_t>(4, word.size() / 2 + 2);
  word = word.substr(0, 64);
  for (const auto &candidate : names) {
    size_t steps = distance(word, candidate.name);
    if (steps < least) {
      least = steps;
      best = text(candidate);
    }
  }
  return best.empty() ? "" : "; did you mean " + best + "?";
}

/// User text for a message: cut short and without control characters.
std::string shown(std::string_view text) {
  std::string result(text.substr(0, 64));
  for (char &c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return result;
}

const Option *findOption(std::span<const Option> options,
                         std::string_view name) {
  for (const Option &option : options)
    if (name == option.name)
      return &option;
  return nullptr;
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
  size_t next = 0;
  if (!arguments.empty() && arguments[0][0] != '-') {
    std::string_view word = arguments[next++];
    auto found = std::find_if(
        commands.begin(), commands.end(),
        [&](const CommandName &candidate) { return word == candidate.name; });
    if (found == commands.end())
      return Status::invalid(
          "unknown command \"" + shown(word) + "\"" +
          didYouMean(word, commands, [](const CommandName &candidate) {
            return std::string(candidate.name);
          }));
    command = found->bit;
  }
  while (next < arguments.size()) {
    std::string_view argument = arguments[next++];
    bool isLong = argument.starts_with("--") && argument.size() > 2;
    bool isShort = !isLong && argument.starts_with("-") &&
                   argument.size() == 2 && argument != "--";
    if (!isLong && !isShort)
      return Status::invalid("unexpected argument \"" + shown(argument) + "\"");
    size_t equals = isLong ? argument.find('=') : std::string_view::npos;
    std::string_view name = argument.substr(isLong ? 2 : 1);
    if (equals != std::string_view::npos)
      name = argument.substr(2, equals - 2);
    const Option *option = findOption(options, name);
    if (!option || (name.size() == 1) != isShort)
      return Status::invalid("unknown option " +
                             shown(argument.substr(0, equals)) +
                             didYouMean(name, options, [](const Option &near) {
                               return dashed(near.name);
                             }));
    std::string label = dashed(option->name);
    if (!(option->commands & command))
      return Status::invalid(label + ": not an option of \"" +
                             commandOf(commands, command)->name + "\"");
    if (!option->repeats &&
        std::find(given.begin(), given.end(), option->name) != given.end())
      return Status::invalid(label + ": given twice");
    given.emplace_back(option->name);
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
      if (option->takes == Option::Value::None)
        return Status::invalid(label + ": takes no value");
    } else if (option->takes == Option::Value::Required) {
      if (next == arguments.size())
        return Status::invalid(label + ": needs a value, " + label + "=" +
                               option->value);
      value = arguments[next++];
    }
    Status status = option->set(value);
    if (!status.ok())
      return Status::invalid(label + (value.empty() ? "" : "=" + shown(value)) +
                             ": " + status.message());
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

Result<int64_t> sinter::rt::parseInteger(std::string_view text, int64_t least,
                                         int64_t most) {
  std::optional<int64_t> value = readInteger(text);
  if (!value || *value < least || *value > most)
    return Status::invalid("expected a whole number " +
                           (most == INT64_MAX
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
