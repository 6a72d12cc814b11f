//===- TrainTest.cpp - whole runs of the trainer on the tiny program ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each run is a separate process: this test executable starts itself again with
// the hidden test case below, which becomes the trainer.
//
//===----------------------------------------------------------------------===//

#include "FailingNew.h"
#include "FakeDriver.h"
#include "GatherOnHost.h"
#include "TinyProgram.h"
#include "TrainerRuns.h"
#include "runtime/harness/Harness.h"
#include "runtime/train/Safetensors.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace testfiles;
using namespace trainerruns;

/// The tiny program, with another name for its output `name`.
static const sinter_artifact &withoutOutput(const char *name) {
  static std::vector<std::vector<sinter_tensor_desc>> outputs;
  static std::vector<sinter_entry> entries;
  static sinter_artifact artifact = tiny::artifact();
  for (uint32_t i = 0; i < artifact.numEntries; ++i) {
    sinter_entry entry = artifact.entries[i];
    outputs.emplace_back(entry.outputs, entry.outputs + entry.numOutputs);
    for (sinter_tensor_desc &output : outputs.back())
      if (std::strcmp(output.name, name) == 0)
        output.name = "other";
    entry.outputs = outputs.back().data();
    entries.push_back(entry);
  }
  artifact.entries = entries.data();
  return artifact;
}

TEST_CASE("the trainer, started by the tests below", "[.trainer-child]") {
  const char *text = std::getenv("SINTER_TEST_TRAINER");
  if (!text)
    return;
  if (const char *limit = std::getenv("SINTER_TEST_FSIZE")) {
    rlim_t bytes = std::strtoul(limit, nullptr, 10);
    rlimit limits = {bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limits);
  }
  if (const char *limit = std::getenv("SINTER_TEST_CPU")) {
    rlimit limits = {std::strtoul(limit, nullptr, 10), 60};
    setrlimit(RLIMIT_CPU, &limits);
  }
  if (const char *path = std::getenv("SINTER_TEST_NO_MEMORY"))
    sinter::test::failAllocationsAt(path);
  std::vector<std::string> arguments = {"trainer"};
  for (std::string rest = text; !rest.empty();) {
    size_t end = rest.find('\n');
    arguments.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  std::optional<sinter::test::FakeDriver> gpu;
  if (const char *failingStep = std::getenv("SINTER_TEST_CUDA")) {
    gpu.emplace();
    gpu->kernels["tiny_step"] = [](void **p) { tiny::stepKernel(p, 0, 1); };
    gpu->kernels[sinter::cuda::gatherKernelName] =
        sinter::test::gatherRowsKernel;
    gpu->kernels["tiny_eval"] = [](void **p) { tiny::evalKernel(p, 0, 1); };
    gpu->failKernel("tiny_step", std::atoi(failingStep),
                    sinter::cuda::result::illegalAddress);
  }
  // Both: the CPU is the default.
  sinter_artifact fat = tiny::artifact();
  fat.next = &tiny::cudaArtifact();
  // Another optimizer, whose slots are called otherwise.
  sinter_artifact lion = tiny::artifact();
  sinter_training recipe = *lion.training;
  std::vector<sinter_state_desc> states(lion.states,
                                        lion.states + lion.numStates);
  recipe.optimizer = "lion";
  for (sinter_state_desc &state : states)
    state.slot = state.slot ? "m" : nullptr;
  lion.training = &recipe;
  lion.states = states.data();
  const sinter_artifact *artifact = std::getenv("SINTER_TEST_FAT")    ? &fat
                                    : std::getenv("SINTER_TEST_LION") ? &lion
                                    : gpu ? &tiny::cudaArtifact()
                                          : &tiny::artifact();
  if (const char *output = std::getenv("SINTER_TEST_OUTPUT"))
    artifact = &withoutOutput(output);
  int code =
      sinter_trainer_main(artifact, int(pointers.size()), pointers.data());
  if (gpu)
    for (const std::string &violation : gpu->violations)
      std::fprintf(stderr, "VIOLATION: %s\n", violation.c_str());
  std::fflush(nullptr);
  ::_exit(code);
}

TEST_CASE("train: a program without an output that the trainer reads",
          "[harness][train]") {
  Bench bench;
  for (const char *name :
       {"loss", "loss_sum", "loss_count", "correct", "correct_count"}) {
    CAPTURE(name);
    ::setenv("SINTER_TEST_OUTPUT", name, 1);
    Outcome trained = bench.train(
        {"--eval-data=" + bench.path("test.npz"), "--epochs=1", "--quiet"});
    Outcome evaluated =
        bench.run({"eval", "--data=" + bench.path("test.npz"), "--quiet"});
    ::unsetenv("SINTER_TEST_OUTPUT");
    const std::string message = std::string(" has no scalar fp32 output ") +
                                name + ": a defect of Sinter";
    CHECK(trained.code == 1);
    CHECK(trained.err.find(message) != std::string::npos);
    CHECK(trained.out.find("trained") == std::string::npos);
    if (std::strcmp(name, "loss") == 0)
      continue; // only steps have it
    CHECK(evaluated.code == 1);
    CHECK(evaluated.err.find(message) != std::string::npos);
  }
}

TEST_CASE("train: learns, logs, evaluates and saves", "[harness][train]") {
  Bench bench;
  Outcome outcome = bench.train({"--eval-data=" + bench.path("test.npz"),
                                 "--epochs=12", "--out=" + bench.path("out"),
                                 "--log-json=" + bench.path("log")});
  requireOk(outcome);
  CHECK(outcome.out.find("3 rows are left out in each epoch") !=
        std::string::npos);
  CHECK(outcome.out.find("trained 120 steps (12 epochs) in ") !=
        std::string::npos);
  size_t at = outcome.out.rfind("accuracy ");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(outcome.out.substr(at + 9)) > 75);

  std::string log = read(bench.path("log"));
  std::istringstream lines(log);
  std::string line;
  int step = 0, evals = 0;
  while (std::getline(lines, line)) {
    double loss = 0, lr = 0, accuracy = 0;
    int number = 0, epoch = 0;
    if (std::sscanf(line.c_str(),
                    "{\"step\":%d,\"epoch\":%d,\"loss\":%lf,\"lr\":%lf}",
                    &number, &epoch, &loss, &lr) == 4) {
      CHECK(number == ++step);
      CHECK(epoch == (step - 1) / 10);
      CHECK(lr == Approx(0.1));
      continue;
    }
    REQUIRE(std::sscanf(
                line.c_str(),
                "{\"eval\":true,\"epoch\":%d,\"accuracy\":%lf,\"loss\":%lf}",
                &epoch, &accuracy, &loss) == 3);
    CHECK(epoch == evals++);
    CHECK(step == 10 * evals);
  }
  CHECK(step == 120);
  CHECK(evals == 12);
  // The three newest of twelve.
  CHECK(!std::filesystem::exists(bench.path("out/step-00000090")));
  CHECK(std::filesystem::exists(bench.path("out/step-00000100")));
  CHECK(std::filesystem::exists(bench.path("out/step-00000120/manifest.json")));

  outcome = bench.run({"eval", "--data=" + bench.path("test.npz"),
                       "--checkpoint=" + bench.path("out")});
  requireOk(outcome);
  CHECK(outcome.out.find("of 21 correct)") != std::string::npos);
  outcome = bench.run({"eval", "--data=" + bench.path("test.npz"), "--json",
                       "--checkpoint=" + bench.path("out")});
  CHECK(outcome.out.find("{\"rows\":21,\"accuracy\":") == 0);
}

TEST_CASE("train: a warm-up that does not end in the run is said",
          "[harness][train]") {
  Bench bench;
  auto said = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--lr=0.1", "--quiet"});
    Outcome outcome = bench.train(more);
    requireOk(outcome);
    return outcome.err;
  };
  for (const char *schedule : {"constant", "step:2,0.5", "linear", "cosine"}) {
    INFO(schedule);
    const std::string option = "--lr-schedule=" + std::string(schedule);
    CHECK(said({"--epochs=1", "--warmup-steps=20", option}) ==
          "warning: --warmup-steps=20: the run has 10 steps, so the rate "
          "reaches 0.05, not --lr=0.1\n");
    CHECK(said({"--epochs=1", "--warmup-steps=10", option}) == "");
  }
  CHECK(said({"--steps=1", "--warmup-steps=2", "--lr-schedule=one-cycle"}) ==
        "warning: --warmup-steps=2: the run has 1 step, so the rate reaches "
        "0.004, not --lr=0.1\n");
  CHECK(said({"--steps=0", "--warmup-steps=2"}) == "");
}

TEST_CASE("train: workers change nothing, seed and shuffle do",
          "[harness][train]") {
  Bench bench;
  auto stateWith = [&](const char *out, std::vector<std::string> more) {
    more.insert(more.end(), {"--steps=25", "--out=" + bench.path(out)});
    requireOk(bench.train(more));
    return bench.state(out, 25);
  };
  std::string base = stateWith("a", {"--seed=0"});
  CHECK(stateWith("b", {}) == base);
  CHECK(stateWith("c", {"--workers=4", "--prefetch=1"}) == base);
  CHECK(stateWith("d", {"--seed=1"}) != base);
  CHECK(stateWith("e", {"--shuffle=false"}) != base);
  CHECK(stateWith("f", {"--weight-decay=0.1"}) != base);
  CHECK(stateWith("g", {"--lr=0.2"}) != base);
}

TEST_CASE("resume: 17 steps and 23 more are 40", "[harness][train][resume]") {
  Bench bench;
  std::string eval = "--eval-data=" + bench.path("test.npz");
  auto trainTo = [&](const char *steps, const char *out, bool resume) {
    std::vector<std::string> more = {
        eval, std::string("--steps=") + steps, "--out=" + bench.path(out),
        "--log-json=" + bench.path(out) + ".log", "--seed=5"};
    if (resume)
      more.push_back("--resume");
    return bench.train(more);
  };
  requireOk(trainTo("40", "whole", false));
  requireOk(trainTo("17", "parts", false));
  Outcome outcome = trainTo("40", "parts", true);
  requireOk(outcome);
  CHECK(outcome.out.find("trained 23 steps") != std::string::npos);
  CHECK(bench.state("parts", 40) == bench.state("whole", 40));
  // The interrupted run was also evaluated at its first end, after step 17.
  std::string whole = read(bench.path("whole.log"));
  std::string parts = read(bench.path("parts.log"));
  size_t extra = parts.find("{\"eval\"", parts.find("\"step\":17,"));
  REQUIRE(extra != std::string::npos);
  parts.erase(extra, parts.find('\n', extra) + 1 - extra);
  CHECK(parts == whole);
  // Again: nothing to do.
  requireOk(trainTo("40", "parts", true));
  CHECK(trainTo("30", "parts", true).code == 2);
  // This run has not begun.
  outcome = trainTo("40", "fresh", true);
  requireOk(outcome);
  CHECK(outcome.err.find("starting from the beginning") != std::string::npos);
  CHECK(bench.state("fresh", 40) == bench.state("whole", 40));
}

TEST_CASE("log-stats: the losses are the same, and how the run went is logged",
          "[harness][train][log]") {
  Bench bench;
  auto train = [&](const char *out, std::vector<std::string> more) {
    more.insert(more.end(),
                {std::string("--out=") + bench.path(out),
                 "--log-json=" + bench.path(out) + ".log", "--seed=5"});
    return bench.train(more);
  };
  requireOk(train("plain", {"--steps=20"}));
  requireOk(train("stats", {"--steps=7", "--log-stats"}));
  requireOk(train("stats", {"--steps=20", "--log-stats", "--resume"}));
  std::istringstream lines(read(bench.path("stats.log")));
  std::string steps, others;
  for (std::string line; std::getline(lines, line);) {
    size_t time = line.find(",\"time\":");
    REQUIRE(time != std::string::npos);
    if (line.starts_with("{\"step\":"))
      steps += line.substr(0, time) + "}\n";
    else
      others += line.substr(0, line.find(',', line.find("\"step\""))) + "\n";
  }
  CHECK(steps == read(bench.path("plain.log")));
  CHECK(others == "{\"start\":true,\"step\":0\n"
                  "{\"saved\":true,\"step\":7\n"
                  "{\"end\":\"done\",\"step\":7\n"
                  "{\"start\":true,\"step\":7\n"
                  "{\"saved\":true,\"step\":10\n"
                  "{\"saved\":true,\"step\":20\n"
                  "{\"end\":\"done\",\"step\":20\n");
  Outcome outcome = bench.train({"--steps=1", "--log-stats"});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("--log-stats: needs --log-json=FILE") !=
        std::string::npos);
}

TEST_CASE("resume: only with the same run", "[harness][train][resume]") {
  Bench bench;
  std::string out = "--out=" + bench.path("out");
  requireOk(bench.train({"--steps=5", out, "--seed=1"}));
  auto resumed = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--steps=6", out, "--resume"});
    return bench.train(more);
  };
  CHECK(bench.train({"--steps=5", out}).err.find("is not empty") !=
        std::string::npos);
  CHECK(bench.train({"--steps=9", "--resume=" + bench.path("none")}).code == 2);
  bench.writeData("train.npz", 83, 9);
  Outcome outcome = resumed({});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("is not the data of the checkpoint") !=
        std::string::npos);
  requireOk(resumed({"--accept-dataset-change"}));
}

TEST_CASE("resume: a damaged checkpoint falls back loudly",
          "[harness][train][resume]") {
  Bench bench;
  std::string out = "--out=" + bench.path("out");
  requireOk(bench.train({"--steps=30", "--out=" + bench.path("whole")}));
  requireOk(bench.train({"--steps=20", "--checkpoint-every=5", out}));
  std::string newest = bench.path("out/step-00000020/state.safetensors");
  std::string bytes = read(newest);
  bytes[bytes.size() - 3] ^= 1;
  write(newest, bytes);
  Outcome outcome = bench.train({"--steps=30", out, "--resume"});
  requireOk(outcome);
  CHECK(outcome.err.find("WARNING: checkpoint of step 20 is damaged") !=
        std::string::npos);
  CHECK(outcome.err.find("momentum/fc.bias") != std::string::npos);
  CHECK(outcome.err.find("resumed after step 15") != std::string::npos);
  CHECK(bench.state("out", 30) == bench.state("whole", 30));
}

TEST_CASE("resume: after kill -9 at any moment the end is the same",
          "[harness][train][resume][kill]") {
  Bench bench;
  constexpr int steps = 4000;
  auto arguments = [&](const std::string &name, bool resume) {
    std::vector<std::string> more = {
        "--eval-data=" + bench.path("test.npz"),
        "--steps=" + std::to_string(steps), "--checkpoint-every=37",
        "--out=" + bench.path(name), "--log-json=" + bench.path(name) + ".log"};
    if (resume)
      more.push_back("--resume");
    return bench.arguments(more);
  };
  requireOk(bench.run(arguments("whole", false)));
  std::mt19937 random(1);
  int kills = 0;
  Outcome outcome;
  do {
    size_t logged = read(bench.path("killed.log")).size();
    Process process(bench.folder.path(), arguments("killed", true));
    if (kills < 30) {
      // While it starts, or while it trains and saves.
      if (kills % 3 != 0)
        bench.awaitLog("killed.log", logged);
      ::usleep(random() % 40000);
      process.signal(SIGKILL);
    }
    outcome = process.wait();
    INFO(outcome.err);
    REQUIRE((outcome.code == 0 || outcome.code == -SIGKILL));
  } while (outcome.code != 0 && ++kills < 40);
  REQUIRE(outcome.code == 0);
  CHECK(bench.state("killed", steps) == bench.state("whole", steps));
  CHECK(read(bench.path("killed.log")) == read(bench.path("whole.log")));
}

TEST_CASE("signals: SIGTERM saves and says how to go on",
          "[harness][train][kill]") {
  Bench bench;
  std::vector<std::string> common = {
      "--steps=20000", "--checkpoint-every=20000", "--out=" + bench.path("out"),
      "--log-json=" + bench.path("log")};
  std::vector<std::string> whole = common;
  whole[2] = "--out=" + bench.path("whole");
  whole[3] = "--log-json=" + bench.path("whole.log");
  requireOk(bench.train(whole));
  int interruptions = 0;
  Outcome outcome;
  do {
    std::vector<std::string> more = common;
    more.push_back("--resume");
    size_t logged = read(bench.path("log")).size();
    Process process(bench.folder.path(), bench.arguments(more));
    if (interruptions < 4) {
      // Waits until it handles signals: the log grows after that.
      bench.awaitLog("log", logged);
      process.signal(SIGHUP);
      process.signal(interruptions % 2 ? SIGINT : SIGTERM);
    }
    outcome = process.wait();
    INFO(outcome.err);
    REQUIRE((outcome.code == 0 || outcome.code == 75));
    if (outcome.code == 75)
      CHECK(outcome.err.find("continue with --resume") != std::string::npos);
  } while (outcome.code == 75 && ++interruptions < 50);
  CHECK(outcome.code == 0);
  CHECK(interruptions > 0);
  CHECK(bench.state("out", 20000) == bench.state("whole", 20000));
  CHECK(read(bench.path("log")) == read(bench.path("whole.log")));
}

TEST_CASE("export and init", "[harness][train][export]") {
  Bench bench;
  requireOk(bench.train({"--steps=11", "--out=" + bench.path("out")}));
  auto exportTo = [&](const char *name) {
    return bench.run({"export", "--checkpoint=" + bench.path("out"), "-o",
                      bench.path(name)});
  };
  requireOk(exportTo("model.onnx"));
  requireOk(exportTo("w.safetensors"));
  CHECK(exportTo("model.pt").code == 2);
  auto weights = sinter::rt::SafetensorsFile::open(bench.path("w.safetensors"));
  REQUIRE(weights.ok());
  CHECK(weights->entries().size() == 4);
  REQUIRE(weights->find("momentum/fc.bias"));
  std::string expected = "ONNX<";
  for (const char *name : {"fc.weight", "fc.bias"}) {
    const auto *entry = weights->find(name);
    REQUIRE(entry);
    std::vector<uint8_t> bytes(entry->sizeBytes);
    REQUIRE(weights->read(*entry, bytes).ok());
    expected.append(bytes.begin(), bytes.end());
  }
  CHECK(read(bench.path("model.onnx")) == expected + ">");

  // All states come back; the run starts at step 0 again.
  requireOk(
      bench.train({"--steps=0", "--out=" + bench.path("same"),
                   "--init=" + bench.path("w.safetensors"), "--init-slots"}));
  CHECK(bench.state("same", 0) == bench.state("out", 11));
  int64_t dims[] = {3};
  std::vector<uint8_t> zeros(12);
  std::vector<sinter::rt::NamedTensor> part = {
      {"fc.bias", SINTER_F32, dims, zeros}, {"other", SINTER_F32, dims, zeros}};
  REQUIRE(writeSafetensors(bench.path("part.safetensors"), part).ok());
  Outcome outcome =
      bench.train({"--steps=1", "--init=" + bench.path("part.safetensors")});
  requireOk(outcome);
  CHECK(outcome.err.find("as compiled: fc.weight\n") != std::string::npos);
  CHECK(outcome.err.find("ignored: other\n") != std::string::npos);
}

TEST_CASE("faults end in one line and the right exit code",
          "[harness][train][faults]") {
  Bench bench;
  auto fails = [&](Outcome outcome, int code, const char *part) {
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.err.find(part) != std::string::npos);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  fails(bench.train({"--steps=500", "--lr=1e38", "--out=" + bench.path("nan")}),
        1, "is not a finite number");
  CHECK(bench.train({"--steps=9", "--lr=1e38", "--check-nonfinite=off"}).code ==
        0);
  fails(bench.train({"--steps=1", "--last-batch=error"}), 2, "not a multiple");
  fails(bench.train({"--steps=1", "--device=cuda:0"}), 2, "cuda:0");
  fails(bench.train({"--steps=1", "--clip-norm=1"}), 2, "--clip-norm");
  fails(bench.train({"--steps=1", "--lr-schedule=cos"}), 2, "cosine");
  fails(bench.train({"--steps=1", "--log-json=" + bench.path("no/log")}), 2,
        "no/log");
  fails(bench.run({"--data=" + bench.path("none"), "--steps=1"}), 2, "none");
  bench.writeData("small.npz", 7, 1);
  fails(bench.run({"--data=" + bench.path("small.npz"), "--steps=1"}), 2,
        "fewer than the batch of 8");
  write(bench.path("bad.csv"), "1,2,3,4,0\n1,2,3,4,1\n1,2,3,4,3\n");
  std::string csv = read(bench.path("bad.csv"));
  write(bench.path("bad.csv"), csv + csv + csv);
  fails(bench.run({"--data=" + bench.path("bad.csv"), "--quiet", "--steps=1",
                   "--shuffle=false"}),
        2, "row 2 has the label 3; the model has the classes 0 to 2");

  // The disk is full: earlier failures are warnings, the last one is not.
  Process full(bench.folder.path(),
               bench.arguments({"--steps=20", "--checkpoint-every=10",
                                "--out=" + bench.path("full")}),
               "640");
  Outcome outcome = full.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(outcome.err.find("warning: checkpoint of step 10 not saved") !=
        std::string::npos);
  CHECK(outcome.err.find("error: checkpoint of step 20 not saved") !=
        std::string::npos);
  for (const auto &entry :
       std::filesystem::directory_iterator(bench.path("full")))
    CHECK(entry.path().filename() == ".lock");
}

TEST_CASE("info, plan, doctor and version print", "[harness]") {
  Bench bench;
  Outcome info = bench.run({"info"});
  requireOk(info);
  for (const char *part : {"model tiny for cpu, build 0123456789abcdef",
                           "options.loss: cross-entropy", "--lr (0.1",
                           "momentum/fc.weight", "4 states, 120 bytes"})
    CHECK(info.out.find(part) != std::string::npos);
  CHECK(bench.run({"info", "--json"}).out.find("\"overridable\"") !=
        std::string::npos);
  CHECK(bench.run({"plan"}).out.find("entry step: 1 commands") !=
        std::string::npos);
  CHECK(bench.run({"plan", "--json"}).out.find("\"fc, loss, update\"") !=
        std::string::npos);
  Outcome doctor = bench.run({"doctor"});
  requireOk(doctor);
  CHECK(doctor.out.find("device cpu: usable") != std::string::npos);
  CHECK(bench.run({"--version"}).out.find("tiny, build 0123456789abcdef") == 0);
  CHECK(bench.run({"--help"}).out.find("usage: trainer") == 0);
}

TEST_CASE("trainer: a GPU trains to the same bytes", "[train][cuda]") {
  Bench bench;
  auto args = [&](const char *out, std::vector<std::string> more) {
    more.insert(more.end(), {"--out=" + (bench.folder / out), "--lr=0.2",
                             "--seed=5", "--lr-schedule=step:9,0.5",
                             "--eval-data=" + (bench.folder / "test.npz"),
                             "--log-json=" + (bench.folder / out) + ".json"});
    return more;
  };
  REQUIRE(bench.train(args("cpu", {"--steps=37"})).code == 0);
  for (std::string extra : {"--quiet", "--sync-launches"}) {
    std::string out = "gpu" + extra;
    Outcome gpu = bench.trainOnGpu(args(out.c_str(), {"--steps=37", extra}));
    INFO(gpu.err);
    REQUIRE(gpu.code == 0);
    CHECK(gpu.err.empty());
    CHECK(bench.state(out, 37) == bench.state("cpu", 37));
    CHECK(read(bench.folder / (out + ".json")) ==
          read(bench.folder / "cpu.json"));
  }
  // Begun there, resumed here, exported there.
  REQUIRE(bench.trainOnGpu(args("half", {"--steps=21"})).code == 0);
  REQUIRE(bench.train(args("half", {"--steps=37", "--resume"})).code == 0);
  CHECK(bench.state("half", 37) == bench.state("cpu", 37));
  auto exporting = [&](const char *out, const char *to) {
    return std::vector<std::string>{"export",
                                    "--checkpoint=" + (bench.folder / out),
                                    "-o", bench.folder / to};
  };
  for (std::string ending : {".onnx", ".safetensors"}) {
    CHECK(bench.run(exporting("cpu", ("a" + ending).c_str())).code == 0);
    CHECK(bench.runOnGpu(exporting("half", ("b" + ending).c_str())).code == 0);
    CHECK(read(bench.folder / ("a" + ending)) ==
          read(bench.folder / ("b" + ending)));
  }
}

TEST_CASE("trainer: a GPU that fails ends the run, and nothing is saved",
          "[train][cuda]") {
  Bench bench;
  auto train = [&](const char *out, std::vector<std::string> more,
                   const char *step) {
    more.insert(more.end(), {"--steps=60", "--checkpoint-every=10",
                             "--out=" + (bench.folder / out)});
    return bench.trainOnGpu(more, step);
  };
  Outcome whole = train("whole", {}, "0");
  REQUIRE(whole.code == 0);
  CHECK(whole.out.find("on cuda:0") != std::string::npos);
  for (const char *step : {"1", "25", "30"}) {
    Outcome failed = train("out", {"--resume"}, step);
    INFO(failed.err);
    CHECK(failed.code == SINTER_DEVICE_FAILED);
    CHECK(failed.err.find("VIOLATION") == std::string::npos);
    CHECK(failed.err.find("CUDA_ERROR_700") != std::string::npos);
    // The first run of a process reports the kernel; later runs are graphs.
    bool isFirst = std::string(step) == "1";
    CHECK(failed.err.find(isFirst ? "kernel tiny_step (grid 1x1x1, block "
                                    "32x1x1"
                                  : "entry 'step' (1 kernels and calls: fc, "
                                    "loss, update)") != std::string::npos);
  }
  // Steps 20 and 20 + 20 were saved before the failures.
  CHECK(::access((bench.folder / "out/step-00000040").c_str(), F_OK) == 0);
  CHECK(::access((bench.folder / "out/step-00000050").c_str(), F_OK) != 0);
  REQUIRE(train("out", {"--resume"}, "0").code == 0);
  CHECK(bench.state("out", 60) == bench.state("whole", 60));
}

TEST_CASE("trainer: device and memory that cannot be had are one line",
          "[train][cuda]") {
  Bench bench;
  auto line = [&](const Outcome &outcome, int code, const std::string &text) {
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.err.find(text) != std::string::npos);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  line(bench.train({"--steps=1", "--device=cuda:0"}), SINTER_INVALID,
       "the program was compiled for cpu; it cannot run on cuda:0");
  line(bench.trainOnGpu({"--steps=1", "--device=cpu"}), SINTER_INVALID,
       "the program was compiled for cuda; it cannot run on cpu");
  line(bench.trainOnGpu({"--steps=1", "--device=cuda:7"}), SINTER_INVALID,
       "there is no device cuda:7: the driver shows 1");
  line(bench.train({"--steps=1", "--device=abacus"}), SINTER_INVALID,
       "there is no device 'abacus'");
  for (bool onGpu : {false, true}) {
    std::vector<std::string> more = {"--steps=1", "--memory-limit=100"};
    line(onGpu ? bench.trainOnGpu(more) : bench.train(more),
         SINTER_OUT_OF_MEMORY,
         onGpu ? "of cuda:0's memory" : "of cpu's memory");
    more.back() = "--memory-limit=0MiB";
    line(onGpu ? bench.trainOnGpu(more) : bench.train(more), SINTER_INVALID,
         "--memory-limit=0MiB: expected a size such as 8GiB");
    more.back() = "--memory-limit=1GiB";
    CHECK((onGpu ? bench.trainOnGpu(more) : bench.train(more)).code == 0);
  }
}

TEST_CASE("trainer: one binary for two targets runs on either",
          "[train][cuda]") {
  Bench bench;
  ::setenv("SINTER_TEST_FAT", "1", 1);
  auto train = [&](const char *out, std::vector<std::string> more) {
    more.insert(more.end(), {"--steps=20", "--out=" + (bench.folder / out)});
    Outcome outcome = bench.trainOnGpu(more);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  CHECK(train("default", {}).find("on 1 thread:") != std::string::npos);
  CHECK(train("gpu", {"--device=cuda:0"}).find("on cuda:0") !=
        std::string::npos);
  CHECK(train("half", {"--device=cpu"}).find("on 1 thread:") !=
        std::string::npos);
  CHECK(bench.state("gpu", 20) == bench.state("default", 20));
  CHECK(bench.run({"info"}).out.find("model tiny for cpu") == 0);
  CHECK(bench.run({"info", "--device=cuda"}).out.find("model tiny for cuda") ==
        0);
  // Without a GPU nothing runs on another device instead.
  Outcome none = bench.train({"--steps=1", "--device=cuda:99"});
  CHECK(none.code != 0);
  CHECK(none.out.find("trained") == std::string::npos);
  Outcome other = bench.train({"--steps=1", "--device=sim:0"});
  CHECK(other.code == SINTER_INVALID);
  std::string doctor = bench.runOnGpu({"doctor"}).out;
  CHECK(doctor.find("device cpu: usable") != std::string::npos);
  ::unsetenv("SINTER_TEST_FAT");
}
