//===- Checkpoint.cpp - reading checkpoints -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Checkpoint.h"

#include "runtime/base/File.h"
#include "runtime/train/CheckpointFile.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <dirent.h>
#include <sys/stat.h>
#include <thread>

using namespace sinter::rt;

std::string sinter::rt::checkpointPath(const std::string &directory,
                                       int64_t step) {
  char name[40];
  std::snprintf(name, sizeof(name), "/step-%08lld",
                static_cast<long long>(step));
  return directory + name;
}

/// The step of "step-00000123"; nothing for other names.
static std::optional<int64_t> stepOfName(std::string_view name) {
  if (!name.starts_with("step-") || name.size() < 5 + 8)
    return std::nullopt;
  name.remove_prefix(5);
  int64_t step = 0;
  auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0)
    return std::nullopt;
  return step;
}

Result<std::vector<int64_t>>
sinter::rt::listCheckpoints(const std::string &directory) {
  const std::unique_ptr<DIR, int (*)(DIR *)> handle(
      ::opendir(directory.c_str()), ::closedir);
  if (!handle)
    return fileError(directory, errno);
  std::vector<int64_t> steps;
  while (const dirent *entry = ::readdir(handle.get()))
    if (std::optional<int64_t> step = stepOfName(entry->d_name))
      steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

bool sinter::rt::isIncomplete(const std::string &path) {
  struct stat info;
  return ::stat((path + "/manifest.json").c_str(), &info) != 0 &&
         (errno == ENOENT || errno == ENOTDIR);
}

namespace {

bool isCheckpoint(const std::string &path) {
  struct stat info;
  return ::stat((path + "/manifest.json").c_str(), &info) == 0;
}

} // namespace

Result<Manifest> sinter::rt::readManifest(const std::string &path) {
  std::string manifestPath = path + "/manifest.json";
  Result<std::vector<uint8_t>> bytes = readFile(manifestPath, 64 << 20);
  if (!bytes.ok())
    return bytes.status().as(SINTER_FAILED, bytes.status().message());
  Result<Manifest> manifest =
      parseManifest(std::string(bytes->begin(), bytes->end()));
  if (!manifest.ok())
    return Status::failed(manifestPath + ": " + manifest.status().message());
  return manifest;
}

Result<Manifest> sinter::rt::loadCheckpoint(const std::string &path,
                                            const StateTable &table,
                                            sinter_program *program,
                                            const CheckpointReading &reading) {
  Result<Manifest> manifest = readManifest(path);
  if (!manifest.ok())
    return manifest;
  Result<std::unique_ptr<CheckpointFile>> file =
      CheckpointFile::open(path, *manifest);
  if (!file.ok())
    return file.status();
  // Another model's checkpoint is the user's mistake, not damage.
  if (reading.accept)
    SINTER_RETURN_IF_ERROR(reading.accept(*manifest));
  if (!reading.weightsOnly) {
    SINTER_RETURN_IF_ERROR(table.load(**file, program));
    return manifest;
  }
  Result<std::vector<std::string>> missing = table.loadWeights(**file, program);
  if (!missing.ok())
    return missing.status();
  if (reading.missingSlots)
    *reading.missingSlots = std::move(*missing);
  return manifest;
}

/// Whether a checkpoint that failed with `status` could not be read, which says
/// nothing about what it holds. A file that is missing is damage.
static bool isUnreadable(const Status &status) {
  const int error = status.systemError();
  return error != 0 && error != ENOENT && error != ENOTDIR && error != EISDIR;
}

/// loadCheckpoint(), tried again where it cannot be read.
static Result<Manifest> loadPatiently(const std::string &path,
                                      const StateTable &table,
                                      sinter_program *program,
                                      const CheckpointReading &reading) {
  Result<Manifest> loaded = loadCheckpoint(path, table, program, reading);
  if (loaded.ok() || !isUnreadable(loaded.status()))
    return loaded;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  return loadCheckpoint(path, table, program, reading);
}

/// Text that names the newest checkpoint before `step` whose values are all
/// finite; loads each one that it checks.
static std::string newestFinite(const std::string &directory, int64_t step,
                                const StateTable &table,
                                sinter_program *program,
                                const CheckpointReading &reading) {
  Result<std::vector<int64_t>> steps = listCheckpoints(directory);
  if (steps.ok())
    for (int64_t older : *steps) {
      std::string path = checkpointPath(directory, older);
      if (older < step && loadCheckpoint(path, table, program, reading).ok() &&
          table.checkFinite(program).ok())
        return "the newest sound one is " + path;
    }
  return "no older one is sound";
}

/// loadCheckpoint(), but refuses values that are not finite, from which no run
/// may continue.
static Result<Manifest> loadFinite(const std::string &directory,
                                   const std::string &path,
                                   const StateTable &table,
                                   sinter_program *program,
                                   const CheckpointReading &reading) {
  Result<Manifest> loaded = loadPatiently(path, table, program, reading);
  if (!loaded.ok())
    return loaded;
  Result<std::optional<std::string>> notFinite = table.findNonFinite(program);
  SINTER_RETURN_IF_ERROR(notFinite.status());
  if (!*notFinite)
    return loaded;
  return Status::invalid(
      path + ": " + **notFinite + "; " +
      newestFinite(directory, loaded->step, table, program, reading));
}

Result<Manifest> sinter::rt::loadNewestCheckpoint(
    const std::string &directory, const StateTable &table,
    sinter_program *program, const CheckpointReading &reading) {
  if (isCheckpoint(directory)) {
    std::string path = directory;
    while (path.size() > 1 && path.back() == '/')
      path.pop_back();
    return loadFinite(parentDirectory(path), path, table, program, reading);
  }
  Result<std::vector<int64_t>> steps = listCheckpoints(directory);
  if (!steps.ok())
    return steps.status();
  if (steps->empty())
    return Status::invalid(directory + ": no checkpoint in it");
  for (int64_t step : *steps) {
    const std::string path = checkpointPath(directory, step);
    if (isIncomplete(path)) {
      const std::string text = path + " is incomplete: it has no manifest.json";
      if (!reading.fallsBack)
        return Status::failed(
            text + "; " +
            newestFinite(directory, step, table, program, reading));
      reading.warn("WARNING: " + text);
      continue;
    }
    Result<Manifest> loaded =
        loadFinite(directory, path, table, program, reading);
    if (loaded.ok() || loaded.status().code() == SINTER_INVALID)
      return loaded;
    const std::string &reason = loaded.status().message();
    if (isUnreadable(loaded.status()))
      return Status::failed("the newest checkpoint cannot be read: " + reason +
                            "; it may be sound: try again, or name an older "
                            "one");
    if (!reading.fallsBack)
      return Status::failed(
          "the newest checkpoint is damaged: " + reason + "; " +
          newestFinite(directory, step, table, program, reading));
    reading.warn("WARNING: checkpoint of step " + std::to_string(step) +
                 " is damaged: " + reason);
  }
  return Status::failed(directory + ": none of its " +
                        std::to_string(steps->size()) +
                        " checkpoints can be read");
}
