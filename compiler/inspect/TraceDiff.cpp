//===- TraceDiff.cpp - what differs between two traces --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/TraceDiff.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/LineDiff.h"
#include "compiler/inspect/LocationText.h"
#include "ir/Provenance.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/xxhash.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

// Values have other numbers after each change: "%12 = f %3" -> "% = f %".
static std::string withoutNumbers(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '%')
      while (i + 1 < text.size() &&
             (llvm::isAlnum(text[i + 1]) || text[i + 1] == '_'))
        ++i;
  }
  return result;
}

namespace {
// What a step did: "-12 +14", and a hash of these lines without locations.
struct Effect {
  std::string counts;
  uint64_t hash = 0;
};
} // namespace

static StringRef withoutLocation(StringRef line) {
  return line.take_front(line.rfind(" loc("));
}

static std::vector<Effect> effects(const Trace &trace) {
  std::vector<Effect> result;
  std::map<std::string, std::string> texts; // without numbers
  for (const TraceStep &step : trace.steps) {
    size_t removed = 0, added = 0;
    uint64_t hash = 0;
    for (const TraceChange &change : step.changes) {
      std::string now = withoutNumbers(change.text);
      std::string &before = texts[change.symbol];
      for (const DiffLine &line : diffLines(before, now)) {
        removed += line.mark == '-';
        added += line.mark == '+';
        if (line.mark == '-' || line.mark == '+')
          hash = hash * 31 + llvm::xxh3_64bits(withoutLocation(line.text)) +
                 (line.mark == '+');
      }
      before = std::move(now);
    }
    result.push_back(
        {"-" + std::to_string(removed) + " +" + std::to_string(added), hash});
  }
  return result;
}

static std::string passLines(const Trace &trace) {
  std::string text;
  for (const TraceStep &step : trace.steps)
    text += step.phase + " " + step.pass + "\n";
  return text;
}

TraceDifference compiler::diffTraces(const Trace &a, const Trace &b) {
  TraceDifference result;
  result.count = b.steps.size();
  std::vector<Effect> ofA = effects(a), ofB = effects(b);
  std::string linesA = passLines(a), linesB = passLines(b);
  size_t i = 0, j = 0;
  for (const DiffLine &line : diffLines(linesA, linesB)) {
    bool inA = line.mark != '+', inB = line.mark != '-';
    if (i + inA > ofA.size() || j + inB > ofB.size())
      break; // a pass with a line break in its name
    PassChange change{line.text.str(), inA ? ofA[i].counts : "",
                      inB ? ofB[j].counts : ""};
    // The first pass that differs may remove and add as many lines, but others.
    // Later ones then differ as well: only their counts say something.
    if (result.passes.empty() && inA && inB && ofA[i].hash != ofB[j].hash &&
        change.a == change.b)
      change.b += ", other ops";
    if (change.a != change.b)
      result.passes.push_back(std::move(change));
    i += inA;
    j += inB;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The graph in the text of a trace
//===----------------------------------------------------------------------===//

// The names in a location, joined by commas.
static std::string namesIn(StringRef location) {
  std::string names;
  for (const LocationName &name : namesInLocation(location))
    names += (names.empty() ? "" : ",") +
             (name.isPart ? ir::partName(name.name) : name.name);
  return names;
}

// "%arg0", "%12": the value that `text` begins with, without "#1".
static StringRef valueAt(StringRef text) {
  size_t end = 1;
  while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_'))
    ++end;
  return text.take_front(end);
}

namespace {

// Reads one printed function, line by line.
class TextReader {
public:
  explicit TextReader(ModelGraph &result) : result_(result) {}

  void read(StringRef text) {
    values_.clear();
    llvm::SmallVector<StringRef> lines;
    text.split(lines, '\n');
    unsigned depth = 0; // regions around a line, beside the function's
    for (StringRef line : lines) {
      StringRef own = line.trim();
      if (own.starts_with("func.func"))
        readHead(own);
      else if (depth == 0 && own.starts_with("%"))
        readOp(own);
      else if (depth == 0 && own.starts_with("return"))
        readReturn(own);
      else if (depth > 0 && !own.starts_with("}"))
        addToBody(own);
      if (own.starts_with("}") && depth > 0 && --depth == 0)
        endRegion(own);
      if (own.ends_with("{") && !own.starts_with("func.func") && depth++ == 0) {
        body_.clear();
        namesInBody_.clear();
      }
    }
  }

private:
  // "sinter.add" -> "add".
  static StringRef opOf(StringRef text) {
    StringRef op = firstWord(text);
    op.consume_front("sinter.");
    return op;
  }
  static StringRef firstWord(StringRef text) {
    return text.take_until([](char c) { return c == ' '; });
  }

  unsigned add(MatchNode node) {
    ModelNode details;
    details.attributes = {{"form", node.attributes}};
    details.isWeight = node.op == "constant" || node.op == "state";
    result_.graph.nodes.push_back(std::move(node));
    result_.details.push_back(std::move(details));
    return result_.graph.nodes.size() - 1;
  }

  // Arguments: "%arg0: tensor<8xf32> {sinter.input = "x"} loc("x")".
  void readHead(StringRef head) {
    auto [arguments, results] = head.split(") -> (");
    for (size_t at = arguments.find('%'); at != StringRef::npos;) {
      size_t next = arguments.find('%', at + 1);
      StringRef text = arguments.slice(at, next);
      StringRef value = valueAt(text);
      MatchNode node;
      node.op = text.contains("sinter.state =")     ? "state"
                : text.contains("sinter.control =") ? "control"
                                                    : "input";
      node.isBoundary = node.op != "state";
      node.type = text.drop_front(value.size() + 1).split('{').first.trim();
      node.name = namesIn(text.rsplit("loc(").second);
      values_[value] = {add(std::move(node)), 0};
      at = next;
    }
    outputs_.clear();
    llvm::SmallVector<StringRef> parts;
    results.split(parts, "{sinter.output = ");
    for (StringRef part : llvm::drop_begin(parts))
      outputs_.push_back(namesIn(part.split('}').first));
  }

  void readOperands(StringRef text, MatchNode &node) const {
    for (size_t at = text.find('%'); at != StringRef::npos;
         at = text.find('%', at + 1)) {
      StringRef value = valueAt(text.substr(at));
      StringRef rest = text.substr(at + value.size());
      unsigned result = 0;
      if (rest.consume_front("#"))
        rest.consumeInteger(10, result);
      if (auto found = values_.find(value); found != values_.end())
        node.operands.push_back({found->second.node, result});
    }
  }

  // "%2 = sinter.add %0, %1 {..} : tensor<8xf32> loc("n")"
  void readOp(StringRef line) {
    auto [value, text] = line.split(" = ");
    auto [body, location] = text.rsplit(" loc(");
    MatchNode node;
    node.op = opOf(text).str();
    node.name = namesIn(location);
    auto [head, type] = body.rsplit(" : ");
    type.consume_back(" {");
    node.type = type.str();
    node.attributes =
        withoutNumbers(head.drop_front(firstWord(text).size()).trim());
    readOperands(head, node);
    values_[valueAt(value)] = {add(std::move(node)), 0};
  }

  // An op of a region without its types. Values are numbered in the order in
  // which the region names them: which value is which tells two bodies apart.
  void addToBody(StringRef line) {
    line = withoutLocation(line);
    const bool isHead = line.starts_with("^");
    StringRef text = isHead ? line : line.rsplit(" : ").first;
    std::string own;
    while (!text.empty()) {
      if (!text.starts_with("%")) {
        own += text.front();
        text = text.drop_front();
        continue;
      }
      StringRef value = valueAt(text);
      unsigned number =
          namesInBody_.try_emplace(value, namesInBody_.size()).first->second;
      own += "%" + std::to_string(number);
      text = text.drop_front(value.size());
    }
    if (!isHead) // it names the arguments
      body_ += "; " + own;
  }

  // The end of a region has the location of its op.
  void endRegion(StringRef line) {
    if (result_.graph.nodes.empty())
      return;
    MatchNode &node = result_.graph.nodes.back();
    node.name = namesIn(line.rsplit("loc(").second);
    node.attributes += body_;
    result_.details.back().attributes.push_back({"body", body_});
  }

  void readReturn(StringRef line) {
    MatchNode all;
    readOperands(line.rsplit(" : ").first, all);
    for (auto [i, use] : llvm::enumerate(all.operands)) {
      MatchNode node;
      node.op = "output";
      node.isBoundary = true;
      node.operands.push_back(use);
      if (i < outputs_.size())
        node.name = outputs_[i];
      add(std::move(node));
    }
  }

  ModelGraph &result_;
  llvm::StringMap<MatchNode::Use> values_;
  std::vector<std::string> outputs_;
  std::string body_; // ops of the region that is being read
  llvm::StringMap<unsigned> namesInBody_;
};

} // namespace

ModelGraph compiler::lastGraph(const Trace &trace) {
  auto isFunction = [](const std::string &text) {
    return StringRef(text).starts_with("func.func");
  };
  size_t last = 0;
  for (auto [i, step] : llvm::enumerate(trace.steps))
    if (llvm::any_of(step.changes, [&](const TraceChange &change) {
          return isFunction(change.text);
        }))
      last = i + 1;
  ModelGraph graph;
  for (auto &[symbol, text] : trace.before(last))
    if (isFunction(text))
      TextReader(graph).read(text);
  return graph;
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

void compiler::printDifference(const TraceDifference &difference, bool all,
                               llvm::raw_ostream &os) {
  constexpr size_t kMostShown = 20;
  llvm::ArrayRef<PassChange> passes(difference.passes);
  size_t most = all ? SIZE_MAX : kMostShown;
  for (const PassChange &change : passes.take_front(most))
    os << "pass     " << shown(change.pass) << ": "
       << (change.a.empty() ? "did not run" : change.a) << " -> "
       << (change.b.empty() ? "did not run" : change.b) << "\n";
  if (passes.size() > most)
    os << "pass     and " << passes.size() - most << " more\n";
  if (difference.empty())
    os << "the same " << difference.count << " passes\n";
}

json::Object compiler::differenceJson(const TraceDifference &difference) {
  json::Array list;
  auto value = [](const std::string &text) {
    return text.empty() ? json::Value(nullptr) : json::Value(text);
  };
  for (const PassChange &change : difference.passes)
    list.push_back(json::Object{{"pass", json::fixUTF8(change.pass)},
                                {"a", value(change.a)},
                                {"b", value(change.b)}});
  return json::Object{{"same", difference.empty()},
                      {"count", difference.count},
                      {"changed", std::move(list)}};
}
