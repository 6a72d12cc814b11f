//===- TraceTool.cpp - the commands on traces, and why --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/TraceTool.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/FileKind.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

bool compiler::namesPassOfTrace(llvm::ArrayRef<std::string> args) {
  llvm::SmallVector<StringRef> words;
  for (StringRef arg : args)
    if (!arg.starts_with("-"))
      words.push_back(arg);
  return words.size() > 1 && fileKindOf(words[0]) == FileKind::Trace &&
         !llvm::sys::fs::exists(words[1]);
}

void compiler::takeTraceWords(InspectOptions &inspect) {
  auto isWord = [](const std::string &text) { return text[0] != '-'; };
  std::vector<std::string> &rest = inspect.rest;
  auto file = llvm::find_if(rest, isWord);
  bool isOfTraces =
      llvm::is_contained({"log", "show", "blame", "rewrites"}, inspect.command);
  if (file == rest.end() ||
      (!isOfTraces && fileKindOf(*file) != FileKind::Trace))
    return;
  std::vector<std::string> words;
  llvm::copy_if(llvm::make_range(file + 1, rest.end()),
                std::back_inserter(words), isWord);
  std::string *only = inspect.command == "show" || inspect.command == "log" ||
                              inspect.command == "rewrites" ||
                              inspect.command == "diff"
                          ? &inspect.filter.pass
                      : inspect.command == "blame" ? &inspect.filter.op
                                                   : nullptr;
  if (words.size() == 1 && only && only->empty())
    *only = words.front();
  else if (words.size() == 2 && inspect.command == "diff")
    std::tie(inspect.from, inspect.to) = std::tie(words[0], words[1]);
  else
    return;
  rest.erase(std::remove_if(file + 1, rest.end(), isWord), rest.end());
}

bool compiler::takeQuestion(StringRef text, std::vector<Question> &questions) {
  auto [option, about] = text.split('=');
  const bool isBare = !text.contains('=');
  for (const QuestionKind &kind : questionKinds())
    if (option == kind.option && (!isBare || kind.mayBeBare)) {
      questions.push_back({option.str(), about.str(), isBare});
      return true;
    }
  return false;
}

int compiler::explain(const Trace &trace, const InspectOptions &inspect,
                      const Options &options) {
  WhyIndex index(trace);
  std::vector<Answer> answers;
  for (const Question &question : inspect.questions) {
    answers.push_back(index.answer(question));
    if (!answers.back().problem.empty())
      return inspectError(answers.back().problem);
  }
  return printReport(options, [&](llvm::raw_ostream &os) {
    printAnswers(inspect.questions, answers, inspect.json, os);
  });
}

// A report that counts what it prints; finding nothing is a failure.
static int printFound(const Options &options, const llvm::Twine &nothing,
                      llvm::function_ref<size_t(llvm::raw_ostream &)> report) {
  size_t count = 0;
  int code =
      printReport(options, [&](llvm::raw_ostream &os) { count = report(os); });
  return code || count ? code : inspectError(nothing, kExitFailed);
}

static int grepTrace(const Trace &trace, const InspectOptions &inspect,
                     const Options &options) {
  llvm::Regex pattern(inspect.pattern);
  if (std::string problem; !pattern.isValid(problem))
    return inspectError(quoted(inspect.pattern) + ": " + problem);
  return printFound(options, "no line matches " + quoted(inspect.pattern),
                    [&](llvm::raw_ostream &os) {
                      auto report =
                          inspect.json ? printTraceGrepJson : printTraceGrep;
                      return report(trace, inspect.filter, pattern, os);
                    });
}

int compiler::inspectTrace(const InspectOptions &inspect,
                           const Options &options) {
  if (llvm::sys::fs::exists(options.model) &&
      !llvm::sys::fs::is_regular_file(options.model))
    return inspectError(shown(options.model) + ": not a regular file");
  auto bytes = llvm::MemoryBuffer::getFile(options.model);
  if (!bytes)
    return inspectError(shown(options.model) + ": " +
                        bytes.getError().message());
  Trace trace;
  std::string wrong = trace.read((*bytes)->getBuffer());
  const bool alsoTakesRuns =
      inspect.command == "log" || inspect.command == "show";
  if (alsoTakesRuns && !(*bytes)->getBuffer().starts_with(Trace::kAnyVersion))
    wrong = "is neither a trace nor the log of a training run";
  if (!wrong.empty())
    return inspectError(shown(options.model) + ": " + wrong);
  if (!hasPass(trace, inspect.filter))
    return inspectError("--pass=" + shown(inspect.filter.pass) +
                        ": the trace has no such pass, phase or number; "
                        "'sinter-inspect log' lists them");
  if (inspect.command == "why")
    return explain(trace, inspect, options);
  if (inspect.command == "grep")
    return grepTrace(trace, inspect, options);
  if (inspect.command == "blame")
    return printFound(
        options,
        "the trace has no node, name or line " + quoted(inspect.filter.op) +
            "; 'grep' finds parts of names",
        [&](llvm::raw_ostream &os) {
          auto report = inspect.json ? printTraceBlameJson : printTraceBlame;
          return report(trace, inspect.filter, os);
        });
  if (inspect.json) {
    if (!inspect.to.empty())
      return inspectError("diff TRACE PASS PASS: has no JSON form; 'diff TRACE "
                          "--json' has all lines that each pass changed");
    return printReport(options, [&](llvm::raw_ostream &os) {
      bool isLog = inspect.command == "log" || inspect.command == "summary";
      printTraceJson(trace, inspect.filter, /*text=*/!isLog, os);
    });
  }
  if (inspect.command == "rewrites")
    return printFound(options, "no such rewrite", [&](llvm::raw_ostream &os) {
      return printTraceRewrites(trace, inspect.filter, os);
    });
  if (!inspect.to.empty()) {
    if (!inspect.filter.op.empty() || !inspect.filter.pass.empty())
      return inspectError("diff TRACE PASS PASS takes neither --op nor --pass");
    std::string wrong;
    int code = printReport(options, [&](llvm::raw_ostream &os) {
      wrong = printTraceBetween(trace, inspect.from, inspect.to, os);
    });
    return code || wrong.empty() ? code : inspectError(wrong);
  }
  auto report = inspect.command == "show"   ? printTraceShow
                : inspect.command == "diff" ? printTraceDiff
                                            : printTraceLog;
  if (!inspect.filter.op.empty() && !hasOp(trace, inspect.filter.op))
    return inspectError("--op=" + shown(inspect.filter.op) +
                            ": no line of the trace has it",
                        kExitFailed);
  return printReport(options, [&](llvm::raw_ostream &os) {
    report(trace, inspect.filter, os);
  });
}
