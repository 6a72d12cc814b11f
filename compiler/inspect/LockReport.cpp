//===- LockReport.cpp - what a lock file says -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/LockReport.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <functional>
#include <map>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringLiteral;
using llvm::StringRef;
namespace json = llvm::json;

using Facts = std::vector<LockDifference::Fact>;

// A text, or a list of texts separated by commas.
static std::string textOf(const json::Value *value) {
  if (!value)
    return "";
  if (auto text = value->getAsString())
    return text->str();
  const json::Array *list = value->getAsArray();
  if (!list)
    return llvm::formatv("{0}", *value);
  std::string text;
  for (const json::Value &each : *list)
    text += (text.empty() ? "" : ", ") + textOf(&each);
  return text;
}

static std::string textOf(const json::Object &object, StringRef key) {
  return textOf(object.get(key));
}

// "cpu fuse-loops: merge"
static std::string kindOf(const json::Object &decision) {
  std::string target = textOf(decision, "target");
  return (target.empty() ? "" : target + " ") + textOf(decision, "pass") +
         ": " + textOf(decision, "what");
}

// "@main: /a, /b with /c"; without "@main: " in a kernel
static std::string placeOf(const json::Object &decision) {
  std::string function = textOf(decision, "function");
  std::string text = (function.empty() ? "" : "@" + function + ": ") +
                     textOf(decision, "nodes");
  std::string with = textOf(decision, "with");
  return with.empty() ? text : text + " with " + with;
}

static std::vector<const json::Object *> decisionsOf(const LockFile &lock) {
  std::vector<const json::Object *> list;
  for (const json::Value &value : lock.decisions())
    if (const json::Object *decision = value.getAsObject())
      list.push_back(decision);
  return list;
}

// "/a, /b, /c and 5 more". Ops that tell equal nodes apart come last and stay.
static std::string shortList(const json::Object &decision, StringRef key) {
  constexpr size_t kMost = 5;
  const json::Value *value = decision.get(key);
  const json::Array *list = value ? value->getAsArray() : nullptr;
  if (!list || list->size() <= kMost + 1)
    return shown(textOf(value), 600);
  std::string text, last = textOf(&list->back());
  for (size_t i = 0; i < kMost; ++i)
    text += (i ? ", " : "") + shown(textOf(&(*list)[i]));
  const bool isOps = StringRef(last).starts_with("(");
  text += " and " + std::to_string(list->size() - kMost - isOps) + " more";
  return isOps ? text + ", " + shown(last, 200) : text;
}

static void printDecision(const json::Object &decision, bool all,
                          llvm::raw_ostream &os) {
  std::string place, function = textOf(decision, "function");
  if (all) {
    place = shown(placeOf(decision), 600);
  } else {
    std::string with = shortList(decision, "with");
    place = (function.empty() ? "" : "@" + shown(function) + ": ") +
            shortList(decision, "nodes") +
            (with.empty() ? "" : " with " + with);
  }
  os << "  " << llvm::left_justify(shown(textOf(decision, "answer")), 14) << " "
     << place;
  if (decision.get("rule"))
    os << "; by rule " << shown(textOf(decision, "rule"));
  os << "\n";
}

// Prints the settings. A trainer records what shapes a run a second time, as
// "training.NAME": only what differs is printed again.
static void printSettings(const LockFile &lock, llvm::raw_ostream &os) {
  std::map<std::string, std::string> settings;
  for (const auto &[name, value] : lock.section("settings")) {
    std::string text = textOf(&value);
    // A list is recorded as JSON.
    if (StringRef(text).starts_with("["))
      if (auto list = json::parse(text))
        text = textOf(&*list);
      else
        llvm::consumeError(list.takeError());
    settings[StringRef(name).str()] = text;
  }
  settings.erase("machine");
  for (auto &[name, value] : settings) {
    constexpr StringLiteral kTraining = "training.";
    std::string plain = name;
    if (size_t at = plain.find(kTraining); at != std::string::npos)
      plain.erase(at, kTraining.size());
    auto same = settings.find(plain);
    if (plain == name || same == settings.end() || same->second != value)
      os << "setting    " << shown(name) << " = " << shown(value) << "\n";
  }
}

void compiler::reportLock(const LockFile &lock, bool json, bool all,
                          llvm::raw_ostream &os) {
  if (json) {
    os << json::Value(json::Object(lock.contents)) << "\n";
    return;
  }
  std::map<std::string, std::vector<const json::Object *>> kinds;
  std::vector<const json::Object *> decisions = decisionsOf(lock);
  auto isByRule = [](const json::Object *decision) {
    return !decision->get("rule");
  };
  for (const json::Object *decision : decisions)
    kinds[kindOf(*decision)].push_back(decision);
  std::string cpu = lock.machine();
  os << "compiler   " << shown(textOf(lock.contents, "sinter"))
     << "\nCPU        " << (cpu.empty() ? "not recorded" : shown(cpu)) << "\n";
  printSettings(lock, os);
  os << "decisions  " << decisions.size() << ", "
     << decisions.size() - llvm::count_if(decisions, isByRule)
     << " of them not by rule\n";
  for (auto &[kind, list] : kinds) {
    constexpr size_t kMost = 10;
    std::stable_partition(list.begin(), list.end(), std::not_fn(isByRule));
    size_t count = all ? list.size() : std::min(list.size(), kMost);
    os << shown(kind) << " (" << list.size() << ")\n";
    for (const json::Object *decision : llvm::ArrayRef(list).take_front(count))
      printDecision(*decision, all, os);
    if (count < list.size())
      os << "  ... and " << list.size() - count
         << " more; --all shows all of them\n";
  }
}

//===----------------------------------------------------------------------===//
// What differs
//===----------------------------------------------------------------------===//

bool LockDifference::empty() const {
  return settings.empty() && decisions.empty() && onlyInA.empty() &&
         onlyInB.empty() && program.empty();
}

using Texts = std::map<std::string, std::string>;

// The members of `object` as text, those of objects in it as "a.b".
static void addTexts(const json::Object &object, const std::string &prefix,
                     Texts &texts) {
  for (const auto &[key, value] : object) {
    std::string name = prefix + StringRef(key).str();
    if (const json::Object *inner = value.getAsObject())
      addTexts(*inner, name + ".", texts);
    else
      texts[name] = textOf(&value);
  }
}

static Texts answersOf(const LockFile &lock) {
  Texts answers;
  for (const json::Object *decision : decisionsOf(lock))
    answers[kindOf(*decision) + " of " + placeOf(*decision)] =
        textOf(*decision, "answer");
  return answers;
}

// Those in `a` that `b` does not have.
static Facts missing(const Texts &a, const Texts &b, bool isA) {
  Facts facts;
  for (auto &[name, value] : a)
    if (!b.count(name))
      facts.push_back({name, isA ? value : "", isA ? "" : value});
  return facts;
}

static Facts changed(const Texts &a, const Texts &b) {
  Facts facts;
  for (auto &[name, value] : a)
    if (auto found = b.find(name); found != b.end() && found->second != value)
      facts.push_back({name, value, found->second});
  return facts;
}

static Facts allDifferences(const LockFile &a, const LockFile &b,
                            StringRef section) {
  Texts ofA, ofB;
  addTexts(a.section(section), "", ofA);
  addTexts(b.section(section), "", ofB);
  Facts facts = changed(ofA, ofB);
  for (Facts &more :
       std::vector{missing(ofA, ofB, true), missing(ofB, ofA, false)})
    facts.insert(facts.end(), more.begin(), more.end());
  return facts;
}

LockDifference compiler::diffLocks(const LockFile &a, const LockFile &b) {
  LockDifference difference;
  Texts ofA = answersOf(a), ofB = answersOf(b);
  difference.decisions = changed(ofA, ofB);
  difference.onlyInA = missing(ofA, ofB, true);
  difference.onlyInB = missing(ofB, ofA, false);
  difference.settings = allDifferences(a, b, "settings");
  difference.program = allDifferences(a, b, "program");
  std::string versions[] = {textOf(a.contents, "sinter"),
                            textOf(b.contents, "sinter")};
  if (versions[0] != versions[1])
    difference.settings.insert(difference.settings.begin(),
                               {"sinter", versions[0], versions[1]});
  return difference;
}

static std::string orNone(const std::string &text) {
  return text.empty() ? "none" : shown(text);
}

void compiler::printDifference(const LockDifference &difference,
                               llvm::raw_ostream &os) {
  if (difference.empty())
    os << "the same decisions, settings and program\n";
  for (const auto &fact : difference.settings)
    os << "setting " << shown(fact.name) << ": " << orNone(fact.a) << " -> "
       << orNone(fact.b) << "\n";
  for (const auto &fact : difference.decisions)
    os << "decision " << shown(fact.name, 600) << ": " << shown(fact.a)
       << " -> " << shown(fact.b) << "\n";
  for (const auto &fact : difference.onlyInA)
    os << "only in A: " << shown(fact.name, 600) << ": " << shown(fact.a)
       << "\n";
  for (const auto &fact : difference.onlyInB)
    os << "only in B: " << shown(fact.name, 600) << ": " << shown(fact.b)
       << "\n";
  for (const auto &fact : difference.program)
    os << "program " << shown(fact.name) << ": "
       << (fact.a.empty()   ? "only in B"
           : fact.b.empty() ? "only in A"
                            : "differs")
       << "\n";
}

static json::Array factsJson(const Facts &facts) {
  json::Array list;
  auto value = [](const std::string &text) {
    return text.empty() ? json::Value(nullptr) : json::Value(utf8(text));
  };
  for (const auto &fact : facts)
    list.push_back(json::Object{
        {"name", utf8(fact.name)}, {"a", value(fact.a)}, {"b", value(fact.b)}});
  return list;
}

json::Object compiler::differenceJson(const LockDifference &difference) {
  return json::Object{{"settings", factsJson(difference.settings)},
                      {"decisions", factsJson(difference.decisions)},
                      {"only_in_a", factsJson(difference.onlyInA)},
                      {"only_in_b", factsJson(difference.onlyInB)},
                      {"program", factsJson(difference.program)}};
}
