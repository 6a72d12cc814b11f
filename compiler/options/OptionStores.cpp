//===- OptionStores.cpp - values of single options ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/options/OptionStores.h"
#include "compiler/Phases.h"
#include "compiler/options/OptionValues.h"

#include "llvm/ADT/StringExtras.h"

using namespace sinter::compiler;
using llvm::StringRef;

std::string sinter::compiler::storeEmit(Options &options, StringRef value) {
  if (value == "exe")
    return "'" + value.str() + "': not yet";
  return readWord(value, options.emit, "trainer|lib|exe|obj|mlir|llvm|ptx");
}

std::string sinter::compiler::storeName(Options &options, StringRef value) {
  bool isName =
      !value.empty() && value.size() <= 200 && !llvm::isDigit(value.front()) &&
      llvm::all_of(value, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (!isName)
    return "'" + value.str() +
           "': expected letters, digits and '_', not beginning with a digit";
  options.name = value.str();
  return "";
}

// A program over several devices: "sim:0,sim:1,cpu".
static std::string storeDevices(Options &options,
                                llvm::ArrayRef<StringRef> names) {
  options.devices.clear();
  for (StringRef name : names) {
    std::string device;
    std::string wrong = readNumberedDevice(options, name, device);
    if (!wrong.empty())
      return wrong;
    if (llvm::is_contained(options.devices, device))
      return "'" + device + "' is given twice";
    options.devices.push_back(device);
  }
  options.targets = {deviceKind(options.devices.front()).str()};
  options.targetGiven = true;
  return "";
}

std::string sinter::compiler::storeTargets(Options &options, StringRef value) {
  llvm::SmallVector<StringRef> names;
  value.split(names, ',');
  if (value.contains(':'))
    return storeDevices(options, names);
  options.targets.clear();
  options.devices.clear();
  for (StringRef name : names) {
    std::string target;
    std::string wrong = readWord(name, target, options.kindsText("|"));
    if (!wrong.empty())
      return wrong;
    if (llvm::is_contained(options.targets, target))
      return "'" + target + "' is given twice";
    options.targets.push_back(target);
  }
  options.targetGiven = true;
  return "";
}

std::string sinter::compiler::storePlaceRule(Options &options,
                                             StringRef value) {
  auto [pattern, name] = value.rsplit('=');
  if (pattern.empty() || name.empty())
    return "'" + value.str() + "': expected REGEX=DEVICE";
  std::string regex, device;
  std::string wrong = readRegex(pattern, regex);
  if (wrong.empty())
    wrong = readNumberedDevice(options, name, device);
  if (wrong.empty())
    options.placeRules.push_back(regex + "=" + device);
  return wrong;
}

std::string sinter::compiler::storeStateRule(Options &options,
                                             StringRef value) {
  auto [pattern, output] = value.rsplit('=');
  if (pattern.empty() || output.empty())
    return "'" + value.str() + "': expected REGEX=OUTPUT";
  std::string regex;
  std::string wrong = readRegex(pattern, regex);
  if (wrong.empty())
    options.stateRules.emplace_back(regex, output.str());
  return wrong;
}

std::string sinter::compiler::storeGpuArchs(Options &options, StringRef value) {
  llvm::SmallVector<StringRef> names;
  value.split(names, ',');
  options.gpuArchs.clear();
  for (StringRef name : names) {
    if (name == "native")
      return "'native': not yet";
    if (!name.starts_with("sm_"))
      return "'" + name.str() + "': expected a name like sm_90";
    options.gpuArchs.push_back(name.str());
  }
  return "";
}

std::string sinter::compiler::storeLibraries(Options &options,
                                             StringRef value) {
  llvm::SmallVector<StringRef> names;
  value.split(names, ',');
  options.libraries.clear();
  for (StringRef name : names) {
    std::string library;
    std::string wrong =
        readWord(name, library, "all|none|onednn|cublaslt|cudnn|cudnn-sums");
    if (!wrong.empty())
      return wrong;
    options.libraries.push_back(library);
  }
  if (names.size() > 1 &&
      (llvm::is_contained(names, "all") || llvm::is_contained(names, "none")))
    return "'all' and 'none' cannot be combined with other names";
  return "";
}

std::string sinter::compiler::storePrecision(Options &options,
                                             StringRef value) {
  std::string word;
  std::string wrong = readWord(value, word, "fp32|tf32|bf16|fp16");
  if (!wrong.empty())
    return wrong;
  options.precision = word;
  return "";
}

std::string sinter::compiler::storeLossScale(Options &options,
                                             StringRef value) {
  std::string word;
  double number = 0;
  if (readWord(value, word, "none|dynamic").empty())
    options.train.lossScale = word;
  else if (readNumber(value, number, {0, 3e38, true, false}).empty())
    options.train.lossScale = value.str();
  else
    return "'" + value.str() + "': expected none, dynamic or a number above 0";
  return "";
}

std::string sinter::compiler::storePhase(Options &options, StringRef value) {
  llvm::SmallVector<StringRef> names;
  for (const Phase &phase : phaseTable())
    names.push_back(phase.name);
  return readWord(value, options.stopAfter, llvm::join(names, "|"));
}
