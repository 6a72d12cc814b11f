//===- JsonLogTest.cpp - logs that a resumed run continues ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/JsonLog.h"
#include "TestFiles.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::rt;
using namespace testfiles;

namespace {

/// The records of steps [first, last] with ten steps in an epoch, and of the
/// evaluation of each.
std::string records(int first, int last) {
  std::string text;
  for (int step = first; step <= last; ++step) {
    const std::string epoch = std::to_string((step - 1) / 10);
    text += "{\"step\":" + std::to_string(step) + ",\"epoch\":" + epoch +
            ",\"loss\":0.5,\"lr\":0.1}\n";
    if (step % 10 == 0)
      text += "{\"eval\":true,\"epoch\":" + epoch + "}\n";
  }
  return text;
}

JsonLog::Position after(int step, bool isEvaluated) {
  JsonLog::Position position;
  position.step = step;
  position.isEvaluated = isEvaluated;
  position.epochs = step / 10;
  position.isInEpoch = step % 10 != 0;
  return position;
}

/// What resuming prints, without the path; `log` becomes what is kept of it.
std::string warnings(std::string &log, const JsonLog::Position &position) {
  TempFolder folder;
  const std::string path = folder / "log", errors = folder / "err";
  write(path, log);
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT, 0666);
  ::dup2(file, STDERR_FILENO);
  {
    JsonLog json;
    CHECK(json.resume(path, position).ok());
  }
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(file);
  log = read(path);
  const std::string text = read(errors), prefix = "warning: " + path;
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

void dropLine(std::string &log, const std::string &part) {
  const size_t at = log.find(part);
  REQUIRE(at != log.npos);
  log.erase(at, log.find('\n', at) + 1 - at);
}

} // namespace

TEST_CASE("json log: nothing is missing in a whole one", "[harness][log]") {
  for (int step : {1, 9, 10, 11, 20, 25}) {
    for (bool isEvaluated : {false, true}) {
      std::string log = records(1, 40), kept = records(1, step);
      if (step % 10 == 0 && !isEvaluated)
        dropLine(kept,
                 "{\"eval\":true,\"epoch\":" + std::to_string(step / 10 - 1));
      if (step % 10 != 0 && isEvaluated) { // the run ended there
        const std::string last = "{\"eval\":true,\"epoch\":9}\n";
        kept += last;
        log.insert(records(1, step).size(), last);
      }
      INFO(step << " " << isEvaluated);
      CHECK(warnings(log, after(step, isEvaluated)) == "");
      CHECK(log == kept);
    }
  }
}

TEST_CASE("json log: missing evaluations are counted", "[harness][log]") {
  std::string log = records(1, 30);
  dropLine(log, "{\"eval\":true,\"epoch\":1");
  std::string copy = log;
  CHECK(warnings(copy, after(25, false)) ==
        ": has no records of 1 of the evaluations up to step 25\n");
  CHECK(warnings(log, after(20, false)) == "");
  log = records(1, 20);
  dropLine(log, "{\"eval\":true,\"epoch\":1");
  CHECK(warnings(log, after(20, true)) ==
        ": has no records of 1 of the evaluations up to step 20\n");
  // Also where steps around them are missing.
  log = records(1, 8) + records(23, 25);
  CHECK(warnings(log, after(25, false)) ==
        ": has no records of 14 of the steps up to 25 and of 2 of their "
        "evaluations\n");
  log = records(1, 8);
  CHECK(warnings(log, after(25, true)) ==
        ": has no records of 17 of the steps up to 25 and of 3 of their "
        "evaluations\n");
  // A run without evaluations has none to lose.
  JsonLog::Position position = after(25, false);
  position.epochs.reset();
  log = records(1, 25);
  dropLine(log, "{\"eval\":true,\"epoch\":0");
  CHECK(warnings(log, position) == "");
}

TEST_CASE("json log: resuming needs no memory for the log", "[harness][log]") {
  TempFolder folder;
  const std::string path = folder / "log";
  // A long line that somebody else wrote, in a file with a hole.
  write(path, records(1, 5));
  constexpr uint64_t holeBytes = 128 << 20;
  std::filesystem::resize_file(path, records(1, 5).size() + holeBytes);
  std::ofstream(path, std::ios::binary | std::ios::app)
      << "\n"
      << records(6, 8) << "{\"step\":9,\"epo";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::ifstream status("/proc/self/statm");
    uint64_t pages = 0;
    status >> pages;
    const rlim_t most =
        pages * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE)) + (32 << 20);
    const rlimit limits = {most, most};
    ::setrlimit(RLIMIT_AS, &limits);
    JsonLog log;
    bool isGood = false;
    try {
      isGood = log.resume(path, after(7, false)).ok();
    } catch (const std::bad_alloc &) {
    }
    ::_exit(isGood ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(std::filesystem::file_size(path) ==
        records(1, 7).size() + holeBytes + 1);
}

TEST_CASE("json log: norms and stats are members of their own",
          "[harness][log]") {
  TempFolder folder;
  const std::string path = folder / "log";
  JsonLog log;
  REQUIRE(log.create(path).ok());
  JsonLog::Details details;
  details.norms = JsonLog::Norms{1.5f, INFINITY};
  log.step(1, 0, 0.5f, 0.1f, details);
  details.scale = JsonLog::Scale{1024, 3};
  log.step(2, 0, NAN, 0.1f, details);
  // Without --log-stats these are no records.
  log.start(0, "\"device\":\"cpu\"");
  log.saved(2);
  log.end(2, "done");
  log.addStats();
  log.start(2, "\"device\":\"cpu\"");
  log.step(3, 0, 0.5f, 0.1f, {});
  log.saved(3);
  log.end(3, "done");
  log.close();
  std::istringstream lines(read(path));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);)
    found.push_back(line);
  REQUIRE(found.size() == 6);
  CHECK(found[0] == "{\"step\":1,\"epoch\":0,\"loss\":0.5,\"lr\":0.1,"
                    "\"grad_norm\":1.5,\"weight_norm\":null}");
  CHECK(found[1] == "{\"step\":2,\"epoch\":0,\"loss\":null,\"lr\":0.1,"
                    "\"loss_scale\":1024,\"skipped_steps\":3,"
                    "\"grad_norm\":1.5,\"weight_norm\":null}");
  const char *begins[] = {"{\"start\":true,\"step\":2,\"device\":\"cpu\"",
                          "{\"step\":3,\"epoch\":0,\"loss\":0.5,\"lr\":0.1",
                          "{\"saved\":true,\"step\":3",
                          "{\"end\":\"done\",\"step\":3"};
  for (size_t i = 0; i < std::size(begins); ++i) {
    const std::string &line = found[2 + i], begin = begins[i];
    INFO(line);
    double time = 0;
    long long bytes = 0;
    char last = 0;
    REQUIRE(line.starts_with(begin));
    CHECK(std::sscanf(line.c_str() + begin.size(),
                      ",\"time\":%lf,\"host_peak_bytes\":%lld%c", &time, &bytes,
                      &last) == 3);
    CHECK(time > 1.5e9);
    CHECK(bytes > 1 << 20);
    CHECK(last == '}');
  }
}

TEST_CASE("json log: a resumed run keeps the other records up to its step",
          "[harness][log]") {
  std::string log = "{\"start\":true,\"step\":0}\n" + records(1, 12) +
                    "{\"saved\":true,\"step\":12}\n" + records(13, 15) +
                    "{\"end\":\"interrupted\",\"step\":15}\n",
              kept = "{\"start\":true,\"step\":0}\n" + records(1, 12) +
                     "{\"saved\":true,\"step\":12}\n";
  std::string whole = log;
  CHECK(warnings(log, after(12, false)) == "");
  CHECK(log == kept);
  std::string copy = whole;
  CHECK(warnings(copy, after(15, false)) == "");
  CHECK(copy == whole);
}

TEST_CASE("json log: that of another run is recognised by a loss",
          "[harness][log]") {
  TempFolder folder;
  const std::string path = folder / "log";
  write(path, records(1, 12));
  auto resume = [&](std::optional<float> loss) {
    JsonLog::Position position = after(7, false);
    position.loss = loss;
    JsonLog log;
    return log.resume(path, position);
  };
  for (float loss : {0.25f, 0.50000006f}) {
    const Status status = resume(loss);
    CHECK(status.code() == SINTER_INVALID);
    CHECK(status.message() ==
          path + ": is the log of another run (step 7 has the loss 0.5, not " +
              jsonNumber(loss) + "); name another file");
    CHECK(read(path) == records(1, 12));
  }
  CHECK(resume(0.5f).ok());
  CHECK(read(path) == records(1, 7));
  // Older checkpoints have none.
  CHECK(resume(std::nullopt).ok());
  write(path, "{\"step\":7,\"epoch\":0,\"loss\":null,\"lr\":0.1}\n");
  CHECK(!resume(0.5f).ok());
}

TEST_CASE("json log: one run writes to it at a time", "[harness][log]") {
  TempFolder folder;
  const std::string path = folder / "log";
  write(path, records(1, 3));
  {
    LogFile first;
    REQUIRE(first.open(path, O_CREAT).ok());
    JsonLog second, third;
    for (const Status &status :
         {second.create(path), third.resume(path, after(2, false))}) {
      CHECK(status.code() == SINTER_INVALID);
      CHECK(status.message() == path + ": another run writes to it");
    }
    CHECK(read(path) == records(1, 3));
  }
  JsonLog later;
  CHECK(later.create(path).ok());
  CHECK(read(path).empty());
  // A log that is replaced by one in use is not continued there.
  LogFile log, other;
  REQUIRE(log.open(folder / "one", O_CREAT).ok());
  REQUIRE(other.open(folder / "two", O_CREAT).ok());
  std::filesystem::rename(folder / "two", folder / "one");
  log.append("text\n");
  CHECK(read(folder / "one").empty());
  CHECK(log.lostText() == ", 1 record of " + (folder / "one") + " is lost");
}
