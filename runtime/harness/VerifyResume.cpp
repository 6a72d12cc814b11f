//===- VerifyResume.cpp - compares a run with an interrupted one ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compares 2 K steps in one run with K steps, a save, a load into a new program
// and the other K: every state must end with the same bytes. Both runs are
// planned for 2 K steps, so that schedules agree. Several processes make both
// runs together; rank 0 makes the folder, which all need to see, and compares.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Commands.h"
#include "runtime/harness/Trainer.h"
#include "runtime/train/CheckpointFile.h"

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
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

/// What `scratch`, which rank 0 has made, is called in all processes.
Result<std::string> pathInAll(Job &job, const ScratchFolder *scratch) {
  Result<std::string> path = job.share(scratch ? scratch->path() : "");
  if (!path.ok())
    return path;
  Status same =
      job.agree({{"the temporary directory of --verify-resume (TMPDIR has to "
                  "name one that all processes share)",
                  std::filesystem::exists(*path) ? *path : "none"}});
  return same.ok() ? path : same;
}

Status train(const sinter_artifact &artifact, TrainerOptions options,
             const std::shared_ptr<Job> &job, const std::string &out,
             int64_t stopAfter) {
  options.out = out;
  options.stopAfter = stopAfter;
  if (Status begun = job->beginRun(); !begun.ok())
    return job->conclude(begun, "in --verify-resume");
  return Trainer(artifact, options, job).run();
}

Result<std::unique_ptr<CheckpointFile>> finalState(const std::string &out,
                                                   int64_t step) {
  const std::string path = checkpointPath(out, step);
  Result<Manifest> manifest = readManifest(path);
  if (!manifest.ok())
    return manifest.status();
  return CheckpointFile::open(path, *manifest);
}

/// Compares the two runs, of `half` and `half` steps. Returns how many states
/// were compared.
Result<size_t> compare(const std::string &whole, const std::string &halves,
                       int64_t half, const std::string &steps) {
  auto a = finalState(whole, 2 * half);
  if (!a.ok())
    return a.status();
  auto b = finalState(halves, 2 * half);
  if (!b.ok())
    return b.status();
  Result<std::vector<std::string>> different = differentTensors(**a, **b);
  if (!different.ok())
    return different.status();
  const size_t count = (*a)->entries().size();
  if (!different->empty())
    return Status(SINTER_MISMATCH, "verify-resume: " + steps + " differ in " +
                                       std::to_string(different->size()) +
                                       " of " + std::to_string(count) +
                                       " states: " + listText(*different));
  return count;
}

} // namespace

Status sinter::rt::runVerifyResume(const sinter_artifact &artifact,
                                   const TrainerOptions &options) {
  const int64_t half = *options.verifyResume;
  Result<std::unique_ptr<Job>> joined = Job::join(artifact, options);
  if (!joined.ok())
    return joined.status();
  const std::shared_ptr<Job> job = std::move(*joined);
  std::unique_ptr<ScratchFolder> scratch; // of rank 0
  if (job->isLeader()) {
    Result<std::unique_ptr<ScratchFolder>> created = ScratchFolder::create();
    if (!created.ok())
      return job->conclude(created.status(), "in --verify-resume");
    scratch = std::move(*created);
  }
  const Result<std::string> path = pathInAll(*job, scratch.get());
  if (!path.ok())
    return job->conclude(path.status(), "in --verify-resume");
  const std::string whole = *path + "/whole", halves = *path + "/halves";
  TrainerOptions run = options;
  run.steps = 2 * half;
  run.checkpointEvery = 0;
  run.quiet = true;
  SINTER_RETURN_IF_ERROR(train(artifact, run, job, whole, 2 * half));
  SINTER_RETURN_IF_ERROR(train(artifact, run, job, halves, half));
  run.resume = true;
  run.init.clear();
  SINTER_RETURN_IF_ERROR(train(artifact, run, job, halves, 2 * half));

  const std::string steps = std::to_string(2 * half) + " steps and " +
                            std::to_string(half) + " + save + load + " +
                            std::to_string(half);
  Result<size_t> compared = size_t(0);
  if (job->isLeader())
    compared = compare(whole, halves, half, steps);
  // All end with what rank 0 has found.
  const Status here = compared.status();
  const Result<std::string> found =
      job->share(static_cast<char>(here.code()) + here.message());
  if (!found.ok())
    return job->conclude(found.status(), "in --verify-resume");
  const auto code = static_cast<sinter_status>(found->front());
  if (code != SINTER_OK)
    return {code, found->substr(1)};
  if (job->isLeader() && !options.quiet)
    std::printf("verify-resume: %s end with the same bytes in all %zu states\n",
                steps.c_str(), *compared);
  return {};
}
