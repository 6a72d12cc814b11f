//===- ResumeTest.cpp - resumed runs of the tiny program ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TrainerRuns.h"
#include "runtime/base/Hash.h"
#include "runtime/harness/Recipe.h"
#include "runtime/harness/TrainerOptions.h"
#include "runtime/train/Checkpoint.h"

#include <catch2/catch.hpp>
#include <set>
#include <sys/stat.h>

using namespace trainerruns;
namespace fs = std::filesystem;

namespace {

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments first, const Arguments &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A run and what resumes it, without any other option.
struct Resumable : Bench {
  std::string out(const std::string &name) { return "--out=" + path(name); }
  /// As if the run in `whole` had been killed after `step`.
  void cutAfter(int step, const std::string &name) {
    std::string from = sinter::rt::checkpointPath(path("whole"), step);
    fs::remove_all(path(name));
    fs::create_directories(path(name));
    fs::copy(from, sinter::rt::checkpointPath(path(name), step));
  }
  Outcome resume(const std::string &name, Arguments more = {}) {
    return run(Arguments{"--resume", "--threads=1", out(name)} + more);
  }
  sinter::rt::Manifest manifest(const std::string &name, int step) {
    auto parsed = sinter::rt::parseManifest(
        read(sinter::rt::checkpointPath(path(name), step) + "/manifest.json"));
    REQUIRE(parsed.ok());
    return *parsed;
  }
};

} // namespace

TEST_CASE("resume: bare, after any step, of every schedule",
          "[harness][train][resume]") {
  for (Arguments schedule : {
           Arguments{"--lr-schedule=constant", "--weight-decay=0.01"},
           Arguments{"--lr-schedule=step:5,0.5", "--warmup-steps=3"},
           Arguments{"--lr-schedule=linear", "--lr-final=0.01"},
           Arguments{"--lr-schedule=cosine", "--warmup-steps=4", "--seed=7"},
           Arguments{"--lr-schedule=one-cycle", "--shuffle=false"},
       }) {
    Resumable bench;
    std::string eval = "--eval-data=" + bench.path("test.npz");
    requireOk(bench.train(
        schedule + Arguments{"--steps=23", "--lr=0.05", "--keep=0", eval,
                             "--checkpoint-every=1", bench.out("whole")}));
    for (int step : {1, 2, 9, 10, 11, 22}) {
      INFO(schedule[0] << " after step " << step);
      bench.cutAfter(step, "cut");
      Outcome outcome = bench.resume("cut");
      requireOk(outcome);
      CHECK(outcome.err ==
            "note: resumed after step " + std::to_string(step) + "\n");
      CHECK(has(outcome.out, "accuracy "));
      CHECK(bench.state("cut", 23) == bench.state("whole", 23));
      // Checkpoints come as often as before.
      CHECK(fs::exists(bench.path("cut/step-00000021")) == (step < 22));
    }
  }
}

TEST_CASE("resume: what is given and differs is applied and said",
          "[harness][train][resume]") {
  Resumable bench;
  requireOk(bench.train({"--steps=12", "--lr=0.05", "--lr-schedule=cosine",
                         "--lr-final=0.001", "--checkpoint-every=6",
                         bench.out("whole")}));
  auto said = [&](Arguments more) {
    bench.cutAfter(6, "cut");
    Outcome outcome = bench.resume("cut", more);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome.err.substr(0, outcome.err.find("note: "));
  };
  CHECK(said({}) == "");
  CHECK(said({"--lr=5e-2", "--seed=0"}) == "");
  CHECK(said({"--lr=1e-1"}) == "resume: lr 0.1 instead of 0.05\n");
  CHECK(said({"--seed=2"}) == "resume: seed 2 instead of 0\n");
  CHECK(said({"--shuffle=false"}) == "resume: shuffle false instead of true\n");
  CHECK(said({"--lr-schedule=constant"}) ==
        "resume: lr-schedule constant instead of cosine\n");
  CHECK(said({"--weight-decay=0.5", "--warmup-steps=8"}) ==
        "resume: warmup-steps 8 instead of 0\n"
        "resume: weight-decay 0.5 instead of 0\n");
  CHECK(said({"--epochs=2"}) == "resume: epochs 2 instead of steps 12\n");
  CHECK(said({"--steps=20"}) == "resume: steps 20 instead of 12\n");
  CHECK(said({"--checkpoint-every=2m"}) ==
        "resume: checkpoint-every 120s instead of 6\n");
  std::string other = bench.path("again.npz");
  fs::copy(bench.path("train.npz"), other);
  CHECK(said({"--data=" + other}) == "resume: data " + other + " instead of " +
                                         bench.path("train.npz") + "\n");
  // From then on the given value belongs to the run.
  requireOk(bench.resume("cut", {"--steps=14", "--lr=0.03"}));
  auto options = bench.manifest("cut", 14).options;
  CHECK(std::count(options.begin(), options.end(),
                   std::pair<std::string, std::string>("lr", "0.03")) == 1);
}

TEST_CASE("resume: other data recounts the epochs, and that is said",
          "[harness][train][resume]") {
  Resumable bench;
  requireOk(bench.train(
      {"--epochs=3", "--checkpoint-every=5", "--keep=0", bench.out("whole")}));
  auto said = [&](int rows, int step, Arguments more) {
    bench.writeData("train.npz", rows, 1);
    bench.cutAfter(step, "cut");
    Outcome outcome =
        bench.resume("cut", Arguments{"--accept-dataset-change"} + more);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome.err.substr(0, outcome.err.find("note: "));
  };
  const std::string data = "resume: " + bench.path("train.npz") +
                           " is not the data of the checkpoint (";
  CHECK(said(83, 25, {}) == "");
  // As many batches.
  CHECK(said(84, 25, {}) == data + "84 rows now, 83 then)\n");
  CHECK(said(100, 25, {}) ==
        data + "100 rows now, 83 then)\n"
               "resume: an epoch has 12 batches, not 10: step 25 was after 5 "
               "of 10 batches of epoch 3, it is now after 1 of 12 batches of "
               "epoch 3; the run ends after step 36, not 30\n");
  CHECK(said(40, 10, {"--steps=30"}) ==
        "resume: steps 30 instead of epochs 3\n" + data +
            "40 rows now, 83 then)\n"
            "resume: an epoch has 5 batches, not 10: step 10 was at the end "
            "of epoch 1, it is now at the end of epoch 2\n");
  // Without meaning: the run would have ended before.
  bench.writeData("train.npz", 40, 1);
  bench.cutAfter(20, "cut");
  Outcome outcome = bench.resume("cut", {});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "is not the data of the checkpoint (40 rows now, 83 "
                         "then); --accept-dataset-change continues anyway"));
  outcome = bench.resume("cut", {"--accept-dataset-change"});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "; the run ends after step 15, not 30\nerror: the run "
                         "is already at step 20 and would have ended after "
                         "step 15 (--epochs=3, of 5 batches each)\n"));
  bench.writeData("train.npz", 83, 1);
  bench.cutAfter(20, "cut");
  outcome = bench.resume("cut", {"--steps=15"});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "error: the run is already at step 20 and would have "
                         "ended after step 15 (--steps)\n"));
}

TEST_CASE("resume: an empty --eval-data ends the evaluations",
          "[harness][train][resume]") {
  Resumable bench;
  const std::string eval = bench.path("test.npz");
  requireOk(bench.train({"--epochs=2", "--eval-data=" + eval,
                         "--checkpoint-every=5", bench.out("whole")}));
  bench.cutAfter(15, "cut");
  Outcome outcome = bench.resume("cut", {"--eval-data="});
  requireOk(outcome);
  CHECK(has(outcome.err, "resume: eval-data none instead of " + eval + "\n"));
  CHECK(!has(outcome.out, "accuracy"));
  for (const auto &[option, value] : bench.manifest("cut", 20).options)
    CHECK(option != "eval-data");
  // From then on the run has none.
  outcome = bench.resume("cut", {"--epochs=3"});
  requireOk(outcome);
  CHECK(!has(outcome.out, "accuracy"));
  outcome = bench.resume("cut", {"--epochs=3", "--eval-data="});
  requireOk(outcome);
  CHECK(!has(outcome.err, "eval-data"));
}

TEST_CASE("resume: another optimizer is named", "[harness][train][resume]") {
  Resumable bench;
  requireOk(bench.train({"--steps=3", bench.out("out")}));
  ::setenv("SINTER_TEST_LION", "1", 1);
  Outcome refused = bench.resume("out", {"--steps=4"});
  Outcome forced = bench.resume("out", {"--steps=4", "--allow-changed-recipe"});
  ::unsetenv("SINTER_TEST_LION");
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "error: --resume: this program was compiled with "
                         "optimizer lion instead of sgd, the checkpoint's;"));
  INFO(forced.err);
  CHECK(forced.code == 2);
  CHECK(has(forced.err, "\"m/fc.weight\" is missing in the file"));
  CHECK(has(forced.err,
            "; the checkpoint's optimizer is sgd, this program's is lion\n"));
}

TEST_CASE(
    "resume: every option shapes the run and is in its checkpoints, or is "
    "known not to",
    "[harness][options][resume]") {
  // Options for where and how fast it runs, what it prints, and what is done
  // once.
  const std::set<std::string> others = {"out",
                                        "spare",
                                        "on-usr1",
                                        "resume",
                                        "init",
                                        "init-slots",
                                        "init-skip",
                                        "init-map",
                                        "device",
                                        "rank",
                                        "world",
                                        "leader",
                                        "transport",
                                        "comm-timeout",
                                        "join-timeout",
                                        "sync-launches",
                                        "memory-limit",
                                        "threads",
                                        "workers",
                                        "prefetch",
                                        "data-on-device",
                                        "log-json",
                                        "log-stats",
                                        "tensorboard",
                                        "profile",
                                        "json",
                                        "trace-events",
                                        "quiet",
                                        "v",
                                        "help",
                                        "version",
                                        "verify-resume",
                                        "check-nonfinite",
                                        "inject-nonfinite",
                                        "accept-dataset-change",
                                        "allow-changed-recipe"};
  Resumable bench;
  std::string train = "--data=" + bench.path("train.npz");
  requireOk(
      bench.run({train, "--epochs=1", "--lr=0.1", "--lr-final=0.01",
                 "--lr-schedule=linear",
                 "--eval-data=" + bench.path("test.npz"), bench.out("a")}));
  requireOk(
      bench.run({train, "--steps=1", "--checkpoint-every=5", bench.out("b")}));
  std::set<std::string> kept;
  for (auto [name, step] : {std::pair{"a", 10}, {"b", 1}})
    for (const auto &[option, value] : bench.manifest(name, step).options) {
      CHECK(!value.empty());
      kept.insert(option);
    }
  kept.insert("clip-norm");    // of programs with clipping
  kept.insert("label-column"); // of tables
  for (const auto &[name, shapes] : sinter::rt::trainOptionNames()) {
    INFO(name);
    CHECK(kept.count(name) == shapes);
    CHECK(others.count(name) == !shapes);
  }
}

TEST_CASE("resume: a checkpoint of format 1 tells what it can",
          "[harness][train][resume]") {
  sinter::rt::Manifest manifest;
  manifest.seed = 4;
  manifest.shuffle = false;
  manifest.totalSteps = 9;
  manifest.options = {{"lr", "0.5"}};
  std::string text = sinter::rt::manifestText(manifest);
  text.replace(text.find("\"format\": 2"), 11, "\"format\": 1");
  size_t hash = text.rfind("  \"xxh3\": \"");
  text.replace(hash + 11, 16,
               sinter::rt::toHex(
                   sinter::rt::hash64(std::string_view(text).substr(0, hash))));
  auto parsed = sinter::rt::parseManifest(text);
  REQUIRE(parsed.ok());
  CHECK(parsed->options == sinter::rt::Manifest::Texts{{"seed", "4"},
                                                       {"shuffle", "false"},
                                                       {"steps", "9"}});
  CHECK(parsed->recipe.empty());
}

TEST_CASE("resume: differences of recipes", "[harness][train][resume]") {
  using sinter::rt::recipeDifferences;
  auto texts = [](const sinter::rt::Manifest::Texts &then,
                  const sinter::rt::Manifest::Texts &now) {
    std::string all;
    for (const auto &difference : recipeDifferences(then, now))
      all += difference.text + (difference.changesSlots ? " (slots)\n" : "\n");
    return all;
  };
  CHECK(texts({{"eps", "1"}, {"target", "cpu"}},
              {{"eps", "1"}, {"target", "sim"}}) ==
        "target sim instead of cpu\n");
  CHECK(texts({{"beta1", "0.8"}}, {{"beta1", "0.9"}, {"keep_fp32", "a"}}) ==
        "beta1 0.9 instead of 0.8 (slots)\nkeep_fp32 a instead of none\n");
  CHECK(texts({{"deterministic", "arch"}}, {{"deterministic", "none"}}) ==
        "deterministic none instead of arch\n");
  // Checkpoints of older programs do not have these, nor those of format 1 any.
  CHECK(texts({{"eps", "1"}}, {{"deterministic", "none"},
                               {"eps", "1"},
                               {"libraries", "all"},
                               {"mcpu", "native"},
                               {"target", "cpu"}})
            .empty());
  CHECK(texts({}, {{"eps", "1"}}).empty());
}

TEST_CASE("states that are not finite are neither saved nor evaluated",
          "[harness][train][nonfinite]") {
  Resumable bench;
  requireOk(
      bench.train({"--steps=3", "--checkpoint-every=1", bench.out("out")}));
  Outcome outcome =
      bench.resume("out", {"--lr=1e38", "--weight-decay=1e38", "--steps=9"});
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err,
            "error: after the update of step 4 state \"fc.weight\" "
            "has an infinity (element "));
  CHECK(has(outcome.err, "this state was not saved, the checkpoint of step 3 "
                         "was;"));
  CHECK(sinter::rt::listCheckpoints(bench.path("out"))->front() == 3);
  // At the end of an epoch, before it is evaluated.
  outcome = bench.train({"--steps=1", "--lr=1e38", "--weight-decay=1e38",
                         "--eval-data=" + bench.path("test.npz")});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "after the update of step 1 state"));
  CHECK(!has(outcome.out, "accuracy"));
  // A loss that the previous update made non-finite is attributed to that
  // update.
  outcome = bench.train({"--steps=3", "--lr=1e38", "--weight-decay=1e38"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "error: after the update of step 1 state \""));
  CHECK(has(outcome.err, ", and the loss of step 2 is not a finite number "
                         "(rows "));
  // Nothing came before the first step.
  bench.resume("out", {"--steps=3"});
}

TEST_CASE("JSON has no numbers that are not finite", "[harness][nonfinite]") {
  Resumable bench;
  std::string x = testfiles::bytesOf(std::vector<float>(8 * 4, 3e38f));
  write(bench.path("big.npz"),
        zip({{"x.npy", npy("<f4", "(8, 4)", x), false},
             {"labels.npy", npy("|u1", "(8,)", std::string(8, 1)), false}}));
  Outcome outcome = bench.run(
      {"eval", "--json", "--quiet", "--data=" + bench.path("big.npz")});
  requireOk(outcome);
  CHECK(has(outcome.out, "\"loss\":null}"));
  outcome = bench.run({"--data=" + bench.path("big.npz"), "--steps=1",
                       "--check-nonfinite=off", "--quiet",
                       "--log-json=" + bench.path("log")});
  CHECK(has(read(bench.path("log")), "\"loss\":null,"));
}

TEST_CASE("the data may not change under a run", "[harness][train][data]") {
  Resumable bench;
  Process process(bench.folder.path(),
                  bench.arguments({"--steps=2000000", bench.out("out"),
                                   "--checkpoint-every=0",
                                   "--log-json=" + bench.path("log")}));
  bench.awaitLog("log", 0);
  // Changes a byte in place where nobody reads it: in the zip directory.
  std::fstream file(bench.path("train.npz"),
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-30, std::ios::end);
  file.put('~');
  file.close();
  Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "train.npz: was changed while it was read; what was "
                         "trained after step 0 is not saved"));
  CHECK(sinter::rt::listCheckpoints(bench.path("out"))->empty());
}

TEST_CASE("the last save that fails goes elsewhere",
          "[harness][train][faults]") {
  Resumable bench;
  auto train = [&](const char *out, Arguments more) {
    // Something else has the checkpoint's name.
    Process process(
        bench.folder.path(),
        bench.arguments(Arguments{"--steps=30000", bench.out(out),
                                  "--checkpoint-every=10000",
                                  "--log-json=" + bench.path("log")} +
                        more));
    bench.awaitLog("log", read(bench.path("log")).size());
    write(bench.path(out) + "/step-00030000", "in the way");
    return process.wait();
  };
  Outcome outcome = train("one", {});
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "warning: checkpoint of step 30000 not saved"));
  CHECK(has(outcome.err, "; trying again\n"));
  CHECK(has(outcome.err, "the training of steps 20001 to 30000 is lost, the "
                         "checkpoint of step 20000 is the newest; --spare=DIR "
                         "names another directory"));
  outcome = train("two", {"--spare=" + bench.path("spare")});
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err,
            "it was saved as " + bench.path("spare/step-00030000") +
                " instead: continue with --resume=" + bench.path("spare") +
                " and another --out"));
  outcome = bench.run(
      {"--resume=" + bench.path("spare"), bench.out("three"), "--threads=1"});
  requireOk(outcome);
  requireOk(bench.train({"--steps=30000", bench.out("whole")}));
  CHECK(bench.state("spare", 30000) == bench.state("whole", 30000));
  CHECK(bench.train({"--steps=1", "--spare=x"}).code == 2);
  // It belongs to another run now.
  outcome = bench.train(
      {"--steps=1", bench.out("four"), "--spare=" + bench.path("spare")});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "spare: is not empty"));
}

TEST_CASE("signals: SIGUSR1 saves and ends, or saves and goes on",
          "[harness][train][kill]") {
  Resumable bench;
  auto start = [&](const char *name, Arguments more) {
    return bench.arguments(
        Arguments{"--steps=60000", "--checkpoint-every=0", bench.out(name),
                  "--log-json=" + bench.path(name) + ".log"} +
        more);
  };
  requireOk(bench.run(start("whole", {})));
  {
    Process process(bench.folder.path(), start("ends", {}));
    bench.awaitLog("ends.log", 0);
    process.signal(SIGUSR1);
    process.signal(SIGUSR1);
    Outcome outcome = process.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 75);
    CHECK(has(outcome.err, "continue with --resume"));
    requireOk(bench.resume("ends"));
    CHECK(bench.state("ends", 60000) == bench.state("whole", 60000));
  }
  Process process(bench.folder.path(), start("goes", {"--on-usr1=save"}));
  bench.awaitLog("goes.log", 0);
  process.signal(SIGUSR1);
  requireOk(process.wait());
  auto steps = sinter::rt::listCheckpoints(bench.path("goes"));
  REQUIRE(steps->size() == 2);
  CHECK(bench.state("goes", 60000) == bench.state("whole", 60000));
}

TEST_CASE("runs without a place to save, or to log, say so",
          "[harness][train][resume]") {
  Resumable bench;
  Outcome outcome = bench.train({"--steps=1"});
  requireOk(outcome);
  CHECK(has(outcome.out, "no --out: nothing will be saved\n"));
  // Empty logs do not prevent a resume.
  std::string pipe = bench.path("pipe");
  requireOk(bench.train({"--steps=4", "--checkpoint-every=2",
                         bench.out("whole"), "--log-json=/dev/null"}));
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  for (const std::string &log : {std::string("/dev/null"), pipe}) {
    bench.cutAfter(2, "cut");
    outcome = bench.resume("cut", {"--log-json=" + log});
    requireOk(outcome);
    CHECK(outcome.err == "note: resumed after step 2\n");
  }
  char line[12] = {};
  CHECK(::read(reader, line, 11) == 11);
  CHECK(line == std::string("{\"step\":3,\""));
  ::close(reader);
  bench.cutAfter(2, "cut");
  outcome = bench.resume("cut", {"--log-json=" + bench.folder.path(),
                                 "--tensorboard=" + bench.path("train.npz")});
  requireOk(outcome);
  CHECK(has(outcome.err, "warning: --log-json: "));
  CHECK(has(outcome.err, "warning: --tensorboard: "));
}

TEST_CASE("checkpoints come by time, too", "[harness][train][resume]") {
  Resumable bench;
  Process process(
      bench.folder.path(),
      bench.arguments({"--steps=2000000000", bench.out("out"),
                       "--checkpoint-every=1s", "--log-json=/dev/null"}));
  bool isThere = false;
  for (int i = 0; i < 600 && !isThere; ++i) {
    ::usleep(50000);
    auto steps = sinter::rt::listCheckpoints(bench.path("out"));
    isThere = steps.ok() && !steps->empty();
  }
  process.signal(SIGTERM);
  CHECK(process.wait().code == 75);
  CHECK(isThere);
}
