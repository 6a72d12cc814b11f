//===- OptionsTest.cpp - the trainer's command line -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/TrainerOptions.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace sinter::rt;

static Result<TrainerOptions> parse(std::vector<const char *> arguments) {
  return parseTrainerOptions(arguments);
}

static std::string errorOf(std::vector<const char *> arguments) {
  auto options = parse(std::move(arguments));
  if (options.ok())
    return "";
  CHECK(options.status().code() == SINTER_INVALID);
  CHECK(options.status().message().find('\n') == std::string::npos);
  return options.status().message();
}

TEST_CASE("options: the command and its values", "[harness][options]") {
  auto options =
      parse({"--data=d", "--epochs=3", "--lr", "1e-3", "--seed=-4",
             "--shuffle=false", "--resume", "--out=o", "--keep=0", "--quiet",
             "--last-batch=error", "--lr-schedule=cosine"});
  INFO(options.status().message());
  REQUIRE(options.ok());
  CHECK(options->command == TrainerCommand::Train);
  CHECK(options->data == "d");
  CHECK(*options->epochs == 3);
  CHECK(*options->lr == 1e-3);
  CHECK(*options->seed == -4);
  CHECK(!*options->shuffle);
  CHECK(options->resume);
  CHECK(options->resumePath.empty());
  CHECK(options->keep == 0);
  CHECK(options->lastBatch == TrainerOptions::LastBatch::Error);
  CHECK(options->quiet);
  CHECK(!options->steps);
  options = parse({"train", "--data=d", "--steps=7", "--resume=some/path"});
  REQUIRE(options.ok());
  CHECK(options->resumePath == "some/path");
  options = parse({"--data=d", "--steps=7", "--resume=auto:p", "--out=o",
                   "--join-timeout=90s", "--transport=tcp"});
  REQUIRE(options.ok());
  CHECK(options->resumePath == "p");
  CHECK(options->resumesOutFirst);
  CHECK(options->joinTimeoutMs == 90000);
  CHECK(options->transport == TrainerOptions::Transport::Tcp);
  // Without a checkpoint in --out, --init.
  CHECK(
      parse({"--data=d", "--steps=7", "--resume", "--out=o", "--init=w"}).ok());
  options = parse({"export", "--checkpoint=c", "-o", "m.onnx"});
  REQUIRE(options.ok());
  CHECK(options->command == TrainerCommand::Export);
  CHECK(options->output == "m.onnx");
  CHECK(parse({"info", "--json"})->json);
  CHECK(parse({"--help"})->help);
  CHECK(parse({"eval", "--help"})->command == TrainerCommand::Eval);
}

TEST_CASE("options: mistakes get one line", "[harness][options]") {
  CHECK(errorOf({"--data=d", "--steps=7", "--resume=p", "--init=w"}) ==
        "--resume=PATH and --init: give only one of them");
  CHECK(errorOf({"--data=d", "--steps=7", "--resume=auto:p"}) ==
        "--resume=auto:PATH: needs --out=DIR");
  CHECK(errorOf({"--resume=auto:", "--out=o"}) ==
        "--resume=auto:: expected auto:PATH");
  CHECK(errorOf({"--data=d", "--epoch=3"}) ==
        "unknown option '--epoch'; did you mean '--epochs'?");
  CHECK(errorOf({"--learning-rate=3", "--data=d"}).find("unknown option") == 0);
  CHECK(errorOf({"evl", "--data=d"}) ==
        "unknown command 'evl'; did you mean 'eval'?");
  CHECK(errorOf({"--data=d"}) == "--epochs=N or --steps=N is needed");
  CHECK(errorOf({}) == "--data=SPEC is needed (see --help)");
  CHECK(errorOf({"--data=d", "--epochs=1", "--steps=1"}).find("only one") !=
        std::string::npos);
  CHECK(errorOf({"--data"}) == "--data: needs a value, --data=SPEC");
  CHECK(errorOf({"--data="}) == "--data: is empty");
  CHECK(errorOf({"--quiet=1"}) == "--quiet: takes no value");
  CHECK(errorOf({"--data=d", "more"}) == "unexpected argument 'more'");
  CHECK(errorOf({"eval", "--data=d", "--lr=1"}) ==
        "--lr: not an option of 'eval'");
  CHECK(errorOf({"--data=d", "--verify-resume=2", "--tensorboard=x"})
            .find("--verify-resume: cannot be combined with") == 0);
  CHECK(errorOf({"--inject-nonfinite=conv1"})
            .find("expected NODE@STEP or ENTRY:COMMAND@STEP") !=
        std::string::npos);
  CHECK(errorOf({"--inject-nonfinite=conv1@0"}).find("steps from 1") !=
        std::string::npos);
  CHECK(errorOf({"-x"}).find("unknown option '-x'") == 0);
  CHECK(errorOf({"--o=x"}).find("unknown option '--o'") == 0);
  CHECK(errorOf({"--", "--quiet"}) == "unexpected argument '--quiet'");
  CHECK(parse({"--data=d", "--steps=1", "-v"})->verbose);
  CHECK(errorOf({"-"}).find("unexpected") == 0);
  CHECK(errorOf({"--da\x1b[2Jta=x"}).find('\x1b') == std::string::npos);
  for (const char *bad : {"--lr=nan",
                          "--lr=inf",
                          "--lr=-1",
                          "--lr=",
                          "--lr=0x1",
                          "--lr=1,5",
                          "--lr=1e999",
                          "--lr=1e39",
                          "--epochs=0",
                          "--epochs=-1",
                          "--epochs=1.5",
                          "--epochs=99999999999999999999",
                          "--seed=a",
                          "--steps=-1",
                          "--shuffle=yes",
                          "--last-batch=keep",
                          "--keep=-1",
                          "--workers=0",
                          "--prefetch=0",
                          "--threads=-2",
                          "--check-nonfinite=on",
                          "--scale=2",
                          "--clip-norm=0",
                          "--checkpoint-every=0m",
                          "--checkpoint-every=5d",
                          "--on-usr1=go",
                          "--init-skip=(",
                          "--warmup-steps=-1"}) {
    INFO(bad);
    CHECK(errorOf({"--data=d", bad}).find(std::string(bad).substr(0, 4)) == 0);
  }
  // A number is too small, or too large.
  const std::string seeds = ": expected a whole number from "
                            "-9223372036854775808 to 9223372036854775807";
  CHECK(errorOf({"--seed=9223372036854775808"}) ==
        "--seed=9223372036854775808" + seeds);
  CHECK(errorOf({"--seed=-9223372036854775809"}) ==
        "--seed=-9223372036854775809" + seeds);
  CHECK(errorOf({"--epochs=9223372036854775808"}) ==
        "--epochs=9223372036854775808: expected a whole number from 1 to "
        "9223372036854775807");
  CHECK(errorOf({"--epochs=0"}) ==
        "--epochs=0: expected a whole number of at least 1");
  CHECK(errorOf({"--keep=1000001"}) ==
        "--keep=1000001: expected a whole number from 0 to 1000000");
  CHECK(errorOf({"--data=d", "--steps=1", "--lr=1", "--lr=1"}) ==
        "--lr: given twice");
  CHECK(errorOf({"--quiet", "--quiet"}) == "--quiet: given twice");
  CHECK(parse({"--data=d", "--steps=1", "--init=i", "--init-skip=a",
               "--init-skip=b"})
            ->initSkip.size() == 2);
  CHECK(parse({"--data=d", "--steps=1", "--out=o", "--checkpoint-every=2h"})
            ->checkpointSeconds == 7200);
  CHECK(errorOf({"--data=d", "--resume"}).find("--resume: needs --out") == 0);
  CHECK(errorOf({"--data=d", "--steps=1", "--checkpoint-every=2"})
            .find("needs --out") != std::string::npos);
  CHECK(errorOf({"export", "--checkpoint=c"}).find("-o FILE") !=
        std::string::npos);
}

TEST_CASE("options: --help lists what the command has", "[harness][options]") {
  std::string train = trainerHelp("./t", TrainerCommand::Train);
  for (const char *part :
       {"usage: ./t", "--resume[=auto|PATH]", "--lr-schedule=S", "(default)"})
    CHECK(train.find(part) != std::string::npos);
  CHECK(train.find("--checkpoint=DIR") == std::string::npos);
  CHECK(trainerHelp("./t", TrainerCommand::Export).find("-o FILE") !=
        std::string::npos);
}
