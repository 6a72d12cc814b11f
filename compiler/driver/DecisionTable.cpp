//===- DecisionTable.cpp - the answers to the passes' questions -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/DecisionTable.h"

#include "compiler/base/Text.h"
#include "ir/Dialect.h"
#include "ir/Provenance.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

/// What the ops compute, as kernels name it: "grad(NODE)" for a gradient.
/// Sorted: precision and layout change the order in which ops are fused, not
/// what a question is about.
static std::vector<std::string> nodesOf(llvm::ArrayRef<mlir::Operation *> ops) {
  std::vector<std::string> nodes;
  for (mlir::Operation *op : ops)
    ir::collectProvenance(op->getLoc(), nodes);
  for (std::string &name : nodes)
    if (!json::isUTF8(name))
      name = json::fixUTF8(name);
  llvm::sort(nodes);
  return nodes;
}

/// "8x4xf32"; "" of what is not a tensor.
static std::string typeText(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : tensor.getShape())
    os << size << "x";
  os << tensor.getElementType();
  return text;
}

/// "reduce, mul": the ops, or those in a region.
static std::string opsText(llvm::ArrayRef<mlir::Operation *> ops) {
  constexpr unsigned kMost = 4;
  unsigned count = 0;
  std::string text;
  auto add = [&](mlir::Operation &op) {
    if (++count <= kMost)
      text += (count > 1 ? ", " : "") + op.getName().stripDialect().str();
  };
  for (mlir::Operation *op : ops)
    if (op->getNumRegions() && !op->getRegion(0).empty())
      for (mlir::Operation &inner :
           op->getRegion(0).front().without_terminator())
        add(inner);
    else
      add(*op);
  if (count > kMost)
    text += " and " + std::to_string(count - kMost) + " more";
  return text;
}

/// "reduce, mul: 8xf32": the ops and their last result. It tells two groups of
/// ops of one node apart.
static std::string groupText(llvm::ArrayRef<mlir::Operation *> ops) {
  std::string text = opsText(ops);
  if (mlir::ResultRange results = ops.back()->getResults(); !results.empty())
    if (std::string type = typeText(results.back().getType()); !type.empty())
      text += ": " + type;
  return text;
}

// The first types of a list: "8x4xf32, 4x2xf32 and 3 more".
static std::string typesText(mlir::TypeRange types) {
  constexpr size_t kMost = 4;
  std::vector<std::string> texts;
  for (mlir::Type type : types)
    if (std::string text = typeText(type); !text.empty())
      texts.push_back(std::move(text));
  std::string text = llvm::join(llvm::ArrayRef(texts).take_front(kMost), ", ");
  if (texts.size() > kMost)
    text += " and " + std::to_string(texts.size() - kMost) + " more";
  return text;
}

/// "dot_general of 8x4xf32, 4x2xf32: 8x2xf32": an op in a kernel, or the ops of
/// the kernel, with what is read and computed. It tells kernels of the same
/// nodes apart.
static std::string kernelText(mlir::Operation *op) {
  mlir::TypeRange reads = op->getOperandTypes(), results = op->getResultTypes();
  // The kernel itself has neither operands nor results.
  if (op->getNumRegions() && !op->getRegion(0).empty()) {
    mlir::Block &body = op->getRegion(0).front();
    reads = body.getArgumentTypes();
    results = body.getTerminator()->getOperandTypes();
  }
  std::string text = opsText(op), types = typesText(reads);
  if (!types.empty())
    text += " of " + types;
  return text + ": " + typesText(results);
}

/// The function or kernel that `op` is, or is in; null if there is none.
static mlir::SymbolOpInterface symbolOf(mlir::Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto symbol = mlir::dyn_cast<mlir::SymbolOpInterface>(op))
      return symbol;
  return nullptr;
}

static void addForm(llvm::ArrayRef<mlir::Operation *> ops,
                    llvm::raw_ostream &os) {
  for (mlir::Operation *op : ops) {
    os << op->getName();
    for (mlir::Type type : op->getOperandTypes())
      os << ' ' << type;
    os << " ->";
    for (mlir::Type type : op->getResultTypes())
      os << ' ' << type;
    os << '\n';
  }
}

static double bytesOf(llvm::ArrayRef<mlir::Operation *> ops) {
  double bytes = 0;
  for (mlir::Operation *op : ops)
    for (mlir::Type type : op->getResultTypes())
      if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
          tensor && tensor.hasStaticShape())
        bytes += double(tensor.getNumElements()) *
                 ir::elementSizeBytes(tensor.getElementType());
  return bytes;
}

static std::string listText(llvm::ArrayRef<std::string> names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (const std::string &name : names.take_front(kMost))
    text += (text.empty() ? "" : ", ") + quoted(name);
  if (names.size() > kMost)
    text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

std::string DecisionKey::text() const {
  std::string text = pass + ": " + what;
  if (!nodes.empty())
    text += " of " + listText(nodes);
  if (!others.empty())
    text += " with " + listText(others);
  return function.empty() ? text : text + " in @" + shown(function);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

void DecisionTable::begin(StringRef target) {
  target_ = target.str();
  auto isOfTarget = [&](const auto &entry) {
    return entry.first.target == target_;
  };
  std::erase_if(asked_, isOfTarget);
  std::erase_if(impossible_, isOfTarget);
}

void DecisionTable::attach(mlir::MLIRContext *context) {
  ir::DecisionSink::attach(
      context, [this](const ir::Question &asked) { return answer(asked); });
}

void DecisionTable::detach(mlir::MLIRContext *context) {
  ir::DecisionSink::attach(context, {});
}

size_t DecisionTable::answer(const ir::Question &question) {
  mlir::SymbolOpInterface symbol = symbolOf(question.ops.front());
  StringRef name =
      symbol && symbol.getNameAttr() ? symbol.getName() : StringRef();
  // The number of a kernel depends on all kernels before it.
  bool isInKernel = symbol && !mlir::isa<mlir::func::FuncOp>(*symbol);
  DecisionKey key{target_,
                  question.pass.str(),
                  question.what.str(),
                  isInKernel ? "" : name.str(),
                  nodesOf(question.ops),
                  nodesOf(question.others)};
  // A node with itself.
  if (isInKernel) {
    key.nodes.push_back("(" + kernelText(question.ops.front()) + ")");
  } else if (!question.others.empty() && key.nodes == key.others) {
    key.nodes.push_back("(" + groupText(question.ops) + ")");
    key.others.push_back("(" + groupText(question.others) + ")");
  }
  Asked &asked = asked_[key];
  if (asked.form.empty()) {
    asked.order = asked_.size();
    llvm::raw_string_ostream os(asked.form);
    addForm(question.ops, os);
    os << "with\n";
    addForm(question.others, os);
  }
  for (const std::string &possible : question.answers)
    if (!llvm::is_contained(asked.possible, possible))
      asked.possible.push_back(possible);
  asked.bytes += bytesOf(question.ops) + bytesOf(question.others);
  asked.keepsBits &= question.keepsBits;

  size_t chosen = 0, number = asked.times[name]++;
  if (auto wanted = wanted_.find(key); wanted != wanted_.end()) {
    const Answers &answers = wanted->second;
    if (answers.size() > 1 && number >= answers.size()) {
      impossible_[key] = "is asked more often than the " +
                         std::to_string(answers.size()) + " times kept";
    } else {
      const std::string &answer =
          answers.size() == 1 ? answers.front() : answers[number];
      auto found = llvm::find(question.answers, answer);
      if (found == question.answers.end())
        impossible_[key] = quoted(answer) + " is not possible, only " +
                           listText(question.answers);
      else if (!question.keepsBits && !mayChangeBits &&
               found != question.answers.begin())
        impossible_[key] =
            quoted(answer) + " may change bits, which --deterministic forbids";
      else
        chosen = found - question.answers.begin();
    }
  }
  const std::string &byRule = question.answers.front(),
                    &given = question.answers[chosen];
  if (number == asked.given.size()) {
    asked.byRule.push_back(byRule);
    asked.given.push_back(given);
  } else {
    // Another kernel has asked. What is kept does not depend on the order.
    asked.byRule[number] = std::min(asked.byRule[number], byRule);
    asked.given[number] = std::min(asked.given[number], given);
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

/// One answer instead of many equal ones.
static Answers shortened(const Answers &answers) {
  return llvm::all_equal(answers) ? Answers{answers.front()} : answers;
}

static json::Value toJson(const Answers &answers) {
  Answers list = shortened(answers);
  return list.size() == 1 ? json::Value(list.front())
                          : json::Value(json::Array(list));
}

json::Array DecisionTable::write() const {
  json::Array list;
  for (const auto &[key, asked] : asked_) {
    json::Object entry{{"target", key.target},
                       {"pass", key.pass},
                       {"what", key.what},
                       {"function", key.function},
                       {"nodes", json::Array(key.nodes)},
                       {"answer", toJson(asked.given)},
                       {"possible", json::Array(asked.possible)}};
    if (!key.others.empty())
      entry["with"] = json::Array(key.others);
    if (asked.given != asked.byRule)
      entry["rule"] = toJson(asked.byRule);
    list.push_back(std::move(entry));
  }
  return list;
}

static bool readStrings(const json::Value *value,
                        std::vector<std::string> &strings) {
  if (!value)
    return true;
  if (auto one = value->getAsString()) {
    strings.push_back(one->str());
    return true;
  }
  const json::Array *list = value->getAsArray();
  if (!list)
    return false;
  for (const json::Value &item : *list) {
    auto text = item.getAsString();
    if (!text)
      return false;
    strings.push_back(text->str());
  }
  return true;
}

std::string DecisionTable::read(const json::Array &decisions) {
  for (auto [i, value] : llvm::enumerate(decisions)) {
    const json::Object *entry = value.getAsObject();
    auto field = [&](StringRef name) {
      return entry ? entry->getString(name) : std::nullopt;
    };
    auto target = field("target"), pass = field("pass"), what = field("what"),
         function = field("function");
    if (!target || !pass || !what || !function)
      return "decision " + std::to_string(i) +
             " must have target, pass, what and function";
    DecisionKey key{target->str(),   pass->str(), what->str(),
                    function->str(), {},          {}};
    Answers answers;
    if (!readStrings(entry->get("nodes"), key.nodes) ||
        !readStrings(entry->get("with"), key.others) ||
        !readStrings(entry->get("answer"), answers) || answers.empty())
      return "decision " + std::to_string(i) +
             " must have nodes and an answer, each a string or a list";
    if (!wanted_.try_emplace(key, std::move(answers)).second)
      return "has two decisions about " + key.text();
  }
  return "";
}

std::string DecisionTable::summary() const {
  std::string others;
  size_t count = 0, all = 0;
  for (const auto &[key, asked] : asked_) {
    if (asked.keepsBits)
      continue;
    ++all;
    if (asked.given == asked.byRule)
      continue;
    ++count;
    others += key.target + '\n' + key.text() + '\n' +
              llvm::join(asked.given, ",") + '\n';
  }
  if (!count)
    return "";
  return llvm::formatv(
      "{0} of {1} ({2})", count, all,
      llvm::utohexstr(llvm::xxh3_64bits(others), true).substr(0, 8));
}

std::vector<std::string> DecisionTable::notKept() const {
  std::vector<std::string> lines;
  for (const auto &[key, answers] : wanted_) {
    auto asked = asked_.find(key);
    auto impossible = impossible_.find(key);
    if (impossible != impossible_.end())
      lines.push_back(key.text() + ": " + impossible->second);
    else if (asked == asked_.end())
      lines.push_back(key.text() + ": no pass asks this question now");
    else if (answers.size() > 1 && asked->second.given.size() < answers.size())
      lines.push_back(key.text() + ": is asked " +
                      std::to_string(asked->second.given.size()) +
                      " times, not " + std::to_string(answers.size()));
  }
  return lines;
}

size_t DecisionTable::numNew() const {
  return llvm::count_if(
      asked_, [&](const auto &entry) { return !wanted_.count(entry.first); });
}
