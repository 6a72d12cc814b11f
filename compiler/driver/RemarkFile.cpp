//===- RemarkFile.cpp - the decisions of the passes, in a file ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/RemarkFile.h"

#include "compiler/base/Text.h"
#include "compiler/emit/OutputFile.h"
#include "ir/Provenance.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/JSON.h"

using namespace sinter;
using namespace sinter::compiler;
namespace json = llvm::json;

static json::Array nodesOf(mlir::Location location) {
  std::vector<std::string> names;
  ir::collectProvenance(location, names);
  json::Array nodes;
  for (const std::string &name : names)
    nodes.push_back(json::fixUTF8(name));
  return nodes;
}

static json::Object toJson(const ir::Remark &remark) {
  json::Object object{{"pass", remark.pass},
                      {"kind", remark.kind},
                      {"count", remark.count},
                      {"nodes", nodesOf(remark.location)},
                      {"text", json::fixUTF8(remark.text)}};
  std::string initializers = ir::joinedInitializerNames(remark.location);
  if (!initializers.empty())
    object["initializers"] = json::fixUTF8(initializers);
  if (remark.other)
    object["with"] = nodesOf(*remark.other);
  return object;
}

static void print(llvm::raw_ostream &os, llvm::StringRef tool,
                  const ir::Remark &remark) {
  os << tool << ": remark: " << remark.pass << ": " << remark.kind;
  if (remark.count != 1)
    os << " " << remark.count;
  std::vector<std::string> names;
  ir::collectProvenance(remark.location, names);
  if (!names.empty())
    os << " " << quoted(names.front());
  if (names.size() > 1)
    os << " and " << names.size() - 1 << " more";
  if (!remark.text.empty())
    os << ": " << shown(remark.text, 300);
  os << "\n";
}

RemarkFile::RemarkFile(const Options &options, const CompileState &state)
    : tool_(options.tool), path_(state.writesFiles ? options.remarks : ""),
      isPrinted_(options.verbose && !state.isTrial) {}

void RemarkFile::take(const ir::Remark &remark) {
  if (!path_.empty())
    llvm::raw_string_ostream(lines_) << json::Value(toJson(remark)) << "\n";
  if (isPrinted_ && !remark.isDetail) {
    llvm::raw_string_ostream os(text_);
    print(os, tool_, remark);
  }
}

void compiler::remarkAssemblers(mlir::ModuleOp module,
                                llvm::ArrayRef<passes::ProgramDevice> devices) {
  llvm::SmallPtrSet<const passes::Target *, 2> seen;
  for (const passes::ProgramDevice &device : devices) {
    if (!seen.insert(device.target).second)
      continue;
    passes::Assembler assembler = device.target->assembler();
    if (!assembler.name.empty())
      ir::remark("binary", "assembled by", module.getLoc(), assembler.name);
    else if (!assembler.reason.empty())
      ir::remark("binary", "without machine code", module.getLoc(),
                 assembler.reason);
  }
}

std::string RemarkFile::write(llvm::raw_ostream &os) {
  os << text_;
  if (path_.empty())
    return "";
  return writeFile(path_, [&](llvm::raw_ostream &os) { os << lines_; });
}
