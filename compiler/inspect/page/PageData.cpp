//===- PageData.cpp - what the page shows, as JSON ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/PageData.h"

#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/page/OpHistory.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

// Writes one program. Texts repeat from pass to pass, so that each is written
// once and then is a number.
class ProgramWriter {
public:
  explicit ProgramWriter(json::OStream &out) : out_(out) {}
  void write(const PageProgram &program);

private:
  unsigned number(StringRef text) {
    auto [found, isNew] = numbers_.try_emplace(text, strings_.size());
    if (isNew)
      strings_.push_back(text.str());
    return found->second;
  }
  void names(const std::vector<std::string> &names) {
    out_.array([&] {
      for (const std::string &name : names)
        out_.value(number(name));
    });
  }
  void step(const TraceStep &step);
  void change(const TraceChange &change);
  void op(const TrackedOp &tracked);
  void code(const PageProgram &program);

  json::OStream &out_;
  std::map<std::string, OpHistory> histories_;
  llvm::StringMap<unsigned> numbers_;
  std::vector<std::string> strings_;
};

} // namespace

void ProgramWriter::op(const TrackedOp &tracked) {
  out_.array([&] {
    out_.value(tracked.id);
    out_.value(number(tracked.op.text));
    out_.value(tracked.op.depth);
    out_.value(tracked.op.numResults);
    names(tracked.op.nodes);
    out_.array([&] {
      for (ValueUse use : tracked.op.operands) {
        out_.value(use.op);
        out_.value(use.number);
      }
    });
  });
}

// A run of ops that are as they were is two numbers: where it begins in the
// version before, and its length. Any other op is a list.
void ProgramWriter::change(const TraceChange &change) {
  out_.attribute("symbol", number(change.symbol));
  if (change.text.empty()) {
    histories_.erase(change.symbol);
    out_.attribute("gone", true);
    return;
  }
  const std::vector<TrackedOp> &ops =
      histories_[change.symbol].advance(change.text);
  out_.attributeArray("ops", [&] {
    for (unsigned i = 0; i < ops.size();) {
      const unsigned start = ops[i].placeBefore;
      if (start == ~0u) {
        op(ops[i++]);
        continue;
      }
      unsigned count = 1;
      while (i + count < ops.size() &&
             ops[i + count].placeBefore == start + count)
        ++count;
      out_.value(start);
      out_.value(count);
      i += count;
    }
  });
}

void ProgramWriter::step(const TraceStep &step) {
  out_.attribute("phase", utf8(step.phase));
  out_.attribute("pass", utf8(step.pass));
  out_.attribute("ms", step.milliseconds);
  out_.attributeArray("changes", [&] {
    for (const TraceChange &each : step.changes)
      out_.object([&] { change(each); });
  });
  out_.attributeArray("rewrites", [&] {
    for (const TraceRewrite &rewrite : step.rewrites)
      out_.array([&] {
        out_.value(number(rewrite.name));
        out_.value(number(rewrite.symbol));
        names(rewrite.nodes);
        out_.value(number(rewrite.before));
        out_.value(number(rewrite.after));
      });
  });
  out_.attributeArray("remarks", [&] {
    for (const TraceRemark &remark : step.remarks)
      out_.array([&] {
        out_.value(number(remark.pass));
        out_.value(number(remark.kind));
        names(remark.nodes);
        out_.value(number(remark.text));
        out_.value(remark.count);
        names(remark.with);
      });
  });
}

void ProgramWriter::code(const PageProgram &program) {
  for (const auto &[form, kernels] : program.code)
    out_.attributeObject(form, [&] {
      for (const auto &[kernel, text] : kernels)
        out_.attribute(utf8(kernel), utf8(text));
    });
}

void ProgramWriter::write(const PageProgram &program) {
  out_.attribute("title", utf8(program.title));
  out_.attributeArray("steps", [&] {
    for (const TraceStep &each : program.trace.steps)
      out_.object([&] { step(each); });
  });
  out_.attributeObject("code", [&] { code(program); });
  out_.attribute("kernels", json::Object(program.kernels));
  if (!program.commandMicros.empty())
    out_.attribute("command_us", json::Array(program.commandMicros));
  if (!program.bodyMicros.empty())
    out_.attributeObject("body_us", [&] {
      for (const auto &[scan, micros] : program.bodyMicros)
        out_.attribute(std::to_string(scan), json::Array(micros));
    });
  if (!program.profiledEntry.empty())
    out_.attribute("profiled", utf8(program.profiledEntry));
  if (!program.trace.devices.empty())
    out_.attributeArray("devices", [&] {
      for (const std::string &name : program.trace.devices)
        out_.value(utf8(name));
    });
  if (!program.overlays.empty())
    out_.attribute("overlays", json::Object(program.overlays));
  out_.attributeArray("strings", [&] {
    for (const std::string &text : strings_)
      out_.value(utf8(text));
  });
}

void compiler::writePageData(const PageContent &content,
                             llvm::raw_ostream &os) {
  json::OStream out(os);
  out.object([&] {
    out.attribute("version", 1);
    out.attributeArray("programs", [&] {
      for (const PageProgram &program : content.programs)
        out.object([&] { ProgramWriter(out).write(program); });
    });
    if (!content.runs.empty())
      out.attribute("runs", json::Array(content.runs));
    if (!content.reports.empty())
      out.attribute("reports", json::Array(content.reports));
    if (!content.plans.empty()) {
      out.attribute("title", content.title);
      out.attribute("plans", json::Array(content.plans));
    }
  });
}

// What CommandTimes::traceEvents writes about the program; nothing if it is
// absent or of another form.
static std::optional<InputSizes> inputSizes(const json::Object &events) {
  const json::Object *program = events.getObject("otherData");
  const json::Array *inputs = program ? program->getArray("inputs") : nullptr;
  if (!inputs)
    return std::nullopt;
  InputSizes all;
  for (const json::Value &each : *inputs) {
    const json::Object *input = each.getAsObject();
    const json::Array *shape = input ? input->getArray("shape") : nullptr;
    if (!shape)
      return std::nullopt;
    std::vector<int64_t> &sizes = all.emplace_back();
    for (const json::Value &value : *shape) {
      std::optional<int64_t> size = value.getAsInteger();
      if (!size)
        return std::nullopt;
      sizes.push_back(*size);
    }
  }
  return all;
}

std::string compiler::readProfile(StringRef text, Profile &profile) {
  auto value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return "is not JSON";
  }
  const json::Object *object = value->getAsObject();
  const json::Array *events =
      object ? object->getArray("traceEvents") : nullptr;
  if (!events)
    return "has no traceEvents; --trace-events=FILE of sinter-run or of a "
           "trainer writes them";
  profile.inputs = inputSizes(*object);
  if (const json::Object *program = object->getObject("otherData"))
    profile.entry = program->getString("entry").value_or("").str();
  std::vector<double> &micros = profile.micros;
  // More commands than any program has; a damaged file may name any number.
  constexpr int64_t kMostCommands = 1 << 22;
  std::vector<unsigned> counts;
  for (const json::Value &each : *events) {
    const json::Object *event = each.getAsObject();
    const json::Object *args = event ? event->getObject("args") : nullptr;
    std::optional<int64_t> command =
        args ? args->getInteger("command") : std::nullopt;
    std::optional<double> time = event ? event->getNumber("dur") : std::nullopt;
    // Events that name an entry are of another one than those that do not.
    if (!command || !time || args->get("entry") || *command < 0 ||
        *command >= kMostCommands)
      continue;
    if (!std::isfinite(*time) || *time < 0)
      return "has a time that is not a positive number";
    if (micros.size() <= static_cast<size_t>(*command)) {
      micros.resize(*command + 1);
      counts.resize(*command + 1);
    }
    micros[*command] += *time;
    // The commands of a scan in all trips are parts of one run. Outside of
    // scans events have neither number.
    const int64_t inBody = args->getInteger("in_body").value_or(0),
                  trip = args->getInteger("trip").value_or(0);
    counts[*command] += trip == 0 && inBody == 0;
    if (inBody < 0 || inBody >= kMostCommands)
      return "has a command in a scan whose number is out of range";
    if (args->get("in_body") || args->get("trip")) {
      std::vector<double> &body = profile.bodies[*command];
      body.resize(std::max<size_t>(body.size(), inBody + 1));
      body[inBody] += *time;
    }
  }
  if (micros.empty())
    return "has no event of a command";
  for (auto [time, count] : llvm::zip(micros, counts))
    time = count ? time / count : 0;
  for (auto &[command, body] : profile.bodies)
    for (double &time : body)
      time = counts[command] ? time / counts[command] : 0;
  return "";
}

std::string compiler::readOverlays(StringRef text, json::Object &overlays) {
  auto value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return "is not JSON";
  }
  const json::Object *object = value->getAsObject();
  bool isRight = object && !object->empty();
  for (const auto &[title, numbers] : object ? *object : json::Object()) {
    const json::Object *nodes = numbers.getAsObject();
    isRight &= nodes && llvm::all_of(*nodes, [](const auto &entry) {
                 std::optional<double> number = entry.second.getAsNumber();
                 return number && std::isfinite(*number);
               });
  }
  if (!isRight)
    return "expected {\"TITLE\": {\"NODE\": NUMBER, ...}, ...}";
  overlays = *object;
  return "";
}

// The name that follows `at`, up to a character that no symbol has.
static StringRef symbolAt(StringRef text) {
  return text.take_until(
      [](char c) { return c == '(' || c == ' ' || c == '"' || c == '\n'; });
}

std::map<std::string, std::string> compiler::splitLlvm(StringRef text) {
  std::map<std::string, std::string> kernels;
  while (true) {
    size_t begin = text.starts_with("define ") ? 0 : text.find("\ndefine ");
    if (begin == StringRef::npos)
      return kernels;
    text = text.substr(begin).ltrim('\n');
    size_t end = std::min(text.find("\n}\n"), text.size() - 1);
    StringRef body = text.take_front(end + 2);
    StringRef name = body.split('@').second;
    name.consume_front("\"");
    kernels[symbolAt(name).str()] = body.str();
    text = text.drop_front(body.size());
  }
}

std::map<std::string, std::string> compiler::splitPtx(StringRef text) {
  std::map<std::string, std::string> kernels;
  constexpr StringRef kEntry = ".entry ";
  while (true) {
    size_t begin = text.find(kEntry);
    if (begin == StringRef::npos)
      return kernels;
    size_t line = text.rfind('\n', begin);
    text = text.substr(line == StringRef::npos ? 0 : line + 1);
    size_t end = std::min(text.find("\n}"), text.size() - 1);
    StringRef body = text.take_front(end + 2);
    kernels[symbolAt(body.substr(body.find(kEntry) + kEntry.size())).str()] =
        body.str();
    text = text.drop_front(body.size());
  }
}
