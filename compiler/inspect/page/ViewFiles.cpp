//===- ViewFiles.cpp - the files that a page is made from -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/ViewFiles.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/InspectOptions.h"
#include "compiler/inspect/page/GraphFormats.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// The contents of a regular file; an error names it.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegular(const std::string &path) {
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return llvm::createStringError(shown(path) + ": not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(shown(path) + ": " +
                                   buffer.getError().message());
  return std::move(*buffer);
}

int compiler::readTraceFile(const std::string &path, PageProgram &program) {
  auto bytes = readRegular(path);
  if (!bytes)
    return inspectError(llvm::toString(bytes.takeError()));
  std::string wrong = program.trace.read((*bytes)->getBuffer());
  if (wrong.empty() && program.trace.steps.empty())
    wrong = "has no pass";
  return wrong.empty() ? int(kExitDone)
                       : inspectError(shown(path) + ": " + wrong);
}

// "8x3, 8" of two inputs; "(scalar)" has no sizes.
static std::string sizesText(const InputSizes &inputs) {
  std::vector<std::string> texts;
  for (const std::vector<int64_t> &sizes : inputs) {
    std::vector<std::string> numbers;
    for (int64_t size : sizes)
      numbers.push_back(std::to_string(size));
    texts.push_back(numbers.empty() ? "(scalar)" : llvm::join(numbers, "x"));
  }
  return texts.empty() ? "none" : llvm::join(texts, ", ");
}

// A profile is of one program. One of other compile options would give times to
// the wrong commands, or times of another batch.
int compiler::readProfileFile(const std::string &path, PageProgram &program) {
  auto bytes = readRegular(path);
  if (!bytes)
    return inspectError(llvm::toString(bytes.takeError()));
  Profile profile;
  std::string wrong = readProfile((*bytes)->getBuffer(), profile);
  if (!wrong.empty())
    return inspectError(shown(path) + ": " + wrong);
  const std::string advice =
      " does not have; use the compile options of the profiled run";
  std::vector<PlannedProgram> planned = plannedPrograms(program.trace);
  llvm::erase_if(planned, [&](const PlannedProgram &each) {
    return each.numCommands != profile.micros.size() ||
           (!profile.entry.empty() && each.name != profile.entry);
  });
  if (planned.empty())
    return inspectError(shown(path) + ": is of a program with " +
                        llvm::Twine(profile.micros.size()) +
                        " commands, which " + shown(program.title) + advice);
  if (!profile.inputs)
    llvm::errs() << "sinter-inspect: warning: " << shown(path)
                 << ": does not say the sizes of the inputs; the times may be "
                    "of another batch\n";
  else if (llvm::none_of(planned, [&](const PlannedProgram &each) {
             return each.inputs == *profile.inputs;
           }))
    return inspectError(
        shown(path) + ": is of a program with inputs of sizes " +
        sizesText(*profile.inputs) + ", which " + shown(program.title) + " (" +
        sizesText(planned.front().inputs) + ")" + advice);
  program.commandMicros = std::move(profile.micros);
  program.bodyMicros = std::move(profile.bodies);
  program.profiledEntry = profile.entry;
  return kExitDone;
}

int compiler::readOverlayFile(const std::string &path, PageProgram &program) {
  auto bytes = readRegular(path);
  if (!bytes)
    return inspectError(llvm::toString(bytes.takeError()));
  std::string wrong = readOverlays((*bytes)->getBuffer(), program.overlays);
  return wrong.empty() ? int(kExitDone)
                       : inspectError(shown(path) + ": " + wrong);
}
