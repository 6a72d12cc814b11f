//===- Tune.cpp - decisions by measurement --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Tune.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/emit/Jit.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

#include <chrono>
#include <cmath>

using namespace sinter;
using namespace sinter::compiler;

namespace {

using Clock = std::chrono::steady_clock;

/// A program counts as faster if it takes this much less time in the median of
/// all rounds, and is faster in most of them.
constexpr double kLeastGain = 1.01;
constexpr double kMostRounds = 0.75;
/// Rounds of a first look, and of each of the two that confirm it.
constexpr int kFirstRounds = 7, kMoreRounds = 15;
/// A program runs this long in each round, or once.
constexpr double kRoundMs = 4;

double median(std::vector<double> values) {
  llvm::sort(values);
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

/// A compiled program in this process. Members are destroyed in reverse order.
struct Loaded {
  uint64_t hash = 0; // of its code and tables
  std::unique_ptr<Jit> jit;
  std::unique_ptr<TimedProgram> program;
  int64_t runs = 1; // in a round
  double ms = 0;    // of a run
};

/// The times of two programs in turns.
struct Rounds {
  std::vector<double> ratios, firstMs, secondMs; // first / second
  bool isFaster() const {
    return median(ratios) >= kLeastGain &&
           llvm::count_if(ratios, [](double ratio) { return ratio > 1; }) >=
               kMostRounds * ratios.size();
  }
};

/// All equal questions, and an answer that none of them has got yet.
struct Trial {
  std::vector<DecisionKey> keys;
  std::string answer;
  double bytes = 0;
};

class Tuner {
public:
  Tuner(const Options &options, const CompileState &state,
        const SharedModel &model, llvm::ArrayRef<TargetFactory> factories,
        const LoadTimed &load, DecisionTable &table)
      : options(options), state(state), model(model), factories(factories),
        load(load), table(table) {}

  ExitCode run() {
    begin = Clock::now();
    Loaded rule;
    if (ExitCode code = compile(rule, /*isTrial=*/false))
      return code;
    ruleMs = tunedMs = rule.ms;
    best = &rule;
    for (const std::string &pass : passesInOrder())
      if (ExitCode code = tryAll(pass))
        return code;
    if (ExitCode code = compareWithRule(rule))
      return code;
    llvm::errs() << options.tool << ": tune: " << changed << " of " << trials
                 << " other decisions kept"
                 << llvm::format(", %.4g -> %.4g ms\n", ruleMs, tunedMs);
    if (isOver())
      llvm::errs() << options.tool
                   << ": tune: --tune-time=" << options.tuneSeconds
                   << " is over; more may be found\n";
    return kExitDone;
  }

private:
  bool isOver() const {
    return Clock::now() - begin > std::chrono::seconds(options.tuneSeconds);
  }

  /// Says nothing of a trial.
  ExitCode failed(const CompileState &own, const llvm::Twine &why) {
    reportError(options, own, "--tune: " + why);
    return kExitFailed;
  }

  /// Compiles with the decisions of the table, and loads the program unless it
  /// is the best one again. A trial says nothing of what goes wrong.
  ExitCode compile(Loaded &loaded, bool isTrial) {
    CompileState own = state.asTrial();
    own.isTrial = isTrial;
    TargetSet set = createTargets(options, own, factories);
    if (!set.main)
      return kExitUsage;
    Compilation compilation(options, own, std::move(set));
    compilation.model = model;
    compilation.decisions = &table;
    CompiledProgram program;
    if (ExitCode code = compilation.checkOptions())
      return code;
    if (ExitCode code = compilation.run(*findPhase("plan")))
      return code;
    if (ExitCode code = compilation.emit(program))
      return code;
    std::string hashes;
    for (const std::string &object : program.objects)
      hashes += llvm::utohexstr(llvm::xxh3_64bits(object));
    loaded.hash = llvm::xxh3_64bits(hashes);
    if (best && loaded.hash == best->hash)
      return kExitDone;
    llvm::Expected<std::unique_ptr<Jit>> jit = Jit::create(program);
    if (!jit)
      return failed(own, llvm::toString(jit.takeError()));
    loaded.jit = std::move(*jit);
    std::string problem;
    loaded.program = load(*loaded.jit->artifact(), problem);
    if (!loaded.program)
      return failed(own, problem);
    return warmUp(loaded, own);
  }

  ExitCode warmUp(Loaded &loaded, const CompileState &own) {
    double first = 0, second = 0;
    std::string problem = loaded.program->run(1, first);
    if (problem.empty())
      problem = loaded.program->run(1, second);
    if (!problem.empty())
      return failed(own, problem);
    loaded.ms = second;
    loaded.runs =
        std::max<int64_t>(1, std::llround(kRoundMs / std::max(second, 1e-3)));
    return kExitDone;
  }

  /// Adds rounds in which both programs run in turns.
  ExitCode race(Loaded &first, Loaded &second, int count, Rounds &rounds) {
    for (int i = 0; i < count; ++i) {
      double ms[2];
      // Each is first in half of the rounds.
      for (int place = 0; place < 2; ++place) {
        bool isSecond = (place + rounds.ratios.size()) % 2;
        Loaded &loaded = isSecond ? second : first;
        std::string problem = loaded.program->run(first.runs, ms[isSecond]);
        if (!problem.empty())
          return failed(state, problem);
      }
      rounds.ratios.push_back(ms[0] / ms[1]);
      rounds.firstMs.push_back(ms[0] / first.runs);
      rounds.secondMs.push_back(ms[1] / first.runs);
    }
    return kExitDone;
  }

  /// The passes that asked, in the order in which they first did.
  std::vector<std::string> passesInOrder() const {
    std::map<std::string, size_t> first;
    for (const auto &[key, asked] : table.asked()) {
      auto [it, isNew] = first.try_emplace(key.pass, asked.order);
      it->second = std::min(it->second, asked.order);
    }
    std::vector<std::string> passes;
    for (const auto &entry : first)
      passes.push_back(entry.first);
    llvm::sort(passes, [&](const std::string &a, const std::string &b) {
      return first[a] < first[b];
    });
    return passes;
  }

  /// The trials of a pass, those about most bytes first.
  std::vector<Trial> trialsOf(const std::string &pass) const {
    std::map<std::string, Trial> trials;
    for (const auto &[key, asked] : table.asked()) {
      if (key.pass != pass)
        continue;
      for (const std::string &answer : asked.possible) {
        if (llvm::is_contained(asked.given, answer))
          continue;
        Trial &trial = trials[key.target + key.what + asked.form + answer];
        trial.keys.push_back(key);
        trial.answer = answer;
        trial.bytes += asked.bytes;
      }
    }
    std::vector<Trial> list;
    for (auto &entry : trials)
      list.push_back(std::move(entry.second));
    llvm::stable_sort(
        list, [](const Trial &a, const Trial &b) { return a.bytes > b.bytes; });
    return list;
  }

  ExitCode tryAll(const std::string &pass) {
    for (const Trial &trial : trialsOf(pass)) {
      if (isOver())
        return kExitDone;
      DecisionTable before = table;
      for (const DecisionKey &key : trial.keys)
        table.want(key, {trial.answer});
      bool isKept = false;
      if (ExitCode code = attempt(trial, isKept))
        return code;
      if (!isKept)
        table = std::move(before);
    }
    return kExitDone;
  }

  /// Sets `isKept` if the trial made the program faster.
  ExitCode attempt(const Trial &trial, bool &isKept) {
    auto candidate = std::make_unique<Loaded>();
    // What cannot be compiled so is not possible, whatever a pass thought.
    if (compile(*candidate, /*isTrial=*/true) != kExitDone ||
        !candidate->program)
      return kExitDone;
    ++trials;
    Rounds rounds;
    for (int count : {kFirstRounds, kMoreRounds, kMoreRounds}) {
      if (ExitCode code = race(*best, *candidate, count, rounds))
        return code;
      if (!rounds.isFaster()) {
        say(trial, rounds, "not kept");
        return kExitDone;
      }
    }
    say(trial, rounds, "kept");
    ++changed;
    isKept = true;
    found = std::move(candidate);
    best = found.get();
    return kExitDone;
  }

  void say(const Trial &trial, const Rounds &rounds, const char *outcome) {
    bool isKept = llvm::StringRef(outcome) == "kept";
    if (!isKept && !options.verbose)
      return;
    llvm::errs() << options.tool
                 << ": tune: " << llvm::format("%.3fx ", median(rounds.ratios))
                 << outcome << ": " << trial.answer << ": "
                 << trial.keys.front().text();
    if (trial.keys.size() > 1)
      llvm::errs() << " and " << trial.keys.size() - 1 << " alike";
    llvm::errs() << "\n";
  }

  /// The result is what all kept decisions gain together.
  ExitCode compareWithRule(Loaded &rule) {
    if (best == &rule)
      return kExitDone;
    Rounds rounds;
    if (ExitCode code = race(rule, *best, 2 * kMoreRounds, rounds))
      return code;
    ruleMs = median(rounds.firstMs);
    tunedMs = median(rounds.secondMs);
    return kExitDone;
  }

  const Options &options;
  const CompileState &state;
  const SharedModel &model;
  llvm::ArrayRef<TargetFactory> factories;
  const LoadTimed &load;
  DecisionTable &table;
  int64_t trials = 0, changed = 0; // programs that were timed, that were kept
  double ruleMs = 0, tunedMs = 0;  // median of a run
  Clock::time_point begin;
  Loaded *best = nullptr;
  std::unique_ptr<Loaded> found;
};

} // namespace

ExitCode compiler::tune(const Options &options, const CompileState &state,
                        const SharedModel &model,
                        llvm::ArrayRef<TargetFactory> factories,
                        const LoadTimed &load, DecisionTable &table) {
  return Tuner(options, state, model, factories, load, table).run();
}
