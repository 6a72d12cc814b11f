//===- TrainerOptions.cpp - the trainer's command line --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/TrainerOptions.h"

#include "runtime/harness/Arguments.h"

#include <algorithm>
#include <cmath>

using namespace sinter::rt;

namespace {

constexpr unsigned train = 1, eval = 2, exporting = 4, info = 8, plan = 16,
                   doctor = 32, bench = 64, launch = 128, all = 255;
constexpr unsigned steps = train | bench, runs = steps | eval;

constexpr CommandName commandNames[] = {
    {"train", train, "train the model"},
    {"eval", eval, "print loss and accuracy on a dataset"},
    {"export", exporting, "write trained weights as .onnx or .safetensors"},
    {"info", info, "print the program's options, states and overrides"},
    {"plan", plan, "print the memory plan"},
    {"doctor", doctor, "check devices and libraries"},
    {"launch", launch, "train in several processes, on this host or by ssh"},
    {"bench", bench,
     "time steps: --steps=N, or the number in each line of standard input"},
};

Status setResume(TrainerOptions &options, std::string_view text) {
  constexpr std::string_view outFirst = "auto:";
  options.resume = true;
  options.resumesOutFirst = text.starts_with(outFirst);
  options.resumePath = options.resumesOutFirst ? text.substr(outFirst.size())
                       : text == "auto"        ? ""
                                               : text;
  return options.resumesOutFirst && options.resumePath.empty()
             ? Status::invalid("expected auto:PATH")
             : Status();
}

/// No text: none, also where the checkpoint has one.
Status setTextOrNone(std::string &target, std::string_view text) {
  target = text;
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

/// "500" steps, or "90s", "10m", "2h".
Status setCheckpointEvery(TrainerOptions &options, std::string_view text) {
  if (!text.empty() && text.find_first_not_of("0123456789") != text.npos) {
    std::optional<double> seconds = readSeconds(text);
    constexpr double most = 1e9;
    if (!seconds || *seconds < 1 || *seconds > most ||
        *seconds != std::floor(*seconds))
      return Status::invalid("expected a number of steps or a time such as "
                             "90s, 10m or 2h");
    options.checkpointSeconds = static_cast<int64_t>(*seconds);
    options.checkpointEvery.reset();
    return {};
  }
  options.checkpointSeconds = 0;
  return setInteger(options.checkpointEvery, 0, INT64_MAX)(text);
}

Status setTimeout(int64_t &milliseconds, std::string_view text) {
  std::optional<double> seconds = readSeconds(text);
  constexpr double least = 2, most = 86400;
  if (!seconds || !(*seconds >= least && *seconds <= most))
    return Status::invalid("expected a time from 2s to 24h, such as 60s");
  milliseconds = static_cast<int64_t>(*seconds * 1000);
  return {};
}

Status setClipNorm(TrainerOptions &options, std::string_view text) {
  Result<double> value = parseReal(text, 0);
  if (!value.ok() || !(*value > 0))
    return Status::invalid("expected a finite number above 0");
  options.clipNorm = *value;
  return {};
}

Status addInitSkip(TrainerOptions &options, std::string_view text) {
  Result<Pattern> pattern = Pattern::create(std::string(text));
  if (pattern.ok())
    options.initSkip.push_back(std::move(*pattern));
  return pattern.status();
}

Status addInitMap(TrainerOptions &options, std::string_view text) {
  size_t equals = text.rfind('=');
  if (equals == std::string_view::npos)
    return Status::invalid("expected REGEX=REPLACEMENT");
  Result<Pattern> pattern =
      Pattern::create(std::string(text.substr(0, equals)));
  if (pattern.ok())
    options.initMap.emplace_back(std::move(*pattern),
                                 std::string(text.substr(equals + 1)));
  return pattern.status();
}

Status setOnUsr1(TrainerOptions &options, std::string_view text) {
  if (text != "save" && text != "stop")
    return Status::invalid("expected save or stop");
  options.goesOnAfterUsr1 = text == "save";
  return {};
}

//===----------------------------------------------------------------------===//
// What shapes a run, as text
//===----------------------------------------------------------------------===//

auto get(const std::string &text) {
  return [&text] { return text; };
}
auto get(const std::optional<double> &value) {
  return [&value] { return value ? realText(*value) : ""; };
}
auto get(const std::optional<int64_t> &value) {
  return [&value] { return value ? std::to_string(*value) : ""; };
}
auto get(const int64_t &value) {
  return [&value] { return std::to_string(value); };
}
auto get(const int32_t &value) {
  return [&value] { return std::to_string(value); };
}
auto get(const bool &value, const char *ifTrue, const char *ifFalse) {
  return [&value, ifTrue, ifFalse] {
    return std::string(value ? ifTrue : ifFalse);
  };
}

std::string checkpointEvery(const TrainerOptions &options) {
  return options.checkpointSeconds > 0
             ? std::to_string(options.checkpointSeconds) + "s"
             : get(options.checkpointEvery)();
}

std::string shuffle(const TrainerOptions &options) {
  return !options.shuffle ? "" : *options.shuffle ? "true" : "false";
}

/// One row per option; --help prints them in this order. A row that ends with a
/// getter of its value shapes the run. A new option needs a getter unless it
/// changes neither what is computed nor what is kept of it.
std::vector<Option> optionRows(TrainerOptions &o) {
  constexpr auto none = Option::Value::None;
  constexpr auto needed = Option::Value::Required;
  constexpr auto optional = Option::Value::Optional;
  constexpr int64_t most = INT64_MAX;
  return {
      {"data", "SPEC", "directory, npz:FILE, npy:DIR, idx:DIR or csv:FILE",
       needed, runs, setText(o.data), false, get(o.data)},
      {"eval-data", "SPEC",
       "evaluated after each epoch and at the end (empty: none)", needed, train,
       [&o](std::string_view text) { return setTextOrNone(o.evalData, text); },
       false, get(o.evalData)},
      {"label-column", "NAME|INDEX",
       "the label's column in a CSV file, by its name or its number from 0",
       needed, runs, setText(o.labelColumn), false, get(o.labelColumn)},
      {"scale", "auto|none", "uint8 data is divided by 255 unless none", needed,
       runs, [&o](std::string_view text) { return setScale(o, text); }, false,
       get(o.scale, "auto", "none")},
      {"cast", "round|exact",
       "float64 data is rounded to float32 (round), or refused if that changes "
       "it",
       needed, runs, setWord(o.castsExactly, "round|exact"), false,
       get(o.castsExactly, "exact", "round")},
      {"epochs", "N", "passes over the data, from the start of the run", needed,
       train, setInteger(o.epochs, 1, most), false, get(o.epochs)},
      {"steps", "N", "steps, from the start of the run", needed, steps,
       setInteger(o.steps, 0, most), false, get(o.steps)},
      {"lr", "X", "learning rate", needed, steps, setReal(o.lr, 0), false,
       get(o.lr)},
      {"lr-schedule", "S", "constant|step:N,G|linear|cosine|one-cycle", needed,
       train, setText(o.lrSchedule), false, get(o.lrSchedule)},
      {"lr-final", "X", "last rate of linear, cosine and one-cycle", needed,
       train, setReal(o.lrFinal, 0), false, get(o.lrFinal)},
      {"warmup-steps", "N", "steps during which the rate rises", needed, train,
       setInteger(o.warmupSteps, 0, most), false, get(o.warmupSteps)},
      {"weight-decay", "X", "replaces the compiled value", needed, train,
       setReal(o.weightDecay, 0), false, get(o.weightDecay)},
      {"clip-norm", "X", "replaces the compiled value", needed, train,
       [&o](std::string_view text) { return setClipNorm(o, text); }, false,
       get(o.clipNorm)},
      {"seed", "N", "seed for the order of rows and for random ops (0)", needed,
       steps, setInteger(o.seed, INT64_MIN, most), false, get(o.seed)},
      {"shuffle", "true|false", "use a new order of rows in each epoch (true)",
       needed, steps,
       [&o](std::string_view text) { return setShuffle(o, text); }, false,
       [&o] { return shuffle(o); }},
      {"last-batch", "drop|error|pad",
       "rows beyond whole batches: leave out, reject, or pad to a batch (drop)",
       needed, train, setWord(o.lastBatch, "drop|error|pad"), false,
       [&o]() -> std::string {
         constexpr const char *words[] = {"drop", "error", "pad"};
         return words[static_cast<int>(o.lastBatch)];
       }},
      {"out", "DIR", "directory for checkpoints", needed, train,
       setText(o.out)},
      {"spare", "DIR", "directory for the last checkpoint if --out fails",
       needed, train, setText(o.spare)},
      {"on-usr1", "save|stop",
       "SIGUSR1: save and continue, or save and exit with 75 (stop)", needed,
       train, [&o](std::string_view text) { return setOnUsr1(o, text); }},
      {"checkpoint-every", "N|10m",
       "steps or time between checkpoints (every epoch; 0: only at the end)",
       needed, train,
       [&o](std::string_view text) { return setCheckpointEvery(o, text); },
       false, [&o] { return checkpointEvery(o); }},
      {"keep", "N", "number of checkpoints to keep (3; 0: all)", needed, train,
       setInteger(o.keep, 0, 1000000), false, get(o.keep)},
      {"resume", "auto|PATH",
       "continue from the newest checkpoint, with its options unless others "
       "are given; auto:PATH: from PATH if --out has none",
       optional, train,
       [&o](std::string_view text) { return setResume(o, text); }},
      {"allow-changed-recipe", "",
       "load slots that mean something else to this optimizer", none, steps,
       setFlag(o.allowChangedRecipe)},
      {"accept-dataset-change", "", "resume although the data is different",
       none, train, setFlag(o.acceptDatasetChange)},
      {"verify-resume", "K",
       "check that 2 K steps equal K steps, a save, a load and K steps", needed,
       train, setInteger(o.verifyResume, 1, most / 2)},
      {"init", "FILE",
       "start from the weights of a run, checkpoint, .safetensors, .onnx or "
       ".npz",
       needed, steps, setText(o.init)},
      {"init-slots", "", "also load the optimizer's slots and counters", none,
       steps, setFlag(o.initSlots)},
      {"init-skip", "REGEX", "states that --init leaves as compiled", needed,
       steps, [&o](std::string_view text) { return addInitSkip(o, text); },
       true},
      {"init-map", "REGEX=REPLACEMENT",
       "rename tensors of --init (\\1 is the first group)", needed, steps,
       [&o](std::string_view text) { return addInitMap(o, text); }, true},
      {"checkpoint", "DIR", "an --out directory or one checkpoint in it",
       needed, eval | exporting, setText(o.checkpoint)},
      {"o", "FILE",
       "model.onnx or weights.safetensors; plan: a page.html of the arena",
       needed, exporting | plan, setText(o.output)},
      {"device", "cpu|cuda:0|sim:0",
       "where to run (one for each replica), or whose plan to print", needed,
       runs | exporting | info | plan, setText(o.device)},
      {"sync-launches", "", "wait for each command and check it (CUDA, sim)",
       none, runs, setFlag(o.deviceOptions.syncLaunches)},
      {"memory-limit", "8GiB",
       "limit for each GPU's memory, or for the CPU's in a program without "
       "GPUs",
       needed, runs | exporting, setBytes(o.deviceOptions.memoryLimitBytes)},
      {"data-on-device", "auto|on|off",
       "keep the training data in the GPU's memory (auto: if it takes at most "
       "half of what is free)",
       needed, steps, setWord(o.dataOnDevice, "auto|on|off")},
      {"rank", "N",
       "number of this process among --world (else: as torchrun, mpirun or "
       "srun "
       "says)",
       needed, steps, setInteger(o.rank, 0, 65535)},
      {"world", "N",
       "number of processes that train together; 1: alone, whatever launcher "
       "has started this one",
       needed, steps, setInteger(o.world, 1, 65536)},
      {"leader", "HOST:PORT", "where the process of rank 0 listens", needed,
       steps, setText(o.leader)},
      {"transport", "auto|tcp",
       "how processes send values (auto: through memory on one host; CPU and "
       "simulated devices)",
       needed, steps, setWord(o.transport, "auto|tcp")},
      {"comm-timeout", "60s",
       "ends the job if a process has sent nothing for this time", needed,
       steps,
       [&o](std::string_view text) {
         return setTimeout(o.commTimeoutMs, text);
       }},
      {"join-timeout", "5m",
       "ends the job if a process has not joined after this time", needed,
       steps,
       [&o](std::string_view text) {
         return setTimeout(o.joinTimeoutMs, text);
       }},
      {"n", "N", "number of processes (all slots of --hosts)", needed, launch,
       setInteger(o.processes, 1, 65536)},
      {"hosts", "FILE", "a line HOST [slots=N] for each host, reached by ssh",
       needed, launch, setText(o.hosts)},
      {"max-restarts", "N",
       "start all again, with --resume, if a process is lost (0)", needed,
       launch, setInteger(o.maxRestarts, 0, 1000000)},
      {"threads", "N", "threads that compute (0: one per core)", needed,
       runs | doctor, setInteger(o.threads, 0, 4096)},
      {"workers", "N", "threads that read data (1)", needed, runs,
       setInteger(o.workers, 1, 256)},
      {"prefetch", "N", "batches read ahead (4)", needed, runs,
       setInteger(o.prefetch, 1, 65536)},
      {"log-json", "FILE", "write one JSON object per step", needed, train,
       setText(o.logJson)},
      {"log-stats", "",
       "--log-json also has the start, time, memory, saves and end", none,
       train, setFlag(o.logStats)},
      {"tensorboard", "DIR", "write event files with scalars for TensorBoard",
       needed, train, setText(o.tensorboard)},
      {"profile", "",
       "print the time of each command of 10 steps, after the first 3", none,
       train, setFlag(o.profile)},
      {"trace-events", "FILE", "write the profile as trace events", needed,
       train, setText(o.traceEvents)},
      {"check-nonfinite", "off|step|op",
       "stop at a NaN or infinity in the loss; if given, also in states (step) "
       "or any value (op), name what made it and write a file to replay",
       needed, runs,
       [&o](std::string_view text) { return setCheckNonfinite(o, text); }},
      {"inject-nonfinite", "OP@STEP",
       "for tests: make a NaN in the result of node OP (or of command "
       "ENTRY:NUMBER of the plan)",
       needed, train,
       [&o](std::string_view text) { return setInjection(o, text); }},
      {"json", "", "print JSON; train: of --profile, other lines go to stderr",
       none, train | eval | info | plan | doctor | bench, setFlag(o.json)},
      {"quiet", "", "print warnings and errors only", none, train | eval,
       setFlag(o.quiet)},
      {"v", "", "print more details", none, all, setFlag(o.verbose)},
      {"help", "", "this text", none, all, setFlag(o.help)},
      {"version", "", "the program's name, build and version", none, all,
       setFlag(o.version)},
  };
}

/// What train takes, launch takes, too: it passes it on.
std::vector<Option> optionTable(TrainerOptions &o) {
  std::vector<Option> table = optionRows(o);
  for (Option &option : table)
    if (option.commands & train)
      option.commands |= launch;
  return table;
}

Status checkTogether(const TrainerOptions &options) {
  if (options.command == TrainerCommand::Train ||
      options.command == TrainerCommand::Launch) {
    if (options.data.empty() && !options.resume)
      return Status::invalid("--data=SPEC is needed (see --help)");
    if (options.verifyResume &&
        (options.epochs || options.steps || options.resume ||
         !options.out.empty() || options.isGiven("checkpoint-every") ||
         !options.logJson.empty() || !options.tensorboard.empty()))
      return Status::invalid(
          "--verify-resume: cannot be combined with --steps, "
          "--epochs, --out, --resume, --checkpoint-every, "
          "--log-json and --tensorboard");
    if (options.epochs && options.steps)
      return Status::invalid("--epochs and --steps: give only one of them");
    if (!options.epochs && !options.steps && !options.resume &&
        !options.verifyResume)
      return Status::invalid("--epochs=N or --steps=N is needed");
    if (options.resume && options.resumePath.empty() && options.out.empty())
      return Status::invalid("--resume: needs --out=DIR or --resume=PATH");
    if (options.logStats && options.logJson.empty())
      return Status::invalid("--log-stats: needs --log-json=FILE");
    if (!options.logJson.empty() && options.traceEvents == options.logJson)
      return Status::invalid("--trace-events: is the same file as --log-json");
    if (options.json && !options.profile)
      return Status::invalid("--json: needs --profile; --log-json=FILE has one "
                             "object per step");
    if (options.profile || !options.traceEvents.empty())
      for (auto [name, isOther] :
           {std::pair{"--verify-resume", options.verifyResume.has_value()},
            {"--check-nonfinite", options.locatesNonfinite},
            {"--inject-nonfinite", options.injection.has_value()}})
        if (isOther)
          return Status::invalid(
              std::string(options.profile ? "--profile" : "--trace-events") +
              ": cannot be combined with " + name);
    if (!options.spare.empty() && options.out.empty())
      return Status::invalid("--spare: needs --out=DIR");
    if (options.spare == options.out && !options.out.empty())
      return Status::invalid("--spare: is the same directory as --out");
    if (!options.resumePath.empty() && !options.init.empty())
      return Status::invalid("--resume=PATH and --init: give only one of them");
    if (options.resumesOutFirst && options.out.empty())
      return Status::invalid("--resume=auto:PATH: needs --out=DIR");
    if ((options.checkpointEvery.value_or(0) > 0 ||
         options.checkpointSeconds > 0) &&
        options.out.empty())
      return Status::invalid("--checkpoint-every: needs --out=DIR");
  }
  for (const char *name : {"init-slots", "init-skip", "init-map"})
    if (options.isGiven(name) && options.init.empty())
      return Status::invalid("--" + std::string(name) + ": needs --init=FILE");
  if (options.command == TrainerCommand::Eval && options.data.empty())
    return Status::invalid("eval: --data=SPEC is needed");
  if (options.command == TrainerCommand::Bench) {
    if (options.data.empty())
      return Status::invalid("bench: --data=SPEC is needed");
    if (options.steps && *options.steps < 1)
      return Status::invalid("bench: --steps: must be at least 1");
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

bool TrainerOptions::isGiven(std::string_view name) const {
  return std::find(given.begin(), given.end(), name) != given.end();
}

RunOptions sinter::rt::runOptions(const TrainerOptions &options) {
  TrainerOptions copy = options;
  RunOptions result;
  for (const Option &option : optionTable(copy))
    if (option.get && !option.get().empty())
      result.emplace_back(option.name, option.get());
  return result;
}

/// The option that sets the same thing in another way, or null.
static const char *alternativeOf(std::string_view name) {
  return name == "epochs" ? "steps" : name == "steps" ? "epochs" : nullptr;
}

Result<std::vector<std::string>> sinter::rt::takeOver(TrainerOptions &options,
                                                      const RunOptions &saved) {
  TrainerOptions then;
  std::vector<Option> now = optionTable(options), before = optionTable(then);
  for (const auto &[name, text] : saved) {
    auto row = std::find_if(before.begin(), before.end(), [&](auto &option) {
      return option.get && option.name == name;
    });
    if (row == before.end() || !row->set(text).ok())
      return Status::invalid("the checkpoint was made with --" + name + "=" +
                             text + ", which this trainer does not have");
  }
  std::vector<std::string> differences;
  for (size_t i = 0; i < now.size(); ++i) {
    if (!now[i].get)
      continue;
    std::string name = now[i].name, text = before[i].get();
    bool isSaved = std::any_of(saved.begin(), saved.end(), [&](auto &option) {
      return option.first == name;
    });
    const char *alternative = alternativeOf(name);
    if (!options.isGiven(name)) {
      if (isSaved && !(alternative && options.isGiven(alternative)))
        SINTER_RETURN_IF_ERROR(now[i].set(text));
      continue;
    }
    const std::string value = now[i].get();
    if (text == value && (isSaved || value.empty()))
      continue;
    for (const auto &[other, value] : saved)
      if (!isSaved && alternative && other == alternative)
        text = other + " " + value;
    auto shown = [](const std::string &some) {
      return some.empty() ? "none" : some;
    };
    differences.push_back(name + " " + shown(value) + " instead of " +
                          shown(text));
  }
  return differences;
}

std::vector<std::pair<std::string, bool>> sinter::rt::trainOptionNames() {
  TrainerOptions unused;
  std::vector<std::pair<std::string, bool>> names;
  for (const Option &option : optionTable(unused))
    if (option.commands & train)
      names.emplace_back(option.name, option.get != nullptr);
  return names;
}

Result<TrainerOptions>
sinter::rt::parseTrainerOptions(std::span<const char *const> arguments) {
  TrainerOptions options;
  std::vector<Option> table = optionTable(options);
  Result<unsigned> command =
      parseArguments(arguments, commandNames, table, options.given);
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
