//===- Run.h - a training run: its log and its checkpoints ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_RUN_RUN_H
#define SINTER_COMPILER_INSPECT_RUN_RUN_H

#include "compiler/inspect/run/RunLog.h"

#include <map>

namespace sinter::compiler {

/// A training run. `path` is one of
///
///   the file of --log-json. Its checkpoints are those of the --out directory
///   that a record of --log-stats names.
///   an --out directory, or a folder with one in it. Its log is the only one in
///   the folder; without one, the file beside it that has the name of the
///   folder and the ending .json, .jsonl or .log.
struct Run {
  std::string path, title;
  std::string logPath;     // "" without a log
  std::string checkpoints; // the --out directory; "" without one
  RunLog log;
  llvm::json::Object manifest; // of the newest checkpoint; may be empty
  /// Steps with a checkpoint, rising: those in the directory, and those that
  /// the log names.
  std::vector<int64_t> savedSteps;

  /// Reads it. Errors name the file.
  static llvm::Expected<Run> read(llvm::StringRef path);
  /// Whether `path` is a log, or a folder with a log inside or beside it.
  static bool hasLog(llvm::StringRef path);
  /// The same, or a folder with checkpoints.
  static bool isOne(llvm::StringRef path);

  /// What shaped the run, by name, as texts: "option lr", "recipe optimizer",
  /// "seed", "data contentHash". Empty without a checkpoint and without
  /// --log-stats.
  std::map<std::string, std::string> settings() const;
  /// A number of the start record or the manifest ("batch"); nothing if neither
  /// has it.
  std::optional<int64_t> number(llvm::StringRef logKey,
                                llvm::StringRef manifestKey) const;
  std::optional<int64_t> batch() const { return number("batch", "batch"); }
  std::optional<int64_t> totalSteps() const {
    return number("total_steps", "totalSteps");
  }
  /// Rows, and without a known batch steps, for each second, for each step: of
  /// the last tenth of a second or more, with evaluations and saves in it.
  /// Empty without --log-stats.
  std::vector<double> throughput() const;
  /// Seconds of training until after each step, without the pauses between a
  /// run and its resumption. Empty without --log-stats.
  std::vector<double> elapsed() const;
  /// Places in log.steps where the program skipped the update because of the
  /// loss scale.
  std::vector<size_t> skipped() const;
  /// A line for each part of the steps that the log does not have; of many
  /// parts the first ones, and a line about all.
  std::vector<std::string> missingNotes() const;
  /// One line for each thing that is wrong or missing.
  std::vector<std::string> notes() const;
  /// "done at step 100", "interrupted ...", or that the log does not say.
  std::string endText() const;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_RUN_RUN_H
