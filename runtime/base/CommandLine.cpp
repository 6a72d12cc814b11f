//===- CommandLine.cpp - the form of a command line -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CommandLine.h"

#include <algorithm>

using namespace sinter::rt;

namespace {

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

/// User text for a message: cut short and without control characters.
std::string quoted(std::string_view text) {
  std::string result = "'" + std::string(text.substr(0, 64)) + "'";
  for (char &c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return result;
}

/// "-o" and "--output" of "-o,--output".
std::vector<std::string_view> namesOf(const OptionForm &form) {
  std::vector<std::string_view> names;
  for (std::string_view rest = form.names;;) {
    size_t comma = rest.find(',');
    names.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos)
      return names;
    rest.remove_prefix(comma + 1);
  }
}

constexpr size_t noForm = SIZE_MAX;

size_t formOf(std::string_view name, std::span<const OptionForm> forms) {
  for (size_t i = 0; i < forms.size(); ++i)
    for (std::string_view known : namesOf(forms[i]))
      if (known == name)
        return i;
  return noForm;
}

Status unknown(std::string_view name, std::span<const OptionForm> forms) {
  std::vector<std::string_view> known;
  for (const OptionForm &form : forms)
    for (std::string_view candidate : namesOf(form))
      known.push_back(candidate);
  std::string_view near = nearest(name, known);
  return Status::invalid("unknown option " + quoted(name) +
                         (near.empty()
                              ? "; --help lists the options"
                              : "; did you mean '" + std::string(near) + "'?"));
}

/// An argument as an option with, perhaps, a value in the same argument.
struct Split {
  std::string_view name, value;
  bool hasValue = false;
};

Split split(std::string_view argument, std::span<const OptionForm> forms) {
  if (argument.starts_with("--")) {
    size_t equals = argument.find('=');
    if (equals == std::string_view::npos)
      return {argument, "", false};
    return {argument.substr(0, equals), argument.substr(equals + 1), true};
  }
  // "-O2": a value may follow a letter that takes one.
  if (argument.size() > 2) {
    size_t form = formOf(argument.substr(0, 2), forms);
    if (form != noForm && !forms[form].value.empty())
      return {argument.substr(0, 2), argument.substr(2), true};
  }
  return {argument, "", false};
}

} // namespace

std::string_view sinter::rt::optionName(const OptionForm &form) {
  return namesOf(form).back();
}

Result<FoundArguments>
sinter::rt::readCommandLine(std::span<const std::string_view> arguments,
                            std::span<const OptionForm> forms) {
  FoundArguments found;
  std::vector<bool> isGiven(forms.size());
  for (size_t next = 0; next < arguments.size();) {
    std::string_view argument = arguments[next++];
    if (argument == "--") {
      found.others.insert(found.others.end(), arguments.begin() + next,
                          arguments.end());
      break;
    }
    if (!argument.starts_with("-") || argument == "-") {
      found.others.push_back(argument);
      continue;
    }
    auto [name, value, hasValue] = split(argument, forms);
    size_t index = formOf(name, forms);
    if (index == noForm)
      return unknown(name, forms);
    const OptionForm &form = forms[index];
    std::string label(optionName(form));
    if (isGiven[index] && !form.repeats)
      return Status::invalid(label + ": given twice");
    isGiven[index] = true;
    if (hasValue && form.value.empty())
      return Status::invalid(label + ": takes no value");
    if (!hasValue && !form.value.empty() && !form.isValueOptional) {
      if (next == arguments.size())
        return Status::invalid(label + ": needs a value, " + label +
                               (label.starts_with("--") ? "=" : " ") +
                               std::string(form.value));
      value = arguments[next++];
    }
    found.options.push_back({index, value});
  }
  return found;
}

std::string_view
sinter::rt::nearest(std::string_view word,
                    std::span<const std::string_view> candidates) {
  std::string_view best;
  word = word.substr(0, 64);
  size_t least = 1 + std::max<size_t>(1, word.size() / 3);
  for (std::string_view candidate : candidates) {
    size_t steps = distance(word, candidate);
    if (steps < least) {
      least = steps;
      best = candidate;
    }
  }
  return best;
}
