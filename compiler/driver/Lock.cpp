//===- Lock.cpp - keeping a program as it is ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Lock.h"

#include "compiler/base/Text.h"
#include "runtime/base/ByteRanges.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static std::string hashText(llvm::ArrayRef<uint8_t> bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes);
  return llvm::utohexstr(hash.high64, true, 16) +
         llvm::utohexstr(hash.low64, true, 16);
}

static std::string hashText(StringRef text) {
  return hashText(llvm::arrayRefFromStringRef(text));
}

static std::string valueText(const json::Value &value) {
  if (auto text = value.getAsString())
    return text->str();
  return llvm::formatv("{0}", value);
}

std::string compiler::makeTable(const Options &options,
                                std::unique_ptr<DecisionTable> &table) {
  // Sums that only one order of additions gives.
  bool isFixed =
      options.deterministic == "arch" || options.deterministic == "topology";
  table = std::make_unique<DecisionTable>(/*mayChangeBits=*/!isFixed);
  std::string wrong =
      options.locked ? table->read(options.locked->decisions()) : "";
  return wrong.empty() ? "" : shown(options.lockfile) + ": " + wrong;
}

/// Members of a manifest that are results of the compilation, not settings.
static bool isResult(StringRef name) {
  return llvm::is_contained({"runtime", "sinter", "kernels", "kernel_hashes",
                             "kernel_flops", rt::kKernelAccesses, "placement",
                             "contracts", "rows_mixed_by"},
                            name);
}

/// Adds the settings in `object` as text, members of objects as "a.b".
static void addSettings(const json::Object &object, StringRef prefix,
                        json::Object &settings) {
  for (const auto &[key, value] : object) {
    StringRef name(key);
    std::string path = (prefix + name).str();
    if (prefix.empty() && isResult(name))
      continue;
    if (name == "precision_plan") // long
      settings[path] = hashText(valueText(value));
    else if (const json::Object *inner = value.getAsObject())
      addSettings(*inner, path + ".", settings);
    else
      settings[path] = valueText(value);
  }
}

json::Object compiler::describeProgram(const CompiledProgram &program,
                                       llvm::ArrayRef<TargetProgram> targets,
                                       StringRef machine, StringRef flags) {
  json::Object settings, kernels;
  for (auto [i, each] : llvm::enumerate(targets)) {
    json::Value parsed = llvm::cantFail(json::parse(each.manifest));
    const json::Object &object = *parsed.getAsObject();
    std::string prefix =
        i == 0 ? "" : object.getString("target").value_or("").str() + ".";
    json::Object own;
    addSettings(object, "", own);
    for (auto &[key, value] : own)
      settings[prefix + key.str()] = std::move(value);
    for (const auto &[name, hash] : each.kernelHashes)
      kernels[prefix + name] = hash;
  }
  settings["symbol"] = program.symbol;
  settings["flags"] = flags.str();
  if (!machine.empty())
    settings["machine"] = machine.str();
  std::string code, constants;
  for (const std::string &object : program.objects)
    code += hashText(object);
  for (const ConstantPiece &piece : program.constants)
    constants += std::to_string(piece.offset) + " " +
                 hashText(StringRef(piece.bytes.data(), piece.bytes.size()));
  return json::Object{
      {"sinter", versionText()},
      {"settings", std::move(settings)},
      {"program", json::Object{{"code", hashText(code)},
                               {"constants", hashText(constants)},
                               {"kernels", std::move(kernels)}}}};
}

/// The names in `before` and `now`, sorted.
static std::vector<std::string> namesOf(const json::Object &before,
                                        const json::Object &now) {
  std::vector<std::string> names;
  for (const json::Object *object : {&before, &now})
    for (const auto &entry : *object)
      names.push_back(StringRef(entry.first).str());
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return names;
}

/// "a; b; c and 5 more".
static std::string shortList(llvm::ArrayRef<std::string> names) {
  constexpr size_t kMost = 8;
  std::string text = llvm::join(names.take_front(kMost), "; ");
  if (names.size() > kMost)
    text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

static void compareSettings(const json::Object &before, const json::Object &now,
                            std::vector<std::string> &lines) {
  for (const std::string &name : namesOf(before, now)) {
    auto was = before.getString(name), is = now.getString(name);
    if (was != is)
      lines.push_back("setting " + name + ": " + shown(was.value_or("none")) +
                      " then, " + shown(is.value_or("none")) + " now");
  }
}

static void compareKernels(const json::Object &before, const json::Object &now,
                           std::vector<std::string> &lines) {
  std::vector<std::string> gone, added, changed;
  for (const std::string &name : namesOf(before, now)) {
    auto was = before.getString(name), is = now.getString(name);
    if (was != is)
      (!is ? gone : !was ? added : changed).push_back(shown(name, 160));
  }
  for (auto [what, names] : {std::pair("gone", &gone), std::pair("new", &added),
                             std::pair("changed", &changed)})
    if (!names->empty())
      lines.push_back("kernels " + std::string(what) + ": " +
                      shortList(*names));
}

std::vector<std::string> compiler::whatChanged(const Options &options,
                                               const DecisionTable &decisions,
                                               const json::Object &now) {
  const LockFile &file = *options.locked;
  const json::Object &program = file.section("program"),
                     &own = *now.getObject("program");
  static const json::Object none;
  auto kernelsOf = [](const json::Object &object) -> const json::Object & {
    const json::Object *kernels = object.getObject("kernels");
    return kernels ? *kernels : none;
  };
  std::vector<std::string> lines;
  auto version = file.contents.getString("sinter");
  if (version != now.getString("sinter"))
    lines.push_back("compiler: " + shown(version.value_or("none")) + " then, " +
                    shown(*now.getString("sinter")) + " now");
  compareSettings(file.section("settings"), *now.getObject("settings"), lines);
  // With -v, all decisions.
  constexpr size_t kMostDecisions = 20;
  std::vector<std::string> notKept = decisions.notKept();
  size_t numShown = options.verbose ? notKept.size()
                                    : std::min(notKept.size(), kMostDecisions);
  if (!notKept.empty())
    lines.push_back(std::to_string(notKept.size()) + " of " +
                    std::to_string(file.decisions().size()) + " decisions");
  llvm::append_range(lines, llvm::ArrayRef(notKept).take_front(numShown));
  if (numShown < notKept.size())
    lines.push_back(std::to_string(notKept.size() - numShown) +
                    " more decisions, which -v names");
  if (size_t added = decisions.numNew())
    lines.push_back(std::to_string(added) +
                    " decisions that the file does not have follow the rules");
  compareKernels(kernelsOf(program), kernelsOf(own), lines);
  if (program.getString("constants") != own.getString("constants"))
    lines.push_back("constants: they have other bytes");
  if (lines.empty() && program.getString("code") != own.getString("code"))
    lines.push_back("code: the kernels compute the same, but their machine "
                    "code or the tables differ");
  return lines;
}

void compiler::reportNotKept(const Options &options, StringRef what) {
  llvm::errs() << options.tool << ": warning: " << shown(options.lockfile)
               << ": not kept: " << what << "\n";
}

std::string compiler::keepProgram(const Options &options,
                                  const DecisionTable &decisions,
                                  json::Object now) {
  if (!options.locked || options.tune) {
    now["decisions"] = decisions.write();
    return writeLockFile(options.lockfile, std::move(now));
  }
  for (const std::string &line : whatChanged(options, decisions, now))
    reportNotKept(options, line);
  return "";
}
