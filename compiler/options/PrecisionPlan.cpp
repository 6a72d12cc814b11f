//===- PrecisionPlan.cpp - the precision of each op as a file -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/options/PrecisionPlan.h"

#include "compiler/base/Text.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/options/OptionValues.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int64_t kVersion = 1;

// Copies the text: a json::Value of a StringRef would only refer to it.
static json::Value text(StringRef name) {
  return json::isUTF8(name) ? json::Value(name.str())
                            : json::Value(json::fixUTF8(name));
}

std::string compiler::readPrecisionPlan(StringRef path, Options &options) {
  if (std::string wrong = readPath(path, options.precisionPlan); !wrong.empty())
    return wrong;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return shown(path) + ": " + file.getError().message();
  auto parsed = json::parse((*file)->getBuffer());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return shown(path) + ": is not JSON";
  }
  const json::Object *plan = parsed->getAsObject();
  auto version = plan ? plan->getInteger("version") : std::nullopt;
  if (!version || *version != kVersion)
    return shown(path) + ": is not a precision plan of version 1";
  std::string policy;
  auto named = plan->getString("policy");
  if (!named || !readWord(*named, policy, "fp32|tf32|bf16|fp16|int8").empty())
    return shown(path) +
           ": its policy is not one of fp32, tf32, bf16, fp16, int8";
  const json::Array *ops = plan->getArray("ops");
  if (!ops)
    return shown(path) + ": has no list 'ops'";
  std::vector<std::string> items;
  passes::QuantizeSettings quantized;
  llvm::StringSet<> keys;
  for (const json::Value &value : *ops) {
    const json::Object *op = value.getAsObject();
    auto field = [&](StringRef name) {
      return op ? op->getString(name) : std::nullopt;
    };
    auto function = field("function"), node = field("node"), kind = field("op"),
         precision = field("precision");
    auto number = op ? op->getInteger("number") : std::nullopt;
    std::string word;
    if (!function || !node || !kind || !precision || !number)
      return shown(path) + ": op " + std::to_string(items.size()) +
             " must have function, node, op, number and precision";
    if (!readWord(*precision, word, "fp32|" + policy).empty())
      return shown(path) + ": op " + std::to_string(items.size()) +
             " has the precision '" + shown(*precision) +
             "', expected fp32 or the policy " + policy;
    passes::PrecisionEntry entry{
        function->str(), node->str(), kind->str(), *number, "", "", 0, {}};
    if (word == "int8") {
      const json::Array *range = op->getArray("range");
      auto bound = [&](size_t i) {
        return range && range->size() == 2 ? (*range)[i].getAsNumber()
                                           : std::nullopt;
      };
      if (!bound(0) || !bound(1) || !(*bound(0) <= *bound(1)))
        return shown(path) + ": op " + std::to_string(items.size()) +
               " of int8 must have a range of two numbers, the lower first";
      quantized.ranges.push_back({entry.key(), *bound(0), *bound(1)});
    } else if (policy == "int8") {
      // An op with a range was quantised before somebody edited the plan.
      auto reason = field("reason");
      quantized.kept.emplace_back(entry.key(), reason && !op->get("range")
                                                   ? reason->str()
                                                   : "the plan says so");
    }
    if (!keys.insert(entry.key()).second)
      return shown(path) + ": names '" + shown(entry.key()) + "' twice";
    items.push_back(entry.key() + "=" + word);
  }
  if (policy == "int8") {
    options.plannedQuantization = std::move(quantized);
    return "";
  }
  options.plannedPolicy = policy;
  options.plannedPrecisions = std::move(items);
  return "";
}

json::Object
compiler::precisionPlanJson(StringRef policy,
                            llvm::ArrayRef<passes::PrecisionEntry> entries) {
  llvm::MapVector<StringRef, std::vector<passes::PrecisionEntry>> byFunction;
  json::Array ops;
  for (const passes::PrecisionEntry &entry : entries) {
    byFunction[entry.function].push_back(entry);
    json::Object op{{"function", entry.function},
                    {"node", text(entry.node)},
                    {"op", entry.op},
                    {"number", entry.number},
                    {"precision", entry.precision},
                    {"reason", entry.reason}};
    if (entry.products > 0)
      op["products"] = entry.products;
    if (entry.range)
      op["range"] = json::Array{entry.range->first, entry.range->second};
    ops.push_back(std::move(op));
  }
  json::Object shares;
  for (auto &[function, list] : byFunction)
    shares[function.str()] = policy == "int8" ? passes::eightBitShare(list)
                                              : passes::sixteenBitShare(list);
  return json::Object{
      {"version", kVersion},
      {"policy", policy.str()},
      {policy == "int8" ? "eight_bit_share" : "sixteen_bit_share",
       std::move(shares)},
      {"ops", std::move(ops)}};
}

std::string
compiler::writePrecisionPlan(StringRef path, StringRef policy,
                             llvm::ArrayRef<passes::PrecisionEntry> entries) {
  json::Value plan(precisionPlanJson(policy, entries));
  return writeFile(path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n", plan);
  });
}
