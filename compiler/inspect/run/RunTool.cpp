//===- RunTool.cpp - sinter-inspect RUN... --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/run/RunTool.h"

#include "compiler/base/Text.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/inspect/CheckpointReport.h"
#include "compiler/inspect/InspectOptions.h"
#include "compiler/inspect/run/RunDiff.h"
#include "compiler/inspect/run/RunReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

std::vector<std::string> compiler::takeRuns(std::vector<std::string> &args,
                                            bool takesCheckpoints) {
  std::vector<std::string> runs, others;
  bool isValue = false; // of the option before it
  for (const std::string &arg : args) {
    const bool isRun = !isValue && !StringRef(arg).starts_with("-") &&
                       (takesCheckpoints ? Run::isOne(arg) : Run::hasLog(arg));
    (isRun ? runs : others).push_back(arg);
    isValue = llvm::is_contained({"-o", "--output", "-j"}, StringRef(arg));
  }
  args = std::move(others);
  return runs;
}

int compiler::readRuns(llvm::ArrayRef<std::string> paths,
                       std::vector<Run> &runs) {
  llvm::StringSet<> titles;
  bool hasTwice = false;
  for (const std::string &path : paths) {
    llvm::Expected<Run> run = Run::read(path);
    if (!run)
      return inspectError(llvm::toString(run.takeError()));
    hasTwice |= !titles.insert(run->title).second;
    runs.push_back(std::move(*run));
  }
  if (hasTwice)
    for (Run &run : runs)
      run.title = run.path;
  return kExitDone;
}

namespace {

struct Request {
  std::string command = "summary", output;
  std::vector<std::string> paths;
  bool json = false;
  std::string unknown; // an option that reports of runs do not have
};

} // namespace

static constexpr StringRef kCommands[] = {"summary", "log", "show", "diff"};

bool compiler::isRunCommand(StringRef command) {
  return llvm::is_contained(kCommands, command);
}

static Request splitRequest(llvm::ArrayRef<std::string> args) {
  Request request;
  if (!args.empty() && isRunCommand(args.front())) {
    request.command = args.front();
    args = args.drop_front();
  }
  for (size_t i = 0; i < args.size(); ++i) {
    StringRef arg = args[i];
    if (arg == "--json")
      request.json = true;
    else if ((arg == "-o" || arg == "--output") && i + 1 < args.size())
      request.output = args[++i];
    else if (arg.consume_front("--output="))
      request.output = arg.str();
    else if (arg.starts_with("-") && arg != "-")
      request.unknown = arg.str();
    else
      request.paths.push_back(args[i]);
  }
  return request;
}

// If one of the files is a run, the command is for runs, and any other file is
// an error.
bool compiler::asksForRuns(llvm::ArrayRef<std::string> args) {
  const Request request = splitRequest(args);
  // The report of a folder with checkpoints alone is about its states.
  const bool takesCheckpoints =
      request.command != "summary" || request.paths.size() > 1;
  return llvm::any_of(request.paths, [&](const std::string &path) {
    return takesCheckpoints ? Run::isOne(path) : Run::hasLog(path);
  });
}

static int write(const Request &request, const std::string &text) {
  const std::string path = request.output.empty() ? "-" : request.output;
  std::string wrong = whyNotWritable(path, request.paths);
  if (wrong.empty())
    wrong = writeFile(path, [&](llvm::raw_ostream &os) { os << text; });
  return wrong.empty() ? int(kExitDone) : inspectError(wrong);
}

// The newest checkpoint of a run, as its own report.
static std::string checkpointText(const Run &run, bool json) {
  auto checkpoint = CheckpointSummary::read(run.checkpoints);
  if (!checkpoint) {
    llvm::consumeError(checkpoint.takeError());
    return "";
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  reportCheckpoint(*checkpoint, json, os);
  return text;
}

// With the summary of one run goes that of its newest checkpoint.
static json::Object summaryJson(const Run &run, bool hasCheckpoint) {
  json::Object object = runJson(run);
  if (!hasCheckpoint)
    return object;
  if (auto checkpoint = json::parse(checkpointText(run, /*json=*/true)))
    object["checkpoint"] = std::move(*checkpoint);
  else
    llvm::consumeError(checkpoint.takeError());
  return object;
}

static int diff(const Request &request, llvm::ArrayRef<Run> runs) {
  if (runs.size() != 2)
    return inspectError("diff compares two runs");
  const RunDifference difference = diffRuns(runs[0], runs[1]);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (request.json)
    os << json::Value(runDifferenceJson(difference)) << "\n";
  else
    printRunDifference(difference, os);
  if (int code = write(request, os.str()))
    return code;
  return difference.empty() ? kExitDone : kExitFailed;
}

int compiler::inspectRuns(llvm::ArrayRef<std::string> args) {
  const Request request = splitRequest(args);
  if (!request.unknown.empty())
    return inspectError(shown(request.unknown) +
                        ": has no effect on training runs");
  StringRef extension = StringRef(request.output).rsplit('.').second;
  if (llvm::is_contained({"html", "svg", "png", "pdf"}, extension))
    return inspectError("-o " + shown(request.output) + ": " + request.command +
                        " writes text, or JSON with --json; 'view' writes "
                        "the page");
  std::vector<Run> runs;
  if (int code = readRuns(request.paths, runs))
    return code;
  if (request.command == "diff")
    return diff(request, runs);
  const bool hasCheckpoint = request.command == "summary" && runs.size() == 1 &&
                             !runs.front().checkpoints.empty();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (request.json) {
    json::Array values;
    for (const Run &run : runs)
      values.push_back(summaryJson(run, hasCheckpoint));
    os << (values.size() == 1 ? values.front() : json::Value(std::move(values)))
       << "\n";
  } else if (request.command == "show") {
    printEpochs(runs, os);
    for (const Run &run : runs)
      for (const std::string &note : run.missingNotes())
        os << "note: " << (runs.size() > 1 ? shown(run.title) + ": " : "")
           << note << "\n";
  } else {
    printRuns(runs, os);
    if (hasCheckpoint)
      os << "\n" << checkpointText(runs.front(), /*json=*/false);
  }
  return write(request, os.str());
}
