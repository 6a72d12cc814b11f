//===- OptionValues.cpp - reading the values of options -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/options/OptionValues.h"
#include "runtime/base/NumberText.h"

#include "passes/train/TrainingWords.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Regex.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// A number without trailing zeros, as in the help.
static std::string format(double number) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%g", number);
  return text;
}

static std::string describe(NumberRange range) {
  if (range.high >= 1e300)
    return range.lowOpen ? "a number above " + format(range.low)
                         : "a number of at least " + format(range.low);
  return std::string("a number in ") + (range.lowOpen ? "(" : "[") +
         format(range.low) + ", " + format(range.high) +
         (range.highOpen ? ")" : "]");
}

std::string compiler::readNumber(StringRef text, double &number,
                                 NumberRange range) {
  std::optional<double> value = rt::readReal(text);
  bool bad = !value || *value < range.low || *value > range.high ||
             (range.lowOpen && *value == range.low) ||
             (range.highOpen && *value == range.high);
  if (bad)
    return "expected " + describe(range) + ", got '" + text.str() + "'";
  number = *value;
  return "";
}

std::string compiler::readInteger(StringRef text, int64_t &number, int64_t low,
                                  int64_t high) {
  std::optional<int64_t> value = rt::readInteger(text);
  if (!value || *value < low || *value > high)
    return "expected a whole number in [" + std::to_string(low) + ", " +
           std::to_string(high) + "], got '" + text.str() + "'";
  number = *value;
  return "";
}

std::string compiler::readBytes(StringRef text, int64_t &bytes, int64_t low) {
  std::optional<int64_t> value = rt::readBytes(text);
  if (!value || *value < low)
    return "expected a size like 8GiB, 512MiB or 4096, got '" + text.str() +
           "'";
  bytes = *value;
  return "";
}

std::string compiler::readDuration(StringRef text, double &milliseconds) {
  constexpr double mostSeconds = 1e7;
  std::optional<double> seconds = rt::readSeconds(text);
  if (!seconds || *seconds > mostSeconds)
    return "expected a duration like 200ms or 5s, got '" + text.str() + "'";
  milliseconds = *seconds * 1000;
  return "";
}

std::string compiler::readWord(StringRef text, std::string &word,
                               StringRef words) {
  llvm::SmallVector<StringRef> choices;
  words.split(choices, '|');
  if (!llvm::is_contained(choices, text)) {
    StringRef near = nearest(text, choices);
    return "expected " + words.str() + ", got '" + text.str() + "'" +
           (near.empty() ? "" : "; did you mean '" + near.str() + "'?");
  }
  word = text.str();
  return "";
}

std::string compiler::readDevice(const Options &options, StringRef text,
                                 std::string &device) {
  auto [name, index] = text.split(':');
  std::string expected;
  for (const passes::DeviceKind &kind : options.kinds) {
    const passes::DeviceTraits &traits = kind.traits;
    unsigned number = 0;
    if (kind.name == name &&
        (name.size() == text.size() ||
         (!index.getAsInteger(10, number) && number < traits.maxDevices))) {
      device =
          traits.isHost ? kind.name : kind.name + ":" + std::to_string(number);
      return "";
    }
    expected += (expected.empty() ? "" : ", ") + kind.name;
    if (!traits.isHost)
      expected += ":N (0 to " + std::to_string(traits.maxDevices - 1) + ")";
  }
  return "there is no device '" + text.str() + "'; expected " + expected;
}

std::string compiler::readNumberedDevice(const Options &options, StringRef text,
                                         std::string &device) {
  for (const passes::DeviceKind &kind : options.kinds)
    if (text == kind.name && !kind.traits.isHost)
      return "'" + text.str() + "' has no number; the first device is '" +
             kind.firstDevice() + "'";
  return readDevice(options, text, device);
}

std::string compiler::readRegex(StringRef text, std::string &regex) {
  std::string error;
  if (text.empty())
    return "expected a regular expression";
  if (!llvm::Regex(text).isValid(error))
    return "'" + text.str() + "' is not a regular expression: " + error;
  regex = text.str();
  return "";
}

std::string compiler::readPattern(StringRef text, Patterns &patterns) {
  std::string regex;
  std::string wrong = readRegex(text, regex);
  if (!wrong.empty())
    return wrong;
  patterns.each.push_back(std::move(regex));
  // When patterns are joined, the numbers of their groups change.
  static const llvm::Regex backReference("\\\\[1-9]");
  if (patterns.each.size() > 1 &&
      llvm::any_of(patterns.each, [](const std::string &pattern) {
        return backReference.match(pattern);
      }))
    return "'" + text.str() +
           "': an expression with a back reference must be the only one";
  return "";
}

std::string compiler::readPattern(StringRef text, Patterns &patterns,
                                  std::string &joined) {
  std::string wrong = readPattern(text, patterns);
  joined = patterns.joined();
  return wrong;
}

std::string compiler::readPath(StringRef text, std::string &path) {
  if (text.empty())
    return "expected a file name";
  path = text.str();
  return "";
}

std::string compiler::readDim(StringRef text, Options &options) {
  // Names may contain '='; sizes never do.
  auto [name, size] = text.rsplit('=');
  int64_t value = 0;
  if (name.empty() || !text.contains('='))
    return "expected NAME=SIZE, got '" + text.str() + "'";
  std::string wrong = readInteger(size, value, 0, INT32_MAX);
  if (!wrong.empty())
    return wrong;
  for (auto &[known, before] : options.dims)
    if (known == name && before != value)
      return "'" + name.str() + "' is bound twice, to " +
             std::to_string(before) + " and " + std::to_string(value);
  options.dims.emplace_back(name.str(), value);
  return "";
}

std::string compiler::readShape(StringRef text, Options &options) {
  auto [name, sizes] = text.rsplit('=');
  if (name.empty() || sizes.empty() || !text.contains('='))
    return "expected NAME=1x3x224x224, got '" + text.str() + "'";
  std::vector<int64_t> shape;
  llvm::SmallVector<StringRef> parts;
  if (sizes != "scalar")
    sizes.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size = 0;
    std::string wrong = readInteger(part, size, 0, INT32_MAX);
    if (!wrong.empty())
      return wrong;
    shape.push_back(size);
  }
  for (auto &[known, before] : options.shapes)
    if (known == name)
      return "'" + name.str() + "' is given twice";
  options.shapes.emplace_back(name.str(), shape);
  return "";
}

std::string compiler::readQuantize(StringRef text, QuantizeOptions &options) {
  auto [kind, rest] = text.split(':');
  std::string type;
  if (std::string wrong = readWord(kind, type, "int8"); !wrong.empty())
    return wrong;
  options.enabled = true;
  llvm::SmallVector<StringRef> parts;
  if (!rest.empty())
    rest.split(parts, ',');
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    std::string wrong;
    if (key == "ranges")
      wrong = readWord(value, options.ranges, "minmax|percentile|mse");
    else if (key == "error")
      wrong = readNumber(value, options.error, kPositive);
    else
      return "unknown key '" + key.str() + "'; the keys are ranges and error";
    if (!wrong.empty())
      return key.str() + ": " + wrong;
  }
  return "";
}

std::string compiler::readLoss(StringRef text,
                               passes::BuildTrainingOptions &request) {
  auto [kind, rest] = text.split(':');
  std::string wrong = readWord(kind, request.loss, SINTER_LOSS_WORDS);
  if (!wrong.empty())
    return wrong;
  llvm::SmallVector<StringRef> parts;
  if (!rest.empty())
    rest.split(parts, ',');
  static const StringRef keys[] = {"logits", "labels", "axis", "ignore_index",
                                   "label_smoothing"};
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    int64_t number = 0;
    if (key == "logits" || key == "labels") {
      if (value.empty())
        return "expected " + key.str() + "=NAME";
      (key == "logits" ? request.logits : request.labels) = value.str();
    } else if (key == "axis") {
      wrong = readInteger(value, number, -32, 31);
      request.axis = number;
    } else if (key == "ignore_index") {
      wrong = readInteger(value, number, INT32_MIN, INT32_MAX);
      request.ignoreIndex = number;
    } else if (key == "label_smoothing") {
      wrong = readNumber(value, request.labelSmoothing, kShare);
    } else {
      StringRef near = nearest(key, keys);
      return "unknown key '" + key.str() + "'" +
             (near.empty() ? "; the keys are logits, labels, axis, "
                             "ignore_index and label_smoothing"
                           : "; did you mean '" + near.str() + "'?");
    }
    if (!wrong.empty())
      return key.str() + ": " + wrong;
  }
  return "";
}
