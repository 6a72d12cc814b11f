//===- OutputFileTest.cpp - files that a trainer may replace --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TrainerRuns.h"

#include "runtime/harness/OutputFile.h"

#include <filesystem>

using namespace trainerruns;
namespace fs = std::filesystem;

namespace {

using Arguments = std::vector<std::string>;

/// Runs the trainer, which must refuse to write to `path`, and not do so.
void checkRefused(Bench &bench, const Arguments &arguments,
                  const std::string &path, const std::string &why) {
  const std::string before = read(path);
  REQUIRE(!before.empty());
  Outcome outcome = bench.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("error: ") == outcome.err.rfind("error: "));
  CHECK(outcome.err.find(path + ": " + why) != std::string::npos);
  CHECK(read(path) == before);
}

} // namespace

TEST_CASE("outputs: what a run reads is not replaced",
          "[harness][train][outputs]") {
  Bench bench;
  const std::string train = bench.path("train.npz"),
                    test = bench.path("test.npz"), out = bench.path("out"),
                    weights = bench.path("weights.safetensors");
  requireOk(bench.train({"--steps=2", "--out=" + out}));
  requireOk(bench.run({"export", "--checkpoint=" + out, "-o", weights}));
  const std::string checkpoint = out + "/step-00000002";
  fs::create_symlink(train, bench.path("symbolic"));
  fs::create_hard_link(test, bench.path("hard"));
  for (const std::string option : {"--log-json=", "--trace-events="}) {
    auto refuses = [&](Arguments more, const std::string &path,
                       const std::string &what) {
      more.insert(more.end(), {"--data=" + train, "--eval-data=" + test,
                               "--steps=9", "--threads=1", option + path});
      checkRefused(bench, more, path,
                   "would replace " + what + "; name another file");
    };
    INFO(option);
    refuses({}, train, "a file of --data");
    refuses({}, test, "a file of --eval-data");
    refuses({}, bench.path("symbolic"), "a file of --data");
    refuses({}, bench.path("hard"), "a file of --eval-data");
    refuses({"--init=" + weights}, weights, "a file of --init");
    for (const char *name : {"/state.safetensors", "/manifest.json"}) {
      refuses({"--init=" + out}, checkpoint + name, "a file of --init");
      for (const Arguments &resume :
           {Arguments{"--resume", "--out=" + out}, Arguments{"--resume=" + out},
            Arguments{"--resume=" + checkpoint}})
        refuses(resume, checkpoint + name,
                "a file of the checkpoint that is resumed");
    }
  }
  for (const char *name : {"/state.safetensors", "/manifest.json"}) {
    const std::string link = bench.path("link.safetensors");
    fs::remove(link);
    fs::create_hard_link(checkpoint + name, link);
    checkRefused(bench, {"export", "--checkpoint=" + out, "-o", link}, link,
                 "would replace a file of --checkpoint");
  }
}

TEST_CASE("outputs: the program is not replaced", "[harness][outputs]") {
  TempFolder folder;
  const std::string link = folder / "link";
  fs::create_symlink("/proc/self/exe", link);
  sinter::rt::Status status =
      sinter::rt::checkOutput("-o", link, sinter::rt::InputFiles());
  CHECK(status.code() == SINTER_INVALID);
  CHECK(status.message() ==
        "-o " + link + ": would replace this program; name another file");
}

TEST_CASE("outputs: another kind of file is not replaced",
          "[harness][train][outputs]") {
  Bench bench;
  const std::string precious = bench.path("precious");
  write(precious, "a thesis\n");
  auto trained = [&](const std::string &option) {
    return Arguments{"--data=" + bench.path("train.npz"), "--steps=9", option};
  };
  checkRefused(bench, trained("--log-json=" + precious), precious,
               "exists and is not a log; remove it or name another file");
  checkRefused(bench, trained("--trace-events=" + precious), precious,
               "exists and is not a file of trace events;");
  checkRefused(bench, {"plan", "-o", precious}, precious,
               "exists and is not a page;");
  // Outputs of the same kind, and empty files.
  const std::string log = bench.path("log"), trace = bench.path("trace"),
                    page = bench.path("page");
  for (const std::string &path : {log, trace, page})
    write(path, "");
  for (int run = 0; run < 3; ++run) {
    requireOk(bench.run(trained("--log-json=" + log)));
    requireOk(bench.run(trained("--trace-events=" + trace)));
    requireOk(bench.run({"plan", "-o", page}));
  }
  checkRefused(bench, trained("--log-json=" + trace), trace,
               "exists and is not a log;");
  checkRefused(bench, trained("--trace-events=" + log), log,
               "exists and is not a file of trace events;");
  Outcome outcome =
      bench.train({"--steps=9", "--log-json=" + log, "--trace-events=" + log});
  CHECK(outcome.code == 2);
  CHECK(outcome.err == "error: --trace-events: is the same file as "
                       "--log-json\n");
  // What a resumed run may warn of is a log that cannot be opened.
  const std::string out = "--out=" + bench.path("out");
  requireOk(bench.train({"--steps=2", out}));
  checkRefused(bench, {"--resume", out, "--steps=3", "--log-json=" + precious},
               precious, "exists and is not a log;");
  requireOk(bench.run(
      {"--resume", out, "--steps=3", "--log-json=" + bench.path("out/log")}));
}
