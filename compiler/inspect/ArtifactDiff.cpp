//===- ArtifactDiff.cpp - what differs between two programs ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ArtifactDiff.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/CommandDiff.h"
#include "ir/Provenance.h"
#include "runtime/base/ByteRanges.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

// Values by name, in the order in which A or B has them.
class Facts {
public:
  void set(const std::string &name, std::string value) {
    if (values_.emplace(name, value).second)
      order_.push_back(name);
  }
  void setNumber(const std::string &name, double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.10g", value);
    set(name, text);
  }

  static std::vector<FactChange> diff(const Facts &a, const Facts &b) {
    std::vector<FactChange> changes;
    for (const std::string &name : a.order_)
      if (a.value(name) != b.value(name))
        changes.push_back({name, a.value(name), b.value(name)});
    for (const std::string &name : b.order_)
      if (!a.values_.count(name))
        changes.push_back({name, "", b.value(name)});
    return changes;
  }

private:
  std::string value(const std::string &name) const {
    auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }

  std::map<std::string, std::string> values_;
  std::vector<std::string> order_;
};

// The library calls of CPUs, the executor, and in a trainer its harness.
constexpr llvm::StringLiteral kRuntime("runtime in the file");

// One of the two programs.
class Program {
public:
  Program(const sinter_artifact &artifact,
          const std::map<std::string, std::string> *newNames)
      : artifact_(artifact), newNames_(newNames) {
    manifest_ = manifestOf(artifact);
  }

  Facts options() const {
    Facts facts;
    facts.set("target", artifact_.target);
    facts.set("cpu features", artifact_.cpuFeatures);
    addOptions(facts, "", manifest_);
    if (const sinter_training *training = artifact_.training) {
      facts.set("training.loss", training->loss);
      facts.set("training.optimizer", training->optimizer);
      facts.setNumber("training.lr", training->lr);
      facts.setNumber("training.weight_decay", training->weightDecay);
      facts.setNumber("training.clip_norm", training->clipNorm);
    }
    return facts;
  }

  // A hash of the runtime in the file; "" if it has none.
  std::string runtime() const { return textOf(manifest_, "runtime"); }

  Facts numbers() const {
    Facts facts;
    for (const sinter_entry &entry : entries(artifact_)) {
      EntryTotals totals = total(artifact_, entry);
      std::string prefix = std::string(entry.name) + " ";
      facts.setNumber(prefix + "flops in contractions", totals.flops);
      facts.setNumber(prefix + "other flops", totals.otherFlops);
      for (auto &[dtype, flops] : totals.flopsByDtype)
        facts.setNumber(prefix + dtype + " flops", flops);
      facts.setNumber(prefix + "commands", totals.commands);
      facts.setNumber(prefix + "launches", totals.launches);
      facts.setNumber(prefix + "kernels", totals.kernels.size());
      facts.setNumber(prefix + "library calls", totals.calls);
      facts.setNumber(prefix + "arena bytes", arenaBytes(artifact_, entry));
      facts.setNumber(prefix + "max live bytes", entry.maxLiveBytes);
      facts.setNumber(prefix + "unshared bytes", entry.unsharedBytes);
    }
    facts.setNumber("constant bytes", artifact_.constantsBytes);
    facts.setNumber("state bytes", stateBytes(artifact_));
    for (const sinter_image &image : images(artifact_))
      facts.set(std::string(imageKind(image)) + " image for sm_" +
                    std::to_string(image.arch),
                "yes");
    return facts;
  }

  Facts tensors() const {
    Facts facts;
    for (const sinter_entry &entry : entries(artifact_)) {
      std::string prefix = std::string(entry.name) + " ";
      for (const sinter_tensor_desc &tensor :
           llvm::ArrayRef(entry.inputs, entry.numInputs))
        facts.set(prefix + "input " + tensor.name, typeText(tensor));
      for (const sinter_tensor_desc &tensor :
           llvm::ArrayRef(entry.outputs, entry.numOutputs))
        facts.set(prefix + "output " + tensor.name, typeText(tensor));
    }
    for (const sinter_state_desc &state :
         llvm::ArrayRef(artifact_.states, artifact_.numStates))
      facts.set("state " + newName(state.tensor.name),
                typeText(state.tensor) + " " + roleName(state.role) +
                    (state.trainable ? ", trained" : "") +
                    (state.partBytes ? ", divided over replicas" : "") +
                    initialText(state));
    return facts;
  }

  // The precisions of the ops of each node: "bf16, fp32". Without a plan all
  // have that of the policy.
  Facts precision() const {
    std::map<std::string, std::set<std::string>> words;
    const json::Object *plan = manifest_.getObject("precision_plan");
    const json::Array *ops = plan ? plan->getArray("ops") : nullptr;
    for (const json::Value &value : ops ? *ops : json::Array())
      if (const json::Object *op = value.getAsObject())
        words[textOf(*op, "function") + " " + newName(textOf(*op, "node"))]
            .insert(textOf(*op, "precision"));
    Facts facts;
    for (auto &[node, precisions] : words)
      facts.set(node, llvm::join(precisions, ", "));
    return facts;
  }
  // The precision of all nodes of a program without a plan; else "".
  std::string onlyPrecision() const {
    return manifest_.getObject("precision_plan")
               ? ""
               : textOf(manifest_, "precision");
  }
  // The device of all nodes of a program that does not span several; else "".
  std::string onlyDevice() const {
    return artifact_.numPlaces ? "" : firstDevice();
  }

  Facts placement() const {
    Facts facts;
    const json::Object *placement = manifest_.getObject("placement");
    if (!placement)
      return facts;
    facts.set("all devices", textOf(*placement, "devices"));
    const json::Array *regions = placement->getArray("regions");
    for (const json::Value &value : regions ? *regions : json::Array())
      if (const json::Object *region = value.getAsObject())
        if (const json::Array *nodes = region->getArray("nodes"))
          for (const json::Value &node : *nodes)
            facts.set(newName(textOf(node)), textOf(*region, "device"));
    return facts;
  }

  std::vector<CommandFacts> commandFacts() const {
    std::vector<CommandFacts> list =
        compiler::commandFacts(artifact_, manifest_);
    for (CommandFacts &command : list) {
      if (command.device.empty())
        command.device = firstDevice();
      for (std::string &node : command.nodes)
        node = ir::isGradientName(node)
                   ? ir::gradientName(newName(ir::nodeOfName(node).str()))
                   : newName(node);
      for (Wire &wire : command.wires)
        if (StringRef name = wire.text; name.consume_front(kStatePlace))
          wire.text = kStatePlace.str() + newName(name.str());
    }
    return list;
  }

private:
  std::string firstDevice() const {
    const json::Object *placement = manifest_.getObject("placement");
    const json::Array *devices =
        placement ? placement->getArray("devices") : nullptr;
    return devices && !devices->empty() ? textOf(devices->front()) : "";
  }

  std::string newName(const std::string &name) const {
    if (newNames_)
      if (auto found = newNames_->find(name); found != newNames_->end())
        return found->second;
    return name;
  }

  static std::string textOf(const json::Value &value) {
    if (auto text = value.getAsString())
      return text->str();
    std::string result;
    if (const json::Array *array = value.getAsArray()) {
      for (const json::Value &entry : *array)
        result += (result.empty() ? "" : ",") + textOf(entry);
      return result;
    }
    llvm::raw_string_ostream(result) << value;
    return result;
  }
  static std::string textOf(const json::Object &object, StringRef key) {
    const json::Value *value = object.get(key);
    return value ? textOf(*value) : "";
  }

  // The scalars of the manifest by path: "training.lr". What is compared
  // otherwise is left out.
  static void addOptions(Facts &facts, const std::string &prefix,
                         const json::Object &object) {
    std::vector<StringRef> keys;
    for (auto &[key, value] : object)
      if (!llvm::is_contained({"runtime", "precision_plan", "kernels",
                               "kernel_hashes", "kernel_flops",
                               rt::kKernelAccesses, "placement", "contracts",
                               "name", "target"},
                              StringRef(key)))
        keys.push_back(key);
    llvm::sort(keys);
    for (StringRef key : keys) {
      const json::Value &value = *object.get(key);
      if (const json::Object *inner = value.getAsObject())
        addOptions(facts, prefix + key.str() + ".", *inner);
      else
        facts.set(prefix + key.str(), textOf(value));
    }
  }

  // ", initially 3f2a..": a hash of the initial bytes.
  std::string initialText(const sinter_state_desc &state) const {
    uint64_t offset = state.initOffsetBytes, size = state.tensor.sizeBytes;
    if (offset > artifact_.constantsBytes ||
        size > artifact_.constantsBytes - offset)
      return "";
    StringRef bytes(
        reinterpret_cast<const char *>(artifact_.constants) + offset, size);
    return ", values " +
           llvm::utohexstr(llvm::xxh3_64bits(bytes), true).substr(0, 8);
  }

  const sinter_artifact &artifact_;
  const std::map<std::string, std::string> *newNames_;
  json::Object manifest_;
};

} // namespace

// A side that does not say which value each node has gives all of them one.
static std::vector<FactChange> diffWithDefaults(const Facts &a, const Facts &b,
                                                const std::string &ofA,
                                                const std::string &ofB) {
  std::vector<FactChange> changes = Facts::diff(a, b);
  for (FactChange &change : changes) {
    if (change.a.empty())
      change.a = ofA;
    if (change.b.empty())
      change.b = ofB;
  }
  llvm::erase_if(changes,
                 [](const FactChange &change) { return change.a == change.b; });
  return changes;
}

bool ArtifactDifference::hasOtherRuntimeOnly() const {
  ArtifactDifference others = *this;
  llvm::erase_if(others.options, [](const FactChange &change) {
    return change.name == kRuntime;
  });
  return !empty() && others.empty();
}

ArtifactDifference
compiler::diffArtifacts(const ProgramToDiff &a, const ProgramToDiff &b,
                        const std::map<std::string, std::string> &newNames) {
  Program x(a.artifact, &newNames), y(b.artifact, nullptr);
  ArtifactDifference result;
  result.options = Facts::diff(x.options(), y.options());
  // Objects have none.
  if (!x.runtime().empty() && !y.runtime().empty() &&
      x.runtime() != y.runtime())
    result.options.push_back({kRuntime.str(), x.runtime(), y.runtime()});
  result.numbers = Facts::diff(x.numbers(), y.numbers());
  result.tensors = Facts::diff(x.tensors(), y.tensors());
  result.precision = diffWithDefaults(x.precision(), y.precision(),
                                      x.onlyPrecision(), y.onlyPrecision());
  result.placement = diffWithDefaults(x.placement(), y.placement(),
                                      x.onlyDevice(), y.onlyDevice());
  std::vector<CommandFacts> ofA = x.commandFacts(), ofB = y.commandFacts();
  if (!a.codeHashes.empty() && !b.codeHashes.empty()) {
    addCodeHashes(a.codeHashes, ofA);
    addCodeHashes(b.codeHashes, ofB);
  }
  diffCommands(std::move(ofA), std::move(ofB), result);
  return result;
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

static constexpr size_t kMostShown = 20;

// "main /norm/Div and 8 more", of names joined by commas.
static std::string firstOf(StringRef names) {
  auto [first, rest] = names.split(',');
  if (rest.empty())
    return shown(first);
  return shown(first) + " and " + std::to_string(rest.count(',') + 1) + " more";
}

static void printFacts(StringRef word, llvm::ArrayRef<FactChange> changes,
                       size_t most, llvm::raw_ostream &os) {
  for (const FactChange &change : changes.take_front(most))
    os << llvm::left_justify(word, 10) << firstOf(change.name) << ": "
       << (change.a.empty() ? "none" : shown(change.a)) << " -> "
       << (change.b.empty() ? "none" : shown(change.b)) << "\n";
  if (changes.size() > most)
    os << llvm::left_justify(word, 10) << "and " << changes.size() - most
       << " more\n";
}

// "changed   step k3_relu (12 times): /fc1/Relu; reads 64 B -> 128 B", of a
// command in the body of a scan "changed   step x20 k3_relu: ..."
static void printCommands(StringRef word, llvm::ArrayRef<CommandChange> changes,
                          size_t most, llvm::raw_ostream &os) {
  constexpr size_t kMostNodes = 4;
  for (const CommandChange &change : changes.take_front(most)) {
    os << llvm::left_justify(word, 10) << shown(change.entry) << " ";
    if (change.trips > 1)
      os << "x" << change.trips << " ";
    os << shown(change.target);
    if (change.count > 1)
      os << " (" << change.count << " times)";
    llvm::ArrayRef<std::string> nodes(change.nodes);
    for (auto [i, node] : llvm::enumerate(nodes.take_front(kMostNodes)))
      os << (i ? ", " : ": ") << shown(node);
    if (nodes.size() > kMostNodes)
      os << " and " << nodes.size() - kMostNodes << " more";
    for (const std::string &detail : change.details)
      os << "; " << shown(detail, 200);
    os << "\n";
  }
  if (changes.size() > most)
    os << llvm::left_justify(word, 10) << "and " << changes.size() - most
       << " more\n";
}

void compiler::printDifference(const ArtifactDifference &difference, bool all,
                               llvm::raw_ostream &os) {
  size_t most = all ? SIZE_MAX : kMostShown;
  printFacts("option", difference.options, most, os);
  printFacts("number", difference.numbers, most, os);
  printFacts("tensor", difference.tensors, most, os);
  printFacts("precision", difference.precision, most, os);
  printFacts("placement", difference.placement, most, os);
  printCommands("changed", difference.changed, most, os);
  printCommands("gone", difference.gone, most, os);
  printCommands("added", difference.added, most, os);
  auto sum = [](llvm::ArrayRef<CommandChange> changes) {
    unsigned count = 0;
    for (const CommandChange &change : changes)
      count += change.isScan ? 0 : change.count;
    return count;
  };
  if (difference.empty())
    os << "the same program; " << difference.commands << " commands";
  else if (difference.hasOtherRuntimeOnly())
    os << "the same program with another runtime; " << difference.commands
       << " commands";
  else
    os << difference.same << " of " << difference.commands
       << " commands the same, " << sum(difference.changed) << " changed, "
       << sum(difference.gone) << " gone, " << sum(difference.added)
       << " added";
  if (difference.renamed)
    os << "; nodes of " << difference.renamed << " renamed";
  os << "\n";
}

static json::Array factsJson(llvm::ArrayRef<FactChange> changes) {
  auto value = [](StringRef text) {
    return text.empty() ? json::Value(nullptr) : jsonText(text);
  };
  json::Array list;
  for (const FactChange &change : changes)
    list.push_back(json::Object{{"name", jsonText(change.name)},
                                {"a", value(change.a)},
                                {"b", value(change.b)}});
  return list;
}

static json::Array textsJson(llvm::ArrayRef<std::string> texts) {
  json::Array list;
  for (const std::string &text : texts)
    list.push_back(jsonText(text));
  return list;
}

static json::Array commandsJson(llvm::ArrayRef<CommandChange> changes) {
  json::Array list;
  for (const CommandChange &change : changes)
    list.push_back(json::Object{{"entry", jsonText(change.entry)},
                                {"target", jsonText(change.target)},
                                {"nodes", textsJson(change.nodes)},
                                {"details", textsJson(change.details)},
                                {"count", change.count},
                                {"trips", change.trips}});
  return list;
}

json::Object compiler::differenceJson(const ArtifactDifference &difference) {
  return json::Object{{"same", difference.empty()},
                      {"commands", difference.commands},
                      {"same_commands", difference.same},
                      {"renamed_commands", difference.renamed},
                      {"options", factsJson(difference.options)},
                      {"numbers", factsJson(difference.numbers)},
                      {"tensors", factsJson(difference.tensors)},
                      {"precision", factsJson(difference.precision)},
                      {"placement", factsJson(difference.placement)},
                      {"changed", commandsJson(difference.changed)},
                      {"gone", commandsJson(difference.gone)},
                      {"added", commandsJson(difference.added)}};
}
