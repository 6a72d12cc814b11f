//===- OptionTable.cpp - every option of the tools ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An option whose row has no store function is not implemented: the tool
// answers "not yet".
//
//===----------------------------------------------------------------------===//
#include "compiler/checks/Contracts.h"
#include "compiler/lint/Lints.h"
#include "compiler/options/LockFile.h"
#include "compiler/options/OptionStores.h"
#include "compiler/options/OptionValues.h"
#include "compiler/options/PrecisionPlan.h"
#include "passes/train/TrainingWords.h"

using namespace sinter::compiler;
using llvm::StringRef;
using sinter::passes::BuildTrainingOptions;

static constexpr unsigned kCompile = kSinterc | kSinterRun | kSinterInspect;
static constexpr const char *kModelGroup = "Model";
static constexpr const char *kTrainGroup = "Training";
static constexpr const char *kTargetGroup = "Target and precision";
static constexpr const char *kDebugGroup = "Debugging";
static constexpr const char *kRunGroup = "Running";
static constexpr const char *kGeneralGroup = "General";

template <bool Options::*flag>
static std::string turnOn(Options &options, StringRef) {
  options.*flag = true;
  return "";
}
template <bool TrainOptions::*flag>
static std::string turnOn(Options &options, StringRef) {
  options.train.*flag = true;
  return "";
}
template <bool BuildTrainingOptions::*flag>
static std::string turnOn(Options &options, StringRef) {
  options.train.request.*flag = true;
  return "";
}

static const OptionRow rows[] = {
    {"-o,--output", "OUT", "the file to write", kModelGroup,
     kSinterc | kSinterInspect,
     [](Options &o, StringRef v) { return readPath(v, o.output); }},
    {"--emit", "trainer|lib|exe|obj|mlir|llvm|ptx",
     "what to write; default: trainer with --train, else lib", kModelGroup,
     kSinterc, storeEmit},
    {"--name", "NAME",
     "NAME in the symbols sinter_NAME_* and the header guard; default: derived "
     "from OUT",
     kModelGroup, kSinterc, storeName},
    {"--unchecked-indices", "",
     "omits the checks for indices out of range when the program runs",
     kModelGroup, kCompile, turnOn<&Options::uncheckedIndices>},
    {"--batch", "N", "sets the leading dimension of every input", kModelGroup,
     kCompile,
     [](Options &o, StringRef v) -> std::string {
       int64_t batch = 0;
       std::string wrong = readInteger(v, batch, 1, INT32_MAX);
       o.batch = batch;
       return wrong;
     }},
    {"--dim", "NAME=N", "binds the symbolic dimension NAME", kModelGroup,
     kCompile, [](Options &o, StringRef v) { return readDim(v, o); }, true},
    {"--shape", "NAME=1x3x224x224", "sets the shape of the input NAME",
     kModelGroup, kCompile,
     [](Options &o, StringRef v) { return readShape(v, o); }, true},
    {"--state", "REGEX=OUTPUT",
     "makes the inputs that REGEX matches states, which stay on the device "
     "between runs: they begin as zeros, and each run sets them to OUTPUT, the "
     "text after the last '=' (\\1 is the first group)",
     kModelGroup, kCompile, storeStateRule, true},
    {"--check", "",
     "reports the errors of compiling without generating anything: every "
     "unsupported operator and, with --train, every operator without a "
     "gradient (exit 3), or else what is wrong with the model or the options "
     "(exit 2)",
     kModelGroup, kSinterc, turnOn<&Options::check>},

    {"--train", "", "makes a training program", kTrainGroup, kCompile,
     turnOn<&TrainOptions::enabled>},
    {"--loss",
     SINTER_LOSS_WORDS "[:logits=NAME,labels=NAME,axis=A,ignore_index=I,"
                       "label_smoothing=S]",
     "the loss to minimise; default cross-entropy", kTrainGroup, kCompile,
     [](Options &o, StringRef v) { return readLoss(v, o.train.request); }},
    {"--optimizer", SINTER_OPTIMIZER_WORDS, "the update rule; default sgd",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readWord(v, o.train.request.optimizer, SINTER_OPTIMIZER_WORDS);
     }},
    {"--lr", "X",
     "learning rate; default 1e-3; adagrad, rmsprop: 1e-2; lion: 1e-4",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.lr, kNotNegative);
     }},
    {"--momentum", "X",
     "momentum of sgd, rmsprop and muon; default 0; muon: 0.95", kTrainGroup,
     kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.momentum, kBelowOne);
     }},
    {"--nesterov", "", "Nesterov momentum in sgd; muon always has it",
     kTrainGroup, kCompile, turnOn<&BuildTrainingOptions::nesterov>},
    {"--weight-decay", "X",
     "weight decay of every trainable parameter; default 0; adamw: 0.01; muon: "
     "0.1",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.weightDecay, kNotNegative);
     }},
    {"--no-decay", "REGEX", "parameters without weight decay", kTrainGroup,
     kCompile,
     [](Options &o, StringRef v) {
       return readPattern(v, o.train.noDecay, o.train.request.noDecay);
     },
     true},
    {"--beta1", "X",
     "beta1 of adam, adamw, lamb, lion and muon's adamw; default 0.9",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.beta1, kBelowOne);
     }},
    {"--beta2", "X",
     "beta2 of adam, adamw, lamb, lion and muon's adamw; rmsprop's alpha; "
     "default 0.999; lion, rmsprop: 0.99",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.beta2, kBelowOne);
     }},
    {"--eps", "X",
     "epsilon of adam, adamw, lamb, adagrad, rmsprop and muon's adamw; default "
     "1e-8; lamb: 1e-6; adagrad: 1e-10",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.eps, kPositive);
     }},
    {"--trainable", "REGEX", "trains only these parameters", kTrainGroup,
     kCompile,
     [](Options &o, StringRef v) {
       return readPattern(v, o.train.trainable, o.train.request.trainable);
     },
     true},
    {"--freeze", "REGEX", "does not train these parameters", kTrainGroup,
     kCompile,
     [](Options &o, StringRef v) {
       return readPattern(v, o.train.freeze, o.train.request.freeze);
     },
     true},
    {"--parameters", "FILE",
     "the weights of the exported module (safetensors); they restore the "
     "parameters that the exporter folded",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) { return readPath(v, o.train.parameters); }},
    {"--allow-rewritten-parameters", "",
     "trains constants that the exporter computed from parameters, as they "
     "are",
     kTrainGroup, kCompile, turnOn<&TrainOptions::allowRewritten>},
    {"--pad-last-batch", "",
     "makes steps that can skip rows, so that the trainer accepts "
     "--last-batch=pad",
     kTrainGroup, kCompile, turnOn<&BuildTrainingOptions::padLastBatch>},
    {"--freeze-bn", "", "BatchNormalization uses its running statistics",
     kTrainGroup, kCompile, turnOn<&BuildTrainingOptions::freezeBatchNorm>},
    {"--bn-running-var", "onnx|unbiased",
     "definition of the running variance: ONNX's (biased) or unbiased, as "
     "PyTorch's; default onnx",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readWord(v, o.train.request.runningVariance, "onnx|unbiased");
     }},
    {"--clip-norm", "X",
     "limits the norm of all gradients together; default: no limit",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.clipNorm, kPositive);
     }},
    {"--clip-value", "X",
     "limits every element of the gradients; default: no limit", kTrainGroup,
     kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.clipValue, kPositive);
     }},
    {"--accumulate", "N",
     "number of micro-batches in a step; --batch is the size of one; default 1",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readInteger(v, o.train.request.accumulate, 1, 65536);
     }},
    {"--replicas", "N",
     "number of replicas that share a step (1 to 1024), each with its own "
     "batch and device; default 1",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readInteger(v, o.train.request.replicas, 1, 1024);
     }},
    {"--shard", "optimizer|gradients",
     "with --replicas: each holds only its part of the optimizer's states; "
     "with "
     "gradients, also of the sums over micro-batches; default: nothing is "
     "divided",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readWord(v, o.train.request.shard, "optimizer|gradients");
     }},
    {"--ema", "X",
     "keeps averages of the trained weights, ema = X ema + (1 - X) weight; "
     "eval and export use them; default: none",
     kTrainGroup, kCompile,
     [](Options &o, StringRef v) {
       return readNumber(v, o.train.request.ema, kBelowOne);
     }},
    {"--log-norms", "",
     "makes steps that compute the norms of gradient and weights, which the "
     "trainer logs",
     kTrainGroup, kCompile, turnOn<&BuildTrainingOptions::logNorms>},

    {"--target", "@KINDS[,...]", "devices to compile for; default: the CPU",
     kTargetGroup, kCompile, storeTargets},
    {"--gpu-arch", "sm_80,sm_90|native",
     "GPU architectures; default sm_80,sm_90 for cuda, sm_90 for sim",
     kTargetGroup, kCompile, storeGpuArchs},
    {"--cubin", "auto|on|off",
     "adds machine code for the GPU architectures (default sm_90) to the PTX, "
     "made by ptxas; auto (default): if ptxas is found",
     kTargetGroup, kSinterc,
     [](Options &o, StringRef v) {
       return readWord(v, o.cubin, "auto|on|off");
     }},
    {"--mcpu", "native|x86-64-v3|x86-64-v4|...",
     "CPU to compile for: a level, or a CPU such as znver4, which means its "
     "level; default native",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) -> std::string {
       if (v.empty())
         return "expected the name of a CPU";
       o.mcpu = v.str();
       return "";
     }},
    {"--libraries", "all|none|NAME,...",
     "libraries that programs may call for contractions and attention; "
     "cudnn-sums, not part of all: cuDNN's convolutions that also add up "
     "their channels; default all",
     kTargetGroup, kCompile, storeLibraries},
    {"--fast-convolutions", "",
     "for inference on the CPU: computes 3x3 convolutions of fp32 with fewer "
     "multiplications where that is faster (Winograd's algorithms); results "
     "are rounded otherwise",
     kTargetGroup, kCompile, turnOn<&Options::fastConvolutions>},
    {"--precision", "fp32|tf32|bf16|fp16",
     "precision of contractions; default fp32", kTargetGroup, kCompile,
     storePrecision},
    {"--keep-fp32", "REGEX", "keeps these nodes in fp32", kTargetGroup,
     kCompile,
     [](Options &o, StringRef v) { return readPattern(v, o.keepFp32); }, true},
    {"--precision-plan", "FILE", "reads the precision of each op from FILE",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) { return readPrecisionPlan(v, o); }},
    {"--save-precision-plan", "FILE",
     "writes the precision of each op and the reason to FILE", kTargetGroup,
     kCompile,
     [](Options &o, StringRef v) { return readPath(v, o.savePrecisionPlan); }},
    {"--quantize", "int8[:ranges=minmax|percentile|mse,error=BOUND]",
     "computes contractions of constant weights in 8-bit integers, with ranges "
     "from --calibrate; error=BOUND keeps contractions in fp32 until the "
     "relative error of every output is at most BOUND",
     kTargetGroup, kSinterc,
     [](Options &o, StringRef v) { return readQuantize(v, o.quantize); }},
    {"--calibrate", "DATA",
     "runs the model on DATA (as for a trainer's --data): with "
     "--precision=fp16 on one batch, to keep ops in fp32 whose values exceed "
     "the range of fp16; with --quantize on all rows, to find ranges",
     kTargetGroup, kSinterc,
     [](Options &o, StringRef v) -> std::string {
       if (v.empty())
         return "expected data";
       o.calibrate = v.str();
       return "";
     }},
    {"--loss-scale", "none|dynamic|N",
     "scales the loss; default: dynamic for fp16, else none", kTargetGroup,
     kCompile, storeLossScale},
    {"--place", "REGEX=DEVICE",
     "pins nodes whose name matches to a device: @DEVICES", kTargetGroup,
     kCompile, storePlaceRule, true},
    {"--allow-cpu", "REGEX",
     "lets these nodes run on the CPU if their device cannot run them",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) { return readPattern(v, o.allowCpu); }, true},
    {"--log-placement", "", "prints one line per region: device, nodes, reason",
     kTargetGroup, kCompile, turnOn<&Options::logPlacement>},
    {"--list-devices", "",
     "lists the devices that programs can be compiled for; sinter-run also "
     "lists those of this machine, with -v their caches and speed",
     kTargetGroup, kSinterc | kSinterRun, turnOn<&Options::listDevices>},
    {"--memory-limit", "8GiB",
     "memory of each GPU, or of the CPU in a program without a GPU: recomputes "
     "values to fit, else exit 6",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) {
       return readBytes(v, o.memoryLimitBytes, 1);
     }},
    {"--workspace", "32MiB",
     "memory for library calls; part of the limit; default 32MiB", kTargetGroup,
     kCompile,
     [](Options &o, StringRef v) {
       o.hasWorkspace = true;
       return readBytes(v, o.workspaceBytes, 0);
     }},
    {"--remat", "auto|none|all",
     "recomputes values to save memory: auto (default): if that costs little, "
     "and to fit the limit; all: wherever it saves memory",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) {
       return readWord(v, o.remat, "auto|none|all");
     }},
    {"--unroll-scans", "N|all",
     "compiles loops of at most N trips without a loop; programs on several "
     "devices have no loops; default 8",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) {
       if (v == "all") {
         o.unrollScans = Options::kUnrollAll;
         return std::string();
       }
       return readInteger(v, o.unrollScans, 0, INT32_MAX);
     }},
    {"--persistent-kernel", "off|auto|on",
     "on GPUs, compiles a program into one kernel whose blocks wait for each "
     "other, without libraries: auto: if it is small; default off",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) {
       return readWord(v, o.persistentKernel, "off|auto|on");
     }},
    {"--gradient-stream", "off|auto|on",
     "on GPUs, computes gradients of weights on a stream of their own, beside "
     "those of activations: auto: if they take long enough; default off",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) {
       return readWord(v, o.gradientStream, "off|auto|on");
     }},
    {"--allow-microbatch", "", "splits the batch to fit the memory limit",
     kTargetGroup, kCompile, turnOn<&Options::allowMicroBatch>},
    {"--deterministic", "none|run|arch|topology",
     "which runs give the same bits; default run", kTargetGroup, kCompile,
     [](Options &o, StringRef v) {
       return readWord(v, o.deterministic, "none|run|arch|topology");
     }},
    {"--require", "CONTRACT,...",
     "ends the compilation with exit 4 if a contract does not hold",
     kTargetGroup, kCompile,
     [](Options &o, StringRef v) { return readContracts(v, o.contracts); },
     true},

    {"--stop-after", "PHASE", "stops after this phase and writes its IR",
     kDebugGroup, kSinterc | kSinterInspect, storePhase},
    {"--dump-phases", "DIR", "writes the IR after each phase to DIR",
     kDebugGroup, kCompile,
     [](Options &o, StringRef v) { return readPath(v, o.dumpPhases); }},
    {"--trace", "FILE", "records what each pass changed, for sinter-inspect",
     kDebugGroup, kCompile,
     [](Options &o, StringRef v) { return readPath(v, o.trace); }},
    {"--remarks", "FILE", "writes the decisions of the passes to FILE",
     kDebugGroup, kCompile,
     [](Options &o, StringRef v) { return readPath(v, o.remarks); }},
    {"--time-report", "", "prints the time of each phase, pass and kernel",
     kDebugGroup, kCompile, turnOn<&Options::timeReport>},
    {"--verify", "numeric",
     "evaluates the program in float64 after every phase and compares it with "
     "the model (exit 5 names the pass and the node)",
     kDebugGroup, kCompile,
     [](Options &o, StringRef v) -> std::string {
       o.verifiesNumbers = v == "numeric";
       return o.verifiesNumbers ? "" : "expected numeric";
     }},
    {"--lockfile", "FILE",
     "makes the decisions in FILE again and says what could not be kept; "
     "sinterc writes them if there is no such file",
     kDebugGroup, kCompile,
     [](Options &o, StringRef v) {
       std::string wrong = readPath(v, o.lockfile);
       return wrong.empty() ? readLockFile(v, o.locked) : wrong;
     }},
    {"--tune", "",
     "times other decisions on this machine and writes the fastest to "
     "--lockfile",
     kDebugGroup, kSinterc, turnOn<&Options::tune>},
    {"--tune-time", "SECONDS",
     "begins no further trial of --tune after this; default 120", kDebugGroup,
     kSinterc,
     [](Options &o, StringRef v) {
       return readInteger(v, o.tuneSeconds, 1, 1000000);
     }},
    {"-O", "0..3", "effort of the code generator; default 2", kDebugGroup,
     kCompile,
     [](Options &o, StringRef v) -> std::string {
       int64_t level = 0;
       std::string wrong = readInteger(v, level, 0, 3);
       o.optLevel = level;
       return wrong;
     }},
    {"-W", "all|NAME|no-NAME|error=NAME",
     "turns on warnings (no-: turns one off; error=: makes one an error)",
     kDebugGroup, kCompile,
     [](Options &o, StringRef v) { return readWarning(v, o); }, true},
    {"-j", "N", "threads of the compiler; default: one per core", kDebugGroup,
     kCompile,
     [](Options &o, StringRef v) -> std::string {
       int64_t jobs = 0;
       std::string wrong = readInteger(v, jobs, 1, 1024);
       o.jobs = jobs;
       return wrong;
     }},

    {"--inputs", "in.npz|random:seed=0",
     "values of the graph's inputs and initial values of states", kRunGroup,
     kSinterRun,
     [](Options &o, StringRef v) { return readPath(v, o.run.inputs); }},
    {"--outputs", "out.npz",
     "where to write the outputs, and the states under their inputs' names",
     kRunGroup, kSinterRun,
     [](Options &o, StringRef v) { return readPath(v, o.run.outputs); }},
    {"--reference", "ref.npz",
     "compares the outputs, and the states that the file contains (exit 5 on "
     "mismatch)",
     kRunGroup, kSinterRun,
     [](Options &o, StringRef v) { return readPath(v, o.run.reference); }},
    {"--rtol", "1e-4", "allowed error relative to the reference", kRunGroup,
     kSinterRun,
     [](Options &o, StringRef v) {
       return readNumber(v, o.run.rtol, kNotNegative);
     }},
    {"--atol", "1e-5", "allowed absolute error", kRunGroup, kSinterRun,
     [](Options &o, StringRef v) {
       return readNumber(v, o.run.atol, kNotNegative);
     }},
    {"--device", "@DEVICES", "where to run; selects the target", kRunGroup,
     kSinterRun,
     [](Options &o, StringRef v) -> std::string {
       StringRef kind = v.split(':').first;
       std::string word;
       std::string wrong = readWord(kind, word, o.kindsText("|"));
       o.run.device = v.str();
       return wrong;
     }},
    {"--bench", "", "measures the time of a run", kRunGroup, kSinterRun,
     [](Options &o, StringRef v) -> std::string {
       o.run.bench = true;
       return "";
     }},
    {"--warmup", "200ms", "how long to run before measuring", kRunGroup,
     kSinterRun,
     [](Options &o, StringRef v) { return readDuration(v, o.run.warmupMs); }},
    {"--duration", "5s", "how long to measure", kRunGroup, kSinterRun,
     [](Options &o, StringRef v) { return readDuration(v, o.run.durationMs); }},
    {"--rounds", "stdin",
     "with --bench: reads numbers from standard input, one a line, and times "
     "that many runs",
     kRunGroup, kSinterRun,
     [](Options &o, StringRef v) {
       o.run.roundsFromStdin = true;
       std::string word;
       return readWord(v, word, "stdin");
     }},
    {"--threads", "N", "threads of the program; default: one per core",
     kRunGroup, kSinterRun,
     [](Options &o, StringRef v) -> std::string {
       int64_t threads = 0;
       std::string wrong = readInteger(v, threads, 1, 1024);
       o.run.threads = threads;
       return wrong;
     }},
    {"--profile", "", "prints the time of each command", kRunGroup, kSinterRun,
     [](Options &o, StringRef v) -> std::string {
       o.run.profile = true;
       return "";
     }},
    {"--trace-events", "FILE", "writes the profile as trace events", kRunGroup,
     kSinterRun,
     [](Options &o, StringRef v) { return readPath(v, o.run.traceEvents); }},
    {"--sync-launches", "", "waits for each command and checks it (CUDA, sim)",
     kRunGroup, kSinterRun,
     [](Options &o, StringRef v) -> std::string {
       o.run.syncLaunches = true;
       return "";
     }},
    {"--replay", "FILE",
     "evaluates the training step that a trainer wrote to FILE, op by op, and "
     "names the ops that make values that are not finite (with --train and the "
     "trainer's other options)",
     kRunGroup, kSinterRun,
     [](Options &o, StringRef v) { return readPath(v, o.run.replay); }},
    {"--sim-report", "FILE", "writes what the simulated device saw, as JSON",
     kRunGroup, kSinterRun,
     [](Options &o, StringRef v) { return readPath(v, o.run.simReport); }},
    {"--sim-seed", "N", "seed of the simulated device's schedule", kRunGroup,
     kSinterRun,
     [](Options &o, StringRef v) -> std::string {
       int64_t seed = 0;
       std::string wrong = readInteger(v, seed, 0, INT64_MAX);
       o.run.simSeed = seed;
       return wrong;
     }},
    {"--sim-drop", "barrier:N|predicate:N",
     "removes one barrier or predicate; the report has the numbers", kRunGroup,
     kSinterRun,
     [](Options &o, StringRef v) -> std::string {
       auto [kind, number] = v.split(':');
       int64_t site = 0;
       if ((kind != "barrier" && kind != "predicate") ||
           !readInteger(number, site, 0, UINT32_MAX).empty())
         return std::string("expected barrier:N or predicate:N");
       o.run.simDrop = v.str();
       return std::string();
     }},

    {"--json", "", "prints results as JSON", kGeneralGroup, kSinterRun,
     turnOn<&Options::json>},
    {"-v,--verbose", "", "prints more: the state table, remarks", kGeneralGroup,
     kCompile, turnOn<&Options::verbose>},
    {"-h,--help", "", "prints this text", kGeneralGroup, kCompile,
     turnOn<&Options::help>},
    {"--version", "", "prints the version", kGeneralGroup, kCompile,
     turnOn<&Options::version>},
};

llvm::ArrayRef<OptionRow> sinter::compiler::optionTable() { return rows; }

StringRef sinter::compiler::flagName(const OptionRow &row) {
  StringRef names = row.names;
  return names.substr(names.rfind(',') + 1);
}

StringRef sinter::compiler::compilingFlag(const Options &options) {
  for (const OptionRow *row : options.given)
    if ((row->tools & kSinterc) && row->group != kGeneralGroup)
      return flagName(*row);
  return "";
}

StringRef sinter::compiler::trainingFlag(const Options &options) {
  for (const OptionRow *row : options.given)
    if (row->group == kTrainGroup && flagName(*row) != "--train")
      return flagName(*row);
  return "";
}
