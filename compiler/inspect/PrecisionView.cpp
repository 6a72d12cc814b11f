//===- PrecisionView.cpp - the precision of each op, printed --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/PrecisionView.h"

#include "compiler/base/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static std::string field(const json::Object &object, StringRef name) {
  auto text = object.getString(name);
  return text ? shown(*text) : std::string();
}

static void printPlan(const json::Object &plan, llvm::raw_ostream &os) {
  os << "policy " << field(plan, "policy") << "\n";
  for (auto [key, bits] :
       {std::pair{"sixteen_bit_share", 16}, {"eight_bit_share", 8}})
    if (const json::Object *shares = plan.getObject(key))
      for (auto &[function, share] : *shares)
        if (auto number = share.getAsNumber())
          os << shown(function)
             << llvm::format(": %.2f %% of the multiply-adds in %d bits\n",
                             100 * *number, bits);
  const json::Array *ops = plan.getArray("ops");
  if (!ops)
    return;
  for (const json::Value &value : *ops)
    if (const json::Object *op = value.getAsObject())
      os << llvm::left_justify(field(*op, "function"), 6) << " "
         << llvm::left_justify(field(*op, "precision"), 5) << " "
         << llvm::left_justify(field(*op, "op"), 20) << " "
         << llvm::left_justify(field(*op, "node"), 30) << " "
         << field(*op, "reason") << "\n";
}

void compiler::reportPrecision(const sinter_artifact &artifact, bool json,
                               llvm::raw_ostream &os) {
  auto manifest = json::parse(artifact.manifest);
  const json::Object *object = nullptr, *plan = nullptr;
  if (!manifest)
    llvm::consumeError(manifest.takeError());
  else if ((object = manifest->getAsObject()))
    plan = object->getObject("precision_plan");
  if (json)
    os << (plan ? json::Value(json::Object(*plan)) : json::Value(nullptr))
       << "\n";
  else if (plan)
    printPlan(*plan, os);
  else
    os << "policy " << (object ? field(*object, "precision") : "fp32")
       << ": no op was changed\n";
}
