//===- Eval.cpp - the trainer's "eval" ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Commands.h"
#include "runtime/harness/JsonLog.h"
#include "runtime/harness/Session.h"
#include "runtime/harness/Signals.h"

#include "sinter/program_names.h"

#include <cinttypes>
#include <cstdio>

using namespace sinter::rt;

Status sinter::rt::runEval(const sinter_artifact &artifact,
                           const TrainerOptions &options) {
  watchSignals();
  const sinter_entry *entry = findEntry(artifact, SINTER_ENTRY_EVAL);
  if (!artifact.training || !entry)
    return Status::invalid(
        "the program was compiled without an \"eval\" entry");
  Result<std::unique_ptr<Session>> session = Session::create(artifact, options);
  if (!session.ok())
    return session.status();
  sinter_control control = {};
  TrainerOptions reading = options;
  TableHeader header;
  if (!options.checkpoint.empty()) {
    std::vector<std::string> missingSlots;
    Result<Manifest> manifest = loadWeights(**session, options, missingSlots);
    if (!manifest.ok())
      return manifest.status();
    control.seed = manifest->seed;
    control.step = manifest->step;
    header = manifest->header;
    if (options.isGiven("label-column"))
      header.label.clear();
    // How training read its data.
    for (const auto &[name, value] : manifest->options)
      if (options.isGiven(name))
        continue;
      else if (name == "label-column")
        reading.labelColumn = value;
      else if (name == "scale")
        reading.scale = value == "auto";
      else if (name == "cast")
        reading.castsExactly = value == "exact";
  } else if (!options.quiet) {
    std::fprintf(stderr,
                 "note: no --checkpoint: using the weights of the model "
                 "file\n");
  }
  Result<BatchReader> data =
      openData(artifact, *entry, options.data, DataUse::Eval, reading, header);
  if (!data.ok())
    return data.status();
  Result<EntryRunner> runner =
      EntryRunner::create(**session, SINTER_ENTRY_EVAL);
  if (!runner.ok())
    return runner.status();
  Result<Evaluation> evaluation =
      evaluate(*runner, *data, control, options, stopRequested);
  if (!evaluation.ok())
    return evaluation.status();
  if (Status same = data->checkUnchanged(); !same.ok())
    return Status::failed(same.message() + " while it was read");
  for (const std::string &line : data->takeModifications())
    std::fprintf(stderr, "warning: %s\n", line.c_str());
  if (evaluation->isEmpty())
    return Status::failed(options.data + ": " + evaluationText(*evaluation));
  if (options.json) {
    std::printf("{\"rows\":%" PRId64 ",\"accuracy\":%s,\"loss\":%s}\n",
                evaluation->rows,
                evaluation->hasAccuracy
                    ? jsonNumber(evaluation->accuracy()).c_str()
                    : "null",
                jsonNumber(evaluation->loss).c_str());
  } else {
    std::string text = evaluationText(*evaluation);
    if (evaluation->hasAccuracy)
      std::printf("%s (%.0f of %.0f correct)\n", text.c_str(),
                  evaluation->correct, evaluation->correctCount);
    else
      std::printf("%s (%" PRId64 " rows)\n", text.c_str(), evaluation->rows);
  }
  return {};
}
