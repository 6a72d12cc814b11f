//===- SavingTest.cpp - runs whose saves, logs or data fail ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TrainerRuns.h"

#include "runtime/harness/LogFile.h"
#include "runtime/harness/Signals.h"
#include "runtime/train/Checkpoint.h"

#include <filesystem>
#include <sys/stat.h>

using namespace trainerruns;
namespace fs = std::filesystem;

namespace {

/// Starts a run that only a signal ends, and waits for its first step.
Process startEndless(Bench &bench, std::vector<std::string> more) {
  more.insert(more.end(), {"--threads=1", "--steps=2000000000",
                           "--out=" + bench.path("out"),
                           "--log-json=" + bench.path("log")});
  Process process(bench.folder.path(), more);
  bench.awaitLog("log", 0);
  return process;
}

/// Waits until the run's errors have `text`, for half a minute at most.
bool awaitError(Bench &bench, const std::string &text) {
  for (int i = 0; i < 600; ++i) {
    if (read(bench.path("err.txt")).find(text) != std::string::npos)
      return true;
    ::usleep(50000);
  }
  return false;
}

bool has(const Outcome &outcome, const std::string &part) {
  return outcome.err.find(part) != std::string::npos;
}

/// The bench's training data as a table with `rows` rows.
void writeCsv(Bench &bench, int rows) {
  std::string text = "a,b,c,d,label\n";
  for (int row = 0; row < rows; ++row) {
    const int label = row % 3;
    for (int f = 0; f < 4; ++f)
      text += f == label ? "1," : "0,";
    text += std::to_string(label) + "\n";
  }
  write(bench.path("train.csv"), text);
}

} // namespace

TEST_CASE("a save by time that fails is tried again soon",
          "[harness][train][save]") {
  Bench bench;
  const std::string out = bench.path("out");
  Process process = startEndless(bench, {"--data=" + bench.path("train.npz"),
                                         "--quiet", "--checkpoint-every=2s"});
  fs::rename(out, out + "-away");
  write(out, "in the way");
  const bool isSaid = awaitError(bench, "not saved");
  fs::remove(out);
  fs::rename(out + "-away", out);
  bool isSaved = false;
  for (int i = 0; i < 200 && !isSaved; ++i) {
    isSaved = !sinter::rt::listCheckpoints(out)->empty();
    ::usleep(50000);
  }
  process.signal(SIGTERM);
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 75);
  CHECK(isSaid);
  CHECK(isSaved);
  CHECK(has(outcome, "; training continues, older checkpoints are untouched; "
                     "tried again in 1 s\n"));
}

TEST_CASE("a last save without memory says what is lost",
          "[harness][train][save]") {
  Bench bench;
  const std::string out = bench.path("out");
  ::setenv("SINTER_TEST_NO_MEMORY", (out + "/.tmp-step-00000020").c_str(), 1);
  Outcome outcome =
      bench.train({"--steps=20", "--checkpoint-every=10", "--out=" + out});
  Outcome spare = bench.train({"--steps=20", "--out=" + out, "--resume",
                               "--spare=" + bench.path("spare")});
  ::setenv("SINTER_TEST_NO_MEMORY", (out + "2/.tmp-step-00000010").c_str(), 1);
  Outcome earlier = bench.train(
      {"--steps=20", "--checkpoint-every=10", "--out=" + out + "2"});
  ::unsetenv("SINTER_TEST_NO_MEMORY");
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(has(outcome, "warning: checkpoint of step 20 not saved: out of memory; "
                     "trying again\n"));
  CHECK(has(outcome,
            "error: checkpoint of step 20 not saved: out of memory; the "
            "training of steps 11 to 20 is lost, the checkpoint of step 10 is "
            "the newest; --spare=DIR names another directory\n"));
  INFO(spare.err);
  CHECK(spare.code == 1);
  CHECK(has(spare, "it was saved as " + bench.path("spare/step-00000020") +
                       " instead"));
  requireOk(earlier);
  CHECK(has(earlier, "warning: checkpoint of step 10 not saved: out of memory; "
                     "training continues, older checkpoints are untouched; "
                     "tried again in 60 s, or after step 20 if that is "
                     "sooner\n"));
}

TEST_CASE("lost log records are said however the run ends",
          "[harness][train][log]") {
  Bench bench;
  const std::string pipe = bench.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  const std::string said = " are lost\n";
  {
    Process process(bench.folder.path(),
                    bench.arguments({"--quiet", "--steps=2000000000",
                                     "--log-json=" + pipe}));
    CHECK(awaitError(bench, "new records are lost"));
    process.signal(SIGTERM);
    Outcome outcome = process.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 75);
    CHECK(has(outcome, " records of " + pipe + said));
  }
  Outcome outcome =
      bench.train({"--quiet", "--steps=4000", "--log-json=" + pipe});
  requireOk(outcome);
  CHECK(has(outcome, " records of " + pipe + said));
  // A failure: a label that the model does not have.
  bench.writeData("train.npz", 32000, 3);
  write(bench.path("bad.csv"), "1,2,3,4,9\n");
  outcome = bench.train({"--quiet", "--epochs=1", "--log-json=" + pipe,
                         "--eval-data=" + bench.path("bad.csv")});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(has(outcome, " records of " + pipe + said));
  ::close(reader);
}

TEST_CASE("a log whose path names another file continues there",
          "[harness][log]") {
  testfiles::TempFolder folder;
  const std::string path = folder / "log";
  sinter::rt::LogFile log;
  REQUIRE(log.open(path, O_CREAT).ok());
  log.append("one\n");
  fs::rename(path, path + ".1"); // as log rotation does
  log.append("two\n");
  CHECK(read(path + ".1") == "one\n");
  CHECK(read(path) == "two\n");
  write(folder / "other", "its own\n");
  fs::rename(folder / "other", path);
  log.append("three\n");
  log.append("four\n");
  CHECK(read(path) == "its own\nthree\nfour\n");
  CHECK(log.lostText().empty());
}

TEST_CASE("the limit on CPU time ends a run like SIGTERM",
          "[harness][train][kill]") {
  Bench bench;
  ::setenv("SINTER_TEST_CPU", "1", 1);
  Outcome outcome =
      bench.train({"--quiet", "--steps=2000000000", "--checkpoint-every=0",
                   "--out=" + bench.path("out")});
  ::unsetenv("SINTER_TEST_CPU");
  INFO(outcome.err);
  CHECK(outcome.code == 75);
  CHECK(has(outcome, "continue with --resume"));
  CHECK(sinter::rt::listCheckpoints(bench.path("out"))->size() == 1);
  // The system repeats the signal every second; that stops nothing at once.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    sinter::rt::watchSignals();
    ::raise(SIGXCPU);
    ::usleep(1100000);
    ::raise(SIGXCPU);
    ::_exit(sinter::rt::stopRequested() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a hangup does not end a run", "[harness][train][kill]") {
  Bench bench;
  Process process = startEndless(
      bench, {"--data=" + bench.path("train.npz"), "--checkpoint-every=0"});
  process.signal(SIGHUP);
  process.signal(SIGPIPE);
  ::usleep(50000);
  const size_t logged = read(bench.path("log")).size();
  bench.awaitLog("log", logged);
  CHECK(read(bench.path("log")).size() > logged);
  process.signal(SIGTERM);
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 75);
}

TEST_CASE("data in memory may change on disk", "[harness][train][data]") {
  Bench bench;
  writeCsv(bench, 83);
  const std::string data = "--data=" + bench.path("train.csv");
  Process process =
      startEndless(bench, {data, "--checkpoint-every=0", "--quiet"});
  process.signal(SIGSTOP); // so that it sees the whole of the change at once
  writeCsv(bench, 90);     // in place
  process.signal(SIGCONT);
  ::usleep(200000); // some epochs
  process.signal(SIGTERM);
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 75);
  const std::string warning =
      "warning: " + bench.path("train.csv") +
      " was modified after it was read into memory; the run goes on with what "
      "was read; if its content differs, --resume needs "
      "--accept-dataset-change\n";
  CHECK(has(outcome, warning));
  CHECK(outcome.err.find(warning) == outcome.err.rfind(warning));
  REQUIRE(sinter::rt::listCheckpoints(bench.path("out"))->size() == 1);
  // The checkpoint is of what was read.
  const std::string out = "--out=" + bench.path("out");
  outcome = bench.run({"--resume", out});
  CHECK(outcome.code == 2);
  CHECK(has(outcome, "is not the data of the checkpoint (90 rows now, 83 "
                     "then)"));
}
