//===- VerifyResume.cpp - compares a run with an interrupted one ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compares 2 K steps in one run with K steps, a save, a load into a new program
// and the other K: every state must end with the same bytes. Both runs are
// planned for 2 K steps, so that schedules agree.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Commands.h"
#include "runtime/harness/Trainer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace sinter::rt;

namespace {

/// A temporary folder, removed at the end.
class ScratchFolder {
public:
  static Result<std::unique_ptr<ScratchFolder>> create() {
    const char *temporary = std::getenv("TMPDIR");
    std::string path =
        std::string(temporary && *temporary ? temporary : "/tmp") +
        "/sinter-verify-resume-XXXXXX";
    if (!mkdtemp(path.data()))
      return Status::failed(
          path + ": cannot create this folder: " + std::strerror(errno));
    auto folder = std::make_unique<ScratchFolder>();
    folder->path_ = path;
    return folder;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const char *name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

Status train(const sinter_artifact &artifact, TrainerOptions options,
             const std::string &out, int64_t stopAfter) {
  options.out = out;
  options.stopAfter = stopAfter;
  return Trainer(artifact, options).run();
}

Result<SafetensorsFile> finalState(const std::string &out, int64_t step) {
  return SafetensorsFile::open(checkpointPath(out, step) +
                               "/state.safetensors");
}

} // namespace

Status sinter::rt::runVerifyResume(const sinter_artifact &artifact,
                                   const TrainerOptions &options) {
  int64_t half = *options.verifyResume;
  Result<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::create();
  if (!scratch.ok())
    return scratch.status();
  std::string whole = **scratch / "whole", halves = **scratch / "halves";
  TrainerOptions run = options;
  run.steps = 2 * half;
  run.checkpointEvery = 0;
  run.quiet = true;
  SINTER_RETURN_IF_ERROR(train(artifact, run, whole, 2 * half));
  SINTER_RETURN_IF_ERROR(train(artifact, run, halves, half));
  run.resume = true;
  run.init.clear();
  SINTER_RETURN_IF_ERROR(train(artifact, run, halves, 2 * half));

  Result<SafetensorsFile> a = finalState(whole, 2 * half);
  if (!a.ok())
    return a.status();
  Result<SafetensorsFile> b = finalState(halves, 2 * half);
  if (!b.ok())
    return b.status();
  Result<std::vector<std::string>> different = differentTensors(*a, *b);
  if (!different.ok())
    return different.status();
  std::string steps = std::to_string(2 * half) + " steps and " +
                      std::to_string(half) + " + save + load + " +
                      std::to_string(half);
  if (!different->empty())
    return Status(SINTER_MISMATCH, "verify-resume: " + steps + " differ in " +
                                       std::to_string(different->size()) +
                                       " of " +
                                       std::to_string(a->entries().size()) +
                                       " states: " + listText(*different));
  if (!options.quiet)
    std::printf("verify-resume: %s end with the same bytes in all %zu states\n",
                steps.c_str(), a->entries().size());
  return {};
}
