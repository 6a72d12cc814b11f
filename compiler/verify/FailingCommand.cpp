//===- FailingCommand.cpp - runs the command of --check -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/FailingCommand.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

#include <chrono>
#include <optional>

using namespace sinter::compiler;
using llvm::StringRef;

/// `path` as one word of a shell.
static std::string quotedForShell(StringRef path) {
  std::string word = "'";
  for (char each : path)
    word += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return word + "'";
}

std::string FailingCommand::line(StringRef path) const {
  std::string line;
  for (StringRef rest = command_; !rest.empty();) {
    auto [before, after] = rest.split("{}");
    line += before;
    if (before.size() != rest.size())
      line += quotedForShell(path);
    rest = after;
  }
  return line;
}

FailingCommand::Outcome FailingCommand::run(StringRef path) {
  ++numRuns_;
  llvm::SmallString<128> output;
  if (llvm::sys::fs::createTemporaryFile("sinter-reduce", "txt", output))
    return {-1, false};
  // The shell says 128 + n where a signal ends its command.
  std::string text = line(path);
  const StringRef arguments[] = {"sh", "-c", text};
  const std::optional<StringRef> redirects[] = {
      StringRef(""), StringRef(output), StringRef(output)};
  std::string error;
  int status = llvm::sys::ExecuteAndWait("/bin/sh", arguments, std::nullopt,
                                         redirects, limitSeconds_, 0, &error);
  Outcome outcome{status, match_.empty()};
  if (auto bytes = llvm::MemoryBuffer::getFile(output);
      bytes && !match_.empty())
    outcome.matches =
        llvm::Regex(match_, llvm::Regex::Newline).match((*bytes)->getBuffer());
  (void)llvm::sys::fs::remove(output);
  return outcome;
}

std::string FailingCommand::begin(StringRef path) {
  std::string problem;
  if (!match_.empty() && !llvm::Regex(match_).isValid(problem))
    return "--match: " + problem;
  auto start = std::chrono::steady_clock::now();
  Outcome outcome = run(path);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::steady_clock::now() - start)
                     .count();
  limitSeconds_ = static_cast<unsigned>(10 * seconds + 10);
  status_ = outcome.status;
  if (status_ < 0) // also what the shell says of a command that is not there
    return "--check: it cannot be run";
  if (match_.empty() && status_ == 0)
    return "--check: it does not fail on the model itself";
  if (!outcome.matches)
    return "--check: no line of its output for the model itself matches "
           "--match";
  return "";
}

bool FailingCommand::failsOn(StringRef path) {
  Outcome outcome = run(path);
  return outcome.status == status_ && outcome.matches;
}

std::string FailingCommand::howItFails() const {
  if (!match_.empty())
    return "exit status " + std::to_string(status_) + ", output matches '" +
           match_ + "'";
  return status_ > 128 ? "signal " + std::to_string(status_ - 128)
                       : "exit status " + std::to_string(status_);
}
