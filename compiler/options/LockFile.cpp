//===- LockFile.cpp - the decisions of a compilation as a file ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/options/LockFile.h"

#include "compiler/base/Text.h"
#include "compiler/emit/OutputFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int64_t kVersion = 1;

const json::Object &LockFile::section(StringRef name) const {
  static const json::Object none;
  const json::Object *object = contents.getObject(name);
  return object ? *object : none;
}

std::string LockFile::machine() const {
  return section("settings").getString("machine").value_or("").str();
}

std::string compiler::readLockFile(StringRef path,
                                   std::shared_ptr<const LockFile> &file) {
  file = nullptr;
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return buffer.getError() == std::errc::no_such_file_or_directory
               ? ""
               : shown(path) + ": " + buffer.getError().message();
  auto parsed = json::parse((*buffer)->getBuffer());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return shown(path) + ": is not JSON";
  }
  json::Object *contents = parsed->getAsObject();
  auto version = contents ? contents->getInteger("version") : std::nullopt;
  if (!version || *version != kVersion || !contents->getString("sinter"))
    return shown(path) + ": is not a lock file of version 1";
  if (!contents->getArray("decisions"))
    return shown(path) + ": has no list 'decisions'";
  file = std::make_shared<const LockFile>(LockFile{std::move(*contents)});
  return "";
}

std::string compiler::writeLockFile(StringRef path, json::Object contents) {
  contents["version"] = kVersion;
  json::Value value(std::move(contents));
  return writeFile(path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n", value);
  });
}
