//===- TrainDataTest.cpp - how a trainer interprets its data --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TrainerRuns.h"

using namespace trainerruns;

namespace {

/// 24 rows in three clusters under this header ("" for none), with the columns
/// in the order of its names.
std::string table(const std::string &header, const std::string &order) {
  std::string text = header.empty() ? "" : header + "\n";
  for (int row = 0; row < 24; ++row) {
    for (size_t i = 0; i < order.size(); ++i) {
      int value = order[i] == 't'             ? row % 3
                  : order[i] - 'a' == row % 3 ? 10 + row
                                              : row * (order[i] - 'a') % 7;
      text += (i ? "," : "") + std::to_string(value);
    }
    text += "\n";
  }
  return text;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("train: a CSV file's columns are known by name in every command",
          "[harness][train][csv]") {
  Bench bench;
  auto path = [&](const char *name) { return bench.path(name); };
  write(path("train.csv"), table("target,a,b,c,d", "tabcd"));
  write(path("moved.csv"), table("d,c,target,a,b", "dctab"));
  write(path("bare.csv"), table("", "tabcd"));
  std::string out = "--out=" + path("run"),
              checkpoint = "--checkpoint=" + path("run");
  Outcome run =
      bench.run({"--data=" + path("train.csv"), "--label-column=target",
                 "--eval-data=" + path("moved.csv"), "--epochs=2", out});
  requireOk(run);
  CHECK(!has(run.err, "is taken as the label"));
  auto eval = [&](const char *name, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"eval", "--data=" + path(name), checkpoint});
    Outcome outcome = bench.run(more);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome;
  };
  std::string expected = eval("train.csv").out;
  CHECK(has(run.out + run.err, expected.substr(0, expected.find(" ("))));
  CHECK(eval("moved.csv").out == expected);
  // The checkpoint says "target", which a file without a header does not have.
  Outcome bare = bench.run({"eval", "--data=" + path("bare.csv"), checkpoint});
  CHECK(bare.code == 2);
  CHECK(has(bare.err, "--label-column: no column is called"));
  bare = eval("bare.csv", {"--label-column=0"});
  CHECK(bare.out == expected);
  CHECK(has(bare.err, "note: " + path("bare.csv") + ": has no header"));
  requireOk(bench.run({"--resume", out, "--epochs=3"}));

  run = bench.run({"--data=" + path("train.csv"), "--steps=1"});
  CHECK(has(run.err, "the last one, 4 \"d\", is taken as the label"));
  CHECK(run.code == 2); // values beyond the classes
  run = bench.run({"eval", "--data=" + path("moved.csv"), checkpoint,
                   "--cast=exact", "--quiet"}); // nothing is rounded
  CHECK(run.out == expected);
  CHECK(run.err.empty());
  run = bench.run(
      {"--data=" + path("train.npz"), "--steps=1", "--label-column=y"});
  CHECK(run.code == 2);
  CHECK(has(run.err, "is not a CSV file"));
}
