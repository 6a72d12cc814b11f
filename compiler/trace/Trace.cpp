//===- Trace.cpp - what each pass did -------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/Trace.h"

#include "compiler/trace/RelativeNumbers.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static constexpr int kCompressionLevel = 6;
// No trace is larger. A damaged file must not make us allocate any size.
static constexpr uint64_t kMostBytes = uint64_t(1) << 32;
// Traces are compressed to a twentieth or thirtieth.
static constexpr uint64_t kMostRatio = 4000;

// Symbols may contain any character, but spaces separate the words of the file.
static std::string encoded(StringRef name) {
  std::string text;
  for (char c : name) {
    if (llvm::isAlnum(c) || StringRef("_.-@/:").contains(c))
      text += c;
    else
      text += "%" + llvm::toHex(StringRef(&c, 1));
  }
  return text.empty() ? "%" : text;
}

static std::string decoded(StringRef text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        !text.substr(i + 1, 2).getAsInteger(16, value)) {
      name += static_cast<char>(value);
      i += 2;
    } else if (text[i] != '%') {
      name += text[i];
    }
  }
  return name;
}

static std::string encodedNodes(const std::vector<std::string> &nodes) {
  std::string text;
  for (const std::string &node : nodes)
    text += (text.empty() ? "" : ",") + encoded(node);
  return text.empty() ? "," : text;
}

static std::vector<std::string> decodedNodes(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, false);
  std::vector<std::string> nodes;
  for (StringRef part : parts)
    nodes.push_back(decoded(part));
  return nodes;
}

// "3,7-9", ascending; "," if there is none.
static std::string encodedNumbers(llvm::ArrayRef<unsigned> numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]) +
            (last > i ? "-" + std::to_string(numbers[last]) : "");
    i = last + 1;
  }
  return text.empty() ? "," : text;
}

static bool decodeNumbers(StringRef text, std::vector<unsigned> &numbers) {
  // A damaged file must not make us allocate any size.
  constexpr unsigned kMost = 1 << 24;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, false);
  for (StringRef part : parts) {
    auto [first, last] = part.split('-');
    unsigned from = 0, to = 0;
    if (first.getAsInteger(10, from) ||
        (last.empty() ? first : last).getAsInteger(10, to) || to < from ||
        to >= kMost || (!numbers.empty() && from <= numbers.back()))
      return false;
    for (unsigned number = from; number <= to; ++number)
      numbers.push_back(number);
  }
  return true;
}

static void writeStep(const TraceStep &step, llvm::raw_ostream &os) {
  os << "pass " << encoded(step.phase) << " " << encoded(step.pass) << " "
     << llvm::format("%.3f", step.milliseconds) << "\n";
  for (const TraceRewrite &rewrite : step.rewrites)
    os << "rewrite " << encoded(rewrite.name) << " " << encoded(rewrite.symbol)
       << " " << encodedNodes(rewrite.nodes) << " "
       << encodedNumbers(rewrite.ops) << " " << rewrite.before.size() << " "
       << rewrite.after.size() << "\n"
       << rewrite.before << "\n"
       << rewrite.after << "\n";
  for (const TraceRemark &remark : step.remarks)
    os << "remark " << encoded(remark.pass) << " " << encoded(remark.kind)
       << " " << remark.count << " " << encodedNodes(remark.nodes) << " "
       << encodedNodes(remark.with) << " " << encoded(remark.function) << " "
       << encodedNumbers(remark.ops) << " " << encodedNumbers(remark.others)
       << " " << remark.text.size() << "\n"
       << remark.text << "\n";
  for (const TraceChange &change : step.changes) {
    if (change.text.empty()) {
      os << "gone " << encoded(change.symbol) << "\n";
      continue;
    }
    std::optional<std::string> relative = relativeNumbers(change.text);
    const std::string &text = relative ? *relative : change.text;
    os << (relative ? "op " : "plain ") << encoded(change.symbol) << " "
       << text.size() << "\n"
       << text << "\n";
  }
}

void Trace::write(llvm::raw_ostream &os) const {
  std::string text;
  llvm::raw_string_ostream body(text);
  body << "model " << model.size() << "\n" << model << "\n";
  for (const std::string &device : devices)
    body << "device " << encoded(device) << "\n";
  for (const TraceStep &step : steps)
    writeStep(step, body);
  // The texts after two passes are almost the same. They are far apart, which
  // only the long-distance matcher finds.
  llvm::SmallVector<uint8_t, 0> bytes;
  llvm::compression::zstd::compress(llvm::arrayRefFromStringRef(text), bytes,
                                    kCompressionLevel, /*EnableLdm=*/true);
  os << kMagic << text.size() << "\n" << llvm::toStringRef(bytes);
}

// Consumes `count` bytes and the newline after them.
static bool takeBytes(StringRef &rest, StringRef count, std::string &bytes) {
  uint64_t size = 0;
  if (count.getAsInteger(10, size) || size >= rest.size())
    return false;
  bytes = rest.take_front(size).str();
  rest = rest.drop_front(size);
  return rest.consume_front("\n");
}

static bool readRecord(llvm::ArrayRef<StringRef> words, StringRef &rest,
                       Trace &trace) {
  std::vector<TraceStep> &steps = trace.steps;
  if (words[0] == "model" && words.size() == 2)
    return takeBytes(rest, words[1], trace.model);
  if (words[0] == "device" && words.size() == 2) {
    trace.devices.push_back(decoded(words[1]));
    return true;
  }
  if (words[0] == "pass" && words.size() == 4) {
    steps.push_back({decoded(words[1]), decoded(words[2]), 0, {}, {}, {}});
    return !words[3].getAsDouble(steps.back().milliseconds);
  }
  if (steps.empty())
    return false;
  TraceStep &step = steps.back();
  if (words[0] == "rewrite" && words.size() == 7) {
    TraceRewrite &rewrite = step.rewrites.emplace_back();
    rewrite.name = decoded(words[1]);
    rewrite.symbol = decoded(words[2]);
    rewrite.nodes = decodedNodes(words[3]);
    return decodeNumbers(words[4], rewrite.ops) &&
           takeBytes(rest, words[5], rewrite.before) &&
           takeBytes(rest, words[6], rewrite.after);
  }
  if (words[0] == "remark" && words.size() == 10) {
    TraceRemark &remark = step.remarks.emplace_back();
    remark.pass = decoded(words[1]);
    remark.kind = decoded(words[2]);
    remark.nodes = decodedNodes(words[4]);
    remark.with = decodedNodes(words[5]);
    remark.function = decoded(words[6]);
    return !words[3].getAsInteger(10, remark.count) &&
           decodeNumbers(words[7], remark.ops) &&
           decodeNumbers(words[8], remark.others) &&
           takeBytes(rest, words[9], remark.text);
  }
  if (words[0] == "gone" && words.size() == 2) {
    step.changes.push_back({decoded(words[1]), ""});
    return true;
  }
  bool isPlain = words[0] == "plain";
  if ((words[0] != "op" && !isPlain) || words.size() != 3)
    return false;
  TraceChange &change = step.changes.emplace_back();
  change.symbol = decoded(words[1]);
  if (!takeBytes(rest, words[2], change.text))
    return false;
  if (isPlain)
    return true;
  std::optional<std::string> absolute = absoluteNumbers(change.text);
  change.text = absolute.value_or("");
  return absolute.has_value();
}

// The decompressed text of a file; what is wrong with it goes to `problem`.
static std::string textOf(StringRef bytes, std::string &problem) {
  StringRef rest = bytes;
  uint64_t size = 0;
  if (!rest.consume_front(Trace::kMagic)) {
    problem = rest.starts_with(Trace::kAnyVersion)
                  ? "is a trace of another version of Sinter"
                  : "is not a trace";
    return "";
  }
  StringRef line;
  std::tie(line, rest) = rest.split('\n');
  std::string text;
  if (line.getAsInteger(10, size) || size > kMostBytes ||
      size / kMostRatio > rest.size()) {
    problem = "is damaged: it has no size, or a wrong one";
    return "";
  }
  text.resize(size);
  size_t got = size;
  if (llvm::Error error = llvm::compression::zstd::decompress(
          llvm::arrayRefFromStringRef(rest),
          reinterpret_cast<uint8_t *>(text.data()), got)) {
    problem = "is damaged: " + llvm::toString(std::move(error));
    return "";
  }
  if (got != size)
    problem = "is damaged: it is too short";
  return text;
}

std::string Trace::read(StringRef bytes) {
  std::string problem, text = textOf(bytes, problem);
  if (!problem.empty())
    return problem;
  StringRef rest = text;
  for (size_t record = 1; !rest.empty(); ++record) {
    StringRef head;
    std::tie(head, rest) = rest.split('\n');
    llvm::SmallVector<StringRef> words;
    head.split(words, ' ');
    if (!readRecord(words, rest, *this))
      return "is damaged: record " + std::to_string(record) + " is malformed";
  }
  return "";
}

std::map<std::string, std::string> Trace::before(size_t index) const {
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < index && i < steps.size(); ++i)
    for (const TraceChange &change : steps[i].changes) {
      if (change.text.empty())
        texts.erase(change.symbol);
      else
        texts[change.symbol] = change.text;
    }
  return texts;
}
