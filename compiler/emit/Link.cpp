//===- Link.cpp - objects into trainers, libraries and objects ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Link.h"

#include "compiler/base/Text.h"
#include "compiler/emit/ConstantsObject.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <cstring>
#include <optional>
#include <vector>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

static std::string toolFolder() {
  std::string tool = fs::getMainExecutable(nullptr, nullptr);
  return path::parent_path(tool).str();
}

static std::string join(StringRef folder, const llvm::Twine &name) {
  llvm::SmallString<128> result(folder);
  path::append(result, name);
  return std::string(result);
}

std::string compiler::findLinker() {
  std::string besides = join(toolFolder(), "ld.lld");
  if (fs::can_execute(besides))
    return besides;
  for (StringRef name : {"ld.lld-19", "ld.lld"})
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  for (StringRef known : {"/usr/lib/llvm-19/bin/ld.lld"})
    if (fs::can_execute(known))
      return known.str();
  return "";
}

// The prelinked objects are in ../lib/sinter, relative to the tool.
static std::string findSupportFile(StringRef name) {
  return join(path::parent_path(toolFolder()), "lib/sinter/" + name);
}

// Only programs for simulated devices are linked with them, and only trainers
// with replicas need Gloo.
static std::string findRuntime(LinkKind kind, RuntimeNeeds needs) {
  std::string name = kind == LinkKind::Trainer ? "trainer" : "library";
  if (needs.isSimulated)
    name += "-sim";
  if (needs.hasGloo && kind == LinkKind::Trainer)
    name += "-gloo";
  return findSupportFile(name + ".o");
}

std::string compiler::runtimeHash(LinkKind kind, RuntimeNeeds needs) {
  if (kind == LinkKind::Object)
    return "";
  auto file = llvm::MemoryBuffer::getFile(findRuntime(kind, needs));
  if (!file)
    return "";
  uint64_t hash = llvm::xxh3_64bits((*file)->getBuffer());
  return llvm::Twine::utohexstr(hash).str();
}

static std::string findSharedLibrary(StringRef soname) {
  static const StringRef folders[] = {"/lib/x86_64-linux-gnu",
                                      "/usr/lib/x86_64-linux-gnu",
                                      "/lib64",
                                      "/usr/lib64",
                                      "/usr/local/lib",
                                      "/usr/lib",
                                      "/lib"};
  for (StringRef folder : folders)
    if (std::string file = join(folder, soname); fs::exists(file))
      return file;
  return "";
}

//===----------------------------------------------------------------------===//
// Temporary files
//===----------------------------------------------------------------------===//

namespace {
// A folder that is removed at the end with everything in it.
class TemporaryFolder {
public:
  TemporaryFolder() { error_ = fs::createUniqueDirectory("sinter", folder_); }
  ~TemporaryFolder() {
    if (!error_)
      fs::remove_directories(folder_);
  }
  std::error_code error() const { return error_; }
  std::string file(const llvm::Twine &name) const {
    return join(folder_, name);
  }

private:
  llvm::SmallString<128> folder_;
  std::error_code error_;
};
} // namespace

static std::string write(StringRef file,
                         llvm::function_ref<void(llvm::raw_ostream &)> body) {
  std::error_code error;
  llvm::raw_fd_ostream os(file, error);
  if (!error) {
    body(os);
    os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? file.str() + ": " + error.message() : "";
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

// The first line that the linker printed, without its own prefix.
static std::string firstError(StringRef logFile) {
  auto log = llvm::MemoryBuffer::getFile(logFile);
  StringRef line = log ? (*log)->getBuffer().split('\n').first : "";
  size_t at = line.find("error: ");
  if (at != StringRef::npos)
    line = line.drop_front(at + strlen("error: "));
  return line.empty() ? "the linker printed no message" : shown(line, 300);
}

// The shared libraries that the prelinked object needs; CMake listed their
// SONAMEs.
static std::string addSharedLibraries(StringRef listFile,
                                      std::vector<std::string> &arguments) {
  auto list = llvm::MemoryBuffer::getFile(listFile);
  if (!list)
    return shown(listFile) + ": " + list.getError().message() +
           "; Sinter is not installed completely";
  llvm::SmallVector<StringRef> names;
  (*list)->getBuffer().split(names, '\n', -1, false);
  for (StringRef name : names) {
    std::string file = findSharedLibrary(name.trim());
    if (file.empty())
      return "the shared library " + name.trim().str() +
             ", which the program needs at run time, is not installed";
    arguments.push_back(file);
  }
  return "";
}

static void addLibraryArguments(const CompiledProgram &program,
                                const TemporaryFolder &folder,
                                std::vector<std::string> &arguments) {
  std::string prefix = "sinter_" + program.symbol + "_";
  // The prelinked object has one set of functions; each library defines them
  // under its own names.
  arguments.push_back("--defsym=sinter_linked_artifact=sinter_artifact_" +
                      program.symbol);
  const std::string given = "sinter_library_";
  for (StringRef name :
       {"create", "destroy", "run", "input_memory", "last_error", "artifact",
        "inputs", "outputs", "read_state", "write_state"})
    if (prefix != given)
      arguments.push_back(
          ("--defsym=" + prefix + name + "=" + given + name).str());
  arguments.push_back("--version-script=" + folder.file("exports"));
  arguments.push_back("-Bsymbolic");
  // The pool of threads outlives dlclose.
  arguments.insert(arguments.end(), {"-z", "nodelete", "-shared"});
}

// Only the artifact's symbol stays global, so that two objects can be linked
// together.
static std::string hideSymbols(StringRef file, const std::string &artifact) {
  auto fail = [&](llvm::Error error) {
    return shown(file) + ": " + llvm::toString(std::move(error));
  };
  auto binary = llvm::object::createBinary(file);
  if (!binary)
    return fail(binary.takeError());
  llvm::objcopy::ConfigManager config;
  config.Common.InputFilename = file;
  llvm::Error error = config.Common.SymbolsToKeepGlobal.addMatcher(
      llvm::objcopy::NameOrPattern::create(
          artifact, llvm::objcopy::MatchStyle::Literal,
          [](llvm::Error error) { return error; }));
  if (error)
    return fail(std::move(error));
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream os(bytes);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(
          config, *binary->getBinary(), os))
    return fail(std::move(error));
  *binary = {}; // the file's memory is that of the input
  return write(file, [&](llvm::raw_ostream &out) { out << bytes; });
}

std::string compiler::linkProgram(const CompiledProgram &program, LinkKind kind,
                                  StringRef output) {
  std::string linker = findLinker();
  if (linker.empty())
    return "ld.lld was found neither beside this tool nor on PATH nor in "
           "/usr/lib/llvm-19/bin; install the package lld-19";
  TemporaryFolder folder;
  if (folder.error())
    return "no temporary folder: " + folder.error().message();

  std::vector<std::string> arguments = {linker, "-o", output.str(), "-m",
                                        "elf_x86_64"};
  if (kind == LinkKind::Object) {
    arguments.push_back("-r");
  } else {
    arguments.insert(arguments.end(),
                     {"--gc-sections", "--as-needed", "--eh-frame-hdr", "-z",
                      "relro", "-z", "now", "--build-id=fast",
                      "--hash-style=gnu", "--no-undefined"});
    bool isTrainer = kind == LinkKind::Trainer;
    if (isTrainer)
      arguments.insert(arguments.end(), {"-pie", "--dynamic-linker",
                                         "/lib64/ld-linux-x86-64.so.2"});
    else
      addLibraryArguments(program, folder, arguments);
    std::string prelinked = findRuntime(kind, program.runtime);
    if (!fs::exists(prelinked))
      return shown(prelinked) +
             " is missing; Sinter is not installed completely";
    arguments.push_back(prelinked);
    if (isTrainer && program.symbol != "main")
      arguments.push_back("--defsym=sinter_artifact_main=sinter_artifact_" +
                          program.symbol);
  }

  std::string wrong = write(folder.file("exports"), [&](llvm::raw_ostream &os) {
    os << "{ global: sinter_" << program.symbol << "_*; local: *; };\n";
  });
  for (auto [i, object] : llvm::enumerate(program.objects)) {
    if (!wrong.empty())
      return wrong;
    std::string file = folder.file(llvm::Twine(i) + ".o");
    wrong = write(file, [&](llvm::raw_ostream &os) { os << object; });
    arguments.push_back(file);
  }
  if (!wrong.empty())
    return wrong;
  std::string constants = folder.file("constants.o");
  wrong = write(constants, [&](llvm::raw_ostream &os) {
    writeConstantsObject(program, os);
  });
  if (!wrong.empty())
    return wrong;
  arguments.push_back(constants);
  if (kind != LinkKind::Object) {
    wrong = addSharedLibraries(findSupportFile("libraries"), arguments);
    if (wrong.empty() && kind == LinkKind::Trainer && program.runtime.hasGloo)
      wrong = addSharedLibraries(findSupportFile("libraries-gloo"), arguments);
    if (!wrong.empty())
      return wrong;
  }

  llvm::SmallVector<StringRef> argv(arguments.begin(), arguments.end());
  std::string log = folder.file("log"), problem;
  int code = llvm::sys::ExecuteAndWait(
      linker, argv, std::nullopt,
      {StringRef(""), StringRef(log), StringRef(log)},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  // ld.lld writes through a mapping: a full disk causes a bus error.
  if (code < 0)
    return linker + " did not finish: " + problem +
           "; is the disk of the output full?";
  if (code)
    return "linking failed: " + firstError(log);
  return kind == LinkKind::Object
             ? hideSymbols(output, "sinter_artifact_" + program.symbol)
             : "";
}
