//===- DataOnDeviceTest.cpp - the trainer's --data-on-device --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Whole runs of the tiny program on the stand-in GPU. 83 rows make epochs of 10
// batches, so that 10 steps are one graph.
//
//===----------------------------------------------------------------------===//

#include "TrainerRuns.h"
#include "backends/cuda/device/GatherModule.h"
#include "sinter/sinter.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace testfiles;
using namespace trainerruns;

namespace {

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

class GpuBench : public Bench {
public:
  /// Trains on the GPU and saves to and logs as `out`.
  Outcome trainTo(const std::string &out, std::vector<std::string> more) {
    more.insert(more.end(),
                {"--out=" + path(out), "--log-json=" + path(out + ".json"),
                 "--seed=5", "--lr-schedule=step:9,0.5"});
    return trainOnGpu(more);
  }
  std::string log(const std::string &out) { return read(path(out + ".json")); }
  /// Rows whose number `badRow` has a NaN in the first feature.
  void writeBadData(int rows, int badRow) {
    std::vector<float> x(size_t(rows) * 4, 0.5f);
    x[size_t(badRow) * 4] = NAN;
    std::string shape = "(" + std::to_string(rows);
    write(folder / "bad.npz",
          zip({{"x.npy", npy("<f4", shape + ", 4)", bytesOf(x)), true},
               {"labels.npy",
                npy("|u1", shape + ",)", std::string(size_t(rows), '\1')),
                false}}));
  }
};

} // namespace

TEST_CASE("data on device: the same losses and checkpoints as without",
          "[train][cuda]") {
  if (!sinter::cuda::gatherPtx())
    return; // built without clang
  GpuBench bench;
  const std::string eval = "--eval-data=" + bench.path("test.npz");
  auto same = [&](std::vector<std::string> more, int lastStep) {
    for (std::string mode : {"off", "on", "auto"}) {
      std::vector<std::string> own = more;
      own.push_back("--data-on-device=" + mode);
      std::filesystem::remove_all(bench.path(mode));
      Outcome outcome = bench.trainTo(mode, own);
      requireOk(outcome);
      CHECK(!has(outcome.err, "VIOLATION"));
      CHECK(has(outcome.out, "data: 83 rows (1.9 KiB) are in cuda:0's "
                             "memory") == (mode != "off"));
      CHECK(bench.state(mode, lastStep) == bench.state("off", lastStep));
      CHECK(bench.log(mode) == bench.log("off"));
    }
  };
  same({"--steps=137", eval}, 137);
  same({"--steps=64", "--checkpoint-every=7", "--keep=0", eval}, 64);
  same({"--epochs=3", "--shuffle=false", "--workers=3"}, 30);
  same({"--steps=33", "--sync-launches"}, 33);
  // Every checkpoint is there, at its own step.
  same({"--steps=40", "--checkpoint-every=4", "--keep=0"}, 40);
  for (int step = 4; step <= 40; step += 4)
    CHECK(bench.state("on", step) == bench.state("off", step));
}

TEST_CASE("data on device: steps are launched together between two checkpoints",
          "[train][cuda]") {
  if (!sinter::cuda::gatherPtx())
    return;
  GpuBench bench;
  auto note = [&](std::vector<std::string> more) {
    std::filesystem::remove_all(bench.path("out"));
    more.push_back("--data-on-device=on");
    Outcome outcome = bench.trainTo("out", more);
    requireOk(outcome);
    return outcome.out;
  };
  CHECK(has(note({"--steps=40"}), "; 10 steps are one graph\n"));
  CHECK(has(note({"--steps=40", "--checkpoint-every=4"}),
            "; 4 steps are one graph\n"));
  CHECK(has(note({"--steps=6"}), "; 6 steps are one graph\n"));
  for (const char *single : {"--checkpoint-every=1", "--sync-launches"})
    CHECK(has(note({"--steps=12", single}),
              "; each step is started by itself\n"));
}

TEST_CASE("data on device: a run resumes within an epoch",
          "[train][cuda][resume]") {
  if (!sinter::cuda::gatherPtx())
    return;
  GpuBench bench;
  requireOk(bench.trainTo("whole", {"--steps=60", "--data-on-device=off"}));
  requireOk(bench.trainTo("parts", {"--steps=23", "--data-on-device=on"}));
  requireOk(bench.trainTo("parts",
                          {"--steps=47", "--resume", "--data-on-device=on"}));
  // The option does not belong to the run: a checkpoint does not bring it.
  Outcome last = bench.trainTo("parts", {"--steps=60", "--resume", "-v"});
  requireOk(last);
  CHECK(has(last.out, "are in cuda:0's memory"));
  CHECK(bench.state("parts", 60) == bench.state("whole", 60));
  CHECK(bench.log("parts") == bench.log("whole"));
  Outcome verified = bench.trainOnGpu(
      {"--verify-resume=13", "--data-on-device=on", "--seed=5"});
  requireOk(verified);
  CHECK(has(verified.out, "end with the same bytes"));
}

TEST_CASE("data on device: a signal saves the step that was reached",
          "[train][cuda][kill]") {
  if (!sinter::cuda::gatherPtx())
    return;
  GpuBench bench;
  const std::vector<std::string> common = {"--data=" + bench.path("train.npz"),
                                           "--steps=20000",
                                           "--checkpoint-every=0", "--keep=0"};
  auto train = [&](const char *out, bool resume) {
    std::vector<std::string> all = common;
    all.insert(all.end(), {"--out=" + bench.path(out),
                           "--log-json=" + bench.path(out) + ".json"});
    if (resume)
      all.push_back("--resume");
    return all;
  };
  Outcome whole = bench.runOnGpu(train("whole", false));
  requireOk(whole);
  Outcome outcome;
  int interruptions = 0;
  do {
    const size_t logged = bench.log("parts").size();
    Process process(bench.folder.path(), train("parts", true), nullptr, "0");
    if (interruptions < 3) {
      bench.awaitLog("parts.json", logged);
      process.signal(SIGTERM);
    }
    outcome = process.wait();
    INFO(outcome.err);
    REQUIRE((outcome.code == 0 || outcome.code == SINTER_INTERRUPTED));
  } while (outcome.code != 0 && ++interruptions < 10);
  CHECK(interruptions > 0);
  CHECK(bench.state("parts", 20000) == bench.state("whole", 20000));
  CHECK(bench.log("parts") == bench.log("whole"));
}

TEST_CASE("data on device: refused where it cannot be", "[train][cuda]") {
  if (!sinter::cuda::gatherPtx())
    return;
  GpuBench bench;
  Outcome cpu = bench.train({"--steps=3", "--data-on-device=on"});
  CHECK(cpu.code == SINTER_INVALID);
  CHECK(has(cpu.err, "error: --data-on-device=on: device 'cpu' works in the "
                     "host's memory\n"));
  requireOk(bench.train({"--steps=3", "--data-on-device=auto"}));
  CHECK(bench.train({"--steps=3", "--data-on-device=yes"}).code ==
        SINTER_INVALID);

  // The stand-in GPU has 4 GiB.
  bench.writeData("large.npz", 4000, 3);
  std::vector<std::string> more = {"--data=" + bench.path("large.npz"),
                                   "--memory-limit=64KiB", "--epochs=1"};
  auto train = [&](const char *mode) {
    std::vector<std::string> all = more;
    all.push_back(std::string("--data-on-device=") + mode);
    return bench.runOnGpu(all);
  };
  Outcome on = train("on");
  CHECK(on.code == SINTER_OUT_OF_MEMORY);
  CHECK(has(on.err, "error: --data-on-device=on: the training data takes 93.8 "
                    "KiB of cuda:0's memory, of which "));
  Outcome automatic = train("auto");
  requireOk(automatic);
  CHECK(has(automatic.out, "data: stays in the host's memory: the training "
                           "data takes 93.8 KiB of cuda:0's memory, of "
                           "which "));
  CHECK(has(automatic.out, "; auto takes at most half of that\n"));
  // It would fit, but in more than half.
  more[1] = "--memory-limit=150KiB";
  requireOk(train("on"));
  CHECK(has(train("auto").out, "data: stays in the host's memory"));
  more[1] = "--memory-limit=1MiB";
  CHECK(has(train("auto").out, "are in cuda:0's memory"));
  // Less than an epoch: most of the data would be read for nothing.
  more[2] = "--steps=9";
  CHECK(!has(train("auto").out, "in cuda:0's memory"));
  CHECK(has(train("on").out, "are in cuda:0's memory"));
}

TEST_CASE("data on device: rows that are not finite", "[train][cuda]") {
  if (!sinter::cuda::gatherPtx())
    return;
  GpuBench bench;
  bench.writeBadData(80, 61);
  auto train = [&](const char *mode, const char *out) {
    return bench.runOnGpu({"--data=" + bench.path("bad.npz"), "--epochs=2",
                           "--shuffle=false", "--out=" + bench.path(out),
                           std::string("--data-on-device=") + mode});
  };
  const std::string row =
      "bad.npz: x: row 61 holds nan, which is not a finite number";
  Outcome on = train("on", "a");
  INFO(on.err);
  CHECK(on.code == SINTER_INVALID);
  CHECK(has(on.err, row));
  CHECK(!std::filesystem::exists(bench.path("a/step-00000007")));
  // As without it: at its step, after which all others are saved.
  for (const char *mode : {"off", "auto"}) {
    Outcome later = train(mode, mode);
    INFO(later.out);
    INFO(later.err);
    CHECK(later.code == SINTER_INVALID);
    CHECK(has(later.err, row));
    CHECK(has(later.err, "the state after step 7 was saved"));
    CHECK(has(later.out, "data: stays in the host's memory: ") ==
          (std::string(mode) == "auto"));
  }
  CHECK(bench.state("auto", 7) == bench.state("off", 7));
}

TEST_CASE("data on device: files may change once they were read",
          "[train][cuda]") {
  if (!sinter::cuda::gatherPtx())
    return;
  GpuBench bench;
  std::filesystem::create_directory(bench.path("rows"));
  std::vector<float> x(83 * 4, 0.25f);
  write(bench.path("rows/x.npy"), npy("<f4", "(83, 4)", bytesOf(x)));
  write(bench.path("rows/labels.npy"),
        npy("|u1", "(83,)", std::string(83, '\2')));
  auto run = [&](const char *mode) {
    x.assign(x.size(), 0.25f);
    write(bench.path("rows/x.npy"), npy("<f4", "(83, 4)", bytesOf(x)));
    std::filesystem::remove_all(bench.path(mode));
    Process process(bench.folder.path(),
                    {"--data=npy:" + bench.path("rows"), "--steps=30000",
                     "--out=" + bench.path(mode), "--checkpoint-every=0",
                     "--log-json=" + bench.path(mode) + std::string(".json"),
                     std::string("--data-on-device=") + mode},
                    nullptr, "0");
    bench.awaitLog((std::string(mode) + ".json").c_str(), 0);
    x[40] = 9;
    write(bench.path("rows/x.npy"), npy("<f4", "(83, 4)", bytesOf(x)));
    return process.wait();
  };
  Outcome off = run("off");
  CHECK(off.code != 0);
  CHECK(has(off.err, "while it was read"));
  Outcome on = run("on");
  INFO(on.err);
  CHECK(on.code == 0);
  CHECK(has(on.err, "was modified after it was read into memory; the run goes "
                    "on with what was read"));
}
