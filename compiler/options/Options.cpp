//===- Options.cpp - parsing and printing the option table ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/options/Options.h"
#include "compiler/Phases.h"
#include "compiler/checks/Contracts.h"
#include "compiler/lint/Lints.h"
#include "compiler/options/Determinism.h"
#include "compiler/options/LockFile.h"
#include "compiler/options/OptionValues.h"
#include "runtime/base/CommandLine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Format.h"

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

std::string Options::machine() const {
  std::string kept = locked ? locked->machine() : "";
  return mcpu == "native" && !kept.empty() ? kept : mcpu;
}

Options Options::forHostInFloat32() const {
  Options own = *this;
  own.train = TrainOptions();
  own.precision = "fp32";
  own.plannedPolicy = "";
  own.keepFp32 = {};
  own.plannedPrecisions.clear();
  own.quantize = {};
  own.plannedQuantization.reset();
  own.targets = {hostKind()};
  own.devices.clear();
  own.mcpu = "native";
  own.lockfile = "";
  own.locked = nullptr;
  own.libraries = {"all"};
  own.fastConvolutions = false;
  own.deterministic = "";
  own.memoryLimitBytes = 0;
  return own;
}

StringRef sinter::compiler::nearest(StringRef word,
                                    llvm::ArrayRef<StringRef> candidates) {
  std::vector<std::string_view> known(candidates.begin(), candidates.end());
  return rt::nearest(word, known);
}

static std::nullopt_t fail(StringRef tool, const llvm::Twine &message) {
  llvm::errs() << tool << ": error: " << message << "\n";
  return std::nullopt;
}

namespace {
// What the command line has: the values of each row, and the other arguments.
struct Found {
  std::vector<std::vector<std::string>> values; // per row of the table
  std::vector<std::string> others;
};
} // namespace

// Returns what is wrong with the form of the command line, "" if nothing.
static std::string split(Tool tool, llvm::ArrayRef<std::string> args,
                         Found &found) {
  std::vector<std::string_view> words(args.begin(), args.end());
  std::vector<rt::OptionForm> forms;
  std::vector<size_t> rows; // of each form
  for (auto [i, row] : llvm::enumerate(optionTable()))
    if (row.tools & tool) {
      forms.push_back({row.names, row.value, false, row.repeats});
      rows.push_back(i);
    }
  rt::Result<rt::FoundArguments> line = rt::readCommandLine(words, forms);
  if (!line.ok())
    return line.status().message();
  found.values.resize(optionTable().size());
  for (auto [form, value] : line->options)
    found.values[rows[form]].emplace_back(value);
  found.others.assign(line->others.begin(), line->others.end());
  return "";
}

// What --bench and --device of a run imply; returns what is wrong, "" if
// nothing.
static std::string applyRun(Options &options) {
  if (!options.run.replay.empty()) // runs on no device
    return "";
  if (options.run.inputs.empty() && options.run.bench)
    options.run.inputs = "random:seed=0";
  StringRef device = options.run.device;
  auto [kind, index] = device.split(':');
  if (device.empty())
    return "";
  if (options.isHost(kind) && device != kind && index != "0")
    return "--device=" + device.str() + ": there is one CPU device, '" +
           kind.str() + "'";
  if (options.targetGiven && !llvm::is_contained(options.targets, kind))
    return "--device=" + device.str() +
           " contradicts --target=" + llvm::join(options.targets, ",");
  options.targets = {kind.str()};
  bool isPlaced = !options.placeRules.empty() || !options.allowCpu.empty();
  if (isPlaced && options.devices.empty()) {
    options.devices.emplace_back();
    if (std::string wrong = readDevice(options, device, options.devices.back());
        !wrong.empty())
      return "--device: " + wrong;
  }
  return "";
}

/// What stands in the way of --fast-convolutions; "" if nothing.
static std::string checkFastConvolutions(const Options &options) {
  if (!options.fastConvolutions)
    return "";
  if (options.train.enabled)
    return "--fast-convolutions is for inference, where filters are constants";
  auto isOfMemory = [](const Contract &contract) {
    return nameOf(contract) == "peak";
  };
  if (options.memoryLimitBytes || llvm::any_of(options.contracts, isOfMemory))
    return std::string(options.memoryLimitBytes ? "--memory-limit"
                                                : "--require=peak") +
           " does not count the transformed filters of --fast-convolutions";
  if (!options.allowsLibrary("onednn"))
    return "--fast-convolutions is for convolutions that a library computes; "
           "on the CPU, this program calls none";
  const bool mayUseHost =
      !options.placeRules.empty() || !options.allowCpu.empty() ||
      llvm::any_of(options.targets, [&](const std::string &target) {
        return options.isHost(target);
      });
  return mayUseHost ? ""
                    : "--fast-convolutions is for the CPU; no target is the "
                      "CPU";
}

std::optional<const Options>
sinter::compiler::parseOptions(StringRef toolName, Tool tool,
                               llvm::ArrayRef<passes::DeviceKind> kinds,
                               llvm::ArrayRef<std::string> args) {
  Found found;
  std::string wrong = split(tool, args, found);
  if (!wrong.empty())
    return fail(toolName, wrong);

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

  if (found.others.empty())
    return fail(toolName, "no model given; --help shows the usage");
  if (found.others.size() > 1)
    return fail(toolName, "expected one model, got '" + found.others[0] +
                              "' and '" + found.others[1] + "'");
  options.model = found.others[0];
  if (StringRef flag = trainingFlag(options);
      !flag.empty() && !options.train.enabled)
    return fail(toolName, flag + " needs --train");
  if (std::string problem = applyDeterminism(options); !problem.empty())
    return fail(toolName, problem);
  if (std::string problem = applyRun(options); !problem.empty())
    return fail(toolName, problem);
  if (std::string problem = checkFastConvolutions(options); !problem.empty())
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
