//===- PlacementView.cpp - the device of each node, printed ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/PlacementView.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/ArtifactFacts.h"

#include "llvm/Support/JSON.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static std::string field(const json::Object &object, StringRef name) {
  constexpr size_t kMost = 400;
  auto text = object.getString(name);
  return text ? shown(*text, kMost) : std::string();
}

static std::string joined(const json::Array *list) {
  std::string text;
  if (list)
    for (const json::Value &value : *list)
      if (auto item = value.getAsString())
        text += (text.empty() ? "" : ", ") + shown(*item);
  return text;
}

// Calls `visit` for each object of the list `name`.
static void forEach(const json::Object &object, StringRef name,
                    llvm::function_ref<void(const json::Object &)> visit) {
  if (const json::Array *list = object.getArray(name))
    for (const json::Value &value : *list)
      if (const json::Object *item = value.getAsObject())
        visit(*item);
}

static void printPlacement(const json::Object &placement,
                           llvm::raw_ostream &os) {
  os << "devices " << joined(placement.getArray("devices")) << "\n";
  forEach(placement, "memory", [&](const json::Object &memory) {
    auto bytes = [&](StringRef name) {
      return std::to_string(memory.getInteger(name).value_or(0));
    };
    os << "memory  " << field(memory, "device") << ": " << bytes("bytes")
       << " bytes: arena " << bytes("arena") << ", states " << bytes("states")
       << ", constants " << bytes("constants") << ", inputs and outputs "
       << bytes("inputs") << ", library workspace " << bytes("workspace");
    if (memory.getInteger("limit"))
      os << ", of " << bytes("limit") << " at most";
    os << "\n";
  });
  bool isChosen = false;
  forEach(placement, "regions", [&](const json::Object &region) {
    isChosen = true;
    const json::Array *nodes = region.getArray("nodes");
    os << "region  " << field(region, "device") << ": "
       << (nodes ? nodes->size() : 0) << " nodes, "
       << region.getInteger("weight_bytes").value_or(0)
       << " bytes of weights: " << field(region, "why") << "\n        "
       << joined(nodes) << "\n";
  });
  if (!isChosen)
    os << "all nodes: the program's only device\n";
  forEach(placement, "copies", [&](const json::Object &copy) {
    os << "copy    " << field(copy, "entry") << ": " << field(copy, "from")
       << " -> " << field(copy, "to") << ", "
       << copy.getInteger("bytes").value_or(0) << " bytes, of "
       << joined(copy.getArray("nodes")) << "\n";
  });
}

void compiler::reportPlacement(const sinter_artifact &artifact, bool json,
                               llvm::raw_ostream &os) {
  const json::Object manifest = manifestOf(artifact);
  const json::Object *placement = manifest.getObject("placement");
  if (json)
    os << (placement ? json::Value(json::Object(*placement))
                     : json::Value(nullptr))
       << "\n";
  else if (placement)
    printPlacement(*placement, os);
}
