//===- Options.cpp - parsing and printing the option table ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// This file is compiled with exceptions, which CLI11 needs; none leaves it.
//
//===----------------------------------------------------------------------===//
#include "compiler/options/Options.h"
#include "compiler/Phases.h"
#include "compiler/checks/Contracts.h"
#include "compiler/lint/Lints.h"
#include "compiler/options/Determinism.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Format.h"

#include <CLI/CLI.hpp>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

std::vector<std::string> sinter::compiler::argumentsOf(int argc, char **argv) {
  return argc > 0 ? std::vector<std::string>(argv + 1, argv + argc)
                  : std::vector<std::string>();
}

std::string Patterns::joined() const { return llvm::join(each, "|"); }

/// "sim" of "sim:1".
static StringRef kindOf(StringRef device) { return device.split(':').first; }

passes::DeviceTraits Options::traitsOf(StringRef device) const {
  for (const passes::DeviceKind &kind : kinds)
    if (kind.name == kindOf(device))
      return kind.traits;
  return {};
}

std::string Options::hostKind() const {
  for (const passes::DeviceKind &kind : kinds)
    if (kind.traits.isHost)
      return kind.name;
  return "";
}

std::string
Options::kindsText(StringRef separator,
                   llvm::function_ref<bool(StringRef)> isListed) const {
  std::vector<std::string> names;
  for (const passes::DeviceKind &kind : kinds)
    if (!isListed || isListed(kind.name))
      names.push_back(kind.name);
  llvm::sort(names);
  return llvm::join(names, separator);
}

bool Options::allowsLibrary(StringRef name) const {
  return llvm::is_contained(libraries, "all") ||
         llvm::is_contained(libraries, name);
}

Options Options::asTrial() const {
  Options trial = *this;
  trial.isTrial = true;
  trial.logPlacement = trial.verbose = trial.timeReport = false;
  trial.trace = trial.remarks = trial.dumpPhases = trial.savePrecisionPlan = "";
  return trial;
}

StringRef sinter::compiler::nearest(StringRef word,
                                    llvm::ArrayRef<StringRef> candidates) {
  StringRef best;
  unsigned bestDistance = 1 + std::max<size_t>(1, word.size() / 3);
  for (StringRef candidate : candidates) {
    unsigned distance = word.edit_distance(candidate, true, bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

// The names of an option: "-o" and "--output".
static llvm::SmallVector<StringRef> namesOf(const OptionRow &row) {
  llvm::SmallVector<StringRef> names;
  StringRef(row.names).split(names, ',');
  return names;
}

static std::optional<Options> fail(StringRef tool, const llvm::Twine &message) {
  llvm::errs() << tool << ": error: " << message << "\n";
  return std::nullopt;
}

static std::string unknownFlag(StringRef flag, Tool tool) {
  StringRef name = flag.split('=').first;
  llvm::SmallVector<StringRef> known;
  for (const OptionRow &row : optionTable())
    if (row.tools & tool)
      known.append(namesOf(row));
  StringRef near = nearest(name, known);
  return "unknown flag '" + name.str() + "'" +
         (near.empty() ? "; --help lists the flags"
                       : "; did you mean '" + near.str() + "'?");
}

namespace {
// What CLI11 found on the command line: the values of each row.
struct Found {
  std::vector<std::vector<std::string>> values; // per row of the table
  std::vector<std::string> positional, extras;
};
} // namespace

// Splits the command line into values and arguments; returns what is wrong with
// its form, "" if nothing.
static std::string split(Tool tool, llvm::ArrayRef<std::string> args,
                         Found &found) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  found.values.resize(optionTable().size());
  std::vector<CLI::Option *> flags(optionTable().size(), nullptr);
  for (auto [i, row] : llvm::enumerate(optionTable())) {
    if (!(row.tools & tool))
      continue;
    if (!*row.value) {
      flags[i] = app.add_flag(row.names);
      continue;
    }
    app.add_option(row.names, found.values[i])
        ->allow_extra_args(false)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  app.add_option("MODEL", found.positional);
  try {
    // CLI11 takes the arguments last to first.
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ArgumentMismatch &error) {
    // "--batch: 1 required ...": only the flag is kept of CLI11's message.
    StringRef flag = StringRef(error.what()).split(':').first;
    return flag.str() + ": a value is missing";
  } catch (const CLI::ParseError &error) {
    return error.what();
  }
  found.extras = app.remaining();
  for (auto [i, flag] : llvm::enumerate(flags))
    if (flag)
      found.values[i].assign(flag->count(), "");
  for (auto [row, values] : llvm::zip(optionTable(), found.values))
    if (values.size() > 1 && !row.repeats)
      return (flagName(row) + ": given twice").str();
  return "";
}

std::optional<Options>
sinter::compiler::parseOptions(StringRef toolName, Tool tool,
                               llvm::ArrayRef<passes::DeviceKind> kinds,
                               llvm::ArrayRef<std::string> args) {
  Found found;
  std::string wrong = split(tool, args, found);
  if (!wrong.empty())
    return fail(toolName, wrong);
  for (const std::string &extra : found.extras)
    if (StringRef(extra).starts_with("-") && extra != "-")
      return fail(toolName, unknownFlag(extra, tool));

  Options options;
  options.tool = toolName.str();
  options.kinds = kinds.vec();
  if (!kinds.empty())
    options.targets = {kinds.front().name};
  for (auto [i, row] : llvm::enumerate(optionTable())) {
    if (!found.values[i].empty())
      options.given.push_back(&row);
    for (const std::string &value : found.values[i]) {
      StringRef name = flagName(row);
      if (!row.store)
        return fail(toolName, name + ": not yet");
      std::string problem = row.store(options, value);
      if (!problem.empty())
        return fail(toolName, name + ": " + problem);
    }
  }
  if (options.help || options.version || options.listDevices)
    return options;

  if (found.positional.empty())
    return fail(toolName, "no model given; --help shows the usage");
  if (found.positional.size() + found.extras.size() > 1)
    return fail(
        toolName,
        "expected one model, got '" + found.positional[0] + "' and '" +
            (found.extras.empty() ? found.positional[1] : found.extras[0]) +
            "'");
  options.model = found.positional[0];
  if (StringRef flag = trainingFlag(options);
      !flag.empty() && !options.train.enabled)
    return fail(toolName, flag + " needs --train");
  if (std::string problem = applyDeterminism(options); !problem.empty())
    return fail(toolName, problem);
  return options;
}

/// `text` with the kinds of devices in the place of @KINDS and @DEVICES.
static std::string withKinds(const Options &options, StringRef text) {
  std::string devices;
  llvm::raw_string_ostream names(devices);
  for (const passes::DeviceKind &kind : options.kinds)
    names << (devices.empty() ? "" : "|") << kind.firstDevice();
  std::string result = text.str();
  for (auto [word, meaning] :
       {std::pair<StringRef, std::string>{"@KINDS", options.kindsText("|")},
        {"@DEVICES", devices}})
    if (size_t at = result.find(word.str()); at != std::string::npos)
      result.replace(at, word.size(), meaning);
  return result;
}

void sinter::compiler::printHelp(llvm::raw_ostream &os, const Options &options,
                                 Tool tool, StringRef usage,
                                 StringRef commands) {
  os << "usage: " << usage << "\n" << commands;
  StringRef group;
  for (const OptionRow &row : optionTable()) {
    if (!(row.tools & tool) || !row.store)
      continue;
    if (group != row.group) {
      group = row.group;
      os << "\n" << group << ":\n";
    }
    std::string names = StringRef(row.names).str();
    if (*row.value)
      names += (names.size() == 2 ? "" : "=") + withKinds(options, row.value);
    os << "  " << names;
    if (names.size() < 28)
      os.indent(30 - names.size() - 2 + 2);
    else
      (os << "\n").indent(32);
    os << withKinds(options, row.help)
       << (row.repeats ? " (may be repeated)" : "") << "\n";
  }
  if (tool & (kSinterc | kSinterRun)) {
    os << "\nWarnings of -W:\n";
    for (const Lint &lint : lintTable())
      os << "  " << llvm::left_justify(lint.name, 30) << lint.meaning
         << (lint.isDefault ? " (always on)" : "") << "\n";
    os << "\nContracts of --require:\n";
    for (const auto &[form, meaning] : contractTable())
      os << "  " << llvm::left_justify(form, 30) << meaning << "\n";
  }
  os << "\nPhases:\n";
  for (const Phase &phase : phaseTable())
    os << "  " << llvm::left_justify(phase.name, 30) << phase.summary << "\n";
  os << "\nExit codes: 0 done, 1 failed, 2 usage or unreadable input, 3 "
        "unsupported operators,\n4 contract violated, 5 numeric mismatch, 6 "
        "does not fit in memory, 7 device failed\n";
}

void sinter::compiler::printVersion(llvm::raw_ostream &os, StringRef toolName) {
  os << toolName << " " SINTER_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
}

StringRef sinter::compiler::versionText() { return SINTER_VERSION; }
