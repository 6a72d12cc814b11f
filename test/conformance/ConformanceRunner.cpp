//===- ConformanceRunner.cpp - runs the ONNX backend suite ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Every test runs in its own process, with a limit on time and memory, so that
// a crash is one failure. The list of expected failures is exact: a failure
// that is not on it, a listed test that passes, and a listed test that does not
// exist are all failures.
//
// The last line is "N passed, N failed, N skipped"; exit 1 if any failed.
//
//===----------------------------------------------------------------------===//
#include "test/conformance/Case.h"
#include "test/conformance/ExpectedFailures.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::conformance;

namespace {

struct Options {
  std::string data, mode = "jit", filter;
  std::map<std::string, std::string> expected;
  unsigned jobs = 1, timeoutSeconds = 60;
  bool printFailures = false, help = false;
};

int misuse(const std::string &text) {
  std::fprintf(stderr, "sinter-conformance: error: %s\n", text.c_str());
  return 2;
}

std::string readCount(const std::string &text, unsigned &count, unsigned most) {
  const char *end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && last == end && count > 0 && count <= most)
    return "";
  return "expected a whole number in [1, " + std::to_string(most) + "], got '" +
         text + "'";
}

/// `store` returns what is wrong with a value, "" if nothing.
struct Flag {
  const char *name, *value, *help;
  std::string (*store)(Options &options, const std::string &value);
};

const Flag flags[] = {
    {"--data", "DIR", "folder of the tests, one folder each",
     [](Options &o, const std::string &value) -> std::string {
       o.data = value;
       return "";
     }},
    {"--expected-fail", "FILE", "tests that must fail (again for more files)",
     [](Options &o, const std::string &value) -> std::string {
       std::string why;
       auto expected = readExpectedFailures(value, why);
       if (expected)
         o.expected.merge(*expected);
       return why;
     }},
    {"--mode", "jit|eval|sim",
     "compiled and run in memory (default), by reference evaluation, or on "
     "the simulated CUDA device",
     [](Options &o, const std::string &value) -> std::string {
       o.mode = value;
       return findMode(value) ? "" : "'" + value + "' is unknown";
     }},
    {"--jobs", "N", "tests at once (1)",
     [](Options &o, const std::string &value) {
       return readCount(value, o.jobs, 4096);
     }},
    {"--timeout", "SECONDS", "of one test (60)",
     [](Options &o, const std::string &value) {
       return readCount(value, o.timeoutSeconds, 3600);
     }},
    {"--filter", "TEXT", "only tests whose name has TEXT in it",
     [](Options &o, const std::string &value) -> std::string {
       o.filter = value;
       return "";
     }},
    {"--print-failures", "", "also why tests fail that must",
     [](Options &o, const std::string &) -> std::string {
       o.printFailures = true;
       return "";
     }},
    {"--help", "", "this text",
     [](Options &o, const std::string &) -> std::string {
       o.help = true;
       return "";
     }},
};

void printHelp() {
  std::printf("usage: sinter-conformance --data=DIR [options]\n\n");
  for (const Flag &flag : flags) {
    std::string text = flag.name;
    if (*flag.value)
      text += std::string("=") + flag.value;
    std::printf("  %-28s  %s\n", text.c_str(), flag.help);
  }
  std::printf("\nExit codes: 0 all as expected, 1 some are not, 2 usage\n");
}

/// 0, or an exit code after an error line.
int parseOptions(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = std::min(argument.find('='), argument.size());
    std::string name = argument.substr(0, equals);
    auto flag = std::find_if(std::begin(flags), std::end(flags),
                             [&](const Flag &f) { return f.name == name; });
    if (flag == std::end(flags))
      return misuse("unknown flag '" + name + "'; --help lists the flags");
    if ((*flag->value != 0) != (equals < argument.size()))
      return misuse(
          name + (*flag->value ? ": a value is missing" : ": takes no value"));
    std::string value =
        equals < argument.size() ? argument.substr(equals + 1) : "";
    if (std::string wrong = flag->store(options, value); !wrong.empty())
      return misuse(name + ": " + wrong);
  }
  if (options.data.empty() && !options.help)
    return misuse("--data=DIR is missing");
  return 0;
}

std::vector<std::string> listTests(const std::string &folder) {
  std::vector<std::string> names;
  DIR *directory = ::opendir(folder.c_str());
  if (!directory)
    return names;
  while (dirent *entry = ::readdir(directory)) {
    std::string name = entry->d_name;
    if (name.front() != '.' &&
        ::access((folder + "/" + name + "/model.onnx").c_str(), R_OK) == 0)
      names.push_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

/// A child that runs one test and writes its result, one byte and a line, into
/// a pipe.
struct Child {
  pid_t pid;
  int pipe;
  std::string name;
};

Child startChild(const Options &options, const std::string &name) {
  int ends[2];
  if (::pipe(ends) != 0)
    std::abort();
  std::fflush(nullptr);
  pid_t pid = ::fork();
  if (pid != 0) {
    ::close(ends[1]);
    return {pid, ends[0], name};
  }
  ::close(ends[0]);
  ::alarm(options.timeoutSeconds);
  rlimit memory = {rlim_t(8) << 30, rlim_t(8) << 30};
  ::setrlimit(RLIMIT_AS, &memory);
  rlimit noCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  Result result = runCase(options.data + "/" + name, findMode(options.mode));
  std::string text(1, "PBF"[int(result.outcome)]);
  text += result.why.substr(0, 4000);
  if (::write(ends[1], text.data(), text.size()) < 0)
    ::_exit(1);
  ::_exit(0);
}

/// What the child wrote, or how it died.
Result finishChild(const Child &child, int status) {
  char buffer[4096];
  ssize_t size = ::read(child.pipe, buffer, sizeof(buffer));
  ::close(child.pipe);
  if (WIFSIGNALED(status))
    return {Outcome::Failed,
            WTERMSIG(status) == SIGALRM
                ? std::string("takes too long")
                : "crashes (" + std::string(::strsignal(WTERMSIG(status))) +
                      ")"};
  if (size < 1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return {Outcome::Failed,
            "crashes (exit " + std::to_string(WEXITSTATUS(status)) + ")"};
  Outcome outcome = buffer[0] == 'P'   ? Outcome::Passed
                    : buffer[0] == 'B' ? Outcome::PassedBound
                                       : Outcome::Failed;
  return {outcome, std::string(buffer + 1, size_t(size - 1))};
}

std::map<std::string, Result> runAll(const Options &options,
                                     const std::vector<std::string> &names) {
  std::map<std::string, Result> results;
  std::vector<Child> running;
  size_t next = 0;
  while (next < names.size() || !running.empty()) {
    while (next < names.size() && running.size() < options.jobs)
      running.push_back(startChild(options, names[next++]));
    int status = 0;
    pid_t pid = ::wait(&status);
    auto child = std::find_if(running.begin(), running.end(),
                              [&](const Child &c) { return c.pid == pid; });
    if (child == running.end())
      continue;
    results[child->name] = finishChild(*child, status);
    running.erase(child);
  }
  return results;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (int code = parseOptions(argc, argv, options))
    return code;
  if (options.help) {
    printHelp();
    return 0;
  }
  std::vector<std::string> names = listTests(options.data);
  if (names.empty())
    return misuse(options.data + " holds no tests");
  std::erase_if(names, [&](const std::string &name) {
    return name.find(options.filter) == std::string::npos;
  });

  std::map<std::string, Result> results = runAll(options, names);
  int passed = 0, bound = 0, expected = 0, wrong = 0, crashed = 0;
  for (const auto &[name, result] : results) {
    bool isListed = options.expected.count(name) != 0;
    bool isCrash =
        result.why.rfind("crashes", 0) == 0 || result.why == "takes too long";
    crashed += isCrash;
    if (result.outcome == Outcome::Failed) {
      if (options.printFailures)
        std::printf("%s: %s\n", name.c_str(), result.why.c_str());
      if (isListed && !isCrash) {
        ++expected;
        continue;
      }
      ++wrong;
      std::printf("FAIL %s: %s\n", name.c_str(), result.why.c_str());
      continue;
    }
    if (isListed) {
      ++wrong;
      std::printf("FAIL %s: passes, but is listed as failing\n", name.c_str());
      continue;
    }
    ++passed;
    bound += result.outcome == Outcome::PassedBound;
  }
  for (const auto &[name, reason] : options.expected)
    if (options.filter.empty() && !results.count(name)) {
      ++wrong;
      std::printf("FAIL %s: is listed as failing, but there is no such test\n",
                  name.c_str());
    }
  std::printf("conformance (%s): %zu tests; %d pass, %d of them with small "
              "inputs bound "
              "at compile time; %d fail as listed; %d crash; %d wrong\n",
              options.mode.c_str(), results.size(), passed, bound, expected,
              crashed, wrong);
  std::printf("%d passed, %d failed, %d skipped\n", passed, wrong, expected);
  return wrong ? 1 : 0;
}
