//===- KeptWorkTest.cpp - work lost by failures and signals ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TrainerRuns.h"

#include "runtime/harness/LogFile.h"
#include "runtime/train/Checkpoint.h"

#include <filesystem>
#include <sys/stat.h>
#include <sys/time.h>

using namespace trainerruns;

namespace {

/// Like the bench's data, but with the label `label` in row `row`.
void writeLabel(Bench &bench, const char *name, int rows, int row, int label) {
  std::string x(static_cast<size_t>(rows) * 16, '\0'),
      labels(static_cast<size_t>(rows), '\1');
  labels[static_cast<size_t>(row)] = static_cast<char>(label);
  std::string shape = "(" + std::to_string(rows);
  write(bench.path(name),
        zip({{"x.npy", npy("<f4", shape + ", 4)", x), true},
             {"labels.npy", npy("|u1", shape + ",)", labels), false}}));
}

/// Starts a run that only a signal or a failure ends, and waits for its first
/// step.
Process startLong(Bench &bench, std::vector<std::string> more = {}) {
  more.insert(more.end(),
              {"--steps=2000000", "--out=" + bench.path("out"),
               "--checkpoint-every=0", "--log-json=" + bench.path("log")});
  Process process(bench.folder.path(), bench.arguments(more));
  bench.awaitLog("log", 0);
  return process;
}

bool has(const Outcome &outcome, const std::string &part) {
  return outcome.err.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a failed evaluation loses no step", "[harness][train][kept]") {
  Bench bench;
  writeLabel(bench, "bad.npz", 21, 20, 9);
  requireOk(bench.train({"--epochs=1", "--out=" + bench.path("whole")}));
  const std::string out = "--out=" + bench.path("out");
  Outcome outcome =
      bench.train({"--epochs=1", "--eval-data=" + bench.path("bad.npz"), out});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(has(outcome, "the state after step 10 was saved: --resume continues"));
  CHECK(bench.state("out", 10) == bench.state("whole", 10));
  outcome = bench.train(
      {"--epochs=1", "--eval-data=" + bench.path("test.npz"), out, "--resume"});
  requireOk(outcome);
  CHECK(outcome.out.find("accuracy") != std::string::npos);
}

TEST_CASE("bad training data loses no step before it",
          "[harness][train][kept]") {
  Bench bench;
  writeLabel(bench, "bad.npz", 83, 70, 9);
  writeLabel(bench, "good.npz", 83, 70, 1);
  auto train = [&](const char *data, const char *out) {
    return bench.run({"--data=" + bench.path(data), "--threads=1",
                      "--shuffle=false", "--epochs=1",
                      "--out=" + bench.path(out)});
  };
  Outcome outcome = train("bad.npz", "out");
  INFO(outcome.err);
  CHECK(outcome.code != 0);
  // Row 70 is in the ninth batch of eight.
  CHECK(has(outcome, "the state after step 8 was saved"));
  outcome = bench.run({"--data=" + bench.path("good.npz"), "--threads=1",
                       "--shuffle=false", "--steps=8",
                       "--out=" + bench.path("eight")});
  requireOk(outcome);
  CHECK(bench.state("out", 8) == bench.state("eight", 8));
}

TEST_CASE("a step whose loss is not finite loses none before it",
          "[harness][train][kept]") {
  Bench bench;
  Outcome outcome =
      bench.train({"--steps=500", "--lr=1e38", "--checkpoint-every=400",
                   "--out=" + bench.path("out")});
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  // After the first step the weights are huge but finite.
  CHECK(has(outcome, "the state after step 1 was saved"));
  const std::string saved = bench.state("out", 1);
  Outcome again =
      bench.train({"--steps=500", "--out=" + bench.path("out"), "--resume"});
  INFO(again.err);
  CHECK(again.code == 1);
  CHECK(has(again, "is not a finite number"));
  CHECK(bench.state("out", 1) == saved);
}

TEST_CASE("a checkpoint that cannot be read is not taken for damaged",
          "[harness][train][kept]") {
  Bench bench;
  const std::string out = bench.path("out");
  requireOk(
      bench.train({"--steps=20", "--checkpoint-every=10", "--out=" + out}));
  const std::string newest = out + "/step-00000020";
  const std::string payload = newest + "/state.safetensors";
  // A link to itself: opening it fails for every user.
  std::filesystem::rename(payload, out + "/kept");
  std::filesystem::create_symlink("state.safetensors", payload);
  for (const std::vector<std::string> &command :
       {std::vector<std::string>{"eval", "--data=" + bench.path("test.npz"),
                                 "--checkpoint=" + out},
        {"export", "--checkpoint=" + out, "-o", bench.path("w.safetensors")},
        {"--data=" + bench.path("train.npz"), "--steps=30", "--out=" + out,
         "--resume"}}) {
    Outcome outcome = bench.run(command);
    INFO(command.front() << ": " << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(has(outcome, "cannot be read"));
    CHECK(has(outcome, "try again"));
  }
  CHECK(!std::filesystem::exists(bench.path("w.safetensors")));
  std::filesystem::remove(payload);
  std::filesystem::rename(out + "/kept", payload);
  Outcome outcome = bench.train({"--steps=30", "--out=" + out, "--resume"});
  requireOk(outcome);
  CHECK(has(outcome, "resumed after step 20"));
}

TEST_CASE("a damaged checkpoint is not exported or evaluated in silence, and "
          "not removed",
          "[harness][train][kept]") {
  Bench bench;
  const std::string out = bench.path("out");
  const std::string newest = out + "/step-00000020";
  for (int round = 1; round <= 2; ++round) {
    requireOk(bench.train(
        {"--steps=20", "--checkpoint-every=10", "--out=" + out, "--resume"}));
    std::string bytes = read(newest + "/state.safetensors");
    bytes[bytes.size() - 3] ^= 1;
    write(newest + "/state.safetensors", bytes);
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"eval", "--data=" + bench.path("test.npz"),
                                   "--checkpoint=" + out},
          {"export", "--checkpoint=" + out, "-o",
           bench.path("w.safetensors")}}) {
      Outcome outcome = bench.run(command);
      INFO(command.front() << ": " << outcome.err);
      CHECK(outcome.code == 1);
      CHECK(has(outcome, "the newest checkpoint is damaged"));
      CHECK(has(outcome, "the newest sound one is " + out + "/step-00000010"));
    }
    Outcome outcome = bench.train(
        {"--steps=10", "--out=" + out, "--resume", "--checkpoint-every=5"});
    requireOk(outcome);
    const std::string aside = out + "/damaged-step-00000020" +
                              (round == 1 ? "" : "-" + std::to_string(round));
    CHECK(has(outcome, newest + " is now " + aside));
    CHECK(std::filesystem::exists(aside));
  }
}

TEST_CASE("signals that come together are one", "[harness][train][kept]") {
  for (int first : {SIGTERM, SIGINT, SIGUSR1}) {
    Bench bench;
    Process process(
        bench.folder.path(),
        bench.arguments({"--steps=100000000", "--checkpoint-every=100000000",
                         "--out=" + bench.path("out"),
                         "--log-json=" + bench.path("log")}));
    bench.awaitLog("log", 0);
    process.signal(first);
    process.signal(SIGTERM);
    ::usleep(1000);
    process.signal(SIGTERM);
    Outcome outcome = process.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 75);
    CHECK(has(outcome, "continue with --resume"));
    requireOk(bench.train({"--steps=1", "--out=" + bench.path("other")}));
  }
}

TEST_CASE("a log pipe without a reader does not keep a run from ending",
          "[harness][train][kept]") {
  Bench bench;
  REQUIRE(::mkfifo(bench.path("pipe").c_str(), 0666) == 0);
  Process process(
      bench.folder.path(),
      bench.arguments({"--steps=10", "--log-json=" + bench.path("pipe")}));
  for (int i = 0;
       i < 200 && read(bench.path("err.txt")).find("waiting for a reader") ==
                      std::string::npos;
       ++i)
    ::usleep(50000);
  process.signal(SIGTERM);
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 75);
  CHECK(has(outcome, "interrupted while it waited for a reader"));
}

TEST_CASE("a log pipe that nobody reads loses records, not the run",
          "[harness][train][kept]") {
  Bench bench;
  REQUIRE(::mkfifo(bench.path("pipe").c_str(), 0666) == 0);
  const int reader =
      ::open(bench.path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  Outcome outcome =
      bench.train({"--steps=4000", "--log-json=" + bench.path("pipe")});
  ::close(reader);
  requireOk(outcome);
  CHECK(has(outcome, "records are lost"));
  CHECK(outcome.out.find("records of " + bench.path("pipe") + " are lost") !=
        std::string::npos);
}

TEST_CASE("a record that a pipe takes in parts is completed",
          "[harness][kept]") {
  testfiles::TempFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  sinter::rt::LogFile log;
  REQUIRE(log.open(path, 0).ok());
  // Room for less than the second record, and for more than PIPE_BUF.
  REQUIRE(::fcntl(reader, F_SETPIPE_SZ, 1 << 16) == 1 << 16);
  const std::string first(60000, 'a'), second(50000, 'b'), third(10, 'c');
  std::string all;
  auto drain = [&] {
    std::vector<char> buffer(1 << 16);
    for (ssize_t count = 0;
         (count = ::read(reader, buffer.data(), buffer.size())) > 0;)
      all.append(buffer.data(), static_cast<size_t>(count));
  };
  log.append(first);
  log.append(second);
  CHECK(log.lostText().find("is cut short") != std::string::npos);
  log.append(third); // is lost because the pipe is still full
  drain();
  log.append(third);
  drain();
  CHECK(all == first + second + third);
  CHECK(log.lostText() == ", 1 record of " + path + " is lost");
  log.close();
  ::close(reader);
}

TEST_CASE("a run goes on when its data is touched, and says so",
          "[harness][train][kept]") {
  Bench bench;
  bench.writeData("train.npz", 40000, 5);
  Process process = startLong(bench);
  const timeval times[2] = {{1000000000, 0}, {1000000000, 0}};
  REQUIRE(::utimes(bench.path("train.npz").c_str(), times) == 0);
  process.signal(SIGTERM);
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 75);
  const std::string warning = "train.npz was modified while it was read";
  CHECK(has(outcome, warning));
  CHECK(outcome.err.find(warning) == outcome.err.rfind(warning));
  CHECK(!sinter::rt::listCheckpoints(bench.path("out"))->empty());
}

TEST_CASE("a run whose --out is removed makes it again",
          "[harness][train][kept]") {
  Bench bench;
  Process process = startLong(bench);
  std::filesystem::remove_all(bench.path("out"));
  process.signal(SIGTERM);
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 75);
  CHECK(has(outcome, "was removed or renamed during the run"));
  CHECK(sinter::rt::listCheckpoints(bench.path("out"))->size() == 1);
}

TEST_CASE("a run does not save into a directory that another one has taken",
          "[harness][train][kept]") {
  Bench bench;
  const std::string out = bench.path("out");
  Process first = startLong(bench);
  std::filesystem::remove_all(out);
  // The other run has ended by the time of the first one's save, which is tried
  // twice.
  requireOk(bench.run({"--data=" + bench.path("train.npz"), "--steps=7",
                       "--out=" + out, "--threads=1"}));
  const std::string others = bench.state("out", 7);
  first.signal(SIGTERM);
  Outcome outcome = first.wait();
  CHECK(outcome.code == 1);
  // Both processes write to one err.txt; the directory tells.
  CHECK(*sinter::rt::listCheckpoints(out) == std::vector<int64_t>{7});
  CHECK(bench.state("out", 7) == others);
}

TEST_CASE("a run whose lock file is removed makes it again",
          "[harness][train][kept]") {
  Bench bench;
  Process process = startLong(bench);
  std::filesystem::remove(bench.path("out") + "/.lock");
  process.signal(SIGTERM);
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 75);
  CHECK(has(outcome, "its lock file was removed during the run"));
  CHECK(std::filesystem::exists(bench.path("out") + "/.lock"));
}

TEST_CASE("a failure caused by data that changed saves nothing",
          "[harness][train][kept]") {
  Bench bench;
  writeLabel(bench, "train.npz", 83, 1, 1);
  Process process = startLong(bench);
  // The label is overwritten in place: the last byte of the second member.
  std::string bytes = read(bench.path("train.npz"));
  std::string label(83, '\1');
  size_t at = bytes.rfind(label);
  REQUIRE(at != std::string::npos);
  std::fstream file(bench.path("train.npz"),
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.put('\x63');
  file.close();
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code != 0);
  CHECK(!has(outcome, "was saved: --resume continues"));
  CHECK(has(outcome, "is not saved"));
}

TEST_CASE("a log in the file of standard output erases nothing",
          "[harness][train][kept]") {
  Bench bench;
  const std::string job = bench.path("out.txt"); // of the process
  Outcome outcome = bench.train({"--steps=5", "--log-json=" + job});
  requireOk(outcome);
  const std::string text = read(job);
  INFO(text);
  size_t records = 0;
  for (size_t at = 0; (at = text.find("{\"step\":", at)) != text.npos; ++at)
    ++records;
  CHECK(records == 5);
  CHECK(text.find("trained 5 steps") != std::string::npos);
}

TEST_CASE("resume keeps what it does not know in a log",
          "[harness][train][kept]") {
  Bench bench;
  const std::string log = "--log-json=" + bench.path("log");
  requireOk(bench.train({"--steps=6", "--out=" + bench.path("out"), log}));
  std::string text = read(bench.path("log"));
  text.insert(text.find('\n') + 1, "a note\n");
  write(bench.path("log"), text);
  Outcome outcome =
      bench.train({"--steps=8", "--out=" + bench.path("out"), log, "--resume"});
  requireOk(outcome);
  CHECK(!has(outcome, "has no records"));
  const std::string after = read(bench.path("log"));
  CHECK(after.starts_with(text));
  CHECK(after.find("{\"step\":8,") != std::string::npos);
}

TEST_CASE("resume keeps off the log of another run", "[harness][train][kept]") {
  Bench bench;
  const std::string log = "--log-json=" + bench.path("log"),
                    own = "--log-json=" + bench.path("own"),
                    out = "--out=" + bench.path("out");
  requireOk(bench.train({"--steps=12", log}));
  requireOk(bench.train({"--steps=6", "--seed=2", out, own}));
  const std::string before = read(bench.path("log"));
  Outcome outcome = bench.train({"--steps=8", out, log, "--resume"});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(has(outcome, "error: --log-json: " + bench.path("log") +
                         ": is the log of another run (step 6 has the loss "));
  CHECK(read(bench.path("log")) == before);
  // A run that makes no step passes the loss on.
  requireOk(bench.train({"--steps=6", out, own, "--resume=" + out.substr(6)}));
  requireOk(bench.train({"--steps=8", out, own, "--resume"}));
  const std::string whole = read(bench.path("own"));
  CHECK(whole.find("{\"step\":8,") != std::string::npos);
  outcome = bench.train({"--steps=9", "--out=" + bench.path("other"), log,
                         "--resume=" + bench.path("out")});
  CHECK(outcome.code == 2);
  CHECK(read(bench.path("log")) == before);
}

TEST_CASE("a log has one run at a time", "[harness][train][kept]") {
  Bench bench;
  Bench other; // with streams of its own
  Process process = startLong(bench);
  const std::string before = read(bench.path("log"));
  Outcome outcome =
      other.train({"--steps=3", "--log-json=" + bench.path("log")});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(outcome.err == "error: --log-json: " + bench.path("log") +
                           ": another run writes to it\n");
  process.signal(SIGTERM);
  CHECK(process.wait().code == 75);
  const std::string log = read(bench.path("log"));
  CHECK(log.starts_with(before));
  CHECK(std::count(log.begin(), log.end(), '\n') > 3);
  CHECK(log.rfind("{\"step\":1,") == 0); // once
  requireOk(other.train({"--steps=3", "--log-json=" + bench.path("log")}));
  const std::string after = read(bench.path("log"));
  CHECK(std::count(after.begin(), after.end(), '\n') == 3);
}

TEST_CASE("a log that is removed is made again", "[harness][kept]") {
  testfiles::TempFolder folder;
  const std::string path = folder / "logs/log";
  std::filesystem::create_directory(folder / "logs");
  sinter::rt::LogFile log;
  REQUIRE(log.open(path, O_CREAT).ok());
  log.append("one\n");
  std::filesystem::remove_all(folder / "logs");
  log.append("two\n");
  CHECK(read(path) == "two\n");
}

TEST_CASE("resume says which records its log lacks", "[harness][train][kept]") {
  Bench bench;
  const std::string log = "--log-json=" + bench.path("log");
  requireOk(bench.train({"--steps=6", "--out=" + bench.path("out"), log}));
  std::string text = read(bench.path("log"));
  auto drop = [&](const char *step) {
    size_t begin = text.find(std::string("{\"step\":") + step);
    text.erase(begin, text.find('\n', begin) + 1 - begin);
  };
  drop("3,");
  drop("6,");
  write(bench.path("log"), text);
  Outcome outcome =
      bench.train({"--steps=8", "--out=" + bench.path("out"), log, "--resume"});
  requireOk(outcome);
  CHECK(has(outcome, "has no records of 2 of the steps up to 6"));
}

TEST_CASE("resume says that data was modified where it compares samples",
          "[harness][train][kept]") {
  Bench bench;
  auto warnsAfter = [&](int rows, const char *out) {
    bench.writeData("train.npz", rows, 5);
    requireOk(
        bench.train({"--steps=3", std::string("--out=") + bench.path(out)}));
    const timeval times[2] = {{1000000000, 0}, {1000000000, 0}};
    REQUIRE(::utimes(bench.path("train.npz").c_str(), times) == 0);
    Outcome outcome = bench.train(
        {"--steps=4", std::string("--out=") + bench.path(out), "--resume"});
    requireOk(outcome);
    return has(outcome, "was modified after the checkpoint's run");
  };
  CHECK(warnsAfter(40000, "large"));
  CHECK(!warnsAfter(83, "small"));
}

TEST_CASE("an export through a symbolic link replaces its target",
          "[harness][train][kept]") {
  Bench bench;
  requireOk(bench.train({"--steps=2", "--out=" + bench.path("out")}));
  write(bench.path("target.safetensors"), "old");
  std::filesystem::create_symlink("target.safetensors",
                                  bench.path("link.safetensors"));
  requireOk(bench.run({"export", "--checkpoint=" + bench.path("out"), "-o",
                       bench.path("link.safetensors")}));
  CHECK(std::filesystem::is_symlink(bench.path("link.safetensors")));
  CHECK(read(bench.path("target.safetensors")).size() > 100);
}
