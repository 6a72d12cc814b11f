//===- TrainerOptions.cpp - the trainer's command line --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/TrainerOptions.h"

#include "runtime/harness/Arguments.h"

using namespace sinter::rt;

namespace {

constexpr unsigned train = 1, eval = 2, exporting = 4, info = 8, plan = 16,
                   doctor = 32, bench = 64, all = 127;
constexpr unsigned steps = train | bench, runs = steps | eval;

constexpr CommandName commandNames[] = {
    {"train", train, "train the model"},
    {"eval", eval, "print loss and accuracy on a dataset"},
    {"export", exporting, "write trained weights as .onnx or .safetensors"},
    {"info", info, "the program's options, states and overrides"},
    {"plan", plan, "the memory plan"},
    {"doctor", doctor, "check devices and libraries"},
    {"bench", bench,
     "time steps: --steps=N, or as many as each line of standard input says"},
};

Status setResume(TrainerOptions &options, std::string_view text) {
  options.resume = true;
  options.resumePath = text == "auto" ? "" : text;
  return {};
}

Status setShuffle(TrainerOptions &options, std::string_view text) {
  if (text != "true" && text != "false")
    return Status::invalid("expected true or false");
  options.shuffle = text == "true";
  return {};
}

Status setScale(TrainerOptions &options, std::string_view text) {
  if (text != "none" && text != "auto")
    return Status::invalid("expected auto or none");
  options.scale = text == "auto";
  return {};
}

Status setCheckNonfinite(TrainerOptions &options, std::string_view text) {
  options.locatesNonfinite = text != "off";
  return setWord(options.checkNonfinite, "off|step|op")(text);
}

Status setInjection(TrainerOptions &options, std::string_view text) {
  Result<Injection> injection = parseInjection(std::string(text));
  if (injection.ok())
    options.injection = *injection;
  return injection.status();
}

/// One row an option; --help prints it in this order.
std::vector<Option> optionTable(TrainerOptions &o) {
  constexpr auto none = Option::Value::None;
  constexpr auto needed = Option::Value::Required;
  constexpr auto optional = Option::Value::Optional;
  constexpr int64_t most = INT64_MAX;
  return {
      {"data", "SPEC", "directory, npz:FILE, npy:DIR, idx:DIR or csv:FILE",
       needed, runs, setText(o.data)},
      {"eval-data", "SPEC", "evaluated after each epoch and at the end", needed,
       train, setText(o.evalData)},
      {"scale", "auto|none", "uint8 data is divided by 255 unless none", needed,
       runs, [&o](std::string_view text) { return setScale(o, text); }},
      {"epochs", "N", "passes over the data, from the run's beginning", needed,
       train, setInteger(o.epochs, 1, most)},
      {"steps", "N", "steps, from the run's beginning", needed, steps,
       setInteger(o.steps, 0, most)},
      {"lr", "X", "learning rate", needed, steps, setReal(o.lr, 0)},
      {"lr-schedule", "S", "constant|step:N,G|linear|cosine|one-cycle", needed,
       train, setText(o.lrSchedule)},
      {"lr-final", "X", "where linear, cosine and one-cycle end", needed, train,
       setReal(o.lrFinal, 0)},
      {"warmup-steps", "N", "steps in which the rate rises", needed, train,
       setInteger(o.warmupSteps, 0, most)},
      {"weight-decay", "X", "replaces the compiled value", needed, train,
       setReal(o.weightDecay, 0)},
      {"clip-norm", "X", "replaces the compiled value", needed, train,
       setReal(o.clipNorm, 0)},
      {"seed", "N", "of the order of rows and of random ops (0)", needed, steps,
       setInteger(o.seed, INT64_MIN, most)},
      {"shuffle", "true|false", "a new order of rows each epoch (true)", needed,
       steps, [&o](std::string_view text) { return setShuffle(o, text); }},
      {"last-batch", "drop|error", "rows beyond whole batches (drop)", needed,
       train, setWord(o.wholeBatchesOnly, "drop|error")},
      {"out", "DIR", "where checkpoints go", needed, train, setText(o.out)},
      {"checkpoint-every", "N",
       "steps between checkpoints (every epoch; 0: at the end only)", needed,
       train, setInteger(o.checkpointEvery, 0, most)},
      {"keep", "N", "checkpoints that stay (3; 0: all)", needed, train,
       setInteger(o.keep, 0, 1000000)},
      {"resume", "auto|PATH", "continue from the newest checkpoint", optional,
       train, [&o](std::string_view text) { return setResume(o, text); }},
      {"accept-dataset-change", "", "resume although the data is another", none,
       train, setFlag(o.acceptDatasetChange)},
      {"verify-resume", "K",
       "check that 2 K steps end as K, a save, a load and K do", needed, train,
       setInteger(o.verifyResume, 1, most / 2)},
      {"init", "FILE", "start from the weights of a .safetensors file", needed,
       steps, setText(o.init)},
      {"checkpoint", "DIR", "an --out directory or one checkpoint in it",
       needed, eval | exporting, setText(o.checkpoint)},
      {"o", "FILE",
       "model.onnx or weights.safetensors; plan: a page.html of the arena",
       needed, exporting | plan, setText(o.output)},
      {"device", "cpu|cuda:0|sim:0",
       "where to run (one for each replica), or whose plan", needed,
       runs | exporting | info | plan, setText(o.device)},
      {"sync-launches", "", "wait for each command and check it (CUDA, sim)",
       none, runs, setFlag(o.deviceOptions.syncLaunches)},
      {"memory-limit", "8GiB",
       "of each GPU's memory, or of the CPU's in a program without one", needed,
       runs | exporting, setBytes(o.deviceOptions.memoryLimitBytes)},
      {"threads", "N", "of computation (0: one per core)", needed,
       runs | doctor, setInteger(o.threads, 0, 4096)},
      {"workers", "N", "threads that read data (1)", needed, runs,
       setInteger(o.workers, 1, 256)},
      {"prefetch", "N", "batches read ahead (4)", needed, runs,
       setInteger(o.prefetch, 1, 65536)},
      {"log-json", "FILE", "one JSON object a step", needed, train,
       setText(o.logJson)},
      {"tensorboard", "DIR", "event files with scalars for TensorBoard", needed,
       train, setText(o.tensorboard)},
      {"check-nonfinite", "off|step|op",
       "stop at a NaN or infinity of the loss; when given, also of states "
       "(step) "
       "or any value (op), name what made it and write a file to replay",
       needed, runs,
       [&o](std::string_view text) { return setCheckNonfinite(o, text); }},
      {"inject-nonfinite", "OP@STEP",
       "make a NaN, for tests, in what computes node OP (or is command "
       "ENTRY:NUMBER)",
       needed, train,
       [&o](std::string_view text) { return setInjection(o, text); }},
      {"json", "", "print JSON", none, eval | info | plan | doctor | bench,
       setFlag(o.json)},
      {"quiet", "", "print warnings and errors only", none, train | eval,
       setFlag(o.quiet)},
      {"v", "", "say more", none, all, setFlag(o.verbose)},
      {"help", "", "this text", none, all, setFlag(o.help)},
      {"version", "", "the program's name, build and version", none, all,
       setFlag(o.version)},
  };
}

Status checkTogether(const TrainerOptions &options) {
  if (options.command == TrainerCommand::Train) {
    if (options.data.empty())
      return Status::invalid("--data=SPEC is needed (see --help)");
    if (options.verifyResume &&
        (options.epochs || options.steps || options.resume ||
         !options.out.empty() || options.checkpointEvery ||
         !options.logJson.empty() || !options.tensorboard.empty()))
      return Status::invalid(
          "--verify-resume: runs by itself, without --steps, "
          "--epochs, --out, --resume, --checkpoint-every, "
          "--log-json and --tensorboard");
    if (options.epochs && options.steps)
      return Status::invalid("--epochs and --steps: only one of them");
    if (!options.epochs && !options.steps && !options.resume &&
        !options.verifyResume)
      return Status::invalid("--epochs=N or --steps=N is needed");
    if (options.resume && options.resumePath.empty() && options.out.empty())
      return Status::invalid("--resume: needs --out=DIR or --resume=PATH");
    if (options.resume && !options.init.empty())
      return Status::invalid("--resume and --init: only one of them");
    if (options.checkpointEvery.value_or(0) > 0 && options.out.empty())
      return Status::invalid("--checkpoint-every: needs --out=DIR");
  }
  if (options.command == TrainerCommand::Eval && options.data.empty())
    return Status::invalid("eval: --data=SPEC is needed");
  if (options.command == TrainerCommand::Bench) {
    if (options.data.empty())
      return Status::invalid("bench: --data=SPEC is needed");
    if (options.steps && *options.steps < 1)
      return Status::invalid("bench: --steps: at least 1");
  }
  if (options.command == TrainerCommand::Export) {
    if (options.checkpoint.empty())
      return Status::invalid("export: --checkpoint=DIR is needed");
    if (options.output.empty())
      return Status::invalid("export: -o FILE is needed");
  }
  return {};
}

} // namespace

Result<TrainerOptions>
sinter::rt::parseTrainerOptions(std::span<const char *const> arguments) {
  TrainerOptions options;
  std::vector<Option> table = optionTable(options);
  Result<unsigned> command = parseArguments(arguments, commandNames, table);
  if (!command.ok())
    return command.status();
  options.command = static_cast<TrainerCommand>(*command);
  if (!options.help && !options.version)
    SINTER_RETURN_IF_ERROR(checkTogether(options));
  return options;
}

std::string sinter::rt::trainerHelp(const std::string &program,
                                    TrainerCommand command) {
  TrainerOptions unused;
  return helpText(program, static_cast<unsigned>(command), commandNames,
                  optionTable(unused));
}
