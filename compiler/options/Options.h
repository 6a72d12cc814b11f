//===- Options.h - what the command line asked for --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All tools share one table of options (OptionTable.cpp): the parser, --help
// and the docs use it. parseOptions checks each value of the Options that it
// returns; from then on they are constant (CompileState.h is what a compilation
// decides). The phases check whether the values fit each other and the model.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_OPTIONS_H
#define SINTER_COMPILER_OPTIONS_OPTIONS_H

#include "passes/DeviceTraits.h"
#include "passes/Passes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sinter::compiler {

/// The tools that take an option of the table; one bit each.
enum Tool : unsigned { kSinterc = 1, kSinterRun = 2, kSinterInspect = 4 };

/// The values of a flag that takes a REGEX and may be repeated. A name matches
/// if it matches one of them.
struct Patterns {
  std::vector<std::string> each; // valid regular expressions
  bool empty() const { return each.empty(); }
  /// One expression that matches the same names; "" if there are no patterns.
  std::string joined() const;
};

/// --train and the options that need it.
struct TrainOptions {
  bool enabled = false;
  /// What the train phase reads, from the option table to the pass: loss,
  /// optimizer, what is trained. Its defaults are those of the command line.
  /// The phase adds what other options decide (Phases.cpp).
  passes::BuildTrainingOptions request;
  Patterns noDecay, trainable, freeze; // the patterns that `request` joins
  std::string parameters;              // --parameters: a file; "" = none
  bool allowRewritten = false;         // --allow-rewritten-parameters
  std::string lossScale; // "none", "dynamic", a number; "" = not given
  int64_t shards = 0;    // of a batch, with --deterministic=topology
};

/// --quantize: post-training quantisation.
struct QuantizeOptions {
  bool enabled = false;
  std::string ranges = "mse"; // minmax, percentile or mse
  /// The largest relative rms error of an output; 0 = any.
  double error = 0;
};

/// Options of sinter-run besides those of the compiler.
struct RunOptions {
  std::string inputs, outputs, reference, replay;
  double rtol = 1e-4, atol = 1e-5;
  std::string device;
  bool bench = false, profile = false, syncLaunches = false;
  bool roundsFromStdin = false;
  std::string traceEvents;
  std::optional<uint64_t> simSeed;
  std::string simReport, simDrop;
  double warmupMs = 200, durationMs = 5000;
  int threads = 0; // 0 = one per available core
};

/// One contract of --require: "kernels:40" (Contracts.h).
struct Contract {
  std::string text;  // as it was written
  unsigned kind = 0; // row of the table of contracts
  double bound = 0;  // a count, bytes or percent
};

struct LockFile;
struct OptionRow;

struct Options {
  std::string tool; // the program's name, for messages
  /// The kinds of devices that the tool knows, the default target first.
  std::vector<passes::DeviceKind> kinds;
  /// Rows of the table that the command line names, in the table's order.
  std::vector<const OptionRow *> given;
  std::string model;
  std::string output;
  std::string name; // --name: part of symbols; "" = from the output
  std::string emit; // "" = the default: trainer with --train, else lib
  std::vector<std::string> targets; // kinds; the default without --target
  bool targetGiven = false;
  /// --target with numbers: the devices that one program may span. The first
  /// one is the default, and `targets` is its kind. Empty: the first device of
  /// each of `targets`, and the devices that --place names.
  std::vector<std::string> devices;
  std::vector<std::string> placeRules; // REGEX=DEVICE
  Patterns allowCpu;
  bool logPlacement = false;
  std::string mcpu = "native";
  std::vector<std::string> gpuArchs;
  std::string cubin = "auto";
  bool wantsCubins = false; // of tools other than sinterc: also makes them
  std::vector<std::string> libraries = {"all"};
  bool fastConvolutions = false; // fewer multiplications, other rounding
  std::optional<int64_t> batch;
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  bool uncheckedIndices = false;
  /// --state: inputs, by a regular expression, and their next values.
  std::vector<std::pair<std::string, std::string>> stateRules;
  TrainOptions train;
  RunOptions run;
  std::vector<Contract> contracts; // --require
  int64_t memoryLimitBytes = 0;    // of each device that has one; 0 = none
  int64_t workspaceBytes = int64_t(32) << 20; // for library calls
  bool hasWorkspace = false;                  // --workspace is given
  std::string remat = "auto";
  std::string persistentKernel = "off";
  /// Most trips of a scan that becomes straight code.
  static constexpr int64_t kUnrollAll = -1;
  int64_t unrollScans = 8;
  std::string gradientStream = "off";
  bool allowMicroBatch = false; // the batch may be split to fit the limit
  std::string precision;        // "" = not given; see precisionPolicy
  Patterns keepFp32;            // nodes
  std::string precisionPlan, savePrecisionPlan; // files; "" = none
  std::string plannedPolicy;                    // of the precision plan
  std::vector<std::string> plannedPrecisions;   // of its ops, as key=WORD
  std::string calibrate;                        // --calibrate: data; "" = none
  QuantizeOptions quantize;
  /// Of a precision plan whose policy is int8.
  std::optional<passes::QuantizeSettings> plannedQuantization;
  std::string stopAfter, dumpPhases, trace, remarks;
  std::string lockfile;                   // --lockfile; "" = none
  std::shared_ptr<const LockFile> locked; // null: it does not exist yet
  bool tune = false;
  int64_t tuneSeconds = 120;
  std::string deterministic;    // "none", "run", ...; "" = not given: run
  bool verifiesNumbers = false; // --verify=numeric
  bool timeReport = false, check = false, verbose = false, json = false;
  bool help = false, version = false, listDevices = false;
  std::vector<std::string> warnings; // of -W: "all", NAME, "no-NAME", ...
  unsigned optLevel = 2;
  unsigned jobs = 0; // 0 = one per available core

  /// The kind of output: `emit`, or its default.
  llvm::StringRef emitKind() const {
    return !emit.empty()   ? llvm::StringRef(emit)
           : train.enabled ? "trainer"
                           : "lib";
  }
  /// fp32, tf32, bf16 or fp16: from --precision, else from the precision plan.
  llvm::StringRef precisionPolicy() const {
    return !precision.empty()       ? llvm::StringRef(precision)
           : !plannedPolicy.empty() ? llvm::StringRef(plannedPolicy)
                                    : llvm::StringRef("fp32");
  }
  /// Whether contractions become products of 8-bit integers.
  bool isQuantized() const { return quantize.enabled || plannedQuantization; }
  /// The policy in a precision plan: int8, or precisionPolicy().
  llvm::StringRef planPolicy() const {
    return isQuantized() ? llvm::StringRef("int8") : precisionPolicy();
  }
  /// none, dynamic or a number; fp16 training scales dynamically by default.
  llvm::StringRef lossScale() const {
    return !train.lossScale.empty()      ? llvm::StringRef(train.lossScale)
           : precisionPolicy() == "fp16" ? llvm::StringRef("dynamic")
                                         : llvm::StringRef("none");
  }
  bool isTopology() const { return deterministic == "topology"; }
  /// Of the kind of `device`, or of a kind; those of no device if it is
  /// unknown.
  passes::DeviceTraits traitsOf(llvm::StringRef device) const;
  bool isHost(llvm::StringRef device) const { return traitsOf(device).isHost; }
  /// The kind of the host's device; "" if the tool has none.
  std::string hostKind() const;
  /// The names of the kinds that `isListed` (all without it), sorted.
  std::string
  kindsText(llvm::StringRef separator,
            llvm::function_ref<bool(llvm::StringRef)> isListed = nullptr) const;
  /// The request for an inference program in float32 on this machine's CPU.
  Options forHostInFloat32() const;
  /// The CPU to generate code for: a name, or "native". That of a lock file, if
  /// --mcpu leaves it to this machine.
  std::string machine() const;
  /// Whether --libraries allows library `name`.
  bool allowsLibrary(llvm::StringRef name) const;
};

/// One row of the option table.
struct OptionRow {
  const char *names; // "-o,--output", as the help shows them
  /// What follows "=", "" for a flag. In it and in `help`, @KINDS stands for
  /// the kinds of devices ("cpu|cuda"), @DEVICES for names of them.
  const char *value;
  const char *help;  // one line
  const char *group; // heading of the help
  unsigned tools;    // the tools that take it: bits of Tool
  /// Checks and stores one value (empty for a flag); returns what is wrong with
  /// it, "" if nothing. NULL: not implemented.
  std::string (*store)(Options &options, llvm::StringRef value);
  /// Whether the option may be repeated; all values count then. Repeating any
  /// other option is an error.
  bool repeats = false;
};

/// All rows, in the order of the help.
llvm::ArrayRef<OptionRow> optionTable();
/// The name of an option in messages: "--output".
llvm::StringRef flagName(const OptionRow &row);
/// The first given flag that affects only a compilation, such as the target or
/// a precision; "" if there is none.
llvm::StringRef compilingFlag(const Options &options);
/// The first given flag that needs --train; "" if there is none.
llvm::StringRef trainingFlag(const Options &options);

/// Parses `args` (without the program's name). On failure prints one line to
/// stderr and returns nothing; the tool then ends with kExitUsage. If the
/// result has --help, --version or --list-devices, a model may be missing.
std::optional<const Options>
parseOptions(llvm::StringRef toolName, Tool tool,
             llvm::ArrayRef<passes::DeviceKind> kinds,
             llvm::ArrayRef<std::string> args);
std::vector<std::string> argumentsOf(int argc, char **argv);

/// The help text of `tool`: the usage line, `commands` (what a tool has before
/// its options; may be empty), options by group, and the phases. Options that
/// are not done yet are left out.
void printHelp(llvm::raw_ostream &os, const Options &options, Tool tool,
               llvm::StringRef usage, llvm::StringRef commands = "");
/// "0.1.0".
llvm::StringRef versionText();
/// "sinterc 0.1.0 (LLVM 19.1.7)".
void printVersion(llvm::raw_ostream &os, llvm::StringRef toolName);

/// The entry of `candidates` that `word` was probably meant to be; "" if none
/// is near.
llvm::StringRef nearest(llvm::StringRef word,
                        llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_OPTIONS_H
